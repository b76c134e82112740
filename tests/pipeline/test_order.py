"""Rows are put in order of time, wait no longer than they must, and late ones are counted."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.order import Order

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
WINDOW_NS, IDLE_NS = 10, 1_000


@pytest.fixture
def rows(observed: Observed) -> Callable[..., pl.DataFrame]:
    """Rows of one source with the given times."""
    return lambda source, *times: observed([{"source": source, "time_ns": t} for t in times])


def order(*announced: str) -> Order:
    return Order(announced, WINDOW_NS, IDLE_NS)


def times(frame: pl.DataFrame) -> list[int]:
    return frame["time_ns"].to_list() if frame.height else []


def test_disorder_within_the_window_is_put_right(rows: Callable[..., pl.DataFrame]) -> None:
    made = order("a")
    made.add(rows("a", 5, 1, 9, 20, 12))
    assert times(made.release()) == [1, 5, 9], "a row of time 10 may still come"
    made.add(rows("a", 11, 40))
    assert times(made.release()) == [11, 12, 20]
    assert times(made.finish()) == [40]
    assert made.late == 0


def test_rows_wait_for_the_source_that_is_least_far(rows: Callable[..., pl.DataFrame]) -> None:
    made = order("a", "b")
    made.add(rows("a", 1, 100))
    assert made.release().is_empty(), "b has not begun"
    made.add(rows("b", 50))
    assert times(made.release()) == [1]
    made.end("b")
    assert times(made.release()) == [50]
    made.end("a")
    made.end("never heard of")
    assert times(made.finish()) == [100]


def test_an_announced_source_is_waited_for_however_far_it_is_behind(
    rows: Callable[..., pl.DataFrame],
) -> None:
    made = order("a", "b")
    made.add(rows("a", 10**12))
    made.add(rows("b", 0))
    assert made.watermark_ns == 0


def test_a_source_that_joined_and_fell_silent_holds_nobody_back(
    rows: Callable[..., pl.DataFrame],
) -> None:
    made = order()
    made.add(rows("a", 0))
    made.add(rows("b", IDLE_NS))
    assert made.watermark_ns == 0
    made.add(rows("b", IDLE_NS + 1))
    assert made.watermark_ns == IDLE_NS + 1
    made.add(rows("a", IDLE_NS - 5))
    assert made.watermark_ns == IDLE_NS - 5, "it is heard again"


def test_files_that_said_that_they_begin_are_waited_for(rows: Callable[..., pl.DataFrame]) -> None:
    made = order()
    for name in ("a", "b", "empty"):
        made.begin(name)
    made.add(rows("a", 1, 100))
    assert made.release().is_empty(), "b and the empty one said that they begin"
    made.add(rows("b", 5, 101))
    made.begin("b")
    assert made.release().is_empty()
    made.end("empty")
    assert times(made.release()) == [1, 5]
    made.add(rows("a", IDLE_NS + 200))
    assert times(made.release()) == [100, 101], "b was heard, and is silent as others may be"
    assert made.late == 0


@pytest.mark.parametrize(
    ("most", "later", "released"),
    [(3, 60, [1, 2]), (10, IDLE_NS, []), (10, IDLE_NS + 2, [1, 2, 50])],
)
def test_a_file_that_begins_and_never_comes_is_not_waited_for_without_end(
    rows: Callable[..., pl.DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    later: int,
    released: list[int],
) -> None:
    monkeypatch.setattr("pipeline.order.MOST_WAITING", most)
    made = order()
    made.begin("gone")
    made.add(rows("a", 1, 2, 50))
    assert made.release().is_empty()
    made.add(rows("a", later))
    assert times(made.release()) == released


def test_time_alone_that_passes_frees_who_waits_for_a_file(
    rows: Callable[..., pl.DataFrame],
) -> None:
    made = order()
    made.add(rows("live", 5, 6))
    assert times(made.finish()) == [5, 6]
    made.begin("gone")
    for reached, expected in ((IDLE_NS, None), (IDLE_NS + 7, IDLE_NS + 7)):
        made.reach("live", reached)
        assert made.release().is_empty()
        assert made.watermark_ns == expected


def test_late_rows_are_counted_and_not_lost(rows: Callable[..., pl.DataFrame]) -> None:
    made = order("a")
    made.add(rows("a", 0, 100, 200))
    assert times(made.release()) == [0, 100]
    made.add(rows("a", 99, 150))
    assert times(made.release()) == [99, 150]
    assert (made.late, made.released_ns) == (1, 150)


def test_at_one_time_acks_go_first_then_sources_then_frames(observed: Observed) -> None:
    given = [
        {"source": "b", "frame": 1, "payload_bytes": 0}, {"source": "a", "frame": 7},
        {"source": "a", "frame": 3}, {"source": "a", "frame": 9, "payload_bytes": 0},
    ]  # fmt: skip
    made = order()
    for row in given:
        made.add(observed([row]))
    assert made.finish().select("source", "frame").rows() == [
        ("a", 9),
        ("b", 1),
        ("a", 3),
        ("a", 7),
    ]


def test_nothing_gives_nothing(rows: Callable[..., pl.DataFrame]) -> None:
    made = order("a")
    made.add(rows("a"))
    assert made.release().is_empty()
    assert made.finish().is_empty()


@given(st.data())
@settings(deadline=None, max_examples=12)
def test_any_cut_of_nearly_ordered_sources_is_released_in_one_order(
    observed: Observed, data: st.DataObject
) -> None:
    sources, frames = {}, {}
    for name in ("a", "b", "c"):
        true = sorted(data.draw(st.lists(st.integers(-50, 200), max_size=15)))
        shift = data.draw(st.lists(st.integers(0, WINDOW_NS), min_size=15, max_size=15))
        # A row is seen at most a window after its time.
        seen = sorted(range(len(true)), key=lambda at, s=shift, t=true: (t[at] + s[at], at))
        kinds = data.draw(st.lists(st.sampled_from([0, 1000]), min_size=15, max_size=15))
        sources[name] = [
            {"source": name, "frame": at + 1, "time_ns": true[at], "payload_bytes": kinds[at]}
            for at in seen
        ]
        frames[name] = observed(sources[name])
    made, released = order(*sources), []
    left = dict(frames)
    while left:
        name = data.draw(st.sampled_from(sorted(left)))
        size = data.draw(st.integers(0, 4))
        batch, left[name] = left[name].head(size), left[name].slice(size)
        made.add(batch)
        if size == 0 and left[name].is_empty():
            made.end(name)
            del left[name]
        released.append(made.release())
    released.append(made.finish())
    told = [
        row
        for part in released
        if part.height
        for row in part.select("time_ns", "source", "frame").rows()
    ]
    every = [row for each in sources.values() for row in each]
    every.sort(key=lambda r: (r["time_ns"], r["payload_bytes"] > 0, r["source"], r["frame"]))
    assert told == [(row["time_ns"], row["source"], row["frame"]) for row in every]
    assert made.late == 0
