"""Topologies made from what operators have: the forms of real files, and what is left unknown.

The documents here are small ones of our own in the shapes that these systems write.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import yaml

from pipeline import Draft, Topology, TopologyError, containerlab, netbox, sonic
from pipeline.stage import facing, stage_of
from pipeline.topology_check import findings

LAB = """
name: clos
topology:
  defaults: {kind: srl}
  kinds: {srl: {image: x, labels: {site: west}}, linux: {image: y}}
  groups: {edge: {kind: linux}}
  nodes:
    leaf1: {group: leafs}
    leaf2: {}
    node-a: {labels: {role: spine}}
    superspine1: {}
    frr-spine9: {kind: linux}
    client1:
      group: edge
      exec:
        - ip addr add 10.1.5.10/24 dev eth1
        - ash -c 'ip l set dev eth2 up && ip addr add dev eth2 10.0.1.1/30; true'
        - ip -6 address add fd00::1/64 dev eth1
        - ip addr add 192.0.2.1/24 dev lo
    client2: {kind: linux}
    br-clab: {kind: bridge}
  links:
    - endpoints: ["leaf1:e1-1", "node-a:e1-1"]
    - type: veth
      mtu: 1500
      endpoints:
        - {node: leaf2, interface: e1-1, mac: "02:00:00:00:00:01"}
        - {node: node-a, interface: e1-2}
    - endpoints: ["node-a:e1-3", "superspine1:e1-1"]
    - endpoints: ["client1:eth1", "leaf1:e1-3"]
    - endpoints: ["leaf2:e1-3", "client1:eth2"]
    - endpoints: ["leaf2:e1-9", "br-clab:eth1"]
    - endpoints: ["leaf2:e1-8", "mgmt-net:x"]
    - {type: host, host-interface: x, endpoint: {node: leaf1, interface: e1-8}}
    - endpoints: ["leaf1:e1-7", "nobody:e1"]
