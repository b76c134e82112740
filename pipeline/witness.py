"""The frames that carried the evidence of an answer, so that each packet can be opened. Pure.

A frame bears witness to a piece of evidence when it carried that signal about that hop, at the
observation point that was heard, in an interval in which the answer's verdict stood.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from pipeline.hop import Row
from pipeline.kind import HOLDING
from pipeline.reporter import REPORTER

Told = tuple[tuple[Any, ...], tuple[Any, ...], tuple[int, int], tuple[int, int], int]
"""What frames carried (`NAMED`), the most that it told of congestion, when and in which frame, time
and frame of the first and of the last of them, and how many they are."""
PLACE = ("node", "port")
NAMED = ("signal", "high", "low", "echo", "source", "point")
"""What tells apart what frames carried."""
TOGETHER = ("first", "last", "most", "least", "most_aecn", "least_window")
"""What is told of a group of frames by a value or a time with its frame."""
MOST_FRAMES = 8192
"""Frames of an answer that are looked at one by one; more of them the store groups."""
CE = 3
ECE, ACK, CONTROL = 64, 16, 22
"""TCP's bits: ECE, ACK, and those of which an acknowledgment that tells a window has ACK alone."""
STACKS = frozenset({"int", "delay"})
"""Signals that stacks of hops carry."""
MARKS = {"mark share": True, "CE share": False}
"""Pieces of marks by whether reflections carry them."""
TYPES = ("csig_abw", "csig_utilization", "csig_delay")
"""CSIG's signals by type."""
LAST = TYPES[2]
"""Of CSIG's three signals the one whose frame is shown first: it says how long the queue was."""


def stood(verdict: Mapping[str, Any], rows: Sequence[Row]) -> list[int]:
    """Begins of the intervals in which an answer's verdict stood; `rows` are its verdicts.

    At a hop that holds the flow back it is those of this hop, or else all.
    """
    if verdict["kind"] not in HOLDING:
        return [row["time_ns"] for row in rows]
    hop = verdict["hop"] or {"node": None, "port": None}
    here = [hop[name] for name in PLACE]
    return [row["time_ns"] for row in rows
            if row["kind"] in HOLDING and [row[name] for name in PLACE] == here]  # fmt: skip


def ago(pieces: Iterable[Row]) -> list[int]:
    """How far before its frame each of CSIG's signals tells of, by type, and any other one."""
    told = [piece["ago_ns"] for piece in pieces if piece.get("ago_ns")]
    return [max((each[kind] for each in told), default=0) for kind in range(len(TYPES))] + [0]


def one_by_one(
    rows: pl.DataFrame, asked: Mapping[str, Any], ago_ns: Sequence[int], *, tcp: bool
) -> Iterator[Told]:
    """What frames out of query `flow_frames` told (`asked`), each for itself."""
    own, step_ns, times = asked["flow"], asked["step_ns"], frozenset(asked["stood"])
    # Plain words and no dicts: there are hundreds of frames. Tags come before those of reflections.
    for flow, source, point, *tags, ecn, flags, aecn, window, time_ns, frame in rows.rows():
        echo = flow != own
        variant, kind, lm, low = tags[4:] if echo else tags[:4]
        plain = tagged = time_ns // step_ns * step_ns in times
        here, place = (time_ns, frame), (echo, source, point)
        if variant is not None and kind is not None and kind < len(TYPES):
            if since_ns := ago_ns[kind]:
                tagged = (time_ns - since_ns) // step_ns * step_ns in times
            if tagged:
                size = low or 0
                most = size if TYPES[kind] == LAST else -size
                yield (
                    (TYPES[kind], variant, lm or 0, *place),
                    (most, -time_ns, frame),
                    here,
                    here,
                    1,
                )
        if not plain:
            continue
        if not echo and aecn is not None:
            yield ("aecn", 0, 0, *place), (aecn, -time_ns, frame), here, here, 1
        bits = flags or 0
        if bits & ECE if echo else ecn == CE:
            yield ("ecn", 0, 0, *place), (0, -time_ns, frame), here, here, 1
        if echo and tcp and bits & CONTROL == ACK:
            yield ("window", 0, 0, *place), (-(window or 0), -time_ns, frame), here, here, 1


def groups(found: pl.DataFrame) -> Iterator[Told]:
    """The same out of rows of query `flow_frame_groups`; what stands together there is a struct."""
    for row in found.iter_rows(named=True):
        whole = row | {name: tuple(row[name].values()) for name in TOGETHER}
        for signal, high, low, most in signals_of(whole):
            key = (signal, high, low, row["echo"], row["source"], row["point"])
            yield key, most, whole["first"], whole["last"], row["frames"]


