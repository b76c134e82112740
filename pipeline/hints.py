"""What settings say of senders by their addresses: their DCTCP dialect, and where they stand.

The loop reads them as one number a row: of each end three bits of dialect (0: not told) and one
that says that the end's sender is beside the tap.
"""

from ipaddress import IPv6Address, ip_address, ip_network

import polars as pl

from pipeline.cc.dctcp import DIALECTS
from pipeline.question import HALF
from pipeline.sender import END, NEAR
from pipeline.settings import PipelineSettings

HINTS = "hints"
ENDS = ("src", "dst")


class Hints:
    """Finds the hint of each address by its longest prefix."""

    def __init__(self, settings: PipelineSettings) -> None:
        numbers = {name: place for place, name in enumerate(DIALECTS, start=1)}
        self.dialects = [
            (ip_network(prefix), numbers[name]) for prefix, name in settings.dctcp_dialects.items()
        ]
        self.dialects.sort(key=lambda told: told[0].prefixlen, reverse=True)
        self.near = [ip_network(prefix) for prefix in settings.near]

    def told(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with `hints`, or as they are where settings say nothing."""
        if not self.dialects and not self.near:
            return rows
        for place, end in enumerate(ENDS):
            words = rows.select(f"{end}_hi", f"{end}_lo").unique()
            found = [self.of(high, low) << END * place for high, low in words.iter_rows()]
            hints = words.with_columns(pl.Series(f"{end}_hint", found, pl.UInt8))
            rows = rows.join(hints, on=words.columns, how="left", maintain_order="left")
        both = pl.col("src_hint") | pl.col("dst_hint")
        return rows.with_columns(both.alias(HINTS)).drop("src_hint", "dst_hint")

    def of(self, high: int, low: int) -> int:
        """The four bits of one address."""
        address = IPv6Address(high << HALF | low)
        own = ip_address(str(address.ipv4_mapped or address))
        dialect = next((number for network, number in self.dialects if own in network), 0)
        return dialect | NEAR * any(own in network for network in self.near)