"""


def made(draft: Draft) -> Topology:
    """The topology of a draft: a file that can be read, without a mistake that check would find."""
    text = draft.text()
    assert [one for one in findings(text) if one.level == "inconsistent"] == []
    return Topology.from_yaml(text)


def wiring(topology: Topology) -> dict[str, str]:
    """What each port faces and leads to."""
    return {
        f"{port.device}:{port.name}": " ".join(
            filter(None, (port.orientation, port.peer_device, port.peer_interface))
        )
        for port in topology.interfaces
    }


def test_a_lab_in_every_form_of_links() -> None:
    text = containerlab(LAB).text()
    read = Topology.from_yaml(text)
    told = [one.sentence for one in findings(text) if one.level == "inconsistent"]
    assert told == ["there is no device nobody"], "the lab has a link to it"
    assert read.version == "clos"
    assert {device.name: (device.stage, device.site) for device in read.devices} == {
        "leaf1": ("tor", "west"), "leaf2": ("tor", "west"), "node-a": ("spine", "west"),
        "superspine1": ("core", "west"), "frr-spine9": ("spine", ""),
    }  # fmt: skip
    assert wiring(read) == {
        "leaf1:e1-1": "up node-a e1-1", "leaf1:e1-3": "host client1", "leaf1:e1-8": "",
        "leaf1:e1-7": "nobody e1", "leaf2:e1-1": "up node-a e1-2",
        "leaf2:e1-3": "host client1-eth2", "leaf2:e1-9": "",
        "leaf2:e1-8": "", "node-a:e1-1": "down leaf1 e1-1",
        "node-a:e1-2": "down leaf2 e1-1", "node-a:e1-3": "up superspine1 e1-1",
        "superspine1:e1-1": "down node-a e1-3",
    }  # fmt: skip
    assert {host.name: host.prefixes for host in read.hosts} == {
        "client1": ("10.1.5.10/32", "fd00::1/128"), "client1-eth2": ("10.0.1.1/32",),
    }  # fmt: skip
    assert read.way_length(*read.hosts) == 3


def test_what_a_lab_does_not_tell_is_marked_and_said() -> None:
    draft = containerlab(LAB)
    lines = draft.text().splitlines()
    assert "    stage: tor  # read out of its name" in lines
    assert "    stage: spine" in lines, "that one was told"
    assert sum("capacity_gbps: 0.0  # unknown" in line for line in lines) == 12
    assert "      e1-9:  # unknown: where it leads" in lines
    assert "        peer: nobody:e1  # unknown: nothing describes that device" in lines
    for said in ("br-clab: a bridge joins links, who is behind it is unknown",
                 "leaf1:e1-8 leads out of the lab", "leaf2:e1-8 leads out of the lab",
                 "client2: no link leads from it to a device", "link 9: there is no node nobody",
                 "leaf1: capacities of its ports are unknown"):  # fmt: skip
        assert said in draft.warnings
    assert len(set(draft.warnings)) == len(draft.warnings)


def test_a_running_lab_s_export_is_read_too() -> None:
    nodes = {"leaf1": {"kind": "srl", "labels": {}}, "spine1": {"kind": "srl", "labels": {}}}
    a, z = ({"node": name, "interface": "e1-1", "mac": ""} for name in nodes)
    for link in ({"a": a, "z": z}, {"endpoints": {"a": a, "z": z}}):
        export = {"name": "lab", "type": "clab", "nodes": nodes, "links": [link]}
        read = made(containerlab(json.dumps(export)))
        assert wiring(read) == {"leaf1:e1-1": "up spine1 e1-1", "spine1:e1-1": "down leaf1 e1-1"}


TOR: dict[str, dict[str, Any]] = {
    "DEVICE_METADATA": {"localhost": {"hostname": "tor1", "type": "ToRRouter", "region": "west"}},
    "PORT": {
        "Ethernet0": {"lanes": "1,2", "speed": "25000", "index": "1", "admin_status": "up"},
        "Ethernet4": {"speed": "25000", "index": "2", "admin_status": "up"},
        "Ethernet8": {"speed": "25000", "index": "3", "admin_status": "up"},
        "Ethernet48": {"speed": "100000", "index": "13", "admin_status": "up"},
        "Ethernet52": {"speed": "100000", "index": "14", "admin_status": "down"},
    },
    "DEVICE_NEIGHBOR": {
        "Ethernet0": {"name": "Servers0", "port": "eth0"},
        "Ethernet4": {"name": "gpu-7", "port": "eth0"},
        "Ethernet48": {"name": "leaf1", "port": "Ethernet0"},
    },
    "DEVICE_NEIGHBOR_METADATA": {"leaf1": {"type": "LeafRouter"}, "gpu-7": {"type": "Server"}},
    "INTERFACE": {"Ethernet4": {"vrf_name": "Vrf_RED"}, "Ethernet4|10.9.0.0/31": {},
                  "Ethernet4|fd00:9::1/64": {}, "Ethernet48|broken": {}},
    "VRF": {"Vrf_RED": {"vni": "5010"}},
    "VLAN_INTERFACE": {"Vlan10": {}, "Vlan10|10.5.0.1/24": {}, "Vlan20|10.6.0.1/24": {}},
    "VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "untagged"},
                    "Vlan20|Ethernet0": {}, "Vlan20|Ethernet8": {}},
    "QUEUE": {"Ethernet48|3": {"wred_profile": "[WRED_PROFILE|RDMA]"}},
    "WRED_PROFILE": {"RDMA": {"ecn": "ecn_all"}, "LOSSY": {"ecn": "ecn_none"}},
}  # fmt: skip
LEAF = {
    "DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "type": "LeafRouter"}},
    "PORT": {"Ethernet0": {"speed": "100000", "index": "1"},
             "Ethernet1": {"speed": "100000", "index": "1"}},
    "DEVICE_NEIGHBOR": {"tor1": {"local_port": "Ethernet0", "port": "Ethernet48"},
                        "ARISTA01T2": {"local_port": "Ethernet1", "port": "Ethernet9"}},
    "DEVICE_NEIGHBOR_METADATA": {"ARISTA01T2": {"type": "SpineRouter"}},
    "QUEUE": {"Ethernet0|3": {"wred_profile": "LOSSY"}},
    "WRED_PROFILE": {"LOSSY": {"ecn": "ecn_none"}},
}  # fmt: skip


def fabric(*databases: Any) -> Draft:
    return sonic({f"{row}.json": json.dumps(each) for row, each in enumerate(databases)})


def test_configurations_of_two_switches_meet() -> None:
    draft = fabric(TOR, LEAF)
    text = draft.text()
    read = Topology.from_yaml(text)
    told = {one.sentence for one in findings(text) if one.level == "inconsistent"}
    assert told == {"there is no device ARISTA01T2"}, "nobody gave its configuration"
    tor, leaf = read.devices
    assert (tor.name, tor.stage, tor.site, tor.marks_ecn) == ("tor1", "tor", "west", True)
    assert (leaf.name, leaf.stage, leaf.marks_ecn) == ("leaf1", "spine", False)
    assert wiring(read) == {
        "tor1:Ethernet0": "host Servers0", "tor1:Ethernet4": "host gpu-7", "tor1:Ethernet8": "",
        "tor1:Ethernet48": "up leaf1 Ethernet0", "leaf1:Ethernet0": "down tor1 Ethernet48",
        "leaf1:Ethernet1": "ARISTA01T2 Ethernet9",
    }  # fmt: skip
    assert [port.port_id for port in read.interfaces] == [1, 2, 3, 13, 1, 2]
    assert read.interfaces[3].capacity_bps == 100 * 10**9
    servers, gpu = read.hosts
    assert servers.prefixes == ("10.5.0.0/24",)
    assert (gpu.prefixes, gpu.tenant) == (("10.9.0.1/32",), "Vrf_RED")
    assert read.tenant(vni=5010) == "Vrf_RED"
    assert "tor1: 1 ports that are down and lead nowhere are left out" in draft.warnings
    assert any("Vlan20 does not tell which of 2 ports" in said for said in draft.warnings)
    assert "ARISTA01T2: links lead to it, nothing describes it" in draft.warnings


def test_a_dump_of_the_database_is_folded() -> None:
    plain = {
        f"{table}|{name}": rows for table, names in TOR.items() for name, rows in names.items()
    }
    hashed = {key: {"type": "hash", "value": rows, "ttl": -0.001} for key, rows in plain.items()}
    assert fabric(plain).text() == fabric(hashed).text() == fabric(TOR).text()


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"a.json": "{"}, "a.json: line 1: not JSON"),
        ({"a.json": "[]"}, "a.json: no config_db.json: it has no table PORT"),
        ({"a.json": json.dumps(TOR), "b.json": json.dumps(TOR)},
         "b.json: another file is of tor1 too"),
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_refused(texts: dict[str, str], said: str) -> None:
    with pytest.raises(TopologyError, match=said):
        sonic(texts)


def device(number: int, name: str, role: str) -> dict[str, Any]:
    return {"id": number, "name": name, "role": {"slug": role, "name": role},
            "site": {"id": 1, "name": "West", "slug": "west"}}  # fmt: skip


def port(number: int, name: str, owner: dict[str, Any], **more: Any) -> dict[str, Any]:
    brief = {"id": owner["id"], "name": owner["name"]}
    kind = {"value": "100gbase-x-qsfp28", "label": "QSFP28"}
    return {"id": number, "name": name, "device": brief, "type": kind, "speed": None,
            "mgmt_only": False, **more}  # fmt: skip


LEAF1, SPINE1, SERVER = device(1, "lf1", "leaf"), device(2, "sp1", "spine"), device(
    3, "db1", "server"
)  # fmt: skip
UP, DOWN = port(11, "Ethernet1/1", LEAF1), port(21, "Ethernet1/1", SPINE1)
FACING, NIC = port(12, "Ethernet1/2", LEAF1, type={"value": "25gbase-x-sfp28"}), port(
    31, "eth0", SERVER, speed=25_000_000
)  # fmt: skip
OTHERS = [port(13, "Vlan1", LEAF1, type={"value": "virtual"}),
          port(14, "mgmt0", LEAF1, mgmt_only=True), port(15, "Ethernet1/3", LEAF1)]  # fmt: skip
ADDRESSES = [{"address": "10.0.0.5/24", "assigned_object_type": "dcim.interface",
              "assigned_object_id": 31},
             {"address": "10.7.7.7/24", "assigned_object_type": "virtualization.vminterface",
              "assigned_object_id": 31}]  # fmt: skip


def ends(number: int) -> list[dict[str, Any]]:
    return [{"object_type": "dcim.interface", "object_id": number}]


def seen(row: dict[str, Any]) -> dict[str, Any]:
    """A reference to an interface."""
    return {name: row[name] for name in ("id", "name", "device")}


BARE = [UP, DOWN, FACING, NIC, *OTHERS]
CABLES = [{"id": 1, "a_terminations": ends(11), "b_terminations": ends(21)},
          {"id": 2, "a_terminations": ends(31), "b_terminations": ends(12)},
          {"id": 3, "a_terminations": ends(15),
           "b_terminations": [{"object_type": "dcim.frontport", "object_id": 9}]}]  # fmt: skip
OLD_CABLES = [
    {"id": 1, "termination_a_type": "dcim.interface", "termination_a_id": 11,
     "termination_b_type": "dcim.interface", "termination_b_id": 21},
    {"id": 2, "termination_a_type": "dcim.interface", "termination_a_id": 12,
     "termination_b_type": "dcim.interface", "termination_b_id": 31},
]  # fmt: skip
PATHS = [{**UP, "connected_endpoints": [seen(DOWN)]}, {**DOWN, "connected_endpoints": [seen(UP)]},
         {**FACING, "link_peers": [{"object": seen(NIC)}]}, NIC, *OTHERS]  # fmt: skip
OLD_PATHS = [{**UP, "connected_endpoint": seen(DOWN)}, {**DOWN, "cable_peer": seen(UP)},
             {**FACING, "connected_endpoint": seen(NIC)}, NIC, *OTHERS]  # fmt: skip
FORMS: dict[str, dict[str, Any]] = {
    "cables": {"interfaces": BARE, "cables": CABLES},
    "cables of version 2": {"interfaces": BARE, "cables": OLD_CABLES},
    "paths": {"interfaces": PATHS},
    "paths of version 2": {"interfaces": OLD_PATHS},
}


@pytest.mark.parametrize("form", FORMS)
def test_an_export_in_every_form(form: str) -> None:
    document = {"devices": [LEAF1, SPINE1, SERVER], "ip_addresses": ADDRESSES, **FORMS[form]}
    draft = netbox({"x.json": json.dumps(document)})
    read = made(draft)
    assert [(one.name, one.stage, one.site) for one in read.devices] == [
        ("lf1", "tor", "west"), ("sp1", "spine", "west"),
    ]  # fmt: skip
    assert wiring(read) == {
        "lf1:Ethernet1/1": "up sp1 Ethernet1/1", "lf1:Ethernet1/2": "host db1",
        "sp1:Ethernet1/1": "down lf1 Ethernet1/1",
    }  # fmt: skip
    assert [one.capacity_bps for one in read.interfaces] == [10**11, 25 * 10**9, 10**11]
    [host] = read.hosts
    assert (host.prefixes, host.nic_bps) == (("10.0.0.5/32",), 25 * 10**9)
    assert "lf1: 1 ports without a cable are left out" in draft.warnings


def test_pages_of_the_api_may_stand_in_files_of_their_own() -> None:
    whole = {"devices": [LEAF1, SPINE1, SERVER], "interfaces": BARE, "cables": CABLES}
    paged = {
        f"{path}.json": json.dumps({f"/api/dcim/{path}/": {"count": 1, "results": rows}})
        for path, rows in whole.items()
    }
    old = [{"device_role" if key == "role" else key: value for key, value in row.items()}
           for row in whole["devices"]]  # fmt: skip
    paged["devices.json"] = json.dumps({"dcim.devices": {"results": old}})
    assert netbox(paged).text() == netbox({"x": json.dumps(whole)}).text()


def answers(*, bare: bool = False, rooted: bool = True) -> dict[str, str]:
    """What GET answers of each list, in files as the documented command names them."""
    told = {"devices": [LEAF1, SPINE1, SERVER], "interfaces": BARE, "cables": CABLES,
            "ip-addresses": ADDRESSES}  # fmt: skip
    made = {}
    for path, rows in told.items():
        area = "ipam" if path == "ip-addresses" else "dcim"
        url = f"https://netbox.example/api/{area}/{path}/"
        listed = [{**row, "url": f"{url}{at + 1}/"} if rooted else row
                  for at, row in enumerate(rows)]  # fmt: skip
        page = {"count": len(rows), "next": None, "previous": None, "results": listed}
        made[f"{path}.json"] = json.dumps(listed if bare else page)
    return made


def test_answers_of_the_api_need_no_names_of_their_own() -> None:
    whole = {"devices": [LEAF1, SPINE1, SERVER], "interfaces": BARE, "cables": CABLES,
             "ip_addresses": ADDRESSES}  # fmt: skip
    wanted = netbox({"x": json.dumps(whole)}).text()
    by_url = {str(at): text for at, text in enumerate(answers().values())}
    for texts in (answers(), answers(bare=True), answers(rooted=False), by_url):
        assert netbox(texts).text() == wanted
    every = answers()
    pages = [json.loads(text) for text in every.values()]
    assert netbox({"all": json.dumps(pages)}).text() == wanted
    with pytest.raises(TopologyError, match=r"0: rows tell by their url what they are"):
        netbox({str(at): text for at, text in enumerate(answers(rooted=False).values())})


def test_a_page_of_several_is_named() -> None:
    texts = answers()
    page = json.loads(texts["interfaces.json"])
    page["count"], page["next"] = 500, "https://netbox.example/api/dcim/interfaces/?offset=50"
    draft = netbox({**texts, "interfaces.json": json.dumps(page)})
    said = "interfaces: 7 of 500 are here, further pages are missing (?limit=0 asks for all)"
    assert said in draft.warnings


CSV = {
    "netbox_devices.csv": """ID,Name,Status,Role,Type,Site,IP Address
