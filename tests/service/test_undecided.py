"""Captures with gaps or without a direction: every form of a replay says so, and from where on."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
FORMS = {
    "replay": ("replay", "--json"),
    "what_if": ("replay", "--what-if", "dctcp.g=0.2"),
    "sweep": ("replay", "--sweep", "dctcp.g=0.1,0.2", "--jobs", "1"),
    "closed_loop": ("replay", "--closed-loop"),
    "closed_sweep": ("replay", "--closed-loop", "--sweep", "fabric.rate=1", "--jobs", "1"),
    "report": ("replay", "--report", "TOLD"),
    "conform": ("conform",),
}
SENDERS = b"\x0a\x01"
"""How the addresses of senders begin."""
HEAD, RECORD, SOURCE = 24, 16, slice(26, 28)


def records() -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The head of the capture, and its records with their heads."""
    whole = zstandard.ZstdDecompressor().decompressobj().decompress(CAPTURE.read_bytes())
    found, at = [], HEAD
    while at < len(whole):
        size = struct.unpack_from("<I", whole, at + 8)[0]
        found.append((whole[at : at + RECORD], whole[at + RECORD : at + RECORD + size]))
        at += RECORD + size
    return whole[:HEAD], found


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The capture with a gap, with data only, and with acknowledgments only."""
    head, every = records()
    third = len(every) // 3
    parts = {
        "gap": every[:third] + every[third + 40 :],
        "data": [each for each in every if each[1][SOURCE] == SENDERS],
        "acks": [each for each in every if each[1][SOURCE] != SENDERS],
    }
    folder = tmp_path_factory.mktemp("damaged")
    for name, rows in parts.items():
        (folder / f"{name}.pcap").write_bytes(head + b"".join(a + b for a, b in rows))
    return {name: folder / f"{name}.pcap" for name in parts}


@pytest.fixture
def said(hopsight: Any, damaged: dict[str, Path], tmp_path: Path) -> Callable[[str, str], str]:
    """All that a form says of a capture."""
    told = tmp_path / "told.md"

    def run(form: str, name: str) -> str:
        command, *words = (word.replace("TOLD", str(told)) for word in FORMS[form])
        done = hopsight.here(command, str(damaged[name]), *words)
        assert "Traceback" not in done.stderr
        report = told.read_text().replace("\\", "") if told.exists() else ""
        return f"{done.stdout}\n{done.stderr}\n{report}"

    return run


@pytest.mark.parametrize("form", FORMS)
def test_a_gap_is_told(form: str, said: Callable[[str, str], str]) -> None:
    told = said(form, "gap")
    missing = "frames of the data are missing" if form == "conform" else "frames of flows are miss"
    assert missing in told
    if form not in {"closed_loop", "closed_sweep", "conform"}:
        assert "dctcp: estimated from frame" in told


@pytest.mark.parametrize("form", ["what_if", "sweep", "closed_loop", "closed_sweep"])
def test_json_has_what_is_told_beside_it(
    form: str, hopsight: Any, damaged: dict[str, Path]
) -> None:
    command, *words = FORMS[form]
    done = hopsight.here(command, str(damaged["gap"]), *words, "--json")
    notes = json.loads(done.stdout)["notes"]
    assert any(note.startswith("frames of flows are missing") for note in notes)
    assert all(note in done.stderr for note in notes)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "why"),
    [("data", ("no acknowledgments came back, from", "its acknowledgments were not seen here")),
     ("acks", ("its data was not seen, from",))],
)  # fmt: skip
def test_a_direction_that_is_missing_is_told(
    form: str, name: str, why: tuple[str, ...], said: Callable[[str, str], str]
) -> None:
    told = said(form, name)
    assert any(each in told for each in why)
    assert f"{name}.pcap frame 1 on" in told
