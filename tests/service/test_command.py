"""The command: the same answers as the API, one sentence for each error, documented exit codes."""

import inspect
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
import typer

from pipeline import Store, files_of_before
from service import cli
from service.evidence_text import command as opening
from service.evidence_text import opened
from service.failure import EXIT_CODES, ExitCode

ENDS = ("10.0.1.1:40001", "10.0.2.1:5001")
PAYLOAD = 1000
START_NS = 1_770_000_000_000_000_000


def test_where_says_the_same_as_the_api_while_serve_owns_the_store(
    hopsight: Any, served: Any
) -> None:
    asked = hopsight.run("where", *ENDS, "--store", served.dsn, "--json")
    assert (asked.returncode, asked.stderr) == (0, "")
    ends = {"src": ENDS[0], "dst": ENDS[1]}
    answer = served.get("/api/v1/flows/bottleneck", **ends, frames=True).json()
    assert json.loads(asked.stdout) == answer
    shown = hopsight.run("where", *ENDS, "--store", served.dsn)
    assert answer["verdict"]["sentence"] in shown.stdout
    assert f" {answer['history'][1]['sentence']} " in shown.stdout
    assert answer["history"][1]["sentence"].startswith("moved from leaf2 Ethernet4 to leaf1")
    assert [each["title"] for each in answer["signals"]] == ["INT"]


def test_where_says_how_to_open_the_packets_of_its_evidence() -> None:
    """Of a capture by a command, of an interface by its number; a message of a bus is named."""
    run = {"source": "tap 1.pcap.zst", "point": "leaf1:E1", "first": 3, "last": 90, "telling": 7}
    live = {
        "source": "mirror0",
        "first": 8,
        "telling": 8,
        "message": {"place": "rows/3", "offset": 12},
    }
    assert opening(run) == "hopsight dissect 'tap 1.pcap.zst' 7"
    assert opening(live) == "frame 8 of mirror0, message 12 of rows/3"
    piece = {"signal": "csig_delay", "frames": [run]}
    answer = {"evidence": [piece, piece | {"signal": "ecn", "frames": []}],
              "signals": [{"signal": "csig_delay", "title": "max(PD)"}]}  # fmt: skip
    assert [line.plain for line in opened(answer)] == [f"  open max(PD): {opening(run)}"]


def test_where_on_a_flow_that_was_not_seen(hopsight: Any, served: Any) -> None:
    asked = hopsight.here("where", "10.0.1.1:1", ENDS[1], "--store", served.dsn)
    assert asked.returncode == ExitCode.WRONG
    assert "flows seen between these addresses: 10.0.1.1:40001" in asked.stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize("network", [("--vni", "7"), ("--tenant", "blue"), ("--vrf", "red")])
def test_where_asks_for_the_flow_of_one_network(
    hopsight: Any, served: Any, network: tuple[str, str]
) -> None:
    name, value = network
    for place in (("--store", served.dsn), ("--server", served.url)):
        other = hopsight.here("where", *ENDS, *network, *place)
        assert other.returncode == ExitCode.WRONG
        assert f"no {name[2:]} instead of {name[2:]} {value}" in other.stderr


def test_analyze_stores_while_serve_owns_the_store_and_only_once(
    hopsight: Any, serve: Callable[[str], Any], capture: Path, tmp_path: Path
) -> None:
    service = serve(f"chdb://{tmp_path}/store")
    try:
        for _ in range(2):
            done = hopsight.run("analyze", str(capture), "--store", service.dsn, "--json")
            assert (done.returncode, done.stderr) == (0, "")
            report = json.loads(done.stdout)
            assert report["accounting"] == {"seen": 100, "decoded": 100, "reasons": {}}
        [flow] = report["flows"]
        assert (flow["src"], flow["sport"], flow["dst"], flow["dport"]) == (
            "10.7.0.1", 40000, "10.7.0.2", 5001,
        )  # fmt: skip
        ends = {"src": "10.7.0.1:40000", "dst": "10.7.0.2:5001"}
        answer = service.get("/api/v1/flows/bottleneck", **ends).json()
        assert answer["verdict"]["kind"] == flow["bottleneck"]["kind"]
        signals = service.get("/api/v1/flows/signals", **ends).json()
    finally:
        service.stop()
    assert signals["times_ns"] == [START_NS]
    # Stored twice, the rate would have doubled.
    assert signals["signals"]["rate_bps"] == [50 * PAYLOAD * 8 * 10]


