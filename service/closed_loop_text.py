"""A closed loop as tables and sentences: what was inferred, how far it is to be trusted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from replay import rebuild
from service.text import (
    NONE,
    Heading,
    console,
    duration,
    rate,
    several,
    share,
    signed,
    size,
    table,
)

NAMES = {
    "queue_mean_bytes": "queue, mean",
    "queue_p99_bytes": "queue, p99",
    "utilisation": "utilisation",
    "throughput_bps": "throughput",
    "completed": "flows completed",
    "fct_mean_ns": "completion, mean",
    "fct_p99_ns": "completion, p99",
    "throughput_share": "share of one flow",
    "jain": "fairness (Jain)",
    "bottleneck": "bottleneck",
}
"""Measures as people read them."""
LEAST = 0.001
"""Differences below are told as this."""
SAMPLED = {"stack": "stacks of hops", "round_trip": "round trips"}
SHOWN_FLOWS = 20
MEASURES = (
    Heading("measure"),
    Heading("seen", numeric=True),
    Heading("unchanged re-run", numeric=True),
    Heading("off by", numeric=True),
)
CHANGED = (
    Heading("what if", numeric=True),
    Heading("change", numeric=True),
    Heading("to be believed"),
)
FLOWS = (
    Heading("flow"),
    Heading("control"),
    Heading("begins", numeric=True),
    Heading("offers", numeric=True),
    Heading("seen", numeric=True),
    Heading("unchanged re-run", numeric=True),
)


def shown(told: Mapping[str, Any]) -> None:
    """Print a closed loop."""
    out = console()
    scene = told["scene"]
    counted = {"host": scene["hosts"], "port": scene["ports"], "flow": told["flows"]}
    there = ", ".join(several(len(rows), what) for what, rows in counted.items())
    out.print(
        f"rebuilt from {duration(scene['duration_ns'])} of frames: {there}; queues are sampled by"
        f" {SAMPLED[told['measure']]}"
    )
    for note in scene["assumed"]:
        out.print(f"assumed: {note}")
    changes = {each["name"]: each for each in told["changes"]}
    headings = (*MEASURES, *CHANGED) if changes else MEASURES
    title = f"with {' '.join(told['what_if'])}" if changes else None
    out.print(table(headings, rows(told["trust"], changes), title))
    for line in sentences(told["trust"]):
        out.print(line)
    out.print(flows(told["flows"], changed=bool(changes)))


def rows(
    trust: Sequence[Mapping[str, Any]], changes: Mapping[str, Mapping[str, Any]]
) -> Iterator[list[str]]:
    """One line a measure."""
    for each in trust:
        line = [NAMES[each["name"]], value(each, "seen"), value(each, "rerun"), apart(each)]
        other = changes.get(each["name"])
        if other:
            became_of = value(other, "rerun")
            if each["kind"] == rebuild.POINTS:  # of the flow that the change moves most
                became_of = f"{value(other, 'seen')} → {became_of}"
            line += [became_of, apart(other), believed(each, other)]
        yield line


def value(each: Mapping[str, Any], side: str) -> str:
    """A number with its unit."""
    told = each[side]
    if told is None or isinstance(told, str):
        return told or NONE
    of_unit = {"bytes": size, "bit/s": rate, "ns": duration}
    if each["unit"] == "flows":
        return f"{told:,.0f}"
    if each["unit"] in of_unit:
        return of_unit[each["unit"]](told)
    return f"{told:.4f}" if each["name"] == "jain" else f"{100 * told:.1f} %"


def apart(each: Mapping[str, Any]) -> str:
    """How far two values are from each other."""
    difference = each["difference"]
    if difference is None:
        return NONE
    if each["kind"] == rebuild.EXACT:
        return "another" if difference else "the same"
    unit = "points" if each["kind"] == rebuild.POINTS else "%"
    return signed(100 * difference, ".1f", unit)


def believed(trust: Mapping[str, Any], change: Mapping[str, Any]) -> str:
    """Whether a change can be seen, and is larger than what the re-run is off by."""
    if trust["difference"] is None or change["difference"] is None:
        return "cannot be told"
    if trust["kind"] == rebuild.EXACT:
        return "no" if trust["difference"] else "yes"
    return "yes" if abs(change["difference"]) > max(abs(trust["difference"]), LEAST) else "no"


def sentences(trust: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the trust is, in words."""
    known = [each for each in trust if each["difference"] is not None]
    off = [
        f"{NAMES[each['name']]} {apart(each).lstrip('+−')}"
        for each in known
        if each["kind"] != rebuild.EXACT and abs(each["difference"]) >= LEAST
    ]
    said = ", ".join(off) or f"less than {100 * LEAST:g} % in every measure"
    yield f"The unchanged re-run differs by {said}: believe differences larger than that."
    place = next(each for each in trust if each["kind"] == rebuild.EXACT)
    if place["difference"]:
        yield (
            f"Its bottleneck is {place['rerun']}, where {place['seen']} was seen: do not believe"
            " what it says of queues."
        )
    unknown = [NAMES[each["name"]] for each in trust if each["difference"] is None]
    if unknown:
        yield f"Not known, so not to be trusted: {'; '.join(unknown)}."


def flows(told: Sequence[Mapping[str, Any]], *, changed: bool) -> Any:
    """The flows that moved most, a line each."""
    most = sorted(told, key=lambda each: -each["seen"]["bytes"])[:SHOWN_FLOWS]
    headings = (*FLOWS, Heading("what if", numeric=True)) if changed else FLOWS
    runs = ("seen", "rerun", "changed") if changed else ("seen", "rerun")
    lines = [
        [
            f"{each['src']}:{each['sport']} → {each['dst']}:{each['dport']}",
            each["algorithm"],
            duration(each["start_ns"]),
            size(each["total"]) if each["total"] is not None else "more than seen",
            *(became(each[run]) for run in runs),
        ]
        for each in most
    ]
    rest = len(told) - len(most)
    title = f"the {len(most)} flows that moved most; {rest} more in --json" if rest else "flows"
    return table(headings, lines, title)


def became(run: Mapping[str, Any]) -> str:
    """What became of a flow: its completion time or its rate, and its share."""
    fct = run["fct_ns"]
    done = f"done in {duration(fct)}" if fct is not None else rate(run["throughput_bps"])
    return f"{done}, {share(run['share'])}"
