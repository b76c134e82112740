"""A place goes from one worker to the next: rows as if nobody had died, and nothing of a zombie."""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from time import sleep
from typing import Any

import numpy as np
import polars as pl
import pytest
from empty_store import empty_store

from collector import Batch
from pipeline import PipelineSettings, SnapshotError, Store, Worker
from pipeline.again import again
from pipeline.fence import Fence
from pipeline.group_log import AHEAD, CUT, IDLE, GroupLog
from pipeline.group_part import Part, long
from pipeline.state_codec import (
    FORMAT,
    MAGIC,
    StateReader,
    StateWriter,
    ipc,
    own_class,
    own_tuple,
    read_octets,
)
from pipeline.store_error import Fenced, StoreAway, StoreBusy, StoreError
from pipeline.tables import TABLES
from pipeline.versions import Versions

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
MS = 1_000_000
ROWS = 240
CUTS = 6
SOURCES = ("a", "b")
PLACE = "observations.v1.p2/3"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with empty_store(tmp_path_factory.mktemp("group") / "store") as opened:
        yield opened


@pytest.fixture(scope="module")
def batches(observed: Observed) -> list[list[Batch]]:
    """What a partition holds: cuts of batches of two sources, some of them repeated."""
    made: dict[str, pl.DataFrame] = {}
    for at, source in enumerate(SOURCES):
        made[source] = observed(
            {
                "time_ns": 10**18 + number * MS + at, "source": source, "sport": 1000 + number % 5,
                "frame": number + 1, "seq": number * 1000, "point": "unknown",
                "ecn": 3 if number % 3 else 2, "payload_bytes": 1000 if number % 4 else 0,
            }
            for number in range(ROWS)
        )  # fmt: skip
    size = ROWS // CUTS
    cuts = []
    for cut in range(CUTS):
        first = cut * size
        part = [
            Batch(rows.slice(first, size), source, 0, first + 1, first + size)
            for source, rows in made.items()
        ]
        cuts.append([*part, part[0]])
    return [*cuts, [Batch(rows.clear(), name, 0, ROWS, ROWS, ended=True)
                    for name, rows in made.items()]]  # fmt: skip


def part_of(store: Store, place: str = PLACE, *, judged: bool = True) -> Part:
    made = Part(
        store, place, lambda: Worker(PipelineSettings()), lambda work: work(), judged=judged
    )
    made.claim()
    return made


def go(part: Part, batches: list[list[Batch]], begin: int, end: int) -> None:
    """The cuts from `begin` to `end`, ten offsets each."""
    for cut in range(begin, end):
        part.cut(cut * 10, cut * 10 + 9)
        part.work(cut * 10, cut * 10 + 9, batches[cut])
    part.settle()
    part.storing.wait()


