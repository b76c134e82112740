"""Rows that nobody waits for go together: all of them, once, and the claim that they are last."""

import polars as pl

from pipeline import Output
from service.deferred import EVERY_S, MOST_ROWS, Deferred


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def rows(first: int, count: int = 1) -> pl.DataFrame:
    return pl.DataFrame({"n": range(first, first + count)})


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
    deferred(Output({"flows": rows(9), "hop_intervals": rows(0).clear()}), "t3")
    assert kept[3:] == [
        ({"flows": [9]}, "t3"), ({"hop_intervals": [0, 1, 2], "captures": [0, 1, 2]}, "t0 to t2"),
    ]  # fmt: skip
    assert [*kept[-1][0]][-1] == "captures"
    deferred(Output({"hop_intervals": rows(0, MOST_ROWS)}), "t4")
    assert kept[-1][1] == "t4 to t4", "memory is bounded whatever the clock says"
    deferred(Output({"hop_intervals": rows(7)}), "t5")
    assert deferred.rows == 1
    deferred.flush()
    deferred.flush()
    assert kept[6:] == [({"hop_intervals": [7]}, "t5 to t5")]
