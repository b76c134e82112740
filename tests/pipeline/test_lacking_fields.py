"""Rows that others wrote: fields of a tag that some of them lack end no worker, and mix no hops."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from pipeline import PipelineSettings, Worker

Observed = Callable[..., pl.DataFrame]
START_NS = 1_700_000_000_000_000_000
TAG = {"csig_variant": 1, "csig_t": 1, "csig_s": 5, "csig_lm": 0, "csig_low": 0.25,
       "csig_high": 0.5}  # fmt: skip


def hops(observed: Observed, lacking: str, rows: list[int]) -> list[tuple[Any, ...]]:
    """Ports and samples of six tags of a flow in one interval, some of which lack a field."""
    worker = Worker(PipelineSettings(interval_ms=1.0))
    told = observed(
        {"time_ns": START_NS + row * 1000, **TAG} | ({lacking: None} if row in rows else {})
        for row in range(6)
    )
    assert told[lacking].null_count() == len(rows)
    made = [worker.advance(told), worker.finish()]
    found = pl.concat(each.whole["hop_intervals"] for each in made if each.whole)
    return sorted(found.select("port", "samples").rows(), key=str)


@pytest.mark.parametrize("rows", [[0, 3], [1, 3], [4, 5]])
def test_tags_without_a_locator_are_no_tags_of_locator_0(
    observed: Observed, rows: list[int]
) -> None:
    assert hops(observed, "csig_lm", rows) == [(0, 4), (None, 2)]


@pytest.mark.parametrize("field", ["csig_s", "csig_t", "csig_low", "csig_high"])
def test_tags_without_another_field_end_no_worker(observed: Observed, field: str) -> None:
    assert hops(observed, field, [1, 3])
