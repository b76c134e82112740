"""`where` on 100 million stored observations: 50,000 flows by Zipf's law, windows of 10 s.

The store is that of `stored_day.py`: 24 hours from noon to noon, with the verdicts, intervals and
flows that go with the observations, in as many parts as inserting left. Each question is a GET of
`/api/v1/flows/bottleneck` through the whole application in this process, at the end of a turn that
the flow had, drawn by a seed: of flows drawn uniformly, and of the ten largest; no client has part
in it (`within.py`). Warm is each question asked again, when the process remembers the flow of these
ends, but not the answer: that holds only while nothing is stored at all, and is told by itself
(`same again`), as is what a question takes where the flow is forgotten, too. Before a cold one the
engine's caches are dropped and the files of the store leave the system's page cache. The statements
that a question sends to the engine are then sent straight to it, one after the other, with the same
parameters, after a cold one with everything forgotten again; nobody reads what they give. `in this
process` is the answer as the command makes it of an embedded store, past HTTP and routes. Processor
seconds of the warm ones are told too, since a clock also shows what else a machine does. Last what
the console's first page asks for, of the newest ten minutes. An answer tells the frames of its
evidence where it is asked for them, as the command and the console do; that is measured beside.

`--store DIRECTORY` keeps the store, and takes it up again; `--frames` is how many observations.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np
import uvloop
from bar import end, met
from clients import percentile
from fastapi import FastAPI
from stored_day import FLOWS, GAP_NS, HOURS, Day, begin, day_of, hour, seeded
from within import Application, as_a_service

from pipeline import Store, StoreLimits, answer
from service.app import create_app
from service.routes.flows import WhereParameters, question_of
from service.settings import Settings
from service.told_answers import ToldAnswers

FRAMES = 100_000_000
UNIFORM, LARGEST, EACH, COLD = 200, 10, 10, 200
"""Questions of flows drawn uniformly; the largest flows, and questions of each; cold ones."""
P50_MS, P99_MS, LARGEST_P99_MS, TIMES, OVERVIEW_MS = 15.0, 50.0, 150.0, 1.5, 300.0
WHERE = "/api/v1/flows/bottleneck"
OVERVIEW = {"/api/v1/bottlenecks": 500, "/api/v1/links": 50}
"""What the console's first page asks for, at once, and of how many rows."""
ROUNDS, BEFORE = 5, 20
WINDOW = "10s"
FILLING = StoreLimits(insert_memory_bytes=6 << 30)
CACHES = ("MARK CACHE", "UNCOMPRESSED CACHE", "PRIMARY INDEX CACHE", "INDEX MARK CACHE",
          "QUERY CONDITION CACHE", "MMAP CACHE")  # fmt: skip
Sent = tuple[Any, tuple[Any, ...], dict[str, Any]]


class Heard:
    """A connection of the engine that remembers what it is asked."""

    def __init__(self, connection: Any, sent: list[Sent]) -> None:
        self.connection = connection
        self.sent = sent

    def query(self, *given: Any, **named: Any) -> Any:
        """Ask, and remember."""
        self.sent.append((self.connection, given, named))
        return self.connection.query(*given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)


@contextmanager
def heard(store: Store) -> Iterator[list[Sent]]:
    """What is sent to the engine meanwhile, as it is sent."""
    sent: list[Sent] = []
    # No verb of a store tells of its connections.
    kinds = store._readers, store._together._readers  # noqa: SLF001
    opened: list[Any] = [each for kind in kinds for each in kind._free.queue if each]  # noqa: SLF001
    handles = [each._client._backend._handle for each in opened]  # noqa: SLF001
    for handle in handles:
        handle.conn = Heard(handle.conn, sent)
    try:
        yield sent
    finally:
        for handle in handles:
            handle.conn = handle.conn.connection


