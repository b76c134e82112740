"""SONiC's config_db.json, of one or more devices, as a draft.

Read are DEVICE_METADATA (name, type), PORT (speed, index), DEVICE_NEIGHBOR by either of its keys,
DEVICE_NEIGHBOR_METADATA, INTERFACE (addresses, VRFs), VLAN, VLAN_INTERFACE and VLAN_MEMBER, VRF,
WRED_PROFILE and QUEUE (whether queues mark). A dump of the database with its keys joined by `|` is
folded into tables first.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from ipaddress import IPv4Interface, IPv6Interface, ip_interface, ip_network
from itertools import islice
from typing import Any

from pipeline.importers.document import inner, members, parsed, whole
from pipeline.importers.draft import Draft, DraftDevice, DraftHost, DraftPort
from pipeline.stage import stage_of
from pipeline.topology_text import TopologyError

MEGABIT = 1_000_000
SERVER = "server"
"""What types and names of end hosts hold."""
Database = Mapping[str, Any]


def sonic(texts: Mapping[str, str]) -> Draft:
    """The draft of configurations by file name. Raises TopologyError where one is none."""
    draft = Draft("SONiC's config_db.json", numbers="unknown: SONiC's index of the port")
    databases: dict[str, Database] = {}
    for file, text in texts.items():
        database: Database = folded(parsed(file, text))
        if not isinstance(database.get("PORT"), Mapping):
            raise TopologyError(f"{file}: no config_db.json: it has no table PORT")
        found = inner(database, "DEVICE_METADATA", "localhost")
        about: Database = found if isinstance(found, Mapping) else {}
        name = str(about.get("hostname") or file.rpartition("/")[2].partition(".")[0])
        if name in databases:
            raise TopologyError(f"{file}: another file is of {name} too")
        databases[name] = database
        stage = stage_of(about.get("type"))
        told = stage or stage_of(name)
        site = str(about.get("region") or about.get("cluster") or "")
        draft.devices[name] = DraftDevice(
            stage=told, site=site, guessed=not stage, marks_ecn=marks(database)
        )
        for vrf, rule in members(database, "VRF"):
            vni = whole(rule.get("vni"))
            draft.tenants[vrf] = {"vrfs": [vrf], **({"vnis": [vni]} if vni else {})}
    for name, database in databases.items():
        ports(draft, name, database)
    for name, database in databases.items():
        neighbours(draft, name, database)
        shared_subnets(draft, name, database)
    return draft


def folded(tree: Any) -> dict[str, Any]:
    """A database as tables; a dump of redis has keys `TABLE|name` with a hash below `value`."""
    if not isinstance(tree, Mapping):
        return {}
    made: dict[str, Any] = {}
    for key, value in tree.items():
        table, bar, name = str(key).partition("|")
        if not bar:
            made[table] = value
        elif isinstance(value, Mapping):
            rows = made.setdefault(table, {})
            rows[name] = inner(value, "value") if "value" in value else value
    return made


def marks(database: Database) -> bool | None:
    """Whether queues mark: by the profiles that they use; None where none is told."""
    used = {str(rule.get("wred_profile")).strip("[]").rpartition("|")[2]
            for _, rule in members(database, "QUEUE") if rule.get("wred_profile")}  # fmt: skip
    told = [str(rule.get("ecn", "")) for name, rule in members(database, "WRED_PROFILE")
            if name in used]  # fmt: skip
    return any(ecn not in {"", "ecn_none"} for ecn in told) if told else None


def ports(draft: Draft, name: str, database: Database) -> None:
    """The ports of a device: those that are up or lead somewhere."""
    wired = {port for port, _, _ in links(database)}
    idle = 0
    for port, told in members(database, "PORT"):
        if port not in wired and str(told.get("admin_status", "up")) == "down":
            idle += 1
            continue
        speed = whole(told.get("speed")) or 0
        draft.devices[name].ports[port] = DraftPort(whole(told.get("index")), speed * MEGABIT)
    if idle:
        draft.warn(f"{name}: {idle} ports that are down and lead nowhere are left out")
    indices = [port.number for port in draft.devices[name].ports.values()]
    if len(set(indices)) < len(indices):
        # Ports of a breakout share the index of their cage.
        for made in draft.devices[name].ports.values():
            made.number = None


def links(database: Database) -> Iterator[tuple[str, str, str]]:
    """Port, neighbour and the neighbour's port; keyed by port, or as of old by neighbour."""
    for key, told in members(database, "DEVICE_NEIGHBOR"):
        if "local_port" in told:
            yield str(told["local_port"]), key, str(told.get("port") or "")
        elif "name" in told:
            yield key, str(told["name"]), str(told.get("port") or "")


