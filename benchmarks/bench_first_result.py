"""Seconds until `hopsight decode` prints its first row, warm and with a cold compile cache.

Of a small capture of CSIG + TCP, from the start of the process on, on the clock; medians of five
(cold: of three). Beside it the time that Python takes to import the libraries that decoding needs.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import traffic
from bar import end, met

RUNS, COLD_RUNS = 5, 3
FRAMES = 1000
WARM_S, COLD_S = 1.0, 5.0
"""What is promised."""
FLOOR = "import numba, numpy, polars, pydantic_settings, typer"


def first_row(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Seconds until a command has printed a line of names and a row."""
    start = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        row = process.stdout.readline()
        spent = time.perf_counter() - start
        process.stdout.read()
    if not row or process.returncode:
        raise SystemExit(f"no row came from {' '.join(command)}")
    return spent


def whole(command: Sequence[str]) -> float:
    """Seconds of a command."""
    start = time.perf_counter()
    subprocess.run(command, check=True)  # noqa: S603 - our own command
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        capture = place / "small.pcap"
        traffic.csig(capture, FRAMES)
        command = [sys.executable, "-m", "service.cli", "decode", str(capture)]
        own = os.environ | {"HOPSIGHT_CACHE_DIR": str(place / "cache")}
        colds = [
            first_row(command, own | {"HOPSIGHT_CACHE_DIR": str(place / f"cold{run}")})
            for run in range(COLD_RUNS)
        ]
        first_row(command, own)
        warms, floors = [], []
        for _ in range(RUNS):
            warms.append(first_row(command, own))
            floors.append(whole([sys.executable, "-c", FLOOR]))
    floor = statistics.median(floors)
    print(f"  importing the libraries alone: {floor:.2f} s ({FLOOR})")
    for name, found, bar in (("warm", warms, WARM_S), ("cold cache", colds, COLD_S)):
        middle = statistics.median(found)
        verdict = met(middle <= bar, name)
        print(
            f"  first row, {name}: {middle:.2f} s, {middle / floor:.1f}x the libraries alone, "
            f"{min(found):.2f} to {max(found):.2f} s; at most {bar} s: {verdict}"
        )
    end()


if __name__ == "__main__":
    main()
