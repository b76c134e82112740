"""What a job came to, in a few numbers: out of the answer that its command prints."""

from collections.abc import Callable, Mapping
from typing import Any

from service.conform_text import sentence


def parted(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What came of laying decisions beside others."""
    flows = [each for compared in answer["comparisons"] for each in compared["flows"]]
    told = {name: sum(each[name] for each in flows) for name in ("decisions", "differ")}
    return {"flows": len(flows)} | told


def repeated(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What came of a closed loop, with how far the unchanged re-run is from what was seen."""
    return {"flows": len(answer["flows"]), "bottleneck": answer["rerun"]["bottleneck"],
            "off_by": off_by(answer["trust"])}  # fmt: skip


def swept(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What came of a sweep; with the loop closed, how far its base is from what was seen."""
    told = {"points": answer["points"], "rows": len(answer["rows"])}
    return told | ({"off_by": off_by(answer["trust"])} if "trust" in answer else {})


def off_by(trust: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Differences by the name of their measure."""
    return {each["name"]: each["difference"] for each in trust}


def judged(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What came of watching senders and receivers, with the surest findings in words."""
    told: dict[str, Any] = {
        name: len(answer[name]) for name in ("flows", "findings", "undecided")
    }  # fmt: skip
    return told | {"surest": [sentence(each) for each in answer["findings"][:MOST_TOLD]]}


MOST_TOLD = 5
"""Findings that a job tells in words."""
FOUND: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "what_if": parted, "closed_loop": repeated, "sweep": swept, "conform": judged,
}  # fmt: skip
