"""Coverage and deployment: where tags get lost, and how DCTCP lives beside others."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from pipeline import Topology
from pipeline.health.deployment import beside_classic
from pipeline.health.scene import Scene
from tests.pipeline.health_rows import (
    DELAY,
    END,
    GAP_NS,
    START,
    TRANSIT_NS,
    crossing,
    said,
    sight,
    tag,
    watched,
)

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
Chain = Callable[..., Topology]
SENT, WORSE = tag(31, 0), tag(4, 1)
PATH = "one:host > two:host"
ECT, CE = 2, 3
SYN = 2


def test_a_tag_that_is_lost_between_two_taps_was_stripped(
    observed: Observed, chain_of: Chain
) -> None:
    rows = observed([row for n in range(50) for row in crossing(n, SENT, {})])
    found = said(watched(rows, chain_of("one", "two")))
    assert found == {("stripped", PATH, "yes"), ("untagged_on_arrival", PATH, "cannot_tell")}


def test_an_untagged_arrival_alone_does_not_tell(observed: Observed, chain_of: Chain) -> None:
    """Other paths have tags; on this one nothing is known of the sender's port."""
    rows = [sight(n, END, 62) for n in range(50)]
    back = {"src": "10.2.0.1", "dst": "10.1.0.1", "sport": 2000, "dport": 1000}
    rows += [{**sight(n, START, 62, **WORSE), **back, "frame": 900 + n} for n in range(50)]
    found = said(watched(observed(rows), chain_of("one", "two")))
    assert found == {("untagged_on_arrival", PATH, "cannot_tell")}


def test_data_that_enters_without_a_tag_was_never_tagged(
    observed: Observed, chain_of: Chain
) -> None:
    rows = [row for n in range(50) for row in crossing(n, {}, {})]
    back = {"src": "10.2.0.1", "dst": "10.1.0.1", "sport": 2000, "dport": 1000}
    rows += [{**sight(n, START, 62, **WORSE), **back, "frame": 900 + n} for n in range(50)]
    found = said(watched(observed(rows), chain_of("one", "two")))
    assert found == {("never_tagged", PATH, "yes")}


LOST = {("vanishing", PATH, "yes"), ("untagged_on_arrival", PATH, "cannot_tell")}


@pytest.mark.parametrize(("arrives", "expected"), [(False, LOST), (True, set())])
def test_tagged_frames_that_vanish(
    observed: Observed, chain_of: Chain, arrives: bool, expected: set[Any]
) -> None:
    """Two flows to one host: that without tags passes."""
    rows: list[Mapping[str, Any]] = []
    for n in range(300):
        rows += crossing(n, {}, {}, sport=7)
        lost = sight(n + 1000, START, 64, **SENT)
        rows.append({**lost, "time_ns": n * GAP_NS + 1})
        if arrives:
            there = sight(n + 1000, END, 62, **SENT)
            rows.append({**there, "time_ns": n * GAP_NS + 1 + TRANSIT_NS})
    assert said(watched(observed(rows), chain_of("one", "two"))) == expected


def test_tags_that_leave_the_domain(observed: Observed, chain_of: Chain) -> None:
    chain = chain_of("one", "two")
    outside = [
        replace(port, orientation="up", peer_device="carrier", peer_interface="x")
        if (port.device, port.name) == ("two", "host")
        else port
        for port in chain.interfaces
    ]
    known = replace(chain, interfaces=tuple(outside), hosts=chain.hosts[:1])
    rows = [sight(n, END, 62, **WORSE, dst="192.0.2.7") for n in range(50)]
    assert ("leaking", END, "yes") in said(watched(observed(rows), known))


def test_a_type_of_which_a_device_is_never_named(observed: Observed, chain_of: Chain) -> None:
    """max(PD) always names the other device, so one's part in it is not told."""
    rows = []
    for n in range(500):
        seen = tag(4, 1) if n % 2 else tag(9, 7, DELAY)
        rows.append(sight(n, END, 62, **seen))
    found = said(watched(observed(rows), chain_of("one", "two")))
    assert ("unsupported_signal", "one", "cannot_tell") in found


