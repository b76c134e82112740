"""The check of a topology file names every kind of mistake by its line."""

import pytest

from pipeline.topology_check import Finding, findings
from replay import World, topology
from tests.pipeline.test_topology_file import EXAMPLE, VERSIONS

LEAF3 = """  leaf3:
    node: 3
    stage: tor
    site: west
    marks_ecn: true
    interfaces:
      Ethernet1: {port: 1, capacity_gbps: 25, orientation: host, peer: far}
hosts:
  far: {prefixes: [10.0.9.0/24], attached: "leaf3:Ethernet1", nic_gbps: 25}
"""
UP1 = 'Ethernet2: {port: 2, capacity_gbps: 100, orientation: up, peer: "spine1:Ethernet1"}'
DOWN1 = 'Ethernet1: {port: 1, capacity_gbps: 100, orientation: down, peer: "leaf1:Ethernet2"}'
DOWN2 = 'Ethernet2: {port: 2, capacity_gbps: 100, orientation: down, peer: "leaf2:Ethernet2"}'
WEB1 = 'web1: {prefixes: [10.0.1.1/32, "fd00:1::/64"], attached: "leaf1:Ethernet1", nic_gbps: 25}'
DB = 'db: {prefixes: [10.0.2.0/24], attached: "leaf2:Ethernet1", nic_gbps: 25, tenant: blue}'
BUCKETS = "      buckets_us: [0, 10, 50, 100, 200, 400, 800, 2000]\n      quantum_us: 0.128\n"
BROKEN = {
    "capacities": (DOWN1, DOWN1.replace("100", "40"), UP1,
                   "the ends of its link have 100 and 40 Gbit/s"),
    "orientations": (DOWN1, DOWN1.replace("down", "up"), UP1,
                     "it faces up and spine1:Ethernet1 at its other end up"),
    "no device": (UP1, UP1.replace("spine1:", "spine9:"), "spine9",
                  "there is no device spine9"),
    "no interface": (UP1, UP1.replace("spine1:Ethernet1", "spine1:Ethernet7"), "Ethernet7",
                     "spine1 has no interface Ethernet7"),
    "other end": (DOWN2, DOWN2.replace("leaf2:Ethernet2", "leaf1:Ethernet2"), "orientation: up",
                  "spine1:Ethernet2 leads to leaf1:Ethernet2"),
    "device as host": (UP1, UP1.replace('"spine1:Ethernet1"', "spine1"), "peer: spine1}",
                       "spine1 is a device: which interface of it?"),
    "no host": ("peer: web1}", "peer: web7}", "peer: web7}", "no host is called web7"),
    "other host": ("peer: web1}", "peer: db}", "  web1:", "leaf1:Ethernet1 leads to db"),
    "node": ("hosts:\n", LEAF3.replace("node: 3", "node: 1").replace("port: 1", "port: 9"),
             None, "leaf1 has node 1 too"),
    "orientation": ("25, orientation: host, peer: web1", "25, peer: web1", "peer: web1",
                    "its orientation is not told"),
    "capacity": ("{port: 1, capacity_gbps: 25, orientation: host, peer: web1",
                 "{port: 1, orientation: host, peer: web1", "peer: web1",
                 "its capacity is not told"),
    "stage": ("    stage: spine\n", "", "  spine1:", "its stage is not told"),
    "strange stage": ("    stage: spine\n", "    stage: fish\n", "stage: fish",
                      "kinds of bottlenecks know no stage fish"),
    "wide port": (DOWN2, DOWN2.replace("port: 2,", "port: 200,"), "port: 200",
                  "200 does not fit the 5 bits of compact locators"),
    "addresses": ("prefixes: [10.0.2.0/24], ", "", "  db:", "its addresses are not told"),
    "nic": (WEB1, WEB1.replace("nic_gbps: 25", "nic_gbps: 40"), "nic_gbps: 40",
            "it sends 40 Gbit/s into a port of 25"),
    "overlap": (WEB1, WEB1 + '\n  sub: {prefixes: ["fd00:1:0:0:1::/80"], nic_gbps: 25, '
                'attached: "leaf1:Ethernet1"}', "  sub:",
                "fd00:1:0:0:1::/80 lies inside fd00:1::/64 of web1"),
    "unreachable": ("hosts:\n", LEAF3, "  web1:", "no way leads to it from far"),
    "point": ("    device: leaf1\n    interface: Ethernet1\n",
              "    device: leaf1\n    interface: Ethernet9\n", "interface: Ethernet9",
              "leaf1 has no interface Ethernet9"),
    "clock": ("    clock_bound_us: 10\n", "", "  tap1:", "clock_bound_us is not told"),
    "site": ("between: [west, east]", "between: [west, north]", "north",
             "nothing stands at site north"),
    "base rtt": ("base_rtt_us: 12\n", "\n", None, "the round trip without queues is not told"),
    "buckets": (BUCKETS, "", "  leaf1:",
                "delay: neither buckets nor a quantum are told"),
    "one way": (DOWN2, DOWN2.replace("peer", "csig_lm: 130, peer"), "csig_lm: 130",
                "expanded locator 130 is leaf1:Ethernet2's too, on one way"),
    "default locator": (DOWN2, DOWN2.replace("peer", "csig_lm: 0, peer"), "csig_lm: 0",
                        "expanded locator 0 is what senders write"),
    "wide locator": (DOWN2, DOWN2.replace("peer", "csig_lm_compact: 128, peer"), "compact: 128",
                     "compact tags have 7 bits for it"),
    "not a file": ("    node: 2\n", "    node: two\n", "node: two",
                   "devices.leaf2.node: must be a whole number"),
}  # fmt: skip


