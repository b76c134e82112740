"""Names of flows: who sends to whom, as text, of the flows that a command was asked for."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from collector import directed
from pipeline import NETWORK, address_text, end_text
from service.endpoint import Endpoint, parse_endpoint
from service.failure import ExitCode, Failure

ENDS = {
    "src_hi": "dst_hi",
    "src_lo": "dst_lo",
    "dst_hi": "src_hi",
    "dst_lo": "src_lo",
    "sport": "dport",
    "dport": "sport",
}
"""Columns of a flow's key and those of its reverse."""
KEYS = pl.Schema(
    {
        "flow": pl.UInt64(),
        "src": pl.String(),
        "sport": pl.UInt16(),
        "dst": pl.String(),
        "dport": pl.UInt16(),
        "tenant": pl.String(),
        "vrf": pl.String(),
        "vni": pl.UInt32(),
    }
)
"""Keys of flows, addresses as text; null is what tells no flow from another."""
REVERSE = pl.Schema({"flow": pl.UInt64()})
PLACED = ("conversation", "direction")
PARTS = ("src", "sport", "dst", "dport")
MOST_ALIKE = 3
"""Flows that are offered where the one that was asked for is not there."""

Ends = tuple[Endpoint, Endpoint]


class FlowNames:
    """Learns the keys of flows from rows; of flows that were not asked for it keeps no key."""

    def __init__(self, wanted: Ends | None = None) -> None:
        self.wanted = wanted
        self.keys = pl.DataFrame(schema=KEYS)
        self.seen = pl.DataFrame(schema={"flow": pl.UInt64()})
        self.reverse = pl.DataFrame(schema=REVERSE)
        self.senders: set[int] = set()
        """The flow that was asked for and its reverse, those of which data was seen."""
        self.ranked: list[tuple[int, str]] = []

    @property
    def alike(self) -> tuple[str, ...]:
        """Other flows that share most with the one that was asked for, most alike first."""
        return tuple(name for _, name in self.ranked)

    def know(self, rows: pl.DataFrame) -> None:
        """Take the flows of observations, and those whose acknowledgments these are."""
        self.learn(rows)
        if self.wanted is not None and len(self.senders) < len(self.wanted):
            both = pl.concat([self.keys.select("flow"), self.reverse])
            mine = rows.join(both, on="flow", how="semi")
            self.senders.update(mine.filter(pl.col("payload_bytes") > 0)["flow"].unique())

    @property
    def is_of_acknowledgments(self) -> bool:
        """Whether data goes against the direction that was asked for, and none along it."""
        back, there = set(self.reverse["flow"]), set(self.keys["flow"])
        return bool(back & self.senders) and not there & self.senders

    def learn(self, rows: pl.DataFrame) -> None:
        """Take the keys of flows that are new."""
        network = [name for name in NETWORK if name in rows.columns]
        flows = rows.select("flow", *ENDS, *PLACED, *network).unique("flow", maintain_order=True)
        flows = flows.join(self.seen, on="flow", how="anti", maintain_order="left")
        if flows.is_empty():
            return
        both = pl.concat([flows, reverse(flows)], how="diagonal_relaxed")
        new = both.unique("flow", maintain_order=True).join(self.seen, on="flow", how="anti")
        self.seen = pl.concat([self.seen, new.select("flow")])
        self.keys = pl.concat([self.keys, self.named(new)])

    def named(self, flows: pl.DataFrame) -> pl.DataFrame:
        """Keys of the flows that were asked for, addresses as text."""
        rows = [key_of(row) for row in flows.iter_rows(named=True)]
        if self.wanted is not None:
            ends = [part for end in self.wanted for part in (str(end.address), end.port)]
            shared = [same(row, ends) for row in rows]
            self.rank(rows, shared)
            back = [row["flow"] for row in rows if same(row, ends[2:] + ends[:2]) == len(ends)]
            self.reverse = pl.concat([self.reverse, pl.DataFrame({"flow": back}, schema=REVERSE)])
            rows = [row for row, parts in zip(rows, shared, strict=True) if parts == len(ends)]
        return pl.DataFrame(rows, schema=KEYS)

    def rank(self, rows: Sequence[Mapping[str, Any]], shared: Sequence[int]) -> None:
        """Keep the few flows that are most like the one that was asked for."""
        found = [(parts, name_of(row)) for row, parts in zip(rows, shared, strict=True) if parts]
        self.ranked = sorted(self.ranked + found, key=lambda each: -each[0])[:MOST_ALIKE]


def same(row: Mapping[str, Any], ends: Sequence[object]) -> int:
    """How many of address, port, address, port of a flow are those."""
    return sum(row[name] == end for name, end in zip(PARTS, ends, strict=True))


def name_of(row: Mapping[str, Any]) -> str:
    """A key as text."""
    return f"{end_text(row['src'], row['sport'])} → {end_text(row['dst'], row['dport'])}"


def ends_text(ends: Ends) -> str:
    """The two ends of a flow as text."""
    return " → ".join(end_text(str(end.address), end.port) for end in ends)


def key_of(row: Mapping[str, object]) -> dict[str, object]:
    """The key of one flow, addresses as text."""
    ends = {end: address_text(row, end) for end in ("src", "dst")}
    own = {name: row.get(name) for name in KEYS} | ends
    return own | {name: None if own[name] == "" else own[name] for name in NETWORK}


def reverse(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows whose acknowledgments these are: a tap may see only one direction."""
    other = (1 - flows["direction"]).cast(pl.UInt8)
    flow = np.empty(flows.height, np.uint64)
    directed(flows["conversation"].to_numpy(), other.to_numpy(), flow)
    turned = [pl.col(other).alias(name) for name, other in ENDS.items()]
    network = [name for name in NETWORK if name in flows.columns]
    return flows.select(pl.Series("flow", flow), *turned, *network)


def flow_of(text: str | None) -> Ends | None:
    """The two ends of a flow, where one was told."""
    return None if text is None else ends_of(text)


def ends_of(text: str) -> Ends:
    """The two ends of `SRC:PORT DST:PORT`."""
    ends = text.replace("→", " ").replace("->", " ").split()
    try:
        source, destination = (parse_endpoint(end) for end in ends)
    except ValueError as error:
        told = "two ends are needed" if "unpack" in str(error) else str(error)
        raise Failure(ExitCode.USAGE, f'--flow must be "SRC:PORT DST:PORT": {told}') from None
    return source, destination


def end_texts(end: str) -> pl.Expr:
    """The same of a column `src` or `dst`."""
    port = f"{end[0]}port"
    brackets = pl.col(end).str.contains(":", literal=True)
    return (
        pl.when(brackets)
        .then(pl.format("[{}]:{}", end, port))
        .otherwise(pl.format("{}:{}", end, port))
    )
