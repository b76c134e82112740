"""The topology: as a file, as names and as ways."""

import re
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import Host, Interface, Topology, TopologyError, address_words, in_force
from pipeline.reserved import MOST_ID
from replay import World, topology

FABRIC = topology(World(flows=(), duration_ns=0))
FILE = """
version: west-7
valid_from_ns: 1000
base_rtt_us: 12.5
devices:
  leaf1:
    node: 1
    stage: tor
    interfaces:
      Ethernet1: {port: 1, capacity_gbps: 10, orientation: host, peer: web1}
      Ethernet2: {port: 2, capacity_gbps: 40, orientation: up, peer: "spine1:Ethernet1", csig_lm: 7}
  spine1:
    node: 2
    stage: spine
    interfaces:
      Ethernet1: {port: 1, capacity_gbps: 40, orientation: down, peer: "leaf1:Ethernet2"}
hosts:
  web1: {prefixes: [10.0.0.1/32, "fd00::1/128"], attached: "leaf1:Ethernet1", nic_gbps: 10}
"""


def fabric_of(stages: tuple[int, ...]) -> Topology:
    """Fully meshed stages from the racks up and down again; a host at rack 1 and one at the last.

    `stages` are the numbers of devices of each stage, racks first.
    """
    links = [
        ((low, a), (low + 1, b))
        for low in range(len(stages) - 1)
        for a in range(stages[low])
        for b in range(stages[low + 1])
    ]
    names = {0: "tor"} | {stage: f"stage{stage}" for stage in range(1, len(stages))}
    ports: list[Interface] = []
    for a, b in links:
        for own, peer, facing in ((a, b, "up"), (b, a, "down")):
            ports.append(
                Interface(
                    f"{names[own[0]]}-{own[1]}", f"to-{names[peer[0]]}-{peer[1]}",
                    own[0] * 100 + own[1], len(ports), 10**10, names[own[0]], facing,
                    f"{names[peer[0]]}-{peer[1]}", f"to-{names[own[0]]}-{own[1]}",
                )
            )  # fmt: skip
    last = stages[0] - 1
    for rack, host in ((0, "h1"), (last, "h2")):
        ports.append(
            Interface(f"tor-{rack}", "host", rack, 9000 + rack, 10**10, "tor", "host", host, "")
        )
    ports.sort(key=lambda port: port.device)
    hosts = (Host("h1", ("10.0.0.1/32",), "tor-0", "host", 0),
             Host("h2", ("10.0.0.2/32",), f"tor-{last}", "host", 0))  # fmt: skip
    return Topology("mesh", 0, 0, tuple(ports), hosts)


def names_of(fabric: Topology, source: int, destination: int) -> set[str]:
    hops = fabric.hops(fabric.hosts[source], fabric.hosts[destination])
    return {f"{i.device} {i.name}" for i in fabric.interfaces if i.hop in hops}


@pytest.mark.parametrize("made", [FABRIC, fabric_of((2, 2)), fabric_of((4, 4, 2))])
def test_a_topology_survives_its_file(made: Topology) -> None:
    assert Topology.from_yaml(made.to_yaml()) == made


def test_a_file_is_read_in_the_units_of_columns() -> None:
    read = Topology.from_yaml(FILE)
    assert (read.version, read.valid_from_ns, read.base_rtt_ns) == ("west-7", 1000, 12_500)
    up = read.interfaces[1]
    assert (up.capacity_bps, up.peer_device, up.peer_interface) == (
        40 * 10**9,
        "spine1",
        "Ethernet1",
    )
    assert (up.csig_lm, up.csig_lm_compact) == (7, None)
    assert read.interfaces[0].peer_interface == ""
    assert read.hosts[0].prefixes == ("10.0.0.1/32", "fd00::1/128")


ERRORS = {
    "devices.leaf1.node": ("node: 1", "node: one"),
    "devices.leaf1.node: must be from 0": ("node: 1", "node: -1"),
    f"to {MOST_ID}": ("node: 1", "node: 4294967295"),
    "devices.leaf1.interfaces.Ethernet1.port: must be a whole number": ("port: 1,", "port: 1.5,"),
    "devices.leaf1.interfaces.Ethernet2.capacity_gbps":
        ("40, orientation: up", "-40, orientation: up"),
    "devices.spine1.interfaces.Ethernet1.capacity_gbps: must be a number":
        ("40, orientation: down", ".nan, orientation: down"),
    "devices.leaf1.interfaces.Ethernet2.orientation: must be one of up, down, side, host":
        ("orientation: up", "orientation: north"),
    "devices.leaf1.interfaces.Ethernet2.csig_lm": ("csig_lm: 7", "csig_lm: x"),
    "devices.leaf1.interfaces.Ethernet2.port: devices.leaf1.interfaces.Ethernet1 has the same":
        ("{port: 2", "{port: 1"),
    "devices.leaf1.interfaces: must be a mapping": (
        "    interfaces:\n      Ethernet1: {port: 1, capacity_gbps: 10",
        "    interfaces: 5\n    x:\n      Ethernet1: {port: 1, capacity_gbps: 10",
    ),
    "hosts.web1.prefixes: '10.0.0.300/32'": ("10.0.0.1/32", "10.0.0.300/32"),
    "hosts.web1.prefixes: must be a list": ('[10.0.0.1/32, "fd00::1/128"]', "10.0.0.1/32"),
    "hosts.web1.prefixes: 10.0.0.1/32 is also of hosts.web1": ("fd00::1/128", "10.0.0.1"),
    "hosts.web1.attached": ('leaf1:Ethernet1", nic', 'leaf9:Ethernet1", nic'),
    "hosts.web1.nic_gbps": ("nic_gbps: 10", "nic_gbps: fast"),
    "topology.base_rtt_us": ("base_rtt_us: 12.5", "base_rtt_us: .inf"),
    "topology.valid_from_ns": ("valid_from_ns: 1000", "valid_from_ns: 1e9.5"),
    "topology.devices: must be a mapping": ("devices:\n", "devices: [1]\nrest:\n"),
    "line 13: spine1 is given twice": ("  spine1:", "  spine1: {}\n  spine1:"),
    "line 2: not YAML": ("version: west-7", "version: ]"),
}  # fmt: skip


