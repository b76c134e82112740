"""Coverage-guided fuzzing of the scalar reader, and its corpus replayed on the compiled walk.

    fuzz_scalar.py FOLDER [atheris's own options]     fills the folder
    fuzz_scalar.py --replay FOLDER                    walks what is there, against the scalar reader

The first octet of an input chooses settings, the second a link type; the others are the frame. For
the replay, NUMBA_BOUNDSCHECK=1 checks every read (with a HOPSIGHT_CACHE_DIR of its own). Atheris is
not among the dependencies: `make soak` installs it.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "collector"))

import numpy as np
from compare import differences
from generate import PROFILES, grown
from mutate import framed

from collector import STATUS, CollectorSettings, Decoder
from collector.reading import MOST_ROWS
from collector.scalar import Scalar

SEEDS = 300
"""Grown frames of each profile that the folder begins with."""
HEAD = 2
LINKS = (1, 1, 1, 1, 0, 9, 12, 50, 51, 101, 104, 113, 219, 228, 229, 276)
SETTINGS = [CollectorSettings.model_validate(profile) for profile in PROFILES]


def seed(folder: Path) -> None:
    """Put grown frames into an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        return
    for number in range(len(PROFILES)):
        for at, frame in enumerate(grown(number, SEEDS, number)):
            head = bytes([number, LINKS.index(frame.link) if frame.link in LINKS else 0])
            (folder / f"grown-{number}-{at}").write_bytes(head + frame.octets)


def fuzz(folder: Path) -> None:
    """Read what atheris makes up; whatever is raised, it reports."""
    import atheris

    scalars = [Scalar(settings) for settings in SETTINGS]
    for function in ("frame", "inside", "bound", "list", "option", "follow", "enter", "keep"):
        instrument(atheris, "collector.scalar", f"_Walk.{function}")
    for function in ("records", "area", "split", "told", "words", "named", "below", "ring"):
        instrument(atheris, "collector.scalar_records", function)

    def one(data: bytes) -> None:
        if len(data) < HEAD:
            return
        scalar = scalars[data[0] % len(scalars)]
        readings = scalar.read(data[HEAD:], LINKS[data[1] % len(LINKS)])
        if not 1 <= len(readings) <= MOST_ROWS:
            raise AssertionError(f"{len(readings)} rows")
        for reading in readings:
            if not 0 <= reading.status < len(STATUS) or reading.payload_bytes < 0:
                raise AssertionError(f"status {reading.status}, payload {reading.payload_bytes}")

    seed(folder)
    atheris.Setup([sys.argv[0], str(folder), *sys.argv[2:]], one)
    atheris.Fuzz()


def instrument(atheris: object, module: str, name: str) -> None:
    """Let atheris see the branches of one function."""
    owner: object = sys.modules[module]
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    setattr(owner, last, atheris.instrument_func(getattr(owner, last)))  # type: ignore[attr-defined]  # no stubs


def replay(folder: Path) -> int:
    """Walk every input; 1 when the two readers disagree or a frame is not counted."""
    inputs = [path.read_bytes() for path in sorted(folder.iterdir())]
    inputs = [data for data in inputs if len(data) >= HEAD]
    wrong, seen = [], 0
    for number, settings in enumerate(SETTINGS):
        mine = [data for data in inputs if data[0] % len(SETTINGS) == number]
        size = np.array([len(data) - HEAD for data in mine], np.int64)
        octets = np.frombuffer(b"".join(data[HEAD:] for data in mine) + bytes(8), np.uint8)
        link = np.array([LINKS[data[1] % len(LINKS)] for data in mine], np.uint16)
        decoder = Decoder(settings)
        frames = framed(octets, size, link)
        decoder.decode(frames, ["tap"], "fuzz")
        seen += decoder.accounting.seen
        wrong += differences(decoder.walk, Scalar(settings), frames)
    checked = "on" if os.environ.get("NUMBA_BOUNDSCHECK") == "1" else "off"
    print(f"{len(inputs):,} inputs replayed, {seen:,} counted, {len(wrong)} disagreements, "
          f"bounds checks {checked}")  # fmt: skip
    for line in wrong[:10]:
        print(line[:2000])
    return int(bool(wrong) or seen != len(inputs))


if __name__ == "__main__":
    if sys.argv[1] == "--replay":
        sys.exit(replay(Path(sys.argv[2])))
    fuzz(Path(sys.argv[1]))
