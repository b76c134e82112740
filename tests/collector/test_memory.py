"""Memory stays bounded while a capture is decoded, however large it is."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from octets import ethernet, ipv4, tcp

ROOT = Path(__file__).resolve().parents[2]
PEAKS = ROOT / "benchmarks" / "peaks.py"
MEBIBYTE = 1 << 20
FRAME = ethernet(ipv4(tcp(payload=bytes(946))))
HEADERS = {
    "pcap": struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1),
    "pcapng": struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    + struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20),
}
RECORDS = {
    "pcap": struct.pack("<IIII", 1, 1, len(FRAME), len(FRAME)) + FRAME,
    "pcapng": struct.pack("<7I", 6, 32 + len(FRAME), 0, 0, 1, len(FRAME), len(FRAME))
    + FRAME
    + struct.pack("<I", 32 + len(FRAME)),
}


def peaks(path: Path, form: str, mebibytes: int) -> dict[str, int]:
    """Peaks in MiB of decoding a file of so many MiB."""
    at_once = MEBIBYTE // len(RECORDS[form])
    with path.open("wb") as file:
        file.write(HEADERS[form])
        for _ in range(mebibytes):
            file.write(RECORDS[form] * at_once)
    done = subprocess.run(
        [sys.executable, PEAKS, path], check=True, stdout=subprocess.PIPE, cwd=ROOT
    )
    path.unlink()
    told = json.loads(done.stdout)
    assert told["frames"] == told["rows"] == mebibytes * at_once
    peak: dict[str, int] = told["peak"]
    return peak


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", HEADERS)
def test_the_size_of_a_capture_does_not_show_in_memory(form: str, tmp_path: Path) -> None:
    assert len(FRAME) % 4 == 0
    small = peaks(tmp_path / "x", form, 200)
    large = peaks(tmp_path / "x", form, 400)
    assert large["RssAnon"] < 600
    assert large["VmHWM"] < 1000
    for name in small:
        assert large[name] < small[name] + 60