def test_a_second_serve_says_who_owns_the_store(hopsight: Any, served: Any) -> None:
    second = hopsight.run("serve", "--store", served.dsn, "--port", "0")
    assert second.returncode == ExitCode.STORE
    assert f"process {served.process.pid}" in second.stderr
    assert served.url in second.stderr


def test_serve_ends_on_interrupt_and_gives_the_store_up(
    tmp_path: Path, serve: Callable[[str], Any]
) -> None:
    service = serve(f"chdb://{tmp_path}/store")
    assert (tmp_path / "store.owner.json").exists()
    service.process.send_signal(signal.SIGHUP)  # reads all again, and ends nothing
    assert service.get("/healthz").status_code == 200
    assert service.stop() == ExitCode.OK
    assert not (tmp_path / "store.owner.json").exists()


def test_a_taken_port_is_named(hopsight: Any, served: Any, tmp_path: Path) -> None:
    port = served.url.rpartition(":")[2]
    taken = hopsight.run("serve", "--store", f"chdb://{tmp_path}/store", "--port", port)
    assert taken.returncode == ExitCode.UNAVAILABLE
    assert taken.stderr.startswith(f"hopsight: service.port: 127.0.0.1:{port} is not free")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["where", "10.0.0.1", "10.0.0.2:1"], ExitCode.USAGE, "SRC:PORT: '10.0.0.1' is not ADDR"),
        (["where", "10.0.0.1:1", "x:1"], ExitCode.USAGE, "DST:PORT: 'x' is not an IP address"),
        (["where", *ENDS, "--proto", "ip"], ExitCode.USAGE, "--proto: 'ip' is not a protocol"),
        (["where", *ENDS, "--at", "noon"], ExitCode.USAGE, "--at: 'noon' is not a time"),
        (["where", *ENDS, "--window", "5"], ExitCode.USAGE, "--window: '5' is not a duration"),
        (["where", *ENDS, "--store", "ftp://x"], ExitCode.STORE, "accepted: chdb:///absolute"),
        (["where", *ENDS, "--store", "/nowhere/s"], ExitCode.STORE, "there is no store at"),
        (["where"], ExitCode.USAGE, "Missing argument"),
        (["serve", "--host", "0.0.0.0"], ExitCode.USAGE, "service.host: '0.0.0.0' can be reached"),  # noqa: S104 refused is what is tested
        (["serve", "--port", "70000"], ExitCode.USAGE, "--port"),
        (["analyze", "/nowhere.pcap"], ExitCode.INPUT, "/nowhere.pcap: no such file"),
        (["--settings", "/none.toml", "settings"], ExitCode.USAGE, "--settings /none.toml: there"),
        (["--settings", "/", "settings"], ExitCode.USAGE, "--settings /: is a directory"),
        (["analyze", "--filter", "udp", "a.pcap"], ExitCode.USAGE, "--filter: of --interface"),
        (["top", "--wide"], ExitCode.USAGE, "see `hopsight top --help`"),
        (["where", *ENDS, "--server", "http://h:99999"], ExitCode.USAGE, "is not http://HOST"),
        (["where", *ENDS, "--server", "http://"], ExitCode.USAGE, "is not http://HOST"),
        (["dissect", "a.pcap", "one"], ExitCode.USAGE, "'FRAME': should be a valid integer"),
        (["spans", *ENDS, "--send", "foo"], ExitCode.USAGE, "--send 'foo' is not http://HOST"),
        (["token", "a b"], ExitCode.USAGE, "NAME: has other signs"),
        (["token", "a", "--scope", "root"], ExitCode.USAGE, "--scope: is none of read, operate"),
        (["token", "a", "--tenants", "a, b"], ExitCode.USAGE, "--tenants: should be *"),
        (["token", "a", "--expires", "soon"], ExitCode.USAGE, "--expires: is no time"),
        (["token", "a", "--expires", "2020-01-01"], ExitCode.USAGE, "--expires: 2020-01-01 is"),
        (["spans", "10.0.0.1", "10.0.0.2:1"], ExitCode.USAGE, "SRC:PORT: '10.0.0.1' is not ADDR"),
        (["spans", *ENDS, "--traceparent", "x"], ExitCode.USAGE, "--traceparent: is no trace"),
        (["export", "--anonymised", "--from", "2", "--to", "1"], ExitCode.USAGE, "--to: is not"),
        (["watch", "--every", "inf"], ExitCode.USAGE, "'--every': should be less than"),
        (["alerts", "silence", "a=b", "a=c"], ExitCode.USAGE, "a is given twice"),
        (["alerts", "silence", "=x"], ExitCode.USAGE, "'=x': a label has a name"),
        (["dance"], ExitCode.USAGE, "No such command"),
        (["where", *ENDS, "--colour"], ExitCode.USAGE, "No such option"),
    ],
)
def test_an_error_is_one_sentence(
    arguments: list[str],
    code: ExitCode,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOPSIGHT_SETTINGS", "")
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    said = capsys.readouterr().err
    assert ended.value.code == code
    assert said.startswith("hopsight: ")
    assert said.count("\n") == 1
    assert sentence in said


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
@pytest.mark.parametrize("command", ["where", "spans"])
def test_authorities_that_cannot_be_read_are_named(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    variable: str,
    command: str,
) -> None:
    monkeypatch.setenv("HOPSIGHT_SETTINGS", "")
    for path, why in ((tmp_path / "gone.pem", "no such file or directory"), (Path(__file__), "")):
        monkeypatch.setenv(variable, str(path))
        with pytest.raises(SystemExit) as ended:
            cli.main([command, *ENDS, "--server", "https://localhost:1"])
        said = capsys.readouterr().err
        assert (ended.value.code, said.count("\n")) == (ExitCode.UNAVAILABLE, 1)
        if variable == "SSL_CERT_FILE":
            assert f"SSL_CERT_FILE={path} cannot be read: {why}" in said


def test_help_comes_without_loading_the_engines(hopsight: Any) -> None:
    done = hopsight.run("--help")
    assert done.returncode == 0
    for command in ("demo", "analyze", "where", "replay", "serve", "settings"):
        assert command in done.stdout
    probe = (
        "import service.cli, sys; print(*{'numba', 'polars', 'fastapi', 'chdb'} & set(sys.modules))"
    )
    loaded = subprocess.run(
        [*hopsight.command()[:1], "-c", probe],
        capture_output=True, text=True, check=True,
        cwd=hopsight.directory, env=hopsight.environment,
    )  # fmt: skip
    assert loaded.stdout.strip() == ""


def every_help(command: click.Command, path: str = "hopsight") -> Iterator[tuple[str, str]]:
    """What help says of each command and of what can be typed behind it, by name."""
    yield path, inspect.cleandoc(command.help or "")
    for each in command.params:
        yield f"{path} {each.name}", getattr(each, "help", None) or ""
    for name, one in getattr(command, "commands", {}).items():
        yield from every_help(one, f"{path} {name}")


def test_no_help_breaks_a_line_inside_a_sentence() -> None:
    """Of all but the first paragraph the lines stay as they are written."""
    told = dict(every_help(typer.main.get_command(cli.app)))
    assert "Ctrl-C" in told["hopsight up"]
    for name, text in told.items():
        assert text or name == "hopsight", f"{name} has no help"
        assert all("\n" not in part for part in text.split("\n\n")), name
        assert "above" not in text, f"{name}: nothing stands above it"


def test_a_reader_that_leaves_is_no_error(hopsight: Any) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        hopsight.command("settings", "--dump"),
        stdout=write, stderr=subprocess.PIPE, text=True, check=False,
        cwd=hopsight.directory, env=hopsight.environment,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_a_locale_cannot_write_costs_no_answer(
    hopsight: Any, served: Any, encoding: str
) -> None:
    done = subprocess.run(
        hopsight.command("where", *ENDS, "--store", served.dsn),
        capture_output=True, check=False, cwd=hopsight.directory,
        env=hopsight.environment | {"PYTHONIOENCODING": encoding},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"10.0.1.1:40001 ? 10.0.2.1:5001" in done.stdout


def test_a_fault_of_our_own_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> int:
        raise RuntimeError("surprise")

    monkeypatch.setattr(cli, "ended", broken)
    monkeypatch.delenv("PYTHONDEVMODE", raising=False)
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == ExitCode.INTERNAL
    assert "surprise" in capsys.readouterr().err


def test_every_exit_code_is_documented() -> None:
    assert set(EXIT_CODES) == set(ExitCode)
    assert all(f"{code.value} {meaning}" in cli.EPILOG for code, meaning in EXIT_CODES.items())


def test_the_world_is_what_the_tests_say(world: ModuleType) -> None:
    assert world.load(2, 0, 1) > 1 > world.load(2, world.INTERVALS - 1, 1)


def test_replay_runs_an_algorithm_that_packets_do_not_show(hopsight: Any) -> None:
    capture = str(Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst")
    asked = ("replay", capture, "--algorithm", "swift", "--set", "swift.base_target_ns=300000")
    done = hopsight.run(*asked, "--json", "--explain")
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout.splitlines()[0])
    assert (first["algorithm"], first["branch"]) == ("swift", "increase")
    assert first["cwnd"] == 10.1
    assert first["sentence"].endswith(" for each packet acked = 10.1 packets, 10 before")
    assert {json.loads(line)["algorithm"] for line in done.stdout.splitlines()} == {"swift"}
    wrong = hopsight.here(*asked, "--set", "swift.nothing=1")
    assert wrong.returncode == ExitCode.USAGE
    assert "no parameter is called 'swift.nothing'" in wrong.stderr


@pytest.mark.parametrize("value", ['["cubic"]', "cubic"])
def test_a_companion_that_is_none_is_refused(
    value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOPSIGHT_PIPELINE__COMPANIONS", value)
    with pytest.raises(SystemExit) as ended:
        cli.main(["settings"])
    assert ended.value.code == ExitCode.USAGE
    assert "pipeline.companions: " in capsys.readouterr().err


def test_what_is_erased_is_in_no_file_of_before(
    hopsight: Any, capture: Path, tmp_path: Path
) -> None:
    dsn = f"chdb://{tmp_path}/store"
    assert hopsight.here("analyze", str(capture), "--store", dsn).returncode == 0
    with Store(dsn) as store, store.alone() as connection:
        [(word,)] = connection.rows("SELECT min(src_lo) FROM flows WHERE src_hi = 0")
    address = str(ip_address(int(word) & 0xFFFFFFFF))
    told = hopsight.run("erase", address, "--store", dsn)
    assert (told.returncode, told.stderr) == (0, "")
    assert ": 0 rows erased from" not in told.stdout.splitlines()[-1]
    with Store(dsn) as store:
        assert files_of_before(store) == 0


@pytest.mark.parametrize("words", [("erase", "1.2.3.4"), ("backup", "{}/copy")])
def test_a_store_whose_name_is_wrong_is_not_made(
    hopsight: Any, tmp_path: Path, words: tuple[str, str]
) -> None:
    place = tmp_path / "nothing"
    told = hopsight.here(words[0], words[1].format(tmp_path), "--store", f"chdb://{place}")
    assert told.returncode == ExitCode.STORE
    assert f"there is no store at chdb://{place}" in told.stderr
    assert not place.exists()


def test_what_is_no_backup_leaves_no_store_behind(hopsight: Any, tmp_path: Path) -> None:
    place = tmp_path / "nothing"
    told = hopsight.here("restore", str(tmp_path), "--store", f"chdb://{place}")
    assert told.returncode == ExitCode.STORE
    assert "is no backup: manifest.json there: No such file or directory" in told.stderr
    assert not place.exists()


def test_a_demo_where_nothing_can_be_written_says_so(hopsight: Any) -> None:
    told = hopsight.here("demo", "--once", "--directory", "/proc/demo")
    assert told.returncode == ExitCode.UNAVAILABLE
    assert told.stderr.startswith("hopsight: /proc/demo: ")
