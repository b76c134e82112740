"""What partitions hand on, as messages: the same rows, once, or a sentence why not."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collector import MESSAGE_BYTES, UnreadableError, digest, octets_of
from pipeline import PipelineSettings, Worker
from pipeline.handed import Handed
from pipeline.handed_message import (
    CONTENTS,
    NEEDED,
    VERSION,
    Piece,
    Pieces,
    frames_of,
    messages,
    read,
    schema_of,
)
from pipeline.handed_message import handed_of as remade
from pipeline.known_flows import no_flows
from pipeline.sums import Sums
from tests.pipeline.test_meeting import handed as handed_of

COLUMNS = {1: "8a9ba3d6f2", 2: "7ffaf72348", 3: "42542d1869", 4: "42542d1869"}
"""Digest of the columns of each version; 4 has other headers."""


@pytest.fixture(scope="module")
def given() -> Handed:
    return next(
        told for _, told in handed_of(0, 2)
        if told and all(rows.height for rows in (*told.sums, told.watched.sights))
    )  # fmt: skip


def test_the_version_goes_up_with_the_columns() -> None:
    told = [
        [name, str(kind() if isinstance(kind, type) else kind)]
        for table in NEEDED for name, kind in schema_of(table).items()
    ]  # fmt: skip
    assert hashlib.sha256(json.dumps(told).encode()).hexdigest()[:10] == COLUMNS[VERSION]
    assert CONTENTS.derived == f"intervals.v{VERSION}"


def test_a_message_is_read_as_it_was_written(given: Handed) -> None:
    [(partition, value, headers)] = messages(given, 3, 8, 10, 19)
    piece = read(value, headers, 0)
    assert partition == 0
    assert piece[:7] == (3, 8, 10, 19, 0, 0, 1)
    same(piece.handed, given)


def test_what_is_large_goes_in_pieces_and_is_whole_with_the_last(given: Handed) -> None:
    many = MESSAGE_BYTES // 4  # hashes, which no compression makes smaller
    flows = pl.concat([given.flows] * 8)
    times = given.sums.flows[[0] * many]
    hashes = pl.Series("flow", range(many), pl.UInt64).hash(7)
    large = given._replace(flows=flows, sums=Sums(times.with_columns(hashes), given.sums.hops))
    made = messages(large, 0, 2, 5, 9)
    assert len(made) > 1
    assert all(len(value) <= MESSAGE_BYTES for _, value, _ in made)
    pieces, told = Pieces(), [read(value, headers, 0) for _, value, headers in made]
    order = [*told[1:], told[1], told[0]]
    whole = [pieces.whole(piece) for piece in order]
    assert whole[:-1] == [None] * (len(order) - 1)
    assert whole[-1] is not None
    assert whole[-1].sums.flows.height == many
    assert whole[-1].flows.height == given.flows.height
    assert pieces.knows(told[0])


def test_what_was_begun_and_is_said_anew_is_taken_once(given: Handed) -> None:
    pieces = Pieces()
    one = Piece(0, 2, 5, 9, 0, 0, 2, given)
    assert pieces.whole(one) is None
    assert pieces.whole(Piece(1, 2, 5, 9, 0, 0, 1, given)) is given
    assert pieces.whole(Piece(0, 2, 7, 9, 0, 0, 1, given)) is given
    assert pieces.knows(one)
    assert not pieces.knows(one._replace(first=10, last=12))
    assert Pieces().whole(one._replace(pieces=3)) is None
    of_three = Pieces()
    assert of_three.whole(one._replace(pieces=3)) is None
    assert of_three.whole(one._replace(piece=1, pieces=2)) is None, "another cut's second piece"
    silence = one._replace(first=10, last=9, idle=1, pieces=1)
    assert not pieces.knows(silence)
    assert pieces.whole(silence) is given
    assert pieces.knows(silence)


@pytest.mark.parametrize(
    ("changes", "cut", "reason"),
    [
        ({"partition": "x"}, 0, "bad_header"),
        ({"partition": "8"}, 0, "bad_header"),
        ({"piece": "1"}, 0, "bad_header"),
        ({"pieces": "99999999"}, 0, "bad_header"),
        ({"first": "20"}, 0, "bad_header"),
        ({"first": "-5", "last": "-1"}, 0, "bad_header"),
        ({"idle": "2"}, 0, "bad_header"),
        ({"closed": None}, 0, "bad_header"),
        ({"closed": "9" * 30}, 0, "bad_header"),
        ({"digest": "00"}, 0, "damaged"),
        ({"flows": "-1"}, 0, "damaged"),
        ({"sights": None}, 0, "bad_header"),
        ({}, 1, "damaged"),
    ],
)
def test_what_is_no_piece_has_a_reason(
    given: Handed, changes: dict[str, Any], cut: int, reason: str
) -> None:
    [(_, value, headers)] = messages(given, 3, 8, 10, 19)
    told = {**dict(headers), **{name: text and text.encode() for name, text in changes.items()}}
    with pytest.raises(UnreadableError) as refused:
        read(value[cut:], list(told.items()), 0)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (pl.DataFrame({"flow": ["x"]}), "flows.flow is String"),
        (pl.DataFrame({"other": [1]}), "flows.other is Int64"),
        (pl.DataFrame({"flow": pl.Series([1], dtype=pl.UInt64)}), "flows has no column last_ns"),
        (no_flows().clear(1), "flows.flow is not told of every row"),
        (no_flows().clear(1).drop("dport"), "flows has no column dport"),
    ],
)
def test_tables_that_are_others_are_refused(
    given: Handed, frame: pl.DataFrame, sentence: str
) -> None:
    [(_, value, headers)] = messages(given._replace(flows=frame), 3, 8, 10, 19)
    with pytest.raises(UnreadableError, match=sentence):
        read(value, headers, 0)


@pytest.mark.parametrize(
    ("table", "column", "value", "reason"),
    [
        ("flows", "dport", None, "bad_columns"),
        ("flows", "conversation", None, "bad_columns"),
        ("flow_intervals", "aecn_samples", 2**64 - 1, "bad_range"),
        ("flow_intervals", "rwnd_zero", 2**64 - 1, "bad_range"),
        ("flow_intervals", "interval_ns", 0, "bad_range"),
        ("flow_intervals", "interval_ns", -1_000_000, "bad_range"),
        ("hop_intervals", "interval_ns", 4_000_000, "bad_range"),
        ("hop_intervals", "time_ns", 7, "bad_range"),
        ("hop_intervals", "time_ns", -(2**63), "bad_range"),
        ("sights", "flow", None, "bad_columns"),
    ],
)
def test_rows_that_no_partition_gives_are_refused(
    given: Handed, table: str, column: str, value: int | None, reason: str
) -> None:
    """One of them is enough: whoever judged it would end, and so would who comes after."""
    frames = [*frames_of(given)]
    at = [*NEEDED].index(table)
    first = pl.int_range(pl.len()) == 0
    known = schema_of(table)
    kept = pl.col(column) if column in frames[at].columns else pl.lit(None, known[column])
    put = pl.when(first).then(pl.lit(value, known[column])).otherwise(kept).alias(column)
    frames[at] = frames[at].with_columns(put)
    [(_, octets, headers)] = messages(
        remade(frames, given.closed_ns, given.covered), 3, 8, 10, 19
    )  # fmt: skip
    with pytest.raises(UnreadableError) as refused:
        read(octets, headers, 0)
    assert refused.value.reason == reason
    assert f"{table}." in str(refused.value) or table in str(refused.value)


def test_one_frame_of_another_century_is_no_reason_to_refuse_the_others(
    observed: Callable[..., pl.DataFrame],
) -> None:
    """Its clock is broken; whoever captured it says so with times up to the end of 64 bits."""
    worker = Worker(PipelineSettings(interval_ms=1.0, disorder_us=0.0), None, ("a",))
    worker.hands_on = True
    rows = observed([{"time_ns": at * 100_000, "frame": at + 1} for at in range(60)])
    late = observed([{"time_ns": at, "frame": 61} for at in (5 * 10**18,)])
    made = [worker.advance(rows).handed, worker.advance(late).handed, worker.finish().handed]
    told = [read(value, headers, 0).handed for handed in made if handed
            for _, value, headers in messages(handed, 0, 2, 0, 9)]  # fmt: skip
    assert sum(int(each.sums.flows["frames"].sum()) for each in told) == 61


def test_tables_without_rows_are_read(given: Handed) -> None:
    """As streams of Arrow too, which nobody here writes of them."""
    empty = [frame.clear() for frame in frames_of(given)]
    octets = [octets_of(frame) for frame in empty]
    [(_, _, headers)] = messages(given, 3, 8, 10, 19)
    told = dict(headers) | {name: str(len(each)).encode()
                            for name, each in zip(NEEDED, octets, strict=True)}  # fmt: skip
    value = b"".join(octets)
    piece = read(value, list((told | {"digest": digest(value).encode()}).items()), 0)
    assert piece.handed.sums.height == 0


def test_what_closes_is_a_number_of_64_bits_however_early_frames_are(
    observed: Callable[..., pl.DataFrame],
) -> None:
    worker = Worker(PipelineSettings(interval_ms=1.0, disorder_us=0.0), None, ("a",))
    worker.hands_on = True
    rows = observed([{"time_ns": 1 - 2**63 + at, "frame": at + 1} for at in range(4)])
    handed = worker.advance(rows).handed
    assert handed is not None
    assert handed.closed_ns == -(2**63)


def same(one: Handed, other: Handed) -> None:
    assert one.closed_ns == other.closed_ns
    for mine, theirs in zip(frames_of(one), frames_of(other), strict=True):
        assert_frame_equal(mine, theirs, check_exact=True)
