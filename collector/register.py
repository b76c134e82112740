"""Columns that the tables write: which there are, how wide, and which of them steer the walk."""

from collections.abc import Iterable

from collector.wire.place import OCTET, WORD_LIMIT
from collector.wire.table import Header, Length

FIXED = ("ecn", "outer_ecn")
"""Columns that the walk itself knows."""
HANDED = "handed_"
"""Before the name of a column: its value as it is handed on to the rows that begin behind."""


class Registers:
    """Numbers of the columns: flat ones, and those that each hop has anew."""

    def __init__(self, tables: tuple[Header, ...]) -> None:
        self.bits: dict[str, int] = dict.fromkeys(FIXED, 2)
        self.hop_bits: dict[str, int] = {}
        for header in tables:
            self._take(header)
        self.flat = tuple(self.bits)
        self.hop = tuple(self.hop_bits)
        self.column = {name: at for at, name in enumerate(self.flat)}
        self.column |= {name: at for at, name in enumerate(self.hop)}
        if double := set(self.flat) & set(self.hop):
            raise ValueError(f"column {min(double)} is both the frame's and a hop's")

    def _take(self, header: Header) -> None:
        kept = [(field.column, field.bits) for field in header.fields]
        kept += [(name, value.bit_length()) for name, value in header.marks]
        if header.inherited:
            kept += [(HANDED + name, bits) for name, bits in kept if name and name[0] != "_"]
        if header.remainder is not None:
            kept += zip(header.remainder, (OCTET * WORD_LIMIT, OCTET), strict=True)
        rule = header.records
        if rule is not None:
            inside = [field for part in rule.parts for field in part.fields]
            per_hop = [(field.column, field.bits) for field in inside]
            if not rule.per_hop:
                kept, per_hop = kept + per_hop, []
            kept += [(field.column, field.bits) for field in rule.bottom]
            kept.append((rule.mismatch, OCTET))
            for name, bits in per_hop:
                if name:
                    self.hop_bits[name] = max(bits, self.hop_bits.get(name, 1))
        for name, bits in kept:
            if name:
                self.bits[name] = max(bits, self.bits.get(name, 1))

    @staticmethod
    def rules(header: Header, deciding: frozenset[str]) -> frozenset[str]:
        """Fields of a header whose value decides what else is read: these columns do."""
        lengths = (header.length, header.trailer, header.options_at)
        named = {rule.field for rule in lengths if isinstance(rule, Length)}
        named |= {check.field for check in header.checks}
        named |= {field.name for field in header.fields if field.column in deciding}
        return frozenset(named & {field.name for field in header.fields})

    @staticmethod
    def of(tables: Iterable[Header]) -> list[str]:
        """Columns that these headers write."""
        return [
            field.column
            for header in tables
            for field in header.fields
            if field.column and not field.column.startswith("_")
        ]
