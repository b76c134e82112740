"""Ask a store where a flow is bottlenecked: `hopsight where` and the API give this answer."""

from collections.abc import Mapping
from typing import Any, Protocol

import polars as pl

from pipeline.composed_answer import HOLDING, compose_answer, flow_of
from pipeline.feedback_integrity import doubt, integrity
from pipeline.lengths import fitting
from pipeline.question import Question, address_words, duration_text, end_text, time_text
from pipeline.signals import reverse_flow
from pipeline.witness import (
    STACKS,
    ago,
    asked_of_the_bus,
    carried,
    stood,
    with_messages,
    witnesses,
)

LOOK_BACK_NS = 3_600_000_000_000
"""How far before the window the beginning of a bottleneck is looked for."""
SEEN_FLOWS = 10
"""Most flows that are named instead of one that is not known."""


class Asked(Protocol):
    """Whatever answers queries by name: a store of this process, or its owner elsewhere."""

    def query(self, name: str, **parameters: Any) -> pl.DataFrame:
        """The answer to `pipeline/sql/<name>.sql`."""


def answer(store: Asked, question: Question) -> dict[str, Any]:
    """The answer to `question` as plain data; `verdict` is None where there is none to give.

    Keys: flow, interval, verdict, candidates, signals, evidence, history, integrity, topology,
    notes; without a verdict also `message`, one sentence, and `flows`, what was seen between both
    ends.
    """
    found = flows_of(store, question)
    if found.is_empty():
        return _unknown(store, question)
    flow = found.row(0, named=True)
    notes = [f"{found.height} flows have these ends; this is the one seen last"] * (
        found.height > 1
    )
    if question.at_ns is None:
        last = time_text(flow["last_ns"])
        notes.append(f"no time was given: the window ends with this flow's last frame, {last}")
    to_ns = flow["last_ns"] if question.at_ns is None else question.at_ns
    from_ns = to_ns - question.window_ns
    if from_ns < flow["first_ns"] < to_ns:
        from_ns = flow["first_ns"]
    window = {"flow": flow["flow"], "from_ns": from_ns, "to_ns": to_ns}
    lengths = store.query("flow_lengths", **window)["interval_ns"].to_list()
    length = fitting(lengths, to_ns - from_ns, question.interval_ns)
    if length is None:
        return _silent(flow, question, (from_ns, to_ns), notes, lengths)
    rows = newest(store.query("flow_bottleneck", **window, interval_ns=length))
    made = compose_answer(flow, rows, from_ns, to_ns, notes, lengths)
    _with_frames(store, made, flow, rows)
    made["integrity"] = integrity(store.query("flow_integrity", **window))
    if said := doubt(made["integrity"]):
        made["notes"].append(said)
    return _since(store, made, flow["flow"], rows["time_ns"][0])


def newest(rows: pl.DataFrame) -> pl.DataFrame:
    """Of each interval the newest revision, in order of time."""
    latest = rows.sort("time_ns", "revision", descending=[False, True])
    return latest.unique(["time_ns", "interval_ns"], keep="first", maintain_order=True)


def flows_of(store: Asked, question: Question) -> pl.DataFrame:
    """The flows that the question may mean, the one seen last first."""
    found = store.query(
        "flow_of_key",
        **_ends(question),
        sport=question.sport,
        dport=question.dport,
        protocol=-1 if question.protocol is None else question.protocol,
    )
    narrow = {"tenant": question.tenant, "vrf": question.vrf, "vni": question.vni}
    return found.filter(*(pl.col(n) == value for n, value in narrow.items() if value is not None))


def _ends(question: Question) -> dict[str, int]:
    src, dst = address_words(question.src), address_words(question.dst)
    return {"src_hi": src[0], "src_lo": src[1], "dst_hi": dst[0], "dst_lo": dst[1]}


def _with_frames(
    store: Asked, made: dict[str, Any], flow: Mapping[str, Any], rows: pl.DataFrame
) -> None:
    """Give each piece of evidence the frames that carry it, so that they can be opened.

    Raw rows are kept for a short time; without them there are none.
    """
    if flow["conversation"] is None or flow["direction"] is None:
        return
    asked: dict[str, Any] = {
        "flow": flow["flow"],
        "reverse": reverse_flow(flow["conversation"], flow["direction"]),
        "from_ns": made["interval"]["from_ns"],
        "to_ns": made["interval"]["to_ns"],
        "step_ns": made["interval"]["step_ns"],
        "stood": stood(made["verdict"], rows),
    }
    found = carried(store.query("flow_frames", **asked, ago_ns=ago(made["evidence"])))
    if any(piece["signal"] in STACKS for piece in made["evidence"]):
        hops = store.query("flow_stacks", **asked)
        found += [{"signal": "int", **row} for row in hops.iter_rows(named=True)]
    for piece in made["evidence"]:
        piece["frames"] = witnesses(piece, found)
    if (telling := asked_of_the_bus(made["evidence"])) is not None:
        messages = store.query("frame_messages", flow=flow["flow"], **telling)
        with_messages(made["evidence"], messages.to_dicts())


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
    since_ns = found["since_ns"] or begun_ns
    old = since_ns < floor_ns + made["interval"]["step_ns"]
    verdict |= {"since_ns": since_ns, "since_exact": bool(found["broken_ns"]) or not old}
    return made


def _unknown(store: Asked, question: Question) -> dict[str, Any]:
    """There is no such flow; others between its addresses may be what was meant."""
    others = store.query("flows_between", **_ends(question), rows=SEEN_FLOWS)
    flows = [flow_of(row) for row in others.iter_rows(named=True)]
    seen = ", ".join(_flow_text(flow) for flow in flows) or "none"
    message = f"no verdict for {question.flow_text}; flows seen between these addresses: {seen}"
    return _nothing(message) | {"flows": flows}


def _silent(
    flow: Mapping[str, Any],
    question: Question,
    window: tuple[int, int],
    notes: list[str],
    lengths: list[int],
) -> dict[str, Any]:
    """The flow is known, but there is no verdict in the window, or none of the asked length."""
    from_text, to_text = map(time_text, window)
    first, last = time_text(flow["first_ns"]), time_text(flow["last_ns"])
    message = (
        f"no verdict for {question.flow_text} from {from_text} to {to_text};"
        f" the flow was seen from {first} to {last}"
    )
    if lengths and question.interval_ns is not None:
        there = ", ".join(map(duration_text, lengths))
        message = (
            f"no verdict for {question.flow_text} on intervals of"
            f" {duration_text(question.interval_ns)} from {from_text} to {to_text};"
            f" there are such of {there}"
        )
    interval = {"from_ns": window[0], "to_ns": window[1], "step_ns": None, "covered": 0.0,
                "lengths_ns": lengths}  # fmt: skip
    return _nothing(message) | {"flow": flow_of(flow), "interval": interval, "notes": notes}


def _nothing(message: str) -> dict[str, Any]:
    """The shape of an answer without a verdict."""
    empty: dict[str, Any] = {
        "candidates": [], "signals": [], "evidence": [], "history": [], "flows": [],
    }  # fmt: skip
    return {
        "flow": None, "interval": None, "verdict": None, **empty,
        "integrity": None, "topology": "", "notes": [], "message": message,
    }  # fmt: skip


def _flow_text(flow: Mapping[str, Any]) -> str:
    return f"{end_text(flow['src'], flow['sport'])} → {end_text(flow['dst'], flow['dport'])}"