def test_the_shipped_example_is_consistent() -> None:
    told = findings(EXAMPLE)
    assert [finding for finding in told if finding.level == "inconsistent"] == []
    assert {finding.sentence for finding in told} == {"whether it marks ECN is not told"}


def said(one: Finding) -> str:
    """A finding with its place."""
    return f"{one.place}: {one.sentence}" if one.place else one.sentence


def begins(one: Finding, sentence: str) -> bool:
    """Whether a finding begins so, with its place or without."""
    return said(one).startswith(sentence) or one.sentence.startswith(sentence)


@pytest.mark.parametrize("what", BROKEN)
def test_a_mistake_is_named_by_its_line(what: str) -> None:
    there, wrong, on, sentence = BROKEN[what]
    assert there in EXAMPLE
    text = EXAMPLE.replace(there, wrong, 1)
    told = [one for one in findings(text) if begins(one, sentence)]
    assert told, [said(one) for one in findings(text)]
    if on is not None:
        assert on in text.splitlines()[told[0].line - 1]
    assert not [one for one in findings(EXAMPLE) if one.sentence.startswith(sentence)]


SEVERAL = {
    "{port: 2, capacity_gbps: 100, orientation: down": (
        "{port: 1, capacity_gbps: 100, orientation: down",
        "devices.spine1.interfaces.Ethernet2.port: devices.spine1.interfaces.Ethernet1 has"),
    "    marks_ecn: true\n": ("    markz_ecn: true\n    colour: red\n",
                            "devices.leaf1.markz_ecn: there is no such key"),
    "prefixes: [10.0.2.0/24]": ('prefixes: [10.0.1.1/32, "x"]', "hosts.db.prefixes: 'x' does not"),
    "[0, 1, 5, 10": ("[0, 5, 1, 10", "csig.signals.abw.buckets_gbps: needs 1 to 33 rising edges"),
    "between: [west, east]": ("between: [west]", "base_rtts.0.between: must be two sites"),
    "nic_gbps: 25}": ("nic_gbps: 40}", "it sends 40 Gbit/s into a port of 25"),
}  # fmt: skip


