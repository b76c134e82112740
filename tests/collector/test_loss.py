"""Losses of live sources travel with what came: none is told twice, and none is forgotten."""

import asyncio
from pathlib import Path

import polars as pl
import pytest

from collector import Batch, CollectorSettings, Decoder, MemoryBus, datagrams, open_datagrams
from collector.bus import joined
from collector.feed import NO_ROWS, feed
from collector.kafka_message import Placement, UnreadableError, headers, messages, read
from collector.loss import Loss, losses_of, text_of
from collector.spill import Spill
from tests.collector.whole_rows import whole

BEGUN = Loss(None, 7)
LOST = Loss(7, 9, 3, 40)


def batch(rows: int, first: int = 1, *losses: Loss) -> Batch:
    frame = pl.DataFrame(
        {
            "time_ns": pl.Series([*range(first, first + rows)], dtype=pl.Int64),
            "source": pl.Series(["tap"] * rows, dtype=pl.String),
            "frame": pl.Series([*range(first, first + rows)], dtype=pl.UInt64),
            "conversation": pl.Series([*range(rows)], dtype=pl.UInt64),
            "flow": pl.Series([*range(rows)], dtype=pl.UInt64),
        }
    )
    return Batch(whole(frame), "tap", 5, first, first + rows - 1, reached_ns=10**18, losses=losses)


def over_the_bus(given: Batch, placement: Placement, partitions: int) -> list[Batch]:
    """What readers of all partitions get."""
    parts = [part for _, part in placement.placed(given, partitions)]
    return [read(value, headers(each, value)) for part in parts for each, value in messages(part)]


@pytest.mark.parametrize("rows", [0, 1, 100])
def test_messages_tell_a_loss_once(rows: int) -> None:
    placement = Placement()
    told = over_the_bus(batch(rows, 1, BEGUN, LOST), placement, 4)
    assert [each.losses for each in told if each.losses] == [(BEGUN, LOST)]
    assert sum(each.frame.height for each in told) == rows
    # Nobody is due to be told how far the source is: what it lost is told all the same.
    (alone,) = over_the_bus(batch(0, rows + 1, LOST), placement, 4)
    assert alone.losses == (LOST,)


def test_a_source_that_brings_nothing_goes_over_a_bus() -> None:
    quiet = Batch(NO_ROWS, "tap", 5, 3, 3, reached_ns=10**18)
    told = over_the_bus(quiet, Placement(), 3)
    assert len(told) == 3
    assert all(each.quiet for each in told)


def test_joining_and_spilling_keep_losses(tmp_path: Path) -> None:
    both = joined([batch(3, 1, BEGUN), batch(2, 4, LOST)])
    assert (both.first, both.last, both.losses) == (1, 5, (BEGUN, LOST))
    spill = Spill(tmp_path / "spill", 1 << 20)
    kept = spill.read(spill.put(both))
    assert kept is not None
    assert kept.losses == (BEGUN, LOST)
    spill.close()


@pytest.mark.parametrize("text", ["{", "3", "[3]", "[[1, 2, 3, 4, 5]]", '[["a", 1]]', "[[1, 2.5]]"])
def test_a_header_that_names_no_losses_is_a_dead_letter(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        losses_of(text)
    value = next(messages(batch(1)))[1]
    told = [*headers(batch(1), value)[:-1], ("losses", text.encode())]
    with pytest.raises(UnreadableError) as failure:
        read(value, told)
    assert failure.value.reason == "bad_header"


def test_losses_are_the_same_as_a_text() -> None:
    assert losses_of(text_of([BEGUN, LOST])) == (BEGUN, LOST)
    assert text_of([]) == ""
    assert losses_of("") == ()


class Full(MemoryBus):
    """Keeps what is published."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Batch] = []

    async def publish(self, batch: Batch) -> None:
        self.told.append(batch)


def test_a_socket_tells_between_which_times_it_lost_datagrams(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(datagrams, "BUFFER_BYTES", 4096)
    (source,) = open_datagrams("feed", "127.0.0.1", 0)
    send(source.address, 300)
    source.stop()
    bus = Full()
    decoder = Decoder(CollectorSettings())
    asyncio.run(feed([source], decoder, bus))
    source.close()
    begun, *lost = [loss for each in bus.told for loss in each.losses]
    assert begun == Loss(None, source.epoch)
    assert sum(each.frames or 0 for each in lost) == source.reasons["socket_dropped"] > 0
    assert all((each.frames or 0) <= (each.of or 0) for each in lost)
    assert sum(each.of or 0 for each in lost) <= 300
    times = [each.from_ns for each in lost] + [lost[-1].to_ns]
    assert times == sorted(times, key=lambda each: each or 0)


def send(address: tuple[str, int], count: int) -> None:
    """Send datagrams."""
    with datagrams.socket.socket(datagrams.socket.AF_INET, datagrams.socket.SOCK_DGRAM) as sender:
        for _ in range(count):
            sender.sendto(bytes(500), address)


def test_what_a_socket_lost_is_counted_while_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads the counters hears it then, and once: at the end it is the same number."""
    monkeypatch.setattr(datagrams, "BUFFER_BYTES", 4096)
    (source,) = open_datagrams("feed", "127.0.0.1", 0)
    decoder = Decoder(CollectorSettings())
    counted = decoder.accounting.by_status

    async def run() -> int:
        feeding = asyncio.create_task(feed([source], decoder, Full()))
        for _ in range(200):
            send(source.address, 1)  # the kernel tells losses with what comes behind them
            await asyncio.sleep(0.02)
            if "socket_dropped" in counted:
                break
        assert not feeding.done()
        meanwhile = counted["socket_dropped"]
        source.stop()
        await feeding
        return meanwhile

    send(source.address, 300)
    meanwhile = asyncio.run(run())
    source.close()
    assert 0 < meanwhile <= counted["socket_dropped"] == source.reasons["socket_dropped"]
