"""UDP feeds arrive as frames: every datagram with its headers, its time, or a count of the lost."""

import asyncio
import random
import socket
import time

import polars as pl
import pytest
import report_by_hand

from collector import (
    Batch,
    CaptureError,
    CollectorSettings,
    Decoder,
    MemoryBus,
    datagrams,
    feed,
    open_datagrams,
)
from collector.datagrams import LARGEST, Datagrams

FAMILIES = {"127.0.0.1": socket.AF_INET, "::1": socket.AF_INET6}


def taken(*sources: Datagrams) -> list[bytes]:
    """All frames that wait in the sockets, which are closed then."""
    found = []
    for source in sources:
        source.stop()
        for frames in source.chunks(1000, wait=True):
            found += [
                frames.data[at : at + size].tobytes()
                for at, size in zip(frames.offset, frames.captured, strict=True)
            ]
        source.close()
    return found


def send(source: Datagrams, payloads: list[bytes]) -> int:
    """Send from a socket of its own; gives its port."""
    host, port = source.address
    with socket.socket(FAMILIES[host], socket.SOCK_DGRAM) as sender:
        sender.bind((host, 0))
        for payload in payloads:
            sender.sendto(payload, (host, port))
        return int(sender.getsockname()[1])


@pytest.mark.parametrize("host", FAMILIES)
def test_a_datagram_is_given_back_the_headers_that_it_came_with(host: str) -> None:
    draw = random.Random(5)
    (source,) = open_datagrams("int-reports", host, 0)
    settings = CollectorSettings(report_udp_ports=(source.address[1],), verify_checksums=True)
    decoder = Decoder(settings)
    reports = [report_by_hand.first(draw) for _ in range(50)]
    before = time.time_ns()
    send(source, reports)
    source.stop()
    rows = pl.concat(
        [
            decoder.decode(frames, source.points, source.source)
            for frames in source.chunks(1000, wait=True)
        ],
        how="diagonal",
    )
    source.close()
    whole = [report for report in reports if report_by_hand.expected(report)]
    assert rows.height >= len(whole) > 0
    assert rows["time_ns"].is_between(before - 10**9, time.time_ns()).all()
    assert decoder.accounting.seen == len(reports)
    named = f"[{host}]" if ":" in host else host
    assert rows["point"].unique().to_list() == [f"int-reports {named}:0"]


@pytest.mark.parametrize("host", FAMILIES)
def test_frames_are_the_packets_that_were_sent(host: str) -> None:
    (source,) = open_datagrams("feed", host, 0)
    port = source.address[1]
    payloads = [bytes([number]) * (number + 1) for number in range(100)]
    sender = send(source, payloads)
    octets = socket.inet_pton(FAMILIES[host], host)
    found = taken(source)
    assert [frame[-(number + 1) :] for number, frame in enumerate(found)] == payloads
    for frame, payload in zip(found, payloads, strict=True):
        head = frame[: -len(payload)]
        assert octets + octets in head
        assert head[-8:-2] == b"".join(
            value.to_bytes(2, "big") for value in (sender, port, 8 + len(payload))
        )
        if host == "127.0.0.1":
            words = [int.from_bytes(head[at : at + 2], "big") for at in range(0, 20, 2)]
            assert sum(words) % 0xFFFF == 0


def test_sockets_share_a_port_and_together_lose_nothing() -> None:
    sources = open_datagrams("feed", "127.0.0.1", 0, 3)
    assert len({source.address for source in sources}) == 1
    assert [source.source for source in sources] == [f"feed 127.0.0.1:0 #{n}" for n in (1, 2, 3)]
    sent = [b"%d %d" % (sender, number) for sender in range(20) for number in range(5)]
    for at in range(0, len(sent), 5):
        send(sources[0], sent[at : at + 5])
    found = [frame[28:] for frame in taken(*sources)]
    assert sorted(found) == sorted(sent)


def test_what_finds_no_room_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datagrams, "BUFFER_BYTES", 4096)
    (source,) = open_datagrams("feed", "127.0.0.1", 0)
    send(source, [bytes(500)] * 300)
    found = taken(source)
    assert 0 < len(found) < 300
    assert source.reasons == {"socket_dropped": 300 - len(found)}


def test_a_datagram_longer_than_its_slot_says_how_long_it_was() -> None:
    (source,) = open_datagrams("feed", "127.0.0.1", 0)
    send(source, [bytes(LARGEST + 100), b"behind"])
    source.stop()
    (frames,) = source.chunks(1000, wait=True)
    source.close()
    assert frames.length.tolist() == [28 + LARGEST + 100, 28 + 6]
    assert frames.captured.tolist() == [28 + LARGEST, 28 + 6]


def test_a_feed_that_never_pauses_ends_when_it_is_told_to() -> None:
    (source,) = open_datagrams("feed", "127.0.0.1", 0)
    source.stop()
    runs = source.chunks(1000, wait=False)
    found = 0
    for frames in runs:
        found += len(frames)
        send(source, [b"more"] * 5)
        assert found < 100
    source.close()


def test_an_address_that_cannot_be_listened_to_is_refused_in_a_sentence() -> None:
    (taken_already,) = open_datagrams("feed", "127.0.0.1", 0)
    with pytest.raises(CaptureError, match="address already in use"):
        open_datagrams("feed", *taken_already.address)
    taken_already.close()
    with pytest.raises(CaptureError, match=r"^feed 192\.0\.2\.1:9: cannot assign"):
        open_datagrams("feed", "192.0.2.1", 9)
    with pytest.raises(CaptureError, match=r"^feed no\.such\.host\.invalid:9: "):
        open_datagrams("feed", "no.such.host.invalid", 9)


def test_a_feed_without_datagrams_says_how_far_time_has_come() -> None:
    """So that what hears it need not wait for the next datagram."""
    (source,) = open_datagrams("int-reports", "127.0.0.1", 0)
    decoder = Decoder(CollectorSettings(report_udp_ports=(source.address[1],)))

    async def run() -> list[Batch]:
        bus = MemoryBus(capacity=1)
        feeding = asyncio.create_task(feed([source], decoder, bus))
        batches = []
        async for batch in bus:
            batches.append(batch)
            if sum(each.quiet for each in batches) == 3:
                source.stop()
        await feeding
        return batches

    before = time.time_ns()
    send(source, [report_by_hand.first(random.Random(5))])
    batches = asyncio.run(run())
    source.close()
    told = [batch.reached_ns for batch in batches if batch.quiet]
    assert len(told) >= 3
    assert batches[-1].ended
    assert told == sorted(told)
    frames = [batch for batch in batches if batch.frame.height]
    assert all(int(batch.reached_ns or 0) >= before for batch in frames)
    assert told[-1] > int(frames[-1].reached_ns or 0)
    assert decoder.accounting.seen == 1
