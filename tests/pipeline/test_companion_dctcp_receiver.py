"""The checker of DCTCP receivers as a companion: what the pure one says, led by the trail."""

from itertools import pairwise

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline import Tracker
from tests.pipeline.test_dctcp_receiver_oracle import heard
from tests.pipeline.test_track import DATA, SHARED, observations

CHECKED: dict[str, dict[str, str]] = {"dctcp_receiver": {}}


def judged(rows: pl.DataFrame) -> pl.DataFrame:
    return Tracker(companions=CHECKED).advance(rows).companions["dctcp_receiver"]


def test_every_ack_of_a_piece_is_told_in_any_split() -> None:
    rows = observations(DATA / "dctcp_a1.pcap.zst")
    whole = judged(rows)
    assert whole.height > 1000
    assert whole["verdict"].unique().to_list() == ["unknown"]  # too short a piece to judge by
    assert not whole["branch"].is_in(["latched", "ece_unexpected", "ece_missing"]).any()
    tracker = Tracker(companions=CHECKED)
    cuts = [0, 3, 4, 700, 1501, rows.height]
    parts = [tracker.advance(rows[a:b]).companions["dctcp_receiver"] for a, b in pairwise(cuts)]
    assert_frame_equal(pl.concat(parts), whole)


@pytest.mark.skipif(not SHARED.exists(), reason="the traces are not part of a clone")
@pytest.mark.parametrize("name", ["dctcp/a1_switch", "linux/E_h1"])
def test_the_last_word_on_each_receiver_is_that_of_the_checker_by_itself(name: str) -> None:
    last = judged(observations(SHARED / f"{name}.pcap.zst")).group_by("flow").last()
    alone = [s for s, _ in heard(name)]
    fields = ("sure", "expected_bytes", "reported_bytes")
    ours = last.filter(pl.col("judged") + pl.col("reported_bytes") > 0)
    found = {tuple(row) for row in ours.select(*fields).iter_rows()}
    assert {tuple(float(s[field]) for field in fields) for s in alone} <= {
        tuple(float(value) for value in row) for row in found
    }
    kinds = {"dctcp/a1_switch": "dctcp", "linux/E_h1": "classic"}
    assert ours.filter(pl.col("sure") > 0.9)["verdict"].unique().to_list() == [kinds[name]]
