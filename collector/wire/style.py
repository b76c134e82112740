"""Styles of type-length-value lists: how a type and a length are written, and what stands alone.

tcp     | kind 8 | length 8, of the whole option | ...      kinds 0 (end) and 1 stand alone
ipv6    | type 8 | length 8, of what follows | ...          type 0 stands alone
geneve  | class 16 | type 8 | R 3 | words that follow 5 | ...
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """Octets from an option's start: where its kind and its length stand, and what they count.

    The option takes `(length & mask) * unit + add` octets. `end` ends the list, `single` is an
    option of one octet; -1 stands for none. `shortest` octets are its head.
    """

    name: str
    kind: int
    length: int
    mask: int
    unit: int
    add: int
    end: int
    single: int
    shortest: int


STYLES = (
    Style("tcp", 0, 1, 0xFF, 1, 0, 0, 1, 2),
    Style("ipv6", 0, 1, 0xFF, 1, 2, -1, 0, 2),
    Style("geneve", 2, 3, 0x1F, 4, 4, -1, -1, 4),
)
"""Every style; a header's table names one of them (RFC 9293 §3.1, RFC 8200 §4.2, RFC 8926 §3.5)."""
