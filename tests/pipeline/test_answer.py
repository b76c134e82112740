"""The answer to where a flow is bottlenecked: composed from rows, and asked of a real store."""

import json
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import polars as pl
import pytest
from empty_store import empty_store

from pipeline.composed_answer import HOLDING, compose_answer
from pipeline.kind import KINDS
from pipeline.question import Question, address_words, end_text, time_text
from pipeline.store import Store
from pipeline.tables import TABLES
from pipeline.where import answer

T0 = 1_700_000_000_000_000_000
STEP = 100_000_000
FLOW = {
    "flow": 2**64 - 1,
    "conversation": None,
    "src": "10.0.0.1",
    "first_ns": T0,
    "last_ns": T0 + 10 * STEP,
}
HOPS = {
    "down": (2, 8, "leaf2", "Ethernet8", "tor", "host", 10**10),
    "up": (1, 50, "leaf1", "Ethernet50", "tor", "up", 4 * 10**10),
    "": (None, None, "", "", "", "", None),
}


def row(number: int, hop: str = "down", kind: str = "incast", **changed: Any) -> dict[str, Any]:
    """A verdict on interval `number`."""
    node, port, device, interface, stage, orientation, capacity = HOPS[hop]
    candidate = {
        "signal": "int",
        "node": node,
        "port": port,
        "device": device,
        "interface": interface,
    }
    candidates = [candidate | {"u_mean": 1.5, "probability": 0.8, "samples": 10}] if node else []
    evidence = [
        {
            "signal": "int",
            "name": "hop load u'",
            "value": 1.5,
            "unit": "ratio",
            "samples": 10,
            "point": "leaf1:E0",
        },
        {
            "signal": "state",
            "name": "W",
            "value": 1000.0 + number,
            "unit": "bytes",
            "samples": 1,
            "point": None,
        },
    ]
    return {
        "time_ns": T0 + number * STEP,
        "interval_ns": STEP,
        "kind": kind,
        "node": node,
        "port": port,
        "device": device,
        "interface": interface,
        "stage": stage,
        "orientation": orientation,
        "capacity_bps": capacity,
        "u_mean": 1.5,
        "u_max": 2.0,
        "queue_mean_bytes": 5000.0,
        "samples": 10,
        "confidence": 0.9,
        "completeness": 1.0,
        "plausibility": [],
        "reroute_helps": KINDS[kind].reroute_helps,
        "contributors": 3,
        "candidates": json.dumps(candidates),
        "evidence": json.dumps(evidence),
        "topology": "demo-1",
        **changed,
    }


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    schema = TABLES["verdicts"].schema
    return pl.DataFrame(rows, {name: schema[name] for name in rows[0]}, orient="row")


def composed(*rows: dict[str, Any], **changed: int) -> dict[str, Any]:
    window = {"from_ns": T0, "to_ns": T0 + 10 * STEP} | changed
    return compose_answer(FLOW, frame(*rows).to_dicts(), **window)


def test_the_headline_is_the_hop_of_most_intervals() -> None:
    """Two hot intervals weigh less than three that are less so; calm ones not at all."""
    made = composed(
        row(0, "up", "uplink", u_mean=9.0, samples=1),
        row(1, "up", "uplink", u_mean=9.0, samples=1),
        *(row(i, "down", "incast", u_mean=1.1 + i / 10, samples=10 * i) for i in range(2, 5)),
        row(5, "up", "not_congested", u_mean=0.9, samples=10**6),
    )
    said = made["verdict"]
    assert said["kind"] == "incast"
    assert said["hop"] == {
        "node": 2, "port": 8, "device": "leaf2", "interface": "Ethernet8", "stage": "tor",
        "orientation": "host", "capacity_bps": 10**10, "name": "leaf2 Ethernet8",
    }  # fmt: skip
    assert said["u_mean"] == pytest.approx((1.3 * 20 + 1.4 * 30 + 1.5 * 40) / 90)
    assert (said["intervals"], said["share"], said["samples"]) == (3, 0.5, 90)
    assert (said["since_ns"], said["since_exact"]) == (T0 + 2 * STEP, True)
    assert said["sentence"] == (
        "leaf2 Ethernet8 (tor, faces a host, 10 Gbit/s) was the bottleneck for 50 % of the time"
        " until 2023-11-14T22:13:20.500000Z: many senders meet at the last hop; mean load 1.42;"
        " 3 flows share it; another path would not help; now nothing holds it back."
    )
    assert said["until_ns"] == T0 + 5 * STEP


