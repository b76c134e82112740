"""Marks on the header of an overlay are marks of the packet that it carries."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
import pytest

from pipeline import PipelineSettings, Worker
from pipeline.overlay import met

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]


@pytest.mark.parametrize(
    ("inner", "outer", "behind"),
    [(2, 3, 3), (1, 3, 3), (3, 3, 3), (3, 2, 3), (2, 2, 2), (2, 0, 2), (2, None, 2), (0, 3, 0),
     (None, 3, None)],
)  # fmt: skip
def test_behind_a_tunnel(
    observed: Observed, inner: int | None, outer: int | None, behind: int | None
) -> None:
    told = [{"ecn": inner, "outer_ecn": outer}, {"ecn": 2, "outer_ecn": 3}, {"ecn": 1}]
    found = met(observed(told))
    assert found["ecn"].to_list() == [behind, 3, 1]
    assert found.drop("ecn").equals(observed(told).drop("ecn"))


def test_rows_without_a_tunnel_are_left(observed: Observed) -> None:
    for told in ({"ecn": 2}, {"ecn": 2, "outer_ecn": 2}):
        rows = observed([told])
        assert met(rows) is rows


def test_marks_count_and_the_packet_is_stored_as_it_came(observed: Observed) -> None:
    rows = observed([{"ecn": 2, "outer_ecn": 3 if number % 4 == 0 else 2, "seq": number * 1000}
                     for number in range(100)])  # fmt: skip
    worker = Worker(PipelineSettings(), None, ("a",))
    made = worker.advance(rows), worker.finish()
    told = pl.concat([each.tables["flow_intervals"] for each in made
                      if "flow_intervals" in each.tables])  # fmt: skip
    assert (told["data_frames"].sum(), told["ce_frames"].sum()) == (100, 25)
    stored = pl.concat([each.tables["observations"] for each in made
                        if "observations" in each.tables])  # fmt: skip
    assert stored.select("ecn", "outer_ecn").equals(rows.select("ecn", "outer_ecn"))
