"""`hopsight dissect` and `analyze --slow-path`: what tshark adds to what the tables read."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collector import CollectorSettings, Frames, SlowPath, complete, write_pcapng
from service.failure import ExitCode

MACS = bytes.fromhex("020000000002020000000001")
CSIG = bytes.fromhex("99002b850800")
BACKBONE = bytes.fromhex("88e700000064")
"""A service tag of IEEE 802.1ah: no table here knows it, Wireshark does."""
ARP = MACS + bytes.fromhex("0806") + bytes(28)
START_NS = 1_770_000_000_000_000_000


def segment(payload: bytes, seq: int = 1000, ecn: int = 3) -> bytes:
    """A TCP segment of 10.0.0.1:40000 to 10.0.0.2:5001 in IPv4."""
    tcp = (
        bytes.fromhex("9c401389")
        + seq.to_bytes(4, "big")
        + bytes.fromhex("000007d05058100000000000")
    )
    ip = bytes([0x45, ecn]) + (40 + len(payload)).to_bytes(2, "big")
    return ip + bytes.fromhex("0007400040060000" + "0a000001" + "0a000002") + tcp + payload


def datagram(payload: bytes) -> bytes:
    """A UDP datagram of fd00::1 to fd00::2 in IPv6, from port 7 to port 9."""
    udp = bytes.fromhex("00070009") + (8 + len(payload)).to_bytes(2, "big") + b"\xab\xcd" + payload
    ends = bytes.fromhex("fd" + "00" * 14 + "01" + "fd" + "00" * 14 + "02")
    return bytes.fromhex("62000000") + len(udp).to_bytes(2, "big") + b"\x11\x21" + ends + udp


FRAMES = (
    MACS + CSIG + segment(b"known"),
    MACS + BACKBONE + MACS + bytes.fromhex("0800") + segment(b"unknown"),
    ARP,
    MACS + BACKBONE + MACS + CSIG + segment(b"both", seq=2000),
    MACS + BACKBONE + MACS + bytes.fromhex("86dd") + datagram(b"six"),
)


def frames_of(packets: Sequence[bytes], link: int = 1) -> Frames:
    """A run of whole frames."""
    sizes = np.array([len(packet) for packet in packets], np.int32)
    return Frames(
        data=np.frombuffer(b"".join(packets), np.uint8),
        offset=(np.cumsum(sizes) - sizes).astype(np.int64),
        captured=sizes,
        length=sizes,
        time_ns=START_NS + np.arange(len(packets), dtype=np.int64),
        link=np.full(len(packets), link, np.uint16),
        interface=np.zeros(len(packets), np.uint16),
        first=1,
    )


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Known and unknown frames."""
    path = tmp_path_factory.mktemp("dissect") / "mixed.pcapng"
    write_pcapng(path, ["leaf1:Ethernet4"], [frames_of(FRAMES)])
    return path


