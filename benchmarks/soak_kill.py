"""Rounds of kill -9, SIGSTOP and cut connections; rows and state are those of an undisturbed run.

    soak_kill.py [ROUNDS [SEED [FRAMES]]]

A collector follows a capture that grows, two workers turn it into rows of a store over HTTP,
through a broker and loopback proxies. In each round one of them is killed, stopped or cut off at a
random instant, then begun anew. Fails when a row is missing, twice or another one than in a run
that nobody disturbed, or when the state of a flow is not the same to the bit.
"""

import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import traffic
from kill_world import PARTITIONS, PATIENCE_S, SESSION_S, TAKEN, Process, World

from pipeline import PipelineSettings, Store, StoreError, Worker
from pipeline.group_part import Part
from pipeline.tables import TABLES

ROUNDS, SEED, FRAMES = 50, 1, 200_000
STEP_NS = 20_000
KILLS = ("collect", "worker", "store", "stop_worker", "stop_broker", "cut_bus", "cut_store")
OTHERS = frozenset({"bus_messages"})
"""Tables whose rows are not the same in two runs: messages bear the name of their topic, and a
collector that is begun anew cuts them elsewhere."""
CALM_S = 0.3
NEARLY = 0.99
STILL = 3
"""Seconds without a new verdict behind which none is expected."""
STOPPED_BROKER_S = 3.0
TAKEOVER_S = 20.0
"""How long a takeover is waited for; of a worker that holds nothing none comes. The capture does
not grow meanwhile: behind `IDLE_S` its sources are waited for no more, in any run."""


class Rounds:
    """A world in which something goes wrong in each round."""

    def __init__(self, world: World, capture: Path, octets: bytes, chance: random.Random) -> None:
        self.world, self.capture, self.octets, self.chance = world, capture, octets, chance
        self.written = 0
        self.takeovers: list[float] = []
        self.done: Counter[str] = Counter()
        self.workers: list[Process] = []

    def run(self, rounds: int, frames: int) -> None:
        """All rounds, then the rest of the capture."""
        self.grow(0.05)
        self.workers = [self.world.worker(name, "killed", "killed") for name in ("one", "two")]
        self.collector = self.world.collector("killed", self.capture, "--follow")
        until(lambda: self.stored() > 0, "the first rows")
        for number in range(rounds):
            self.grow((number + 1) / (rounds + 1))
            time.sleep(self.chance.uniform(0, 2 * CALM_S))
            kind = KILLS[number % len(KILLS)] if number < len(KILLS) else self.chance.choice(KILLS)
            began = time.monotonic()
            getattr(self, kind)()
            self.done[kind] += 1
            print(f"round {number + 1}: {kind}, {time.monotonic() - began:.1f} s", flush=True)
        self.grow(1)
        # One that has only just begun anew would be ended before it has read anything. The last
        # frames of a source wait for later ones until it ends.
        until(lambda: self.stored() >= NEARLY * frames, "the last frames")
        self.collector.signal(signal.SIGTERM)
        assert self.collector.wait() == 0, self.collector.text()[-2000:]

    def grow(self, share: float) -> None:
        """Write the capture up to a share of it."""
        to = max(int(len(self.octets) * share), self.written)
        with self.capture.open("ab") as file:
            file.write(self.octets[self.written : to])
        self.written = to

    def stored(self) -> int:
        """Rows that are in the store by now."""
        return count(self.world.dsn("killed"), "observations")

    def worker(self) -> None:
        """Kill a worker; the other one takes its partitions over."""
        victim = self.chance.choice(self.workers)
        other = next(each for each in self.workers if each is not victim)
        known = len(TAKEN.findall(other.text()))
        at = time.time()
        victim.kill()
        until(lambda: bool(holds(other, known)), "a takeover", fails=False, patience_s=TAKEOVER_S)
        time.sleep(1)  # for the last of its partitions
        if found := holds(other, known):
            self.takeovers.append(max(found.values()) - at)
        victim.start()

    def stop_worker(self) -> None:
        """Stop a worker past its session, then let it go on as a zombie."""
        victim = self.chance.choice(self.workers)
        victim.signal(signal.SIGSTOP)
        time.sleep(SESSION_S * 1.5)
        victim.signal(signal.SIGCONT)

    def stop_broker(self) -> None:
        """Stop the broker for a while."""
        self.world.broker.signal(signal.SIGSTOP)
        time.sleep(STOPPED_BROKER_S)
        self.world.broker.signal(signal.SIGCONT)

    def collect(self) -> None:
        """Kill the collector, which begins from the start of its capture."""
        self.collector.kill()
        self.collector.start()

    def store(self) -> None:
        """Kill the store, in the middle of inserts too."""
        self.world.store.kill()
        self.world.store.start()

    def cut_bus(self) -> None:
        """Cut every connection to the broker."""
        self.world.bus_proxy.cut()

    def cut_store(self) -> None:
        """Cut every connection to the store."""
        self.world.store_proxy.cut()


def holds(worker: Process, known: int) -> dict[str, float]:
    """Partitions that a worker took over after its first `known` ones, and when."""
    return {place: float(at) for at, place in TAKEN.findall(worker.text())[known:]}


