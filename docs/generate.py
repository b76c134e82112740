"""Writes the reference pages from the tables that the code runs on: one function a page.

`make docs` runs it; `--check` fails when a page in the repository is not what it would write.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer
from alerts_page import alerts
from api_page import api
from filter_page import filters
from finding_page import findings
from markdown_text import code, shortened, table, title
from topology_page import topology
from wire_page import wire_pages

from collector.observation import HOPS, OBSERVATION, SCHEMA_VERSION
from collector.status import STATUS
from pipeline import COMPANIONS, FAULTS, parameter_table
from pipeline.cc import (
    csig_load,
    dctcp,
    dctcp_receiver,
    dre,
    flow_count,
    hop_load,
    hpcc,
    hpcc_probe,
    hpcc_receiver,
    poseidon,
    qos,
    swift,
)
from pipeline.tables import TABLES
from service import cli
from service.failure import EXIT_CODES
from service.metrics import METRICS
from service.settings import Settings, default_store, rows
from service.stages import STAGES

FOLDER = Path(__file__).resolve().parent / "reference"
OWN_INDEX = FOLDER / "index.md"
"""The one page there that is written by hand."""
ALGORITHMS: dict[str, Any] = {
    "HPCC++": hpcc,
    "HPCC++ at the receiver": hpcc_receiver,
    "HPCC++ by probes": hpcc_probe,
    "HPCC++ on any hop load": hop_load,
    "Hop load from CSIG": csig_load,
    "Flows of a last hop": flow_count,
    "Classes of a port": qos,
    "Rate by discounting": dre,
    "DCTCP": dctcp,
    "DCTCP at the receiver": dctcp_receiver,
    "Swift": swift,
    "Poseidon": poseidon,
}
"""Modules with a table of parameters, in the order of the page."""


def observations() -> Iterator[str]:
    """The row of the bus."""
    yield title(
        "Observations",
        f"One row a frame: what the frame says about congestion. Layout version {SCHEMA_VERSION}. "
        f"Hops are numbered from the sender, 0 to {HOPS - 1}; a batch may leave out a column that "
        "is null in all its rows.",
    )
    yield table(
        ("column", "type", "unit", "null", "meaning"),
        (
            (code(row.name), row.dtype, row.unit, "yes" if row.nullable else "", row.doc)
            for row in OBSERVATION
        ),
    )
    yield "## How a frame ends\n"
    yield "Frames seen are the sum over these; the number stands in the column `status`.\n"
    yield table(
        ("status", "name", "meaning"),
        ((number, code(name), doc) for number, (name, doc) in enumerate(STATUS)),
    )


def settings() -> Iterator[str]:
    """Every setting with its variable and its default."""
    yield title(
        "Settings",
        "A flag of the command line wins over the environment, that over the TOML file "
        "(`--settings`, `HOPSIGHT_SETTINGS`, else `hopsight.toml` where the command runs), that "
        "over the default. `hopsight settings --dump` prints what is in force, whole.",
    )
    store = {default_store(): "chdb://$XDG_DATA_HOME/hopsight/store"}
    yield table(
        ("setting", "variable", "default", "meaning"),
        (
            (code(name), code(variable), code(shortened(store.get(str(value), value))), doc)
            for name, variable, value, doc in rows(Settings.model_construct())
        ),
    )


def parameters() -> Iterator[str]:
    """What `--set NAME=VALUE` accepts."""
    yield title(
        "Parameters of congestion control",
        "What `hopsight replay --set NAME=VALUE` accepts of HPCC++ and DCTCP, and the parameters "
        "of what stands beside them. A section is that of the algorithm's document; `open` is "
        "what the document leaves open.",
    )
    for name, module in ALGORITHMS.items():
        yield f"## {name}\n"
        yield f"{inspect.getdoc(module)}".partition("\n")[0] + "\n"
        yield table(
            ("parameter", "default", "accepted", "meaning", "section"),
            (
                (code(row.name), code(row.default), row.accepted(), row.doc, row.section)
                for row in module.TABLE
            ),
        )
        branches = getattr(module, "Branch", ())
        if branches:
            yield "Branches of a decision: " + ", ".join(code(b.name) for b in branches) + ".\n"
    yield "## Faults\n"
    yield (
        "The bits of `faults` in a decision; in an object of `replay --json` `fault_names` names "
        "them.\n"
    )
    yield table(("algorithm", "faults"), ((code(name), faults(name)) for name in FAULTS))
    listed = {row for module in ALGORITHMS.values() for row in module.TABLE}
    yield "## Companions\n"
    yield (
        "What is run by name (the setting `pipeline.companions`, or `hopsight replay --algorithm`) "
        "takes the parameters above of what it runs, and of its own:\n"
    )
    yield table(
        ("companion", "parameter", "default", "accepted", "meaning", "section"),
        (
            (code(name), code(row.name), code(row.default), row.accepted(), row.doc, row.section)
            for name in COMPANIONS
            for row in parameter_table(name)
            if row not in listed
        ),
    )


def faults(algorithm: str) -> str:
    """The faults of an algorithm's decisions, each with its bit."""
    found = sorted(
        (fault.value, fault.name.lower()) for kind in FAULTS[algorithm] for fault in kind
    )
    return ", ".join(f"{value} {code(name)}" for value, name in found)