@pytest.mark.parametrize(
    ("order", "head", "tail"),
    [
        (("up", "down"), "leaf2 Ethernet8", "another path would not help."),
        (("up", "down", "up"), "leaf1 Ethernet50", "another path would help."),
        (("down", "down", "up"), "leaf2 Ethernet8", "now it is leaf1 Ethernet50."),
    ],
)
def test_a_flow_that_moved_is_said_to_have(order: tuple[str, ...], head: str, tail: str) -> None:
    """Of equals the later; the ranked hops agree; the sentence says whether it is so still."""
    kinds = {"up": "uplink", "down": "incast"}
    said = [
        row(i, hop, kinds[hop], candidates=json.dumps([
            {"signal": "headline", "node": HOPS[one][0], "port": HOPS[one][1],
             "device": HOPS[one][2], "interface": HOPS[one][3], "u_mean": 1.0, "samples": 10,
             "probability": (0.999 if i else 0.996) if one == hop else 0.001}
            for one in ("up", "down")
        ]))
        for i, hop in enumerate(order)
    ]  # fmt: skip
    made = composed(*said)
    assert made["verdict"]["hop"]["name"] == made["candidates"][0]["hop"]["name"] == head
    assert made["verdict"]["sentence"].endswith(tail)
    tense = " was " if tail.startswith("now") else " is "
    assert tense in made["verdict"]["sentence"]


def test_where_it_moved_is_said_for_certain_only_where_it_is_likely() -> None:
    """Of a last interval of a few frames every way up may be the one."""
    before = [row(0), row(1)]
    for confidence, said in ((0.24, "now it may be leaf1"), (0.9, "now it is leaf1")):
        made = composed(*before, row(2, "up", "uplink", confidence=confidence))
        assert said in made["verdict"]["sentence"]


def test_history_says_when_it_moved() -> None:
    made = composed(
        row(0), row(1), row(2, kind="last_hop_elephant"), row(4, "up", "uplink"),
        row(5, "up", "not_congested"), row(6, "down", "not_congested"), row(7),
    )  # fmt: skip
    found = [
        (h["from_ns"] - T0, h["to_ns"] - T0, h["kind"], h["hop"] and h["hop"]["name"])
        for h in made["history"]
    ]
    assert found == [
        (0, 2 * STEP, "incast", "leaf2 Ethernet8"),
        (2 * STEP, 3 * STEP, "last_hop_elephant", "leaf2 Ethernet8"),
        (4 * STEP, 5 * STEP, "uplink", "leaf1 Ethernet50"),
        (5 * STEP, 7 * STEP, "not_congested", None),
        (7 * STEP, 8 * STEP, "incast", "leaf2 Ethernet8"),
    ]
    assert [h["sentence"] for h in made["history"]] == [
        "leaf2 Ethernet8: incast",
        "last_hop_elephant instead of incast at 2023-11-14T22:13:20.200000Z",
        "moved from leaf2 Ethernet8 to leaf1 Ethernet50 at 2023-11-14T22:13:20.400000Z: uplink",
        "left leaf1 Ethernet50 at 2023-11-14T22:13:20.500000Z: not_congested",
        "came up at leaf2 Ethernet8 at 2023-11-14T22:13:20.700000Z: incast",
    ]


