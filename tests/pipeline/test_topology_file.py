"""All that a topology file can tell: read, written again, wrong by line, and taken up elsewhere."""

import re
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest

from collector import CollectorSettings
from pipeline import Csig, Device, Point, Topology, TopologyError, address_words, findings
from pipeline.csig_profile import CsigSignal, Locator

EXAMPLE = (
    Path(__file__).resolve().parents[2] / "docs" / "examples" / "topology.yaml"
).read_text()  # fmt: skip
NOON_NS = 1_769_860_800_000_000_000
SHIPPED = Topology.from_yaml(EXAMPLE)


def line_with(words: str) -> int:
    """The line of the example that holds these words."""
    lines = EXAMPLE.splitlines()
    return next(row for row, line in enumerate(lines, 1) if words in line)


def test_the_shipped_example_tells_everything() -> None:
    leaf1, leaf2, spine = SHIPPED.devices
    assert (SHIPPED.version, SHIPPED.valid_from_ns) == ("west-2026-01", NOON_NS)
    assert (leaf1.site, leaf1.marks_ecn, leaf1.base_delay_ns) == ("west", True, 800)
    assert (leaf2.marks_ecn, spine.marks_ecn) == (False, None)
    assert (spine.queue_unit_bytes, spine.t_ns) == (80, 12_000)
    assert SHIPPED.point_by_name["tap1"] == Point(
        "tap1", "leaf1", "Ethernet1", "ingress", 256, 100, 10_000
    )
    assert [SHIPPED.site_of(host) for host in SHIPPED.hosts] == ["west", "east"]
    assert SHIPPED.base_rtt("east", "west") == 900_000
    assert SHIPPED.base_rtt("west", "west") == 12_000


def test_a_devices_part_in_csig_lies_over_that_of_the_file() -> None:
    leaf1, leaf2, _ = SHIPPED.devices
    assert SHIPPED.csig is not None
    assert leaf1.csig == SHIPPED.csig
    assert leaf2.csig == replace(SHIPPED.csig, updates=False)
    own = Topology.from_yaml(
        EXAMPLE.replace("csig: {updates: false}", "csig: {signals: {delay: {delta_t_us: 64}}}")
    ).devices[1].csig  # fmt: skip
    assert own is not None
    assert own.signals[:2] == SHIPPED.csig.signals[:2]
    assert own.signal(2) == replace(SHIPPED.csig.signals[2], delta_t_ns=64_000)


def test_the_collector_decodes_by_the_draft_s_table() -> None:
    told = CollectorSettings.model_validate(SHIPPED.collector_settings())
    assert told.csig_buckets == {
        0: (0, 1e9, 5e9, 10e9, 20e9, 50e9, 75e9, 90e9),
        1: (0, 0.01, 0.05, 0.1, 0.2, 0.5, 0.75, 0.9, 1),
        2: (0, 10e3, 50e3, 100e3, 200e3, 400e3, 800e3, 2e6),
    }
    assert told.csig_bounded == (1,)
    assert told.csig_quanta == {0: 8e6, 2: 128.0}
    assert told.csig_lm_fields["expanded"][2] == (("device", 9), ("port", 7))
    assert Topology("bare", 0, 0, ()).collector_settings() == {}


def test_locators_follow_from_the_layout() -> None:
    rows = SHIPPED.locators.filter(t=2)
    spine = rows.filter(node=101, port=2)
    assert dict(spine.select("variant", "lm").rows()) == {1: 2 << 5 | 2, 2: 101 << 7 | 2}
    assert rows.filter(node=2).is_empty(), "that device updates nothing"
    assert SHIPPED.locators.filter(t=3).is_empty(), "that signal is not supported"
    both = Topology.from_yaml(EXAMPLE.replace("    csig: {updates: false}\n", ""))
    shared = both.locators.filter(t=2, variant=1, lm=1 << 5 | 1)
    assert set(shared["node"]) == {1, 2}
    assert set(shared["ports"]) == {2}


def test_a_part_that_its_bits_cannot_hold_makes_no_locator() -> None:
    layout = Locator((("orientation", 1), ("port", 6)))
    csig = Csig(
        codes=(("orientation", (("up", 1), ("down", 2))),),
        signals=(CsigSignal("abw", compact=layout), *Csig().signals[1:]),
    )
    assert csig.locator(0, "compact", {"orientation": "up", "port": 5}) == 1 << 6 | 5
    assert csig.locator(0, "compact", {"orientation": "down", "port": 5}) is None
    assert csig.locator(0, "compact", {"orientation": "up", "port": 64}) is None
    assert csig.locator(0, "compact", {"orientation": "side", "port": 5}) is None
    assert csig.locator(0, "expanded", {"orientation": "up", "port": 5}) is None
    assert csig.locator(9, "compact", {}) is None


