"""What a packet's telemetry means, in the sentences of `hopsight dissect`."""

from pathlib import Path

import pytest

from pipeline import Topology
from service.dissection import find
from service.failure import Failure
from service.frame_meaning import sentences

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "topology.yaml"


@pytest.fixture(scope="module")
def topology() -> Topology:
    return Topology.from_yaml(EXAMPLE.read_text())


def test_a_locator_is_told_by_the_ports_that_have_it(topology: Topology) -> None:
    port = topology.locators.row(0, named=True)
    row = {
        "csig_variant": port["variant"], "csig_t": 0, "csig_lm": port["lm"],
        "csig_low": 1e9, "csig_high": 5e9,
    }  # fmt: skip
    [said] = sentences(row, topology)
    assert said.startswith("CSIG tag: min(ABW) 1 Gbit/s to 5 Gbit/s, locator: ")
    assert "leaf1 Ethernet1" in said
    [said] = sentences(row | {"csig_high": None, "csig_lm": 65535}, topology)
    assert said.endswith("min(ABW) from 1 Gbit/s, locator: 65535, which is none of a port")
    [said] = sentences(row, None)
    assert said.endswith(f"locator: {port['lm']}, of which no topology tells")


def test_hops_of_a_stack_have_their_names_or_raw_ids(topology: Topology) -> None:
    row = {"h0_node": 101, "h0_port": 2, "h0_qlen_bytes": 172_070, "h0_b_bps": 10**10,
           "h1_node": 9, "h1_port": None,
           "aecn_u": 2.55, "aecn_congested_hops": 1}  # fmt: skip
    assert list(sentences(row, topology)) == [
        "stack, hop 0: spine1 Ethernet2: 172,070 bytes queued, 10 Gbit/s line rate",
        "stack, hop 1: node 9 port not told, which the topology lacks",
        "Advanced ECN: inflight ratio 2.55, congested hops 1",
    ]
    assert next(sentences(row, None)) == (
        "stack, hop 0: node 101 port 2: 172,070 bytes queued, 10 Gbit/s line rate"
    )
    assert list(sentences({}, topology)) == []


def test_a_capture_that_is_elsewhere_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="evidence names captures without their directory"):
        find(tmp_path / "tap.pcap", 1)
