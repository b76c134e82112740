"""Stacks of hops as arrays, and the word that stands for a path."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import Arena, borrowing, word_at
from pipeline.cc.hop_record import KINDS, QLEN, TS, TX, path_with
from pipeline.memory import Ints
from pipeline.stacks import AT_ONCE, PIECES, lying, paths_of, stacks_of

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


ROWS = pl.DataFrame(
    {"hop_count": [2, 1, 2], "h0_ts_ns": [5, 6, 8], "h1_ts_ns": [7, None, 9],
     "h0_tx_bytes": [2**64 - 1, 0, 1], "h1_qlen_bytes": [3, 4, 5]},
    schema_overrides={"hop_count": pl.UInt8, "h0_tx_bytes": pl.UInt64, "h1_qlen_bytes": pl.UInt8},
)  # fmt: skip


@borrowing
def read(places: Ints, ends: Ints, values: Ints) -> None:
    """Every value from where it lies."""
    for kind in range(values.shape[0]):
        for hop in range(values.shape[1]):
            for row in range(values.shape[2]):
                piece = 0
                while ends[piece] <= row:
                    piece += 1
                address = places[piece, kind, hop]
                values[kind, hop, row] = word_at(address, row) if address != 0 else -1


def as_they_lie(told: pl.DataFrame) -> Ints:
    """Values of all hops, read in place."""
    lie = lying(told)
    values = np.zeros((*lie.places.shape[1:], told.height), np.int64)
    read(lie.places, lie.ends, values)
    return values


def laid_out(told: pl.DataFrame) -> Ints:
    """The same as arrays."""
    values: Ints = stacks_of(told, 2, Arena())[:, :, : told.height]
    return values


@pytest.mark.parametrize("form", [as_they_lie, laid_out])
@pytest.mark.parametrize("cuts", [[3], [1, 2], [2, 1], [1, 1, 1], [1, 0, 2]])
def test_values_are_by_kind_and_hop_however_the_rows_are_cut(form: Any, cuts: list[int]) -> None:
    parts, at = [], 0
    for rows in cuts:
        parts.append(ROWS[at : at + rows])
        at += rows
    values = form(pl.concat(parts, rechunk=False))
    assert values.shape == (len(KINDS), 2, 3)
    assert values[TS].tolist() == [[5, 6, 8], [7, -1, 9]]
    assert values[TX].tolist() == [[-1, 0, 1], [-1, -1, -1]]
    assert values[QLEN].tolist() == [[-1, -1, -1], [3, 4, 5]]


def test_many_pieces_and_those_of_one_column_alone_are_joined() -> None:
    many = pl.concat([ROWS] * (PIECES + 1), rechunk=False)
    assert lying(many).ends.tolist() == [many.height]
    own = ROWS.with_columns(
        pl.concat([ROWS["h1_ts_ns"][:1], ROWS["h1_ts_ns"][1:]], rechunk=False),
        pl.concat([ROWS["h0_tx_bytes"][:2], ROWS["h0_tx_bytes"][2:]], rechunk=False),
    )
    for told in (many, own):
        assert (as_they_lie(told) == laid_out(told)).all()
