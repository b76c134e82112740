"""Ask a store where a flow is bottlenecked: `hopsight where` and the API give this answer."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import polars as pl

from collector import TCP
from pipeline.asked import Asked
from pipeline.beside import beside
from pipeline.capture_gaps import captured, gaps_of, touching
from pipeline.composed_answer import compose_answer, flow_of
from pipeline.feedback_integrity import doubt, integrity, judged, summed
from pipeline.flow_finding import (
    FEW,
    MOST,
    differing,
    ends_of,
    found_flows,
    key_of,
    same_ends,
)
from pipeline.flow_rows import FlowRows, FlowWindow, frames_of, rows_of
from pipeline.hop import Row
from pipeline.kind import HOLDING
from pipeline.lengths import fitting
from pipeline.likely_flow import likely_window
from pipeline.question import TEN_SECONDS_NS, Question, end_text, time_text
from pipeline.silent_answer import nothing, silent
from pipeline.told_row import parted, verdict_row
from pipeline.witness import (
    STACKS,
    ago,
    asked_of_the_bus,
    carried,
    groups,
    one_by_one,
    stood,
    with_messages,
    witnesses,
)

LOOK_BACK_NS = 3_600_000_000_000
"""How far before the window the beginning of a bottleneck is looked for."""
SEEN_FLOWS = 10
"""Most flows that are named instead of one that is not known."""
Around = tuple[pl.DataFrame, bool]
"""The gaps of sources, and whether any message came over a bus."""


def answer(store: Asked, question: Question) -> dict[str, Any]:
    """The answer to `question` as plain data; `verdict` is None where there is none to give.

    Keys: flow, interval, verdict, candidates, signals, evidence, history, integrity, topology,
    notes; without a verdict also `message`, one sentence, and `flows`, what was seen between both
    ends: of a flow that is known itself, others with its ends, and its other direction, where they
    have verdicts when they were seen last.
    """
    with beside() as begin:
        around = begin(lambda: _around(store, frames=question.frames))
        finding = begin(lambda: flows_of(store, question, None, question.seen))
        likely = likely_window(question)
        ahead = likely and rows_of(store, likely, begin, frames=question.frames)
        found = finding.result()
        if not found:
            return _unknown(store, question)
        flow, notes = found[0], same_ends(found)
        if question.at_ns is None:
            last = time_text(flow["last_ns"])
            notes.append(f"no time was given: the window ends with this flow's last frame, {last}")
        # What begins when the window ends is not in it; a flow's own last frame is.
        to_ns = flow["last_ns"] if question.at_ns is None else question.at_ns
        last_ns = to_ns if question.last_ns is None else question.last_ns
        from_ns = to_ns - question.window_ns
        if from_ns < flow["first_ns"] < to_ns:
            from_ns = flow["first_ns"]
        window = FlowWindow.of(flow, from_ns, last_ns)
        # Before its first frame a flow has no rows, so that a window that begins there has as many.
        same = likely and likely._replace(from_ns=max(likely.from_ns, from_ns)) == window
        whole = question.frames
        meant = ahead if ahead and same else rows_of(store, window, begin, frames=whole)
        span = from_ns, to_ns
        made, rows = _composed(store, question, flow, window, span, meant, notes, around)
        if not rows:
            return _offering(store, question, found, made)
        gaps, bus = around.result()
        if meant.frames is not None:
            frames = meant.frames.result()
        else:  # which sources a gap has to be of to count
            frames = frames_of(store, window) if touching(gaps, *span) else None
    if question.frames:
        _with_frames(store, made, flow, rows, frames, bus=bus)
    else:
        made["evidence"] = [piece | {"frames": None} for piece in made["evidence"]]
    _with_gaps(gaps, made, span, frames)
    if said := doubt(made["integrity"]):
        made["notes"].append(said)
    return _since(store, made, flow["flow"], rows[0]["time_ns"])


def _around(store: Asked, *, frames: bool) -> Around:
    """What every answer needs."""
    return gaps_of(store), frames and store.query("bus_used").height > 0


def _composed(
    store: Asked,
    question: Question,
    flow: Mapping[str, Any],
    asked: FlowWindow,
    span: tuple[int, int],
    meant: FlowRows,
    notes: list[str],
    around: Future[Around],
) -> tuple[dict[str, Any], list[Row]]:
    """The answer about a flow that is known, but for the frames, and the verdicts that it tells."""
    window, found = asked.alone, meant.told
    from_ns, to_ns = span
    told, counts = ([], []) if found is None else parted(found)
    known = sorted({each.interval_ns for each in told})
    lengths = _lengths(store, window) if found is None else known
    length = fitting(lengths, to_ns - from_ns, question.interval_ns)
    if length is None:
        said = captured(around.result()[0], *span).said
        return silent(flow, question, span, [*notes, *said], lengths), []
    if found is None:
        told, _ = parted(store.query("flow_bottleneck", **window, interval_ns=length))
    rows = newest(verdict_row(each) for each in told if each.interval_ns == length)
    made = compose_answer(flow, rows, from_ns, to_ns, notes, lengths)
    made["integrity"] = (
        integrity(store.query("flow_integrity", **window))
        if found is None
        else judged(summed(counts))
    )
    return made, rows


def _lengths(store: Asked, window: Mapping[str, int]) -> list[int]:
    """Of which lengths there are verdicts, the shortest first."""
    return store.query("flow_lengths", **window)["interval_ns"].to_list()


def newest(rows: Iterable[Row]) -> list[Row]:
    """Of each interval the newest revision, in order of time; all are of one length."""
    ordered = sorted(rows, key=lambda row: (row["time_ns"], row["revision"]))
    return [*{row["time_ns"]: row for row in ordered}.values()]


def flows_of(
    store: Asked,
    question: Question,
    most: int | None = MOST,
    seen: tuple[int | None, int | None] = (None, None),
) -> list[dict[str, Any]]:
    """The flows that the question may mean, in order (`found_flows`)."""
    return found_flows(store.query("flow_of_key", **key_of(question)), question, most, seen)


def _with_frames(
    store: Asked,
    made: dict[str, Any],
    flow: Mapping[str, Any],
    rows: Sequence[Row],
    frames: pl.DataFrame | None,
    *,
    bus: bool,
) -> None:
    """Give each piece of evidence the frames that carry it, so that they can be opened.

    Raw rows are kept for a short time; without them there are none.
    """
    interval = made["interval"]
    window = FlowWindow.of(flow, interval["from_ns"], interval["to_ns"])
    if (both := window.both) is None:
        return
    stands = {"step_ns": interval["step_ns"], "stood": stood(made["verdict"], rows)}
    asked: dict[str, Any] = both | stands
    since = ago(made["evidence"])
    if frames is None:
        found = carried(groups(store.query("flow_frame_groups", **asked, ago_ns=since)))
    else:
        tcp = flow["protocol"] == TCP
        found = carried(one_by_one(frames, asked, since, tcp=tcp))
    if any(piece["signal"] in STACKS for piece in made["evidence"]):
        hops = store.query("flow_stacks", **asked)
        found += [{"signal": "int", **row} for row in hops.iter_rows(named=True)]
    for piece in made["evidence"]:
        piece["frames"] = witnesses(piece, found)
    if bus and (telling := asked_of_the_bus(made["evidence"])) is not None:
        messages = store.query("frame_messages", flow=flow["flow"], **telling)
        with_messages(made["evidence"], messages.to_dicts())


def _with_gaps(
    gaps: pl.DataFrame, made: dict[str, Any], span: tuple[int, int], frames: pl.DataFrame | None
) -> None:
    """Say what the sources of the flow's frames did not capture: so much less is complete.

    Where their frames are not told one by one all sources count.
    """
    known = None if frames is None else {*frames["source"].to_list()}
    found, said = captured(gaps, *span, known), made["verdict"]
    made["notes"] += found.said
    said["parts"]["captured"] = found.share
    if said["completeness"] is not None:
        said["completeness"] *= found.share


def _since(store: Asked, made: dict[str, Any], flow: int, begun_ns: int) -> dict[str, Any]:
    """The answer with the true beginning of a bottleneck that is older than the window."""
    verdict = made["verdict"]
    if verdict["since_exact"] or verdict["kind"] not in HOLDING or verdict["hop"] is None:
        return made
    floor_ns = begun_ns - LOOK_BACK_NS
    found = store.query(
        "flow_since",
        flow=flow,
        node=verdict["hop"]["node"],
        port=verdict["hop"]["port"],
        interval_ns=made["interval"]["step_ns"],
        floor_ns=floor_ns,
        before_ns=begun_ns,
    ).row(0, named=True)
    since_ns = max(found["since_ns"] or begun_ns, made["flow"]["first_ns"])
    old = since_ns < floor_ns + made["interval"]["step_ns"]
    verdict |= {"since_ns": since_ns, "since_exact": bool(found["broken_ns"]) or not old}
    return made


def _unknown(store: Asked, question: Question) -> dict[str, Any]:
    """There is no such flow; others between its ends or addresses may be what was meant."""
    others = store.query("flows_between", **ends_of(question), rows=SEEN_FLOWS)
    flows = [flow_of(row) for row in others.iter_rows(named=True)]
    any_kind = replace(question, protocol=None, tenant=None, vrf=None, vni=None)
    if same := flows_of(store, any_kind):
        told = ", or with ".join(dict.fromkeys(differing(flow, question) for flow in same))
        message = f"no verdict for {question.flow_text}; these ends were seen with {told}"
    else:
        seen = ", ".join(_flow_text(flow) for flow in flows) or "none"
        message = f"no verdict for {question.flow_text}; flows seen between these addresses: {seen}"
    return nothing(message) | {"flows": flows}


def _offering(
    store: Asked, question: Question, found: list[dict[str, Any]], made: dict[str, Any]
) -> dict[str, Any]:
    """The answer of `silent` with the flows that have verdicts, to be asked for without a time."""
    flow, interval = found[0], made["interval"]
    turned = replace(
        question, src=question.dst, sport=question.dport, dst=question.src, dport=question.sport,
        protocol=flow["protocol"], tenant=flow["tenant"], vrf=flow["vrf"], vni=flow["vni"],
    )  # fmt: skip
    back = [each for each in flows_of(store, turned, FEW) if _judged(store, each)]
    said, seen = made["message"], flow["first_ns"] < interval["to_ns"]
    if not interval["lengths_ns"] and seen and flow["last_ns"] >= interval["from_ns"] and back:
        said += "; none of its data was judged then, the other direction may have sent some"
    message = "; ".join([said, *same_ends(found)])
    itself = [each for each in found[: FEW + 1] if _judged(store, each)]
    return made | {"message": message, "flows": [flow_of(each) for each in (*itself, *back)]}


def _judged(store: Asked, flow: Mapping[str, Any]) -> bool:
    """Whether a question about a flow that tells no time finds a verdict."""
    last_ns = flow["last_ns"]
    return bool(_lengths(store, FlowWindow.of(flow, last_ns - TEN_SECONDS_NS, last_ns).alone))


def _flow_text(flow: Mapping[str, Any]) -> str:
    return f"{end_text(flow['src'], flow['sport'])} → {end_text(flow['dst'], flow['dport'])}"