@pytest.mark.parametrize("place", ERRORS, ids=list(ERRORS))
def test_an_error_names_its_place(place: str) -> None:
    there, wrong = ERRORS[place]
    assert there in FILE
    with pytest.raises(TopologyError, match=rf"\A[^\n]*{re.escape(place)}[^\n]*\Z"):
        Topology.from_yaml(FILE.replace(there, wrong, 1))


@pytest.mark.parametrize(
    "text", ["", "5", "[]", "a: b: c", "\x00", "[" * 2000, "!!python/name:os.system"]
)
def test_what_is_no_topology_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(TopologyError, match=r"topology|line"):
        Topology.from_yaml(text)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["devices", "hosts", "node", "interfaces", "port", "prefixes", "attached",
                         "capacity_gbps", "version", "valid_from_ns", "base_rtt_us", "a"]),
        inner, max_size=4),
    max_leaves=12,
))  # fmt: skip
@settings(deadline=None, max_examples=150)
def test_any_tree_is_read_or_refused(tree: object) -> None:
    with suppress(TopologyError):
        assert isinstance(Topology.from_yaml(yaml.safe_dump(tree)), Topology)


def test_hosts_are_found_by_their_longest_prefix() -> None:
    port = FABRIC.interfaces[0]
    wide = Host("site", ("10.0.0.0/8", "fd00::/16"), port.device, port.name, 1)
    rack = Host("rack", ("10.7.0.0/16",), port.device, port.name, 1)
    one = Host("one", ("10.7.0.9/32", "fd00::7/128"), port.device, port.name, 1)
    found = replace(FABRIC, hosts=(rack, wide, one))

    def host(address: str) -> str | None:
        at = found.host(*address_words(ip_address(address)))
        return at and at.name

    assert host("10.7.0.9") == "one"
    assert host("10.7.1.1") == "rack"
    assert host("10.9.1.1") == "site"
    assert host("fd00::7") == "one"
    assert host("fd00:0:1::1") == "site"
    assert host("192.0.2.1") is None
    assert host("2001:db8::1") is None
    assert host("::10.7.0.9") is None


def test_every_shortest_way_of_a_leaf_spine() -> None:
    assert names_of(fabric_of((2, 2)), 0, 1) == {
        "tor-0 to-stage1-0", "tor-0 to-stage1-1", "stage1-0 to-tor-1", "stage1-1 to-tor-1",
        "tor-1 host",
    }  # fmt: skip
    made = fabric_of((2, 2))
    assert made.way_length(*made.hosts) == 3


def test_ways_of_three_stages_turn_where_they_can() -> None:
    made = fabric_of((2, 3, 2))
    met = names_of(made, 0, 1)
    assert len(met) == 3 + 3 + 1, "racks meet one stage up, the third is no shortest way"
    assert not any("stage2" in name for name in met)
    # Two pods: the racks share no second stage, so ways lead over the third.
    pods = [
        i
        for i in fabric_of((2, 2, 2)).interfaces
        if (i.device, i.peer_device)
        not in {("tor-0", "stage1-1"), ("stage1-1", "tor-0"), ("tor-1", "stage1-0"),
                ("stage1-0", "tor-1")}
    ]  # fmt: skip
    apart = replace(made, interfaces=tuple(pods), version="pods")
    assert names_of(apart, 0, 1) == {
        "tor-0 to-stage1-0", "stage1-0 to-stage2-0", "stage1-0 to-stage2-1",
        "stage2-0 to-stage1-1", "stage2-1 to-stage1-1", "stage1-1 to-tor-1", "tor-1 host",
    }  # fmt: skip
    assert apart.way_length(*apart.hosts) == 5


def test_within_a_rack_only_the_last_hop_is_crossed() -> None:
    a, b = FABRIC.hosts[:2]
    assert FABRIC.hops(a, b) == {(1, 2)}
    assert FABRIC.way_length(a, b) == 1


def test_where_no_way_leads_no_hop_is_claimed() -> None:
    cut = replace(FABRIC, interfaces=tuple(i for i in FABRIC.interfaces if i.stage == "tor"))
    a, b = FABRIC.hosts[0], FABRIC.hosts[-1]
    assert cut.hops(a, b) == frozenset()
    assert cut.way_length(a, b) == 0


def test_a_peer_that_is_no_device_of_the_file_is_the_edge_of_what_is_known() -> None:
    made = Topology.from_yaml(FILE.replace('"leaf1:Ethernet2"', '"wan9:xe-0"'))
    assert made.hops(made.hosts[0], made.hosts[0]) == {(1, 1)}
    assert made.hops(made.hosts[0], replace(made.hosts[0], device="wan9")) == {(1, 2), (2, 1)}
    assert made.hops(replace(made.hosts[0], device="wan9"), made.hosts[0]) == frozenset()


def test_the_youngest_topology_that_has_begun_is_in_force() -> None:
    versions = [replace(FABRIC, version=str(t), valid_from_ns=t) for t in (100, 300, 200)]
    told = [in_force(versions, t) for t in (99, 100, 250, 10**20)]
    assert [t and t.version for t in told] == [None, "100", "200", "300"]
