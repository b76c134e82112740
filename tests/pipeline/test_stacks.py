"""Stacks of hops as arrays, and the word that stands for a path."""

import numpy as np
import polars as pl
import pytest

from collector import Arena
from pipeline.cc.hop_record import KINDS, TS, TX, path_with
from pipeline.stacks import AT_ONCE, paths_of, stacks_of

ENDS = pl.DataFrame(
    {"h0_node": [1, 1, 9, 1], "h0_port": [7, 7, 7, 8], "h1_node": [2, 2, 2, 2],
     "h1_port": [3, 3, 3, 3]},
    schema_overrides=dict.fromkeys(("h0_node", "h0_port", "h1_node", "h1_port"), pl.UInt32),
)  # fmt: skip


def word(nhop: int, *ends: tuple[int, int]) -> int:
    """The word of a path, one hop after the other."""
    path = np.uint64(nhop)
    for hop, (node, port) in enumerate(ends):
        path = np.uint64(path_with(path, hop, node, port))
    return int(path)


def test_a_path_is_its_hops_in_their_order() -> None:
    words = paths_of(ENDS, np.array([2, 2, 2, 2], np.uint8))
    assert words.tolist() == [
        word(2, (1, 7), (2, 3)), word(2, (1, 7), (2, 3)), word(2, (9, 7), (2, 3)),
        word(2, (1, 8), (2, 3)),
    ]  # fmt: skip
    assert len(set(words.tolist())) == 3
    assert word(2, (1, 7), (2, 3)) != word(2, (2, 3), (1, 7))


def test_hops_beyond_a_rows_own_do_not_count() -> None:
    assert paths_of(ENDS, np.array([1, 2, 0, 1], np.uint8)).tolist() == [
        word(1, (1, 7)), word(2, (1, 7), (2, 3)), word(0), word(1, (1, 8)),
    ]  # fmt: skip


@pytest.mark.parametrize("absent", ["null", "column"])
def test_what_a_hop_does_not_tell_is_told_apart_from_zero(absent: str) -> None:
    rows = ENDS.with_columns(h0_port=pl.lit(None, pl.UInt32)) if absent == "null" else (
        ENDS.drop("h0_port")
    )  # fmt: skip
    [first, *_] = paths_of(rows, np.array([1, 1, 1, 1], np.uint8)).tolist()
    assert first == word(1, (1, -1)) != word(1, (1, 0))


def test_many_rows_have_the_words_of_a_few() -> None:
    times = AT_ONCE // 2 + 1
    words = paths_of(pl.concat([ENDS] * times), np.full(4 * times, 2, np.uint8))
    assert words.tolist() == paths_of(ENDS, np.full(4, 2, np.uint8)).tolist() * times


def test_values_lie_by_kind_and_hop_however_the_rows_are_cut() -> None:
    rows = pl.DataFrame(
        {"hop_count": [2, 1], "h0_ts_ns": [5, 6], "h1_ts_ns": [7, None],
         "h0_tx_bytes": [2**64 - 1, 0]},
        schema_overrides={"hop_count": pl.UInt8, "h0_tx_bytes": pl.UInt64},
    )  # fmt: skip
    for told in (rows, pl.concat([rows[:1], rows[1:]], rechunk=False)):
        values = stacks_of(told, Arena())[:, :, : rows.height]
        assert values.shape == (len(KINDS), 2, 2)
        assert values[TS].tolist() == [[5, 6], [7, -1]]
        assert values[TX].tolist() == [[-1, 0], [-1, -1]]
