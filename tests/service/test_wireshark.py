"""`hopsight wireshark`: dissectors land where Wireshark loads them, and nothing else is lost."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.failure import ExitCode


@pytest.fixture(scope="module")
def printed(hopsight: Any) -> str:
    """The script."""
    ran = hopsight.run("wireshark", "print")
    assert (ran.returncode, ran.stderr) == (0, "")
    script: str = ran.stdout
    return script


def test_the_script_is_loaded_by_tshark_without_a_word(
    printed: str, tool: Callable[..., str], tmp_path: Path
) -> None:
    script = tmp_path / "hopsight.lua"
    script.write_text(printed)
    command = [tool("tshark"), "-G", "fields", "-X", f"lua_script:{script}"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "lua" not in ran.stderr.lower()
    names = {line.split("\t")[2] for line in ran.stdout.splitlines() if "\thopsight." in line}
    assert {"hopsight.csig.s", "hopsight.csig.lm", "hopsight.int_md.hop.node"} <= names
    assert {"hopsight.truncated", "hopsight.int_unknown_version"} <= names


def test_settings_are_preferences(printed: str, tool: Callable[..., str], tmp_path: Path) -> None:
    script = tmp_path / "hopsight.lua"
    script.write_text(printed)
    command = [tool("tshark"), "-G", "currentprefs", "-X", f"lua_script:{script}"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in (
        "csig_compact_tpids",
        "csig_layout",
        "csig_echo_kind",
        "int_udp_ports",
        "int_dscp",
    ):
        assert f"hopsight.{name}:" in ran.stdout


def test_the_script_is_written_once_and_then_kept_up_to_date(
    hopsight: Any, tmp_path: Path, printed: str
) -> None:
    place = tmp_path / "new" / "folder"
    first = hopsight.here("wireshark", "install", "--to", str(place))
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith(f"{place}/hopsight.lua: written")
    assert (place / "hopsight.lua").read_text() == printed
    assert "up to date" in hopsight.here("wireshark", "install", "--to", str(place)).stdout
    told = json.loads(hopsight.here("wireshark", "install", "--to", str(place), "--json").stdout)
    size = {"lines": len(printed.splitlines()), "octets": len(printed.encode())}
    path = str(place / "hopsight.lua")
    assert told == {"path": path, "outcome": "already up to date", **size}
    script = json.loads(hopsight.here("wireshark", "print", "--json").stdout)
    assert script == {"name": "hopsight.lua", **size, "script": printed}
    (place / "hopsight.lua").write_text(printed + "-- changed\n")
    assert "replaced" in hopsight.here("wireshark", "install", "--to", str(place)).stdout
    assert (place / "hopsight.lua").read_text() == printed


def test_settings_in_force_are_written_into_the_script(hopsight: Any, tmp_path: Path) -> None:
    settings = tmp_path / "site.toml"
    settings.write_text("[collector]\ncsig_compact_tpids = [0x1234]\n")
    ran = hopsight.here("--settings", str(settings), "wireshark", "print")
    assert '{4660, "csig_compact"}' in ran.stdout


def test_wireshark_itself_says_where_its_plugins_are(
    hopsight: Any, tool: Callable[..., str], tmp_path: Path
) -> None:
    tool("tshark")
    environment = hopsight.environment | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    command = hopsight.command("wireshark", "install")
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    written = list(tmp_path.rglob("hopsight.lua"))
    assert [str(path) for path in written] == [ran.stdout.partition(": ")[0]]
    listed = subprocess.run(
        ["tshark", "-G", "plugins"], capture_output=True, text=True, check=True, env=environment
    )
    assert "hopsight.lua" in listed.stdout


def test_a_file_of_somebody_else_is_left_alone(hopsight: Any, tmp_path: Path) -> None:
    place = tmp_path / "hopsight.lua"
    place.write_text("-- mine\n")
    ran = hopsight.here("wireshark", "install", "--to", str(tmp_path))
    assert ran.returncode == ExitCode.UNAVAILABLE
    assert "not written by hopsight" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert place.read_text() == "-- mine\n"


def test_a_folder_that_cannot_be_made_is_one_sentence(hopsight: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = hopsight.here("wireshark", "install", "--to", str(tmp_path / "file"))
    assert ran.returncode == ExitCode.UNAVAILABLE
    assert len(ran.stderr.splitlines()) == 1


def test_without_tshark_a_folder_must_be_named(hopsight: Any, tmp_path: Path) -> None:
    environment = hopsight.environment | {"PATH": str(tmp_path)}
    command = hopsight.command("wireshark", "install")
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == ExitCode.UNAVAILABLE
    assert "--to DIR" in ran.stderr
    assert os.linesep.join(ran.stderr.splitlines()) == ran.stderr.strip()


def test_what_is_no_file_is_neither_read_nor_replaced(hopsight: Any, tmp_path: Path) -> None:
    (tmp_path / "hopsight.lua").symlink_to("/dev/zero")
    ran = hopsight.here("wireshark", "install", "--to", str(tmp_path))
    assert ran.returncode == ExitCode.UNAVAILABLE
    assert ran.stderr.count("\n") == 1
    assert "is not a file" in ran.stderr


def test_a_missing_command_is_named_missing(hopsight: Any) -> None:
    ran = hopsight.here("wireshark")
    assert ran.returncode == ExitCode.USAGE
    assert ran.stderr == "hopsight: a command is missing; see `hopsight wireshark --help`\n"