def test_a_time_to_live_in_the_locator_hides_no_port() -> None:
    layout = "[[device, 9], [ttl, 3], [port, 4]]"
    text = EXAMPLE.replace("[[device, 9], [port, 7]]", layout)
    assert layout in text
    told = Topology.from_yaml(text).locators.filter(t=2, variant=2, node=101, port=2)
    assert told["lm"].to_list() == [101 << 7 | ttl << 4 | 2 for ttl in range(8)]
    assert set(told["ports"]) == {1}
    alone = Csig(signals=(CsigSignal("abw", compact=Locator((("ttl", 7),))), *Csig().signals[1:]))
    assert alone.locators(0, "compact", {}) == ()


def test_a_told_locator_holds_over_the_layout() -> None:
    told = Topology.from_yaml(
        EXAMPLE.replace("{port: 2, capacity_gbps: 100, orientation: down",
                        "{port: 2, csig_lm: 7, capacity_gbps: 100, orientation: down")
    ).locators.filter(node=101, port=2, variant=2)  # fmt: skip
    assert set(told["lm"]) == {7}
    assert sorted(told["t"]) == [0, 1, 2]


def test_everything_survives_the_file() -> None:
    assert Topology.from_yaml(SHIPPED.to_yaml()) == SHIPPED
    bare = Csig(strips=True, adds=True, layout="uec")
    device = Device("edge", 9, csig=bare, marks_ecn=False, t_ns=1)
    mixed = replace(SHIPPED, devices=(*SHIPPED.devices, device))
    assert Topology.from_yaml(mixed.to_yaml()) == mixed


def test_addresses_of_tenants_may_overlap() -> None:
    text = EXAMPLE.replace("points:", "  red: {prefixes: [10.0.1.1/32], attached: "
                           '"leaf2:Ethernet1", tenant: blue}\npoints:')  # fmt: skip
    made = Topology.from_yaml(text)
    words = address_words(ip_address("10.0.1.1"))

    def name(tenant: str) -> str | None:
        host = made.host(*words, tenant)
        return host.name if host else None

    assert (name(""), name("blue")) == ("web1", "red")
    words = address_words(ip_address("fd00:1::9"))
    assert name("blue") == "web1", "the fabric's own addresses are everyone's"
    words = address_words(ip_address("10.0.2.7"))
    assert name("") == "db", "only one tenant has it"
    assert made.tenant(vni=5010) == made.tenant(vrf="blue") == made.tenant("blue") == "blue"
    assert made.tenant(vni=5011) == made.tenant() == ""


WRONG = {
    "devices.leaf1.marks_ecn: must be yes or no": ("marks_ecn: true", "marks_ecn: often"),
    "devices.leaf1.sitte: there is no such key; did you mean site?": ("site: west", "sitte: west"),
    "devices.spine1.t_us: must be from 0.001": ("    t_us: 12", "    t_us: 0"),
    "points.tap1.side: must be one of ingress, egress": ("side: ingress", "side: left"),
    "hosts.db.tenant: green is none of the tenants": ("tenant: blue}", "tenant: green}"),
    "base_rtts.0.between: must be two sites": ("between: [west, east]", "between: [west]"),
    "csig.signals.abw.buckets_gbps.1: must be a number": ("[0, 1, 5, 10", "[0, one, 5, 10"),
    "csig.signals.abw.quantum_gbps: must be a number": ("quantum_gbps: 0.008", "quantum_gbps: x"),
    "csig.signals.delay.compact.lm.0: must be [NAME, BITS]":
        ("{lm: [[stage, 2], [port, 5]], default_lm: 0, initial_s: 0}", "{lm: [stage, 2]}"),
    "csig.codes.stage.tor: must be a whole number": ("stage: {tor: 1", "stage: {tor: one"),
    "csig.signals.speed: signals are abw, utilization, delay, queue": ("  queue: {", "  speed: {"),
    "topology.valid_from: must be a time": ("2026-01-31T12:00:00Z", "noon"),
    "tenants.blue.vnis.0: must be from 0 to 16777215": ("vnis: [5010]", "vnis: [16777216]"),
    "csig.signals.abw.buckets_gbps: needs 1 to 33 rising edges": ("[0, 1, 5, 10", "[0, 5, 1, 10"),
}  # fmt: skip


