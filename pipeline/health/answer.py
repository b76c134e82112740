"""What was found out about telemetry, as plain data with the words of the table of findings."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from pipeline.health.finding import BY_NAME, FINDINGS, YES

AS_IT_SHOULD_BE = ("tagged", "never_tagged")
"""Findings that ask nobody to do anything."""
WORST = ("device", "clock", "deployment", "coverage")
"""Classes in the order in which they are told."""
KEY = ["finding", "kind", "subject"]


def findings_of(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Findings out of rows with finding, kind, subject, verdict, count, evidence, from_ns, to_ns.

    Those that are sure come first, and of these devices that break rules.
    """
    return sorted(map(_told, rows.iter_rows(named=True)), key=_rank)


def widened(rows: pl.DataFrame, from_ns: int, to_ns: int) -> tuple[int, int]:
    """The range that rows of query `health_findings` cover, of those asked for from when to when.

    A finding is counted by whole intervals, of which the first and the last may reach beyond.
    """
    return min([from_ns, *rows["from_ns"]]), max([to_ns, *rows["to_ns"]])


def last_known(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Rows of the table `telemetry_health` by subject, as known last, with the time they span."""
    filled = [part for part in parts if part.height]
    if not filled:
        return pl.DataFrame()
    rows = pl.concat(filled).with_columns(pl.col("time_ns").alias("from_ns"))
    rows = rows.with_columns((pl.col("time_ns") + pl.col("interval_ns")).alias("to_ns"))
    return (
        rows.sort("time_ns", "revision", maintain_order=True)
        .group_by(KEY, maintain_order=True)
        .agg(
            pl.col("verdict", "count", "evidence").last(),
            pl.col("from_ns").min(),
            pl.col("to_ns").max(),
        )
    )


def worth_a_look(findings: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Findings that somebody may want to do something about."""
    return (each for each in findings if each["worth_a_look"])


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """One finding with its meaning."""
    known = BY_NAME[row["finding"]]
    return {
        "finding": known.name,
        "class": known.kind,
        "verdict": row["verdict"],
        "worth_a_look": known.name not in AS_IT_SHOULD_BE,
        "subject": {"kind": row["kind"], "name": row["subject"]},
        "count": row["count"],
        "from_ns": row["from_ns"],
        "to_ns": row["to_ns"],
        "evidence": json.loads(row["evidence"]),
        "meaning": known.meaning,
        "rule": known.rule,
        "tells": known.tells,
    }


ORDER = {finding.name: place for place, finding in enumerate(FINDINGS)}


def _rank(each: dict[str, Any]) -> tuple[Any, ...]:
    """Place of a finding in an answer."""
    subject = each["subject"]
    worst = WORST.index(each["class"])
    return (
        each["verdict"] != YES,
        worst,
        ORDER[each["finding"]],
        subject["kind"],
        subject["name"],
    )