def test_every_mistake_is_named_beside_the_others() -> None:
    text = EXAMPLE
    for there, (wrong, _) in SEVERAL.items():
        assert there in text
        text = text.replace(there, wrong, 1)
    told = [one for one in findings(text) if one.level == "inconsistent"]
    for wrong, sentence in SEVERAL.values():
        [one] = [one for one in told if begins(one, sentence)]
        lines = text.splitlines()[one.line - 1 : one.line + 1]
        assert wrong.splitlines()[0].strip() in "\n".join(lines), one
    [colour] = [one for one in told if one.place == "devices.leaf1.colour"]
    assert colour.sentence.startswith("there is no such key")
    assert len(told) == len(SEVERAL) + 1, told
    assert len(set(told)) == len(told)


@pytest.mark.parametrize("bits", ["-7", "70", str(1 << 70)])
def test_bits_that_no_locator_has_do_not_keep_the_check_from_its_end(bits: str) -> None:
    told = findings(
        EXAMPLE.replace("[[device, 9], [port, 7]]", f"[[device, 9], [port, {bits}]]", 1)
    )
    assert "csig.signals.abw.expanded.lm" in {one.place for one in told}


def test_a_node_of_two_devices_is_blamed_on_the_node() -> None:
    text = EXAMPLE.replace("hosts:\n", LEAF3.replace("node: 3", "node: 1"), 1)
    wrong = [one for one in findings(text) if "leaf1 has node 1 too" in one.sentence]
    assert [text.splitlines()[one.line - 1] for one in wrong] == ["    node: 1"]
    assert [one.line for one in wrong] != [EXAMPLE.splitlines().index("    node: 1") + 1]


def test_a_key_that_is_given_twice_hides_nothing() -> None:
    text = EXAMPLE.replace("    stage: spine\n", "    stage: spine\n    stage: fish\n", 1)
    said = {one.sentence for one in findings(text)}
    assert {"stage is given twice", "whether it marks ECN is not told"} <= said


def test_what_is_wrong_for_all_devices_is_told_once() -> None:
    text = EXAMPLE.replace("[0, 1, 5, 10", "[0, 5, 1, 10").replace(
        "    csig: {updates: false}\n", "    csig: {updates: false, layout: odd}\n"
    )
    wrong = [said(one) for one in findings(text) if one.level == "inconsistent"]
    assert wrong == [
        "csig.signals.abw.buckets_gbps: needs 1 to 33 rising edges",
        "devices.leaf2.csig.layout: must be one of draft, uec",
    ]


def test_ports_of_different_ways_may_share_a_locator() -> None:
    told = findings(EXAMPLE.replace("[[device, 9], [port, 7]]", "[[reserved, 9], [port, 7]]"))
    shared = [finding.sentence for finding in told if "on one way" in finding.sentence]
    assert shared == [
        "expanded locator 1 is leaf1:Ethernet1's too, on one way",
        "expanded locator 2 is leaf1:Ethernet2's too, on one way",
    ]


def test_the_proving_ground_is_consistent() -> None:
    text = topology(World(flows=(), duration_ns=0)).to_yaml()
    assert [one for one in findings(text) if one.level == "inconsistent"] == []


def test_findings_of_a_version_stand_at_its_line() -> None:
    told = [one for one in findings(VERSIONS) if one.sentence == "where it leads is not told"]
    assert [(one.version, one.line) for one in told] == [("b", 8), ("a", 13)]
    assert told[0].place == "versions.0.devices.leaf.interfaces.new"


def test_what_is_wrong_below_a_device_that_is_wrong_is_told_too() -> None:
    port = "{port: 1, capacity_gbps: abc, orientation: zork, foo: 1}"
    found = findings(f"version: one\ndevices: {{a: {{node: -1, interfaces: {{x: {port}}}}}}}\n")
    below = "devices.a.interfaces.x"
    assert [one.place for one in found if one.level == "inconsistent"] == [
        "devices.a.node" if not name else f"{below}.{name}"
        for name in ("capacity_gbps", "foo", "orientation", "")
    ]
