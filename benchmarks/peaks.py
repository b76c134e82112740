"""Decode the capture that is named and print, as JSON, how long it took and the peaks of memory.

`VmHWM` is the kernel's own peak of all resident memory; `RssAnon` (what the process took for
itself) and `RssFile` (pages of files, which the system may take back) are looked at all the time.
Each is in MiB, and was reached from the `begin` that the loaded program has before it decodes.
"""

import json
import sys
import threading
import time
from pathlib import Path

from collector import CollectorSettings, Decoder, open_capture

NAMES = ("VmHWM", "RssAnon", "RssFile")
LOOK_S = 0.005


class Peaks:
    """The largest values that were seen."""

    def __init__(self) -> None:
        self.begin = self.now()
        self.most = self.begin
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._look)
        self._watch.start()

    @staticmethod
    def now() -> dict[str, int]:
        """Memory in MiB, by name."""
        lines = Path("/proc/self/status").read_text().splitlines()
        status = dict(line.split(":", 1) for line in lines)
        return {name: int(status[name].split()[0]) // 1024 for name in NAMES}

    def _look(self) -> None:
        while not self._ended.wait(LOOK_S):
            now = self.now()
            self.most = {name: max(self.most[name], now[name]) for name in NAMES}

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        self._watch.join()


def main(path: str) -> None:
    """Decode one file."""
    decoder = Decoder(CollectorSettings())
    peaks = Peaks()
    frames = rows = 0
    begun = time.perf_counter()
    with open_capture(path) as capture:
        for run in capture.chunks(decoder.settings.frames_per_batch):
            rows += decoder.decode(run, capture.points, capture.source).height
            frames += len(run)
    seconds = time.perf_counter() - begun
    peaks.end()
    told = {"frames": frames, "rows": rows, "seconds": seconds, "begin": peaks.begin}
    print(json.dumps(told | {"peak": peaks.most}))


if __name__ == "__main__":
    main(sys.argv[1])