def test_values_that_no_bucket_has(observed: Observed, chain_of: Chain) -> None:
    odd = {**tag(20, 1), "csig_low": None, "csig_high": None}
    rows = [sight(n, END, 62, **(odd if n % 2 else WORSE)) for n in range(50)]
    found = said(watched(observed(rows), chain_of("one", "two")))
    assert found == {("other_buckets", "one", "yes")}


def test_ecn_capable_and_other_tcp_in_one_queue(observed: Observed, chain_of: Chain) -> None:
    def rows(dscp: int) -> Iterable[Mapping[str, Any]]:
        for n in range(100):
            yield sight(n, END, 62, ecn=ECT, dscp=0)
            yield {**sight(n, END, 62, ecn=0, dscp=dscp, sport=7), "frame": 5000 + n}

    chain = chain_of("one", "two")
    found = said(watched(observed(rows(0)), chain))
    assert found == {("dctcp_beside_classic", END, "cannot_tell")}, "of ECT alone nobody knows"
    assert said(watched(observed(rows(10)), chain)) == set()


def test_what_a_sender_repeats_without_ecn_is_no_other_sender(
    observed: Observed, chain_of: Chain
) -> None:
    rows = [sight(n, END, 62, ecn=ECT if n % 4 else 0) for n in range(200)]
    assert said(watched(observed(rows), chain_of("one", "two"))) == set()


@pytest.mark.parametrize(
    ("dialects", "verdict"),
    [
        ({1: "linux", 2: None}, "yes"),  # beside TCP without ECN
        ({1: "linux", 2: "classic", 3: None}, "yes"),
        ({1: "linux", 2: "classic"}, "yes"),  # beside classic ECN
        ({1: "linux", 2: "ns3"}, None),
        ({1: "classic", 2: None}, None),  # both are classic
        ({1: "?", 2: None}, "cannot_tell"),
        ({1: "?", 2: "classic"}, "cannot_tell"),
        ({1: "?", 2: "linux"}, None),  # nothing speaks of classic TCP
    ],
)
def test_dctcp_is_what_was_recognised_as_dctcp(
    dialects: Mapping[int, str | None], verdict: str | None
) -> None:
    """Flows by number with their dialect: None is not ECN-capable, ? was not recognised."""
    seen = {"point": END, "dst": END, "dscp": 0, "seen_ns": 1, "source": "a", "frame": 2}
    sights = [{**seen, "flow": flow, "tcp_ect_n": 50 * (told is not None), "ect_n": 99,
               "plain_n": 50 * (told is None)} for flow, told in dialects.items()]  # fmt: skip
    spoken = [{"flow": flow, "dialect": told, "n": 9}
              for flow, told in dialects.items() if told not in {None, "?"}]  # fmt: skip
    scene = SimpleNamespace(sights=pl.DataFrame(sights), dialects=pl.DataFrame(spoken))
    found = [(each.finding, each.verdict) for each in beside_classic(cast("Scene", scene))]
    assert found == [("dctcp_beside_classic", verdict)] * (verdict is not None)


@pytest.mark.parametrize(
    ("ecn", "expected"), [(ECT, {("ect_without_marks", END, "yes")}), (CE, set())]
)
def test_a_long_queue_that_marks_nothing(
    observed: Observed, chain_of: Chain, ecn: int, expected: set[Any]
) -> None:
    """90 us in a port where the base round trip is 10 us."""
    long = {**tag(9, 7, DELAY), "csig_low": 90_000.0, "csig_high": 100_000.0}
    rows = [sight(n, END, 62, **long, ecn=ecn if n % 2 else ECT) for n in range(100)]
    assert said(watched(observed(rows), chain_of("one", "two"))) == expected


def test_handshakes_that_a_marking_queue_drops(observed: Observed, chain_of: Chain) -> None:
    rows: list[Mapping[str, Any]] = [sight(n, END, 62, ecn=CE) for n in range(50)]
    for flow in range(4):
        for again in range(2):
            begun = sight(flow, START, 64, ecn=0, flags=SYN, payload_bytes=0, sport=100 + flow)
            at, number = (flow + 200 * again) * GAP_NS, flow + 10 * again
            own = {"time_ns": at, "ip_id": 9000 + number, "frame": 700 + number}
            rows.append({**begun, **own})
    found = said(watched(observed(rows), chain_of("one", "two")))
    assert found == {("control_dropped", END, "yes")}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("names", "finding"), [(True, "under_reporting"), (False, "pass_through")])
