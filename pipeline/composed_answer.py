"""The answer to "where is this flow bottlenecked?", composed from verdict rows. Pure.

Over several intervals the headline is the hop that held the flow back for most of the time; of
equals the later one. What the verdict says is about that hop in those intervals, `share` of the
time from the flow's first frame to its last; `until_ns` says that it ended before the window did.
What happened elsewhere is in `candidates` and `history`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.doubt import DOUBTS, IN_PART, UNSCALED
from pipeline.evidence import candidates, evidence, grouped, pointed, signals
from pipeline.history import edges, since, stretches
from pipeline.hop import Row, described, hop_of, ids, load, weighted
from pipeline.kind import HOLDING, KINDS, PATH, RECEIVER, SENDER, UNKNOWN
from pipeline.lengths import fitting
from pipeline.question import time_text
from pipeline.revisions import FIRST

OR_WINDOW = ", or the receiver's window, whose scale is not known, holds it back"
ELSEWHERE = {PATH: "now the path is congested elsewhere", RECEIVER: "now it is the receiver"}
"""What is said of a latest stretch without a hop, by its kind."""
AS_LIKELY_AS_NOT = 0.5
"""Confidence below which the hop of a latest stretch is one of several that may be it."""
REROUTE = {
    "yes": "another path would help",
    "no": "another path would not help",
    "unknown": "whether another path would help is not known",
}
UNDECIDED = (
    "late frames have changed {}; congestion control did not decide again: U, W, alpha, and whether"
    " the sender limits itself, are as they came out without them"
)
JUDGED = ("judged_from_ns", "judged_to_ns")
"""When the whole intervals of which figures are begin and end; a window may cut them."""
ALL = 0.995
"""A share that is 100 % in whole percent."""
HASHES = frozenset({"flow", "conversation"})
"""Columns that answers show as decimal text: JSON readers round large numbers."""


def compose_answer(
    flow: Row,
    rows: Iterable[Row],
    from_ns: int,
    to_ns: int,
    notes: Sequence[str] = (),
    lengths: Sequence[int] = (),
) -> dict[str, Any]:
    """The answer as plain data, from at least one verdict (`told_row.verdict_row`).

    `flow` is a row of query `flow_of_key`; the window is `from_ns` to `to_ns` since 1970. Of rows
    of several lengths of intervals those count that suit the window (`lengths.fitting`); `lengths`
    are all that there are.
    """
    every = [dict(row) for row in rows]
    known = sorted({row["interval_ns"] for row in every})
    length = fitting(known, to_ns - from_ns)
    suit = (row for row in every if row["interval_ns"] == length)
    told = sorted(suit, key=lambda row: row["time_ns"])
    for row in told:
        row["congested"] = row["kind"] in HOLDING
        row["lasts_ns"] = lasting(row, flow)
    held = any(row["congested"] for row in told)
    hop = longest([row for row in told if row["congested"] == held])
    for row in told:
        row["here"] = row["congested"] and ids(row) == hop if held else True
    mine = [row for row in told if row["here"] and ids(row) == hop]
    since_ns, exact = since(told, flow["first_ns"])
    history = stretches(told)
    time = {
        "share": lasted([row for row in told if row["here"]]) / lasted(told),
        "since_ns": since_ns,
        "since_exact": exact,
        "until_ns": None if told[-1]["here"] else mine[-1]["time_ns"] + length,
    }
    said = verdict(mine, held=held) | time
    latest = history[-1] | {"confidence": told[-1]["confidence"]}
    found = pointed(told)
    likely, speaks = candidates(found), evidence(told, found.named)
    return {
        "flow": flow_of(flow),
        "interval": {
            "from_ns": from_ns,
            "to_ns": to_ns,
            "step_ns": length,
            "covered": covered(told, from_ns, to_ns),
            **dict(zip(JUDGED, edges(told), strict=True)),
            "lengths_ns": list(lengths or known),
        },
        "verdict": said | {"sentence": sentence(said, latest, len(told))},
        "candidates": likely,
        "signals": signals(likely, speaks),
        "evidence": speaks,
        "history": history,
        "topology": told[-1]["topology"],
        "notes": [*notes, *late_notes(told)],
    }


def late_notes(rows: Sequence[Row]) -> list[str]:
    """What late frames have left as it was: telemetry adds up anew, decisions are not made again.

    `rows` are all intervals of the window, for state goes on from one to the next.
    """
    revised = sum((row.get("revision") or 0) > FIRST for row in rows)
    if not revised:
        return []
    return [UNDECIDED.format("one verdict" if revised == 1 else f"{revised} verdicts")]


def flow_of(row: Row) -> dict[str, Any]:
    """A flow as answers show it."""
    return {
        name: str(value) if name in HASHES and value is not None else value
        for name, value in row.items()
    }


def longest(rows: Sequence[Row]) -> tuple[int, int]:
    """Ids of the hop of most of the time, in whole percent; of equals the one of the latest."""
    hops, whole = grouped(rows, ids), lasted(rows)

    def told(hop: tuple[int, int]) -> tuple[int, int]:
        return round(100 * lasted(hops[hop]) / whole), hops[hop][-1]["time_ns"]

    last: tuple[int, int] = max(hops, key=told)
    return last


def lasting(row: Row, flow: Row) -> int:
    """How much of an interval lies between the first and the last frame of the flow, ns."""
    begin_ns = max(row["time_ns"], flow["first_ns"])
    end_ns = min(row["time_ns"] + row["interval_ns"], flow["last_ns"] + 1)
    return max(int(end_ns - begin_ns), 1)


def lasted(rows: Iterable[Row]) -> int:
    """How long the intervals of rows last together, ns."""
    return sum(row["lasts_ns"] for row in rows)


def covered(rows: Sequence[Row], from_ns: int, to_ns: int) -> float:
    """Share of the window for which there are verdicts; a flow that sends nothing has none."""
    inside = sum(
        max(min(row["time_ns"] + row["interval_ns"], to_ns) - max(row["time_ns"], from_ns), 0)
        for row in rows
    )
    return min(inside / (to_ns - from_ns), 1.0) if to_ns > from_ns else 1.0


def verdict(rows: Sequence[Row], *, held: bool) -> dict[str, Any]:
    """What is said of the headline's hop, from its intervals; `held`: it is a bottleneck."""
    kinds = grouped(rows, lambda row: row["kind"])
    kind = min(kinds, key=lambda name: (-sum(map(load, kinds[name])), -len(kinds[name]), name))
    named = hop_of(rows[-1])
    return {
        "kind": kind,
        "hop": named if held else None,
        "most_loaded": named,
        "u_mean": weighted(rows, "u_mean"),
        "u_max": max((row["u_max"] for row in rows if row["u_max"] is not None), default=None),
        "queue_mean_bytes": weighted(rows, "queue_mean_bytes"),
        "samples": sum(row["samples"] for row in rows),
        "contributors": max(row["contributors"] for row in rows),
        "victims": max(row.get("victims") or 0 for row in rows),
        "agreement": weighted(rows, "agreement"),
        "disagreement": next(filter(None, (row.get("disagreement") for row in rows[::-1])), ""),
        "parts": parts(rows),
        "confidence": weighted(rows, "confidence"),
        "completeness": weighted(rows, "completeness"),
        "plausibility": (doubted := sorted({name for row in rows for name in row["plausibility"]})),
        "doubts": [DOUBTS[name].sentence if name in DOUBTS else name for name in doubted],
        "reroute_helps": kinds[kind][-1]["reroute_helps"],
        "intervals": len(rows),
    }


