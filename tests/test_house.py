"""The rules of the house that no linter knows."""

import ast
import importlib
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from collector.observation import SCHEMA
from pipeline import HOMES

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("collector", "pipeline", "replay", "service")
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
TEXTS = sorted(
    path
    for room in (*ROOMS, "docs", "benchmarks")
    for path in (ROOT / room).rglob("*")
    if path.suffix in {".py", ".sql", ".js", ".css", ".html"}
)
GRAB_BAGS = {"common", "helpers", "lib", "misc", "shared", "tools", "util", "utils"}
FOLDERS = {*ROOMS, ".ci", "benchmarks", "deploy", "docs", "tests"}
FILES = {".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile",
         "README.md", "constraints.txt", "pyproject.toml"}  # fmt: skip
MOST_LINES = 300
MOST_COLUMNS = 16
"""A literal that names more columns of the observation than this is a second list of them."""

CLOCKS = {"now", "utcnow", "today", "monotonic", "perf_counter", "time_ns", "uuid4", "urandom"}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), name(path))


@cache
def doors() -> set[str]:
    """Modules that may do I/O, as the import contract lists them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    ignored = (rule for contract in contracts for rule in contract.get("ignore_imports", ()))
    return {rule.split(" -> ")[0] for rule in ignored}


def imports(path: Path) -> Iterator[tuple[str, list[str]]]:
    """(module, names) of every import; names is empty for a plain `import module`."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)}:{node.lineno}: imports are absolute"
            yield node.module or "", [alias.name for alias in node.names]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_the_top_level_is_the_data_flow_and_the_usual_files() -> None:
    listed = subprocess.run(
        [shutil.which("git") or "git", "ls-files", "-z"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    top = {path.partition("/")[::2] for path in listed.rstrip("\0").split("\0")}
    assert {first for first, rest in top if rest} <= FOLDERS
    assert {first for first, rest in top if not rest} <= FILES


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_a_file_holds_one_subject(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_no_module_is_a_grab_bag() -> None:
    parts = {part for path in SOURCES for part in path.relative_to(ROOT).with_suffix("").parts}
    assert not parts & GRAB_BAGS


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_room_is_entered_through_its_front(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0]
    for module, names in imports(path):
        room, _, inside = module.partition(".")
        if room in ROOMS and room != own:
            assert names, f"write from {room} import the names that are used"
            assert not inside, f"{module} is another room's inside; {room} offers what is public"
            assert set(names) <= set(importlib.import_module(room).__all__)


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_observation_columns_are_listed_once(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            items = node.keys if isinstance(node, ast.Dict) else node.elts
            named = {item.value for item in items if isinstance(item, ast.Constant)}
            assert len(named & set(SCHEMA)) <= MOST_COLUMNS, f"line {node.lineno}"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_only_doors_read_clocks_and_chance_is_seeded(path: Path) -> None:
    module = name(path).removesuffix(".py").replace("/", ".")
    free = module in doors() or module.startswith("service.")
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert free or node.func.attr not in CLOCKS, f"line {node.lineno}"
            assert node.func.attr != "default_rng" or node.args, f"line {node.lineno}: no seed"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_what_is_silenced_says_why(path: Path) -> None:
    code = r"[A-Z]+[0-9]+"
    silent = re.compile(
        rf"# (noqa|type: ignore)(?!: {code}(, {code})*\W+[a-z]|\[[a-z-, ]+\]\W+[a-z])"
    )
    lines = path.read_text().splitlines()
    assert [line for line in lines if silent.search(line)] == []


def test_changelog_lines_begin_with_their_room() -> None:
    for line in (ROOT / "CHANGELOG.md").read_text().splitlines():
        if line.startswith("- "):
            assert re.match(rf"- \*({'|'.join(ROOMS)}|docs|house)\*: [a-zA-Z]", line), line


def test_no_module_has_the_name_of_what_its_room_gives() -> None:
    # Once it is imported the room's attribute is the module, whoever asks for the name.
    assert not [name for home, names in HOMES.items() for name in names.split() if name in HOMES]
