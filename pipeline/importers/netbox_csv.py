"""The CSV that NetBox's Export button writes of devices, interfaces, cables and IP addresses.

Columns are headed by the labels of its tables ("Termination A"), of versions before 3 by names of
fields (`termination_a_id`). Rows name each other by device and interface, so they become rows of
the API whose ends are names (`by_end`). Headings in another language than English are not known.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.importers.document import whole
from pipeline.importers.netbox_table import named

Row = dict[str, Any]
FIELDS = {"id": "id", "name": "name", "device": "device", "type": "type", "role": "role",
          "device_role": "role", "site": "site", "mgmt_only": "mgmt_only", "speed_kbps": "speed",
          "management_only": "mgmt_only", "speed": "speed", "address": "address",
          "ip_address": "address"}  # fmt: skip
"""Fields of the API by heading."""
SAME = ("termination_a_type", "termination_a_id", "termination_b_type", "termination_b_id",
        "assigned_object_type", "assigned_object_id")  # fmt: skip
"""Fields of versions before 3 that are the API's."""
KINDS = {"link aggregation group (lag)": "lag", "virtual": "virtual", "bridge": "bridge"}
LABEL_RATE = re.compile(r"\((?:\d+/)*(?P<rate>\d+(?:\.\d+)?)(?P<unit>[mgt])e\)")
"""Labels of types of interfaces: QSFP28 (100GE), 100BASE-TX (10/100ME)."""
SPEED = re.compile(r"^(?P<rate>\d+(?:\.\d+)?)\s*(?P<unit>[kmgt])bps$")
KILOBITS = {"k": 1, "m": 1_000, "g": 1_000_000, "t": 1_000_000_000}
NO = frozenset({"", "false", "no", "0", "✘", "—"})
FAR = ("connection", "connections", "link_peer", "link_peers", "cable_peer")
"""Columns that tell where an interface leads: device and interface in lines of their own."""


def is_csv(file: str, text: str) -> bool:
    """Whether a document is CSV: by its name, or as it does not begin as JSON does."""
    if file.lower().endswith((".csv", ".json")):
        return file.lower().endswith(".csv")
    return text.lstrip("\ufeff \t\r\n")[:1] not in {"{", "[", ""}


def csv_tables(file: str, text: str) -> Iterator[tuple[str, list[Row]]]:
    """The lists of a CSV file by name; empty: nothing tells what the rows are."""
    lines = csv.reader(text.removeprefix("\ufeff").splitlines(keepends=True))
    try:
        heads = [plain(head) for head in next(lines, [])]
        rows = [dict(zip(heads, line, strict=False)) for line in lines if any(line)]
    except csv.Error:
        return
    table = table_by(set(heads)) or named(file)
    made = [MADE[table](row) if table in MADE else dict(row) for row in rows]
    yield table, made
    if table == "interfaces":
        yield "ip_addresses", [address for row in made for address in addresses_of(row)]


def plain(head: str) -> str:
    """A heading as a name: `Termination A` as `termination_a`."""
    return re.sub(r"[^a-z0-9]+", "_", head.lower()).strip("_")


def table_by(heads: set[str]) -> str:
    """The list that has these columns; devices have a column of addresses too."""
    if {"termination_a", "termination_b"} <= heads or set(SAME[:4]) <= heads:
        return "cables"
    if {"name", "device"} <= heads and heads & {"type", "enabled"}:
        return "interfaces"
    if "name" in heads and heads & {"role", "device_role"}:
        return "devices"
    return "ip_addresses" if heads & {"ip_address", "address"} else ""


def common(row: Mapping[str, str]) -> Row:
    """The fields that are called alike or have another label."""
    made: Row = {}
    for head, value in row.items():
        if head in SAME or head in FIELDS:
            name = FIELDS.get(head, head)
            made[name] = made.get(name) or value.strip() or None
    return made


def interface(row: Mapping[str, str]) -> Row:
    """An interface; its speed in kbit/s, of its type's label where none is told."""
    made = common(row)
    kind = str(made.get("type") or "").lower()
    made["type"] = KINDS.get(kind, kind)
    made["mgmt_only"] = str(made.get("mgmt_only") or "").lower() not in NO
    speed = str(made.get("speed") or "").lower()
    found = SPEED.match(speed) or LABEL_RATE.search(kind)
    if whole(speed) is None:
        made["speed"] = round(float(found["rate"]) * KILOBITS[found["unit"]]) if found else None
    for column in FAR:
        words = [line.strip() for line in row.get(column, "").splitlines() if line.strip()]
        if len(words) == 2:  # noqa: PLR2004 - device and interface
            made["link_peers"] = [{"device": words[0], "name": words[1]}]
            break
    made["addresses"] = re.split(r"[,\s]+", row.get("ip_addresses", "").strip())
    return made


def addresses_of(row: Row) -> Iterator[Row]:
    """The addresses that an interface's own row tells."""
    for address in row.pop("addresses"):
        if address:
            yield {"address": address, "by_end": (row.get("device"), row.get("name"))}


def cable(row: Mapping[str, str]) -> Row:
    """A cable by the names at its ends."""
    ends = {
        side: (row.get(f"device_{side}", "").strip(), row.get(f"termination_{side}", "").strip())
        for side in ("a", "b")
    }
    named_ends = ends if all(all(end) for end in ends.values()) else {}
    return {**common(row), **({"by_end": named_ends} if named_ends else {})}


def address(row: Mapping[str, str]) -> Row:
    """An address by device and interface, where it has them."""
    owner = next((row[head] for head in ("parent", "interface_parent", "device_vm")
                  if row.get(head)), "")  # fmt: skip
    made = common(row)
    if owner and row.get("interface"):
        made["by_end"] = owner.strip(), row["interface"].strip()
    elif "assigned_object_id" not in made:
        made["assigned_object_type"] = "unknown"
    return made


MADE = {"interfaces": interface, "cables": cable, "ip_addresses": address, "devices": common}