1,lf1,Active,Leaf,DCS-7050,west,10.9.0.1/24
2,sp1,Active,Spine,DCS-7050,west,
3,db1,Active,Server,R650,west,
""",
    "netbox_interfaces.csv": """Name,Device,Enabled,Type,Management Only,Speed (Kbps),IP Addresses
Ethernet1/1,lf1,True,QSFP28 (100GE),False,,
Ethernet1/2,lf1,True,SFP28 (25GE),False,,
Ethernet1/3,lf1,True,SFP28 (25GE),False,,
Vlan1,lf1,True,Virtual,False,,
mgmt0,lf1,True,1000BASE-T (1GE),True,,
Ethernet1/1,sp1,True,QSFP28 (100GE),False,,
eth0,db1,True,Other,False,25000000,
""",
    "netbox_cables.csv": """ID,Label,Termination A,Termination B,Device A,Device B
1,,Ethernet1/1,Ethernet1/1,lf1,sp1
2,,eth0,Ethernet1/2,db1,lf1
""",
    "netbox_IP addresses.csv": """IP Address,Status,Interface,Parent
10.0.0.5/24,Active,eth0,db1
10.7.7.7/24,Active,,
""",
}


def test_csv_of_the_export_button() -> None:
    json_form = {"devices": [LEAF1, SPINE1, SERVER], "interfaces": BARE, "cables": CABLES,
                 "ip_addresses": ADDRESSES}  # fmt: skip
    wanted = made(netbox({"x": json.dumps(json_form)}))
    csv = netbox(CSV)
    assert made(csv).interfaces == wanted.interfaces
    assert (made(csv).devices, made(csv).hosts) == (wanted.devices, wanted.hosts)
    # Far ends and addresses may stand with the interfaces; a file's name may tell nothing.
    lines = CSV["netbox_interfaces.csv"].replace("IP Addresses\n", "IP Addresses,Connection\n")
    lines = lines.replace(
        "lf1,True,QSFP28 (100GE),False,,\n",
        'lf1,True,QSFP28 (100GE),False,,,"\n  sp1\n\n  Ethernet1/1\n"\n',
    )
    lines = lines.replace("25000000,\n", '25000000,10.0.0.5/24,"lf1\nEthernet1/2"\n')
    lines = lines.replace(
        "lf1,True,SFP28 (25GE),False,,\n", 'lf1,True,SFP28 (25GE),False,,,"db1\neth0"\n', 1
    )
    lines = lines.replace(
        "Ethernet1/1,sp1,True,QSFP28 (100GE),False,,",
        'Ethernet1/1,sp1,True,QSFP28 (100GE),False,,,"lf1\nEthernet1/1"',
    )
    texts = {"a": CSV["netbox_devices.csv"], "b": lines}
    assert wiring(made(netbox(texts))) == {
        "lf1:Ethernet1/1": "up sp1 Ethernet1/1", "lf1:Ethernet1/2": "host db1",
        "sp1:Ethernet1/1": "down lf1 Ethernet1/1",
    }  # fmt: skip
    assert made(netbox(texts)).hosts == wanted.hosts
    view = {**CSV, "netbox_cables.csv": "Label,Termination A,Termination B\n,Ethernet1/1,eth0\n"}
    assert any("cables do not name the devices" in said for said in netbox(view).warnings)


def test_types_of_interfaces_tell_their_rate() -> None:
    kinds = {"1000base-t": 10**9, "2.5gbase-t": 2_500_000_000, "400gbase-x-qsfpdd": 4 * 10**11,
             "100base-tx": 10**8, "other": 0}  # fmt: skip
    for kind, rate in kinds.items():
        rows = [{**UP, "type": {"value": kind}, "connected_endpoints": [seen(DOWN)]}]
        document = {"devices": [LEAF1], "interfaces": rows}
        draft = netbox({"x": json.dumps(document)})
        assert draft.devices["lf1"].ports["Ethernet1/1"].capacity_bps == rate


def dump(version: int, kinds: str) -> list[dict[str, Any]]:
    """The same fabric as `dumpdata dcim ipam` writes it; `kinds` is how content types are named."""
    kind = ["dcim", "interface"] if kinds == "natural" else 23
    role = "device_role" if version < 4 else "role"
    made: list[tuple[str, int, dict[str, Any]]] = [
        ("dcim.site", 5, {"name": "West", "slug": "west"}),
        *(("dcim.devicerole", at, {"name": name, "slug": name})
          for at, name in ((1, "leaf"), (2, "spine"), (3, "server"))),
        *(("dcim.device", at, {"name": name, "site": 5, role: at})
          for at, name in ((1, "lf1"), (2, "sp1"), (3, "db1"))),
    ]  # fmt: skip
    wires = (("11", 1, "Ethernet1/1", "100gbase-x-qsfp28", 70, "A"),
             ("21", 2, "Ethernet1/1", "100gbase-x-qsfp28", 70, "B"),
             ("12", 1, "Ethernet1/2", "25gbase-x-sfp28", 71, "A"),
             ("31", 3, "eth0", "25gbase-x-sfp28", 71, "B"), ("13", 1, "Ethernet1/3",
              "25gbase-x-sfp28", None, ""))  # fmt: skip
    for number, device, name, form, cable, side in wires:
        told = {"device": device, "name": name, "type": form, "speed": None, "cable": cable}
        made.append(("dcim.interface", int(number), told | ({} if version < 4 else {
            "cable_end": side})))  # fmt: skip
    to = {"interface": 31} if version < 3 else {
        "assigned_object_type": kind, "assigned_object_id": 31}  # fmt: skip
    made.append(("ipam.ipaddress", 1, {"address": "10.0.0.5/24", **to}))
    if kinds == "table":
        made.append(("contenttypes.contenttype", 23, {"app_label": "dcim", "model": "interface"}))
    return [{"model": model, "pk": pk, "fields": fields} for model, pk, fields in made]


@pytest.mark.parametrize(
    ("version", "kinds"), [(4, "natural"), (4, "table"), (3, "natural"), (2, "none"), (4, "none")]
)
def test_a_dump_of_the_database(version: int, kinds: str) -> None:
    rows = dump(version, kinds)
    draft = netbox({"a.json": json.dumps(rows[:6]), "b.json": json.dumps(rows[6:])})
    read = made(draft)
    assert [(one.name, one.stage, one.site) for one in read.devices] == [
        ("lf1", "tor", "west"), ("sp1", "spine", "west"),
    ]  # fmt: skip
    assert wiring(read) == {
        "lf1:Ethernet1/1": "up sp1 Ethernet1/1", "lf1:Ethernet1/2": "host db1",
        "sp1:Ethernet1/1": "down lf1 Ethernet1/1",
    }  # fmt: skip
    [host] = read.hosts
    unknown = (version, kinds) == (4, "none")
    assert host.prefixes == (() if unknown else ("10.0.0.5/32",))
    assert any("content type" in said for said in draft.warnings) is unknown


def test_an_export_without_devices_is_refused() -> None:
    with pytest.raises(TopologyError, match="no API export of NetBox"):
        netbox({"x.json": json.dumps({"devices": [LEAF1]})})


def test_words_for_stages() -> None:
    told = {"ToRRouter": "tor", "LeafRouter": "spine", "SpineRouter": "core", "dc1-leaf01": "tor",
            "super-spine-2": "core", "BackEndToRRouter": "tor", "monitor-1": "", "agg-3": "spine",
            "core1": "core", "storage": "", "t1-a": "spine"}  # fmt: skip
    assert {word: stage_of(word) for word in told} == told
    assert stage_of("", None, "spine-1") == "spine"
    assert [facing("tor", "core"), facing("core", "spine"), facing("tor", "tor")] == [
        "up", "down", "side",
    ]  # fmt: skip
    assert facing("", "tor") == ""


JUNK: tuple[Any, ...] = (None, [], {}, 7, "x", [[]], {"a": {}}, [{"id": []}], True, -1.5)
DOCUMENTS: dict[str, tuple[Any, Callable[[str], Draft]]] = {
    "lab": (yaml.safe_load(LAB), containerlab),
    "configuration": (TOR, lambda text: sonic({"tor.json": text, "leaf.json": json.dumps(LEAF)})),
    "export": (
        {"devices": [LEAF1, SPINE1, SERVER], "ip_addresses": ADDRESSES,
         "interfaces": [PATHS[0], DOWN, FACING, NIC], "cables": [*CABLES, *OLD_CABLES]},
        lambda text: netbox({"x.json": text}),
    ),
    "dump": (dump(4, "table"), lambda text: netbox({"x.json": text})),
}  # fmt: skip


def paths(tree: Any) -> Iterator[tuple[Any, ...]]:
    """Every place of a document."""
    inner = (
        tree.items() if isinstance(tree, dict) else enumerate(tree if type(tree) is list else ())
    )
    for key, value in inner:
        yield (key,)
        yield from ((key, *path) for path in paths(value))


def replaced(tree: Any, path: tuple[Any, ...], junk: Any) -> Any:
    """The document with something else at a place."""
    if not path:
        return junk
    made = list(tree) if isinstance(tree, list) else dict(tree)
    made[path[0]] = replaced(tree[path[0]], path[1:], junk)
    return made


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_with_anything_anywhere_is_read_or_refused(name: str) -> None:
    document, importer = DOCUMENTS[name]
    for row, path in enumerate(paths(document)):
        for junk in (JUNK[row % len(JUNK)], JUNK[(row * 7 + 3) % len(JUNK)]):
            with suppress(TopologyError):
                text = importer(json.dumps(replaced(document, path, junk))).text()
                findings(text)
                Topology.from_yaml(text)
    for junk in JUNK:
        with suppress(TopologyError):
            importer(json.dumps(junk)).text()
