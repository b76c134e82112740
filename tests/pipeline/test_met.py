"""What others met at a hop is what looking at every other flow would tell."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.met import SEVERAL, by_others

FLOWS = st.dictionaries(
    st.integers(1, 5),
    st.tuples(st.sampled_from([None, -1.0, 0.5, 2.0]), st.sets(st.integers(1, 2), min_size=1)),
    max_size=5,
)
"""Flows by number: the most that each may have met, and the links by which it may come to a hop."""
KINDS = {"time_ns": pl.Int64, "node": pl.UInt32, "port": pl.UInt32, "flow": pl.UInt64,
         "link": pl.UInt64, "most": pl.Float64}  # fmt: skip
NOTHING, WHATEVER = float("-inf"), float("inf")


@settings(deadline=None)
@given(FLOWS)
def test_the_most_of_other_flows_by_other_links(
    flows: dict[int, tuple[float | None, set[int]]],
) -> None:
    """With two links and that of flows that may come by both every link is among those kept."""
    rows = [(0, 7, 3, flow, link, most)
            for flow, (most, links) in flows.items() for link in sorted(links)]  # fmt: skip
    told = {
        flow: (min(links) if len(links) == 1 else int(SEVERAL), WHATEVER if most is None else most)
        for flow, (most, links) in flows.items()
    }
    found = by_others(pl.DataFrame(rows, schema=KINDS, orient="row"))
    assert found.to_list() == [
        max((most for other, (by, most) in told.items() if other != flow and by != link),
            default=NOTHING)
        for _, _, _, flow, link, _ in rows
    ]  # fmt: skip
