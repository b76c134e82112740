"""Every command speaks to programs too."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from service import cli
from service.tokens import digest, parsed


def commands(group: TyperGroup, before: str = "") -> dict[str, TyperCommand]:
    """Every command that can be typed, by its words."""
    found: dict[str, TyperCommand] = {}
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            found |= commands(command, f"{before}{name} ")
        else:
            assert isinstance(command, TyperCommand)
            found[f"{before}{name}"] = command
    return found


def test_every_command_has_json() -> None:
    group = typer.main.get_command(cli.app)
    assert isinstance(group, TyperGroup)
    found = commands(group)
    lacking = {
        name
        for name, command in found.items()
        if not any("--json" in option.opts for option in command.params)
    }
    assert lacking == set()
    assert len(found) > 20


def told(hopsight: Any, *arguments: str) -> Any:
    """What a command says to a program."""
    done = hopsight.here(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_settings_are_checked(hopsight: Any, tmp_path: Path) -> None:
    assert told(hopsight, "settings", "--check")["usable"] is True
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[service]\nport = 70000\n")
    done = hopsight.here("--settings", str(wrong), "settings", "--check")
    assert (done.returncode, "service.port" in done.stderr) == (2, True)
    both = hopsight.here("settings", "--check", "--dump")
    assert (both.returncode, "one of them" in both.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("bus.url", "kafka://x", "an address is kafka://host:port/topic"),
        ("store.dsn", "ftp://x/y", "is no store address"),
        ("process.metrics", "1.2.3.4", "is not of the form HOST:PORT"),
    ],
)
def test_an_address_that_nobody_could_use_is_refused(
    hopsight: Any, tmp_path: Path, name: str, value: str, sentence: str
) -> None:
    group, _, key = name.partition(".")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(f'[{group}]\n{key} = "{value}"\n')
    done = hopsight.here("--settings", str(wrong), "settings", "--check")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{name}: " in done.stderr
    assert sentence in done.stderr


@pytest.mark.parametrize("kept", [True, False])
def test_a_token_is_told_once(hopsight: Any, tmp_path: Path, kept: bool) -> None:
    file = tmp_path / "tokens"
    made = told(hopsight, "token", "te", *(["--file", str(file)] if kept else []))
    line = file.read_text().strip() if kept else made["line"]
    assert made["token"] not in line
    assert (made["name"], made["scope"], "line" in made) == ("te", "read", not kept)
    assert parsed(line, "line 1").digest == digest(made["token"])


def test_nobody_takes_the_name_of_another(hopsight: Any, tmp_path: Path) -> None:
    """The audit log could not tell them apart; a new token of the same person is no other."""
    file = tmp_path / "tokens"
    file.write_text("no token")  # and no end of the line
    told(hopsight, "token", "te", "--tenants", "red,blue", "--file", str(file))
    rights = ("--tenants", "blue,red", "--file", str(file))
    again = hopsight.here("token", "te", *rights)
    assert (again.returncode, "te has another token" in again.stderr) == (0, True)
    wider = hopsight.here("token", "te", "--scope", "admin", *rights)
    assert (wider.returncode, wider.stdout) == (2, "")
    assert "te has another scope or other tenants" in wider.stderr
    assert len(file.read_text().splitlines()) == 3
    told(hopsight, "token", "te2", "--scope", "admin", *rights)


def test_to_say_what_would_be_done_makes_no_store(hopsight: Any, tmp_path: Path) -> None:
    store = ("--store", f"chdb://{tmp_path}/store")
    would = told(hopsight, "migrate", "--dry-run", *store)["statements"]
    assert not list(tmp_path.glob("store*"))
    assert told(hopsight, "migrate", *store)["statements"] == would
    assert not told(hopsight, "migrate", "--dry-run", *store)["statements"]


def test_what_a_backup_holds_comes_back(hopsight: Any, tmp_path: Path) -> None:
    store, other = (("--store", f"chdb://{tmp_path}/{name}") for name in ("store", "other"))
    assert told(hopsight, "migrate", *store)["statements"]
    assert told(hopsight, "migrate", *other)["statements"]
    folder = str(tmp_path / "kept")
    kept = told(hopsight, "backup", folder, *store)
    assert kept["folder"] == folder
    assert told(hopsight, "restore", folder, *other) == kept


def test_watch_says_a_line_a_look(hopsight: Any, served: Any) -> None:
    arguments = ("watch", "--store", served.dsn, "--window", "1m", "--every", "0.2", "--json")
    process = hopsight.start(*arguments)
    assert process.stdout is not None
    looks = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert looks[0] == looks[1]
    assert looks[0]["hops"]
    assert process.returncode == 0


def test_a_program_reads_which_port_was_free(hopsight: Any, tmp_path: Path) -> None:
    process = hopsight.start("serve", "--store", f"chdb://{tmp_path}/s", "--port", "0", "--json")
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]
    assert url.startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0