def parts(rows: Sequence[Row]) -> dict[str, Any]:
    """What completeness is made of; None where it is not known.

    - `telemetry`: share of the data frames that brought telemetry;
    - `hops`, `hops_seen`: hops of the path, and how many of them telemetry spoke of at least;
      `hops_out_of_sight`: the rest;
    - `sampling`: share of the frames that sources passed on; `gaps`: share of the data that was
      sent and not captured; `shed`: share of all frames that the collector shed, with their
      flows;
    - `captured`: share of the window that live sources captured (`capture_gaps.captured`);
    - `time`: share of the intervals in which the hop's flows sent;
    - `revised`: intervals whose verdicts late rows have changed, `revised_ns`: how far time had
      come when that happened last; `redecided`: whether congestion control decided again since,
      which it never does, None where nothing was late.
    """
    known = [row for row in rows if row.get("hops") and row.get("hops_seen") is not None]
    hops = max((row["hops"] for row in known), default=None)
    seen = min((row["hops_seen"] for row in known), default=None)
    # Verdicts of older stores have no parts: their completeness was this one.
    telemetry = weighted(rows, "telemetry")
    return {
        "telemetry": weighted(rows, "completeness") if telemetry is None else telemetry,
        "sampling": weighted(rows, "sampling"),
        "gaps": weighted(rows, "gaps"),
        "shed": weighted(rows, "shed"),
        "captured": 1.0,
        "hops": hops,
        "hops_seen": seen,
        "hops_out_of_sight": None if hops is None or seen is None else max(hops - seen, 0),
        "time": weighted(rows, "duty"),
        "revised": (revised := sum((row.get("revision") or 0) > FIRST for row in rows)),
        "redecided": False if revised else None,
        "revised_ns": max(
            (row["revised_ns"] for row in rows if row.get("revised_ns") is not None), default=None
        ),
    }


