"""Captures that Wireshark's own tools cut, merge and convert are read as tshark reads them."""

import os
import struct
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from collector import Frames, open_capture, write_pcapng

Tool = Callable[..., str]

START_NS = 1_700_000_000_123_456_789
POINTS = [f"leaf{number}:Ethernet{number * 4}" for number in range(40)]
LINKS = {"ethernet": 1, "ppp": 9, "null": 0, "raw": 101, "sll": 113, "sll2": 276, "ipv4": 228}


def frames(count: int, seed: int) -> Frames:
    """Frames with random bytes, sizes and points, one after the other in time."""
    draw = np.random.default_rng(seed)
    captured = draw.integers(60, 1500, count, dtype=np.int32)
    data = draw.integers(0, 256, int(captured.sum()), dtype=np.uint8)
    return Frames(
        data=data,
        offset=np.cumsum(captured, dtype=np.int64) - captured,
        captured=captured,
        length=captured,
        time_ns=START_NS + np.cumsum(draw.integers(0, 2**33, count)),
        link=np.ones(count, np.uint16),
        interface=draw.integers(0, len(POINTS), count).astype(np.uint16),
        first=1,
    )


def pcap(path: Path, link: int, count: int = 9) -> Path:
    """A pcap file of another link type, cut at 40 octets."""
    octets = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 40, link)
    for number in range(count):
        seconds, sizes = 1_700_000_000 + number * 7, (40, 100 + number)
        octets += struct.pack("<IIII", seconds, number, *sizes) + bytes([number]) * 40
    path.write_bytes(octets)
    return path


Row = tuple[int, int, int, int]
"""number, time_ns, captured, length"""


def mine(path: Path) -> tuple[list[Row], list[str]]:
    """What the collector says of each frame, and its point."""
    rows: list[Row] = []
    points: list[str] = []
    with open_capture(path) as capture:
        for run in capture.chunks(700):
            columns = (run.time_ns.tolist(), run.captured.tolist(), run.length.tolist())
            numbers = range(run.first, run.first + len(run))
            rows += zip(numbers, *columns, strict=True)
            points += [capture.points[point] for point in run.interface]
    assert capture.reasons == {}
    return rows, points


def theirs(tool: Tool, path: Path) -> tuple[list[Row], list[str]]:
    """What tshark says of them; a pcap file has one interface without a name."""
    fields = ("number", "time_epoch", "cap_len", "len", "interface_name")
    command = [tool("tshark"), "-n", "-r", str(path), "-T", "fields"]
    for protocol in ("eth", "ppp", "null", "raw", "sll", "ip", "ipv6"):
        command += ["--disable-protocol", protocol]
    command += [part for field in fields for part in ("-e", f"frame.{field}")]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    split = [line.split("\t") for line in lines]
    rows = [(int(a), int(Decimal(b) * 10**9), int(c), int(d)) for a, b, c, d, _ in split]
    return rows, [point or "unknown" for *_, point in split]


def check(tool: Tool, path: Path, count: int) -> list[str]:
    """Both agree on every frame, of which there are `count`; the points."""
    rows, points = mine(path)
    assert len(rows) == count
    assert (rows, points) == theirs(tool, path)
    return points


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_pcapng("x", POINTS, [frames(2000, 1)])


def run(tool: Tool, name: str, *arguments: str) -> None:
    # What they say about a damaged or unsorted file is no failure.
    environment = os.environ | {"LC_ALL": "C"}
    subprocess.run([tool(name), *arguments], check=True, capture_output=True, env=environment)


EDITS = {
    "cut": ["-s", "40"],
    "cut_to_nothing": ["-s", "1"],
    "chopped": ["-C", "14", "-L"],
    "shifted": ["-t", "-86400.123456789"],
    "to_1970": ["-t", "-1700000000"],
    "commented": ["-a", "5:something to say", "--capture-comment", "of a capture"],
    "microseconds": ["-F", "pcap"],
    "nanoseconds": ["-F", "nsecpcap"],
    "modified": ["-F", "modpcap"],
    "cut_nanoseconds": ["-F", "nsecpcap", "-s", "100"],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("edit", EDITS)
def test_what_editcap_makes(edit: str, tool: Tool) -> None:
    if edit in {"microseconds", "nanoseconds", "modified", "cut_nanoseconds"}:
        write_pcapng("x", POINTS[:1], [one_point(frames(2000, 1))])
    run(tool, "editcap", *EDITS[edit], "x", "y")
    check(tool, Path("y"), 2000)


def one_point(frames: Frames) -> Frames:
    """The same frames, all at the first point."""
    frames.interface[:] = 0
    return frames


def test_frames_that_editcap_selects(tool: Tool) -> None:
    run(tool, "editcap", "-r", "x", "y", "17-1000", "1500")
    check(tool, Path("y"), 985)


def test_secrets_that_editcap_puts_in_are_passed_over(tool: Tool) -> None:
    Path("keys").write_text("CLIENT_RANDOM " + "ab" * 32 + " " + "cd" * 48 + "\n")
    run(tool, "editcap", "--inject-secrets", "tls,keys", "x", "y")
    assert Path("y").stat().st_size > Path("x").stat().st_size
    assert set(check(tool, Path("y"), 2000)) == set(POINTS)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", ["none", "all", "any"])
def test_what_mergecap_makes_of_captures_of_many_points(mode: str, tool: Tool) -> None:
    for seed in (2, 3):
        write_pcapng(str(seed), POINTS, [frames(1000, seed)])
    run(tool, "mergecap", "-I", mode, "-w", "y", "x", "2", "3")
    assert set(check(tool, Path("y"), 4000)) == set(POINTS)


def test_what_mergecap_makes_of_link_types(tool: Tool) -> None:
    paths = [str(pcap(Path(name), link)) for name, link in LINKS.items()]
    run(tool, "mergecap", "-a", "-w", "y", *paths)
    check(tool, Path("y"), 9 * len(LINKS))
    with open_capture("y") as capture:
        links = [link for run in capture.chunks() for link in run.link.tolist()]
    assert links == [link for link in LINKS.values() for _ in range(9)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("link", LINKS)
def test_files_of_a_link_type(link: str, tool: Tool) -> None:
    check(tool, pcap(Path("y"), LINKS[link]), 9)


def test_sections_one_behind_the_other(tool: Tool) -> None:
    octets = Path("x").read_bytes()
    Path("y").write_bytes(octets * 3)
    check(tool, Path("y"), 6000)
