"""What NetBox tells of devices, interfaces, cables and addresses, as a draft.

A document is an answer of its API, a page or a list (`netbox_table`), or an object with the lists
`devices`, `interfaces`, and if there are `cables`, `sites` and `ip_addresses`, whose keys may be
paths of the API (`dcim/ip-addresses/`); or CSV of the Export button (`netbox_csv`), or what
`manage.py dumpdata` writes (`netbox_dump`). Versions 2 to 4 name roles, far ends and cables
differently; all are read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipeline.importers.document import inner, parsed, whole
from pipeline.importers.draft import Draft, DraftDevice, DraftHost, DraftPort, End, single
from pipeline.importers.netbox_csv import csv_tables, is_csv
from pipeline.importers.netbox_dump import dumped, is_dump
from pipeline.importers.netbox_table import tables_of, told_counts
from pipeline.stage import stage_of
from pipeline.topology_text import TopologyError
from pipeline.unit import GIGABIT

KILOBIT = 1_000
RATE = re.compile(r"^(?P<rate>\d+(?:\.\d+)?)(?P<giga>g)?base")
"""Types of interfaces: 1000base-t, 2.5gbase-t, 100gbase-x-qsfp28."""
VIRTUAL = frozenset({"virtual", "lag", "bridge"})
HOST = re.compile(r"server|host|compute|gpu|storage|hypervisor|client|worker")
"""Roles of end hosts."""
INTERFACE = "dcim.interface"
BY_END = "by_end"
"""Of rows out of CSV: device and interface by their names."""
ENDS = {BY_END, "a_terminations", "b_terminations", "termination_a_id", "termination_b_id"}
"""Fields of cables that tell an end."""
Row = Mapping[str, Any]


def netbox(texts: Mapping[str, str]) -> Draft:
    """The draft of documents by file name. Raises TopologyError where they hold no devices."""
    trees = {file: parsed(file, text) for file, text in texts.items() if not is_csv(file, text)}
    tables: dict[str, list[Row]] = {}
    unknown: list[str] = []
    for file, name, rows in lists(texts, trees):
        tables.setdefault(name, []).extend(rows)
        unknown += [file] if rows and not name else []
    if not tables.get("devices") or not tables.get("interfaces"):
        raise TopologyError(refusal(tables, unknown))
    draft = Draft("an export of NetBox")
    missing(draft, tables, unknown, told_counts(trees))
    hosts = {name_of(row) for row in tables["devices"] if is_host(row)}
    for row in tables["devices"]:
        if name_of(row) not in hosts:
            draft.devices[name_of(row)] = device_of(row)
    wired = [row for row in tables["interfaces"] if is_wired(row)]
    # CSV of the current view has no numbers: the names stand for them.
    ports = {end_of(row) if row.get("id") is None else whole(row["id"]): row for row in wired}
    for row in ports.values():
        name, port = end_of(row)
        if name in draft.devices:
            draft.devices[name].ports[port] = DraftPort(None, rate_of(row))
    connect(draft, tables, ports, hosts)
    drop_idle(draft)
    return draft


def missing(
    draft: Draft, tables: Mapping[str, list[Row]], unknown: Iterable[str], counts: Mapping[str, int]
) -> None:
    """Warn of lists that are not whole, or of which nobody can tell what they are."""
    for file in unknown:
        draft.warn(f"{file}: neither the rows' url nor the file's name tells what it lists")
    for name, count in counts.items():
        here = len(tables.get(name, ()))
        if count > here:
            said = f"{here} of {count} are here, further pages are missing"
            draft.warn(f"{name.replace('_', ' ')}: {said} (?limit=0 asks for all)")
    if any(row.get("assigned_object_type") == "" for row in tables.get("ip_addresses", ())):
        draft.warn(
            "addresses name what they are assigned to by the number of a content type: dump"
            " contenttypes too, or with --natural-foreign"
        )
    cables = tables.get("cables", ())
    if cables and not any(ENDS & cable.keys() for cable in cables):
        draft.warn("cables do not name the devices at their ends: export all data, not the view")


def lists(
    texts: Mapping[str, str], trees: Mapping[str, Any]
) -> Iterator[tuple[str, str, Sequence[Row]]]:
    """File, name and rows of every list; what is dumped stands in one list over all files."""
    for file, text in texts.items():
        if file not in trees:
            found: Iterable[tuple[str, Sequence[Row]]] = csv_tables(file, text)
        else:
            found = () if is_dump(trees[file]) else tables_of(file, trees[file])
        for name, rows in found:
            yield file, name, rows
    dump = [row for tree in trees.values() if is_dump(tree) for row in tree]
    for name, rows in dumped(dump):
        yield "", name, rows


def refusal(tables: Mapping[str, list[Row]], unknown: Iterable[str]) -> str:
    """Why no topology can be made of these lists."""
    said = (
        "no API export of NetBox, no CSV of its Export button and no dump of its dumpdata: the"
        " lists devices and interfaces are wanted"
    )
    found = [f"{len(rows)} {name.replace('_', ' ')}" for name, rows in tables.items() if name]
    said += f"; there are {', '.join(found)}" if found else ""
    hint = "rows tell by their url what they are, or the file by its name (devices.json)"
    return "; ".join([said, *(f"{file}: {hint}" for file in unknown)])


def connect(
    draft: Draft, tables: Mapping[str, list[Row]], ports: Mapping[Any, Row], hosts: set[str]
) -> None:
    """Take up where ports lead: to ports of devices, or to hosts with their addresses."""
    numbers = {end_of(row): number for number, row in ports.items()}
    known = dict(by_interface(tables.get("ip_addresses", ()), numbers))
    wires = cabled(tables.get("cables", ()), ports, numbers)
    far_ends = {**dict(wires), **dict(connected(ports))}
    for number, row in ports.items():
        near, far = end_of(row), far_ends.get(number)
        if near[0] not in draft.devices or far is None:
            continue
        if far[0] in hosts:
            own = numbers.get(far)
            nic = rate_of(ports[own]) if own is not None else 0
            draft.host(far[0], far[1], DraftHost(near, single(known.get(own, ())), nic))
        else:
            draft.port(near).peer = far


def told(value: Any) -> str:
    """A choice or a reference as a word: its value, slug or name."""
    if isinstance(value, Mapping):
        value = value.get("value") or value.get("slug") or value.get("name") or ""
    return str(value or "").lower()


def name_of(row: Row) -> str:
    """A device's name, or NetBox's number of one that has none."""
    return str(row.get("name") or row.get("display") or f"device-{row.get('id')}").replace(":", "_")


def role_of(row: Row) -> str:
    """A device's role; until version 3 it was called otherwise."""
    return told(row.get("role")) or told(row.get("device_role"))


