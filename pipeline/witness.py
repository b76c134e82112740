"""The frames that carried the evidence of an answer, so that each packet can be opened. Pure.

A frame bears witness to a piece of evidence when it carried that signal about that hop, at the
observation point that was heard, in an interval in which the answer's verdict stood.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.hop import Row
from pipeline.reporter import REPORTER

NOT_HELD, NO_HOP = -2, -1
"""Nodes of query `flow_frames`: every interval counts; those of a path without a named hop."""
STACKS = frozenset({"int", "delay"})
"""Signals that stacks of hops carry."""
MARKS = {"mark share": True, "CE share": False}
"""Pieces of marks by whether reflections carry them."""
AGO = ("abw_ago_ns", "utilization_ago_ns", "delay_ago_ns")
"""How far before its frame each of CSIG's signals tells of, by type."""
LAST = "csig_delay"
"""Of CSIG's three signals the one whose frame is shown first: it says how long the queue was."""


def intervals_of(made: Mapping[str, Any], *, held: bool) -> dict[str, int]:
    """Parameters of query `flow_frames` that name the intervals in which the verdict stood."""
    hop = made["verdict"]["hop"]
    nowhere = NO_HOP if held else NOT_HELD
    return {
        "step_ns": made["interval"]["step_ns"],
        "node": hop["node"] if held and hop else nowhere,
        "port": hop["port"] if held and hop else nowhere,
        "from_ns": made["interval"]["from_ns"],
        "to_ns": made["interval"]["to_ns"],
    }


def ago(pieces: Iterable[Row]) -> dict[str, int]:
    """Parameters of query `flow_frames` that say how far before its frame a signal tells of."""
    told = [piece["ago_ns"] for piece in pieces if piece.get("ago_ns")]
    return {name: max((each[kind] for each in told), default=0) for kind, name in enumerate(AGO)}


def witnesses(piece: Row, found: Sequence[Row]) -> list[dict[str, Any]]:
    """The frames of a piece of evidence, by source, point and direction.

    `found` are rows of query `flow_frames`. `first` and `last` are numbers of frames, `telling` is
    the one that says most (at `telling_ns`), `reflected` whether acknowledgments brought it.
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
