"""A cell of a flow's signals tells what it adds up, and over which time."""

from collections.abc import Iterator
from types import ModuleType

import polars as pl
import pytest
from asked import Asked, opened

from service.routes.added import added_up
from service.routes.span import Span

FLOW = {"src": "10.0.1.1:40001", "dst": "10.0.2.1:5001"}
MS = 10**6
SENT, DECIDED, SAMPLED = 140_000, 50, 10
"""Bytes, decisions and samples of each of the 10 ms that the stored world has of a flow."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, world: ModuleType) -> Iterator[Asked]:
    with opened(tmp_path_factory.mktemp("added")) as store:
        for table, rows in world.frames().items():
            store.insert(table, rows, "world")
        with Asked(store) as client:
            yield client


@pytest.mark.parametrize(
    ("until_ms", "window", "interval", "lengths"),
    [
        (100, "10ms", "100ms", [10]),
        (200, "1ms", "1s", [10]),
        (200, "10s", "30ms", [10, 30, 30, 30, 30, 30, 30, 10]),  # of cells from 1970 on
        (200, "10s", "25ms", [30, 20, 30, 20, 30, 20, 30, 20]),
        (95, "50ms", "20ms", [20, 20, 20]),
        (9000, "30s", "1s", [200]),  # no time after the flow was seen last
        (200, "11m", "30ms", [10, 30, 30, 30, 30, 30, 30, 10]),
    ],
)  # fmt: skip
def test_a_rate_is_of_the_time_that_was_added_up(
    asked: Asked, world: ModuleType, until_ms: int, window: str, interval: str, lengths: list[int]
) -> None:
    at_ns = world.START_NS + until_ms * MS
    given = {"at": str(at_ns), "window": window, "interval": interval}
    told = asked.get("/api/v1/flows/signals", **FLOW, **given).json()
    assert told["lengths_ns"] == [length * MS for length in lengths]
    ends = [a + b for a, b in zip(told["times_ns"], told["lengths_ns"], strict=True)]
    assert all(end == begin for end, begin in zip(ends[:-1], told["times_ns"][1:], strict=True))
    steady = SENT * 8 * 1e9 / world.INTERVAL_NS
    assert told["signals"]["rate_bps"] == pytest.approx([steady] * len(lengths))
    parts = [length * MS // world.INTERVAL_NS for length in lengths]
    assert told["signals"]["decisions"] == [DECIDED * part for part in parts]
    assert told["hops"][0]["samples"] == [SAMPLED * part for part in parts]


def test_silence_inside_of_a_cell_counts_and_longer_intervals_stay_whole() -> None:
    rows = pl.DataFrame(
        {
            "time_ns": [0, 0, 100],
            "interval_ns": [100, 100, 100],
            "least_ns": [10, 10, 50],
            "begins_ns": [20, 0, 100],
            "ends_ns": [30, 10, 200],
        }
    )
    told = added_up(rows, Span(5, 160), 10**9)
    assert told.rows() == [(0, 100, 0, 100), (100, 100, 100, 100)]
