"""Documentation cannot rot: pages are what the tables say, links lead somewhere, commands exist."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from pipeline import COMPANIONS, companion_fields
from service import cli
from service.settings import load, rows

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PRINTED = ROOT / "docs" / "benchmarks.md"
"""What benchmarks printed."""
WRITTEN = [page for page in PAGES if "reference" not in page.parts and page != PRINTED]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def commands(text: str) -> Iterator[list[str]]:
    """Words after `hopsight` of every command line in a code block, comments left out."""
    for block in re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            words = (
                shlex.split(line.removeprefix("$ "), comments=True) if "hopsight" in line else []
            )
            if words and words[0] == "hopsight":
                yield words[1 : words.index("|")] if "|" in words else words[1:]


def test_reference_pages_are_what_the_tables_say() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_commands_can_be_typed(page: Path) -> None:
    group: Any = typer.main.get_command(cli.app)
    own = {word for parameter in group.params for word in parameter.opts}
    for words in commands(page.read_text()):
        verb = next((word for word in words if word in group.commands), None)
        assert verb or own & set(words), f"no command in: hopsight {' '.join(words)}"
        command = group.commands[verb]
        inner = getattr(command, "commands", {})
        command = next((inner[word] for word in words if word in inner), command)
        known = {word for parameter in command.params for word in parameter.opts}
        typed = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert typed <= known | own, f"hopsight {' '.join(words)}"


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_settings_that_are_named_exist(page: Path) -> None:
    known = {setting for setting, _, _, _ in rows()}
    named = re.findall(r"`((?:collector|pipeline|store|service)\.[a-z_0-9]+)`", page.read_text())
    modules = {path.stem for room in ("collector", "pipeline") for path in (ROOT / room).iterdir()}
    assert {each for each in named if each.split(".")[1] not in modules} <= known


def test_shipped_settings_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPSIGHT_SETTINGS", str(ROOT / "deploy" / "settings.toml"))
    assert load().store.dsn == "chdb:///var/lib/hopsight/store"


def test_every_command_has_a_recipe() -> None:
    group: Any = typer.main.get_command(cli.app)
    shown = {word for page in WRITTEN for words in commands(page.read_text()) for word in words}
    assert set(group.commands) <= shown


def test_the_recipe_names_every_companion_and_each_of_its_fields() -> None:
    page = (ROOT / "docs" / "how-to" / "companions.md").read_text()
    named = set(re.findall(r"`([A-Za-z_0-9]+)`", page))
    assert {
        *COMPANIONS,
        *(field for name in COMPANIONS for field in companion_fields(name)),
    } <= named