def is_host(row: Row) -> bool:
    """Whether a device is an end host, by its role."""
    return bool(HOST.search(role_of(row))) and not stage_of(role_of(row))


def is_wired(row: Row) -> bool:
    """Whether an interface is a port of the fabric: no virtual one, none for management."""
    return told(row.get("type")) not in VIRTUAL and not row.get("mgmt_only")


def device_of(row: Row) -> DraftDevice:
    """A device of the fabric."""
    stage = stage_of(role_of(row))
    site = row.get("site")
    return DraftDevice(
        stage=stage or stage_of(row.get("name")),
        site=str(
            (site.get("slug") or site.get("name")) if isinstance(site, Mapping) else site or ""
        ),
        guessed=not stage,
    )


def end_of(row: Row) -> End:
    """Device and interface of a row of interfaces, or of a reference to one."""
    device = row.get("device")
    own = name_of(device if isinstance(device, Mapping) else {"name": device})
    return own, str(row.get("name") or row.get("display") or "")


def rate_of(row: Row) -> int:
    """What an interface can send, bit/s: its speed, else that of its type; 0: unknown."""
    speed = whole(row.get("speed"))
    if speed:
        return speed * KILOBIT
    found = RATE.match(told(row.get("type")))
    if not found:
        return 0
    return round(float(found["rate"]) * (GIGABIT if found["giga"] else GIGABIT / 1000))


def connected(ports: Mapping[Any, Row]) -> Iterator[tuple[Any, End]]:
    """Far ends that interfaces tell of: at the end of the path, else of the cable."""
    for number, row in ports.items():
        for field in ("connected_endpoints", "connected_endpoint", "link_peers", "cable_peer"):
            ends = row.get(field)
            first = ends[0] if isinstance(ends, list) and ends else ends
            peer = first.get("object", first) if isinstance(first, Mapping) else None
            if isinstance(peer, Mapping) and peer.get("device") and peer.get("name"):
                yield number, end_of(peer)
                break


def cabled(
    cables: Iterable[Row], ports: Mapping[Any, Row], numbers: Mapping[End, Any]
) -> Iterator[tuple[Any, End]]:
    """Far ends by cable, of interfaces at both ends."""
    for cable in cables:
        sides = [interface_at(cable, side, numbers) for side in ("a", "b")]
        for own, far in (sides, sides[::-1]):
            if own in ports and far in ports:
                yield own, end_of(ports[far])


def interface_at(cable: Row, side: str, numbers: Mapping[End, Any]) -> Any:
    """The interface at one end of a cable; None where another thing is, or more than one."""
    if BY_END in cable:
        return number_of(cable[BY_END][side], numbers)
    ends = cable.get(f"{side}_terminations")
    if isinstance(ends, list):
        if len(ends) == 1 and inner(ends[0], "object_type") == INTERFACE:
            return whole(inner(ends[0], "object_id"))
        return None
    is_port = cable.get(f"termination_{side}_type") == INTERFACE
    return whole(cable.get(f"termination_{side}_id")) if is_port else None


def number_of(end: Sequence[str], numbers: Mapping[End, Any]) -> Any:
    """The interface that is named by device and name, as CSV does."""
    return numbers.get((name_of({"name": end[0]}), end[1]))


def by_interface(
    rows: Iterable[Row], numbers: Mapping[End, Any]
) -> Iterator[tuple[Any, list[Any]]]:
    """Addresses by the interface that they are assigned to."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        if BY_END in row:
            found.setdefault(number_of(row[BY_END], numbers), []).append(row.get("address"))
            continue
        kind = row.get("assigned_object_type", INTERFACE)
        number = whole(row.get("assigned_object_id") or inner(row, "interface", "id"))
        if kind == INTERFACE and number is not None:
            found.setdefault(number, []).append(row.get("address"))
    yield from found.items()


def drop_idle(draft: Draft) -> None:
    """Leave out ports that lead nowhere: devices have every port that could ever be used."""
    for name, device in draft.devices.items():
        used = {port: told for port, told in device.ports.items() if told.peer is not None}
        if len(used) < len(device.ports):
            draft.warn(
                f"{name}: {len(device.ports) - len(used)} ports without a cable are left out"
            )
        device.ports = used
