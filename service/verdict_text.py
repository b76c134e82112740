"""A verdict as a person reads it in a terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from pipeline import CALM, IN_PART
from service.endpoint import time_text
from service.evidence_text import candidates_text, evidence_text, opened
from service.text import NONE, Heading, duration, flow, load, printable, share, size, table

LITTLE = 0.001
"""Share of missing data from which it is said."""

MUCH = 0.05
"""Share of a window by which figures are of more than it, from which that is said."""


def kind_text(kind: str) -> Text:
    """A kind in words; congestion is set off by weight, not by colour alone."""
    words = kind.replace("_", " ")
    return Text(words, style="" if kind in CALM else "bold yellow")


def shown(answer: Mapping[str, Any]) -> Group:
    """The whole answer: sentence, facts, evidence, candidates, history."""
    return Group(*_parts(answer))


def _parts(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    key, verdict, interval = answer["flow"], answer["verdict"], answer["interval"]
    yield Text(
        flow(key["src"], key["sport"], key["dst"], key["dport"], key["protocol"]), style="bold"
    )
    yield Text(verdict["sentence"])
    yield Text()
    facts = _facts(verdict, interval) | {"feedback": _feedback(answer["integrity"])}
    for name, value in facts.items():
        yield Padding(Text(f"{name:<14} {value}"), (0, 0, 0, 2), expand=False)
    said = filter(None, (*verdict["doubts"], verdict["disagreement"], *answer["notes"]))
    for note in said:
        yield Padding(Text(f"note: {note}", style="yellow"), (0, 0, 0, 2), expand=False)
    yield evidence_text(answer)
    yield from opened(answer)
    if answer["candidates"]:
        yield candidates_text(answer)
    yield _history(answer, interval["from_ns"])


def _facts(verdict: Mapping[str, Any], interval: Mapping[str, Any]) -> dict[str, str]:
    since = verdict["since_ns"]
    began = NONE if since is None else time_text(since)
    window = f"{time_text(interval['from_ns'])} to {time_text(interval['to_ns'])}"
    queue = verdict["queue_mean_bytes"]
    least = "at least " if IN_PART in verdict["plausibility"] else ""
    return {
        "kind": verdict["kind"].replace("_", " "),
        "load u": f"{least}{load(verdict['u_mean'])} mean, {least}{load(verdict['u_max'])} peak",
        "queue": size(queue) if queue is None else f"{size(queue)} mean",
        "since": began if verdict["since_exact"] or since is None else f"{began} or before",
        "shared by": _sharing(verdict),
        "reroute helps": verdict["reroute_helps"],
        "confidence": share(verdict["confidence"]),
        "completeness": _completeness(verdict),
        "agreement": share(verdict["agreement"]),
        "window": f"{window} ({share(interval['covered'])} covered)",
        **_judged(interval),
        "interval": _lengths(interval),
        **_revised(verdict),
    }


def _judged(interval: Mapping[str, Any]) -> dict[str, str]:
    """Of which time the figures are, where that is much more than the window, which cuts it."""
    from_ns, to_ns = interval["judged_from_ns"], interval["judged_to_ns"]
    more = max(interval["from_ns"] - from_ns, 0) + max(to_ns - interval["to_ns"], 0)
    if more <= MUCH * (interval["to_ns"] - interval["from_ns"]):
        return {}
    return {"judged": f"{time_text(from_ns)} to {time_text(to_ns)}, in whole intervals"}


def _lengths(interval: Mapping[str, Any]) -> str:
    """The length of the intervals that answer, and which others `--interval` may ask for."""
    others = [duration(each) for each in interval["lengths_ns"] if each != interval["step_ns"]]
    also = f" (there are verdicts of {' and '.join(others)} too)" if others else ""
    return duration(interval["step_ns"]) + also


def _revised(verdict: Mapping[str, Any]) -> dict[str, str]:
    """How many verdicts late frames have changed, and when."""
    parts = verdict["parts"]
    if not parts["revised"]:
        return {}
    when = "" if parts["revised_ns"] is None else f", last at {time_text(parts['revised_ns'])}"
    return {"revised": f"{parts['revised']} of {verdict['intervals']} by late frames{when}"}


def _feedback(integrity: Mapping[str, Any] | None) -> str:
    """What is known of the integrity of the reflections to the sender."""
    if integrity is None:
        return "not kept any more"
    if not integrity["feedback"]:
        return "none seen"
    return f"{integrity['value']}, {integrity['feedback']} reflections"


def _sharing(verdict: Mapping[str, Any]) -> str:
    """Who shares the hop."""
    if not verdict["contributors"]:
        return NONE
    victims = f", {verdict['victims']} held back by others" if verdict["victims"] else ""
    flows = "flow" if verdict["contributors"] == 1 else "flows"
    return f"{verdict['contributors']} {flows}{victims}"


def _completeness(verdict: Mapping[str, Any]) -> str:
    """The overall figure and those of its parts that say something."""
    parts = verdict["parts"]
    missing = parts["gaps"] or 0.0
    told = {
        f"{share(parts['telemetry'])} of frames with telemetry": parts["telemetry"]
        not in (None, 1),
        f"{parts['hops_seen']} of {parts['hops']} hops in sight": parts["hops"],
        f"{share(parts['sampling'])} sampled": parts["sampling"] not in (None, 1),
        f"{share(missing)} of the data not captured": missing >= LITTLE,
        f"{share(parts['shed'] or 0.0)} shed": parts["shed"],
        f"{share(parts['captured'])} of the time captured": parts["captured"] < 1,
    }
    return ", ".join([share(verdict["completeness"]), *(text for text, say in told.items() if say)])


def _history(answer: Mapping[str, Any], from_ns: int) -> RenderableType:
    """The timeline: what changed when, and which intervals late frames have changed."""
    headings = (
        Heading("from", numeric=True),
        Heading("for", numeric=True),
        Heading("judged", numeric=True),
        Heading("history"),
        Heading("load u", numeric=True),
        Heading("revised", numeric=True),
    )
    rows = (
        (
            f"+{duration(max(0, row['from_ns'] - from_ns))}",
            duration(row["to_ns"] - row["from_ns"]),
            share(row["covered"]),
            Text(
                printable(row["sentence"].replace("_", " ")),
                style="" if row["kind"] in CALM else "bold yellow",
            ),
            load(row["u_mean"]),
            row.get("revised") or None,
        )
        for row in answer["history"]
    )
    return table(headings, rows)
