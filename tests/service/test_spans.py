"""Hops of a flow as spans, and traces of the service itself, taken by a real receiver."""

import asyncio
import json
import os
import pty
import subprocess
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any, ClassVar

import httpx
import pytest
from asked import opened
from fastapi import FastAPI
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from service.app import create_app
from service.failure import ExitCode
from service.hop_spans import hop_spans
from service.settings import Settings
from service.span_text import rows
from service.tracing import tracing

FLOW = {"src": "10.0.1.1:40001", "dst": "10.0.2.1:5001"}
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
MS = 1_000_000


class Collector(BaseHTTPRequestHandler):
    """Takes traces as a collector does."""

    told: ClassVar[list[tuple[str, bytes]]] = []
    answers: ClassVar[tuple[int, str]] = (200, "")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.told.append((self.headers["Content-Type"], body))
        status, said = self.answers
        self.send_response(status)
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    Collector.told, Collector.answers = [], (200, "")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/traces", Collector.told
    server.shutdown()
    server.server_close()
    thread.join()


def signals(delays: list[list[float | None]]) -> dict[str, Any]:
    """Two intervals of a flow over hops with these delays."""
    hops = [
        {"node": at, "port": 1, "device": f"leaf{at}", "interface": "e1", "stage": "tor",
         "hop_index": at, "u_mean": [0.5 + at, 0.5], "u_max": [1.0, 1.0], "samples": [3, 3],
         "queue_mean_bytes": [10, None], "delay_ns": delay}
        for at, delay in enumerate(delays)
    ]  # fmt: skip
    flow = {"flow": "7", "src": "10.0.1.1", "sport": 1, "dst": "10.0.2.1", "dport": 2}
    time = {"from_ns": 0, "to_ns": 20 * MS, "step_ns": 10 * MS, "covered": 1.0}
    return {"flow": flow, "interval": time, "captured": 1.0, "completeness": 0.5, "hops": hops,
            "times_ns": [0, 10 * MS], "lengths_ns": [10 * MS, 4 * MS],
            "signals": {"U": [0.9, None]}}  # fmt: skip


