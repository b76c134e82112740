"""What is told of a link beside its load: the samples behind it, and no quantile out of bounds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from empty_store import empty_store

from pipeline import Store
from pipeline.histogram import METRICS, bucket

T0 = 1_760_000_000 * 10**9
MS = 10**6
S = 10**9
INT, TAGS = 5, 3
"""Samples of a stack, and of each signal of the tags that tell of the same frames and more."""
LEAST_BPS = 4768
FIRST = {metric.name: metric.first for metric in METRICS}
SIGNALS = ("csig_abw", "csig_delay", "csig_echo_abw")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Port 1 is told of by INT and by tags, port 2 by tags alone."""
    with empty_store(tmp_path / "db") as opened:
        told = [(1, "int", INT), *((port, source, TAGS) for port in (1, 2) for source in SIGNALS)]
        opened.insert("hop_intervals", pl.DataFrame([interval(*each) for each in told]), "loads")
        opened.insert("link_seconds", pl.DataFrame([second(*each) for each in told]), "cells")
        yield opened


def interval(port: int, source: str, samples: int) -> dict[str, Any]:
    return {"time_ns": T0, "interval_ns": 10 * MS, "flow": 1, "point": "p", "node": 7,
            "port": port, "source": source, "samples": samples,
            "u_sum_n": samples * 10**9, "u_max_n": 10**9}  # fmt: skip


def second(port: int, source: str, samples: int) -> dict[str, Any]:
    row = {
        "time_ns": T0,
        "node": 7,
        "port": port,
        "dscp": 0,
        "source": source,
        "samples": samples,
        "u_hist": {"bucket": [], "samples": []},
        "u_max_n": None,
        "abw_hist": {"bucket": [], "samples": []},
        "abw_min_bps": None,
        "abw_max_bps": None,
    }
    if not source.endswith("delay"):  # a tag's delay tells no load
        row["u_hist"] = {"bucket": [bucket(10**9, FIRST["u"])], "samples": [samples]}
        row["u_max_n"] = 10**9
    if source.endswith("abw"):
        numbers = [bucket(value, FIRST["abw"]) for value in (LEAST_BPS, 10**9)]
        row["abw_hist"] = {"bucket": numbers, "samples": [1, samples - 1]}
        row |= {"abw_min_bps": LEAST_BPS, "abw_max_bps": 10**9}
    return row


def by_port(rows: pl.DataFrame) -> dict[int, int]:
    return dict(rows.select("port", "samples").iter_rows())


def test_samples_are_those_behind_the_load(store: Store) -> None:
    window = {"from_ns": T0, "to_ns": T0 + 100 * MS, "step_ns": 100 * MS}
    wanted = {1: INT, 2: TAGS * len(SIGNALS)}
    assert by_port(store.query("hot_links", **window, rows=9)) == wanted
    for port, samples in wanted.items():
        place = {"node": 7, "port": port}
        timeline = store.query("link_timeline", **window, **place)
        assert timeline["samples"].to_list() == [samples]
        whole = {"from_ns": T0, "to_ns": T0 + 100 * MS, "rows": 9, **place}
        assert store.query("link_flows", **whole)["samples"].to_list() == [samples]
    seconds = {"from_ns": T0, "to_ns": T0 + S, "rollup": "link_seconds"}
    assert by_port(store.query("te_links", **seconds, dscp=-1, rows=9)) == {1: INT, 2: TAGS}
    minutes = {"from_ns": T0 // (60 * S) * 60 * S, "to_ns": T0 + S, "step_ns": 60 * S}
    old = store.query("old_links", **minutes, rollup="link_minutes", node=-1, port=-1, rows=9)
    assert by_port(old) == {1: INT, 2: TAGS}


def test_no_quantile_is_below_the_least(store: Store) -> None:
    seconds = {"from_ns": T0, "to_ns": T0 + S, "rollup": "link_seconds"}
    for row in store.query("te_links", **seconds, dscp=-1, rows=9).iter_rows(named=True):
        assert (row["abw_p01_bps"], row["abw_min_bps"]) == (LEAST_BPS, LEAST_BPS)
        assert row["abw_p90_bps"] <= row["abw_max_bps"]
