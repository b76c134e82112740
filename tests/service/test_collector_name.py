"""Collectors that listen to the same names are told apart as sources."""

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from collector import Batch, CollectorSettings, write_pcapng
from collector.feed import NO_ROWS
from collector.kafka_message import headers, messages, read
from collector.loss import Loss
from pipeline.capture_gaps import NAME, gap_rows
from service.sources import Feeds, open_sources

LIVES = [("leaf1", 1, 5), ("leaf2", 2, 9), ("leaf1", 7, 8)]
"""Whose life began when, and how far it came; one other goes on while the first is away."""


def opened(name: str, port: int, file: Path) -> dict[str, list[str]]:
    """The points of all that a collector of this name reads, by source."""
    feeds = Feeds(int_reports=[f"127.0.0.1:{port}"])
    with open_sources([file], feeds, None, CollectorSettings(name=name)) as held:
        return {each.source: each.points for each in held.sources}


def test_a_name_stands_before_live_sources_and_not_before_files_and_points(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    write_pcapng(tmp_path / "a.pcapng", ["mirror0"], [])
    plain = opened("", port, tmp_path / "a.pcapng")
    named = opened("leaf1.example.org", port, tmp_path / "a.pcapng")
    file, *feeds = plain
    assert all(name.startswith(f"int-reports 127.0.0.1:{port}") for name in feeds)
    assert [*named] == [file, *(f"leaf1.example.org/{each}" for each in feeds)]
    assert [*named.values()] == [*plain.values()]


def gaps_of(told: list[Batch]) -> list[tuple[int, int]]:
    """The gaps that a reader of a bus finds."""
    reached: dict[str, int] = {}
    gaps = []
    for sent in told:
        ((part, value),) = messages(sent)
        batch: Any = read(value, headers(part, value))
        rows = gap_rows(batch, lambda source, _: reached.get(source)).get(NAME)
        gaps += [] if rows is None else rows.select("time_ns", "to_ns").rows()
        reached[batch.source] = batch.reached_ns
    return gaps


def test_the_end_of_one_collector_is_a_gap_though_another_goes_on() -> None:
    life = Batch(NO_ROWS, "mirror0", 1, 0, 0)
    told = [
        replace(life, source=f"{name}/mirror0", epoch=begun, reached_ns=reached,
                losses=(Loss(None, begun),))
        for name, begun, reached in LIVES
    ]  # fmt: skip
    assert gaps_of(told) == [(5, 7)]
    assert gaps_of([replace(each, source="mirror0") for each in told]) == [], "of one name"


@pytest.mark.parametrize("name", ["a b", "rack/1", "é", "x" * 254])
def test_a_name_that_cannot_stand_there_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="name"):
        CollectorSettings(name=name)
