"""A capture of 10 GB into the embedded store, in one process: how much memory that takes at most.

    soak_large.py [--gb GB] [--judged]

The frames are those of a busy mirror (`mirror.py`), CSIG on TCP. By default `hopsight collect
--store` keeps what each frame said; with `--judged` it is `hopsight analyze --store`, which takes
some ten times as long. Memory is what the kernel counts as the process's own: anonymous and shared,
and beside it with the pages of the file that it reads, which the system may take back at any time.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import mirror
from bar import end, met

from pipeline import Store
from replay.wiring import topology

MOST_MB, GB = 1500.0, 10.0
GIGABYTE = 10**9
LOOK_S = 0.1
FIELDS = ("RssAnon", "RssShmem", "RssFile")


class Peaks(threading.Thread):
    """The most megabytes that a process had, looked at all the time."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.status = Path(f"/proc/{process}/status")
        self.own = self.whole = 0.0

    def run(self) -> None:
        """Look until the process is gone."""
        while True:
            try:
                lines = dict(line.split(":", 1) for line in self.status.read_text().splitlines())
            except OSError:
                return
            if FIELDS[0] not in lines:
                return
            anonymous, shared, files = (int(lines[name].split()[0]) * 1024e-6 for name in FIELDS)
            self.own = max(self.own, anonymous + shared)
            self.whole = max(self.whole, anonymous + shared + files)
            time.sleep(LOOK_S)


def stored(place: Path, capture: Path, *, judged: bool) -> tuple[Peaks, float]:
    """Store a capture by a process of its own; its peaks, and the seconds that it took."""
    began = time.monotonic()
    what = ["analyze", "--topology", str(place / "fabric.yaml")] if judged else ["collect"]
    command = [sys.executable, "-m", "service.cli", *what, str(capture)]
    command += ["--store", f"chdb://{place}/store"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:  # noqa: S603 - ours
        peaks = Peaks(process.pid)
        peaks.start()
        process.wait()
    if process.returncode:
        raise SystemExit(f"hopsight ended with {process.returncode}")
    return peaks, time.monotonic() - began


def main() -> None:
    """Write, store and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=GB, help="size of the capture in GB (10)")
    parser.add_argument("--judged", action="store_true", help="analyze it too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        capture = place / "large.pcap"
        mirror.csig(capture, mirror.TURN * 1000)
        per_frame = capture.stat().st_size / (mirror.TURN * 1000)
        frames = int(asked.gb * GIGABYTE / per_frame) // mirror.TURN * mirror.TURN
        mirror.csig(capture, frames)
        (place / "fabric.yaml").write_text(topology(mirror.CSIG_WORLD).to_yaml())
        peaks, took = stored(place, capture, judged=asked.judged)
        size = capture.stat().st_size / GIGABYTE
        with Store(f"chdb://{place}/store") as store, store.alone() as connection:
            [(rows,)] = connection.rows("SELECT count() FROM observations")
        if int(rows) != frames:
            raise SystemExit(f"{rows:,} rows were stored of {frames:,} frames")
        what = "judged and stored" if asked.judged else "stored"
        print(f"{size:.1f} GB, {frames:,} frames {what} in {took:.0f} s"
              f" ({frames / took / 1e6:.2f} M frames/s)")  # fmt: skip
        print(f"  memory of its own at most {MOST_MB:,.0f} MB: {met(peaks.own <= MOST_MB)}"
              f" ({peaks.own:,.0f}; with pages of files {peaks.whole:,.0f})")  # fmt: skip
    end()


if __name__ == "__main__":
    main()
