"""The reference page of the topology file, from its table of keys."""

from collections.abc import Iterator

from markdown_text import code, table, title

from pipeline.topology_key import SECTIONS, Key


def topology() -> Iterator[str]:
    """The keys of a topology file."""
    yield title(
        "Topology file",
        "The keys of a topology (YAML), section by section; `NAME` stands for a name of yours, "
        "`[]` for each of a list. What is not required may be left out: it is then not known.",
    )
    for section, keys in SECTIONS.items():
        yield f"## {section}\n"
        yield table(("key", "value", "default", "meaning"), map(row, keys))


def row(key: Key) -> tuple[str, str, str, str]:
    """One key as the page shows it."""
    left_out = "" if key.default in (None, "", ()) else code(str(key.default).lower())
    default = "required" if key.required else left_out
    return code(key.name), key.meaning(), default, key.doc
