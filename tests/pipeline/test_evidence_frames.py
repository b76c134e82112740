"""A doubting engineer finds the packets: frames by signal, source and point, out of a store."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from empty_store import empty_store

from collector import Batch
from pipeline import PipelineSettings, Store, Topology, Worker
from pipeline.message_rows import messages_of
from pipeline.question import Question
from pipeline.where import answer

Rows = Iterable[Mapping[str, Any]]
Observed = Callable[[Rows], pl.DataFrame]
SECOND = 1_000_000_000
T0 = 1_760_000_000 * SECOND
TAG = {"csig_variant": 2, "csig_t": 2, "csig_s": 500, "csig_lm": 3 * 256 + 3,
       "csig_low": 60_000.0, "csig_high": 60_000.0}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = empty_store(tmp_path / "store")
    yield made
    made.close()


def answered(store: Store, rows: pl.DataFrame, topology: Topology) -> dict[str, Any]:
    """What `where` says of the flow whose rows these are."""
    worker = Worker(PipelineSettings(interval_ms=1.0), topology, ("a",))
    for part, output in enumerate((worker.advance(rows), worker.finish())):
        for name, table in output.tables.items():
            if table.height:
                store.insert(name, table, f"{name}/{part}")
    return answer(store, Question(ip_address("10.1.0.1"), 1000, ip_address("10.2.0.1"), 2000))


def piece(made: Mapping[str, Any], signal: str, name: str, hop: str) -> dict[str, Any]:
    """The piece of evidence of a signal about a hop."""
    [found] = [each for each in made["evidence"] if (each["signal"], each["name"]) == (signal, name)
               and each["hop"] and each["hop"]["name"] == hop]  # fmt: skip
    return dict(found)


def test_evidence_names_the_frames_that_carry_it(
    store: Store, observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    echo = {name.replace("csig_", "csig_echo_"): value for name, value in TAG.items()}
    data = [{"time_ns": T0 + at, "point": "leaf2:host", **TAG} for at in range(0, 60, 2)]
    acks = [
        {"time_ns": T0 + at + 1, "point": "leaf1:host", "src": "10.2.0.1", "dst": "10.1.0.1",
         "sport": 2000, "dport": 1000, "payload_bytes": 0, **echo}
        for at in range(0, 60, 2)
    ]  # fmt: skip
    rows = observed(sorted([*data, *acks], key=lambda row: int(row["time_ns"])))
    made = answered(store, rows, chain_of("leaf1", "spine1", "leaf2"))
    # Tags and reflections are one measurement; the reflections were heard. The window ends with the
    # flow's own last frame, before the last of them.
    load = piece(made, "csig", "hop load u'", "leaf2 host")
    assert load["points"] == ["leaf1:host"]
    assert load["frames"] == [
        {"source": "a", "point": "leaf1:host", "first": 2, "last": 58, "frames": 29, "telling": 2,
         "telling_ns": T0 + 1, "reflected": True},
    ]  # fmt: skip
    assert made["verdict"]["hop"]["name"] == "leaf2 host"


def test_of_a_flow_that_moved_the_frames_are_those_of_the_named_hop_while_it_held_the_flow_back(
    store: Store, observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    """The first ms the first hop is full, then for two ms the last one; each signal by itself."""
    values = {0: 2e9, 1: 0.2, 2: 60_000.0}
    longest = 401
    rows = observed(
        {
            "time_ns": T0 + number * 5_000, "point": "leaf2:host", "csig_variant": 2,
            "csig_t": number % 3, "csig_s": 500, "csig_lm": 257 if number < 200 else 3 * 256 + 3,
            "csig_low": values[number % 3] + 5_000 * (number == longest and number % 3 == 2),
            "csig_high": values[number % 3],
        }
        for number in range(600)
    )  # fmt: skip
    made = answered(store, rows, chain_of("leaf1", "spine1", "leaf2"))
    assert made["verdict"]["hop"]["name"] == "leaf2 host"
    told = {
        "csig_abw": ("min(ABW)", 2e9, "bit/s", 202, 202, 598),
        "csig_utilization": ("min(ABW/C)", 0.2, "ratio", 203, 203, 599),
        "csig_delay": ("max(PD)", pytest.approx(60_000, rel=1e-3), "ns", 402, 201, 600),
    }
    for signal, (name, value, unit, telling, first, last) in told.items():
        shown = piece(made, signal, name, "leaf2 host")
        assert (shown["value"], shown["unit"], shown["share"]) == (
            pytest.approx(value) if signal != "csig_delay" else value, unit, pytest.approx(2 / 3),
        )  # fmt: skip
        [frames] = shown["frames"]
        assert (frames["first"], frames["last"], frames["telling"]) == (first, last, telling)
        assert frames["frames"] == pytest.approx(400 / 3, abs=1)
        [one] = [each for each in made["signals"] if each["signal"] == signal]
        assert (one["title"], one["hop"]["name"]) == (name, "leaf2 host")
        assert [each["hop"] for each in one["candidates"]] == ["leaf2 host", "leaf1 on"]
        assert one["candidates"][0]["probability"] == pytest.approx(2 / 3, abs=0.01)
    [whole] = piece(made, "csig", "hop load u'", "leaf2 host")["frames"]
    assert (whole["first"], whole["last"], whole["frames"]) == (201, 600, 400)


def test_of_frames_that_came_over_a_bus_the_message_is_told(
    store: Store, observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    """Two messages hold the frames of one partition; another one covers the same numbers."""
    rows = observed({"time_ns": T0 + at, "point": "leaf2:host", **TAG} for at in range(60))
    own = int(rows["conversation"][0]) % 4
    for partition in (own, (own + 1) % 4):
        cut = [Batch(part, "a", 0, 1, 60, offset=at + partition)
               for part, at in ((rows.head(20), 70), (rows.tail(40), 80))]  # fmt: skip
        for name, made in messages_of(f"rows/{partition}", 4, [*cut, *cut]).items():
            store.insert(name, made, f"{name}/{partition}")
    assert messages_of(f"rows/{own}", 4, [Batch(rows, "a", 0, 1, 60)]) == {}
    made = answered(store, rows, chain_of("leaf1", "spine1", "leaf2"))
    [frames] = piece(made, "csig", "hop load u'", "leaf2 host")["frames"]
    assert frames["telling"] == 1
    assert frames["message"] == {"place": f"rows/{own}", "offset": 70 + own}
    asked = {"sources": ["a", "a"], "frames": [21, 20], "times": [T0 + 20, T0 + 40]}
    found = store.query("frame_messages", flow=int(rows["flow"][0]), **asked)
    assert found.to_dicts() == [
        {"source": "a", "frame": 21, "place": f"rows/{own}", "offset": 80 + own}
    ], "frame 20 was not seen then"


def test_stacks_are_found_by_the_hop_that_they_name_and_marks_by_who_carries_them(
    store: Store, observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    """INT of two hops on every third frame, CE on others; delay is a signal of its own."""
    stack = {"hop_count": 2, "h0_node": 1, "h0_port": 1, "h1_node": 2, "h1_port": 1,
             "h0_b_bps": 10**10, "h1_b_bps": 10**10, "h0_qlen_bytes": 0}  # fmt: skip
    rows = observed(
        {
            "time_ns": T0 + number * 1_000, "point": "leaf2:host", "ecn": 3 if number % 3 else 2,
            **({} if number % 3 else stack | {
                "h0_tx_bytes": 900 * number, "h1_tx_bytes": 1250 * number,
                "h0_ts_ns": 1_000 * number, "h1_ts_ns": 1_000 * number,
                "h1_qlen_bytes": 50_000 + number,
            }),
        }
        for number in range(300)
    )  # fmt: skip
    made = answered(store, rows, chain_of("leaf1", "spine1", "leaf2"))
    assert made["verdict"]["hop"]["name"] == "spine1 on"
    for signal, name in (("int", "queue"), ("delay", "queueing delay")):
        [frames] = piece(made, signal, name, "spine1 on")["frames"]
        assert (frames["first"], frames["frames"], frames["telling"]) == (1, 100, 298)
    [marks] = [each for each in made["evidence"] if each["signal"] == "ecn"]
    assert (marks["name"], marks["hop"]) == ("CE share", None)
    assert [(each["first"], each["frames"]) for each in marks["frames"]] == [(2, 200)]
