"""Batches off the bus, through the worker, into a sink: one output is kept while the next is made.

The worker and the sink take turns only where they have to: an output is handed over when the one
before has been kept, so two are held at most.
"""

import asyncio
from collections.abc import Callable, Sequence

import polars as pl

from collector import Batch, Bus
from pipeline.capture_gaps import Heard, Lives, gap_rows, heard_by, never
from pipeline.handed import Handed
from pipeline.worker import Output, Worker

Sink = Callable[[Output, str], None]
"""Takes what the worker made, and a token that names the input it was made of; knows no worker."""
Outputs = asyncio.Queue[tuple[Output, str]]


async def drain(
    bus: Bus,
    worker: Worker,
    sink: Sink,
    between: Callable[[], None] = lambda: None,
    stored: Heard = never,
) -> None:
    """Work until the bus is closed and empty, and all is kept; what the sink raises ends it.

    The token makes a repeated insert recognisable. `between` two batches the worker may be changed.
    `stored` knows when sources that the worker does not know were heard of before.
    """
    outputs: Outputs = asyncio.Queue()
    works = [
        asyncio.ensure_future(work(bus, outputs, between, Taker(worker, stored))),
        asyncio.ensure_future(keep(outputs, sink)),
    ]
    try:
        ended, _ = await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
        for one in ended:
            one.result()
    finally:
        for one in works:
            one.cancel()
        await asyncio.gather(*works, return_exceptions=True)


async def work(bus: Bus, outputs: Outputs, between: Callable[[], None], taker: "Taker") -> None:
    """What the worker makes of each batch, handed over in turn; returns when all of it is kept."""

    async def hand_over(output: Output, name: str) -> None:
        await outputs.join()
        outputs.put_nowait((output, name))

    batches: list[Batch] = []
    async for batch in bus:
        batches = [batch, *await bus.more(batch)]
        await hand_over(await asyncio.to_thread(taker.take, batches), tokens(batches))
        await asyncio.to_thread(between)
    await hand_over(await asyncio.to_thread(taker.worker.finish), end_of(batches))
    await outputs.join()


async def keep(outputs: Outputs, sink: Sink) -> None:
    """Put outputs into the sink, until this is cancelled."""
    while True:
        output, name = await outputs.get()
        await asyncio.to_thread(sink, output, name)
        del output
        outputs.task_done()


class Taker:
    """Batches through a worker, with what live sources say of their capture."""

    def __init__(self, worker: Worker, stored: Heard) -> None:
        self.worker = worker
        self._heard = heard_by(worker, stored)
        self._lives = Lives()

    def take(self, batches: Sequence[Batch]) -> Output:
        """What the worker makes of batches, what their sources lost before, how far they are.

        They go through it at once: a pass takes about as long however few rows it has.
        """
        told = []
        for batch in batches:
            told.append(gap_rows(batch, self._heard))
            note(self.worker, batch)
        passed = any(batch.quiet and not batch.begins for batch in batches)
        made = self.worker.work(passed=passed)
        told += [self._lives.rows(batch, self.worker.order.released_ns) for batch in batches]
        said = [Output(tables) for tables in told if tables]
        return together([made, *said]) if said else made


def together(outputs: Sequence[Output]) -> Output:
    """Several outputs as one; what was decided is that of the first."""
    rolled = tuple(each for output in outputs for each in output.rolled)
    handed = Handed.of(output.handed for output in outputs)
    tracked = outputs[0].tracked if outputs else None
    return Output(merged(outputs), tracked, handed, rolled, _new(outputs))


def _new(outputs: Sequence[Output]) -> pl.Series | None:
    """Flows that any of them met for the first time; None where one that tells flows does not say.

    Flows of later intervals alone are not new.
    """
    told = [output.new for output in outputs if "flows" in output.tables]
    known = [each for each in told if each is not None]
    return pl.concat(known) if known and len(known) == len(told) else None


def merged(outputs: Sequence[Output]) -> dict[str, pl.DataFrame]:
    """The rows of several outputs by table, in their order."""
    found: dict[str, list[pl.DataFrame]] = {}
    for output in outputs:
        for name, rows in output.tables.items():
            if rows.height:
                found.setdefault(name, []).append(rows)
    return {name: pl.concat(rows, how="diagonal_relaxed") for name, rows in found.items()}


def note(worker: Worker, batch: Batch) -> None:
    """Give a worker what a batch brings or says, to `work` with."""
    if batch.ended:
        worker.order.end(batch.source)
    elif batch.begins:
        worker.order.begin(batch.source)
    elif batch.quiet:
        worker.order.reach(batch.source, int(batch.far_ns or 0))
    else:
        worker.add(batch.frame)


def end_of(batches: Sequence[Batch]) -> str:
    """The token of what is left when all has come: it is made of what came last.

    Seconds have rows that may be the same of two captures that share one; their epochs differ.
    """
    return "+".join(["finish", *(f"{batch.source}:{batch.epoch}" for batch in batches)])


def tokens(batches: Sequence[Batch]) -> str:
    """The token of batches that were taken together."""
    return "+".join(map(token, batches))


def token(batch: Batch) -> str:
    """Source, epoch and frames of a batch: the same input gives the same token.

    A file that is stored again has the token that it had before files had an epoch.
    """
    frames = "end" if batch.ended else f"{batch.first}-{batch.last}"
    frames = f"reached-{batch.far_ns}" if batch.quiet else frames
    return f"{batch.source}:{batch.epoch if batch.live else 0}:{frames}"
