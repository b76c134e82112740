"""Millions of damaged frames through the compiled walk, a share of them against the scalar reader.

    soak_walk.py [FRAMES] [COMPARED]

Prints how the frames ended; fails when one is not counted, when the two readers disagree, or when a
batch hangs. With NUMBA_BOUNDSCHECK=1 (and a HOPSIGHT_CACHE_DIR of its own) every read is checked.
"""

import faulthandler
import os
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "collector"))

from compare import differences
from generate import PROFILES, grown
from mutate import Corpus, corpus, mutated

from collector import CollectorSettings, Decoder, Frames
from collector.scalar import Scalar

FRAMES, COMPARED = 20_000_000, 1_000_000
BATCH, GROWN = 100_000, 4000
FRESH = 10
"""Batches that one corpus feeds."""
HANG_S = 300


def part(frames: Frames, count: int) -> Frames:
    """The first frames of a run."""
    names = ("offset", "captured", "length", "time_ns", "link", "interface")
    return replace(frames, **{name: getattr(frames, name)[:count] for name in names})


class Soak:
    """One profile of settings: its readers, and what they have been fed."""

    def __init__(self, number: int) -> None:
        self.number = number
        settings = CollectorSettings.model_validate(PROFILES[number])
        self.decoder, self.scalar = Decoder(settings), Scalar(settings)
        self.corpus: Corpus | None = None
        self.batches = 0
        self.compared = 0
        self.seconds = 0.0

    def batch(self, frames: int, compared: int) -> list[str]:
        """Decode a batch, and compare its first frames; a line for each disagreement."""
        if self.corpus is None or self.batches % FRESH == 0:
            self.corpus = corpus(grown(self.number, GROWN, 1000 * self.batches + self.number))
        self.batches += 1
        run = mutated(self.corpus, frames, 10_000 * self.number + self.batches)
        before = self.decoder.accounting.seen
        start = time.perf_counter()
        self.decoder.decode(run, ["tap"], "soak")
        self.seconds += time.perf_counter() - start
        missing = before + frames - self.decoder.accounting.seen
        self.compared += compared
        wrong = differences(self.decoder.walk, self.scalar, part(run, compared))
        return [f"{missing} frames were not counted"] * (missing != 0) + wrong


def soak(frames: int, compared: int) -> int:
    """Feed all profiles in turn; 1 when something was wrong."""
    soaks = [Soak(number) for number in range(len(PROFILES))]
    done, wrong = 0, []
    while done < frames:
        for each in soaks:
            faulthandler.dump_traceback_later(HANG_S, exit=True)
            size = min(BATCH, frames)
            wrong += each.batch(size, max(size * compared // frames, 1))
            done += size
        if done % 3_000_000 < len(soaks) * BATCH:
            print(f"  {done:,} frames, {len(wrong)} disagreements", flush=True)
    faulthandler.cancel_dump_traceback_later()
    report(soaks, done, wrong)
    return min(len(wrong), 1)


def report(soaks: list[Soak], done: int, wrong: list[str]) -> None:
    """Print the figures."""
    ended = Counter[str]()
    for each in soaks:
        ended.update(each.decoder.accounting.by_status)
    seconds = sum(each.seconds for each in soaks)
    checked = "on" if os.environ.get("NUMBA_BOUNDSCHECK") == "1" else "off"
    print(f"{done:,} damaged frames in {seconds:.0f} s of decoding "
          f"({done / seconds / 1e6:.2f} M frames/s), bounds checks {checked}")  # fmt: skip
    print(f"seen {sum(ended.values()):,} = " + " + ".join(
        f"{count:,} {name}" for name, count in ended.most_common() if count))  # fmt: skip
    print(f"{sum(each.compared for each in soaks):,} compared with the scalar reader, "
          f"{len(wrong)} disagreements")  # fmt: skip
    for line in wrong[:10]:
        print(line[:2000])


if __name__ == "__main__":
    counts = [int(argument.replace("_", "")) for argument in sys.argv[1:3]]
    sys.exit(soak(*(counts + [FRAMES, COMPARED][len(counts) :])))
