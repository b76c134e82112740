"""The fields that filters may name, by what is filtered: tables of name, meaning and column.

Every field stands in a column of the same row `here` that the filter is applied to
(`pipeline/sql/filter/`), or in several of which one has to fit.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pipeline.kind import KINDS
from pipeline.topology_key import ORIENTATIONS

REROUTES = tuple(dict.fromkeys(kind.reroute_helps for kind in KINDS.values()))
CONTROLS = ("hpcc", "dctcp")
"""Names of `memory.Algorithm`, without loading what computes."""
Kind = Literal["text", "number", "address", "protocol", "end"]


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its name, what it is measured in, its meaning, and the columns that hold it.

    `values` are all that a text can be, where they are known.
    """

    name: str
    kind: Kind
    doc: str
    columns: tuple[str, ...]
    unit: str = ""
    values: tuple[str, ...] = ()

    @property
    def accepted(self) -> str:
        """All that a text can be, as it is written."""
        return ", ".join(value or '""' for value in self.values)


def _text(name: str, doc: str, *columns: str, values: Iterable[str] = ()) -> Field:
    return Field(name, "text", doc, columns or (name,), values=tuple(values))


def _number(name: str, doc: str, column: str = "", unit: str = "") -> Field:
    return Field(name, "number", doc, (column or name.replace(".", "_"),), unit)


PLACE = (
    _text("device", "Device of the hop."),
    _text("interface", "Interface of the hop."),
    _text("stage", "Stage of the device: tor, spine, …"),
    # Ports of which no topology tells it have the empty text.
    _text("orientation", "Where the port faces.", values=(*ORIENTATIONS, "")),
    _number("capacity", "Capacity of the port.", "capacity_bps", "bit/s"),
)
FLOWS = (
    Field("src", "address", "Source address, or a prefix of it.", ("src",)),
    Field("dst", "address", "Destination address, or a prefix of it.", ("dst",)),
    Field("host", "address", "Address at either end, or a prefix of it.", ("src", "dst")),
    _number("sport", "Source port."),
    _number("dport", "Destination port."),
    Field("port", "number", "Port at either end.", ("sport", "dport")),
    Field("protocol", "protocol", "IP protocol by name or number.", ("protocol",)),
    _text("tenant", "Tenant of the flow."),
    _text("owner", "Tenant that owns the flow by the topology."),
    _text("vrf", "Routing instance of the flow."),
    _number("vni", "Virtual network of the flow."),
    _number("dscp", "Class of the flow."),
    _text("cc", "Congestion control.", values=CONTROLS),
    _text("kind", "Kind of bottleneck, or why there is none.", values=KINDS),
    *PLACE,
    _number("u.mean", "Mean load u' at the bottleneck over the flow's intervals."),
    _number("u.p50", "Median of the intervals' mean load u'."),
    _number("u.p90", "Their 90th percentile."),
    _number("u.p99", "Their 99th percentile."),
    _number("u.max", "Largest load u'."),
    _number("queue.mean", "Mean queue at the bottleneck.", "queue_mean_bytes", "bytes"),
    _number("samples", "Samples behind the verdicts."),
    _number("confidence", "Mean probability that the hop is right.", unit="ratio"),
    _number("completeness", "Mean completeness of the verdicts.", unit="ratio"),
    _number("contributors", "Most flows that shared the hop in an interval."),
    _number("victims", "Most flows held back there that contribute little."),
    _text("reroute_helps", "Whether another path would help.", values=REROUTES),
)
LINKS = (
    *PLACE,
    _number("node", "Telemetry id of the device."),
    _number("port", "Telemetry id of the port."),
    _number("u.mean", "Mean load u' over flows and intervals."),
    _number("u.p50", "Median of the mean load u' by flow and interval."),
    _number("u.p90", "Its 90th percentile."),
    _number("u.p99", "Its 99th percentile."),
    _number("u.max", "Largest load u'."),
    _number("queue.mean", "Mean queue.", "queue_mean_bytes", "bytes"),
    _number("queue.max", "Longest queue.", "queue_max_bytes", "bytes"),
    _number("flows", "Flows whose telemetry named it."),
    _number("samples", "Samples of what tells the load."),
)


def _quantiles(name: str, doc: str, column: str, unit: str, *more: str) -> tuple[Field, ...]:
    """Fields of a metric of TE answers: its quantiles and its ends."""
    names = (*more, "p50", "p90", "p99", "max")
    return tuple(
        _number(f"{name}.{each}", f"{doc}: {each}.", column.format(each), unit) for each in names
    )


CELLS = (
    _number("dscp", "Class."),
    *_quantiles("u", "Load u' in the cell", "u_{}", ""),
    *_quantiles("utilization", "Utilisation", "utilization_{}", "ratio"),
    *_quantiles("abw", "Available bandwidth", "abw_{}_bps", "bit/s", "min", "p01", "p10"),
    *_quantiles("delay", "Delay of the hop", "delay_{}_ns", "ns"),
    _number(
        "headroom.ratio", "What is left of the capacity nine tenths of the time.", unit="ratio"
    ),
    _number("headroom.bps", "Available bandwidth nine tenths of the time.", unit="bit/s"),
    _number("data", "Payload bytes.", "data_bytes", "bytes"),
    _number("affected", "Payload bytes of flows that were held back.", "affected_bytes", "bytes"),
    _number("flows", "Flows, estimated."),
    _number("affected_flows", "Flows that were held back, estimated."),
    _number("samples", "Samples of what tells the load; without one of what tells most."),
    _number("completeness", "Share of the data frames sent that telemetry covers.", unit="ratio"),
)
PATH_CELLS = (
    Field("src", "end", "End that sends: site, prefix or device.", ("src",)),
    Field("dst", "end", "End that receives.", ("dst",)),
    _text("tenant", "Tenant that owns the addresses."),
    _text("vrf", "Routing instance of the addresses."),
    *CELLS,
)
LINK_CELLS = (*PLACE, *CELLS)

SUBJECTS = {
    "flows": FLOWS,
    "links": LINKS,
    "link_cells": LINK_CELLS,
    "path_cells": PATH_CELLS,
}
"""Fields by what is filtered, as the reference has them."""
SAME = {"flow_cells": "flows", "load_cells": "links"}
"""Subjects whose fields are those of another one: rows of an answer, not what they are found by."""
FIELDS = {
    subject: {field.name: field for field in SUBJECTS[SAME.get(subject, subject)]}
    for subject in (*SUBJECTS, *SAME)
}
