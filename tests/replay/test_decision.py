"""The decision trace: every branch has its words, every object its shape."""

import json
import math

import polars as pl
import pytest

from pipeline import (
    COMPANIONS,
    DECISIONS,
    companion_fields,
    dctcp,
    dctcp_receiver,
    hpcc,
    hpcc_probe,
    hpcc_receiver,
    poseidon,
    swift,
)
from replay import HOPS, objects, trace
from replay.decision import COMMON, FIELDS, MARK, TOLD
from replay.step import STEPS, WHY, Step

FORMS = {
    "hpcc": hpcc,
    "hpcc_receiver": hpcc_receiver,
    "hpcc_probe": hpcc_probe,
    "dctcp": dctcp,
    "dctcp_receiver": dctcp_receiver,
    "swift": swift,
    "poseidon": poseidon,
}
KEYS = pl.DataFrame(
    {"flow": [7], "src": ["10.0.0.1"], "sport": [40000], "dst": ["10.0.0.2"], "dport": [5001]},
    schema_overrides={"flow": pl.UInt64},
)


def decision(**values: object) -> pl.DataFrame:
    row = {"time_ns": 5, "source": "s", "point": "p", "frame": 3, "flow": 7, "quality": "exact"}
    algorithm = str(values["algorithm"])
    own = companion_fields(algorithm) if algorithm in COMPANIONS else ()
    schema = dict(DECISIONS) | dict.fromkeys(own, pl.Float64()) | {"faults": pl.Int32()}
    schema |= {HOPS: pl.List(pl.Float64())} if HOPS in values else {}
    texts = ("algorithm", "branch", *(name for name in ("verdict", "evidence") if name in values))
    schema |= dict.fromkeys(texts, pl.String()) if own else {}
    return pl.DataFrame([{**row, **values}], schema=schema)


def said(frame: pl.DataFrame) -> dict[str, object]:
    """The one object of a frame, by way of JSON."""
    (found,) = objects(trace(frame, KEYS, 0.95, 5))
    return dict(json.loads(json.dumps(found, allow_nan=False)))


def test_every_branch_has_its_line_and_its_sentence() -> None:
    branches = {
        (algorithm, branch.name.lower())
        for algorithm, kind in FORMS.items()
        for branch in kind.Branch
    }
    assert [(step.algorithm, step.branch) for step in STEPS] == sorted(
        branches, key=[(step.algorithm, step.branch) for step in STEPS].index
    )
    for step in STEPS:
        own = FIELDS.get(step.algorithm) or companion_fields(step.algorithm)
        used = set(MARK.findall(step.sentence)) - {"eta", "maxStage", *own}
        assert used <= {"ack", "acked_bytes", "marked_bytes"}


def test_a_full_update_says_why_and_by_which_formula() -> None:
    found = said(
        decision(
            algorithm="hpcc", branch="full_update_mi", ack=4000, U_before=0.9, U=1.13, W=43_717.25,
            Wc=43_717.25, R=8.74e10, incStage=0, lastUpdateSeq=9000, u_max=1.2, u_hop=1,
            hop_count=3, faults=0, u_hops=[0.25, 1.2, None],
        )
    )  # fmt: skip
    assert found["sentence"] == (
        "full update (SEG.ACK 4000 > lastUpdateSeq): U 1.13 (was 0.9) >= eta 0.95, so"
        " W = Wc/(U/eta) + W_ai = 43717; Wc = W, incStage = 0, lastUpdateSeq = 9000"
        "; u' by hop: 0.25, 1.2, unknown"
    )
    assert found["line"] == "lines 12-15, 24"
    assert list(found) == [*COMMON, *FIELDS["hpcc"], "fault_names", *TOLD]
    assert (found["src"], found["sport"], found["branch"]) == ("10.0.0.1", 40000, "full_update_mi")
    assert found["W"] == 43_717.25


def test_what_is_unknown_is_said_to_be() -> None:
    found = said(
        decision(algorithm="hpcc", branch="fast_react_ai", ack=1, U=0.5, quality="unknown")
    )
    assert found["W"] is None
    assert "W = Wc + W_ai = unknown; Wc stays unknown" in str(found["sentence"])


def test_the_end_of_a_window_says_what_became_of_alpha() -> None:
    found = said(
        decision(
            algorithm="dctcp", branch="window_end_reduce", ack=2_429_745, alpha_before=0.1683,
            alpha=0.16000203,
            M=0.03448, BytesAcked=41_992, BytesMarked=1448, WindowEnd=2_471_737, cwnd=4e4,
            ssthresh=41_245.5, dialect="ns3", basis="handshake",
        )
    )  # fmt: skip
    assert found["sentence"] == (
        "window ended with 41992 bytes acked, 1448 marked: M = 0.03448,"
        " alpha = (1-g)*0.1683 + g*M = 0.16; the next one ends at 2471737;"
        " cut by cwnd*alpha/2, by whole segments where the dialect counts so and to no less than"
        " min_cwnd: ssthresh = 41246 bytes"
    )
    assert list(found) == [*COMMON, *FIELDS["dctcp"], *TOLD]


