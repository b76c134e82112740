"""What the tracker rebuilds from frames at a sender's edge is what the fabric's sender held."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import CollectorSettings, Decoder
from pipeline import Tracker
from replay import frames_of, points, scenario, simulate
from replay.identity import identities
from replay.world import Telemetry, World

SETTINGS = CollectorSettings(int_dscp=23)
HELD = {
    "int": ("U", "W", "Wc", "R", "incStage", "u_max", "u_hop"),
    "csig_compact": ("alpha", "cwnd", "BytesAcked", "BytesMarked"),
}


def seen(run: Any, world: World) -> pl.DataFrame:
    """The run's frames as ordered observations, with what a topology would add."""
    rows = Decoder(SETTINGS).decode(frames_of(run, SETTINGS), points(world), "fabric")
    return rows.sort("time_ns", pl.col("payload_bytes") > 0, "frame").with_columns(
        base_rtt_ns=pl.lit(world.base_rtt_ns, pl.Int64),
        src_nic_bps=pl.lit(world.host_bps, pl.Int64),
        dst_nic_bps=pl.lit(world.host_bps, pl.Int64),
    )


@pytest.mark.parametrize("telemetry", sorted(HELD))
def test_every_decision_at_the_edge_is_the_senders_own(telemetry: Telemetry) -> None:
    world = scenario.alone(telemetry, senders=4, duration_ns=4_000_000)
    run = simulate(world, SETTINGS)
    rows = seen(run, world)
    tracked = Tracker(world.hpcc, world.dctcp).advance(rows)
    named = identities(run)
    flows = pl.DataFrame({"number": np.arange(len(named.port)), "sport": named.port[:, 0]})
    keys = rows.filter(pl.col("payload_bytes") > 0).select("flow", "sport").unique()
    keys = keys.join(flows.cast({"sport": pl.UInt16}), on="sport")
    ours = tracked.decisions.filter(pl.col("quality") == "exact").join(keys, on="flow")
    held = pl.DataFrame({name: run.decisions[name] for name in run.decisions.dtype.names})
    checked = 0
    for (number, _), rebuilt in ours.group_by("number", "point", maintain_order=True):
        truth = held.filter(pl.col("flow") == number)[: rebuilt.height]
        checked += rebuilt.height
        for name in HELD[telemetry]:
            there = truth[name].cast(rebuilt[name].dtype).fill_nan(None)
            assert rebuilt[name].equals(there, null_equal=True), name
    assert checked > 0.95 * len(run.decisions)
