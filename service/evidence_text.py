"""What speaks for a verdict as a person reads it: evidence, how to open it, candidates."""

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from service.text import Heading, load, number, printable, share, table

SHOWN_FRAMES = 2
"""Sources that are named of each piece of evidence; the API has all."""
SHOWN_COMMANDS = 6
"""Packets that it is said of how to open them."""
CAPTURES = (".pcap", ".pcapng", ".cap")
"""How names of capture files end, before what says how they are compressed."""
LITTLE = 0.005
"""Probability below which a candidate is left out here; the API has all."""
SIGNALS = {"headline": "headline", "state": "sender's state"}


def titles(answer: Mapping[str, Any]) -> dict[str, str]:
    """Signals as people call them."""
    return SIGNALS | {each["signal"]: each["title"] for each in answer.get("signals", ())}


def evidence_text(answer: Mapping[str, Any]) -> RenderableType:
    """What each signal says, of which hop, where it was seen and in which frames."""
    headings = (
        Heading("evidence"),
        Heading("what"),
        Heading("value", numeric=True),
        Heading("unit"),
        Heading("hop"),
        Heading("samples", numeric=True),
        Heading("share", numeric=True),
        Heading("seen at"),
        Heading("frames"),
    )
    names = titles(answer)
    rows = (
        (
            names.get(row["signal"], row["signal"]),
            row["name"],
            number(row["value"]),
            row["unit"],
            row["hop"]["name"] if row.get("hop") else None,
            row["samples"],
            share(row["share"]),
            ", ".join(sorted({run["point"] for run in row["frames"]}) or row["points"]),
            ", ".join(map(_frames, row["frames"][:SHOWN_FRAMES])),
        )
        for row in answer["evidence"]
    )
    return table(headings, rows)


def _frames(run: Mapping[str, Any]) -> str:
    """Where a signal can be looked up: `tap.pcap 12-90`."""
    return f"{run['source']} {run['first']}-{run['last']}"


def opened(answer: Mapping[str, Any]) -> Iterator[Text]:
    """How to open the packet that says most, of each signal that has one in a capture or a bus."""
    shown: dict[str, str] = {}
    names = titles(answer)
    for piece in answer["evidence"]:
        for run in piece["frames"][:1]:
            words = command(run)
            if words not in shown.values():
                shown.setdefault(piece["signal"], words)
    for signal, words in list(shown.items())[:SHOWN_COMMANDS]:
        yield Text(printable(f"  open {names.get(signal, signal)}: {words}"), style="cyan")


def command(run: Mapping[str, Any]) -> str:
    """The command that opens a frame of a capture, or where else the frame is."""
    source, frame = str(run["source"]), run.get("telling", run["first"])
    message = run.get("message")
    where = f"message {message['offset']} of {message['place']}" if message else ""
    if any(end in source.lower() for end in CAPTURES):
        known = f" ({where})" if where else ""
        return f"hopsight dissect {quote(source)} {frame}{known}"
    return f"frame {frame} of {source}" + (f", {where}" if where else "")


def candidates_text(answer: Mapping[str, Any]) -> RenderableType:
    """Every hop that a signal points at, each signal's with probabilities of its own."""
    headings = (
        Heading("signal"),
        Heading("candidate"),
        Heading("load u", numeric=True),
        Heading("probability", numeric=True),
        Heading("samples", numeric=True),
    )
    names = titles(answer)
    rows = (
        (
            names.get(row["signal"], row["signal"]),
            row["hop"]["name"] if row["hop"] else None,
            load(row["u_mean"]),
            share(row["probability"]),
            row["samples"],
        )
        for row in answer["candidates"]
        if (row["probability"] or 0.0) >= LITTLE
    )
    return table(headings, rows)
