"""Other carriers of INT's kind: IFA, IOAM, INT that a sink reports, reports of every switch."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from collector import CollectorSettings, Decoder
from pipeline import PipelineSettings, Worker
from replay import Run, frames_of, points, simulate, topology
from replay.campaign import SCENARIOS, SETTINGS, STACKS
from replay.cast import cast
from replay.state import DATA, IFA, IOAM, POSTCARDS, SINK
from replay.trial import Trial, judged
from replay.world import MS, Telemetry

WHOLE = 3000
CHECKED = SETTINGS.model_copy(update={"verify_checksums": True})
FORMAT = {IFA: "ifa_version", IOAM: "ioam_type", SINK: "report_node", POSTCARDS: "report_node"}


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate(cast(SCENARIOS["uplink hot spot"](STACKS, 2 * MS), 3), SETTINGS)


@pytest.fixture(scope="module")
def rows(run: Run) -> pl.DataFrame:
    decoder = Decoder(CHECKED)
    frames = frames_of(run, CHECKED, snap=WHOLE)
    seen = decoder.decode(frames, points(run.world), "fabric")
    assert decoder.accounting.reasons == {}
    assert seen.height == len(frames)
    return seen


def carrying(rows: pl.DataFrame, kind: int) -> pl.DataFrame:
    """Rows with a stack of one kind, of packets that have passed every hop."""
    stacks = pl.col("hop_count") > 1 if kind != POSTCARDS else pl.col("hop_count") == 1
    return rows.filter(pl.col(FORMAT[kind]).is_not_null() & stacks)


def arrived(run: Run, kind: int) -> NDArray[Any]:
    """Data of one kind that reached its receiver, or left its last hop where that reports."""
    of_kind = (run.packets["kind"] == DATA) & (run.flows["kind"][run.packets["flow"]] == kind)
    last = run.packets["ts_ns"][:, 2] > 0 if kind == SINK else run.packets["last_ns"] > 0
    found: NDArray[Any] = run.packets[of_kind & last]
    return found


@pytest.mark.parametrize("kind", [IFA, IOAM, SINK])
def test_a_stack_tells_what_the_ports_wrote(run: Run, rows: pl.DataFrame, kind: int) -> None:
    seen, packets = carrying(rows, kind), arrived(run, kind)
    order = np.argsort(packets["ts_ns"][:, 2], kind="stable")
    seen = seen.sort("h2_ts_ns", maintain_order=True)
    ports = run.paths["port"][packets["path"][order], 0]
    cell = {IFA: 80}.get(kind, 1)
    for hop in range(3):
        port = run.ports[ports[:, hop]]
        assert seen[f"h{hop}_node"].to_list() == port["node_id"].tolist()
        assert seen[f"h{hop}_port"].to_list() == port["port_id"].tolist()
        queue = -(-packets["qlen"][order, hop] // cell) * cell
        assert seen[f"h{hop}_qlen_bytes"].to_list() == queue.tolist()
        if kind != IOAM:
            told = packets["tx_bytes"][order, hop] & 0xFFFFFFFF
            assert seen[f"h{hop}_tx_bytes"].to_list() == told.tolist()
        if kind != SINK:
            assert seen[f"h{hop}_latency_ns"].to_list() == packets["wait_ns"][order, hop].tolist()


def test_every_switch_reports_each_packet(run: Run, rows: pl.DataFrame) -> None:
    seen, packets = carrying(rows, POSTCARDS), arrived(run, POSTCARDS)
    per_packet = seen.group_by("flow", "ip_id").agg(pl.len(), pl.col("report_node").n_unique())
    assert (per_packet["len"] == per_packet["report_node"]).all()
    assert (per_packet["len"] == 3).sum() >= len(packets) > 100
    assert (seen["report_node"] == seen["h0_node"]).all()
    assert seen["h0_utilization"].is_between(0, 1).all()
    assert seen.filter(pl.col("h0_utilization") > 0.9).height > 10


def test_hosts_see_nothing_of_what_switches_insert_and_strip(rows: pl.DataFrame) -> None:
    at_hosts = rows.filter(pl.col("point") != "collector")
    assert at_hosts.filter(pl.col("int_version").is_not_null()).is_empty()
    assert rows.filter(pl.col("int_version").is_not_null()).height > 100


def test_checksums_and_lengths_are_right(rows: pl.DataFrame) -> None:
    """IFA leaves the checksum of TCP as it was; a report's packet is cut, and none can be told."""
    whole = rows.filter(pl.col("point") != "collector", pl.col("ifa_version").is_null())
    assert whole.height > 1000
    assert set(rows.filter(pl.col("payload_bytes") > 0)["payload_bytes"]) == {1000}
    assert whole["integrity"].drop_nulls().unique().to_list() == [1]


def test_a_sink_takes_off_what_was_put_on(run: Run) -> None:
    """What arrives is as long as what was sent, which the collector sees as no hop's record."""
    done = arrived(run, SINK)
    done = done[done["last_ns"] > 0]
    before = run.packets[(run.packets["hop"] == 0) & (run.packets["kind"] == DATA)]
    sent = before[run.flows["kind"][before["flow"]] == SINK]
    assert len(done) > 100
    assert set(done["size"]) == set(sent["size"])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", STACKS)
def test_each_names_the_full_way_up(kind: Telemetry) -> None:
    made = cast(SCENARIOS["uplink hot spot"]((kind,), 3 * MS), 5)
    found = judged(Trial(made), SETTINGS).filter("scored", "congested")
    assert found.height >= 10
    assert found["right"].to_list() == [1.0] * found.height
    assert set(found["kind_seen"]) == {"uplink"}


def test_reports_of_one_packet_are_no_copies() -> None:
    """Reports come from several switches to one collector; a second mirror sends all again."""
    made = replace(cast(SCENARIOS["incast"](("int_reports",), 2 * MS), 5), duration_ns=2 * MS)
    frames = frames_of(simulate(made, SETTINGS), SETTINGS)
    seen = Decoder(SETTINGS).decode(frames, points(made), "fabric")
    worker = Worker(PipelineSettings(), topology(made), ("fabric",))
    worker.advance(seen)
    told = worker.finish().tables["hop_intervals"]
    assert worker.counters["copies"] == 0
    assert set(told["source"]) == {"int"}
    assert told["point"].cast(pl.String).str.starts_with("node ").all()
    reports = seen.filter(pl.col("report_node").is_not_null())
    assert told["samples"].sum() <= reports.height


def test_frames_need_a_port_for_reports() -> None:
    nowhere = CollectorSettings(int_dscp=23, report_udp_ports=())
    made = cast(SCENARIOS["incast"](("int_sink",), MS), 5)
    with pytest.raises(ValueError, match="report_udp_ports"):
        frames_of(simulate(made, nowhere), nowhere)
