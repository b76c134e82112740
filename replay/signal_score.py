"""Scores per signal: whether the hop that a signal of a verdict points at is the truth's.

Only flow-intervals count that are scored, and whose truth has one hop apart from the next
(`signal_truth`). Of ports that nobody can tell apart each counts as much as it would over all
casts, as for the headline (`ceiling`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from replay.listed import STATED, place

ABOUT = {
    "int": "u", "aecn": "u", "csig_abw": "abw", "csig_utilization": "abw_share",
    "csig_delay": "delay", "delay": "delay", "ecn": "marks",
}  # fmt: skip
"""What a signal of candidates is about, by the names of `signal_truth.SIGNALS`."""
COLUMNS = ("signals", "signals_first", "signals_held")
"""Columns of `judged`, lists side by side: signals that were told of, how often the first hop of
each is right, how often the set that claims `STATED` holds it."""
KEY = ["script", "time_ns"]


def compared(
    rows: pl.DataFrame, truth: pl.DataFrame, like: Mapping[str, str], shares: Mapping[str, float]
) -> pl.DataFrame:
    """The columns of each row: what its candidates say of each signal beside the truth."""
    apart = truth.filter("apart").select(
        *KEY, "signal", hop=pl.format("{} {}", "device", "interface")
    )
    right = {
        key: dict(zip(*part.select("signal", "hop").get_columns(), strict=True))
        for key, part in apart.partition_by(KEY, as_dict=True).items()
    }
    found = [
        told(text, right.get((script, time_ns), {}), like, shares)
        for script, time_ns, text in rows.select(*KEY, "candidates").iter_rows()
    ]
    schema = dict(zip(COLUMNS, (pl.List(pl.String), *[pl.List(pl.Float64)] * 2), strict=True))
    return pl.DataFrame(found, schema, orient="row")


def told(
    text: str | None, right: Mapping[str, str], like: Mapping[str, str], shares: Mapping[str, float]
) -> tuple[list[str], list[float], list[float]]:
    """Signals of one verdict that can be right or wrong, and how right they are."""
    ranked: dict[str, list[tuple[float, str]]] = {}
    for one in json.loads(text or "[]"):
        if ABOUT.get(one["signal"]) in right:
            ranked.setdefault(one["signal"], []).append((-one["probability"], place(one)))
    names, first, held = [], [], []
    for signal, hops in ranked.items():
        hop = right[ABOUT[signal]]
        alike = [like.get(named) == like[hop] for named in claimed(sorted(hops))]
        names.append(signal)
        first.append(shares[hop] * alike[0])
        held.append(min(1.0, shares[hop] * sum(alike)))
    return names, first, held


def claimed(ranked: Sequence[tuple[float, str]]) -> Iterator[str]:
    """The likeliest hops until they come to `STATED`."""
    before = 0.0
    for less, hop in ranked:
        if before < STATED:
            yield hop
        before -= less


def by_signal(rows: pl.DataFrame) -> pl.DataFrame:
    """telemetry, signal, about, rows, first, held: shares over all scored rows that were told."""
    about = pl.col("signals").replace_strict(ABOUT, return_dtype=pl.String)
    return (
        rows.filter("scored")
        .select("telemetry", *COLUMNS)
        .explode(COLUMNS)
        .drop_nulls("signals")
        .group_by("telemetry", "signals")
        .agg(pl.len().alias("rows"), pl.col(COLUMNS[1]).mean(), pl.col(COLUMNS[2]).mean())
        .with_columns(about.alias("about"))
        .sort("telemetry", "signals")
    )
