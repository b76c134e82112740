"""What was found about each flow, kept small while captures run through: `analyze` tells it."""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv6Address
from typing import Any

import polars as pl

from collector import Accounting
from pipeline.composed_answer import compose_answer
from pipeline.health import TABLE as HEALTH
from pipeline.health import findings_of, last_known
from pipeline.merging import merged
from pipeline.question import HALF
from pipeline.tables import TABLES
from pipeline.worker import Output

CLOSED = ("window_end", "window_end_reduce")
"""DCTCP branches that close an observation window and move alpha."""
HPCC_STATE = ("U", "W", "Wc", "R", "incStage", "lastUpdateSeq", "quality", "why")
DCTCP_STATE = ("alpha", "dialect", "basis", "quality", "why")
SHOWN = ("src", "sport", "dst", "dport", "protocol", "vni", "first_ns", "last_ns")
TOLD = ("candidates", "evidence", "history")
COUNTED = ("frames", "data_bytes", "ce_frames")
NOTHING_SENT = dict.fromkeys(COUNTED, 0)
"""Of a flow of which only acknowledgments with telemetry were seen."""
WINDOW = ("time_ns", "frame", "ack", "alpha", "M", "BytesAcked", "BytesMarked", "WindowEnd")


class Summary:
    """Collects verdicts and the last decisions of every flow; a sink of the pipeline."""

    def __init__(self) -> None:
        self.verdicts: list[pl.DataFrame] = []
        self.flows: list[pl.DataFrame] = []
        self.sent: list[pl.DataFrame] = []
        self.windows: list[pl.DataFrame] = []
        self.states: list[pl.DataFrame] = []
        self.health: list[pl.DataFrame] = []

    def take(self, output: Output, _token: str) -> None:
        """Keep what the answer needs of one output."""
        if HEALTH in output.tables:
            self.health.append(output.tables[HEALTH])
        if "verdicts" in output.tables:
            self.verdicts.append(output.tables["verdicts"])
            self.flows.append(output.tables["flows"])
            sent = output.tables["flow_intervals"]
            self.sent.append(sent.group_by("flow", "point").agg(pl.col(COUNTED).sum()))
        if output.tracked is not None:
            rows = output.tracked.decisions
            self.states.append(latest(rows.with_columns(pl.lit(1, pl.Int64).alias("decisions"))))
            closing = pl.col("branch").cast(pl.String).is_in(CLOSED)
            self.windows.append(rows.filter(closing).select("flow", "point", *WINDOW))

    def report(self, accounting: Accounting) -> dict[str, Any]:
        """What `analyze --json` prints: accounting, and flows that sent data, first seen first."""
        return {
            "accounting": accounting.numbers,
            "flows": list(self._flows()),
            "telemetry_health": findings_of(last_known(self.health)),
        }

    def _flows(self) -> Iterator[dict[str, Any]]:
        """The part of each flow that has a verdict."""
        if not self.verdicts:
            return
        # Of a verdict and one that late rows alone gave the first holds.
        judged = pl.concat(self.verdicts).sort("revision", descending=True, maintain_order=True)
        verdicts = parts(
            judged.unique(["flow", "time_ns", "interval_ns"], keep="first", maintain_order=True)
        )
        sent = rows_by(totalled(self.sent), "flow")
        states = rows_by(best_known(latest(pl.concat(self.states))), "flow", "algorithm")
        windows = parts(pl.concat(self.windows), "point")
        flows = merged(self.flows, "flows", TABLES["flows"].order).sort("first_ns", "flow")
        for row in flows.iter_rows(named=True):
            flow = row["flow"]
            if (flow,) in verdicts:
                last = states.get((flow, "dctcp"))
                closed = windows.get((flow, last["point"])) if last else None
                yield {
                    **described(row, verdicts[flow,], sent.get((flow,), NOTHING_SENT)),
                    "hpcc": hpcc_of(states.get((flow, "hpcc"))),
                    "dctcp": dctcp_of(last, closed),
                }


def parts(rows: pl.DataFrame, *more: str) -> dict[tuple[Any, ...], pl.DataFrame]:
    """The rows of each flow, and of each value of the other columns."""
    return rows.partition_by("flow", *more, as_dict=True, maintain_order=True)


def rows_by(rows: pl.DataFrame, *key: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Each row by its key."""
    return {tuple(row[name] for name in key): row for row in rows.iter_rows(named=True)}


def totalled(sent: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """What each flow sent, as counted by the point that saw most of it."""
    points = pl.concat(sent).group_by("flow", "point").agg(pl.col(COUNTED).sum())
    order = points.sort("flow", "data_bytes", "point", descending=[False, True, False])
    marked = pl.col("ce_frames").max().over("flow")
    return order.with_columns(marked).unique("flow", keep="first", maintain_order=True)


def latest(decisions: pl.DataFrame) -> pl.DataFrame:
    """Decisions or sums of them, one row a flow, point and algorithm: totals, last state."""
    totals = ("decisions", "acked_bytes", "marked_bytes")
    return decisions.group_by("flow", "point", "algorithm", maintain_order=True).agg(
        pl.col(totals).sum(), pl.exclude(totals).last()
    )


def best_known(states: pl.DataFrame) -> pl.DataFrame:
    """The state of each flow and algorithm at the point where it is known best."""
    rank = (
        pl.col("quality")
        .cast(pl.String)
        .replace_strict({"exact": 0, "estimated": 1}, default=2, return_dtype=pl.Int8)
    )
    return states.sort(rank, -pl.col("decisions"), "point").unique(
        ["flow", "algorithm"], keep="first", maintain_order=True
    )


def described(
    row: Mapping[str, Any], verdicts: pl.DataFrame, sent: Mapping[str, Any]
) -> dict[str, Any]:
    """A flow's key, what it sent and where it was bottlenecked."""
    src, dst = (address_text(row, end) for end in ("src", "dst"))
    named = {**row, "src": src, "dst": dst}
    answer = compose_answer(named, verdicts.to_dicts(), row["first_ns"], row["last_ns"])
    return {
        **picked(named, SHOWN),
        **picked(sent, COUNTED),
        "cc": row["cc"],
        "bottleneck": {**answer["verdict"], **picked(answer, TOLD)},
    }


def hpcc_of(last: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """HPCC++ state after the last ACK."""
    return None if last is None else picked(last, ("point", "decisions", *HPCC_STATE))


def dctcp_of(last: Mapping[str, Any] | None, windows: pl.DataFrame | None) -> dict[str, Any] | None:
    """DCTCP alpha after the last window, and every window before it."""
    if last is None:
        return None
    share = last["marked_bytes"] / last["acked_bytes"] if last["acked_bytes"] else None
    return {
        **picked(last, ("point", "decisions", *DCTCP_STATE)),
        "mark_share": share,
        "windows": [] if windows is None else windows.select(WINDOW).to_dicts(),
    }


def picked(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """These columns of a row."""
    return {name: row[name] for name in names}


def address_text(row: Mapping[str, Any], end: str) -> str:
    """The address of one end as text, from its two words."""
    address = IPv6Address(row[f"{end}_hi"] << HALF | row[f"{end}_lo"])
    return str(address.ipv4_mapped or address)
