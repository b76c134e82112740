"""Events: what changed is told, kept for who was away, and only to who may hear it."""

import asyncio
import json
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import polars as pl
import pytest
from asked import Asked, opened

from pipeline import Store, open_or_ask
from service import changes as changing
from service.changes import AWAY_S, Changes
from service.hub import RESET, Hub, Listener


class Ear(threading.Thread):
    """Listens to the events of a service."""

    def __init__(self, url: str, last_id: str = "") -> None:
        super().__init__(daemon=True)
        self.url, self.headers = url, {"Last-Event-ID": last_id} if last_id else {}
        self.heard: queue.Queue[tuple[str, str, Any]] = queue.Queue()
        self.begun = threading.Event()
        self.ended = threading.Event()

    def run(self) -> None:
        """Listen until the end."""
        place = f"{self.url}/api/v1/events"
        with httpx.stream("GET", place, headers=self.headers, timeout=60) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            event: dict[str, str] = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                event[name] = value
                if line.startswith("retry"):
                    self.begun.set()
                if not line:
                    if "data" in event:
                        self.heard.put((event["id"], event["event"], json.loads(event["data"])))
                    event = {}
        self.ended.set()


def later(world: ModuleType) -> dict[str, pl.DataFrame]:
    """Verdicts of a second later: flow 4 is held back too, at leaf2; flow 1 is not any more."""
    rows = world.frames()["verdicts"].filter(pl.col("sport") > 40001)
    return {
        "verdicts": rows.with_columns(
            pl.col("time_ns") + 20 * 10**9,
            pl.when(pl.col("sport") == 40004)
            .then(pl.lit("incast"))
            .otherwise("kind")
            .alias("kind"),
            pl.lit(1.5).alias("u_mean"),
        )
    }


def test_a_change_is_told_and_told_again_to_who_was_away(
    tmp_path: Path, serve: Callable[[str], Any], world: ModuleType
) -> None:
    service = serve(f"chdb://{tmp_path}/store")
    try:
        with open_or_ask(service.dsn) as store:
            for table, rows in world.frames().items():
                store.insert(table, rows, "world")
            ear = Ear(service.url)
            ear.start()
            assert ear.begun.wait(30)
            # The first look is what later ones are compared with: it was taken when one is told.
            while ear.heard.empty():
                touch(store, world)
                ear.begun.wait(0.3)
                threading.Event().wait(0.3)
            for table, rows in later(world).items():
                store.insert(table, rows, "later")
        events: list[tuple[str, str, Any]] = []
        while len([name for _, name, _ in events if name == "verdict"]) < 2:
            events.append(ear.heard.get(timeout=60))
        while events[-1][1] != "stored":
            events.append(ear.heard.get(timeout=60))
        told = {data["flow"]["src"]: data for _, name, data in events if name == "verdict"}
        assert told["10.0.1.1"]["now"] is None
        assert told["10.0.1.1"]["was"]["hop"]["device"] == "leaf1"
        assert told["10.0.1.4"]["now"]["kind"] == "incast"
        again = Ear(service.url, events[0][0])
        again.start()
        assert [again.heard.get(timeout=30) for _ in events[1:]] == events[1:]
        strange = Ear(service.url, "f00-3")
        strange.start()
        assert strange.heard.get(timeout=30)[1] == RESET
    finally:
        assert service.stop() == 0
    assert ear.ended.wait(20)


NUMBERS = iter(range(10**6))


def touch(store: Any, world: ModuleType) -> None:
    """Store something that changes no verdict."""
    store.insert("hops", world.frames()["hops"], f"touched {next(NUMBERS)}")


def test_each_hears_what_is_for_all_and_for_its_tenants() -> None:
    async def heard() -> list[list[int]]:
        hub = Hub(8)
        ears = [Listener(tenants) for tenants in (None, ("blue",), ())]
        with hub.joined(ears[0], "of another hub") as [reset]:
            assert reset.name == "reset"
        for number, owner in enumerate((None, "blue", "red", "")):
            hub.publish("x", {"n": number}, owner)
        made = []
        for ear in ears:
            with hub.joined(ear, reset.id) as missed:
                hub.publish("x", {"n": 9}, "red")
                await asyncio.sleep(0)
                more = [] if ear.waiting.empty() else [ear.waiting.get_nowait()]
                made.append([event.data["n"] for event in [*missed, *more] if event])
        assert hub.listeners == set()
        return made

    assert asyncio.run(heard()) == [[0, 1, 2, 3, 9], [0, 1], [0]]


def test_ids_do_not_tell_how_much_others_hear() -> None:
    async def heard() -> list[str]:
        hub, ear = Hub(1), Listener(("blue",))
        with hub.joined(ear, ""):
            for number in range(40):
                hub.publish("x", {"n": number}, "blue" if number % 20 == 0 else "red")
            await asyncio.sleep(0)
            mine = [ear.waiting.get_nowait() for _ in range(ear.waiting.qsize())]
        with hub.joined(ear, mine[0].id) as missed:
            assert missed == mine[1:]
        with hub.joined(ear, "unknown") as [reset]:
            return [*(event.id for event in mine), reset.id]

    ids = asyncio.run(heard())
    assert len(set(ids)) == len(ids) == 3
    assert {len(one) for one in ids} == {16}, "none counts up"


