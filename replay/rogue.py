"""Rogue ports: what a port that breaks the rules of CSIG does to a tag, by class.

An honest port replaces S and LM together, after quantisation, where its own value wins strictly
(draft-ravi-ippm-csig-00, section 5.4.2).
"""

from typing import Any

from collector import inner
from replay.state import ECN, SIGNALS, State

ROGUES = (
    "honest",
    "pass_through",
    "impossible_locator",
    "constant_minimum",
    "foreign_locator",
    "locator_without_signal",
    "tag_insertion",
    "under_reporting",
)
"""Classes by the code in `state.PORT`. A port of class

- pass_through forwards every tag as it came, however full it is;
- impossible_locator writes an LM that no port has, where an honest one would write its own;
- constant_minimum says of bandwidth and its share that nothing is left, always;
- foreign_locator writes the LM of a port of another device;
- locator_without_signal writes its LM into every tag, also where S stays;
- tag_insertion puts compact tags on data of flows that have only marks;
- under_reporting says of bandwidth half of what others use, and a quarter of its delay.
"""
(
    HONEST,
    PASS_THROUGH,
    IMPOSSIBLE_LOCATOR,
    CONSTANT_MINIMUM,
    FOREIGN_LOCATOR,
    LOCATOR_WITHOUT_SIGNAL,
    TAG_INSERTION,
    UNDER_REPORTING,
) = range(len(ROGUES))
NO_PORT, NO_PORT_COMPACT = 0xFFFE, 0x7E
"""Locators that no port of a fabric has."""
PART_OF_DELAY = 4


def code(name: str) -> int:
    """Code of a class. ValueError when there is none of that name."""
    if name not in ROGUES:
        raise ValueError(f"rogues: no class {name}; there are {', '.join(ROGUES)}")
    return ROGUES.index(name)


@inner
def measured(port: Any, t: int, value: float) -> float:
    """What a rogue port says that it measured, in the unit of the signal."""
    delay = t == SIGNALS - 1
    if port.rogue == CONSTANT_MINIMUM and not delay:
        return 0.0
    if port.rogue == UNDER_REPORTING:
        most = float(port.bps) if t == 0 else 1.0
        return value / PART_OF_DELAY if delay else (value + most) / 2
    return value


@inner
def locator(s: State, port: Any, expanded: bool) -> int:
    """The locator that a rogue port writes."""
    named = port
    if port.rogue == IMPOSSIBLE_LOCATOR:
        return NO_PORT if expanded else NO_PORT_COMPACT
    if port.rogue == FOREIGN_LOCATOR:
        named = s.ports[(port.lm_compact - 1 + len(s.ports) // 2) % len(s.ports)]
    return int(named.lm) if expanded else int(named.lm_compact)


@inner
def write(s: State, port: Any, packet: Any, local: int, expanded: bool) -> None:
    """What a rogue port does where an honest one would compare `local` with S and write its LM."""
    if port.rogue == PASS_THROUGH:
        return
    delay = packet.csig_t == SIGNALS - 1
    wins = local > packet.csig_s if delay else local < packet.csig_s
    if wins:
        packet.csig_s = local
    if wins or port.rogue == LOCATOR_WITHOUT_SIGNAL:
        packet.csig_lm = locator(s, port, expanded)


@inner
def inserts(s: State, port: Any, packet: Any, kind: int) -> bool:
    """Whether data without a tag has one from here on: it gets that of a sender."""
    if kind == ECN and port.rogue == TAG_INSERTION and packet.inserted == 0:
        packet.inserted = 1
        packet.csig_t = packet.seq // s.rules.payload_bytes % SIGNALS
        packet.csig_s = s.rules.initial[0, packet.csig_t]
        packet.csig_lm = 0
    return bool(packet.inserted == 1)
