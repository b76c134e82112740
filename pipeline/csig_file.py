"""CSIG's part of a topology file: a device's section laid over that of the file."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from collector import CollectorSettings
from pipeline.csig_profile import CODED, SIGNALS, VARIANTS, Csig, CsigSignal, Locator
from pipeline.topology_key import CSIG, LOCATOR, signal_keys
from pipeline.topology_text import TopologyError, Tree
from pipeline.topology_value import read, section, written
from pipeline.unit import GIGABIT

DEEP = (("signals",), *(("signals", name) for name in SIGNALS))
"""Places below which keys are laid over each other one by one."""
MOST_CODE = 0xFFFF


def csig_of(tree: Tree, place: str) -> Csig:
    """The part in CSIG that a section tells. Raises TopologyError with the place."""
    found = read(CSIG, tree, place)
    signals = section(tree, "signals", place)
    own = f"{place}.signals"
    made = [
        signal_of(name, section(signals, name, own), f"{own}.{name}")
        for name in SIGNALS
    ]  # fmt: skip
    for name in signals:
        if name not in SIGNALS:
            raise TopologyError(f"signals are {', '.join(SIGNALS)}", f"{own}.{name}")
    csig = Csig(**found, codes=tuple(codes_of(tree, place)), signals=tuple(made))
    try:
        CollectorSettings.model_validate(csig.settings())
    except ValidationError as error:
        said = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise TopologyError(said, place) from None
    return csig


def signal_of(name: str, tree: Tree, place: str) -> CsigSignal:
    """One signal of a device."""
    found = read(signal_keys(name), tree, place)
    compact, expanded = (
        Locator(**read(LOCATOR, section(tree, variant, place), f"{place}.{variant}"))
        for variant in VARIANTS
    )
    return CsigSignal(name, **found, compact=compact, expanded=expanded)


def codes_of(tree: Tree, place: str) -> Iterator[tuple[str, tuple[tuple[str | int, int], ...]]]:
    """Numbers of the classes of each coded part; capacities in bit/s."""
    codes, own = section(tree, "codes", place), f"{place}.codes"
    for name in CODED:
        classes = []
        for label, code in section(codes, name, own).items():
            if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code <= MOST_CODE:
                raise TopologyError("must be a whole number", f"{own}.{name}.{label}")
            classes.append((coded(name, label, f"{own}.{name}.{label}"), code))
        if classes:
            yield name, tuple(classes)
    if unknown := [str(name) for name in codes if name not in CODED]:
        raise TopologyError(f"codes are of {', '.join(CODED)}", f"{own}.{unknown[0]}")


def coded(name: str, label: Any, place: str) -> str | int:
    """A class as ports have it."""
    if name != "capacity":
        return str(label)
    if isinstance(label, bool) or not isinstance(label, int | float) or not 0 < label < GIGABIT:
        raise TopologyError("must be a capacity in Gbit/s", place)
    return round(label * GIGABIT)


def over(upper: Tree, lower: Tree, path: tuple[str, ...] = ()) -> dict[Any, Any]:
    """One section laid over another: what the upper one tells holds, even where it is null."""
    made = {**lower, **upper}
    for name in upper:
        inner = (*path, str(name))
        both = isinstance(upper[name], Mapping) and isinstance(lower.get(name), Mapping)
        if both and inner in DEEP:
            made[name] = over(upper[name], lower[name], inner)
    return made


def csig_text(csig: Csig) -> dict[str, Any]:
    """Every key of the section, so that it holds over any other."""
    codes = dict(csig.codes)
    told = written(CSIG, csig, whole=True)
    told["codes"] = {
        name: {
            label / GIGABIT if name == "capacity" and isinstance(label, int) else label: code
            for label, code in codes.get(name, ())
        }
        for name in CODED
    }
    told["signals"] = {
        signal.name: {
            **written(signal_keys(signal.name), signal, whole=True),
            **{v: written(LOCATOR, getattr(signal, v), whole=True) for v in VARIANTS},
        }
        for signal in csig.signals
    }
    return told