@pytest.mark.parametrize("place", WRONG, ids=list(WRONG))
def test_an_error_names_place_and_line(place: str) -> None:
    there, wrong = WRONG[place]
    assert there in EXAMPLE
    with pytest.raises(TopologyError, match=rf"\Aline \d+: {re.escape(place)}") as told:
        Topology.from_yaml(EXAMPLE.replace(there, wrong, 1))
    assert str(told.value).startswith(f"line {line_with(there)}: ")


VERSIONS = """
base_rtt_us: 12
csig: {signals: {abw: {supported: false}}}
versions:
  - version: b
    valid_from: 1970-01-01T00:00:02Z
    devices:
      leaf: {node: 1, interfaces: {new: {port: 1, capacity_gbps: 10}}}
  - version: a
    valid_from_ns: 1000000000
    base_rtt_us: 10
    devices:
      leaf: {node: 1, interfaces: {old: {port: 1, capacity_gbps: 10}}}
"""


def test_a_file_of_versions_tells_what_they_share_once() -> None:
    old, new = Topology.versions_of(VERSIONS)
    assert [old.version, new.version] == ["a", "b"]
    assert [old.valid_from_ns, new.valid_from_ns] == [10**9, 2 * 10**9]
    assert [old.base_rtt_ns, new.base_rtt_ns] == [10_000, 12_000]
    assert old.csig == new.csig
    with pytest.raises(TopologyError, match="one version"):
        Topology.from_yaml(VERSIONS)


@pytest.mark.parametrize(
    ("there", "wrong", "sentence"),
    [
        ("{new: {port: 1,", "{new: {port: x,",
         "line 8: versions.0.devices.leaf.interfaces.new.port: must be a whole number"),
        ("valid_from_ns: 1000000000", "valid_from_ns: 2000000000",
         "line 9: versions.1: two versions begin at once"),
        ("abw: {supported: false}", "abw: {supported: 5}",
         "line 3: csig.signals.abw.supported: must be yes or no"),
        ("versions:\n", "versions: 7\nrest:\n", "line 4: topology.versions: must be a list"),
    ],
)  # fmt: skip
def test_an_error_in_a_version_names_it(there: str, wrong: str, sentence: str) -> None:
    with pytest.raises(TopologyError, match=rf"\A{re.escape(sentence)}\Z"):
        Topology.versions_of(VERSIONS.replace(there, wrong, 1))


def test_a_file_that_refers_to_itself_and_one_that_is_nested_endlessly_are_refused() -> None:
    for text in ("a: &a\n  b: *a\n", "{a: " * 100_000, "- " * 100_000):
        with pytest.raises(TopologyError, match="line 1"):
            Topology.from_yaml(text)
    wide = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    with pytest.raises(TopologyError):
        Topology.from_yaml("a0: &a0 [1]\n" + wide)


COLONS = """
devices:
  "dc1:leaf":
    node: 1
    interfaces:
      "xe-0/0/0:1": {port: 1, peer: "dc1:spine:1/1:2"}
      h: {port: 2, peer: "web:1"}
  "dc1:spine":
    node: 2
    interfaces:
      "1/1:2": {port: 1, peer: "dc1:leaf:xe-0/0/0:1"}
      up: {port: 2, peer: "core:1:1"}
  core: {node: 3, interfaces: {"1:1": {port: 1, peer: "dc1:spine:up"}}}
hosts:
  "web:1": {attached: "dc1:leaf:h"}
"""


def test_names_may_have_colons_on_both_sides_of_the_one_that_parts_them() -> None:
    known = Topology.from_yaml(COLONS)
    peers = {(i.device, i.name): (i.peer_device, i.peer_interface) for i in known.interfaces}
    assert peers["dc1:leaf", "xe-0/0/0:1"] == ("dc1:spine", "1/1:2")
    assert peers["dc1:spine", "1/1:2"] == ("dc1:leaf", "xe-0/0/0:1")
    assert peers["dc1:spine", "up"] == ("core", "1:1")
    assert peers["core", "1:1"] == ("dc1:spine", "up")
    assert [(host.device, host.interface) for host in known.hosts] == [("dc1:leaf", "h")]
    assert Topology.from_yaml(known.to_yaml()).interfaces == known.interfaces
    wrong = [found for found in findings(COLONS) if found.level == "inconsistent"]
    assert wrong == []