@pytest.mark.parametrize("marked", [True, False])
def test_a_port_that_marks_everything_cannot_be_free(
    observed: Observed, chain_of: Chain, names: bool, finding: str, marked: bool
) -> None:
    """The tap on the link has the last device alone behind it; 3 ms of packets."""
    rows = []
    for n in range(600):
        own = tag(15, 7) if names else SENT
        at = n * 5_000
        link = {**sight(n, "one:on", 63, **SENT, ecn=ECT), "time_ns": at, "frame": 9000 + n}
        ecn = CE if marked else ECT
        rows += [link, {**sight(n, END, 62, **own, ecn=ecn), "time_ns": at + 2_000}]
    found = said(watched(observed(rows), chain_of("one", "two")))
    assert (finding, "two", "yes") in found if marked else not found


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"utilization": 0.97}, "yes"),
        ({"utilization": 0.4}, None),
        ({"qlen_bytes": 60_000}, "yes"),
        ({"qlen_bytes": 2_000}, None),  # two packets: the port may rest after them
        ({"latency_ns": 50_000}, "yes"),
        ({"latency_ns": 3_000}, None),
        ({"utilization": 0.3, "tx_bytes": True, "ts_ns": True}, "yes"),  # counters say more
        ({"ts_ns": True}, "cannot_tell"),
    ],
)
def test_stacks_without_counters_tell_of_a_port_what_they_have(
    observed: Observed, chain_of: Chain, told: Mapping[str, Any], expected: str | None
) -> None:
    """Tags at the receiver promise a free port; a packet each 4 us, 5000 octets of it each."""
    chain = chain_of("one", "two")
    ports = tuple(replace(port, base_delay_ns=1_000) for port in chain.interfaces)
    rows = []
    for n in range(1000):
        grown = {"tx_bytes": n * 5_000, "ts_ns": n * 4_000}
        stack = {f"h0_{name}": grown[name] if value is True else value
                 for name, value in told.items()}  # fmt: skip
        named = {"hop_count": 1, "h0_node": 2, "h0_port": 3, **stack}
        rows.append({**sight(n, END, 62, **SENT, **named), "time_ns": n * 4_000})
    found = said(watched(observed(rows), replace(chain, interfaces=ports)))
    judged = {(name, verdict) for name, who, verdict in found
              if name in {"under_reporting", "pass_through"} and who == "two"}  # fmt: skip
    names = {"yes": "pass_through", "cannot_tell": "under_reporting"}
    assert judged == ({(names[expected], expected)} if expected else set())


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("says", "verdict"),
    [
        ((12, 19), None),  # 12.5 Gbit/s in 32 buckets: half of 10 Gbit/s, and three quarters
        ((4, 9), "yes"),
        ((9, 4), "cannot_tell"),  # more bandwidth, less value: no edges do that
        ((4, 19), "cannot_tell"),
        ((4, 4), "cannot_tell"),
    ],
)
def test_buckets_with_other_edges_are_told_beside_counters(
    observed: Observed, chain_of: Chain, says: tuple[int, int], verdict: str | None
) -> None:
    """Four ms at half of the port, then four at a quarter; tags name the port, stacks count."""
    rows, sent = [], 0
    for n in range(2000):
        sent += 2_500 if n < 1000 else 1_250
        stack = {"hop_count": 1, "h0_node": 2, "h0_port": 3, "h0_tx_bytes": sent,
                 "h0_ts_ns": n * 4_000}  # fmt: skip
        own = tag(says[n >= 1000], 7)
        rows.append({**sight(n, END, 62, **own, **stack), "time_ns": n * 4_000})
    found = said(watched(observed(rows), chain_of("one", "two"), cuts=(700, 1300)))
    told = [(who, how) for name, who, how in found if name == "other_buckets"]
    assert told == ([("two", verdict)] if verdict else [])
