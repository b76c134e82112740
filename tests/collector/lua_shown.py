"""What tshark shows of frames by the Lua dissectors, held against what the decoder reads."""

import random
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from octets import frames_of
from shark import OPTIONS

from collector import CollectorSettings, dissectors, write_pcapng
from collector.lua.exported import exported
from collector.scalar import Reading, Scalar
from collector.status import STATUS

TELEMETRY = ("csig", "aecn", "int", "report", "ifa", "tcp_int", "hpcc", "psp")
"""How names of our layers and reasons begin."""
MUTATIONS = 300
LIST = "bad_option"
"""What the decoder says in place of what it said of options before; Wireshark says both."""
LUA_ERROR = "_ws.lua.error"
MISMATCH = "int_hop_words"
REASONS = {f"hopsight.{name}": name for name in (*(name for name, _ in STATUS[1:]), MISMATCH)}

Told = dict[str, list[int]]
Shown = Callable[..., list[Told]]


def showing(tshark: str, place: Path) -> Shown:
    """What tshark shows of frames: values by filter name, a frame each; files go to `place`."""
    scripts: dict[tuple[str, bool], str] = {}

    def show(
        packets: Iterable[bytes],
        settings: CollectorSettings,
        *options: str,
        adjustable: bool = False,
        asked: CollectorSettings | None = None,
        cut: int = 0,
    ) -> list[Told]:
        script, capture = place / "hopsight.lua", place / "frames.pcapng"
        key = settings.model_dump_json(), adjustable
        if key not in scripts:
            scripts[key] = dissectors(settings, "0", adjustable=adjustable)
        script.write_text(scripts[key])
        frames = frames_of(packets)
        write_pcapng(capture, ["tap"], [replace(frames, length=frames.length + cut)])
        told_of = filters(asked or settings).values()
        names = sorted({name for names in told_of for name in names} | {*REASONS, LUA_ERROR})
        wanted = [word for name in names for word in ("-e", name)]
        command = [tshark, "-n", "-X", f"lua_script:{script}", "-r", str(capture)]
        command += [*OPTIONS, *options]
        command += ["-T", "fields", "-E", "aggregator=,", *wanted]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert "lua" not in ran.stderr.lower(), ran.stderr
        found = [dict(told(names, line)) for line in ran.stdout.splitlines()]
        assert not any(LUA_ERROR in fields for fields in found), ran.stdout
        return found

    return show


def told(names: list[str], line: str) -> Iterator[tuple[str, list[int]]]:
    """Fields of one line of tshark; an expert information has a text in place of a number."""
    for name, cell in zip(names, line.split("\t"), strict=True):
        if cell:
            said = name in REASONS or name == LUA_ERROR
            yield name, [1] if said else [int(value, 0) for value in cell.split(",")]


def filters(settings: CollectorSettings) -> dict[str, set[str]]:
    """Filter names by column of the tables."""
    found: dict[str, set[str]] = {}
    for header in exported(settings)["headers"].values():
        rule = header.get("records", {})
        hop = "hop." if rule.get("per_hop") else ""
        places = [("", each) for each in header.get("fields", [])]
        places += [(hop, each) for part in rule.get("parts", []) for each in part["fields"]]
        places += [("", each) for each in (*rule.get("bottom", []), *header.get("remainder", []))]
        for inside, each in places:
            if "column" in each:
                name = f"hopsight.{header['layer']}.{inside}{each['name']}"
                found.setdefault(each["column"], set()).add(name)
    return found


def expected(reading: Reading, names: dict[str, set[str]]) -> Iterator[tuple[set[str], list[int]]]:
    """Filter names and values that a frame's reading promises.

    A header that sets a column without a field for it (PSP sets both ports) shows nothing.
    """
    for column, value in reading.columns.items():
        owner = reading.owners.get(column)
        layer = f"hopsight.{owner}." if owner else ""
        if shown := {name for name in names.get(column, ()) if name.startswith(layer)}:
            yield shown, [value]
    for column in dict.fromkeys(name for hop in reading.hops for name in hop):
        if column in names:
            yield names[column], [hop[column] for hop in reading.hops if column in hop]


def hold(
    shown: Shown, packets: list[bytes], settings: CollectorSettings, *options: str, **how: bool
) -> int:
    """Compare every value; gives the number of values compared."""
    scalar, compared, names_of = Scalar(settings), 0, filters(settings)
    for packet, fields in zip(packets, shown(packets, settings, *options, **how), strict=True):
        for reading in scalar.read(packet):
            for names, values in expected(reading, names_of):
                seen = [value for name in names for value in fields.get(name, [])]
                where = (packet.hex(), reading.reason, names, values, seen)
                assert set(values) <= set(seen), where
                if len(values) > 1 and not reading.rest:
                    assert seen[: len(values)] == values, where
                compared += len(values)
    return compared


def mutated(packet: bytes, scalar: Scalar, draw: random.Random) -> Iterator[bytes]:
    """The frame with some octets changed, none in front of the first header of ours."""
    ours = exported(CollectorSettings())["headers"]
    start = min(at for each in scalar.read(packet) for name, at in each.headers if name in ours)
    for _ in range(MUTATIONS):
        octets = bytearray(packet)
        for _ in range(draw.randrange(1, 4)):
            octets[draw.randrange(start, len(octets))] = draw.choice((0, 255, draw.getrandbits(8)))
        yield bytes(octets)


def reached(reading: Reading, names_of: dict[str, set[str]], fields: Told) -> Iterator[bool | None]:
    """For each promise: whether it is kept; None when nothing of that layer is shown at all."""
    for names, values in expected(reading, names_of):
        layers = {name.rsplit(".", name.count(".") - 1)[0] + "." for name in names}
        there = any(name.startswith(tuple(layers)) for name in fields)
        seen = {value for name in names for value in fields.get(name, [])}
        yield set(values) <= seen if there else None


def reasons(
    shown: Shown, packets: list[bytes], settings: CollectorSettings, cut: int = 0
) -> list[set[str]]:
    """Hold why each frame ends against the decoder; what Wireshark's own headers say is theirs.

    Frames were `cut` octets longer on the wire.
    """
    scalar, found = Scalar(settings), []
    for packet, fields in zip(packets, shown(packets, settings, cut=cut), strict=True):
        told = {REASONS[name] for name in fields if name in REASONS}
        rows = scalar.read(packet, 1, len(packet) + cut)
        read = {row.reason for row in rows} - {"decoded"}
        read |= {
            name
            for row in rows
            for name, value in row.columns.items()
            if name == MISMATCH and value
        }
        ours = {reason for reason in read if reason.startswith(TELEMETRY)}
        assert ours <= told, (packet.hex(), told, read)
        assert told <= read or LIST in read, (packet.hex(), told, read)
        found.append(told)
    return found
