"""Rogue ports: what a port that breaks the rules of CSIG does to a tag, by class.

An honest port replaces S and LM together, after quantisation, where its own value wins strictly
(draft-ravi-ippm-csig-00, section 5.4.2).
"""

from typing import Any

from collector import inner

ROGUES = ("honest", "pass_through")
"""Classes by the code in `state.PORT`: a port of class pass_through forwards every tag as it came,
however full it is."""
HONEST, PASS_THROUGH = range(len(ROGUES))


def code(name: str) -> int:
    """Code of a class. ValueError when there is none of that name."""
    if name not in ROGUES:
        raise ValueError(f"rogues: no class {name}; there are {', '.join(ROGUES)}")
    return ROGUES.index(name)


@inner
def write(port: Any, packet: Any, local: int, lm: int) -> None:
    """What a rogue port does where an honest one would compare `local` with S and write `lm`."""
    if port.rogue == PASS_THROUGH:
        return
    packet.csig_s = local
    packet.csig_lm = lm
