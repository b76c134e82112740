"""A replay from the bus: what a topic holds, from an offset or a time on, is decided."""

import asyncio
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collector import BusSettings, CollectorSettings, Decoder, feed, open_bus, open_capture
from service import cli
from service.bus_source import BusSource
from service.failure import ExitCode, Failure

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
Url = Callable[..., str]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[Any], str]:
    """A command in this process, its lines as objects."""
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    told = capsys.readouterr()
    return (
        int(ended.value.code or 0),
        [json.loads(line) for line in told.out.splitlines()],
        told.err,
    )


@pytest.fixture(scope="module")
def topic(bus_url: Url) -> str:
    """A topic that holds the capture, each source ended."""
    url = bus_url("replayed", partitions=3)

    async def publish() -> None:
        bus = open_bus(url, BusSettings())
        with open_capture(str(CAPTURE)) as capture:
            await feed([capture], Decoder(CollectorSettings()), bus)

    asyncio.run(publish())
    return url


def test_what_a_topic_holds_is_decided_as_the_capture_is(
    capsys: pytest.CaptureFixture[str], topic: str
) -> None:
    _, expected, _ = run(capsys, "replay", str(CAPTURE), "--json")
    code, told, err = run(capsys, "replay", "--bus", topic, "--json")
    assert code == ExitCode.OK, err
    key = ("time_ns", "frame", "sport", "dport")
    ordered = [
        sorted(rows, key=lambda row: [row[name] for name in key]) for rows in (told, expected)
    ]
    assert ordered[0] == ordered[1]
    code, [answer], err = run(capsys, "conform", "--bus", topic, "--json")
    assert code == ExitCode.OK, err
    assert answer["findings"] == []
    assert sum(each["reactions"]["answered"] for each in answer["flows"] if each["reactions"]) > 5


def test_a_time_cuts_what_is_decided(capsys: pytest.CaptureFixture[str], topic: str) -> None:
    _, expected, _ = run(capsys, "replay", str(CAPTURE), "--json")
    times = sorted(each["time_ns"] for each in expected)
    middle = times[len(times) // 2]
    moment = f"{middle / 1e9:.9f}"
    code, told, err = run(capsys, "replay", "--bus", topic, "--to", moment, "--json")
    assert code == ExitCode.OK, err
    assert 0 < len(told) < len(expected)
    assert max(each["time_ns"] for each in told) <= middle + 1_000


def test_an_offset_begins_later_and_an_end_has_nothing(topic: str) -> None:
    def rows(from_offset: int | None) -> int:
        source = BusSource(topic, BusSettings(), from_offset)
        seen: list[int] = []

        async def read(feeding: Any) -> None:
            bus = open_bus("memory://?capacity=4")

            async def count() -> None:
                seen.extend([batch.frame.height async for batch in bus])

            await asyncio.gather(feeding.feed(bus, lambda _: None), count())

        with source.opened() as feeding:
            for _ in (feeding.sources, *feeding.further):
                asyncio.run(read(feeding))
        return sum(seen)

    whole = rows(None)
    assert whole > 1_000
    assert rows(0) == whole
    assert rows(-1) < whole
    with pytest.raises(Failure, match="is empty from offset 1000000 on") as refused:
        rows(1_000_000)
    assert refused.value.code == ExitCode.WRONG


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("--from-offset", "1"), ExitCode.USAGE, "--from-offset: of a bus"),
        ((str(CAPTURE), "--bus", "kafka://127.0.0.1:1/x"), ExitCode.USAGE, "--bus: of a bus"),
        (("--bus", "kafka://127.0.0.1:1/x"), ExitCode.UNAVAILABLE, "--bus: 127.0.0.1:1"),
        (("--bus", "kafka://"), ExitCode.UNAVAILABLE, "an address is kafka://host:port/topic"),
    ],
)
def test_another_source_beside_a_bus_or_none_at_all_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    ended, told, err = run(capsys, "replay", *arguments)
    assert (ended, told) == (code, [])
    assert sentence in err


def test_a_topic_that_does_not_exist_is_not_made(bus_url: Url) -> None:
    source = BusSource(bus_url("nowhere"), BusSettings())
    for _ in range(2):
        with pytest.raises(Failure, match="there is no topic nowhere"), source.opened():
            pass


def test_a_broker_that_is_not_there_is_one_sentence(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        broker = f"127.0.0.1:{free.getsockname()[1]}"
        code, told, err = run(capsys, "replay", "--bus", f"kafka://{broker}/x.y")
    assert (code, told) == (ExitCode.UNAVAILABLE, [])
    assert err == f"hopsight: --bus: {broker}: no broker answers there\n"
    assert caplog.records == []