def test_rows_alone_are_stored_once_and_judged_from_where_others_go_on(
    store: Store, batches: list[list[Batch]]
) -> None:
    """Who takes over repeats what was decided; a worker that judges goes on behind it."""
    cleared(store)
    place = "observations.v1.p2/90"
    first = part_of(store, place, judged=False)
    go(first, batches, 0, 2)
    first.snapshot()
    go(first, batches, 2, 3)
    first.cut(30, 39)
    after = part_of(store, place, judged=False)
    assert [(step.first, step.last) for step in after.promised] == [(20, 29), (30, 39)]
    go(after, batches, 2, 4)
    after.snapshot()
    kept = store._writer.rows("SELECT source, frame FROM observations")
    assert sorted(kept) == [
        (source, frame + 1) for source in SOURCES for frame in range(4 * ROWS // CUTS)
    ]
    counted = {name: rows for name, rows in stored(store).items() if rows.height}
    assert counted.keys() == {"observations", "flows", "flow_by_ends"}
    assert counted["flows"].height == 5
    last = part_of(store, place)
    go(last, batches, 4, CUTS + 1)
    assert store._writer.rows("SELECT count() FROM observations") == [(2 * ROWS,)]
    [(judged, begin)] = store._writer.rows(
        "SELECT sum(frames), min(time_ns) FROM flow_intervals FINAL"
    )
    assert judged == 2 * ROWS - len(kept)
    assert begin >= 10**18 + (4 * ROWS // CUTS - 1) * MS // (100 * MS) * (100 * MS)
    cleared(store)


def test_of_messages_that_are_gone_the_rest_is_read(
    store: Store, batches: list[list[Batch]]
) -> None:
    """What was decided of them is done with what is left, or forgotten; the next worker agrees."""
    place = "observations.v1.p2/91"
    part = part_of(store, place)
    go(part, batches, 0, 1)
    part.snapshot()
    part.cut(10, 19)
    after = part_of(store, place)
    assert (after.position, len(after.promised)) == (10, 1)
    assert after.skip(25) == 15
    assert (after.position, after.promised) == (25, [])
    after.cut(25, 29)
    after.work(25, 29, batches[2])
    half = part_of(store, place)
    half.promised = half.promised[-1:]
    assert half.skip(27) == 17
    assert [(step.first, step.last) for step in half.promised] == [(25, 29)]
    half.cut(25, 29)


def stored(store: Store) -> dict[str, pl.DataFrame]:
    """All rows of all tables but those of groups."""
    found = {}
    for name, table in TABLES.items():
        if not name.startswith("group_"):
            columns = ", ".join(f"toString({column.name})" for column in table.columns)
            final = "FINAL" if "Replacing" in table.engine or "Aggreg" in table.engine else ""
            rows = store._writer.rows(f"SELECT {columns} FROM {name} {final}")  # noqa: S608 - our own names
            found[name] = pl.DataFrame(sorted(rows, key=str), orient="row", strict=False)
    return found


def cleared(store: Store) -> None:
    for name in TABLES:
        store._writer.command(f"TRUNCATE TABLE {name}")


def test_state_goes_on_in_another_worker_to_the_bit(batches: list[list[Batch]]) -> None:
    whole, next_one = Worker(PipelineSettings()), Worker(PipelineSettings())
    writer, skipped = StateWriter(frozenset({".tracker"})), frozenset({".tracker"})
    reader = StateReader(Versions())
    for number, cut in enumerate(batches[:4]):
        for batch in cut[:2]:
            whole.advance(batch.frame)
        octets = writer.write(whole, full=number == 0)
        table = whole.tracker.snapshot(full=number == 0)
        reader.read(next_one, octets)
        next_one.tracker.restore(table)
    for cut in batches[4:6]:
        for batch in cut[:2]:
            one, other = whole.advance(batch.frame), next_one.advance(batch.frame)
            assert one.tables.keys() == other.tables.keys()
            assert all(rows.equals(other.tables[name]) for name, rows in one.tables.items())
    one, other = whole.finish(), next_one.finish()
    assert one.tables.keys() == other.tables.keys() >= {"verdicts", "flow_intervals"}
    assert all(rows.equals(other.tables[name]) for name, rows in one.tables.items())
    both = [StateWriter(skipped).write(each, full=True) for each in (whole, next_one)]
    assert both[0] == both[1]


def test_a_later_snapshot_leaves_out_what_is_as_it_was(batches: list[list[Batch]]) -> None:
    worker, writer = Worker(PipelineSettings()), StateWriter(frozenset({".tracker"}))
    worker.advance(batches[0][0].frame)
    whole, same = writer.write(worker, full=True), writer.write(worker, full=False)
    assert len(same) < len(whole) / 100
    with pytest.raises(SnapshotError, match="the snapshot before this one lacks"):
        StateReader(Versions()).read(Worker(PipelineSettings()), same)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda octets: b"x" + octets, "the octets are no state"),
        (lambda octets: octets.replace(b'"format": 1', b'"format": 9'), "has the format 9"),
        (lambda octets: octets.replace(b".worker:Worker", b".worker:Output"), "the state of all"),
        (lambda octets: octets.replace(b'"closed_ns"', b'"opened_ns"'), "does not know"),
    ],
)
def test_octets_that_do_not_fit_are_refused(
    change: Callable[[bytes], bytes], sentence: str
) -> None:
    octets = StateWriter(frozenset({".tracker"})).write(Worker(PipelineSettings()), full=True)
    assert octets.startswith(MAGIC)
    assert FORMAT == 1
    with pytest.raises(SnapshotError, match=sentence):
        StateReader(Versions()).read(Worker(PipelineSettings()), change(octets))


def test_a_class_that_is_none_of_ours_is_never_made() -> None:
    octets = StateWriter().write(Held(Count(1)), full=True)
    evil = octets.replace(b"pipeline.test:Count", b"subprocess:Popen  ")
    with pytest.raises(SnapshotError, match="none of this program"):
        StateReader(Versions()).read(Held(Count(2)), evil)


