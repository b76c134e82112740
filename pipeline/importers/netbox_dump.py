"""NetBox's `manage.py dumpdata`, a list of rows by model, as the lists that its API gives.

Rows name each other by number. Of a cable each interface tells itself which it hangs on and at
which end; numbers of content types are read only where the dump has their table or its natural
keys.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pipeline.importers.document import inner

Row = Mapping[str, Any]
INTERFACE = "dcim.interface"
NAMED = {
    "dcim.device": {"site": "dcim.site", "role": "dcim.devicerole",
                    "device_role": "dcim.devicerole"},
    INTERFACE: {"device": "dcim.device"},
}  # fmt: skip
"""Fields that name a row of another model."""


def is_dump(tree: Any) -> bool:
    """Whether a document is such a list."""
    return isinstance(tree, list) and any(is_row(row) for row in tree)


def is_row(row: Any) -> bool:
    """Whether something is a row: a model, its number and fields."""
    return isinstance(row, Mapping) and isinstance(row.get("fields"), Mapping) and "model" in row


def dumped(rows: Iterable[Any]) -> Iterator[tuple[str, list[Row]]]:
    """The lists devices, interfaces, cables and ip_addresses of dumped rows."""
    known: dict[str, dict[Any, dict[str, Any]]] = {}
    for row in filter(is_row, rows):
        made = {**row["fields"], "id": row.get("pk")}
        known.setdefault(str(row["model"]), {})[str(row.get("pk"))] = made
    for model, fields in NAMED.items():
        for row in known.get(model, {}).values():
            for field, other in fields.items():
                if row.get(field) is not None:
                    row[field] = named(row[field], known.get(other, {}))
    interfaces = list(known.get(INTERFACE, {}).values())
    yield "devices", list(known.get("dcim.device", {}).values())
    yield "interfaces", list(interfaces)
    yield "cables", list(cables(interfaces))
    yield "ip_addresses", list(addresses(known))


def named(value: Any, others: Mapping[Any, Row]) -> Any:
    """The row that a number names; of a natural key its last word."""
    if isinstance(value, list):
        return {"name": str(value[-1])} if value else None
    return others.get(str(value), value)


def cables(interfaces: Iterable[Row]) -> Iterator[Row]:
    """Cables by the interfaces at their ends; until version 3.2 the end was not told."""
    ends: dict[Any, dict[Any, list[Any]]] = {}
    for row in interfaces:
        if isinstance(row.get("cable"), int | str):
            side = row.get("cable_end") or len(ends.get(row["cable"], {}))
            ends.setdefault(row["cable"], {}).setdefault(side, []).append(row["id"])
    for sides in ends.values():
        told = list(sides.values())
        if len(told) == 2:  # noqa: PLR2004 - a cable has two ends
            yield {
                f"{side}_terminations": [
                    {"object_type": INTERFACE, "object_id": number} for number in numbers
                ]
                for side, numbers in zip("ab", told, strict=True)
            }


def addresses(known: Mapping[str, Mapping[Any, Row]]) -> Iterator[Row]:
    """Addresses with the kind of what they are assigned to as its name; empty: it is not known."""
    for row in known.get("ipam.ipaddress", {}).values():
        kind = row.get("assigned_object_type")
        if kind is None and row.get("interface") is not None:
            yield {**row, "assigned_object_type": INTERFACE, "assigned_object_id": row["interface"]}
            continue
        if isinstance(kind, list):
            name = ".".join(str(word) for word in kind)
        else:
            about = known.get("contenttypes.contenttype", {}).get(str(kind))
            name = f"{inner(about, 'app_label')}.{inner(about, 'model')}" if about else ""
        yield {**row, "assigned_object_type": name}
