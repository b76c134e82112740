"""`hopsight decode`: what each frame says, for people and for other programs."""

import json
import signal
import struct
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import pipeline
from collector import SCHEMA
from service.assigned import value_of
from service.failure import ExitCode
from service.observation_text import _plain, addressed
from service.text import printable

MACS = bytes(12)
CSIG = bytes.fromhex("99002b85")
ARP = MACS + bytes.fromhex("0806") + bytes(28)
START_S = 1_770_000_000
HEAVY = ("fastapi", "httpx", "chdb", "clickhouse_connect", "pyshark", "plotly", "rich", "aiokafka")
"""What decoding needs nothing of."""


def segment(number: int, tag: bytes = b"") -> bytes:
    """TCP of 10.0.0.1:40000 to 10.0.0.2:5001, with 100 octets more in each."""
    tcp = bytes.fromhex("9c401389") + struct.pack(">II", 100 * number, 7)
    ip = bytes.fromhex("4500008c00070000400600000a0000010a000002")
    return (
        MACS
        + tag
        + bytes.fromhex("0800")
        + ip
        + tcp
        + bytes.fromhex("5010040000000000")
        + bytes(100)
    )


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five segments, every second one tagged, then a frame that is no IP."""
    packets = [segment(number, CSIG * (number % 2)) for number in range(5)] + [ARP]
    records = (
        struct.pack("<IIII", START_S, number, len(packet), len(packet)) + packet
        for number, packet in enumerate(packets)
    )
    path = tmp_path_factory.mktemp("capture") / "small.pcap"
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    path.write_bytes(head + b"".join(records))
    return path


def test_each_observation_is_a_line_of_tabs_when_piped(hopsight: Any, capture: Path) -> None:
    result = hopsight.here("decode", str(capture))
    assert result.returncode == ExitCode.OK
    head, *lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert head == ["source", "point", "frame", "time", "flow", "layers", "observation"]
    assert [line[2] for line in lines] == ["1", "2", "3", "4", "5"]
    source, point, _, time, flow, layers, said = lines[1]
    assert (source, point) == ("small.pcap", "unknown")
    assert time == "2026-02-02T02:40:00.000001000Z"
    assert flow == "10.0.0.1:40000 → 10.0.0.2:5001 tcp"
    assert layers == "ethernet ipv4 tcp csig"
    assert {"csig_t=1", "csig_s=23", "csig_lm=5", "seq=100", "ack=7"} <= set(said.split())
    assert "csig" not in lines[0][6]


def test_how_the_frames_ended_goes_to_standard_error(hopsight: Any, capture: Path) -> None:
    result = hopsight.here("decode", str(capture))
    last = result.stderr.splitlines()[-1]
    assert last == "frames: 6 seen = 5 decoded + 1 unknown_ethertype"


def test_a_frame_that_ends_early_says_by_which_reason(hopsight: Any, tmp_path: Path) -> None:
    ip = bytes.fromhex("4500004e00070000401100000a0000010a000002")
    vxlan = bytes.fromhex("9c4012b5003a0000 0800000000000700")
    packet = MACS + bytes.fromhex("0800") + ip + vxlan + ARP
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    record = struct.pack("<IIII", START_S, 0, len(packet), len(packet))
    (tmp_path / "arp.pcap").write_bytes(head + record + packet)
    result = hopsight.here("decode", str(tmp_path / "arp.pcap"))
    assert result.returncode == ExitCode.OK, result.stderr
    assert result.stdout.rstrip().endswith(" status=unknown_ethertype")


def test_rows_are_json_objects_when_asked(hopsight: Any, capture: Path) -> None:
    result = hopsight.here("decode", str(capture), "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["seq"] for row in rows] == [0, 100, 200, 300, 400]
    assert [row["csig_s"] for row in rows] == [None, 23, None, 23, None]
    assert (rows[0]["src"], rows[0]["dst"]) == ("10.0.0.1", "10.0.0.2")
    assert all(isinstance(row["flow"], str) for row in rows)


def test_columns_a_condition_and_a_limit(hopsight: Any, capture: Path) -> None:
    options = ("--columns", "frame,csig_s,aecn_u", "--where", "csig_s > 3 OR seq = 400")
    result = hopsight.here("decode", str(capture), *options, "--limit", "2")
    assert result.stdout == "frame\tcsig_s\taecn_u\n2\t23\t\n4\t23\t\n"
    assert result.stderr.endswith("stopped at the limit of rows (--limit)\n")


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_files_hold_every_column(hopsight: Any, capture: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"out.{form}"
    result = hopsight.here("decode", str(capture), f"--{form}", str(path))
    assert (result.returncode, result.stdout) == (ExitCode.OK, "")
    rows = pl.read_parquet(path) if form == "parquet" else pl.read_ipc(path)
    assert rows.schema == SCHEMA
    assert rows["seq"].to_list() == [0, 100, 200, 300, 400]


def test_settings_of_the_collector_can_be_set(hopsight: Any, capture: Path) -> None:
    options = ("--set", "collector.tenant=blue", "--columns", "tenant", "--limit", "1")
    assert hopsight.here("decode", str(capture), *options).stdout == "tenant\nblue\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("23", 23), ("0x17", 23), ("-1", -1), ("1.5", 1.5), ("true", True), ("blue", "blue"),
        ('"7"', "7"), ("[0x9902, 7]", [0x9902, 7]), ("{ 2 = [1] }", {"2": [1]}), ("", ""),
        ("1\nb = 2", "1\nb = 2"), ("2026-01-01", "2026-01-01"), ("[" * 9999, "[" * 9999),
    ],
)  # fmt: skip
def test_a_value_is_written_as_in_a_settings_file_or_as_a_bare_word(
    text: str, value: object
) -> None:
    assert value_of(text) == value


def test_numbers_are_shown_to_six_digits_or_to_the_unit() -> None:
    frame = pl.DataFrame({"csig_low": [90_074_880.4, 0.12345678, -2_500_000.0, None]})
    assert frame.select(_plain(frame, "csig_low")).to_series().to_list() == [
        "90074880.0", "0.123457", "-2500000.0", None,
    ]  # fmt: skip


def test_names_of_strangers_do_not_steer_a_terminal(hopsight: Any, tmp_path: Path) -> None:
    name = b"eth\x1b[31m0\n\t\xe2\x80\xae.."
    octets = bytes.fromhex("0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000")
    packet = segment(0)
    blocks = (
        (1, struct.pack("<HHIHH", 1, 0, 0, 2, len(name)) + name),
        (6, struct.pack("<IIIII", 0, 0, 0, len(packet), len(packet)) + packet),
    )
    for kind, body in blocks:
        padded = body + bytes(-len(body) % 4)
        size = struct.pack("<I", len(padded) + 12)
        octets += struct.pack("<I", kind) + size + padded + size
    path = tmp_path / "named.pcapng"
    path.write_bytes(octets)
    printed = hopsight.here("decode", str(path)).stdout
    assert "\teth\ufffd[31m0\ufffd\ufffd\ufffd..\t1\t" in printed
    assert printable("eth\x1b[31m0\u202e") == "eth\ufffd[31m0\ufffd"


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_files_say_the_unit_and_the_meaning_of_each_column(
    hopsight: Any, capture: Path, tmp_path: Path, form: str
) -> None:
    path = tmp_path / f"out.{form}"
    assert hopsight.here("decode", str(capture), f"--{form}", str(path)).returncode == ExitCode.OK
    schema = pq.read_schema(path) if form == "parquet" else pa.ipc.open_file(path).schema
    told = {field.name: field.metadata for field in schema}
    assert set(told) == set(SCHEMA)
    assert told["h0_qlen_bytes"] == {
        b"unit": b"bytes",
        b"meaning": b"Hop 0: egress queue occupancy.",
    }
    assert told["csig_low"][b"unit"] == b"bit/s, ratio or ns"


def test_agents_are_shown_as_addresses() -> None:
    key = dict.fromkeys(("src_hi", "src_lo", "dst_hi", "dst_lo", "flow", "conversation"), [1] * 3)
    frame = pl.DataFrame(key | {"mirror_agent_lo": [0xFFFF_0A01_0203, None, 9]})
    assert addressed(frame)["mirror_agent"].to_list() == ["10.1.2.3", None, "::9"]
    wide = frame.with_columns(mirror_agent_hi=pl.Series([None, None, 0x20010DB8 << 32]))
    assert addressed(wide)["mirror_agent"].to_list() == ["10.1.2.3", None, "2001:db8::9"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
def test_output_that_does_not_fit_is_one_sentence(hopsight: Any, capture: Path) -> None:
    command = [*hopsight.command("decode", str(capture))]
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            cwd=hopsight.directory, env=hopsight.environment,
        )  # fmt: skip
    assert result.returncode == ExitCode.UNAVAILABLE
    assert "the output does not fit where it goes: no space left on device" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--columns", "csig_ss"), "did you mean csig_s?"),
        (("--where", "csig_ss > 1"), "no column is called 'csig_ss'"),
        (("--where", "csig_s >"), "--where 'csig_s >'"),
        (("--set", "tenant=blue"), "collector.NAME=VALUE"),
        (("--set", "collector.tenants=blue"), "did you mean collector.tenant?"),
        (("--parquet", "/nowhere/out.parquet"), "/nowhere/out.parquet: no such file"),
        (("--json", "--arrow", "out.arrow"), "only one of them"),
        (("--set", "collector.csig_compact_tpids=99"), "csig_compact_tpids: should be a list"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    hopsight: Any, capture: Path, options: tuple[str, ...], sentence: str
) -> None:
    result = hopsight.here("decode", str(capture), *options)
    assert result.returncode in {ExitCode.USAGE, ExitCode.UNAVAILABLE}
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("decode", "--parquet"), ("decode", "--arrow"), ("replay", "--output"),
        ("replay", "--report"), ("replay", "--pcapng"),
    ],
)  # fmt: skip
def test_what_is_read_is_not_written_over(
    hopsight: Any, capture: Path, tmp_path: Path, command: tuple[str, str]
) -> None:
    held = tmp_path / "held.pcap"
    held.write_bytes(capture.read_bytes())
    other = tmp_path / "other.html"
    other.symlink_to(held)
    verb, option = command
    result = hopsight.here(verb, str(held), option, str(other))
    assert result.returncode == ExitCode.USAGE
    assert f"{option} {other}: it is one of the captures" in result.stderr
    assert held.read_bytes() == capture.read_bytes()


def test_decoding_loads_only_what_it_needs(capture: Path) -> None:
    script = (
        "import sys, typer; from service.cli import app; from service.ending import ended; "
        f"ended(typer.main.get_command(app), ['decode', {str(capture)!r}]); "
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_every_name_of_a_room_is_there_and_comes_from_one_module() -> None:
    given = [name for names in pipeline.HOMES.values() for name in names.split()]
    assert sorted(given) == sorted(pipeline.__all__)
    modules = {name for name in given if isinstance(getattr(pipeline, name), ModuleType)}
    assert modules == set(pipeline.HOMES["cc"].split())
    with pytest.raises(AttributeError, match="nobody"):
        _ = pipeline.nobody


def test_a_capture_that_grows_is_followed_until_interrupted(capture: Path, tmp_path: Path) -> None:
    grows = tmp_path / "grows.pcap"
    octets = capture.read_bytes()
    cut = 24 + 2 * (16 + len(segment(0))) + len(CSIG)
    grows.write_bytes(octets[:cut])
    command = [sys.executable, "-m", "service.cli", "decode", "--follow", "--columns", "seq", grows]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        lines = [process.stdout.readline() for _ in range(3)]
        with grows.open("ab") as file:
            file.write(octets[cut:])
        lines += [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=60)[1]
    assert [line.strip() for line in lines] == ["seq", "0", "100", "200", "300", "400"]
    assert process.returncode == ExitCode.OK
    assert "6 seen = 5 decoded" in told
