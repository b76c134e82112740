"""The hops of a flow as spans (OTLP as JSON), so that queueing shows inside the trace of a call.

In each interval the path is a span, and below it each hop is one: it begins where the queues before
it end, and is as long as its queue kept a packet, on average. A hop whose queue is not known is a
span without length that says so. Ids follow from the flow, the time and the hop: to send the same
spans again changes nothing. Source: OpenTelemetry protocol 1.x, JSON encoding; W3C Trace Context.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

PARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}")
INTERNAL = 1
"""SPAN_KIND_INTERNAL."""
SCOPE = "hopsight"
Json = dict[str, Any]


def hop_spans(found: Mapping[str, Any], traceparent: str, most: int, version: str) -> Json:
    """Signals of a flow (as `/api/v1/flows/signals` has them) as a request to export traces.

    With a `traceparent` the spans are part of that trace, below that span; of more intervals than
    `most` the latest are told.
    """
    given = PARENT.fullmatch(traceparent)
    flow = found["flow"]
    trace = given[1] if given else digest(16, "trace", flow["flow"], found["interval"]["to_ns"])
    parent = given[2] if given else ""
    times: Sequence[int] = found["times_ns"]
    kept = range(max(len(times) - most, 0), len(times))
    made = [span for at in kept for span in path_spans(found, at, trace, parent)]
    resource = {
        "service.name": SCOPE, "service.version": version,
        "hopsight.from_ns": found["interval"]["from_ns"],
        "hopsight.to_ns": found["interval"]["to_ns"],
        "hopsight.covered": found["interval"]["covered"],
        "hopsight.captured": found["captured"], "hopsight.completeness": found["completeness"],
    }  # fmt: skip
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes(resource)},
                "scopeSpans": [{"scope": {"name": SCOPE, "version": version}, "spans": made}],
            }
        ]
    }


def path_spans(found: Mapping[str, Any], at: int, trace: str, parent: str) -> Iterator[Json]:
    """The path in one interval, and its hops."""
    flow, time_ns = found["flow"], int(found["times_ns"][at])
    there = [hop for hop in found["hops"] if hop["samples"][at]]
    if not there:
        return
    placed = sorted(there, key=lambda hop: (hop["hop_index"] is None, hop["hop_index"] or 0))
    told = [hop["delay_ns"][at] for hop in placed]
    worst = max(there, key=lambda hop: hop["u_mean"][at] or 0.0)
    own = digest(8, "path", flow["flow"], time_ns)
    begin = time_ns
    hops = []
    for hop, delay in zip(placed, told, strict=True):
        end = begin + (0 if delay is None else max(round(delay), 0))
        hops.append(hop_span(hop, at, (trace, own, flow["flow"]), (begin, end), hop is worst))
        begin = end
    ends = f"{flow['src']}:{flow['sport']} → {flow['dst']}:{flow['dport']}"
    width = int(found["lengths_ns"][at])
    told_of_flow = {f"hopsight.{name}": found["signals"].get(name, [None] * (at + 1))[at]
                    for name in ("U", "alpha", "rate_bps", "inflight_bytes")}  # fmt: skip
    yield span(
        f"network path {ends}", (trace, parent, own), (time_ns, max(begin, time_ns + width)),
        {"network.peer.address": flow["dst"], "network.peer.port": flow["dport"],
         "network.local.address": flow["src"], "network.local.port": flow["sport"],
         "hopsight.flow": flow["flow"], "hopsight.interval_ns": width,
         "hopsight.queue_delay_ns": begin - time_ns,
         "hopsight.queue_delay_complete": None not in told, **told_of_flow},
    )  # fmt: skip
    yield from hops


def hop_span(
    hop: Mapping[str, Any], at: int, ids: tuple[str, str, str], when: tuple[int, int], worst: bool
) -> Json:
    """One hop in one interval."""
    trace, parent, flow = ids
    delay = hop["delay_ns"][at]
    return span(
        f"queue at {hop['device']} {hop['interface']}",
        (trace, parent, digest(8, "hop", flow, when[0], at, hop["node"], hop["port"])),
        when,
        {"hopsight.device": hop["device"], "hopsight.interface": hop["interface"],
         "hopsight.stage": hop["stage"], "hopsight.hop_index": hop["hop_index"],
         "hopsight.u_mean": hop["u_mean"][at], "hopsight.u_max": hop["u_max"][at],
         "hopsight.queue_mean_bytes": hop["queue_mean_bytes"][at],
         "hopsight.samples": hop["samples"][at], "hopsight.queue_delay_known": delay is not None,
         "hopsight.most_loaded": worst},
    )  # fmt: skip


def span(
    name: str, ids: tuple[str, str, str], when: tuple[int, int], told: Mapping[str, Any]
) -> Json:
    """A span as OTLP has it in JSON: ids in hexadecimal, 64-bit numbers as text."""
    trace, parent, own = ids
    made = {"traceId": trace, "spanId": own, "name": name, "kind": INTERNAL,
            "startTimeUnixNano": str(when[0]), "endTimeUnixNano": str(when[1]),
            "attributes": attributes(told)}  # fmt: skip
    return made | ({"parentSpanId": parent} if parent else {})


def attributes(told: Mapping[str, Any]) -> list[Json]:
    """Attributes as OTLP has them; what is not known is left out."""
    return [{"key": key, "value": value_of(value)} for key, value in told.items()
            if value is not None]  # fmt: skip


def value_of(value: Any) -> Json:
    """A value with its kind."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}


def digest(octets: int, *told: object) -> str:
    """An id that stands for what is told."""
    text = "\x00".join(map(str, told)).encode()
    return blake2b(text, digest_size=octets).hexdigest()