def test_history_says_which_intervals_late_rows_have_changed() -> None:
    made = composed(
        row(0, revision=1),
        row(1, revision=2),
        row(2, revision=3),
        row(3, "up", "uplink", revision=1),
    )
    assert [h["revised"] for h in made["history"]] == [2, 0]
    assert made["verdict"]["parts"]["redecided"] is False
    [note] = made["notes"]
    assert note.startswith("late frames have changed 2 verdicts; congestion control did not decide")
    steady = composed(*(row(number, revision=1) for number in range(3)))
    assert (steady["verdict"]["parts"]["redecided"], steady["notes"]) == (None, [])


def test_without_congestion_no_hop_is_named_a_bottleneck() -> None:
    seen = {"hops": 3, "hops_seen": 3}
    made = composed(*(row(i, kind="sender_limited", u_mean=0.4, **seen) for i in range(3)))
    said = made["verdict"]
    assert said["hop"] is None
    assert said["most_loaded"]["name"] == "leaf2 Ethernet8"
    assert said["sentence"].startswith(
        "No bottleneck in the network: the sender sends less than it may"
    )
    assert "most loaded is leaf2 Ethernet8" in said["sentence"]
    assert made["history"][0]["hop"] is None


def test_a_window_of_unknown_scale_is_told_beside_the_sender() -> None:
    flag = ["window_scale_unknown"]
    said = composed(row(0, kind="sender_limited", plausibility=flag))["verdict"]
    either = "may, or the receiver's window, whose scale is not known, holds it back;"
    assert either in said["sentence"]
    assert any("the scale of the receiver's window is not known" in each for each in said["doubts"])
    calm = composed(row(0, kind="not_congested", plausibility=flag))["verdict"]
    assert "window" not in calm["sentence"]


def test_nothing_is_said_of_hops_out_of_sight_or_of_what_is_not_known() -> None:
    seen = {"hops": 3, "hops_seen": 2}
    made = composed(row(0, kind="not_congested", u_mean=0.4, **seen))
    assert made["verdict"]["sentence"].startswith("No bottleneck at the 2 of 3 hops in sight: ")
    for unseen in ({}, {"hops": 3, "hops_seen": 0}):
        made = composed(row(0, kind="not_congested", u_mean=0.4, **unseen))
        assert made["verdict"]["sentence"].startswith("No bottleneck in sight: ")
    made = composed(row(0, "", "unknown", u_mean=None, u_max=None))
    assert made["verdict"]["sentence"] == (
        "Whether the network holds it back is not known: nothing in these packets tells."
    )


def test_marks_without_a_place_are_congestion_somewhere() -> None:
    made = composed(
        row(0, "", "congested_path", u_mean=None, u_max=None),
        row(1, "", "congested_path", u_mean=None),
    )
    said = made["verdict"]
    assert (said["kind"], said["hop"], said["u_mean"]) == ("congested_path", None, None)
    assert said["sentence"] == (
        "The path is congested: the path marks, but nothing says where;"
        " whether another path would help is not known."
    )
    assert made["candidates"] == []


def test_intervals_count_as_long_as_the_flow_was_seen_in_them() -> None:
    """It was seen at the very end of the first interval and the very begin of the last one."""
    flow = FLOW | {"first_ns": T0 + STEP - 1000, "last_ns": T0 + 2 * STEP + 1000}
    rows = [row(0, "up", "uplink"), row(1), row(2, "up", "uplink")]
    said = compose_answer(flow, rows, T0, T0 + 3 * STEP)["verdict"]
    assert (said["kind"], said["share"]) == ("incast", pytest.approx(1, abs=1e-4))


def test_a_receiver_that_holds_a_flow_back_is_named() -> None:
    shut = row(0, "", "receiver_host", u_mean=0.3)
    said = composed(shut)["verdict"]["sentence"]
    assert said.startswith("The receiver is the bottleneck: the receiver takes in less than it is")
    said = composed(row(0), row(1), row(2, "", "receiver_host"))["verdict"]["sentence"]
    assert said.endswith("; now it is the receiver.")