def spans_of(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [*told["resourceSpans"][0]["scopeSpans"][0]["spans"]]


def test_a_hop_is_as_long_as_its_queue_and_begins_where_the_one_before_ends() -> None:
    told = hop_spans(signals([[1000.0, 5.0], [None, 7.0], [300.4, 2 * MS]]), PARENT, 10, "1")
    made = spans_of(told)
    about = {one["key"]: one["value"] for one in told["resourceSpans"][0]["resource"]["attributes"]}
    assert about["hopsight.to_ns"] == {"intValue": str(20 * MS)}
    assert about["hopsight.completeness"] == {"doubleValue": 0.5}
    path, *hops = made[:4]
    assert {each["traceId"] for each in made} == {PARENT.split("-")[1]}
    assert (path["parentSpanId"], path["name"]) == (
        PARENT.split("-")[2], "network path 10.0.1.1:1 → 10.0.2.1:2"
    )  # fmt: skip
    assert {each["parentSpanId"] for each in hops} == {path["spanId"]}
    times = [(int(each["startTimeUnixNano"]), int(each["endTimeUnixNano"])) for each in hops]
    assert times == [(0, 1000), (1000, 1000), (1000, 1300)]
    said = [{one["key"]: one["value"] for one in each["attributes"]} for each in made]
    assert said[0]["hopsight.queue_delay_complete"] == {"boolValue": False}
    assert said[4]["hopsight.queue_delay_complete"] == {"boolValue": True}
    # A path is as long as what its cell adds up, or its queues kept a packet.
    assert [said[at]["hopsight.interval_ns"]["intValue"] for at in (0, 4)] == [
        "10000000",
        "4000000",
    ]
    assert said[2]["hopsight.queue_delay_known"] == {"boolValue": False}
    assert [one["hopsight.most_loaded"]["boolValue"] for one in said[1:4]] == [False, False, True]
    assert said[1]["hopsight.samples"] == {"intValue": "3"}
    assert "hopsight.U" in said[0]
    assert "hopsight.U" not in said[4]
    assert len({each["spanId"] for each in made}) == len(made) == 8
    assert hop_spans(signals([[1.0, 5.0]]), "", 10, "1") == hop_spans(
        signals([[1.0, 5.0]]), "", 10, "1"
    )
    assert len(spans_of(hop_spans(signals([[1.0, 5.0]]), "", 1, "1"))) == 2


def test_spans_are_asked_for_and_sent(
    served: Any, hopsight: Any, collector: tuple[str, list[tuple[str, bytes]]]
) -> None:
    made = spans_of(served.get("/api/v1/flows/spans", **FLOW, traceparent=PARENT).json())
    names = {each["name"] for each in made}
    assert "queue at leaf1 Ethernet48" in names
    assert {len(each["traceId"]) for each in made} == {32}
    wrong = served.get("/api/v1/flows/spans", **FLOW, traceparent="00-0-0-0")
    assert (wrong.status_code, wrong.json()["field"]) == (422, "traceparent")
    read = hopsight.here("spans", *FLOW.values(), "--traceparent", PARENT, "--store", served.dsn)
    assert spans_of(json.loads(read.stdout)) == made
    none = hopsight.here("spans", "10.9.9.9:1", FLOW["dst"], "--store", served.dsn)
    assert (none.returncode, none.stderr.count("was seen")) == (1, 1)
    url, told = collector
    done = hopsight.here("spans", *FLOW.values(), "--server", served.url, "--send", url)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{len(made)} spans sent to {url}\n"
    [(kind, body)] = told
    assert kind == "application/json"
    assert {each["name"] for each in spans_of(json.loads(body))} == names


@pytest.mark.parametrize(
    ("answers", "code", "said"),
    [
        ((200, '{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}}'), 1,
         "3 of 80 spans were refused: too old"),
        ((200, '{"partialSuccess": {"errorMessage": "slow down"}}'), 0, "slow down"),
        ((200, '{"partialSuccess": {}}'), 0, ""),
        ((200, "[1]"), 0, ""),
        ((503, "try later\n"), 5, "503 Service Unavailable try later"),
    ],
)  # fmt: skip
def test_what_a_collector_does_not_take_is_said(
    served: Any, hopsight: Any, collector: tuple[str, Any], answers: Any, code: int, said: str
) -> None:
    Collector.answers = answers
    done = hopsight.here("spans", *FLOW.values(), "--server", served.url, "--send", collector[0])
    assert done.returncode == code, done.stderr
    assert done.stderr == (f"hopsight: --send {collector[0]}: {said}\n" if said else "")
    assert bool(done.stdout) == (code == 0)


def test_a_parameter_that_a_service_refuses_is_a_wrong_command_line(
    served: Any, hopsight: Any
) -> None:
    for asked in (("--server", served.url), ("--store", served.dsn)):
        done = hopsight.here("spans", *FLOW.values(), *asked, "--traceparent", "garbage")
        assert done.returncode == ExitCode.USAGE
        assert "traceparent" in done.stderr


def on_a_terminal(hopsight: Any, *arguments: str) -> str:
    """What a command shows on a terminal of 80 columns."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 80))
    environment = {**hopsight.environment, "NO_COLOR": "1"}
    with subprocess.Popen(
        hopsight.command(*arguments), stdin=follower, stdout=follower, stderr=follower,
        cwd=hopsight.directory, env=environment,
    ) as process:  # fmt: skip
        os.close(follower)
        pieces: list[bytes] = []
        with suppress(OSError):  # how Linux tells that nobody has the terminal any more
            while piece := os.read(leader, 65_536):
                pieces.append(piece)
    os.close(leader)
    assert process.returncode == 0, pieces
    return b"".join(pieces).decode()


def test_a_terminal_shows_a_table_and_json_where_it_is_asked_for(
    served: Any, hopsight: Any
) -> None:
    asked = ("spans", *FLOW.values(), "--store", served.dsn)
    made = spans_of(json.loads(hopsight.here(*asked).stdout))
    hops = [each for each in made if each["name"].startswith("queue at ")]
    told = on_a_terminal(hopsight, *asked)
    lines = [line.split() for line in told.splitlines()]
    assert "judged: " in told
    assert f"network path {FLOW['src']} → {FLOW['dst']}" in told
    assert ["time", "hop", "queueing", "delay", "u"] in lines
    shown = [line for line in lines if line and line[0].endswith("Z")]
    assert [f"queue at {line[1]} {line[2]}" for line in shown] == [each["name"] for each in hops]
    loads = [each["attributes"] for each in hops]
    means = [one["value"]["doubleValue"] for each in loads for one in each
             if one["key"] == "hopsight.u_mean"]  # fmt: skip
    assert [line[-1] for line in shown] == [f"{mean:.2f}" for mean in means]
    assert spans_of(json.loads(on_a_terminal(hopsight, *asked, "--json"))) == made


def test_a_delay_is_told_where_it_is_known() -> None:
    told = hop_spans(signals([[1000.0, 5.0], [None, 7.0]]), PARENT, 10, "1")
    made = [row[1:] for row in rows(spans_of(told))]
    assert made == [
        ("leaf0 e1", "1 us", "0.50"), ("leaf1 e1", "–", "1.50"),
        ("leaf0 e1", "5 ns", "0.50"), ("leaf1 e1", "7 ns", "0.50"),
    ]  # fmt: skip


async def asked(app: FastAPI, *paths: str) -> list[int]:
    """What is answered to requests of a trace."""
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
    headers = {"traceparent": PARENT}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return [(await client.get(path, headers=headers)).status_code for path in paths]


def test_requests_and_questions_to_the_store_are_traced_where_that_is_asked_for(
    tmp_path: Any, world: ModuleType, collector: tuple[str, list[tuple[str, bytes]]]
) -> None:
    url, told = collector
    with opened(tmp_path) as store, tracing(url) as provider:
        for table, rows in world.frames().items():
            store.insert(table, rows, "world")
        app = create_app(Settings(), store, traces=provider)
        assert asyncio.run(asked(app, "/api/v1/flows", "/healthz")) == [200, 200]
    sent = [ExportTraceServiceRequest.FromString(body) for _, body in told]
    spans = [span for each in sent for one in each.resource_spans
             for scope in one.scope_spans for span in scope.spans]  # fmt: skip
    names = {span.name: span for span in spans}
    asked_for = ("te_hosts", "flows_search", "extent", "capture_gaps")
    assert set(names) == {"GET /api/v1/flows", *(f"store {name}" for name in asked_for)}
    root = names["GET /api/v1/flows"]
    assert root.trace_id.hex() == PARENT.split("-")[1]
    assert root.parent_span_id.hex() == PARENT.split("-")[2]
    assert names["store flows_search"].parent_span_id == root.span_id


def test_what_no_log_keeps_is_not_traced(
    tmp_path: Any, collector: tuple[str, list[tuple[str, bytes]]]
) -> None:
    url, told = collector
    with opened(tmp_path) as store, tracing(url) as provider:
        app = create_app(Settings(), store, traces=provider)
        assert asyncio.run(asked(app, "/api/v1/flows?limit=7&token=secretquery")) == [422]
    sent = b"".join(body for _, body in told)
    assert b"limit=7&token=left out" in sent
    assert b"secretquery" not in sent


def test_without_the_library_the_setting_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import builtins

    from service.failure import Failure

    real: Callable[..., Any] = builtins.__import__

    def lacking(name: str, *given: Any) -> Any:
        if name.startswith("opentelemetry.sdk"):
            raise ImportError(name)
        return real(name, *given)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(Failure, match=r"pip install 'hopsight\[traces\]'"), tracing("http://x/"):
        pass
