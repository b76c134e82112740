"""Answers name hops by the topology of their time, also beside and across a change of names."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from asked import Asked, opened

OLD, NEW = "leaf2", "rack-2"
"""The device of the last hop, where the flows meet at first, before and behind the change."""


@pytest.fixture
def change_ns(world: ModuleType) -> int:
    return int(world.START_NS + world.INTERVALS // 2 * world.INTERVAL_NS)


@pytest.fixture
def asked(tmp_path: Path, world: ModuleType, change_ns: int) -> Iterator[Asked]:
    """The stored world, half of whose time has a second version of the topology."""
    renamed = pl.when(pl.col("device") == OLD).then(pl.lit(NEW)).otherwise("device")
    later = pl.col("time_ns") >= change_ns
    with opened(tmp_path) as store:
        for table, rows in world.frames().items():
            told = rows
            if table == "verdicts":
                told = rows.with_columns(device=pl.when(later).then(renamed).otherwise("device"))
            store.insert(table, told, "world")
            if table == "hops":
                new = rows.with_columns(device=renamed, valid_from_ns=pl.lit(change_ns),
                                        topology=pl.lit("v2"))  # fmt: skip
                store.insert(table, new, "second")
        cell = {"node": 2, "port": 1, "dscp": 0, "source": "int", "samples": 10, "data_frames": 20,
                "u_hist": {"bucket": [80], "samples": [10]}, "u_max_n": 10**9}  # fmt: skip
        second = world.START_NS // 10**9 * 10**9
        store.insert("link_seconds", pl.DataFrame([{**cell, "time_ns": second}]), "cells")
        with Asked(store) as client:
            yield client


def devices(asked: Asked, path: str, name: str, **given: Any) -> set[str]:
    rows = asked.get(f"/api/v1{path}", **given).json()[name]
    return {(row.get("hop") or row)["device"] for row in rows}


def test_a_version_that_begins_where_a_range_ends_is_not_its(
    asked: Asked, world: ModuleType, change_ns: int
) -> None:
    before = {"from": world.START_NS, "to": change_ns}
    behind = {"from": world.START_NS, "to": change_ns + 1}
    place = {"interface": "Ethernet4"}
    for span, name in ((before, OLD), (behind, NEW)):
        assert {OLD, NEW} & devices(asked, "/links", "links", **span) == {name}
        assert devices(asked, "/links", "links", device=name, **place, **span) == {name}
    assert {OLD, NEW} & devices(asked, "/bottlenecks", "bottlenecks", **before) == {OLD}
    flow: dict[str, Any] = {"src": f"{world.SRC.format(1)}:40001", "dst": f"{world.DST}:5001"}
    for at, name in ((change_ns, OLD), (change_ns + 1, NEW)):
        told = asked.get("/api/v1/flows/signals", at=at, window="50ms", **flow)
        assert {OLD, NEW} & {hop["device"] for hop in told.json()["hops"]} == {name}


def test_a_name_that_an_answer_has_finds_what_it_is_the_name_of(
    tmp_path: Path, world: ModuleType, change_ns: int
) -> None:
    """Over a change answers name hops by the newest version, and filters find them by that."""
    frames, span = world.frames(), {"from": world.START_NS, "to": change_ns + world.INTERVAL_NS}
    later = frames["hops"].with_columns(
        device="new-" + pl.col("device"), valid_from_ns=pl.lit(change_ns)
    )
    with opened(tmp_path) as store:
        for table, rows in frames.items():
            store.insert(table, rows, "world")
        store.insert("hops", later, "second")
        with Asked(store) as asked:
            for path, name in (
                ("/flows", "flows"), ("/links", "links"), ("/bottlenecks", "bottlenecks"),
            ):  # fmt: skip
                told = devices(asked, path, name, **span) if name != "flows" else set()
                assert all(device.startswith("new-") for device in told), "as filters find them"
                for device, found in (("new-leaf1", True), ("leaf1", False)):
                    told = asked.get(f"/api/v1{path}", filter=f'device = "{device}"', **span)
                    assert bool(told.json()[name]) is found, (path, device)


def test_cells_of_te_are_named_by_their_own_time(tmp_path: Path, world: ModuleType) -> None:
    """A version of the topology that begins with a second is not of the cell before."""
    second = world.START_NS // 10**9 * 10**9
    hops = world.frames()["hops"]
    with opened(tmp_path) as store:
        store.insert("hops", hops, "first")
        store.insert("hops", hops.filter(device="leaf2").with_columns(
            device=pl.lit(NEW), valid_from_ns=pl.lit(second + 10**9)), "second")  # fmt: skip
        store.insert("hosts", world.frames()["hosts"], "hosts")
        cell = {"node": 2, "port": 1, "dscp": 0, "source": "int", "samples": 10, "data_frames": 20,
                "u_hist": {"bucket": [80], "samples": [10]}, "u_max_n": 10**9}  # fmt: skip
        cells = pl.DataFrame([{**cell, "time_ns": second}, {**cell, "time_ns": second + 10**9}])
        store.insert("link_seconds", cells, "cells")
        with Asked(store) as asked:
            for place, name in enumerate((OLD, NEW)):
                span = {"from": second + place * 10**9, "to": second + (place + 1) * 10**9}
                assert devices(asked, "/te/links", "links", **span) == {name}
                kept = {"filter": f'device = "{name}"', **span}
                assert devices(asked, "/te/links", "links", **kept) == {name}


def test_a_hop_that_was_renamed_inside_is_found_by_either_name(
    asked: Asked, world: ModuleType, change_ns: int
) -> None:
    whole = {"from": world.START_NS, "to": world.START_NS + world.INTERVALS * world.INTERVAL_NS}
    for name in (OLD, NEW):
        place = {"device": name, "interface": "Ethernet4", **whole}
        for path in ("/links", "/links/flows"):
            assert asked.get(f"/api/v1{path}", **place).status_code == 200
    late = {"from": change_ns - world.INTERVAL_NS, "to": change_ns + world.INTERVAL_NS}
    hops = asked.get("/api/v1/bottlenecks", **late).json()["bottlenecks"]
    assert {row["hop"]["device"] for row in hops} <= {NEW, "leaf1"}
