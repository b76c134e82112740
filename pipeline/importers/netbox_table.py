"""Which lists NetBox's documents hold: told by keys, by the rows' `url`, or by the file's name.

An answer of the API is a page (`count`, `next`, `results`) or, of a client that has joined the
pages, a bare list; neither names its table, its rows do.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.importers.document import whole

Row = Mapping[str, Any]
TABLES = ("devices", "interfaces", "cables", "ip_addresses", "sites")
"""Lists that tell something of a fabric."""
URL = re.compile(r"/api/(?:dcim|ipam)/([a-z-]+)/\d+/?$")
PAGE = "results"


def tables_of(file: str, tree: Any) -> Iterator[tuple[str, list[Row]]]:
    """The lists of a document with their names; empty: nothing tells what the rows are."""
    if isinstance(tree, Mapping) and not isinstance(tree.get(PAGE), list):
        for key, value in tree.items():
            rows = value.get(PAGE) if isinstance(value, Mapping) else value
            if isinstance(rows, list):
                yield last_word(str(key)), mappings(rows)
        return
    found: dict[str, list[Row]] = {}
    for row in rows_of(tree):
        address = URL.search(str(row.get("url", "")))
        name = last_word(address[1]) if address else named(file)
        found.setdefault(name, []).append(row)
    yield from found.items()


def rows_of(tree: Any) -> Iterator[Row]:
    """The rows of a page, a list, or a list of pages."""
    for row in mappings(tree.get(PAGE) if isinstance(tree, Mapping) else tree):
        yield from mappings(row[PAGE]) if isinstance(row.get(PAGE), list) else [row]


def mappings(rows: Any) -> list[Row]:
    """The mappings of a list."""
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def last_word(path: str) -> str:
    """The name at the end of a path of the API, of a model or of a key."""
    name = path.strip("/.").replace(".", "/").rpartition("/")[2].replace("-", "_")
    return name.lower()


def named(file: str) -> str:
    """The list that a file's name speaks of, as `netbox_IP addresses (2).csv`; else empty."""
    stem = re.sub(r"[^a-z]", "", file.replace("\\", "/").rpartition("/")[2].lower())
    return next((table for table in TABLES if table.replace("_", "") in stem), "")


def told_counts(trees: Mapping[str, Any]) -> Counter[str]:
    """Rows that the server has of each list, by the largest `count` of its pages."""
    most: Counter[str] = Counter()
    for file, tree in trees.items():
        count = whole(tree.get("count")) if isinstance(tree, Mapping) else None
        for name, _ in tables_of(file, tree) if count is not None else ():
            most[name] = max(most[name], count or 0)
    return most