def test_who_cannot_follow_is_sent_away() -> None:
    async def slow() -> int:
        hub, ear = Hub(1), Listener(None)
        with hub.joined(ear, "") as missed:
            assert missed == []
            for number in range(1500):
                hub.publish("x", {"n": number})
            await asyncio.sleep(0)
            found = [ear.waiting.get_nowait() for _ in range(ear.waiting.qsize())]
        assert found[0] is None
        return len(found)

    assert asyncio.run(slow()) < 600


@pytest.fixture
def asked(tmp_path: Path, world: ModuleType) -> Iterator[Asked]:
    with opened(tmp_path) as store:
        for table, rows in world.frames().items():
            store.insert(table, rows, "world")
        with Asked(store) as client:
            yield client


def test_more_listeners_than_a_few_are_asked_to_come_later(asked: Asked) -> None:
    asked.app.state.hub.most = 0
    answer = asked.get("/api/v1/events")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_nothing_is_looked_up_while_nobody_listens(asked: Asked, world: ModuleType) -> None:
    store, hub = asked.app.state.reader.store, asked.app.state.hub
    changes = Changes(store, hub)

    async def looked() -> None:
        changes.step()
        assert changes.before is None
        with hub.joined(Listener(None), ""):
            changes.step()
            assert changes.before is not None
            first = changes.before
            changes.step()
            assert changes.before is first
            for table, rows in later(world).items():
                store.insert(table, rows, "later")
            changes.step()

    asyncio.run(looked())
    assert [event.name for event in hub._kept] == ["stored", "verdict", "verdict", "stored"]


def test_no_tenant_hears_less_for_what_changes_for_others(
    tmp_path: Path, world: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor how much that is."""
    monkeypatch.setattr(changing, "MOST_EVENTS", 1)

    async def heard_by_each(store: Store) -> list[tuple[list[str], int]]:
        hub = Hub(8)
        ears = [Listener(tenants) for tenants in (None, ("blue",), ("green",), ("blue", "red"))]
        with hub.joined(Listener(None), ""):
            looks = Changes(store, hub)
            looks.step()
            for table, rows in world.frames().items():
                owners = pl.Series("owner", ["red", "red", "blue", "red"])
                told = rows.with_columns(owners) if table == "flows" else rows
                store.insert(table, told, "world")
            looks.step()
        heard = []
        for ear in ears:
            events = [each for event in hub._kept if (each := ear.heard(event)) is not None]
            owners = [str(event.owner) for event in events if event.name == "verdict"]
            heard.append((sorted(owners), events[-1].data["verdicts_not_told"]))
        return heard

    with opened(tmp_path) as store:
        everybody, blue, green, both = asyncio.run(heard_by_each(store))
    assert (len(everybody[0]), everybody[1]) == (1, 2)
    assert (blue, green) == ((["blue"], 0), ([], 0))
    assert both == (["blue", "red"], 1)


def test_who_comes_again_hears_all_or_is_told_to_ask_anew(
    tmp_path: Path, world: ModuleType
) -> None:
    """It is looked on for a while after the last listener has gone."""
    now_s = 0.0

    async def looked(store: Store) -> None:
        nonlocal now_s
        hub = Hub(8)
        changes = Changes(store, hub, lambda: now_s)
        with hub.joined(Listener(None), ""):
            changes.step()
            assert not hub._kept, "nothing is stored"
            for table, rows in world.frames().items():
                store.insert(table, rows, "world")
            changes.step()
        first = [(event.name, event.data) for event in hub._kept]
        assert [name for name, _ in first] == [*["verdict"] * 3, "stored"]
        assert all(data["was"] is None for name, data in first if name == "verdict")
        heard = hub._kept[-1].id
        for table, rows in later(world).items():
            store.insert(table, rows, "later")
        now_s += AWAY_S / 2
        changes.step()
        with hub.joined(Listener(None), heard) as missed:
            assert [event.name for event in missed] == ["verdict", "verdict", "stored"]
            changes.step()
        now_s += 2 * AWAY_S
        changes.step()
        with hub.joined(Listener(None), heard) as [event]:
            assert event.name == RESET
        with hub.joined(Listener(None), missed[-1].id) as [event]:
            assert event.name == RESET

    with opened(tmp_path) as store:
        asyncio.run(looked(store))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/api/v1/bottlenecks", {}),
        ("/api/v1/flows", {}),
        ("/api/v1/flows/bottleneck", {"src": "10.0.1.1:40001", "dst": "10.0.2.1:5001"}),
        ("/api/v1/flows/signals", {"src": "10.0.1.1:40001", "dst": "10.0.2.1:5001"}),
        ("/api/v1/links", {}),
        ("/api/v1/links/flows", {"device": "leaf2", "interface": "Ethernet4"}),
        ("/api/v1/health/telemetry", {}),
    ],
)
def test_an_unchanged_answer_is_not_sent_again(
    asked: Asked, world: ModuleType, path: str, given: dict[str, str]
) -> None:
    first = asked.get(path, **given)
    tag = {"If-None-Match": first.headers["etag"]}
    asks = sum_of_queries(asked)
    same = asked.get(path, headers=tag, **given)
    assert (same.status_code, same.content) == (304, b"")
    assert sum_of_queries(asked) == asks
    asked.app.state.reader.store.insert("verdicts", later(world)["verdicts"], "later")
    after = asked.get(path, headers=tag, **given)
    assert after.status_code in {200, 304}
    assert sum_of_queries(asked) > asks


def sum_of_queries(asked: Asked) -> float:
    """Questions that the store was asked."""
    return sum(
        sample.value
        for family in asked.app.state.metrics.registry.collect()
        if family.name == "hopsight_store_queries"
        for sample in family.samples
        if sample.name.endswith("_total")
    )
