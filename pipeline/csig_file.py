"""CSIG's part of a topology file: a device's section laid over that of the file."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from collector import CollectorSettings
from pipeline.csig_profile import CODED, SIGNALS, VARIANTS, Csig, CsigSignal, Locator
from pipeline.topology_key import CSIG, LOCATOR, UNITS, signal_keys
from pipeline.topology_text import STRICT, Faults, TopologyError, Tree
from pipeline.topology_value import read, section, written
from pipeline.unit import GIGABIT

DEEP = (("signals",), *(("signals", name) for name in SIGNALS))
"""Places below which keys are laid over each other one by one."""
MOST_CODE = 0xFFFF
NAMED_VALUE = re.compile(r"^csig_\w+: (?:compact |expanded )?type \d+ ")
"""How the collector names one of its values; the file's key stands in its place."""


def csig_of(tree: Tree, place: str, faults: Faults = STRICT) -> Csig:
    """The part in CSIG that a section tells; what is wrong in it is a fault with its place."""
    found = read(CSIG, tree, place, faults)
    signals = faults.tried(section, tree, "signals", place) or {}
    own = f"{place}.signals"
    made = [
        signal_of(name, faults.tried(section, signals, name, own) or {}, f"{own}.{name}", faults)
        for name in SIGNALS
    ]  # fmt: skip
    for name in signals:
        if name not in SIGNALS:
            faults.add(TopologyError(f"signals are {', '.join(SIGNALS)}", f"{own}.{name}"))
    csig = Csig(**found, codes=tuple(codes_of(tree, place, faults)), signals=tuple(made))
    if refused(csig.settings()):
        for wrong in undecodable(csig, place):
            faults.add(wrong)
    return csig


def refused(settings: dict[str, Any]) -> str:
    """Why the collector does not take settings, without their name; empty: it does."""
    try:
        CollectorSettings.model_validate(settings)
    except ValidationError as error:
        said = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        return NAMED_VALUE.sub("", said)
    return ""


def undecodable(csig: Csig, place: str) -> Iterator[TopologyError]:
    """What tags cannot be decoded by, at the key that tells it."""
    layout: dict[str, Any] = {"csig_layout": csig.layout}
    for kind, signal in enumerate(csig.signals):
        own, unit = f"{place}.signals.{signal.name}", UNITS[signal.name][0]
        told: list[tuple[str, Any, dict[str, Any]]] = [
            (f"buckets_{unit}", signal.buckets, {"csig_buckets": {kind: signal.buckets}}),
            (f"quantum_{unit}", signal.quantum, {"csig_quanta": {kind: signal.quantum}}),
            (f"base_{unit}", signal.base, {"csig_bases": {kind: signal.base}}),
        ]
        for variant in VARIANTS:
            parts = getattr(signal, variant).parts
            told.append((f"{variant}.lm", parts, {"csig_lm_fields": {variant: {kind: parts}}}))
        for key, value, settings in told:
            if value not in (None, ()) and (said := refused(settings | layout)):
                yield TopologyError(said, f"{own}.{key}")


def signal_of(name: str, tree: Tree, place: str, faults: Faults) -> CsigSignal:
    """One signal of a device."""
    found = read(signal_keys(name), tree, place, faults)
    compact, expanded = (
        Locator(**read(LOCATOR, faults.tried(section, tree, variant, place) or {},
                       f"{place}.{variant}", faults))
        for variant in VARIANTS
    )  # fmt: skip
    return CsigSignal(name, **found, compact=compact, expanded=expanded)


def codes_of(
    tree: Tree, place: str, faults: Faults
) -> Iterator[tuple[str, tuple[tuple[str | int, int], ...]]]:
    """Numbers of the classes of each coded part; capacities in bit/s."""
    codes, own = faults.tried(section, tree, "codes", place) or {}, f"{place}.codes"
    for name in CODED:
        named = (faults.tried(section, codes, name, own) or {}).items()
        told = [faults.tried(code_of, name, label, code, own) for label, code in named]
        if classes := tuple(one for one in told if one is not None):
            yield name, classes
    for name in codes:
        if name not in CODED:
            faults.add(TopologyError(f"codes are of {', '.join(CODED)}", f"{own}.{name}"))


def code_of(name: str, label: Any, code: Any, own: str) -> tuple[str | int, int]:
    """A class and its number."""
    place = f"{own}.{name}.{label}"
    if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code <= MOST_CODE:
        raise TopologyError("must be a whole number", place)
    return coded(name, label, place), code


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
