"""Several flows with the same ends: the one of the window is meant, and the others are named."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import polars as pl
import pytest
from empty_store import empty_store

from pipeline.flow_finding import same_ends, seen_in
from pipeline.question import Question, address_words
from pipeline.store import Store
from pipeline.tables import TABLES
from pipeline.where import answer

T0 = 1_700_000_000_000_000_000
STEP = 100_000_000
LATER = T0 + 50 * STEP
OLD, NEW, BACK = 1, 2, 3
ENDS = {"src": ip_address("10.0.0.1"), "sport": 40000, "dst": ip_address("10.0.1.1"), "dport": 5001}
TURNED = {"src": ENDS["dst"], "sport": 5001, "dst": ENDS["src"], "dport": 40000}
LONG_AGO = 631_152_000_000_000_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Tenant red in network 100, later blue in 200; what answers red has no verdict."""
    a, b = (address_words(ENDS[end])[1] for end in ("src", "dst"))
    there = {"src_lo": a, "dst_lo": b, "sport": 40000, "dport": 5001, "protocol": 6}
    red = {"tenant": "red", "vni": 100, "first_ns": T0, "last_ns": T0 + 4 * STEP}
    flows = [
        {"flow": OLD, **there, **red},
        {"flow": NEW, **there, "tenant": "blue", "vni": 200, "first_ns": LATER,
         "last_ns": LATER + 4 * STEP},
        {"flow": BACK, **there, **red, "src_lo": b, "dst_lo": a, "sport": 5001, "dport": 40000},
    ]  # fmt: skip
    schema = TABLES["flows"].schema
    judged = [
        {"time_ns": begun + i * STEP, "interval_ns": STEP, "flow": flow, "kind": "sender"}
        for flow, begun in ((OLD, T0), (NEW, LATER))
        for i in range(5)
    ]
    kinds = TABLES["verdicts"].schema
    verdicts = pl.DataFrame(judged, {name: kinds[name] for name in judged[0]})
    with empty_store(tmp_path_factory.mktemp("twins") / "db") as opened:
        opened.insert("flows", pl.DataFrame(flows, {n: schema[n] for n in flows[0]}), "flows")
        opened.insert("verdicts", verdicts, "verdicts")
        yield opened


def asked(**changed: Any) -> Question:
    return Question(**{**ENDS, "frames": False, **changed})


@pytest.mark.parametrize(
    ("at_ns", "vni"), [(T0 + 2 * STEP, 100), (LATER + 2 * STEP, 200), (T0 + 6 * STEP, 100)]
)
def test_the_flow_of_the_window_is_meant(store: Store, at_ns: int, vni: int) -> None:
    """Of a window between both it is the nearer one."""
    made = answer(store, asked(at_ns=at_ns, window_ns=STEP))
    assert made["flow"]["vni"] == vni
    other = 300 - vni
    [said] = [note for note in made["notes"] if "have these ends" in note]
    which = "seen last" if vni == 200 else "seen in that time, or nearest to it"
    assert said.startswith(f"2 flows have these ends; this is the one {which}, with tenant ")
    assert (
        f"also seen: with tenant {'red' if other == 100 else 'blue'} and vni {other} from" in said
    )


def test_a_window_that_has_both_and_one_without_a_time_mean_the_one_seen_last(store: Store) -> None:
    assert answer(store, asked(at_ns=LATER + STEP, window_ns=100 * STEP))["flow"]["vni"] == 200
    assert answer(store, asked())["flow"]["vni"] == 200


def test_where_there_is_no_verdict_the_flows_are_offered_that_have_some(store: Store) -> None:
    """The flow itself comes first; its acknowledgments have no verdict, and are not offered."""
    made = answer(store, asked(at_ns=LONG_AGO, vni=100))
    assert made["verdict"] is None
    assert [(flow["sport"], flow["vni"]) for flow in made["flows"]] == [(40000, 100)]
    both = answer(store, asked(at_ns=LONG_AGO))
    assert [flow["vni"] for flow in both["flows"]] == [100, 200]
    assert "2 flows have these ends" in both["message"]
    assert "with tenant blue and vni 200 from 2023-11-14T22:13:25" in both["message"]
    for flow in both["flows"]:
        again = asked(vni=flow["vni"], tenant=flow["tenant"])
        assert answer(store, again)["verdict"] is not None
    turned = answer(store, asked(**TURNED))
    assert [(flow["sport"], flow["vni"]) for flow in turned["flows"]] == [(40000, 100)]


def test_a_flow_that_is_alone_costs_no_query_more(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    ask = store.query
    monkeypatch.setattr(
        store, "query", lambda name, **given: (heard.append(name), ask(name, **given))[1]
    )
    assert answer(store, asked(at_ns=T0 + STEP, window_ns=STEP, vni=100))["verdict"] is not None
    assert heard.count("flow_of_key") == 1
    assert "flow_lengths" not in heard


def test_flows_that_nothing_tells_apart_are_named_by_their_times() -> None:
    """As queue pairs of two hosts; of many only a few are named."""
    same = dict.fromkeys(("protocol", "tenant", "vrf", "vni"))
    flows = [same | {"flow": n, "first_ns": T0 - n, "last_ns": T0 - n} for n in range(6)]
    [said] = same_ends(flows)
    assert said.startswith("6 flows have these ends; this is the one seen last; also seen: from ")
    assert said.endswith(", 2 more")
    assert seen_in(flows, None, None) == flows
    assert [flow["flow"] for flow in seen_in(flows, T0 - 4, T0 - 2)] == [3, 4, 2, 5, 1, 0]
