"""Questions of several askers that are asked as one: each hears what it would have heard alone."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import polars as pl
import pytest
from empty_store import empty_store

from pipeline import Store, StoreBusy, StoreError, StoreLimits
from pipeline.joined_question import JOINED, fits
from pipeline.tables.column import SLICE_NS, slice_of
from pipeline.tables.flow_by_ends import ends_number

T0 = 1_760_000_000 * 10**9 // SLICE_NS * SLICE_NS
MS = 10**6
FLOWS = range(10, 16)
WAIT_S = 0.5


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    place = tmp_path_factory.mktemp("together") / "db"
    with empty_store(place, StoreLimits(wait_s=WAIT_S)) as opened:
        for part in range(3):  # rows of a flow lie in several parts, and in two slices
            at_ns = T0 + part * SLICE_NS // 2
            times = {"time_ns": [at_ns + flow * MS for flow in FLOWS], "flow": [*FLOWS]}
            told = {"interval_ns": MS, "told": [f"[{flow}]" for flow in FLOWS]}
            opened.insert("flow_told", pl.DataFrame(times | told), f"told {part}")
            frames = {"frame": [part] * len(FLOWS), "source": "a"}
            opened.insert("observations", pl.DataFrame(times | frames), f"frames {part}")
            ends = {"src_lo": [*FLOWS], "dst_lo": 7, "sport": 5, "dport": 6, "owner": "red"}
            seen = {"last_ns": times["time_ns"], "flow": [*FLOWS]}
            opened.insert("flows", pl.DataFrame(seen | ends), f"flows {part}")
        yield opened


def told(flow: int, **more: Any) -> dict[str, Any]:
    window = {"from_ns": T0, "to_ns": T0 + 2 * SLICE_NS, "rows": 9}
    return {"flow": flow, "slices": [slice_of(T0), slice_of(T0) + 1]} | window | more


def frames(flow: int, **more: Any) -> dict[str, Any]:
    return told(flow, reverse=flow + 1) | more


def key(flow: int, **more: Any) -> dict[str, Any]:
    ends = {"src_hi": 0, "src_lo": flow, "dst_hi": 0, "dst_lo": 7, "sport": 5, "dport": 6}
    return {"ends": ends_number(ends), "tenants": ["*"]} | more


@contextmanager
def busy(store: Store) -> Iterator[None]:
    """No reader is free."""
    with ExitStack() as held:
        for _ in range(max(store.limits.readers, len(JOINED))):
            held.enter_context(store._together._readers.one())
        yield


def together(store: Store, name: str, wanted: list[dict[str, Any]]) -> list[pl.DataFrame]:
    """What askers hear who come while no reader is free."""
    with ThreadPoolExecutor(len(wanted)) as threads:
        with busy(store):
            asking = []
            for number, one in enumerate(wanted):
                asking.append(threads.submit(store._together.ask, name, one))
                until_s = time.monotonic() + 5
                while len(store._together._waiting.get(name, "")) + 1 < number + 1:
                    assert time.monotonic() < until_s
                    time.sleep(0.001)
        return [each.result() for each in asking]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the questions that the engine is asked."""
    from pipeline import together as module

    names: list[str] = []
    tell = module.told_by

    def counted(connection: Any, name: str, parameters: Mapping[str, Any]) -> pl.DataFrame:
        names.append(name)
        return tell(connection, name, parameters)

    monkeypatch.setattr(module, "told_by", counted)
    return names


def sorted_rows(found: pl.DataFrame) -> list[tuple[Any, ...]]:
    return sorted(found.rows(), key=repr)


@pytest.mark.parametrize(
    ("name", "one"), [("flow_told", told), ("flow_frames", frames), ("flow_of_key", key)]
)
def test_each_asker_hears_its_own(
    store: Store, statements: list[str], name: str, one: Callable[..., dict[str, Any]]
) -> None:
    wanted = [one(flow) for flow in (*FLOWS, 99)]
    if name != "flow_of_key":  # windows of their own: one begins inside an interval, one is early
        wanted[1] |= {"from_ns": T0 + 11 * MS + 5, "to_ns": T0 + SLICE_NS // 2 + 11 * MS}
        wanted[2] |= {"to_ns": T0 + 12 * MS, "slices": [slice_of(T0)]}
    alone = [store._together.ask(name, each) for each in wanted]
    assert statements == [name] * len(wanted)
    statements.clear()
    found = together(store, name, wanted)
    assert statements == [JOINED[name].name]
    for asked, lone, own in zip(wanted, alone, found, strict=True):
        assert own.schema == lone.schema, asked
        assert sorted_rows(own) == sorted_rows(lone), asked
    assert [each.height for each in alone][-1] == 0
    assert alone[0].height >= 2


def test_a_limit_that_all_pass_together_is_none_that_each_passes(
    store: Store, statements: list[str]
) -> None:
    wanted = [told(10, rows=3), told(11, rows=1), told(12, rows=2)]
    heights = [each.height for each in together(store, "flow_told", wanted)]
    assert heights == [3, 1, 2]
    assert sorted(statements) == ["flow_told", "flow_told", "flow_told", "flows_told"]


def test_what_fails_for_all_is_asked_by_each(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline import together as module

    tell = module.told_by

    def failing(connection: Any, name: str, parameters: Mapping[str, Any]) -> pl.DataFrame:
        if name == "flows_told" or parameters.get("flow") == 99:
            raise StoreError("no")
        return tell(connection, name, parameters)

    monkeypatch.setattr(module, "told_by", failing)
    with pytest.raises(StoreError, match="no"):
        together(store, "flow_told", [told(10), told(11), told(99)])
    assert store._together._waiting == {}
    found = together(store, "flow_told", [told(10), told(11)])
    assert [each.height for each in found] == [3, 3]


def test_who_waits_with_others_for_a_reader_in_vain_hears_so_with_them(store: Store) -> None:
    heard: list[float] = []

    def ask(flow: int) -> None:
        begun_s = time.monotonic()
        with pytest.raises(StoreBusy, match="no reader came free"):
            store._together.ask("flow_told", told(flow))
        heard.append(time.monotonic() - begun_s)

    with busy(store):
        threads = [threading.Thread(target=ask, args=(flow,)) for flow in FLOWS]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(heard) == len(FLOWS)
    assert max(heard) < 2 * WAIT_S
    assert store._together.ask("flow_told", told(10)).height == 3


def test_others_people_and_another_time_are_asked_for_apart(
    store: Store, statements: list[str]
) -> None:
    assert not fits(key(1), key(2, tenants=["red"]))
    far = told(2, slices=[slice_of(T0) + 60, slice_of(T0) + 61])
    assert fits(told(1), told(2))
    assert not fits(told(1), far)
    wanted = [key(10), key(11, tenants=["blue"]), key(12), key(13, tenants=["blue"])]
    found = together(store, "flow_of_key", wanted)
    assert [each.is_empty() for each in found] == [False, True, False, True]
    assert statements == ["flows_of_keys"] * 2
