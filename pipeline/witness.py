"""The frames that carried the evidence of an answer, so that each packet can be opened. Pure.

A frame bears witness to a piece of evidence when it carried that signal about that hop, at the
observation point that was heard, in an interval in which the answer's verdict stood.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from pipeline.composed_answer import HOLDING
from pipeline.hop import Row
from pipeline.reporter import REPORTER

PLACE, ENDS = ("node", "port"), ("first", "last")
STACKS = frozenset({"int", "delay"})
"""Signals that stacks of hops carry."""
MARKS = {"mark share": True, "CE share": False}
"""Pieces of marks by whether reflections carry them."""
TYPES = ("csig_abw", "csig_utilization", "csig_delay")
"""CSIG's signals by type."""
LAST = TYPES[2]
"""Of CSIG's three signals the one whose frame is shown first: it says how long the queue was."""


def stood(verdict: Mapping[str, Any], rows: pl.DataFrame) -> list[int]:
    """Begins of the intervals in which an answer's verdict stood; `rows` are its verdicts.

    At a hop that holds the flow back it is those of this hop, or else all.
    """
    if verdict["kind"] not in HOLDING:
        return rows["time_ns"].to_list()
    hop = verdict["hop"] or {"node": None, "port": None}
    here = [pl.col(name).eq_missing(pl.lit(hop[name], rows[name].dtype)) for name in PLACE]
    return rows.filter(pl.col("kind").is_in(HOLDING), *here)["time_ns"].to_list()


def ago(pieces: Iterable[Row]) -> list[int]:
    """How far before its frame each of CSIG's signals tells of, by type, and any other one."""
    told = [piece["ago_ns"] for piece in pieces if piece.get("ago_ns")]
    return [max((each[kind] for each in told), default=0) for kind in range(len(TYPES))] + [0]


def carried(found: pl.DataFrame) -> list[Row]:
    """Frames by the signal that they carried, out of query `flow_frames`.

    A signal is `csig_<type>` with variant (`high`) and locator (`low`), `aecn`, `ecn` (CE, or ECE
    of reflections), or `window`.
    """
    made: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in found.iter_rows(named=True):
        here = row["echo"], row["source"], row["point"]
        for signal, high, low, most in signals_of(row):
            made.setdefault((signal, high, low, *here), []).append(
                (most, *(tuple(row[name].values()) for name in ENDS), row["frames"])
            )
    return [joined(key, rows) for key, rows in sorted(made.items())]


def signals_of(row: Row) -> Iterator[tuple[str, int, int, tuple[Any, ...]]]:
    """Signals of frames, with variant and locator, and the most that is told of congestion.

    That is how much, when and by which frame; of several the largest holds.
    """
    kind = row["kind"]
    if row["tagged"] and row["variant"] is not None and kind is not None and kind < len(TYPES):
        most = tuple(row["most"].values()) if TYPES[kind] == LAST else turned(row["least"])
        yield TYPES[kind], row["variant"], row["lm"] or 0, most
    if not row["plain"]:
        return
    if row["told_aecn"]:
        yield "aecn", 0, 0, tuple(row["most_aecn"].values())
    if row["marked"]:
        yield "ecn", 0, 0, turned({"value": 0, **row["first"]})
    if row["told_window"]:
        yield "window", 0, 0, turned(row["least_window"])


def turned(least: Mapping[str, Any]) -> tuple[float, int, int]:
    """A least value, the first time of it and its frame, so that the largest of several counts."""
    value, time_ns, frame = least.values()
    return -value, -time_ns, frame


def joined(key: tuple[Any, ...], rows: Sequence[tuple[Any, ...]]) -> Row:
    """One signal of one place: first and last frame, how many, and the one that says most."""
    signal, high, low, echo, source, point = key
    most, first, last, frames = zip(*rows, strict=True)
    _, telling_ns, telling = max(most)
    return {
        "signal": signal, "high": high, "low": low, "echo": echo, "source": source, "point": point,
        "first": min(first)[1], "last": max(last)[1], "frames": sum(frames),
        "telling": telling, "telling_ns": -telling_ns,
    }  # fmt: skip


def witnesses(piece: Row, found: Sequence[Row]) -> list[dict[str, Any]]:
    """The frames of a piece of evidence, by source, point and direction.

    `found` are rows of `carried` and of query `flow_stacks`. `first` and `last` are numbers of
    frames, `telling` is the one that says most (at `telling_ns`), `reflected` whether
    acknowledgments brought it.
    """
    about = [row for row in found if speaks(piece, row)]
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


def speaks(piece: Row, row: Row) -> bool:
    """Whether frames carry the piece's signal, about its hop."""
    signal, told = piece["signal"], (row["high"], row["low"])
    if signal in STACKS:
        return row["signal"] == "int" and told == (piece["node"], piece["port"])
    if signal.startswith("csig"):
        own = row["signal"].startswith("csig") if signal == "csig" else row["signal"] == signal
        pairs = piece.get("locators")
        return own and (pairs is None or any(named(pair, told) for pair in pairs))
    if piece["name"] in MARKS and bool(row["echo"]) != MARKS[piece["name"]]:
        return False
    return bool(row["signal"] == signal)


def named(pair: Row, told: tuple[int, int]) -> bool:
    """Whether a tag of variant and locator `told` has this locator, whose variant may be any."""
    variant, locator = told
    return bool(pair["lm"] == locator and pair["variant"] in {None, variant})


def at_point(piece: Row, row: Row) -> bool:
    """Whether frames were seen where, and in the direction in which, the signal was heard."""
    if piece.get("echo") is not None and bool(row["echo"]) != piece["echo"]:
        return False
    points = piece["points"]
    return row["point"] in points or (REPORTER in points and str(row["point"]).startswith(REPORTER))