def test_evidence_is_of_the_headlines_hop_and_says_its_share() -> None:
    made = composed(row(0, "up", "uplink", u_mean=1.1), row(1), row(2), row(3))
    load, window = made["evidence"]
    assert (load["name"], load["value"], load["samples"], load["share"]) == (
        "hop load u'",
        1.5,
        30,
        0.75,
    )
    assert load["points"] == ["leaf1:E0"]
    assert (window["name"], window["value"], window["points"]) == ("W", 1003.0, [])
    ranked = [
        (c["signal"], c["hop"]["name"], round(c["probability"], 3)) for c in made["candidates"]
    ]
    assert ranked == [("int", "leaf2 Ethernet8", 0.6), ("int", "leaf1 Ethernet50", 0.2)]


def test_the_answer_says_how_much_of_the_window_it_covers() -> None:
    made = composed(row(0), row(1), row(5), from_ns=T0 + STEP // 2, to_ns=T0 + 10 * STEP)
    assert made["interval"] == {
        "from_ns": T0 + STEP // 2, "to_ns": T0 + 10 * STEP, "step_ns": STEP,
        "covered": pytest.approx(2.5 / 9.5), "lengths_ns": [STEP],
        "judged_from_ns": T0, "judged_to_ns": T0 + 6 * STEP,
    }  # fmt: skip
    assert [(told["from_ns"], told["covered"]) for told in made["history"]] == [(T0, 0.5)]


def test_nothing_holds_before_the_first_frame() -> None:
    first_ns = T0 + STEP // 3
    rows = frame(row(0), row(1)).to_dicts()
    said = compose_answer(FLOW | {"first_ns": first_ns}, rows, first_ns, T0 + STEP)["verdict"]
    assert (said["since_ns"], said["since_exact"]) == (first_ns, True)


def test_of_several_lengths_of_intervals_the_longest_that_suits_the_window_counts() -> None:
    rows = [row(0, "up", "uplink", interval_ns=10 * STEP, samples=10**6), row(0), row(1)]
    short, long = composed(*rows), composed(*rows, to_ns=T0 + 100 * STEP)
    assert (short["verdict"]["kind"], long["verdict"]["kind"]) == ("incast", "uplink")
    assert (short["interval"]["step_ns"], long["interval"]["step_ns"]) == (STEP, 10 * STEP)
    assert short["interval"]["lengths_ns"] == [STEP, 10 * STEP]


def test_what_cannot_be_true_is_said() -> None:
    made = composed(row(0, plausibility=["b", "a"]), row(1, plausibility=["a"]))
    assert made["verdict"]["plausibility"] == ["a", "b"]


def test_the_answer_is_plain_data_and_hashes_are_text() -> None:
    made = composed(row(0))
    assert json.loads(json.dumps(made)) == made
    assert made["flow"]["flow"] == "18446744073709551615"
    assert made["flow"]["conversation"] is None


def test_every_kind_has_a_sentence() -> None:
    for kind in KINDS:
        said = composed(row(0, kind=kind))["verdict"]
        assert said["sentence"].endswith("."), kind
        assert (said["hop"] is not None) == (kind in HOLDING)


@pytest.mark.parametrize(
    ("text", "words"),
    [("10.0.0.1", (0, 0xFFFF_0A00_0001)), ("2001:db8::5", (0x20010DB8_00000000, 5))],
)
def test_addresses_in_two_words(text: str, words: tuple[int, int]) -> None:
    assert address_words(ip_address(text)) == words


def test_ends_and_times_as_text() -> None:
    assert (end_text("10.0.0.1", 5), end_text("::1", 5)) == ("10.0.0.1:5", "[::1]:5")
    assert time_text(T0 + 123_456_789) == "2023-11-14T22:13:20.123456Z"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A flow with 100 s of verdicts at two hops, its reverse, and its twin in another tenant."""
    with empty_store(tmp_path_factory.mktemp("answer") / "db") as opened:
        low = {
            "a": address_words(ip_address("10.0.0.1"))[1],
            "b": address_words(ip_address("10.0.1.1"))[1],
        }
        known = {"protocol": 6, "first_ns": T0, "last_ns": T0 + 1000 * STEP}
        there = {"src_lo": low["a"], "dst_lo": low["b"], "sport": 40000, "dport": 5001} | known
        back = {"src_lo": low["b"], "dst_lo": low["a"], "sport": 5001, "dport": 40000} | known
        flows = [
            {"flow": 1, **there},
            {"flow": 2, **back},
            {"flow": 3, **there, "tenant": "blue", "vni": 7, "last_ns": T0 + 5 * STEP},
        ]
        schema = TABLES["flows"].schema
        opened.insert("flows", pl.DataFrame(flows, {n: schema[n] for n in flows[2]}), "flows")
        rows = [row(i, *(("up", "uplink") if i < 300 else ("down", "incast"))) for i in range(1000)]
        opened.insert("verdicts", frame(*rows).with_columns(flow=pl.lit(1, pl.UInt64)), "verdicts")
        yield opened


def asked(**changed: Any) -> Question:
    ends = {
        "src": ip_address("10.0.0.1"),
        "sport": 40000,
        "dst": ip_address("10.0.1.1"),
        "dport": 5001,
    }
    return Question(**ends | changed)


TWINS = (
    "2 flows have these ends; this is the one seen last, with no tenant and no vni; also seen: with"
    " tenant blue and vni 7 from 2023-11-14T22:13:20.000000Z to 2023-11-14T22:13:20.500000Z"
)


def test_without_a_time_the_window_ends_with_the_flow_and_says_so(store: Store) -> None:
    made = answer(store, asked())
    assert (made["interval"]["from_ns"], made["interval"]["to_ns"]) == (
        T0 + 900 * STEP,
        T0 + 1000 * STEP,
    )
    last = "2023-11-14T22:15:00.000000Z"
    assert made["notes"] == [
        TWINS,
        f"no time was given: the window ends with this flow's last frame, {last}",
    ]
    assert made["verdict"]["hop"]["name"] == "leaf2 Ethernet8"


def test_feedback_that_cannot_be_trusted_is_said_beside_the_verdict(store: Store) -> None:
    """Two points see the same reflections: the one that saw most counts."""
    calm = answer(store, asked(at_ns=T0 + 50 * STEP, window_ns=20 * STEP))
    assert calm["integrity"]["value"] == "unchecked"
    assert calm["integrity"]["feedback"] == 0
    counts = {"feedback": 10, "feedback_told_apart": 10, "feedback_valid": 7,
              "feedback_replayed": 0}  # fmt: skip
    seen = [{"flow": 1, "time_ns": T0 + i * STEP, "interval_ns": STEP, "point": point, **counts,
             "feedback_invalid": int(i == 510 and point == "a")}
            for i in (505, 510) for point in ("a", "b")]  # fmt: skip
    schema = TABLES["flow_intervals"].schema
    store.insert("flow_intervals", pl.DataFrame(seen, {n: schema[n] for n in seen[0]}), "feedback")
    told = answer(store, asked(at_ns=T0 + 515 * STEP, window_ns=20 * STEP))
    assert told["integrity"]["value"] == "invalid"
    assert (told["integrity"]["feedback"], told["integrity"]["feedback_invalid"]) == (20, 1)
    said = "feedback to the sender is invalid: of 20 1 with a wrong checksum"
    assert told["notes"] == [TWINS, said]
    right = answer(store, asked(at_ns=T0 + 507 * STEP, window_ns=5 * STEP))
    assert right["integrity"]["value"] == "valid"


def test_since_reaches_back_before_the_window(store: Store) -> None:
    said = answer(store, asked())["verdict"]
    assert (said["since_ns"], said["since_exact"]) == (T0 + 300 * STEP, True)
    early = answer(store, asked(at_ns=T0 + 200 * STEP))["verdict"]
    assert (early["since_ns"], early["since_exact"]) == (T0, True)


def test_a_window_at_a_time_gives_what_held_then(store: Store) -> None:
    at = T0 + 305 * STEP
    made = answer(store, asked(at_ns=at, window_ns=20 * STEP))
    assert made["verdict"]["hop"]["name"] == "leaf1 Ethernet50"
    assert [h["kind"] for h in made["history"]] == ["uplink", "incast"]
    assert made["history"][1]["from_ns"] == T0 + 300 * STEP


def test_a_window_shorter_than_an_interval_finds_the_interval_around_it(store: Store) -> None:
    made = answer(store, asked(at_ns=T0 + 10 * STEP + STEP // 2, window_ns=1000))
    assert made["interval"]["covered"] == 1.0
    assert made["verdict"]["kind"] == "uplink"


def test_a_flow_is_chosen_by_tenant_and_network(store: Store) -> None:
    made = answer(store, asked(tenant="blue", vni=7))
    assert made["flow"]["flow"] == "3"
    assert made["verdict"] is None
    assert made["message"].startswith(
        "no verdict for 10.0.0.1:40000 → 10.0.1.1:5001 from 2023-11-14T22:13:20"
    )


def test_an_unknown_flow_names_those_that_were_seen(store: Store) -> None:
    made = answer(store, asked(sport=1))
    assert made["verdict"] is None
    assert made["message"] == (
        "no verdict for 10.0.0.1:1 → 10.0.1.1:5001; flows seen between these addresses:"
        " 10.0.0.1:40000 → 10.0.1.1:5001, 10.0.1.1:5001 → 10.0.0.1:40000,"
        " 10.0.0.1:40000 → 10.0.1.1:5001"
    )
    nobody = answer(store, asked(dst=ip_address("2001:db8::1")))
    assert nobody["message"].endswith("flows seen between these addresses: none")
    assert set(made) > set(composed(row(0)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tenant": "red"}, "no tenant instead of tenant red, or with tenant blue instead of"),
        ({"vni": 9, "tenant": "blue"}, "or with vni 7 instead of vni 9"),
        ({"protocol": 17}, "seen with protocol tcp instead of protocol udp"),
    ],
)
def test_what_differs_is_said_where_the_ends_are_the_same(
    store: Store, given: dict[str, Any], said: str
) -> None:
    made = answer(store, asked(**given))
    assert made["verdict"] is None
    assert said in made["message"]
    assert "between these addresses" not in made["message"]
    assert made["flows"]


def test_another_protocol_is_another_flow(store: Store) -> None:
    assert answer(store, asked(protocol=6))["verdict"] is not None
    assert answer(store, asked(protocol=17))["verdict"] is None


def test_a_time_without_frames_is_told(store: Store) -> None:
    made = answer(store, asked(at_ns=T0 - STEP))
    assert made["verdict"] is None
    assert "the flow was seen from 2023-11-14T22:13:20.000000Z to" in made["message"]
    assert made["interval"]["covered"] == 0.0


def test_the_direction_without_data_names_the_other_one(store: Store) -> None:
    ends = {"src": ip_address("10.0.1.1"), "sport": 5001, "dst": ip_address("10.0.0.1")}
    made = answer(store, asked(**ends, dport=40000))
    assert made["verdict"] is None
    assert made["message"].endswith("the other direction may have sent some")
    assert [(flow["src"], flow["sport"]) for flow in made["flows"]] == [("10.0.0.1", 40000)]


def test_what_one_interval_says_is_told_to_the_last_bit() -> None:
    """A mean that is weighted by samples would round twice."""
    load, samples = 0.7887233511355132, 7
    assert load * samples / samples != load
    told = compose_answer(FLOW, [row(0, u_mean=load, samples=samples)], T0, T0 + STEP)
    assert told["verdict"]["u_mean"] == load