def filled(place: Path, frames: int, day: Day) -> None:
    """Fill the store as far as it is not."""
    with Store(f"chdb://{place}/store", FILLING) as store:
        store.migrate()
        done = place / "hours"
        if not done.exists():
            seeded(store)
            begin(store, day)
            done.write_text("0")
        for number in range(int(done.read_text()), HOURS):
            hour(store, number)
            done.write_text(str(number + 1))
        with store.alone() as engine:
            while engine.rows("SELECT 1 FROM system.merges LIMIT 1"):
                sleep(1)
            [(rows, flows)] = engine.rows("SELECT count(), uniq(conversation) FROM observations")
            parts = engine.rows(
                "SELECT table, count(), sum(rows), sum(bytes_on_disk) FROM system.parts"
                " WHERE active AND database = currentDatabase() AND table IN"
                " ('observations', 'verdicts', 'flow_intervals', 'flow_told')"
                " GROUP BY table ORDER BY table"
            )
    os.sync()  # what is not written yet would stay in memory, and be written meanwhile
    if rows != frames:
        raise SystemExit(f"{rows:,} observations are stored, and not {frames:,}")
    print(f"{rows:,} observations of {flows:,} flows over {HOURS} h are stored:")
    for table, count, kept, octets in parts:
        print(f"  {table}: {kept:,} rows in {count} parts, {octets / 1e9:.1f} GB")


def questions(day: Day, ranks: Sequence[int], each: int) -> list[dict[str, Any]]:
    """Parameters of questions about flows, each at the end of one of the flow's turns."""
    chance, made = np.random.default_rng(11), []
    order = np.argsort(day.rank, kind="stable")
    begins = np.searchsorted(day.rank[order], np.arange(FLOWS + 1))
    keys = day.flows.select("src_lo", "sport", "dst_lo", "dport")
    for rank in ranks:
        src, sport, dst, dport = keys.row(rank)
        for turn in chance.choice(order[begins[rank] : begins[rank + 1]], each):
            at = int(day.start_ns[turn] + day.frames[turn] * GAP_NS)
            ends = {"src": f"{dotted(src)}:{sport}", "dst": f"{dotted(dst)}:{dport}"}
            made.append(ends | {"at": at, "window": WINDOW})
    return made


def dotted(word: int) -> str:
    """An IPv4 address by the half that the store keeps."""
    return ".".join(str(word >> shift & 255) for shift in (24, 16, 8, 0))


async def where(client: Application, asked: dict[str, Any]) -> float:
    """Milliseconds of one question; an answer without a verdict ends the run."""
    return (await client.get(WHERE, asked)).ms


def in_process(store: Store, asked: dict[str, Any]) -> float:
    """Milliseconds of one question past the application."""
    given = WhereParameters.model_validate(asked)
    question = question_of(given, frames=given.frames)
    begun = perf_counter()
    answer(store, question)
    return (perf_counter() - begun) * 1e3


def forgotten(store: Store, place: Path) -> None:
    """Nothing of the store is in memory any more, but what its tables are."""
    with store.alone() as engine:
        for cache in CACHES:
            engine.command(f"SYSTEM DROP {cache}")
    for folder, _, names in os.walk(place):
        for name in names:
            with suppress(FileNotFoundError):  # merged meanwhile
                number = os.open(Path(folder) / name, os.O_RDONLY)
                os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(number)


def straight(sent: Sequence[Sent]) -> float:
    """Milliseconds of the same statements sent to the engine itself."""
    begun = perf_counter()
    for connection, given, named in sent:
        connection.query(*given, **named).bytes()
    return (perf_counter() - begun) * 1e3


