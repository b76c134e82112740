"""What a store holds of a flow comes with all that answers it."""

from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from empty_store import empty_store

from pipeline import Question
from pipeline.retained_rows import both_ways
from pipeline.signals import reverse_flow
from pipeline.where import flows_of as stored_flows

PAIRS = 20
"""Queue pairs of two hosts; more than are told of where one flow is meant."""
ENDS = {"src": "10.1.0.1", "dst": "10.2.0.1", "sport": 4791, "dport": 4791, "protocol": 17}
QUESTION = Question(ip_address(ENDS["src"]), 4791, ip_address(ENDS["dst"]), 4791)


@pytest.mark.parametrize("pairs", [1, PAIRS])
def test_all_that_goes_between_two_ends_is_given_where_flows_have_something_of_their_own(
    tmp_path: Path, flows_of: Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame], pairs: int
) -> None:
    there = flows_of([ENDS])
    back = flows_of([ENDS | {"src": ENDS["dst"], "dst": ENDS["src"]}])
    rows = [
        whole[[0] * pairs].with_columns(flow=pl.int_range(first, first + pairs, dtype=pl.UInt64))
        for whole, first in ((there, 1), (back, 1_001))
    ]
    with empty_store(tmp_path / "store") as store:
        store.insert("flows", pl.concat(rows), "pairs")
        found = stored_flows(store, QUESTION, 99)
        given = set(both_ways(store, found, QUESTION))
    assert given >= {*range(1, 1 + pairs), *range(1_001, 1_001 + pairs)}


def test_a_flow_of_its_ends_alone_is_answered_by_its_reverse(
    tmp_path: Path, flows_of: Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
) -> None:
    rows = flows_of([ENDS])
    flow = rows.row(0, named=True)
    with empty_store(tmp_path / "store") as store:
        store.insert("flows", rows, "flow")
        given = both_ways(store, stored_flows(store, QUESTION), QUESTION)
    assert given == [flow["flow"], reverse_flow(flow["conversation"], flow["direction"])]
