"""Names of flows: who sends to whom, as text, of the flows that a command was asked for."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from collector import directed
from pipeline import address_text
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
    }
)
"""Keys of flows, addresses as text."""
PLACED = ("conversation", "direction")

Ends = tuple[Endpoint, Endpoint]


class FlowNames:
    """Learns the keys of flows from rows; of flows that were not asked for it keeps no key."""

    def __init__(self, wanted: Ends | None = None) -> None:
        self.wanted = wanted
        self.keys = pl.DataFrame(schema=KEYS)
        self.seen = pl.DataFrame(schema={"flow": pl.UInt64()})

    def know(self, rows: pl.DataFrame) -> None:
        """Take the flows of observations, and those whose acknowledgments these are."""
        flows = rows.select("flow", *ENDS, *PLACED).unique("flow", maintain_order=True)
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
            ends = [(str(end.address), end.port) for end in self.wanted]
            rows = [r for r in rows if [(r["src"], r["sport"]), (r["dst"], r["dport"])] == ends]
        return pl.DataFrame(rows, schema=KEYS)


def key_of(row: Mapping[str, object]) -> dict[str, object]:
    """The key of one flow, addresses as text."""
    ends = {end: address_text(row, end) for end in ("src", "dst")}
    return {name: ends.get(name, row.get(name)) for name in KEYS}


def reverse(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows whose acknowledgments these are: a tap may see only one direction."""
    other = (1 - flows["direction"]).cast(pl.UInt8)
    flow = np.empty(flows.height, np.uint64)
    directed(flows["conversation"].to_numpy(), other.to_numpy(), flow)
    turned = [pl.col(other).alias(name) for name, other in ENDS.items()]
    return flows.select(pl.Series("flow", flow), *turned)


def flow_of(text: str | None) -> Ends | None:
    """The two ends of `SRC:PORT DST:PORT`."""
    if text is None:
        return None
    ends = text.replace("→", " ").replace("->", " ").split()
    try:
        source, destination = (parse_endpoint(end) for end in ends)
    except ValueError as error:
        told = "two ends are needed" if "unpack" in str(error) else str(error)
        raise Failure(ExitCode.USAGE, f'--flow must be "SRC:PORT DST:PORT": {told}') from None
    return source, destination


def end_text(address: str, port: int) -> str:
    """An end as `--flow` takes it: IPv6 addresses in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def end_texts(end: str) -> pl.Expr:
    """The same of a column `src` or `dst`."""
    port = f"{end[0]}port"
    brackets = pl.col(end).str.contains(":", literal=True)
    return (
        pl.when(brackets)
        .then(pl.format("[{}]:{}", end, port))
        .otherwise(pl.format("{}:{}", end, port))
    )
