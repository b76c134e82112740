"""Rows that people wait for are stored at once: verdicts, and the flows that are new."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from pipeline import WAITED_FOR, Output, PipelineSettings, Worker
from pipeline.sink import together
from pipeline.sooner import parted

Rows = Iterable[Mapping[str, Any]]
T0 = 1_760_000_000 * 10**9
MS = 1_000_000


def test_a_flow_is_new_once(observed: Callable[[Rows], pl.DataFrame]) -> None:
    worker = Worker(PipelineSettings(interval_ms=1.0), None, ("a",))
    rows = observed({"time_ns": T0 + at * MS, "sport": 1000 + at // 20} for at in range(40))
    made = [worker.advance(rows.slice(at, 10)) for at in range(0, 40, 10)] + [worker.finish()]
    news = [[] if each.new is None else each.new.to_list() for each in made]
    met = [flow for new in news for flow in new]
    assert len(met) == len({*met}) == rows["flow"].n_unique() == 2
    now, waits = zip(*(parted(each.tables, WAITED_FOR, each.new) for each in made), strict=True)
    first = [tables["flows"]["flow"].to_list() if "flows" in tables else [] for tables in now]
    assert first == news
    assert sum("flows" in tables for tables in waits) >= 2, "that they were seen longer waits"
    assert all("observations" not in tables for tables in now)
    for one, soon, later in zip(made, now, waits, strict=True):
        for name, table in one.tables.items():
            parts = [each[name] for each in (soon, later) if name in each]
            assert sum(part.height for part in parts) == table.height


def test_what_is_not_told_is_new() -> None:
    flows = pl.DataFrame({"flow": [1, 2]}, {"flow": pl.UInt64})
    told = Output({"flows": flows}, new=pl.Series([2], dtype=pl.UInt64))
    known = together([told, Output({})])
    assert parted(known.tables, WAITED_FOR, known.new)[0]["flows"]["flow"].to_list() == [2]
    untold = together([told, Output({"flows": flows})])
    assert parted(untold.tables, WAITED_FOR, untold.new)[0]["flows"].height == 4
    assert parted(untold.tables, (), untold.new) == ({}, untold.tables)
