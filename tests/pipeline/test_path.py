"""What is known of a path: parameters that were told, then settings, then the topology."""

import polars as pl

from pipeline import PipelineSettings, Topology
from pipeline.path import Paths
from pipeline.versions import Versions
from tests.pipeline.test_topology import FILE

TOPOLOGY = Topology.from_yaml(FILE)
ROWS = pl.DataFrame(
    {"time_ns": [1000], "src_hi": [0], "src_lo": [0xFFFF_0A00_0001], "dst_hi": [0], "dst_lo": [1]},
    schema={"time_ns": pl.Int64}
    | dict.fromkeys(("src_hi", "src_lo", "dst_hi", "dst_lo"), pl.UInt64),
)


def known(settings: PipelineSettings, **hpcc: int) -> tuple[int, int]:
    [row] = Paths(settings, Versions.of(TOPOLOGY), hpcc).along(ROWS).to_dicts()
    return row["base_rtt_ns"], row["src_nic_bps"]


def test_a_parameter_that_was_told_wins_over_settings_and_these_over_the_topology() -> None:
    plain, own = PipelineSettings(), PipelineSettings(base_rtt_us=20, nic_gbps=20)
    assert known(plain) == (12_500, 10**10)
    assert known(own) == (20_000, 2 * 10**10)
    assert known(own, T_ns=30_000) == (30_000, 2 * 10**10)
    assert known(plain, B_nic_bps=3 * 10**10) == (12_500, 3 * 10**10)
