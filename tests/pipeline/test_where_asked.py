"""How `where` asks: two ways to the same frames and verdicts, flows out of parts, what is kept."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from empty_store import empty_store

from pipeline import PipelineSettings, Store, Topology, Worker
from pipeline.beside import beside
from pipeline.feedback_integrity import integrity, judged, summed
from pipeline.flow_finding import found_flows, key_of, whole_ends
from pipeline.flow_rows import FlowWindow, touched
from pipeline.likely_flow import likely_window
from pipeline.question import Question
from pipeline.remembered import KEPT_S, Remembered
from pipeline.tables import TABLES
from pipeline.tables.column import slice_of
from pipeline.tables.flow_by_ends import TOLD
from pipeline.told_row import parted, verdict_row
from pipeline.where import answer, flows_of

Rows = Iterable[Mapping[str, Any]]
T0 = 1_760_000_000 * 10**9
ENDS = Question(ip_address("10.1.0.1"), 1000, ip_address("10.2.0.1"), 2000)
ECE_ACK, CE = 0x50, 3


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = empty_store(tmp_path / "store")
    yield made
    made.close()


def rows_of_both() -> list[dict[str, Any]]:
    """Tags of every type and their reflections, marks, Advanced ECN and windows, for 4 ms."""
    values = {0: 2e9, 1: 0.2, 2: 60_000.0}
    tags = [
        {"time_ns": T0 + at * 20_000, "point": "leaf2:host", "csig_variant": 2, "csig_t": at % 3,
         "csig_s": 500, "csig_lm": 257 if at < 70 else 771, "csig_low": values[at % 3] + at % 7,
         "csig_high": values[at % 3], "ecn": CE if at % 5 == 0 else 2,
         "aecn_u": 40 + at % 11 if at % 4 == 0 else None}
        for at in range(200)
    ]  # fmt: skip
    acks = [
        {"time_ns": tag["time_ns"] + 7, "point": "leaf1:host", "src": "10.2.0.1", "dst": "10.1.0.1",
         "sport": 2000, "dport": 1000, "payload_bytes": 0, "flags": ECE_ACK if at % 6 == 0 else 16,
         "window": 4000 - at, "csig_echo_variant": 2, "csig_echo_t": at % 3, "csig_echo_s": 500,
         "csig_echo_lm": tag["csig_lm"], "csig_echo_low": tag["csig_low"],
         "csig_echo_high": tag["csig_high"]}
        for at, tag in enumerate(tags)
    ]  # fmt: skip
    return sorted([*tags, *acks], key=lambda row: int(row["time_ns"]))


def stored(store: Store, rows: pl.DataFrame, topology: Topology) -> None:
    worker = Worker(PipelineSettings(interval_ms=1.0), topology, ("a",))
    for part, output in enumerate((worker.advance(rows), worker.finish())):
        for name, table in output.tables.items():
            if table.height:
                store.insert(name, table, f"{name}/{part}")


def test_many_frames_and_verdicts_are_told_as_few_are(
    store: Store, observed: Callable[[Rows], pl.DataFrame], chain_of: Callable[..., Topology],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    stored(store, observed(rows_of_both()), chain_of("leaf1", "spine1", "leaf2"))
    few = answer(store, ENDS)
    told = {(each["signal"], bool(each["frames"])) for each in few["evidence"]}
    assert ("csig_delay", True) in told
    monkeypatch.setattr("pipeline.flow_rows.MOST_FRAMES", 3)
    assert answer(store, ENDS) == few
    assert few["integrity"]["feedback"] > 1
    monkeypatch.setattr("pipeline.flow_rows.MOST_TOLD", 1)
    assert answer(store, ENDS) == few
    monkeypatch.undo()
    monkeypatch.setattr("pipeline.flow_rows.MOST_SLICES", 0)
    assert answer(store, ENDS) == few


def test_an_answer_without_frames_differs_in_nothing_else(
    store: Store, observed: Callable[[Rows], pl.DataFrame], chain_of: Callable[..., Topology],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    stored(store, observed(rows_of_both()), chain_of("leaf1", "spine1", "leaf2"))
    heard: list[str] = []
    ask = store.query
    monkeypatch.setattr(
        store, "query", lambda name, **given: (heard.append(name), ask(name, **given))[1]
    )
    bare = answer(store, replace(ENDS, frames=False))
    assert not {"flow_frames", "flow_frame_groups", "flow_stacks", "bus_used"} & {*heard}
    whole = answer(store, ENDS)
    assert {each["frames"] is None for each in bare["evidence"]} == {True}
    assert any(each["frames"] for each in whole["evidence"])
    empty = [each | {"frames": None} for each in whole["evidence"]]
    assert bare == whole | {"evidence": empty}
    # Of a gap it counts whether the flow's frames are of its source.
    for source, share in (("elsewhere", 1.0), ("a", 0.75)):
        gap = (T0 + 1_000_000, T0 + 2_000_000, source, None, None)
        rows = pl.DataFrame([gap], TABLES["capture_gaps"].schema, orient="row")
        store.insert("capture_gaps", rows, source)
        bare, whole = answer(store, replace(ENDS, frames=False)), answer(store, ENDS)
        assert bare["verdict"] == whole["verdict"]
        assert bare["verdict"]["parts"]["captured"] == pytest.approx(share, abs=0.01)


def test_a_window_ends_before_its_end(
    store: Store, observed: Callable[[Rows], pl.DataFrame], chain_of: Callable[..., Topology]
) -> None:
    """An interval that begins when the window ends is not told of, as in every other answer."""
    stored(store, observed(rows_of_both()), chain_of("leaf1", "spine1", "leaf2"))
    second_ns = T0 + 1_000_000
    timed = replace(ENDS, at_ns=second_ns, window_ns=1_000_000)
    told = answer(store, timed)
    assert [each["from_ns"] for each in told["history"]] == [T0]
    assert told["history"][-1]["to_ns"] == told["interval"]["to_ns"] == second_ns
    assert told["interval"]["covered"] == 1.0
    moment = answer(store, replace(timed, at_ns=second_ns + 1, window_ns=1))
    assert [each["from_ns"] for each in moment["history"]] == [second_ns]
    before = answer(store, replace(timed, at_ns=T0, window_ns=1_000_000))
    assert before["verdict"] is None
    assert "no verdict for 10.1.0.1:1000" in before["message"]


def test_rows_are_asked_for_ahead_of_the_flow_and_once(
    store: Store, observed: Callable[[Rows], pl.DataFrame], chain_of: Callable[..., Topology],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    stored(store, observed(rows_of_both()), chain_of("leaf1", "spine1", "leaf2"))
    timed = replace(ENDS, at_ns=T0 + 4_000_000, window_ns=3_000_000)
    heard: list[str] = []
    ask = store.query

    def listened(name: str, **parameters: Any) -> pl.DataFrame:
        heard.append(name)
        if name == "flow_of_key":
            while not {"flow_told", "flow_frames"} <= {*heard}:
                time.sleep(0.01)
        return ask(name, **parameters)

    monkeypatch.setattr(store, "query", listened)
    ahead = answer(store, timed)
    assert ahead["verdict"]["kind"]
    assert ahead["evidence"][0]["frames"]
    once = Counter(heard)
    assert (once["flow_told"], once["flow_frames"]) == (1, 1)
    monkeypatch.undo()
    # Of another network, as it were: what was asked for ahead is not that of the flow.
    monkeypatch.setattr("pipeline.likely_flow.NONE", 5)
    assert likely_window(timed) != FlowWindow.of(flows_of(store, timed)[0], T0, T0)
    assert answer(store, timed) == ahead


@pytest.mark.parametrize("turned", [False, True])
def test_the_likely_flow_is_the_one_that_frames_have(
    observed: Callable[[Rows], pl.DataFrame], *, turned: bool
) -> None:
    rows = observed(rows_of_both()).unique("direction", keep="first").sort("sport")
    here, back = rows.iter_rows(named=True)
    asked = replace(ENDS, at_ns=T0)
    if turned:
        here, back = back, here
        asked = replace(asked, src=ENDS.dst, sport=ENDS.dport, dst=ENDS.src, dport=ENDS.sport)
    window = likely_window(asked)
    assert window == FlowWindow(here["flow"], back["flow"], T0 - asked.window_ns, T0 - 1)
    assert window == FlowWindow.of(here, T0 - asked.window_ns, T0 - 1)
    for other in ({"protocol": 17}, {"tenant": "red"}, {"vrf": "blue"}, {"vni": 9}):
        changed = likely_window(replace(asked, **other))
        assert changed is not None
        assert changed.flow not in {here["flow"], back["flow"]}


def test_without_a_time_or_a_queue_pair_nothing_is_asked_ahead() -> None:
    assert likely_window(ENDS) is None
    assert likely_window(replace(ENDS, at_ns=T0)) is not None
    assert likely_window(replace(ENDS, at_ns=T0, dport=4791)) is None


def test_counts_of_feedback_are_added_up_by_length_and_point(store: Store) -> None:
    times = {"time_ns": [T0, T0 + 5, T0, T0 + 5], "interval_ns": [5, 5, 10, 5], "flow": 7}
    counts = {"feedback": [3, 4, 5, 6], "feedback_invalid": [1, 1, 0, 3]}
    rows = pl.DataFrame(times | {"point": ["a", "a", "a", "b"]} | counts)
    store.insert("flow_intervals", rows, "x")
    # Of the same interval later.
    store.insert("flow_intervals", rows.head(1).with_columns(feedback=90), "y")
    window = {"flow": 7, "from_ns": T0, "to_ns": T0 + 9}
    found = store.query("flow_told", **window, slices=[*touched(T0, T0 + 9)], rows=9)
    whole = integrity(store.query("flow_integrity", **window))
    _, counts = parted(found)
    assert whole is not None
    assert judged(summed(counts)) == whole
    assert (whole["feedback"], whole["feedback_invalid"]) == (97, 3)
    assert integrity(store.query("flow_integrity", **window).clear()) is None
    assert judged(summed([]))["value"] == "unchecked"


def test_what_is_told_of_a_flow_comes_from_both_tables_and_once(store: Store) -> None:
    verdict = pl.DataFrame({"time_ns": [T0], "interval_ns": 5, "flow": 7, "kind": "incast",
                            "node": 3, "u_mean": 1.0, "plausibility": [["late"]],
                            "candidates": '[{"node":3}]', "evidence": "[1,\n2]"})  # fmt: skip
    counts = pl.DataFrame({"time_ns": [T0, T0 + 5], "interval_ns": 5, "flow": 7, "point": "a",
                           "frames": 9, "feedback": [4, 0]})  # fmt: skip
    for _ in range(2):  # a repeat changes nothing, and the token is that of other rows too
        store.insert("verdicts", verdict, "same")
        store.insert("flow_intervals", counts, "same")
    window = {"flow": 7, "from_ns": T0, "to_ns": T0 + 9, "slices": [*touched(T0, T0 + 9)]}
    [unread], counted = parted(store.query("flow_told", **window, rows=9))
    row = verdict_row(unread)
    assert counted == [(5, "a", [4, 0, 0, 0, 0, 0])]
    wanted = {"time_ns": T0, "interval_ns": 5, "kind": "incast", "node": 3, "port": None,
              "u_mean": 1.0, "plausibility": ["late"]}  # fmt: skip
    assert {name: row[name] for name in wanted} == wanted
    assert (row["candidates"], row["evidence"]) == ('[{"node":3}]', "[1,\n2]")


@pytest.mark.parametrize("minute", [0, -60_000_000_000, T0 // 60_000_000_000 * 60_000_000_000])
def test_slices_are_cut_as_the_store_cuts_them(store: Store, minute: int) -> None:
    times = [minute + at for at in (-60_000_000_000, -1, 0, 1, 59_999_999_999, 60_000_000_000)]
    store.insert("observations", pl.DataFrame({"time_ns": times, "flow": 7}), "x")
    with store.alone() as engine:
        told = dict(engine.rows("SELECT time_ns, slice FROM observations"))
    assert told == {time_ns: slice_of(time_ns) for time_ns in times}


def row(
    flow: int, last_ns: int, of: Question = ENDS, tenant: str = "", **more: Any
) -> dict[str, Any]:
    network = {"tenant": tenant, "vrf": "", "vni": None, "protocol": 6, "conversation": 5,
               "direction": 1} | whole_ends(of)  # fmt: skip
    told = json.dumps([network[name] for name in TOLD])
    return {"flow": flow, "first_ns": 1, "last_ns": last_ns, "cc": None, "told": told} | more


def test_rows_of_one_flow_are_joined_and_the_one_seen_last_comes_first() -> None:
    other = replace(ENDS, sport=1001)
    rows = pl.DataFrame([
        row(1, 10, cc="dctcp", first_ns=3), row(1, 20, first_ns=4), row(2, 30, tenant="red"),
        row(3, 40, other),
    ])  # fmt: skip
    assert [each["flow"] for each in found_flows(rows, other)] == [3], "others may have the number"
    newest, other = found_flows(rows, ENDS)
    assert (newest["flow"], newest["tenant"]) == (2, "red")
    assert {name: other[name] for name in ("flow", "first_ns", "last_ns", "cc")} == {
        "flow": 1, "first_ns": 3, "last_ns": 20, "cc": "dctcp"
    }  # fmt: skip
    assert [other[name] for name in ("src", "sport", "dst", "dport")] == [
        "10.1.0.1", 1000, "10.2.0.1", 2000
    ]  # fmt: skip
    one = Question(ENDS.src, 1000, ENDS.dst, 2000, tenant="red")
    assert [each["flow"] for each in found_flows(rows, one)] == [2]
    assert found_flows(rows, Question(ENDS.src, 1000, ENDS.dst, 2000, protocol=17)) == []
    assert len(found_flows(rows, Question(ENDS.src, 1000, ENDS.dst, 2000, protocol=6))) == 2
    mapped = Question(ip_address("::ffff:10.1.0.1"), 1000, ip_address("2001:db8::1"), 2000)
    [seen] = found_flows(pl.DataFrame([row(4, 50, mapped)]), mapped)
    assert (seen["src"], seen["dst"]) == ("10.1.0.1", "2001:db8::1")


def test_a_flow_is_known_until_rows_of_flows_are_stored(
    store: Store, observed: Callable[[Rows], pl.DataFrame], chain_of: Callable[..., Topology]
) -> None:
    assert store.query("flow_of_key", **key_of(ENDS)).is_empty()
    rows = rows_of_both()
    stored(store, observed(rows), chain_of("leaf1", "spine1", "leaf2"))
    found = store.query("flow_of_key", **key_of(ENDS))
    assert found["flow"].n_unique() == 1
    assert store.query("flow_of_key", **key_of(ENDS)) is found
    assert store.query("flow_of_key", **key_of(ENDS), tenants=["red"]).is_empty()
    own = {"flow": found["flow"][0], "tenants": ["red"]}
    others = store.query("flow_of_hash", **own)
    assert others.is_empty()
    assert store.query("flow_of_hash", **own) is others
    assert store.query("flow_of_hash", flow=own["flow"]).height == 1
    key = {"flow": own["flow"], "src_lo": 1, "dst_lo": 2, "sport": 3, "dport": 4, "protocol": 6}
    store.insert("flows", pl.DataFrame([key | {"owner": "red", "last_ns": 5}]), "owned")
    assert store.query("flow_of_hash", **own).height == 1


def test_what_is_remembered_ends_with_a_change_and_with_time() -> None:
    now = [0.0]
    kept, asked = Remembered(lambda: now[0]), []

    def ask() -> pl.DataFrame:
        asked.append(len(asked))
        return pl.DataFrame({"a": [len(asked)]})

    def told(name: str = "flow_of_key") -> int:
        return int(kept.ask(name, {"x": 1}, ask)["a"][0])

    assert (told(), told()) == (1, 1)
    kept.changed("verdicts")
    assert told() == 1
    kept.changed("flows")
    assert (told(), told()) == (2, 2)
    kept.changed(None)
    assert told() == 3
    now[0] = KEPT_S + 1
    assert told() == 4
    assert (told("te_extent"), told("te_extent")) == (5, 6)


def failed(slow: Callable[[], int]) -> None:
    with beside() as begin:
        begin(slow)
        begin(lambda: 1 / 0).result()


def test_what_was_begun_beside_has_ended_when_it_is_left() -> None:
    ended: list[int] = []

    def slow() -> int:
        time.sleep(0.05)
        ended.append(1)
        return 1

    with beside() as begin:
        told = begin(slow)
        assert begin(lambda: "2").result() == "2"
    assert (told.done(), told.result(), ended) == (True, 1, [1])
    with pytest.raises(ZeroDivisionError):
        failed(slow)
    assert ended == [1, 1]