def store() -> Iterator[str]:
    """The tables of the store."""
    yield title(
        "Store",
        "The tables that ClickHouse holds, embedded or on a server. Columns with a merge function "
        "are joined by it when rows of equal sort keys meet.",
    )
    for each in TABLES.values():
        yield f"## {each.name}\n"
        kept = f"kept {each.retention_days} days" if each.retention_days else "kept for ever"
        order = ", ".join(code(column) for column in each.order)
        yield f"{each.doc} Engine {code(each.engine)}, sorted by {order}; {kept}.\n"
        yield table(
            ("column", "type", "unit", "merge", "meaning"),
            (
                (code(row.name), code(row.type), row.unit, code(row.merge), row.doc)
                for row in each.columns
            ),
        )
        if each.aliases:
            yield "Computed when read:\n"
            yield table(
                ("column", "type", "meaning"),
                ((code(row.name), code(row.type), row.doc) for row in each.aliases),
            )
        if each.feeds:
            sources = " and ".join(code(feed.source) for feed in each.feeds)
            yield f"The store adds its rows itself, with those of {sources}.\n"


def metrics() -> Iterator[str]:
    """What `/metrics` counts."""
    yield title(
        "Metrics",
        "What is told in the Prometheus text format: by `serve` and `up` at `GET /metrics`, by "
        "`collect` and `pipeline` at the setting `process.metrics`.",
    )
    for heading, told in (("The service", METRICS), ("Collector, pipeline and store", STAGES)):
        yield f"## {heading}\n"
        yield table(
            ("metric", "kind", "labels", "meaning"),
            (
                (code(row.name), row.kind, ", ".join(code(label) for label in row.labels), row.doc)
                for row in told
            ),
        )


def command() -> Iterator[str]:
    """What can be typed."""
    group: Any = typer.main.get_command(cli.app)
    yield title("Command", "What can be typed. Options of `hopsight` itself stand before the verb.")
    for name, verb in verbs(group, "hopsight"):
        yield f"## {name}\n"
        yield f"{verb.help}\n"
        yield table(("word or option", "default", "meaning"), map(typed, verb.params))
    yield "## Exit codes\n"
    yield table(("code", "meaning"), ((each.value, doc) for each, doc in EXIT_CODES.items()))


def verbs(verb: Any, name: str) -> Iterator[tuple[str, Any]]:
    """A command and those behind it, as they are typed."""
    yield name, verb
    for each in getattr(verb, "commands", {}).values():
        yield from verbs(each, f"{name} {each.name}")


def typed(parameter: Any) -> tuple[str, str, str]:
    """An argument or an option as it is typed, its default, its meaning."""
    if parameter.param_type_name == "argument":
        return code(parameter.metavar), "", parameter.help
    words = [*parameter.opts, *([parameter.metavar] if parameter.metavar else [])]
    default = "" if parameter.default in (None, False) else parameter.default
    return code(" ".join(words)), code(default), parameter.help


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "observations": observations,
    "settings": settings,
    "parameters": parameters,
    "topology": topology,
    "store": store,
    "findings": findings,
    "filters": filters,
    "alerts": alerts,
    "metrics": metrics,
    "command": command,
    "api": api,
    **wire_pages(),
}


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {f"{name}.md": "\n".join(write()).strip() + "\n" for name, write in PAGES.items()}


def main() -> int:
    """Write the pages; with `--check` say which ones are stale, and fail."""
    wanted = {FOLDER / file: text for file, text in pages().items()}
    stale = {path: text for path, text in wanted.items() if text != present(path)}
    left = [path for path in FOLDER.rglob("*.md") if path not in wanted and path != OWN_INDEX]
    if sys.argv[1:] == ["--check"]:
        for path in (*stale, *left):
            sys.stderr.write(f"{path.relative_to(FOLDER)} is stale, run `make docs`\n")
        return 1 if stale or left else 0
    for path, text in stale.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    for path in left:
        path.unlink()
    return 0


def present(path: Path) -> str:
    """The page as it stands in the repository."""
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