def sentence(said: Row, last: Row, intervals: int) -> str:
    """The headline as a sentence; `last` is the latest stretch, with its confidence.

    Of several `intervals` of a calm flow each has a most loaded hop of its own.
    """
    kind = KINDS.get(said["kind"])
    why = kind.sentence if kind else said["kind"]
    least = "at least " if IN_PART in said["plausibility"] else ""
    mean = "" if said["u_mean"] is None else f"mean load {least}{said['u_mean']:.2f}"
    if said["kind"] not in HOLDING:
        hop = said["most_loaded"]
        often = "most often the" if said["intervals"] < intervals else "the"
        most = f"{often} most loaded is {described(hop)} with {mean}" if hop and mean else ""
        if said["kind"] == SENDER and UNSCALED in said["plausibility"]:
            why += OR_WINDOW
        return "; ".join(filter(None, (f"{calm(said)}: {why}", most))) + "."
    flows = said["contributors"]
    shared = {0: "", 1: "one flow crosses it"}.get(flows, f"{flows} flows share it")
    if said["hop"] is None:
        about = (
            ("receiver", "the bottleneck") if said["kind"] == RECEIVER else ("path", "congested")
        )
        head, shared = f"The {about[0]} {held(said, about[1])}: {why}", ""
    else:
        head = f"{described(said['hop'])} {held(said, 'the bottleneck')}: {why}"
    told = (head, mean, shared, REROUTE.get(said["reroute_helps"]), now(said, last))
    return "; ".join(filter(None, told)) + "."


def calm(said: Row) -> str:
    """What is said where nothing is found to hold the flow back: of hops that were seen alone."""
    if said["kind"] == UNKNOWN:
        return "Whether the network holds it back is not known"
    parts = said["parts"]
    if not parts["hops_seen"]:
        return "No bottleneck in sight"
    if parts["hops_out_of_sight"]:
        return f"No bottleneck at the {parts['hops_seen']} of {parts['hops']} hops in sight"
    return "No bottleneck in the network"


def held(said: Row, what: str) -> str:
    """That a hop is or was what it is called, and for how much of the time."""
    part = f" for {100 * said['share']:.0f} % of the time" if said["share"] < ALL else ""
    if said["until_ns"] is None:
        return f"is {what}{part and ',' + part}"
    return f"was {what}{part} until {time_text(said['until_ns'])}"


def now(said: Row, last: Row) -> str:
    """What holds the flow back instead."""
    if said["until_ns"] is None:
        return ""
    if last["hop"] is not None:
        sure = (last["confidence"] or 0.0) >= AS_LIKELY_AS_NOT
        return f"now it {'is' if sure else 'may be'} {last['hop']['name']}"
    return ELSEWHERE.get(last["kind"], "now nothing holds it back")
