"""Frames of all formats and envelopes, every field of which tshark must see alike.

    soak_tshark.py [FRAMES]

Prints how many fields of which headers were compared; fails when any differs.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "collector"))

from generate import PROFILES, grown
from shark import Agreement, agreement

from collector import CollectorSettings

FRAMES, BATCH = 105_000, 5000


def soak(frames: int) -> int:
    """Compare so many; 1 when any differs."""
    found, start, seed = Agreement(), time.perf_counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        while found.frames < frames:
            for number, profile in enumerate(PROFILES):
                settings = CollectorSettings.model_validate(profile)
                batch = grown(number, BATCH, 500_000 + seed)
                found.add(agreement(str, Path(folder) / "grown.pcap", settings, batch))
                seed += 1
    known = {name: count - found.unseen[name] for name, count in found.headers.items()}
    print(f"{found.frames:,} frames, {found.fields.total():,} fields compared with tshark's in "
          f"{time.perf_counter() - start:.0f} s, {len(found.differences)} differences")  # fmt: skip
    print(f"{len(found.fields)} fields of {sum(map(bool, known.values()))} headers: " + ", ".join(
        f"{name} {count:,}" for name, count in sorted(known.items()) if count))  # fmt: skip
    for line in found.differences[:10]:
        print(line[:2000])
    return min(len(found.differences), 1)


if __name__ == "__main__":
    if shutil.which("tshark") is None:
        sys.exit("tshark is not installed.")
    sys.exit(soak(int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else FRAMES))