@pytest.fixture(scope="module")
def report(hopsight: Any, capture: Path, tool: Callable[..., str]) -> dict[str, Any]:
    """The machine shape of the first frame."""
    tool("tshark")
    ran = hopsight.here("dissect", str(capture), "1", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    read: dict[str, Any] = json.loads(ran.stdout)
    return read


def test_what_the_tag_means_is_told(report: dict[str, Any]) -> None:
    [said] = report["meaning"]
    assert said.startswith("CSIG tag: min(ABW")
    assert said.endswith("of which no topology tells")


def test_a_packet_has_its_place_and_size(report: dict[str, Any]) -> None:
    assert (report["frame"], report["point"], report["link"]) == (1, "leaf1:Ethernet4", 1)
    assert report["captured"] == report["length"] == len(FRAMES[0])
    assert report["time_ns"] == START_NS


def test_hopsight_says_header_by_header_what_it_read(report: dict[str, Any]) -> None:
    [reading] = report["hopsight"]
    assert reading["reason"] == "decoded"
    named = {header["name"]: header for header in reading["headers"]}
    assert list(named) == ["ethernet", "csig_compact", "ipv4", "tcp"]
    assert named["csig_compact"]["octets"] == "2b850800"
    assert named["csig_compact"]["octet"] == 14
    assert named["csig_compact"]["fields"] == {"t": 1, "r": 0, "s": 23, "lm": 5, "ethertype": 2048}
    assert reading["columns"]["csig_s"] == 23


def test_wireshark_reads_it_with_the_dissectors_of_hopsight(report: dict[str, Any]) -> None:
    layers = {layer["name"]: layer["fields"] for layer in report["wireshark"]}
    assert list(layers)[:4] == ["eth", "hopsight.csig", "ip", "tcp"]
    told = {field["name"]: field["value"] for field in layers["hopsight.csig"]}
    assert told["hopsight.csig.s"] == "23"
    assert told["hopsight.csig.lm"] == "5"


def test_people_get_lines_without_escapes_when_piped(hopsight: Any, capture: Path) -> None:
    shown = hopsight.here("dissect", str(capture), "1")
    assert shown.returncode == 0, shown.stderr
    assert "\x1b" not in shown.stdout
    for words in (
        "csig_compact  octet 14  2b850800", "t 1, r 0, s 23, lm 5", "hopsight.csig",
        "source 10.0.0.1, destination 10.0.0.2", "2026-02-02T02:40:00.000000000Z",
    ):  # fmt: skip
        assert words in shown.stdout


def test_a_frame_that_is_not_known_is_explained_as_well(hopsight: Any, capture: Path) -> None:
    shown = hopsight.here("dissect", str(capture), "2")
    assert "hopsight: unknown_ethertype" in shown.stdout
    assert "Source Port: 40000" in shown.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("6",), ExitCode.USAGE, "holds 5 frames, there is no frame 6"),
        (("0",), ExitCode.USAGE, "counted from 1"),
        (("one",), ExitCode.USAGE, "'FRAME'"),
    ],
)
def test_a_wrong_number_is_one_sentence(
    hopsight: Any, capture: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    ran = hopsight.here("dissect", str(capture), *words)
    assert ran.returncode == code
    assert said in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_file_that_cannot_be_read_is_one_sentence(hopsight: Any, tmp_path: Path) -> None:
    text = tmp_path / "note.pcap"
    text.write_text("no capture")
    for path in (text, tmp_path / "absent.pcap"):
        ran = hopsight.here("dissect", str(path), "1")
        assert ran.returncode == ExitCode.INPUT
        assert ran.stderr.startswith(f"hopsight: {path}: ")
        assert len(ran.stderr.splitlines()) == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", [("dissect", "1"), ("analyze", "--slow-path")])
def test_without_tshark_the_package_is_named(
    hopsight: Any, capture: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    words = hopsight.command(command[0], str(capture), *command[1:])
    environment = hopsight.environment | {"PATH": str(tmp_path)}
    ran = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == ExitCode.UNAVAILABLE
    assert "package tshark" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_frames_that_tshark_knows_become_observations(tool: Callable[..., str]) -> None:
    tool("tshark")
    decoder = SlowPath(CollectorSettings(), 100)
    rows = complete(decoder.decode(frames_of(FRAMES), ["tap"], "test"))
    assert rows["frame"].to_list() == [1, 2, 4, 5]
    assert decoder.accounting.slow_path == {"asked": 4, "found": 3, "left": 0}
    assert decoder.accounting.reasons == {"unknown_ethertype": 4}
    known, first, second, six = rows.to_dicts()
    for name in ("flow", "conversation", "src_lo", "dst_lo", "sport", "dport", "protocol", "flags",
                 "window", "ack", "ecn", "ttl", "ip_id", "direction"):  # fmt: skip
        assert first[name] == second[name] == known[name], name
    assert (known["status"], first["status"]) == (0, 3)
    assert (known["seq"], first["seq"], second["seq"]) == (1000, 1000, 2000)
    assert (known["payload_bytes"], first["payload_bytes"], second["payload_bytes"]) == (5, 7, 4)
    assert (six["sport"], six["dport"], six["protocol"], six["payload_bytes"]) == (7, 9, 17, 3)
    assert (six["src_hi"] >> 48, six["src_lo"], six["dst_lo"]) == (0xFD00, 1, 2)
    assert (six["dscp"], six["ttl"], six["seq"]) == (8, 33, None)


def test_an_unknown_link_type_is_asked_as_well(tool: Callable[..., str]) -> None:
    tool("tshark")
    decoder = SlowPath(CollectorSettings(), 100)
    frame_relay = bytes.fromhex("184103cc") + segment(b"relay")
    [row] = decoder.decode(frames_of([frame_relay], link=107), ["tap"], "test").to_dicts()
    assert (row["sport"], row["dport"], row["payload_bytes"]) == (40000, 5001, 5)
    assert decoder.accounting.reasons == {"unknown_link_type": 1}


def test_a_mirror_of_an_unknown_frame_tells_no_flow(tool: Callable[..., str]) -> None:
    tool("tshark")
    mirrored = bytes.fromhex("100088be00000001" + "1001000100000000") + ARP
    ip = bytes([0x45, 0]) + (20 + len(mirrored)).to_bytes(2, "big")
    frame = MACS + b"\x08\x00" + ip + bytes.fromhex("00070000402f00000a0000010a000002") + mirrored
    decoder = SlowPath(CollectorSettings(), 100)
    assert decoder.decode(frames_of([frame]), ["tap"], "test").height == 0
    assert decoder.accounting.slow_path == {"asked": 1, "found": 0, "left": 0}


def test_no_more_frames_are_asked_than_may_be(tool: Callable[..., str]) -> None:
    tool("tshark")
    decoder = SlowPath(CollectorSettings(), 3)
    for _ in range(2):
        decoder.decode(frames_of(FRAMES), ["tap"], "test")
    assert decoder.accounting.slow_path == {"asked": 3, "found": 2, "left": 5}


def test_analyze_says_what_the_slow_path_found(
    hopsight: Any, capture: Path, tool: Callable[..., str]
) -> None:
    tool("tshark")
    ran = hopsight.here("analyze", "--slow-path", "--json", str(capture))
    assert ran.returncode == 0, ran.stderr
    accounting = json.loads(ran.stdout)["accounting"]
    assert accounting["slow_path"] == {"asked": 4, "found": 3, "left": 0}
    assert accounting["seen"] == accounting["decoded"] + sum(accounting["reasons"].values()) == 5
    few = hopsight.here("analyze", "--slow-path", "--slow-path-frames", "1", str(capture))
    assert "tshark was asked 1 and knew 1, 3 left (--slow-path-frames)" in few.stdout
    assert "slow_path" not in hopsight.here("analyze", "--json", str(capture)).stdout