def neighbours(draft: Draft, name: str, database: Database) -> None:
    """Where the ports lead; a server on the last one is a host."""
    types = {peer: str(told.get("type") or "")
             for peer, told in members(database, "DEVICE_NEIGHBOR_METADATA")}  # fmt: skip
    routed = dict(addresses(database, "INTERFACE"))
    for port, peer, far in links(database):
        if port not in draft.devices[name].ports:
            draft.warn(f"{name}: {port} has a neighbour, PORT does not have it")
            draft.devices[name].ports[port] = DraftPort()
        if peer in draft.devices:
            draft.devices[name].ports[port].peer = (peer, far)
            if far not in draft.devices[peer].ports:
                draft.warn(f"{name}:{port} leads to {peer}:{far}, which PORT of {peer} lacks")
        elif SERVER in types.get(peer, "").lower() or SERVER in peer.lower() or (
            peer not in types and draft.devices[name].stage == "tor" and far.startswith("eth")
        ):  # fmt: skip
            own, vrf = routed.get(port, ([], ""))
            prefixes = tuple(other for one in own for other in other_end(one))
            tenant = vrf if vrf in draft.tenants else ""
            draft.host(peer, far or port, DraftHost((name, port), prefixes, tenant=tenant))
        else:
            draft.devices[name].ports[port].peer = (peer, far or "unknown")


def addresses(
    database: Database, table: str
) -> Iterator[tuple[str, tuple[list[IPv4Interface | IPv6Interface], str]]]:
    """Addresses and VRF of each interface of a table, whose keys are `name` and `name|address`."""
    found: dict[str, tuple[list[IPv4Interface | IPv6Interface], str]] = {}
    for key, told in members(database, table):
        name, _, address = key.partition("|")
        own, vrf = found.get(name, ([], ""))
        vrf = str(told.get("vrf_name") or vrf)
        with suppress(ValueError):
            own = [*own, ip_interface(address)] if address else own
        found[name] = own, vrf
    yield from found.items()


def other_end(own: IPv4Interface | IPv6Interface) -> Iterator[str]:
    """The address at the other end of a subnet that has room for two."""
    hosts = [address for address in islice(own.network.hosts(), 3) if address != own.ip]
    if len(hosts) == 1:
        yield str(ip_network(str(hosts[0])))


def shared_subnets(draft: Draft, name: str, database: Database) -> None:
    """Subnets of VLANs: told of a host where one port is their only member, else unknown."""
    for vlan, (own, vrf) in addresses(database, "VLAN_INTERFACE"):
        inside = [key.partition("|")[2] for key, _ in members(database, "VLAN_MEMBER")
                  if key.partition("|")[0] == vlan]  # fmt: skip
        subnets = tuple(str(one.network) for one in own)
        device = draft.devices[name]
        if len(inside) == 1 and inside[0] in device.ports and subnets:
            port = device.ports[inside[0]]
            tenant = vrf if vrf in draft.tenants else ""
            if port.peer is None:
                made = DraftHost((name, inside[0]), subnets, tenant=tenant)
                draft.host(f"{name}-{vlan}", inside[0], made)
            elif port.peer[0] in draft.hosts:
                draft.hosts[port.peer[0]].prefixes += subnets
        elif subnets:
            said = f"which of {len(inside)} ports has which address of {', '.join(subnets)}"
            draft.warn(f"{name}: {vlan} does not tell {said}")
