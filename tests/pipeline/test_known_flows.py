"""What is known of flows does not hang on how their observations were cut into batches."""

from functools import partial

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collector import SCHEMA
from pipeline.known_flows import KnownFlows
from pipeline.signals import reverse_flow

CONVERSATION, FLOW, STEP_NS = 77, 5, 1_000
NOTHING = pl.DataFrame(schema={"flow": pl.UInt64, "algorithm": pl.String})


def acknowledgments(first: int, count: int) -> pl.DataFrame:
    """Of one flow, of whose data no frame was captured."""
    columns = {
        "time_ns": [number * STEP_NS for number in range(first, first + count)],
        "flow": FLOW, "conversation": CONVERSATION, "direction": 1, "src_hi": 0, "src_lo": 1,
        "dst_hi": 0, "dst_lo": 2, "sport": 5001, "dport": 40_000, "protocol": 6,
        "payload_bytes": 0,
    }  # fmt: skip
    texts = {"tenant": "", "vrf": ""}
    frame = pl.DataFrame(columns | texts)
    return frame.cast({name: SCHEMA[name] for name in frame.columns})


@pytest.mark.parametrize("cuts", [[10], [1, 9], [4, 3, 3], [1] * 10])
@pytest.mark.parametrize("told_at", [0, 1])
def test_a_flow_that_was_not_captured_is_there_as_long_as_its_reverse(
    cuts: list[int], told_at: int
) -> None:
    unseen = reverse_flow(CONVERSATION, 1)
    known, first = KnownFlows(), 0
    for number, count in enumerate(cuts):
        told = [unseen] if number >= min(told_at, len(cuts) - 1) else []
        known.add(acknowledgments(first, count), NOTHING, partial(pl.Series, told, dtype=pl.UInt64))
        first += count
    rows = known.rows.select("flow", "sport", "first_ns", "last_ns", "unseen").sort("sport")
    expected = pl.DataFrame(
        {
            "flow": [FLOW, unseen], "sport": [5001, 40_000], "first_ns": [0, 0],
            "last_ns": [9 * STEP_NS] * 2, "unseen": [False, True],
        }
    )  # fmt: skip
    assert_frame_equal(rows, expected, check_dtypes=False)


def test_a_flow_whose_own_frames_come_later_is_seen_from_then_on() -> None:
    known, unseen = KnownFlows(), reverse_flow(CONVERSATION, 1)
    told = partial(pl.Series, [unseen], dtype=pl.UInt64)
    known.add(acknowledgments(0, 2), NOTHING, told)
    ends = {"sport": "dport", "src_lo": "dst_lo", "dport": "sport", "dst_lo": "src_lo"}
    data = acknowledgments(2, 1).with_columns(
        pl.lit(unseen, pl.UInt64).alias("flow"), pl.lit(0, pl.UInt8).alias("direction"),
        *(pl.col(there).alias(here) for here, there in ends.items()),
    )  # fmt: skip
    known.add(data, NOTHING, told)
    known.add(acknowledgments(3, 1), NOTHING, told)
    rows = known.rows.select("flow", "last_ns", "unseen").sort("last_ns")
    assert rows.rows() == [(unseen, 2 * STEP_NS, False), (FLOW, 3 * STEP_NS, False)]