async def measured(
    app: FastAPI, store: Store, place: Path, name: str, asked: list[dict[str, Any]],
    most: dict[float, float],
) -> None:  # fmt: skip
    """Cold, warm, and straight: percentiles of each, beside the bars."""
    client, cold, cold_bare, cold_alone = Application(app), [], [], []
    for turn, one in enumerate(asked[:: max(len(asked) // COLD, 1)]):
        # Whoever asks later finds the processor's caches readier: each asks first as often.
        for through in (True, False) if turn % 2 else (False, True):
            forgotten(store, place)
            with heard(store) as sent:
                took = await where(client, one) if through else in_process(store, one)
            (cold if through else cold_bare).append(took)
        forgotten(store, place)
        cold_alone.append(straight(sent))
    print(f"{name}, {len(asked)} questions, {len(cold)} of them cold:")
    told("cold", cold)
    told("cold, in this process", cold_bare)
    told("cold, straight", cold_alone)
    for one in asked:
        await where(client, one)
    warm, alone, worked, anew, again, bare = [], [], [], [], [], []
    for one in asked:
        with store.alone():  # as if something were stored
            pass
        anew.append(await where(client, one))
        app.state.told = ToldAnswers()
        with heard(store) as sent:
            await where(client, one)
        # Whoever asks later finds the engine readier: each asks as early as the other.
        alone.append(straight(sent))
        bare.append(in_process(store, one))
        for _ in range(2):
            app.state.told = ToldAnswers()
            begun = process_time()
            warm.append(await where(client, one))
            worked.append((process_time() - begun) * 1e3)
        bare.append(in_process(store, one))
        alone.append(straight(sent))
        again.append(await where(client, one))
    told("flow forgotten", anew)
    told("warm", warm)
    told("of processors", worked)
    told("same again", again)
    told("in this process", bare)
    told("straight to the engine", alone)
    beside = {
        "warm": (warm, alone), "warm, in this process": (bare, alone),
        "cold": (cold, cold_alone), "cold, in this process": (cold_bare, cold_alone),
    }  # fmt: skip
    for share, bar in most.items():
        for kind, (found, _) in beside.items():
            took = percentile(sorted(found), share)
            holds = met(took <= bar)
            print(f"  {kind}: p{share * 100:.0f} at most {bar:g} ms: {holds} ({took:.1f})")
    for kind, (found, least) in beside.items():
        times = sum(found) / sum(least)
        holds = met(times <= TIMES)
        print(f"  {kind}: at most {TIMES:g} times the same SQL straight: {holds} ({times:.2f})")


def told(what: str, took: list[float]) -> None:
    """Percentiles of some questions."""
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "most": 1.0}
    at = {name: percentile(sorted(took), share) for name, share in shares.items()}
    print(f"  {what:24}" + "".join(f"{name:>6} {each:7.1f} ms" for name, each in at.items()))


async def overview(client: Application) -> None:
    """The first page of the console, asked anew each time."""
    took, size = [], 0
    for turn in range(ROUNDS):
        begun = perf_counter()  # `limit` is another one each time, so that nothing is told again
        answers = await asyncio.gather(*(
            client.get(path, {"limit": most - turn}) for path, most in OVERVIEW.items()
        ))  # fmt: skip
        took.append((perf_counter() - begun) * 1e3)
        size = sum(len(answer.body) for answer in answers)
    found = median(took)
    print(f"overview, {size / 1e3:,.0f} kB: at most {OVERVIEW_MS:g} ms: {met(found <= OVERVIEW_MS)}"
          f" ({found:.0f})")  # fmt: skip


async def asked_all(store: Store, place: Path, day: Day) -> None:
    """Every question, through the application."""
    app = create_app(Settings(), store)
    chance = np.random.default_rng(3)
    uniform = questions(day, [*map(int, chance.choice(FLOWS, UNIFORM, replace=False))], 1)
    # A service has been asked before: its connections are open, and its code is there.
    await asyncio.gather(*(where(Application(app), each) for each in uniform[-BEFORE:]))
    as_a_service()
    await measured(app, store, place, "flows drawn uniformly", uniform,
                   {0.5: P50_MS, 0.99: P99_MS})  # fmt: skip
    framed = [each | {"frames": "true"} for each in uniform[::2]]
    await measured(app, store, place, "the same with the frames of evidence", framed,
                   {0.5: P50_MS, 0.99: P99_MS})  # fmt: skip
    largest = questions(day, range(LARGEST), EACH)
    await measured(app, store, place, "the ten largest flows", largest,
                   {0.99: LARGEST_P99_MS})  # fmt: skip
    await overview(Application(app))


def main() -> None:
    """Fill, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=float, default=FRAMES, help="observations (100 million)")
    parser.add_argument(
        "--store", type=Path, help="directory of the store; none: it is thrown away"
    )
    given = parser.parse_args()
    day = day_of(int(given.frames))
    with tempfile.TemporaryDirectory() as folder:
        place = given.store or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        filled(place, int(given.frames), day)
        with Store(f"chdb://{place}/store") as store:
            uvloop.run(asked_all(store, place, day))
    end()


if __name__ == "__main__":
    main()