def until(true: object, what: str, *, fails: bool = True, patience_s: float = PATIENCE_S) -> None:
    """Returns once something is true."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        if callable(true) and true():
            return
        time.sleep(0.2)
    if fails:
        raise TimeoutError(f"{what} did not come in {patience_s:g} s")


def count(dsn: str, table: str) -> int:
    """Rows of a table; none while the store is away."""
    try:
        with Store(dsn) as store:
            asked = f"SELECT count() FROM `{database(dsn)}`.{table}"  # noqa: S608 - our own names
            return int(store._writer.rows(asked)[0][0])  # noqa: SLF001 - no question counts rows
    except StoreError:
        return 0


def database(dsn: str) -> str:
    """The database of an address."""
    return dsn.rpartition("/")[2]


def settled(world: World, name: str, frames: int, workers: list[Process]) -> None:
    """Wait for the last row; then end the workers, who keep their state."""
    dsn = world.dsn(name)
    until(lambda: count(dsn, "observations") >= frames, f"the last row of {name}")
    judged, still = -1, 0
    while still < STILL:  # what partitions hand on is judged after that
        time.sleep(1)
        now = count(dsn, "verdicts")
        judged, still = now, still + 1 if now == judged else 0
    for worker in workers:
        worker.signal(signal.SIGTERM)
    for worker in workers:
        assert worker.wait() == 0, worker.text()[-2000:]


def rows_of(dsn: str) -> dict[str, list[tuple[str, ...]]]:
    """All rows of all tables but those of groups, joined as answers join them."""
    found = {}
    with Store(dsn) as store:
        store.migrate()
        for name, table in TABLES.items():
            if not name.startswith("group_"):
                final = "" if table.engine == "MergeTree" else "FINAL"
                columns = ", ".join(f"toString({column.name})" for column in table.columns)
                asked = f"SELECT {columns} FROM {name} {final}"  # noqa: S608 - our own names
                found[name] = sorted(store._writer.rows(asked), key=str)  # noqa: SLF001 - all rows
    return found


def states_of(dsn: str, topic: str) -> dict[int, tuple[pa.Table, object]]:
    """The state of every partition's flows and sources, as whoever has it next would find it.

    When intervals were closed hangs on how messages were cut, and is no state of a flow.
    """
    found = {}
    with Store(dsn) as store:
        store.migrate()
        for number in range(PARTITIONS):
            place = f"{topic}.v1.p2/{number}"
            part = Part(store, place, lambda: Worker(PipelineSettings()), lambda work: work())
            part.claim()
            tracker = part.kept.worker.tracker.snapshot(full=True)
            found[number] = tracker.replace_schema_metadata(None), part.kept.repeats.covered
    return found


def unlike(calm: World, frames: int, takeovers: list[float]) -> list[str]:
    """What is not as in the run that nobody disturbed, a sentence each."""
    expected, found = rows_of(calm.dsn("calm")), rows_of(calm.dsn("killed"))
    faults = []
    for name, rows in expected.items():
        ours, theirs = Counter(found[name]), Counter(rows)
        missing, more = (theirs - ours).total(), (ours - theirs).total()
        print(f"{name}: {len(rows)} rows, {missing} missing, {more} twice or others")
        if (missing or more) and name not in OTHERS:
            faults.append(f"{name}: {missing} rows are missing, {more} are twice or others")
            faults += [f"  {next(iter(each), None)}" for each in (theirs - ours, ours - theirs)]
    if len(expected["observations"]) != frames:
        faults.append(f"{len(expected['observations'])} observations of {frames} frames")
    quiet, killed = states_of(calm.dsn("calm"), "calm"), states_of(calm.dsn("killed"), "killed")
    entries = sum(tracker.num_rows for tracker, _ in quiet.values())
    same = [
        number
        for number, (tracker, covered) in quiet.items()
        if tracker.equals(killed[number][0]) and covered == killed[number][1]
    ]
    told = f"state of {len(same)} of {PARTITIONS} partitions is the same to the bit"
    print(f"{told}, {entries} entries")
    if len(same) != PARTITIONS:
        faults.append(f"the state of partitions {set(quiet) - set(same)} is another one")
    if takeovers:
        worst = float(np.percentile(takeovers, 95))
        print(f"takeover amid this: {len(takeovers)}, p95 {worst:.1f} s, session {SESSION_S:g} s")
    return faults


def soak(directory: Path, rounds: int, seed: int, frames: int) -> list[str]:
    """What went wrong in so many rounds; nothing, if all is well."""
    whole, growing = directory / "whole" / "tap.pcap", directory / "tap.pcap"
    whole.parent.mkdir()
    traffic.STEP_NS = STEP_NS
    traffic.csig(whole, frames)
    world = World(directory)
    try:
        made = Rounds(world, growing, whole.read_bytes(), random.Random(seed))  # noqa: S311 - instants, no secrets
        made.run(rounds, frames)
        settled(world, "killed", frames, made.workers)
        calm = [world.worker("calm", "calm", "calm")]
        assert world.collector("calm", whole).wait() == 0
        settled(world, "calm", frames, calm)
        print(", ".join(f"{kind} {n}" for kind, n in sorted(made.done.items())))
        fenced = sum(each.text().count("another worker has taken") for each in made.workers)
        print(f"a zombie was refused {fenced} times")
        return unlike(world, frames, made.takeovers)
    finally:
        world.close()


def main() -> int:
    """Print what was done, and what is not as it should be."""
    given = [int(text) for text in sys.argv[1:]]
    rounds, seed, frames = [*given, *(ROUNDS, SEED, FRAMES)[len(given) :]]
    with tempfile.TemporaryDirectory() as directory:
        faults = soak(Path(directory), rounds, seed, frames)
    print(*faults or ["rows and states are those of an undisturbed run"], sep="\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
