"""Accurate ECN: who negotiated it, what its counters say was marked, and what is left alone."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from pipeline.accecn import CONNECTION, AccurateEcn
from pipeline.decider import Decider
from pipeline.settings import PipelineSettings
from pipeline.windows import CONVERSATION
from pipeline.worker import Worker
from tests.pipeline.conftest import observations

SYN, ACK, ECE, CWR, AE = 2, 16, 64, 128, 256
ASKS = SYN | AE | CWR | ECE
T0, MS, PAYLOAD = 1_760_000_000_000_000_000, 1_000_000, 1_000
BACK = {"src": "10.2.0.1", "dst": "10.1.0.1", "sport": 2000, "dport": 1000, "payload_bytes": 0}

Row = dict[str, Any]


def ace(count: int) -> int:
    """Flags of an ACK with this value of ACE."""
    return ACK | (count & 7) << 6


def shaken(asks: int = ASKS, agrees: int = SYN | ACK | CWR, third: int = ace(2)) -> list[Row]:
    """The handshake; the third segment says in ACE how the SYN-ACK came."""
    mss = {"mss": 1_000}
    return [
        {"flags": asks, "seq": 99, "payload_bytes": 0, **mss},
        {**BACK, "flags": agrees, "seq": 499, "ack": 100, **mss},
        {"flags": third, "seq": 100, "ack": 500, "payload_bytes": 0},
    ]


def exchange(marks: list[int], *, option: bool, plain: int = ACK) -> list[Row]:
    """A segment and its ACK again and again; `marks` is how many of each came with CE, so far."""
    made: list[Row] = []
    for at, marked in enumerate(marks):
        flags = ace(5 + marked) if plain == ACK else plain
        counted = {"accecn_ceb": marked * PAYLOAD & 0xFFFFFF} if option else {}
        made += [
            {"flags": ace(5) if plain == ACK else ACK, "seq": 100 + at * PAYLOAD, "ack": 500,
             "payload_bytes": PAYLOAD, "ecn": 2},
            {**BACK, "flags": flags, "seq": 500, "ack": 100 + (at + 1) * PAYLOAD, **counted},
        ]  # fmt: skip
    return made


def timed(rows: list[Row]) -> pl.DataFrame:
    """Rows 20 us apart."""
    return observations({"time_ns": T0 + at * 20_000, **row} for at, row in enumerate(rows))


def decided(rows: list[Row], cut: int = 0) -> pl.DataFrame:
    """Decisions on the rows, in one piece or in two."""
    decider, told = Decider(PipelineSettings()), timed(rows)
    parts = [told[:cut], told[cut:]] if cut else [told]
    return pl.concat(decider.decide(part).decisions for part in parts)


MARKS = [0, 0, 1, 1, 3, 3, 3, 10, 10, 10]


@pytest.mark.parametrize(("option", "echo"), [(True, "bytes"), (False, "segments")])
def test_counters_say_what_was_marked(option: bool, echo: str) -> None:
    made = decided([*shaken(), *exchange(MARKS, option=option)])
    assert made["echo"].unique().to_list() == [echo]
    expected = [0, 0, 1, 0, 2, 0, 0, 7, 0, 0]
    assert made["marked_bytes"].to_list() == [each * PAYLOAD for each in expected]
    assert made["acked_bytes"].to_list() == [PAYLOAD] * len(MARKS)
    assert set(made["why"]) == {"accecn" if option else "ace"}
    assert made["cwnd"].null_count() == made.height
    assert made["basis"].unique().to_list() == ["assumed"]


@pytest.mark.parametrize("cut", [1, 2, 3, 9, 10])
def test_cuts_change_nothing(cut: int) -> None:
    for rows in ([*shaken(), *exchange(MARKS, option=True)], exchange(MARKS, option=False)):
        assert decided(rows, cut).equals(decided(rows))


def test_nothing_marked_is_no_mark_though_all_flags_move() -> None:
    """ACE of 5 has the bit of ECE, and has it for ever where nothing is marked."""
    made = decided([*shaken(), *exchange([0] * 12, option=False)])
    assert made["marked_bytes"].sum() == 0
    alphas = made["alpha"].to_list()
    assert alphas[-1] < alphas[0]


def test_alpha_follows_the_share_that_is_counted() -> None:
    half = [at // 2 for at in range(200)]
    made = decided([*shaken(), *exchange(half, option=True)])
    assert made["alpha"][-1] == pytest.approx(0.5, abs=0.1)
    assert (made["M"].drop_nulls() <= 1.0).all()


@pytest.mark.parametrize("said", [2, 3, 4, 6])
def test_answers_that_agree(said: int) -> None:
    rows = [*shaken(agrees=SYN | ACK | said << 6), *exchange([0, 1], option=False)]
    assert decided(rows)["echo"].unique().to_list() == ["segments"]


@pytest.mark.parametrize("said", [0, 1, 5, 7])
def test_answers_that_do_not(said: int) -> None:
    """Classic ECN, none, and what broken ends reflect: ECE is ECE."""
    rows = [
        *shaken(agrees=SYN | ACK | said << 6, third=ACK),
        *exchange([0, 0], option=False, plain=ACK | ECE),
    ]
    made = decided(rows)
    assert made["echo"].unique().to_list() == ["ece"]
    assert made["marked_bytes"].unique().to_list() == [PAYLOAD]


def test_an_option_or_the_flag_tells_a_connection_that_was_not_seen_to_begin() -> None:
    by_option = decided(exchange([2, 3, 3], option=True))
    assert by_option["marked_bytes"].to_list() == [0, PAYLOAD, 0]
    by_flag = decided(exchange([0, 1, 1], option=False))
    assert by_flag["echo"].unique().to_list() == ["segments"]
    assert by_flag["marked_bytes"].to_list() == [0, PAYLOAD, 0]


def test_what_may_be_either_is_read_as_before_and_flagged() -> None:
    rows = exchange([0, 0, 0], option=False, plain=ACK | ECE)
    worker = Worker(PipelineSettings())
    worker.advance(timed(rows))
    made = worker.finish()
    assert made.tracked is not None
    assert made.tracked.decisions["echo"].unique().to_list() == ["unknown"]
    assert made.tables["flow_intervals"]["ecn_echo"].max() == 4
    flags = made.tables["verdicts"].filter(pl.col("plausibility").list.len() > 0)["plausibility"]
    assert set(flags.explode()) == {"ecn_form_unknown"}


def test_estimates_are_flagged_where_they_mark() -> None:
    for marks, said in (([0, 1, 2], ["marks_estimated"]), ([0, 0, 0], [])):
        worker = Worker(PipelineSettings())
        worker.advance(timed([*shaken(), *exchange(marks, option=False)]))
        verdicts = worker.finish().tables["verdicts"]
        assert sorted(set(verdicts["plausibility"].explode().drop_nulls())) == said


def test_old_acknowledgments_and_their_counters_say_nothing() -> None:
    rows = [*shaken(), *exchange(MARKS, option=True)]
    rows[10], rows[12] = rows[12], rows[10]
    made = decided(rows)
    assert made["marked_bytes"].sum() == MARKS[-1] * PAYLOAD


def test_counters_run_over() -> None:
    full = (1 << 24) // PAYLOAD
    made = decided(exchange([full - 1, full, full + 1, full + 2], option=True))
    assert made["marked_bytes"].to_list() == [0, PAYLOAD, PAYLOAD, PAYLOAD]


def test_an_option_now_and_then_counts_what_went_before() -> None:
    rows = [*shaken(), *exchange([0, 1, 2, 4, 4], option=True)]
    del rows[6]["accecn_ceb"], rows[8]["accecn_ceb"]
    assert decided(rows)["marked_bytes"].to_list() == [0, 0, 0, 4 * PAYLOAD, 0]


def test_a_new_connection_on_the_same_ports_is_asked_again() -> None:
    rows = [*shaken(), *exchange([0, 1], option=True)]
    again = [*shaken(SYN, SYN | ACK, ACK), *exchange([0, 0], option=False, plain=ACK)]
    for row in again:
        row["seq"] += 1_000_000
    assert decided([*rows, *again])["echo"].to_list()[:2] == ["bytes"] * 2
    told = AccurateEcn().told(timed([*rows, *again]))
    assert told["ecn_echo"].to_list()[-len(again) :] == [0] * len(again)


def test_receivers_that_count_are_not_checked_for_ece() -> None:
    settings = PipelineSettings(companions=("dctcp_receiver",))
    made = Decider(settings).decide(timed([*shaken(), *exchange(MARKS, option=True)]))
    assert made.companions["dctcp_receiver"].is_empty()


def test_rows_without_it_are_as_they_are() -> None:
    rows = timed([*shaken(SYN | ECE | CWR, SYN | ACK | ECE, ACK), *exchange([0], option=False)])
    plain = rows.with_columns(pl.col("flags") & ~pl.lit(AE, pl.UInt16))
    assert AccurateEcn().told(plain) is plain


@pytest.mark.parametrize("kept", [CONNECTION, CONVERSATION])
def test_what_is_kept_has_no_gaps(kept: np.dtype[Any]) -> None:
    """A snapshot does not keep what lies between fields, so it would not be the same again."""
    assert kept.itemsize == sum(kept[name].itemsize for name in kept.names or ())
