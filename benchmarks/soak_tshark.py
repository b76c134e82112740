"""Every frame of the captures and traces of others, and generated ones, seen alike by tshark.

    soak_tshark.py [FRAMES]

Files of `../shared` are held both ways, field by field, none passed over; then so many generated
frames of all formats and envelopes. Prints what was compared; fails when any field differs.
"""

import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "collector"))

from generate import PROFILES, grown
from shark import Agreement, agreement
from shark_captures import both_ways

from collector import CollectorSettings

FRAMES, BATCH = 105_000, 5000
SHARED = Path(__file__).resolve().parents[2] / "shared"
WHOLE = 1 << 31


def files() -> int:
    """Compare every frame of every file of others; 1 when any differs."""
    worse = 0
    for folder in ("captures", "oracles"):
        start, paths = time.perf_counter(), sorted((SHARED / folder).rglob("*.pcap*"))
        found = both_ways(str, paths, WHOLE)
        print(f"{folder}: {found.files} files, {found.frames:,} frames, {found.fields.total():,} "
              f"values of {len(found.fields)} fields compared with tshark's in "
              f"{time.perf_counter() - start:.0f} s, {len(found.differences)} differ",
              flush=True)  # fmt: skip
        reasons = Counter[str]()
        for (why, _), count in found.excused.items():
            reasons[why] += count
        print("  what tshark shows and no row has: "
              + ", ".join(f"{why} {count:,}" for why, count in reasons.items()))  # fmt: skip
        for line in found.differences[:10]:
            print(line[:2000])
        worse += len(found.differences)
    return min(worse, 1)


def soak(frames: int) -> int:
    """Compare so many; 1 when any differs."""
    found, start, seed = Agreement(), time.perf_counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        while found.frames < frames:
            for number, profile in enumerate(PROFILES):
                settings = CollectorSettings.model_validate(profile)
                batch = grown(number, BATCH, 500_000 + seed)
                found.add(agreement(str, Path(folder) / "grown.pcap", [(settings, batch)]))
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
    most = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else FRAMES
    sys.exit(max(files(), soak(most)))
