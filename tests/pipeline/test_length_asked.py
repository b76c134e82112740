"""Questions to a store that holds verdicts of several lengths, or an old one that holds one."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import polars as pl
import pytest
from empty_store import empty_store

from pipeline import TABLES, Question, Store, address_words, answer, length_bounds
from service.commands.top import look

MS = 1_000_000
T0 = 1_700_000_000_000_000_000
SPAN_NS = 20_000 * MS
HOPS = {"up": (1, 50, "leaf1", "Ethernet50"), "down": (2, 8, "leaf2", "Ethernet8")}


def verdict(flow: int, at_ns: int, length_ns: int, hop: str, **changed: Any) -> dict[str, Any]:
    node, port, device, interface = HOPS[hop]
    return {
        "flow": flow, "time_ns": T0 + at_ns, "interval_ns": length_ns, "kind": "congested_hop",
        "node": node, "port": port, "device": device, "interface": interface, "u_mean": 1.5,
        "samples": 10, "confidence": 0.9, "candidates": "[]", "evidence": "[]", "revision": 1,
        "revised_ns": None, **changed,
    }  # fmt: skip


def cells(flow: int, length_ns: int, **changed: Any) -> list[dict[str, Any]]:
    """Verdicts over `SPAN_NS`, at one hop in the first half and at another in the second."""
    return [
        verdict(flow, at, length_ns, "up" if at < SPAN_NS // 2 else "down", **changed)
        for at in range(0, SPAN_NS, length_ns)
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Flow 1 has verdicts of three lengths, flow 2, of an older run, of 100 ms alone."""
    with empty_store(tmp_path_factory.mktemp("lengths") / "db") as opened:
        ends = {name: address_words(ip_address(f"10.0.0.{name}"))[1] for name in (1, 2)}
        known = {"protocol": 6, "first_ns": T0, "last_ns": T0 + SPAN_NS, "dst_lo": ends[2],
                 "src_lo": ends[1], "dport": 5001}  # fmt: skip
        flows = [{"flow": flow, "sport": flow, **known} for flow in (1, 2)]
        schema = TABLES["flows"].schema
        opened.insert("flows", pl.DataFrame(flows, {n: schema[n] for n in flows[0]}), "flows")
        rows = [
            *cells(1, 1000 * MS, u_mean=1.6), *cells(1, 100 * MS), *cells(2, 100 * MS),
            *(verdict(1, SPAN_NS - 10 * MS + at * MS, MS, "up") for at in range(10)),
            verdict(1, SPAN_NS - 100 * MS, 100 * MS, "down", revision=3,
                    revised_ns=T0 + SPAN_NS + 7),
        ]  # fmt: skip
        schema = TABLES["verdicts"].schema
        frame = pl.DataFrame(rows, {n: schema[n] for n in rows[0]})
        opened.insert("verdicts", frame, "verdicts")
        yield opened


def test_a_window_that_reaches_before_what_is_stored_is_no_longer_one(store: Store) -> None:
    at_ns, stored_ns = T0 + 3_000 * MS, 3_000 * MS
    wide, narrow = (look(store, at_ns, window)["flows"] for window in (100_000 * MS, stored_ns))
    assert wide == narrow
    assert {row["u_mean"] for row in wide} == {1.5}, "of 100 ms: ten of a second do not fit"


def asked(flow: int, **changed: Any) -> Question:
    source, target = ip_address("10.0.0.1"), ip_address("10.0.0.2")
    return Question(source, flow, target, 5001, **changed)


@pytest.mark.parametrize(("window_ms", "interval_ms", "answers_ms"), [
    (10_000, None, 1000), (1_000, None, 100), (10, None, 1), (10_000, 100, 100), (5, 1000, 1000),
    (10, 1, 1),
])  # fmt: skip
def test_the_asker_chooses_the_length_or_the_longest_that_suits_answers(
    store: Store, window_ms: int, interval_ms: int | None, answers_ms: int
) -> None:
    told = None if interval_ms is None else interval_ms * MS
    made = answer(store, asked(1, window_ns=window_ms * MS, interval_ns=told))
    assert made["interval"]["step_ns"] == answers_ms * MS
    there = made["interval"]["lengths_ns"]
    assert there == [MS, 100 * MS, 1000 * MS]


def test_an_older_store_answers_with_the_length_that_it_has(store: Store) -> None:
    made = answer(store, asked(2, window_ns=20_000 * MS))
    assert made["interval"]["step_ns"] == 100 * MS
    assert made["interval"]["covered"] == 1.0


def test_a_length_that_is_not_there_is_told_with_those_that_are(store: Store) -> None:
    made = answer(store, asked(2, interval_ns=MS))
    assert made["verdict"] is None
    assert "on intervals of 1 ms" in made["message"]
    assert made["message"].endswith("there are such of 100 ms")


