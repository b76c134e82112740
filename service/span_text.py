"""Spans of a flow's hops as a table: time, hop, how long its queue kept a packet, and its load."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from service.coverage_text import spoken_of
from service.endpoint import time_text
from service.text import Heading, duration, load, table

SPANS = (
    Heading("time"), Heading("hop"), Heading("queueing delay", numeric=True),
    Heading("u", numeric=True),
)  # fmt: skip
QUEUE = "queue at "
"""How names of the spans of hops begin."""
PREFIX = "hopsight."


def shown(told: Mapping[str, Any]) -> RenderableType:
    """The spans (as `service/hop_spans.py` makes them) as a person reads them."""
    [resource] = told["resourceSpans"]
    about = attributes_of(resource["resource"])
    made = resource["scopeSpans"][0]["spans"]
    path = next(each for each in made if not each["name"].startswith(QUEUE))
    time = {
        "interval": {"covered": about.get("covered")}, "captured": about["captured"],
        "completeness": about.get("completeness"),
    }  # fmt: skip
    return Group(Text(spoken_of(time), style="dim"), table(SPANS, rows(made), title=path["name"]))


def rows(made: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """A line for each hop in each interval, which begins when the span of its path does."""
    begins = {each["spanId"]: int(each["startTimeUnixNano"]) for each in made}
    for each in made:
        if not each["name"].startswith(QUEUE):
            continue
        told = attributes_of(each)
        ends = int(each["endTimeUnixNano"]) - int(each["startTimeUnixNano"])
        yield (
            time_text(begins[each["parentSpanId"]]), f"{told['device']} {told['interface']}",
            duration(ends if told["queue_delay_known"] else None), load(told.get("u_mean")),
        )  # fmt: skip


def attributes_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of a span or a resource by what stands behind `hopsight.`, as they were."""
    found = {}
    for each in told["attributes"]:
        [(kind, value)] = each["value"].items()
        found[each["key"].removeprefix(PREFIX)] = int(value) if kind == "intValue" else value
    return found
