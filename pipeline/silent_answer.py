"""The answer to "where is this flow bottlenecked?" where there is no verdict to give. Pure."""

from collections.abc import Mapping
from typing import Any

from pipeline.composed_answer import JUDGED, flow_of
from pipeline.question import Question, duration_text, time_text


def silent(
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
                **dict.fromkeys(JUDGED), "lengths_ns": lengths}  # fmt: skip
    return nothing(message) | {"flow": flow_of(flow), "interval": interval, "notes": notes}


def nothing(message: str) -> dict[str, Any]:
    """The shape of an answer without a verdict."""
    empty: dict[str, Any] = {
        "candidates": [], "signals": [], "evidence": [], "history": [], "flows": [],
    }  # fmt: skip
    return {
        "flow": None, "interval": None, "verdict": None, **empty,
        "integrity": None, "topology": "", "notes": [], "message": message,
    }  # fmt: skip
