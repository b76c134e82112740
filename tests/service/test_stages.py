"""Counters of every stage, as Prometheus is told them, and logs as programs read them."""

import json
import logging
import socket
import urllib.request
from collections import Counter
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from collector import CollectorSettings, Decoder, MemoryBus, Shed
from collector.bus_address import spooled
from collector.settings.bus import BusSettings
from pipeline import Crew, Meeting, PipelineSettings, Worker
from service.failure import Failure
from service.logs import EVERY_S, NOISY, TEXT, JsonLines, Once, TextLines, begin
from service.metrics import METRICS
from service.stages import (
    STAGES,
    Stages,
    of_bus,
    of_crew,
    of_frames,
    of_sink,
    of_worker,
    telling,
)
from tests.pipeline.conftest import observations


def told(address: str) -> dict[str, dict[tuple[str, ...], float]]:
    """What is told there: values by metric and labels."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return {
            sample.name: {**{tuple(each.labels.values()): each.value for each in family.samples}}
            for family in families
            for sample in family.samples
        }


def free() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def test_each_stage_is_told_as_it_stands(tmp_path_factory: pytest.TempPathFactory) -> None:
    decoder, shed = Decoder(CollectorSettings()), Shed()
    decoder.accounting.add({"decoded": 7, "shed": 2})
    decoder.accounting.settle()
    shed.step = 5
    directory = tmp_path_factory.mktemp("spill")
    bus = spooled(MemoryBus(1), BusSettings(spill_directory=str(directory)))
    worker = Worker(PipelineSettings(interval_ms=1.0), None, ("a",))
    worker.advance(observations({"time_ns": n * 1_000_000} for n in range(1, 40)))
    address, sink = free(), Counter({"rows_verdicts": 5})
    with telling(address) as stages:
        stages.add(of_frames(decoder.accounting), of_bus(bus, shed), of_worker(worker))
        stages.add(of_sink(sink))
        first = told(address)
        decoder.accounting.add({"decoded": 1})
        decoder.accounting.settle()
        assert told(address)["hopsight_collector_frames_total"][("decoded",)] == 8
    assert first["hopsight_collector_frames_total"][("decoded",)] == 7
    assert first["hopsight_collector_frames_total"][("shed",)] == 2
    assert first["hopsight_collector_shed_from"] == {(): 8}
    assert first["hopsight_collector_queue_ratio"] == {(): 0}
    assert first["hopsight_collector_spill_bytes"] == {(): 0}
    assert first["hopsight_store_kept_total"] == {("rows_verdicts",): 5}
    assert first["hopsight_pipeline_flows"] == {("0",): 1}
    assert first["hopsight_pipeline_behind_seconds"][("0",)] > 1e9
    assert first["hopsight_pipeline_rows_total"][("late",)] == 0
    known = {metric.name for metric in STAGES}
    assert {name for name in first if name.startswith("hopsight_")} <= known
    assert bus.spill is not None
    bus.spill.close()
    with pytest.raises(OSError, match="refused"):
        told(address)


def test_a_worker_of_a_group_tells_what_its_counters_say() -> None:
    store: Any = None  # nothing is run
    crew = Crew(
        "kafka://127.0.0.1:1/topic", BusSettings(), store,
        lambda: Worker(PipelineSettings()), lambda: Meeting(PipelineSettings()),
    )  # fmt: skip
    crew.observing.counts.update(messages=3, store_away=1)
    crew.meeting.counts.update(messages=2)
    stages = Stages()
    stages.add(of_crew(crew))
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in stages.collect()
        for sample in family.samples
    }
    assert samples["hopsight_pipeline_events_total", "messages"] == 3
    assert samples["hopsight_pipeline_events_total", "store_away"] == 1
    assert samples["hopsight_pipeline_events_total", "meeting_messages"] == 2
    assert samples["hopsight_pipeline_partitions",] == 0


def test_a_line_that_a_library_says_again_and_again_is_logged_once_in_a_while() -> None:
    now = [0.0]
    once = Once(lambda: now[0])

    def heard(text: str, *arguments: object) -> bool:
        return once.filter(
            logging.LogRecord("aiokafka", logging.ERROR, "", 1, text, arguments, None)
        )

    assert heard("Unable to connect to node %d", 1)
    assert not heard("Unable to connect to node %d", 2)
    assert heard("Topic %s not found", "x")
    now[0] = EVERY_S
    assert heard("Unable to connect to node %d", 1)


def test_a_metric_has_one_line_in_one_table() -> None:
    names = [metric.name for metric in (*METRICS, *STAGES)]
    assert len(names) == len(set(names))
    assert all(metric.doc.endswith(".") for metric in STAGES)


def test_an_address_that_cannot_be_listened_on_is_told() -> None:
    with pytest.raises(Failure, match="is not of the form HOST:PORT"), telling("here"):
        pass
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Failure, match=r"process\.metrics: .* cannot be listened"):
            Stages().serve(address)


def test_a_log_line_is_an_object() -> None:
    record = logging.LogRecord("hopsight.x", logging.WARNING, "", 0, "%s is %d", ("a", 1), None)
    line = json.loads(JsonLines().format(record))
    assert (line["level"], line["logger"], line["message"]) == ("warning", "hopsight.x", "a is 1")
    assert line["time"].endswith("+00:00")


def test_what_a_stranger_wrote_ends_no_line_of_a_log() -> None:
    told = ("fab\x1b[31m\n1 hopsight: all is well", "größe")
    record = logging.LogRecord("hopsight.x", logging.WARNING, "", 0, "%s of %s", told, None)
    line = TextLines(TEXT).format(record)
    assert line.endswith(r"hopsight.x: fab\x1b[31m\n1 hopsight: all is well of größe")
    record.exc_info = ZeroDivisionError, ZeroDivisionError(), None
    assert TextLines(TEXT).format(record) == f"{line}\nZeroDivisionError"


def test_addresses_that_are_asked_are_not_logged() -> None:
    """That of a webhook may be its secret."""
    before = {name: logging.getLogger(name).level for name in NOISY}
    try:
        begin("text")
        assert not any(logging.getLogger(name).isEnabledFor(logging.INFO) for name in NOISY)
        assert "httpx" in NOISY
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
