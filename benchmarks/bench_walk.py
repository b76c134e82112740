"""File → observation columns on one core, beside other readers of the same frames.

Files are page-cached, works take turns, figures are medians of five in processor seconds (user and
system), so that what else the machine does counts little. Of programs the time that they take for a
file of one frame is taken off. All filled columns are made inside the time. A second run, shown
too, also reads every octet of them again inside the time, for the checksum that is printed.
"""

import argparse
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bar import end, met

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import rivals
import traffic
from checksum import Checksum
from stopwatch import Spent, in_turns, one_core, spent, spent_by

from collector import CollectorSettings, Decoder, dissectors, open_capture

MILLION = 10**6
BARS = (
    ("CSIG + TCP", "hopsight", None, 10 * MILLION),
    ("CSIG + TCP", "hopsight", "capinfos -c", 1),
    ("CSIG + TCP", "hopsight", "tshark -T fields", 150),
    ("CSIG + TCP", "hopsight", "pyshark", 5000),
    ("CSIG + TCP", "hopsight", "dpkt", 20),
    ("INT in VXLAN", "hopsight", None, 3 * MILLION),
)
"""(file, who, against whom or alone, at least so many times or frames a second)."""
SUMMED = "hopsight, summed up"
Rates = dict[str, float]


class Ours:
    """Decodes a file through the public interface; settings become tables once, before."""

    def __init__(self, path: Path, settings: CollectorSettings) -> None:
        """Nothing is read yet."""
        self.path, self.decoder = path, Decoder(settings)
        self.sums: set[int] = set()
        self.columns = self.rows = 0

    def run(self, *, summed: bool = True) -> None:
        """Once through the file."""
        total, self.rows = Checksum(), 0
        with open_capture(self.path) as capture:
            for frames in capture.chunks(self.decoder.settings.frames_per_batch):
                rows = self.decoder.decode(frames, capture.points, capture.source)
                self.rows += rows.height
                self.columns = rows.width
                if summed:
                    total.add(rows)
        if summed:
            self.sums.add(total.total)

    def told(self) -> str:
        """Columns and their sum."""
        if len(self.sums) != 1 or self.decoder.accounting.reasons:
            raise SystemExit(f"{self.path}: {self.sums} {self.decoder.accounting.reasons}")
        [total] = self.sums
        return f"{self.rows:,} rows of {self.columns} columns, checksum {total:016x}"


def programs(lua: Path) -> dict[str, tuple[int, Callable[[Path], list[str]], bool]]:
    """(frames or 0 for all, command of a file, tagged) of each other program.

    Without our dissectors Wireshark stops at the tag, so it reads the same frames without it.
    """
    return {
        "capinfos -c": (0, rivals.capinfos, True),
        "tshark -T fields": (100_000, rivals.tshark, False),
        "tshark -T fields with our dissectors": (
            20_000, partial(rivals.tshark, dissectors=lua), True,
        ),
        "pyshark": (2_000, rivals.pyshark, False),
    }  # fmt: skip


def csig(place: Path, frames: int) -> Rates:
    """Frames a second of all readers of CSIG + TCP."""
    whole, lua = place / "csig.pcap", place / "hopsight.lua"
    traffic.csig(whole, frames)
    lua.write_text(dissectors(CollectorSettings(), "benchmark"))
    ours = Ours(whole, CollectorSettings())
    works: dict[str, Callable[[], Spent]] = ours_of(ours)
    amounts = dict.fromkeys(works, frames)
    for name, (amount, command, tagged) in programs(lua).items():
        if rivals.missing(name.split()[0]):
            print(f"{name}: not installed, not shown")
            continue
        path, one = (place / f"{name.replace(' ', '_')}.{part}.pcap" for part in ("many", "one"))
        amounts[name] = amount or frames
        if amount:
            traffic.csig(path, amount, tagged=tagged)
        traffic.csig(one, 1, tagged=tagged)
        works[name] = partial(spent_by, command(path if amount else whole))
        works[f"{name} start"] = partial(spent_by, command(one))
    if not rivals.missing("dpkt"):
        few = place / "dpkt.pcap"
        amounts["dpkt"] = 50_000
        traffic.csig(few, amounts["dpkt"])
        works["dpkt"] = partial(spent, partial(rivals.dpkt, few))
    found = rates(works, amounts)
    print(f"  {ours.told()}\n")
    return found


def inband(place: Path, frames: int) -> Rates:
    """Frames a second of INT-MD with five hops in VXLAN."""
    path = place / "int.pcap"
    traffic.vxlan_int(path, frames)
    ours = Ours(path, CollectorSettings(**traffic.INT_SETTINGS))
    works = ours_of(ours)
    amounts = dict.fromkeys(works, frames)
    if not rivals.missing("capinfos"):
        works["capinfos -c"] = partial(spent_by, rivals.capinfos(path))
        amounts["capinfos -c"] = frames
    found = rates(works, amounts)
    print(f"  {ours.told()}\n")
    return found


def ours_of(ours: Ours) -> dict[str, Callable[[], Spent]]:
    """Both ways to measure the decoder, warm."""
    ours.run()
    return {
        "hopsight": partial(spent, partial(ours.run, summed=False)),
        SUMMED: partial(spent, ours.run),
    }


def rates(works: dict[str, Callable[[], Spent]], amounts: dict[str, int]) -> Rates:
    """Measure in turns, print, and give frames a second."""
    found = in_turns(works)
    rate = {}
    for name, amount in amounts.items():
        start = found.get(f"{name} start", Spent(0, 0))
        rate[name] = amount / (found[name].cpu - start.cpu)
        wall = amount / (found[name].wall - start.wall)
        print(
            f"  {name:37} {rate[name]:14,.0f} frames/s{wall:14,.0f} on the clock"
            f"{rate['hopsight'] / rate[name]:11,.1f}x"
        )
    return rate


def bars(found: dict[str, Rates]) -> None:
    """Whether each promise is met."""
    for file, who, against, least in BARS:
        rate = found[file].get(who)
        base = found[file].get(against) if against else 1.0
        what = f"{least:,}x {against}" if against else f"{least:,} frames/s"
        if rate is None or base is None:
            verdict = "not shown"
        else:
            verdict = f"{met(rate / base >= least, what)} ({rate / base:,.1f})"
        print(f"  {file}: at least {what}: {verdict}")


def main() -> None:
    """Write files, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=2 * MILLION, help="frames of CSIG + TCP")
    parser.add_argument("--int-frames", type=int, default=600_000, help="frames of INT")
    asked = parser.parse_args()
    one_core()
    with tempfile.TemporaryDirectory() as folder:
        print(f"CSIG + IPv4 + TCP, {asked.frames:,} frames of 96 octets:")
        found = {"CSIG + TCP": csig(Path(folder), asked.frames)}
        print(f"INT-MD, five hops, TCP in VXLAN, {asked.int_frames:,} frames:")
        found["INT in VXLAN"] = inband(Path(folder), asked.int_frames)
    print("The bar:")
    bars(found)
    end()


if __name__ == "__main__":
    main()
