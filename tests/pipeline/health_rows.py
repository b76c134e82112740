"""Packets with tags at two points of a chain of devices, as observations made by hand."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import polars as pl

from pipeline import PipelineSettings, Topology, Worker
from pipeline.health import TABLE

SETTINGS = PipelineSettings()
MS = 1_000_000
START, END = "one:host", "two:host"
"""Points at the ports of the sender and of the receiver of `chain_of("one", "two")`."""
COMPACT, ABW, UTILIZATION, DELAY = 1, 0, 1, 2
BUCKET_BPS, GAP_NS = 12.5e9 / 32, 10_000
TRANSIT_NS = 5_000
Row = dict[str, Any]


def tag(s: int, lm: int, t: int = ABW, variant: int = COMPACT) -> Row:
    """Columns of a tag; its bucket is one of 32 of 12.5 Gbit/s, or of half microseconds."""
    low = s * (BUCKET_BPS if t == ABW else 500.0 if t == DELAY else 1 / 32)
    high = (s + 1) * (low / s if s else BUCKET_BPS if t == ABW else 500.0)
    return {"csig_variant": variant, "csig_t": t, "csig_s": s, "csig_lm": lm, "csig_low": low,
            "csig_high": high}  # fmt: skip


def sight(number: int, point: str, ttl: int, **told: Any) -> Row:
    """One packet of a flow at one point; the later one sees it `TRANSIT_NS` after."""
    late = TRANSIT_NS if point == END else 0
    return {"time_ns": number * GAP_NS + late, "point": point, "ttl": ttl, "seq": number * 1000,
            "ip_id": number % 65535 + 1, "frame": 2 * number + (late > 0) + 1, **told}  # fmt: skip


def crossing(
    number: int, before: Mapping[str, Any], after: Mapping[str, Any], **told: Any
) -> Iterable[Row]:
    """One packet at both points, two routers apart."""
    yield sight(number, START, 64, **before, **told)
    yield sight(number, END, 62, **after, **told)


def watched(
    rows: pl.DataFrame,
    topology: Topology | None,
    settings: PipelineSettings = SETTINGS,
    cuts: Iterable[int] = (),
) -> pl.DataFrame:
    """Findings of a worker that took these rows in batches."""
    rows = rows.sort("time_ns", "frame")
    worker = Worker(settings, topology, tuple(rows["source"].unique()))
    edges = [0, *cuts, rows.height]
    made = [worker.advance(rows[start:end]) for start, end in pairwise(edges)]
    found = [each.tables[TABLE] for each in [*made, worker.finish()] if TABLE in each.tables]
    return pl.concat(found) if found else pl.DataFrame()


def said(found: pl.DataFrame) -> set[tuple[str, str, str]]:
    """Findings, subjects and verdicts, without those of coverage that are as they should be."""
    rows = found.filter(pl.col("finding") != "tagged") if found.height else found
    return set(rows.select("finding", "subject", "verdict").iter_rows()) if rows.height else set()
