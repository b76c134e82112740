"""Columns of decisions grow when more is decided than was expected."""

from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

from collector import Arena, CollectorSettings, Decoder, open_capture
from pipeline import Tracker
from pipeline.batch import batch_of, rows_of
from pipeline.decided import OWN, decisions_of
from pipeline.decision_block import MARGIN, room, wider
from pipeline.follow import follow
from pipeline.memory import Count
from pipeline.near import nothing_near
from pipeline.stacks import lying
from pipeline.track import grown
from pipeline.trail import trail

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"


def test_columns_that_are_full_are_widened_and_nothing_is_lost() -> None:
    with open_capture(CAPTURE) as capture:
        [frames] = capture.chunks(1 << 20)
        rows = Decoder(CollectorSettings()).decode(frames, capture.points, capture.source)
    expected = Tracker().advance(rows).decisions
    assert expected.height > 10 * MARGIN
    tracker, arena = Tracker(), Arena()
    told = rows.filter(pl.col("hop_count") > 0)
    given = rows_of(rows, tracker.points.of(rows["point"]))
    batch = batch_of(rows, given, told, lying(told), arena, trail(0))
    out = room(batch, MARGIN + 1, OWN, arena)
    near, at, stops = nothing_near(), 0, 0
    while (at := follow(
        given, near, out, batch, tracker.memory, tracker.rules, at
    )) < rows.height:  # fmt: skip
        tracker.memory, stops = grown(tracker.memory), stops + 1
        assert batch.made[0] == 0
        if batch.made[1] + MARGIN > out.i8.shape[1]:
            out = wider(out, int(batch.made[1]), arena)
    assert stops > 3
    made = decisions_of(rows, out, int(batch.counts[Count.DECISIONS]))
    assert_frame_equal(made, expected, check_exact=True)
