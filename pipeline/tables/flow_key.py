"""Columns that say which flow a row is about; direction is part of the key."""

from pipeline.tables.column import Alias, Column
from pipeline.tables.types import MAYBE_U32, U8, U16, U64, WORD

FLOW_KEY = (
    Column("tenant", WORD, "", "Tenant that owns the addresses."),
    Column("vrf", WORD, "", "Routing instance of the addresses."),
    Column("vni", MAYBE_U32, "", "Virtual network of an overlay; null: none."),
    Column("src_hi", U64, "", "Upper half of the source address."),
    Column("src_lo", U64, "", "Lower half; IPv4 stands in ::ffff:0:0/96."),
    Column("dst_hi", U64, "", "Upper half of the destination address."),
    Column("dst_lo", U64, "", "Lower half of the destination address."),
    Column("sport", U16, "", "Source port."),
    Column("dport", U16, "", "Destination port."),
    Column("protocol", U8, "", "IP protocol number."),
)


def _address(end: str) -> Alias:
    """Readable form of the address whose two words are `<end>_hi` and `<end>_lo`."""
    words = ", ".join(f"reinterpretAsFixedString(byteSwap({end}_{half}))" for half in ("hi", "lo"))
    text = f"replaceOne(IPv6NumToString(toFixedString(concat({words}), 16)), '::ffff:', '')"
    name = {"src": "source", "dst": "destination"}[end]
    return Alias(end, "String", text, f"The {name} address as text.")


ADDRESSES = (_address("src"), _address("dst"))
