"""Peak memory of decoding a large capture, 2 GB by default (`--gb 10` for the promised size).

The file is written for it, with frames of 96 octets and of 1,500, and decoded by a process of its
own through the public interface (`peaks.py`).
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

IP = bytes.fromhex("08004500005200010000400600000a0000010a000002")
TCP = bytes.fromhex("9c40138900000001000000025010040000000000")
HEAD = bytes(12) + bytes.fromhex("99002281") + IP + TCP
HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
RECORD_HEAD_BYTES = 16
WRITTEN_AT_ONCE = 32 << 20
BEGIN_S = 1_700_000_000
STEP_NS = 1000
GIGABYTE = 10**9
SIZES = (96, 1500)


def write(path: Path, octets: int, size: int) -> int:
    """Write a capture of about so many octets, of frames of one size; how many frames it has."""
    head = struct.pack("<IIII", 0, 0, size, size)
    record = np.frombuffer(head + HEAD.ljust(size, b"\0"), np.uint8)
    count = octets // len(record)
    with path.open("wb") as file:
        file.write(HEADER)
        part = np.tile(record, (WRITTEN_AT_ONCE // len(record), 1))
        for first in range(0, count, len(part)):
            part = part[: count - first]
            time_ns = np.arange(first, first + len(part), dtype=np.uint64) * STEP_NS
            times = np.stack([BEGIN_S + time_ns // 10**9, time_ns % 10**9], axis=1)
            part[:, :8] = times.astype("<u4").view(np.uint8)
            file.write(part.tobytes())
    return count


def decoded(path: Path) -> dict[str, Any]:
    """What a process of its own tells of decoding a file."""
    command = [sys.executable, str(Path(__file__).with_name("peaks.py")), str(path)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - ours
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def main() -> None:
    """Write, decode and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=2, help="size of the file in GB (2)")
    parser.add_argument("--octets", type=int, nargs="*", default=SIZES, help="sizes of frames")
    asked = parser.parse_args()
    octets = int(asked.gb * GIGABYTE)
    for size in asked.octets:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "large.pcap"
            count = write(path, octets, size)
            told = decoded(path)
        assert told["frames"] == told["rows"] == count
        peak = ", ".join(f"{name} {most} MiB" for name, most in told["peak"].items())
        rate = count / told["seconds"] / 1e6
        print(
            f"decode {octets / GIGABYTE:g} GB of {size} octets: peak {peak} ({rate:.2f} M frames/s)"
        )


if __name__ == "__main__":
    main()
