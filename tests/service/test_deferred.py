"""Rows that nobody waits for go together: all of them, once, and the claim that they are last."""

import threading

import polars as pl
import pytest

from pipeline import Output
from service.deferred import EVERY_S, MOST_ROWS, Deferred


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def rows(first: int, count: int = 1) -> pl.DataFrame:
    return pl.DataFrame({"n": range(first, first + count)}).with_columns(time_ns=0, reached_ns=1)


def test_verdicts_are_stored_at_once_and_the_rest_once_a_second() -> None:
    kept: list[tuple[dict[str, list[int]], str]] = []
    clock = Clock()
    deferred = Deferred(
        lambda output, token: kept.append(
            ({name: each["n"].to_list() for name, each in output.tables.items()}, token)
        ),
        clock,
    )
    deferred(Output({"captures": rows(8)}), "first")
    assert kept.pop() == ({"captures": [8]}, "first to first")
    for number in range(3):
        tables = {"captures": rows(number), "verdicts": rows(number), "hop_intervals": rows(number)}
        deferred(Output(tables), f"t{number}")
        clock.now_s += 0.3
    assert kept == [({"verdicts": [n]}, f"t{n}") for n in range(3)]
    clock.now_s = EVERY_S
    deferred(Output({"hop_intervals": rows(0).clear()}), "t3")
    assert kept[3:] == [({"hop_intervals": [0, 1, 2], "captures": [0, 1, 2]}, "t0 to t2")]
    assert [*kept[-1][0]][-1] == "captures"
    deferred(Output({"hop_intervals": rows(0, MOST_ROWS)}), "t4")
    assert kept[-1][1] == "t4 to t4", "memory is bounded whatever the clock says"
    deferred(Output({"hop_intervals": rows(7)}), "t5")
    assert deferred.rows == 1
    deferred.flush()
    deferred.flush()
    assert kept[5:] == [({"hop_intervals": [7]}, "t5 to t5")]


def test_that_a_source_begins_is_stored_first_behind_the_gap_before() -> None:
    kept: list[tuple[str, int]] = []
    deferred = Deferred(
        lambda output, _: kept.extend((name, rows.height) for name, rows in output.tables.items()),
        Clock(),
        at_once=("verdicts",),
    )
    begins = pl.DataFrame({"time_ns": [7, 7], "reached_ns": [7, 9]})
    tables = {"verdicts": rows(1), "captures": begins, "capture_gaps": rows(1)}
    deferred(Output(tables), "first")
    assert kept[:3] == [("capture_gaps", 1), ("captures", 1), ("verdicts", 1)]
    assert kept[-1] == ("captures", 2), "what is behind all rows is told when they are stored"
    del kept[:]
    deferred(Output({"captures": rows(1)}), "later")
    assert kept == []


def flows(*known: int, last_ns: int) -> Output:
    told = pl.DataFrame({"flow": known}, schema={"flow": pl.UInt64})
    return Output({"flows": told.with_columns(last_ns=pl.lit(last_ns))})


def test_a_flow_that_is_known_waits_and_a_new_one_does_not() -> None:
    kept: list[tuple[list[tuple[int, int]], str]] = []
    clock = Clock()
    deferred = Deferred(
        lambda output, token: kept.append((output.tables["flows"].rows(), token)), clock
    )
    deferred.flush()
    deferred(flows(1, 2, last_ns=5), "t0")
    deferred(flows(2, last_ns=6), "t1")
    deferred(flows(3, 1, last_ns=7), "t2")
    assert kept == [([(1, 5), (2, 5)], "t0"), ([(3, 7)], "t2")]
    deferred.flush()
    assert kept[2:] == [([(2, 6), (1, 7)], "t1 to t2")]
    deferred(flows(3, last_ns=8), "t3")
    assert deferred.rows == 1


def test_verdicts_do_not_wait_for_what_is_stored_beside() -> None:
    kept: list[str] = []
    held, clock = threading.Event(), Clock()

    def keep(output: Output, token: str) -> None:
        if "hop_intervals" in output.tables:
            assert held.wait(60)
            if output.tables["hop_intervals"]["n"][0] == 9:
                raise OSError("no room")
        kept.append(token)

    deferred = Deferred(keep, clock, beside=True)
    deferred(Output({"verdicts": rows(1), "hop_intervals": rows(1)}), "t0")
    clock.now_s = 2 * EVERY_S
    deferred(Output({"verdicts": rows(2), "hop_intervals": rows(2)}), "t1")
    assert kept == ["t0", "t1"]
    assert deferred.rows == 1, "what is held waits for what is being stored"
    held.set()
    deferred.flush()
    assert kept[2:] == ["t0 to t0", "t1 to t1"]
    clock.now_s *= 2
    deferred(Output({"hop_intervals": rows(9)}), "t2")
    with pytest.raises(OSError, match="no room"):
        deferred.flush()


def test_it_rests_between_tables_until_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.deferred.EVERY_S", 3600.0)
    kept: list[str] = []
    clock, first = Clock(), threading.Event()

    def keep(output: Output, _: str) -> None:
        kept.extend(output.tables)
        clock.now_s += 3600.0
        first.set()

    deferred = Deferred(keep, clock, beside=True)
    deferred(Output({"hop_intervals": rows(1), "captures": rows(1)}), "t0")
    assert first.wait(60)
    deferred(Output({}), "t1")
    assert kept == ["hop_intervals"]
    waiting = threading.Thread(target=deferred.flush, daemon=True)
    waiting.start()
    waiting.join(60)
    assert kept == ["hop_intervals", "captures"]
    assert not waiting.is_alive()
