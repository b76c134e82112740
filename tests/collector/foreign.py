"""What tshark says of frames written here, every occurrence of a field, outermost first."""

import struct
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

SEPARATOR, OCCURRENCE = "\t", "\x1f"
MAGIC_NS = 0xA1B23C4D
LONGEST = 262_144


def foreign(
    tool: Callable[..., str],
    path: Path,
    packets: Iterable[bytes],
    fields: Sequence[str],
    link: int = 1,
    options: Sequence[str] = (),
) -> list[dict[str, list[str]]]:
    """Occurrences of each field by frame; `path` is written over."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", MAGIC_NS, 2, 4, 0, 0, LONGEST, link))
        for at, packet in enumerate(packets):
            file.write(struct.pack("<IIII", 1_700_000_000, at, len(packet), len(packet)) + packet)
    wanted = [argument for name in fields for argument in ("-e", name)]
    shape = ["-T", "fields", "-E", f"separator={SEPARATOR}", "-E", f"aggregator={OCCURRENCE}"]
    command = [tool("tshark"), "-r", str(path), *shape, *wanted, *options]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return [
        {name: cell.split(OCCURRENCE) if cell else []
         for name, cell in zip(fields, line.split(SEPARATOR), strict=True)}
        for line in ran.stdout.splitlines()
    ]  # fmt: skip
