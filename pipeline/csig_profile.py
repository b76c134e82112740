"""How a device takes part in CSIG: what its tags mean, and what it does to those of others.

Terms are those of draft-ravi-ippm-csig-00: signal types (section 5.2), locator metadata (5.5.2),
buckets (5.4 and appendix A), delta_t (5.3.2), what a transit device may do (5.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.stage import stage_named

SIGNALS = ("abw", "utilization", "delay", "queue")
"""Signals by type: min(ABW), min(ABW/C), max(PD) and, of the UEC/SAI layout, max(queue depth)."""
VARIANTS = {"compact": 1, "expanded": 2}
VARIANT_NAMES = {number: name for name, number in VARIANTS.items()}
"""Variants of a tag by the value of the column `csig_variant`; each has locators of its own."""
CODED = ("stage", "orientation", "capacity")
"""Parts of a locator whose values are classes that the deployment numbers."""
TTL, RESERVED = "ttl", "reserved"
"""Parts that tell nothing of the port: what the packet's time to live was, and zeros."""


@dataclass(frozen=True, slots=True)
class Locator:
    """Locator metadata of one signal in one variant of tags.

    `parts` are (name, bits) from the highest bit on; without any the locator is a plain number.
    `default_lm` and `initial_s` are what the sender writes; None where it is not known.
    """

    parts: tuple[tuple[str, int], ...] = ()
    default_lm: int | None = None
    initial_s: int | None = None


@dataclass(frozen=True, slots=True)
class CsigSignal:
    """One signal of a device; bit/s, ratio or ns. None and empty: not known."""

    name: str
    supported: bool = True
    delta_t_ns: int | None = None
    buckets: tuple[float, ...] = ()
    bounded: bool = False
    quantum: float | None = None
    base: float | None = None
    compact: Locator = Locator()
    expanded: Locator = Locator()


@dataclass(frozen=True, slots=True)
class Csig:
    """A device's part in CSIG; `signals` has one of each of `SIGNALS`, in that order.

    `updates`: compares and replaces; without it tags pass untouched. `strips`: takes tags off.
    `adds`: puts tags on. `codes` number the classes of each of `CODED`, capacities in bit/s.
    """

    updates: bool = True
    strips: bool = False
    adds: bool = False
    layout: str = "draft"
    codes: tuple[tuple[str, tuple[tuple[str | int, int], ...]], ...] = ()
    signals: tuple[CsigSignal, ...] = field(
        default_factory=lambda: tuple(CsigSignal(name) for name in SIGNALS)
    )

    def signal(self, kind: int) -> CsigSignal | None:
        """The signal of a type, None where no document defines it."""
        return self.signals[kind] if 0 <= kind < len(self.signals) else None

    def updated(self, kind: int) -> bool:
        """Whether the device replaces values of a signal type."""
        signal = self.signal(kind)
        return self.updates and signal is not None and signal.supported

    def settings(self) -> dict[str, Any]:
        """What is told of tags as settings of the collector, which decodes by them."""
        told = list(enumerate(self.signals))
        parts = {
            variant: {
                kind: getattr(signal, variant).parts
                for kind, signal in told
                if getattr(signal, variant).parts
            }
            for variant in VARIANTS
        }
        made = {
            "csig_buckets": {kind: signal.buckets for kind, signal in told if signal.buckets},
            "csig_bounded": tuple(kind for kind, signal in told if signal.bounded),
            "csig_quanta": {kind: s.quantum for kind, s in told if s.quantum is not None},
            "csig_bases": {kind: s.base for kind, s in told if s.base is not None},
            "csig_lm_fields": {variant: kinds for variant, kinds in parts.items() if kinds},
        }
        layout = {"csig_layout": self.layout} if self.layout != "draft" else {}
        return {name: value for name, value in made.items() if value} | layout

    def locators(self, kind: int, variant: str, known: Mapping[str, Any]) -> tuple[int, ...]:
        """The locators of a port by the layout of a signal; none where a part is not known.

        `known` holds port, device, stage, orientation and capacity of the port. A time to live is
        whatever the packet has, so every value of it counts; alone it names nobody.
        """
        made = [0]
        parts = self.parts(kind, variant)
        for name, bits in parts:
            if name == TTL:
                made = [upper << bits | value for upper in made for value in range(1 << bits)]
                continue
            value = self.number(name, known)
            if value is None or not 0 <= value < 1 << bits:
                return ()
            made = [upper << bits | value for upper in made]
        return tuple(made) if {name for name, _ in parts} - {TTL, RESERVED} else ()

    def locator(self, kind: int, variant: str, known: Mapping[str, Any]) -> int | None:
        """The locator of a port whose layout has no time to live, as `locators`."""
        made = self.locators(kind, variant, known)
        return made[0] if len(made) == 1 else None

    def parts(self, kind: int, variant: str) -> tuple[tuple[str, int], ...]:
        """The parts of a signal's locator; none: no layout is told."""
        signal = self.signal(kind)
        return getattr(signal, variant).parts if signal else ()

    def number(self, name: str, known: Mapping[str, Any]) -> int | None:
        """What a part of a port's locator holds; None where it is not known."""
        if name == RESERVED:
            return 0
        value = known.get(name)
        return code_of(dict(dict(self.codes).get(name, ())), value) if name in CODED else value


def code_of(classes: Mapping[Any, int], value: Any) -> int | None:
    """The number of a class: as it is called, else by another word for the same stage."""
    if value in classes or not isinstance(value, str):
        return classes.get(value)
    alike = {stage_named(str(word)): code for word, code in classes.items()}
    return alike.get(stage_named(value)) if len(alike) == len(classes) else None