@pytest.mark.parametrize(
    "name",
    ["collector.live:subprocess.Popen", "pipeline.group_state:no.such", "pipeline.moved:Away"],
)
def test_what_a_module_has_imported_is_not_its_own(name: str) -> None:
    with pytest.raises(SnapshotError, match=r"no class|lacks"):
        own_class(name)


@pytest.mark.parametrize("name", ["pipeline.store:Store", "pipeline.worker:Worker"])
def test_only_named_tuples_are_made_of_their_parts(name: str) -> None:
    with pytest.raises(SnapshotError, match="no named tuple"):
        own_tuple(name)


class Count:
    """Of this program as far as its module says."""

    __module__ = "pipeline.test"

    def __init__(self, number: int) -> None:
        self.number = number


class Held:
    __module__ = "pipeline.test"

    def __init__(self, one: Count) -> None:
        self.held = [one]


def test_of_two_workers_that_take_one_step_one_gets_it(store: Store) -> None:
    one, other = GroupLog(store, "log.v1.p2/0"), GroupLog(store, "log.v1.p2/0")
    assert not one.claim()
    one.append(CUT, 0, 4)
    steps = other.claim()
    assert [(step.kind, step.epoch, step.first, step.last) for step in steps] == [
        ("claim", 1, -1, -1), ("cut", 1, 0, 4),
    ]  # fmt: skip
    with pytest.raises(Fenced, match="another worker has taken it over"):
        one.append(CUT, 5, 9)
    assert other.append(CUT, 5, 7).number == 4
    assert [step.last for step in other.read()] == [-1, 4, -1, 7]


def test_a_step_may_be_repeated_when_its_answer_was_lost(store: Store) -> None:
    log = GroupLog(store, "log.v1.p2/1")
    log.claim()
    log.append(CUT, 0, 4)
    log.number -= 1  # as if the answer had not come
    assert log.append(CUT, 0, 4).number == 2
    assert len(log.read()) == 2


def test_who_tries_a_step_again_keeps_its_turn(store: Store) -> None:
    log = GroupLog(store, "log.v1.p2/2")
    log.claim()
    unheard = {"cut", "snapshot"}

    def append(kind: str, first: int, last: int) -> None:
        def tried(work: Callable[[], Any]) -> Any:
            taken = work()
            if kind in unheard:  # the step is taken, and its answer is lost
                unheard.remove(kind)
                log.number -= 1
                sleep(0.2)
                return tried(work)
            return taken

        log.append(kind, first, last, again=tried)

    beside = Thread(target=append, args=("snapshot", 1, 9))
    beside.start()
    append("cut", 10, 19)
    beside.join()
    steps = [(step.number, step.kind, step.first, step.last) for step in log.read()]
    assert sorted(step[1:] for step in steps[-2:]) == [("cut", 10, 19), ("snapshot", 1, 9)]
    assert [step[0] for step in steps[-2:]] == [2, 3]


def test_a_step_whose_answer_was_lost_is_no_other_one(store: Store) -> None:
    log = GroupLog(store, "log.v1.p2/3")
    log.claim()
    log.append(AHEAD, 20, 29)
    log.number -= 1  # as if the answer had not come, and nobody had tried again
    with pytest.raises(Fenced, match="step 2 was taken before, and nobody heard of it"):
        log.append(CUT, 20, 29)
    assert [step.kind for step in log.read()] == ["claim", "ahead"]


def test_a_place_has_no_quotes() -> None:
    with pytest.raises(ValueError, match="no topic/partition"):
        Fence("x' OR 1/0", 1)