def carried(found: Iterable[Told]) -> list[Row]:
    """Frames by the signal that they carried.

    A signal is `csig_<type>` with variant (`high`) and locator (`low`), `aecn`, `ecn` (CE, or ECE
    of reflections), or `window`.
    """
    made: dict[tuple[Any, ...], list[Any]] = {}
    for key, most, first, last, frames in found:
        if (known := made.get(key)) is None:
            made[key] = [most, first, last, frames]
            continue
        known[0] = max(known[0], most)
        known[1] = min(known[1], first)
        known[2] = max(known[2], last)
        known[3] += frames
    return [
        dict(zip(NAMED, key, strict=True)) | {
            "first": first[1], "last": last[1], "frames": frames,
            "telling": most[2], "telling_ns": -most[1],
        }
        for key, (most, first, last, frames) in sorted(made.items())
    ]  # fmt: skip


def signals_of(row: Row) -> Iterator[tuple[str, int, int, tuple[Any, ...]]]:
    """Signals of a group of frames, with variant and locator, and the most that is told.

    That is how much, when and by which frame; of several the largest holds.
    """
    kind = row["kind"]
    if row["tagged"] and row["variant"] is not None and kind is not None and kind < len(TYPES):
        most = row["most"] if TYPES[kind] == LAST else turned(row["least"])
        yield TYPES[kind], row["variant"], row["lm"] or 0, most
    if not row["plain"]:
        return
    if row["told_aecn"]:
        yield "aecn", 0, 0, row["most_aecn"]
    if row["marked"]:
        yield "ecn", 0, 0, turned((0, *row["first"]))
    if row["told_window"]:
        yield "window", 0, 0, turned(row["least_window"])


def turned(least: Sequence[Any]) -> tuple[float, int, int]:
    """A least value, the first time of it and its frame, so that the largest of several counts."""
    value, time_ns, frame = least
    return -value, -time_ns, frame


def witnesses(piece: Row, found: Sequence[Row]) -> list[dict[str, Any]]:
    """The frames of a piece of evidence, by source, point and direction.

    `found` are rows of `carried` and of query `flow_stacks`. `first` and `last` are numbers of
    frames, `telling` is the one that says most (at `telling_ns`), `reflected` whether
    acknowledgments brought it.
    """
    about = [*filter(about_it(piece), found)]
    # Rows of older stores do not tell at which point a signal was heard.
    there = [row for row in about if at_point(piece, row)] or about
    places: dict[tuple[Any, ...], list[Row]] = {}
    for row in there:
        places.setdefault((row["source"], row["point"], bool(row["echo"])), []).append(row)
    return [
        {"source": place[0], "point": place[1]} | told(rows) | {"reflected": place[2]}
        for place, rows in places.items()
    ]


def told(rows: Sequence[Row]) -> dict[str, Any]:
    """First and last frame of rows, how many, and the one that says most."""
    most = max(rows, key=lambda row: (row["signal"] == LAST, row["frames"]))
    return {
        "first": min(row["first"] for row in rows),
        "last": max(row["last"] for row in rows),
        "frames": sum(row["frames"] for row in rows),
        "telling": most["telling"],
        "telling_ns": most["telling_ns"],
    }


def asked_of_the_bus(pieces: Iterable[Row]) -> dict[str, list[Any]] | None:
    """Parameters of query `frame_messages` for the telling frames of evidence; None without any."""
    runs = {(run["source"], run["telling"], run["telling_ns"])
            for piece in pieces for run in piece["frames"]}  # fmt: skip
    if not runs:
        return None
    sources, frames, times = (list(each) for each in zip(*sorted(runs), strict=True))
    return {"sources": sources, "frames": frames, "times": times}


def with_messages(pieces: Iterable[Row], found: Sequence[Row]) -> None:
    """Tell of each telling frame the message of the bus in which it came; without one none."""
    messages = {(row["source"], row["frame"]): {"place": row["place"], "offset": row["offset"]}
                for row in found}  # fmt: skip
    for piece in pieces:
        for run in piece["frames"]:
            if message := messages.get((run["source"], run["telling"])):
                run["message"] = message


def about_it(piece: Row) -> Callable[[Row], bool]:
    """Whether frames carry the piece's signal, about its hop."""
    signal, pairs = piece["signal"], piece.get("locators")
    if signal in STACKS:
        here = (piece.get("node"), piece.get("port"))
        return lambda row: row["signal"] == "int" and (row["high"], row["low"]) == here
    if signal.startswith("csig"):
        types = TYPES if signal == "csig" else (signal,)
        if pairs is None:
            return lambda row: row["signal"] in types
        # The variant of a locator may be any.
        exact = {(pair["variant"], pair["lm"]) for pair in pairs}
        any_variant = {locator for variant, locator in exact if variant is None}
        return lambda row: (
            row["signal"] in types
            and ((row["high"], row["low"]) in exact or row["low"] in any_variant)
        )
    if piece["name"] in MARKS:
        return lambda row: row["signal"] == signal and bool(row["echo"]) == MARKS[piece["name"]]
    return lambda row: bool(row["signal"] == signal)


def at_point(piece: Row, row: Row) -> bool:
    """Whether frames were seen where, and in the direction in which, the signal was heard."""
    if piece.get("echo") is not None and bool(row["echo"]) != piece["echo"]:
        return False
    points = piece["points"]
    return row["point"] in points or (REPORTER in points and str(row["point"]).startswith(REPORTER))
