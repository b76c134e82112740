"""What was found about each flow, kept small while captures run through: `analyze` tells it."""

from collections.abc import Mapping
from ipaddress import IPv6Address
from typing import Any

import polars as pl

from collector import Accounting
from pipeline.answer import compose_answer
from pipeline.question import HALF
from pipeline.tables import TABLES
from pipeline.worker import Output

CLOSED = ("window_end", "window_end_reduce")
"""DCTCP branches that close an observation window and move alpha."""
HPCC_STATE = ("U", "W", "Wc", "R", "incStage", "lastUpdateSeq", "quality", "why")
DCTCP_STATE = ("alpha", "dialect", "basis", "quality", "why")
WINDOW = ("time_ns", "frame", "ack", "alpha", "M", "BytesAcked", "BytesMarked", "WindowEnd")


class Summary:
    """Collects verdicts and the last decisions of every flow; a sink of the pipeline."""

    def __init__(self) -> None:
        self.verdicts: list[pl.DataFrame] = []
        self.flows: list[pl.DataFrame] = []
        self.sent: list[pl.DataFrame] = []
        self.windows: list[pl.DataFrame] = []
        self.states: list[pl.DataFrame] = []

    def take(self, output: Output, _token: str) -> None:
        """Keep what the answer needs of one output."""
        if "verdicts" in output.tables:
            self.verdicts.append(output.tables["verdicts"])
            self.flows.append(output.tables["flows"])
            self.sent.append(output.tables["flow_intervals"])
        if output.tracked is not None:
            rows = output.tracked.decisions
            self.states.append(
                rows.group_by("flow", "point", "algorithm", maintain_order=True).agg(
                    pl.len().alias("decisions"),
                    pl.col("acked_bytes", "marked_bytes").sum(),
                    pl.exclude("acked_bytes", "marked_bytes").last(),
                )
            )
            self.windows.append(
                rows.filter(pl.col("branch").cast(pl.String).is_in(CLOSED)).select(
                    "flow", "point", *WINDOW
                )
            )

    def report(self, accounting: Accounting) -> dict[str, Any]:
        """What `analyze --json` prints: accounting, and flows that sent data, first seen first."""
        return {
            "accounting": {
                "seen": accounting.seen,
                "decoded": accounting.decoded,
                "reasons": accounting.reasons,
            },
            "flows": [self._flow(row) for row in self._flows().iter_rows(named=True)],
        }

    def _flows(self) -> pl.DataFrame:
        """Each flow that has a verdict, once."""
        if not self.flows:
            return TABLES["flows"].schema.to_frame()
        judged = pl.concat(self.verdicts).select("flow").unique()
        last = pl.concat(self.flows, how="diagonal_relaxed").group_by("flow", maintain_order=True)
        newest = last.agg(pl.exclude("first_ns").last(), pl.col("first_ns").min())
        return newest.join(judged, on="flow", how="semi").sort("first_ns", "flow")

    def _flow(self, row: dict[str, Any]) -> dict[str, Any]:
        """One flow's part of the report."""
        flow = pl.col("flow") == row["flow"]
        rows = pl.concat([part.filter(flow) for part in self.verdicts])
        sent = pl.concat([part.filter(flow) for part in self.sent], how="diagonal_relaxed")
        src, dst = (address_text(row, end) for end in ("src", "dst"))
        named = {**row, "src": src, "dst": dst}
        answer = compose_answer(named, rows, row["first_ns"], row["last_ns"])
        totals = sent.group_by("point").agg(pl.col("frames", "data_bytes", "ce_frames").sum())
        most = totals.sort("data_bytes", "point", descending=[True, False]).row(0, named=True)
        return {
            "src": src,
            "sport": row["sport"],
            "dst": dst,
            "dport": row["dport"],
            "protocol": row["protocol"],
            "vni": row["vni"],
            "first_ns": row["first_ns"],
            "last_ns": row["last_ns"],
            "frames": most["frames"],
            "data_bytes": most["data_bytes"],
            "ce_frames": totals["ce_frames"].max(),
            "cc": row["cc"],
            "bottleneck": {
                **answer["verdict"],
                "candidates": answer["candidates"],
                "evidence": answer["evidence"],
                "history": answer["history"],
            },
            "hpcc": self._hpcc(row["flow"]),
            "dctcp": self._dctcp(row["flow"]),
        }

    def _last(self, flow: int, algorithm: str) -> dict[str, Any] | None:
        """Last state of a flow by one algorithm, at the point where it is known best."""
        mine = (pl.col("flow") == flow) & (pl.col("algorithm") == algorithm)
        rows = pl.concat([part.filter(mine) for part in self.states]) if self.states else None
        if rows is None or rows.is_empty():
            return None
        order = {"exact": 0, "estimated": 1}
        known = rows.group_by("point", maintain_order=True).agg(
            pl.col("decisions", "acked_bytes", "marked_bytes").sum(),
            pl.exclude("decisions", "acked_bytes", "marked_bytes").last(),
        )
        rank = (
            pl.col("quality").cast(pl.String).replace_strict(order, default=2, return_dtype=pl.Int8)
        )
        return known.sort(rank, -pl.col("decisions").cast(pl.Int64), "point").row(0, named=True)

    def _hpcc(self, flow: int) -> dict[str, Any] | None:
        """HPCC++ state after the last ACK."""
        last = self._last(flow, "hpcc")
        if last is None:
            return None
        return {"point": last["point"], "decisions": last["decisions"], **picked(last, HPCC_STATE)}

    def _dctcp(self, flow: int) -> dict[str, Any] | None:
        """DCTCP alpha after the last window, and every window before it."""
        last = self._last(flow, "dctcp")
        if last is None:
            return None
        here = (pl.col("flow") == flow) & (pl.col("point") == last["point"])
        windows = pl.concat([part.filter(here) for part in self.windows]).select(WINDOW)
        share = last["marked_bytes"] / last["acked_bytes"] if last["acked_bytes"] else None
        return {
            "point": last["point"],
            "decisions": last["decisions"],
            **picked(last, DCTCP_STATE),
            "mark_share": share,
            "windows": windows.to_dicts(),
        }


def picked(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """These columns of a row."""
    return {name: row[name] for name in names}


def address_text(row: Mapping[str, Any], end: str) -> str:
    """The address of one end as text, from its two words."""
    address = IPv6Address(row[f"{end}_hi"] << HALF | row[f"{end}_lo"])
    return str(address.ipv4_mapped or address)