def test_whoever_has_a_place_rows_and_state_are_the_same(
    store: Store, batches: list[list[Batch]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cleared(store)
    alone = part_of(store)
    go(alone, batches, 0, len(batches))
    expected = stored(store)
    assert expected["verdicts"].height > 5
    assert expected["observations"].height == 2 * ROWS
    assert alone.counts["repeated"] == CUTS

    cleared(store)
    monkeypatch.setattr("pipeline.group_part.FULL_EVERY", 2)
    first = part_of(store)
    go(first, batches, 0, 2)
    first.snapshot()
    go(first, batches, 2, 3)
    first.cut(30, 39)  # decided, and then it dies before a row is stored
    second = part_of(store)
    assert (second.position, [step.last for step in second.promised]) == (20, [29, 39])
    go(second, batches, 2, 4)
    assert second.counts["repeated_cuts"] == 2
    first.promised.clear()  # as one that was stopped before it decided
    for zombie in (lambda: first.cut(40, 44), first.snapshot):
        with pytest.raises(Fenced):
            zombie()
    second.snapshot()
    go(second, batches, 4, 5)
    second.snapshot()
    third = part_of(store)
    assert not third.promised
    go(third, batches, 5, len(batches))
    found = stored(store)
    assert found.keys() == expected.keys()
    for name, rows in expected.items():
        assert found[name].equals(rows), name
    states = [StateWriter(frozenset({".worker.tracker"})).write(part.kept, full=True)
              for part in (alone, third)]  # fmt: skip
    assert states[0] == states[1]
    trackers = [part.kept.worker.tracker.snapshot(full=True) for part in (alone, third)]
    assert trackers[0].equals(trackers[1])


def test_a_source_that_never_ends_is_given_up_at_the_same_place_whoever_has_it(
    store: Store, batches: list[list[Batch]]
) -> None:
    cleared(store)
    count = "SELECT count() FROM observations"

    def all_but_the_end_of_b(part: Part) -> None:
        go(part, [*batches[:CUTS], batches[CUTS][:1]], 0, CUTS + 1)

    first = part_of(store)
    all_but_the_end_of_b(first)
    assert first.silent == ["b"]
    assert store._writer.rows(count) < [(2 * ROWS,)]
    first.idle()
    first.storing.wait()
    assert not first.silent
    assert store._writer.rows(count) == [(2 * ROWS,)]
    expected = stored(store)
    second = part_of(store)  # the first one died before it kept any state
    assert [step.kind for step in second.promised] == [*[CUT] * (CUTS + 1), IDLE]
    all_but_the_end_of_b(second)
    begin = int(second.position or 0)
    second.cut(begin, begin - 1)
    second.work(begin, begin - 1, ())
    second.storing.wait()
    assert (second.counts["repeated_cuts"], second.promised) == (CUTS + 2, [])
    found = stored(store)
    for name, rows in expected.items():
        assert found[name].equals(rows), name
    states = [StateWriter(frozenset({".worker.tracker"})).write(part.kept, full=True)
              for part in (first, second)]  # fmt: skip
    assert states[0] == states[1]
    # What it brings after all is taken, and what others bring of that time is late and no more.
    go(second, [*batches[:CUTS], batches[CUTS][:1], batches[CUTS]], CUTS + 1, CUTS + 2)
    assert not second.silent


def test_rows_that_nobody_waits_for_are_stored_with_a_later_cut_whoever_makes_it(
    store: Store, batches: list[list[Batch]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which cut they go with is decided; a state kept meanwhile does not know what came since."""
    cleared(store)
    alone = part_of(store)
    go(alone, batches, 0, len(batches))
    expected = stored(store)

    cleared(store)
    first = part_of(store)
    ahead(first, batches, 0, 2)
    assert first.waiting
    early = {name for name, rows in stored(store).items() if rows.height}
    assert early == {"flows", "flow_by_ends"}
    second = part_of(store)  # the first one died: what it held is made again
    assert [step.kind for step in second.promised] == [AHEAD, AHEAD]
    ahead(second, batches, 0, 2)
    assert second.counts["repeated_cuts"] == 2
    with held_up(store, monkeypatch):
        second.cut(20, 29)
        second.work(20, 29, batches[2], snapshot=True)
        ahead(second, batches, 3, 4)  # decided before the state is kept, and not known to it
        assert second.kept_to is None
    second.storing.wait()
    assert second.kept_to == 30
    third = part_of(store)
    assert (third.position, [step.last for step in third.promised]) == (30, [39])
    ahead(third, batches, 3, 5)
    third.settle()
    third.settle()  # nothing waits: nothing is decided
    assert third.log.read()[-1].kind == CUT
    assert third.log.read()[-1].number == third.log.number
    go(third, batches, 5, len(batches))
    found = stored(store)
    for name, rows in expected.items():
        assert found[name].equals(rows), name


def ahead(part: Part, batches: list[list[Batch]], begin: int, end: int) -> None:
    """The cuts from `begin` to `end`, whose rows wait."""
    for cut in range(begin, end):
        part.cut(cut * 10, cut * 10 + 9, whole=False)
        part.work(cut * 10, cut * 10 + 9, batches[cut])


@contextmanager
def held_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Meanwhile no observations are stored."""
    going, insert = Event(), store.insert

    def later(table: str, *given: Any) -> int:
        assert table != "observations" or going.wait(60)
        return insert(table, *given)

    with monkeypatch.context() as patched:
        patched.setattr(store, "insert", later)
        yield
        going.set()


def test_a_worker_whose_rows_could_not_be_stored_has_the_place_no_more(
    store: Store, batches: list[list[Batch]], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_of(store, "unstored.v1.p2/0")

    def away(*_: object) -> int:
        raise StoreAway("it is away")

    with monkeypatch.context() as patched:
        part.cut(0, 9, whole=False)
        part.work(0, 9, batches[0])
        patched.setattr(store, "insert", away)
        part.settle()
        while part.storing.busy:
            sleep(0.01)
        with pytest.raises(StoreAway):
            part.settle()  # nothing waits any more, and still it is told
        part.cut(10, 19)
        part.work(10, 19, batches[1])
        assert not part.is_mine()
    assert part_of(store, "unstored.v1.p2/0").promised[-1].kind == CUT


def test_steps_of_a_newer_hopsight_are_refused(store: Store) -> None:
    log = GroupLog(store, "newer.v1.p2/0")
    log.claim()
    log.append("leap")
    with pytest.raises(StoreError, match=r"newer\.v1\.p2/0: a newer hopsight decided leap here"):
        log.read()


def test_rows_that_wait_are_so_many_at_most(
    store: Store, batches: list[list[Batch]], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_of(store, "many.v1.p2/0")
    assert not part.full
    ahead(part, batches, 0, 1)
    assert not part.full
    monkeypatch.setattr("pipeline.group_part.MOST_ROWS", 10)
    assert part.full
    part.snapshot()
    assert not part.full


def test_steps_before_a_full_snapshot_are_forgotten(
    store: Store, batches: list[list[Batch]]
) -> None:
    place = "forgotten.v1.p2/0"
    part = part_of(store, place)
    go(part, batches, 0, 2)
    part.snapshot()
    go(part, batches, 2, 3)
    kept = store._writer.rows(f"SELECT kind FROM group_log WHERE place = '{place}' ORDER BY number")  # noqa: S608 - our own name
    assert [kind for (kind,) in kept] == ["cut", "snapshot", "cut"]
    assert part_of(store, place).position == 20


def test_what_a_worker_counts_is_what_it_did(store: Store, batches: list[list[Batch]]) -> None:
    place = "counted.v1.p2/0"
    first = part_of(store, place)
    first.cut(0, 0)
    first.work(0, 0, batches[0], snapshot=True)
    first.storing.wait()
    assert first.worked["flows_new"] > 0
    other = part_of(store, place)
    assert other.kept.worker.counters["flows_new"] == first.worked["flows_new"]
    assert not other.worked


def test_arrays_of_objects_have_no_form() -> None:
    held = Held(Count(1))
    held.held = [np.array([object()])]  # type: ignore[list-item] # what must be refused
    with pytest.raises(ValueError, match="pickle"):
        StateWriter().write(held, full=True)
    held.held = [io.BytesIO()]  # type: ignore[list-item] # what must be refused
    with pytest.raises(SnapshotError, match=r"no form for \.held\[0\], a BytesIO"):
        StateWriter().write(held, full=True)


@pytest.mark.parametrize("passing", [StoreBusy, StoreAway])
def test_a_store_that_is_busy_or_away_is_asked_again(passing: type[StoreError]) -> None:
    asked, counts = iter([passing("not now"), "rows"]), Counter[str]()

    def ask() -> str:
        found = next(asked)
        if isinstance(found, StoreError):
            raise found
        return found

    assert again(Event(), counts)(ask) == "rows"
    assert counts == {"store_away": 1}


@pytest.mark.parametrize(
    ("sizes", "ends"),
    [([100], False), ([100, 60], False), ([100, 60, 40], True), ([100] + [1] * 31, True)],
)
def test_a_chain_of_snapshots_grows_to_about_twice_its_full_one(
    sizes: list[int], ends: bool
) -> None:
    assert long(sizes) is ends


def test_a_damaged_table_of_a_state_is_a_sentence() -> None:
    octets = ipc(pl.DataFrame({"name": ["leaf1", "spine"], "number": [1, 2]}))
    with pytest.raises(SnapshotError, match="damaged"):
        read_octets("DataFrame", octets[: len(octets) // 2])