def test_objects_hold_no_infinity() -> None:
    found = said(
        decision(algorithm="dctcp", branch="count", ack=1, alpha=1.0, ssthresh=math.inf, cwnd=1e4)
    )
    assert found["ssthresh"] is None
    assert found["cwnd"] == 1e4


def test_a_flow_without_a_key_keeps_its_decisions() -> None:
    found = said(decision(algorithm="dctcp", branch="count", ack=1, flow=8))
    assert found["src"] is None


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.algorithm}-{step.branch}")
def test_a_sentence_is_whole(step: object) -> None:
    algorithm, branch = step.algorithm, step.branch  # type: ignore[attr-defined]
    sentence = str(said(decision(algorithm=algorithm, branch=branch, ack=1))["sentence"])
    assert sentence
    assert "{" not in sentence


@pytest.mark.parametrize("step", [step for step in STEPS if not MARK.findall(step.sentence)])
def test_a_sentence_without_numbers_is_that_of_every_row(step: Step) -> None:
    one = decision(algorithm=step.algorithm, branch=step.branch)
    traced = trace(pl.concat([one, one, one]), KEYS, 0.95, 5)
    assert traced["sentence"].to_list() == [step.sentence] * 3


def test_faults_have_names_in_sentences_and_objects() -> None:
    found = said(decision(algorithm="hpcc", branch="bad_telemetry", ack=1, faults=9, u_hop=-1))
    assert found["fault_names"] == ["zero_b", "missing_value"]
    assert "(faults zero_b, missing_value)" in str(found["sentence"])
    assert (found["faults"], found["u_hop"]) == (9, None)


def test_a_sentence_speaks_of_the_u_that_decided() -> None:
    row = decision(
        algorithm="hpcc_csig", branch="full_update_mi", ack=1, U=0.5, U_upper=2.0, faults=0
    )
    (lower,) = objects(trace(row, KEYS, 0.95, 5))
    (upper,) = objects(trace(row, KEYS, 0.95, 5, ["hpcc_csig"]))
    assert (
        "U 0.5 (was unknown) >=" in lower["sentence"],
        "U 2 (was unknown) >=" in upper["sentence"],
    ) == (True, True)
    assert upper["U"] == 0.5
    unknown = row.with_columns(U_upper=pl.lit(None, pl.Float64))
    (fell_back,) = objects(trace(unknown, KEYS, 0.95, 5, ["hpcc_csig"]))
    assert "U 0.5 (was unknown) >=" in fell_back["sentence"]


def test_every_reason_for_a_state_that_is_not_exact_has_its_words() -> None:
    names = set(DECISIONS["why"].categories) - {"nothing", "none"}  # type: ignore[attr-defined]
    assert set(WHY) == names
    found = said(decision(algorithm="dctcp", branch="count", ack=1, quality="estimated", why="gap"))
    assert found["standing"] == "estimated: frames of the flow are missing"


def test_decisions_keep_their_order_whatever_their_branches() -> None:
    rows = [
        decision(algorithm="dctcp", branch=branch, ack=ack)
        for ack, branch in enumerate(["count", "window_end", "count", "nothing", "window_end"])
    ]
    told = [*objects(trace(pl.concat(rows), KEYS, 0.95, 5))]
    assert [row["ack"] for row in told] == [0, 1, 2, 3, 4]
    assert [row["branch"] for row in told][1::3] == ["window_end", "window_end"]
    assert ["window ended" in row["sentence"] for row in told] == [False, True, False, False, True]


@pytest.mark.parametrize(
    ("branch", "said_why"), [("unsighted", "no CE was seen on its data"), ("expected", "fits more")]
)
def test_a_receiver_of_which_nothing_is_known_says_what_is_missing(
    branch: str, said_why: str
) -> None:
    row = decision(
        algorithm="dctcp_receiver", branch=branch, ack=1, quality="unknown", verdict="unknown",
        evidence="none", sure=0.0, expected_bytes=0, reported_bytes=0,
    )  # fmt: skip
    found = said(row)
    assert str(found["standing"]).startswith("unknown: ")
    assert said_why in str(found["standing"])
    assert str(found["sentence"]).endswith("so far the receiver is not known yet")
    known = said(row.with_columns(verdict=pl.lit("dctcp"), quality=pl.lit("exact")))
    assert known["standing"] == "exact"