@pytest.mark.parametrize("length_ms", [100, 1000])
def test_timeline_and_beginning_are_right_at_each_length(store: Store, length_ms: int) -> None:
    made = answer(store, asked(1, window_ns=SPAN_NS, interval_ns=length_ms * MS))
    moved = T0 + SPAN_NS // 2
    assert [piece["from_ns"] for piece in made["history"]] == [T0, moved]
    assert made["history"][1]["sentence"].startswith(
        "moved from leaf1 Ethernet50 to leaf2 Ethernet8 at 2023-11-14T22:13:30"
    )
    late = answer(store, asked(1, window_ns=2000 * MS, interval_ns=length_ms * MS))
    assert (late["verdict"]["since_ns"], late["verdict"]["since_exact"]) == (moved, True)


def test_an_answer_says_that_it_was_revised_and_when(store: Store) -> None:
    parts = answer(store, asked(1, window_ns=1000 * MS, interval_ns=100 * MS))["verdict"]["parts"]
    assert (parts["revised"], parts["revised_ns"]) == (1, T0 + SPAN_NS + 7)
    whole = answer(store, asked(1, window_ns=1000 * MS, interval_ns=1000 * MS))
    assert whole["verdict"]["parts"]["revised"] == 0


def test_of_each_flow_one_length_counts_among_the_bottlenecks(store: Store) -> None:
    window = {"from_ns": T0, "to_ns": T0 + SPAN_NS - 1, "rows": 9}
    for asked_ns, counts in ((None, {1: 10, 2: 100}), (100 * MS, {1: 100, 2: 100}), (MS, {1: 10})):
        suits = length_bounds(SPAN_NS, asked_ns)
        rows = store.query("top_bottlenecks", **window, **suits)
        assert dict(rows.select("flow", "intervals").iter_rows()) == counts
        assert set(rows["share"]) <= {0.5, 1.0}


def test_signals_add_up_to_the_length_that_is_asked_for(store: Store) -> None:
    rows = [
        {"time_ns": T0 + at * 100 * MS, "interval_ns": 100 * MS, "flow": 1, "point": "p",
         "frames": at, "W": float(at) if at < 7 else None} for at in range(10)
    ]  # fmt: skip
    schema = TABLES["flow_intervals"].schema
    store.insert("flow_intervals", pl.DataFrame(rows, {n: schema[n] for n in rows[0]}), "sums")
    window = {"flow": 1, "from_ns": T0, "to_ns": T0 + SPAN_NS}
    fine = store.query("flow_signals", **window, step_ns=0)
    assert fine["frames"].to_list() == list(range(10))
    (whole,) = store.query("flow_signals", **window, step_ns=1000 * MS).to_dicts()
    assert (whole["time_ns"], whole["interval_ns"]) == (T0, 1000 * MS)
    assert (whole["frames"], whole["W"]) == (45, 6.0)


def test_what_a_flow_sent_at_a_link_is_what_it_sent_while_it_was_there(store: Store) -> None:
    """Of a hop that only verdicts name, and of one that the telemetry of half the time names."""
    at = [SPAN_NS // 2 - 100 * MS, SPAN_NS // 2, SPAN_NS // 2 + 100 * MS]
    sent = [
        {"time_ns": T0 + when, "interval_ns": 100 * MS, "flow": 2, "point": point,
         "data_bytes": size} for when, size in zip(at, (1000, 20, 3), strict=True)
        for point in ("a", "b")
    ]  # fmt: skip
    schema = TABLES["flow_intervals"].schema
    store.insert("flow_intervals", pl.DataFrame(sent, {n: schema[n] for n in sent[0]}), "sent")
    window = {"from_ns": T0, "to_ns": T0 + SPAN_NS, "rows": 9}
    suits = length_bounds(SPAN_NS, None)
    for hop, size in (("up", 1000), ("down", 23)):
        place = dict(zip(("node", "port"), HOPS[hop][:2], strict=True))
        held = store.query("link_held", **window, **suits, **place)
        assert dict(held.select("flow", "data_bytes").rows())[2] == size
    crossed = [{"time_ns": T0 + when, "interval_ns": 100 * MS, "flow": 2, "point": "a", "node": 9,
                "port": 9, "samples": 1} for when in at[1:]]  # fmt: skip
    schema = TABLES["hop_intervals"].schema
    rows = pl.DataFrame(crossed, {n: schema[n] for n in crossed[0]})
    store.insert("hop_intervals", rows, "crossed")
    named = store.query("link_flows", **window, node=9, port=9)
    assert named.select("flow", "data_bytes").rows() == [(2, 23)]
