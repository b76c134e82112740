"""Loads of links whose intervals are not kept any more, as minutes and hours keep them."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from asked import Asked, opened

from pipeline import Store
from pipeline.histogram import METRICS, bucket

S = 10**9
FIRST = METRICS[[metric.name for metric in METRICS].index("u")].first
DAY = 86_400 * S


def cell(world: ModuleType, hop: int, time_ns: int, source: str, u: float) -> dict[str, Any]:
    """A second of one hop: as many samples of u as of half of it."""
    place = world.HOPS[hop]
    told = [bucket(round(each * 10**9), FIRST) for each in (u, u / 2)]
    return {"time_ns": time_ns, "node": place.node, "port": place.port, "dscp": 0,
            "source": source, "samples": 20, "u_hist": {"bucket": told, "samples": [10, 10]},
            "u_max_n": round(u * 10**9), "data_frames": 20}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path, world: ModuleType) -> Iterator[Store]:
    """The stored world, and ten minutes and a day before it, of which rollups alone are kept."""
    with opened(tmp_path) as made:
        for table, rows in world.frames().items():
            made.insert(table, rows, "world")
        second = world.START_NS // S * S
        rows = [cell(world, hop, second - before + number * S, "int", u)
                for before in (DAY, 600 * S) for number in range(120)
                for hop, u in ((1, 0.6), (2, 1.4))]  # fmt: skip
        rows.append(cell(world, 1, second - DAY, "csig_abw", 1.0))  # INT tells it better
        made.insert("link_seconds", pl.DataFrame(rows), "cells")
        yield made


def test_what_intervals_do_not_tell_any_more_minutes_do(store: Store, world: ModuleType) -> None:
    begin = world.START_NS - DAY
    with Asked(store) as asked:
        told = asked.get("/api/v1/links", **{"from": begin, "to": begin + 120 * S}).json()
        assert told["interval"]["step_ns"] == 60 * S
        assert [link["device"] for link in told["links"]] == ["leaf2", "spine1"]
        for link, u in zip(told["links"], (1.4, 0.6), strict=True):
            seen = [each for each in link["u_mean"] if each is not None]
            assert seen == pytest.approx([0.75 * u] * len(seen), rel=0.044)
            assert [each for each in link["u_max"] if each] == pytest.approx([u] * len(seen))
            assert set(link["queue_mean_bytes"]) == {None}
            assert sum(each or 0 for each in link["samples"]) == 2400
        place = {"device": "spine1", "interface": "Ethernet8"}
        of_one = asked.get("/api/v1/links", **{"from": begin, "to": begin + 120 * S}, **place)
        assert of_one.json()["links"] == told["links"][1:]
        short = asked.get("/api/v1/links", **{"from": begin + 10 * S, "to": begin + 11 * S}).json()
        assert len(short["links"]) == 2, "a minute tells of each second of it"
        first = asked.get("/api/v1/links", limit=1, **{"from": begin, "to": begin + 120 * S}).json()
        rest = asked.get("/api/v1/links", limit=1, cursor=first["cursor"],
                         **{"from": begin, "to": begin + 120 * S}).json()  # fmt: skip
        assert first["links"] + rest["links"] == told["links"]
        named = {"filter": 'device = "leaf2"', "from": begin, "to": begin + 120 * S}
        refused = asked.get("/api/v1/links", **named)
        assert (refused.status_code, refused.json()["field"]) == (422, "filter")
        none = asked.get("/api/v1/links", **{"from": begin - DAY, "to": begin - DAY + S}).json()
        assert none["links"] == []


def test_a_range_of_both_is_told_by_minutes(store: Store, world: ModuleType) -> None:
    over = world.START_NS + world.INTERVALS * world.INTERVAL_NS
    with Asked(store) as asked:
        told = asked.get("/api/v1/links", **{"from": world.START_NS - 700 * S, "to": over}).json()
        assert told["interval"]["step_ns"] == 60 * S
        assert {link["device"] for link in told["links"]} >= {"leaf2", "spine1"}
        whole = asked.get("/api/v1/links", **{"from": world.START_NS, "to": over}).json()
        assert whole["interval"]["step_ns"] == world.INTERVAL_NS
        assert whole["links"][0]["queue_mean_bytes"][0] is not None


def test_a_range_of_minutes_and_hours_is_told_by_hours(store: Store, world: ModuleType) -> None:
    begin = world.START_NS - DAY
    with store.alone() as engine:
        older = f"time_ns < {begin + 3600 * S}"
        engine.command(f"ALTER TABLE link_minutes DELETE WHERE {older} SETTINGS mutations_sync = 1")
    with Asked(store) as asked:
        for over in (begin + 3600 * S, world.START_NS - 300 * S):
            told = asked.get("/api/v1/links", **{"from": begin, "to": over}).json()
            assert told["interval"]["step_ns"] % (3600 * S) == 0
            hot = told["links"][0]
            assert (hot["device"], hot["u_max"][0]) == ("leaf2", pytest.approx(1.4))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("length_s", [3600, 7000, 20_000])
def test_no_cell_lacks_a_minute_of_it(store: Store, world: ModuleType, length_s: int) -> None:
    """However long a range is, and wherever it begins in a minute."""
    begin = world.START_NS - DAY + 30 * S
    with Asked(store) as asked:
        told = asked.get("/api/v1/links", **{"from": begin, "to": begin + length_s * S}).json()
    assert told["interval"]["step_ns"] % (60 * S) == 0
    assert [sum(each or 0 for each in link["samples"]) for link in told["links"]] == [2400, 2400]


def test_where_nothing_passed_nothing_is_told(store: Store, world: ModuleType) -> None:
    """A minute's cell tells of frames before or after the range, of which intervals are kept."""
    for name in ("link_minutes", "link_hours"):
        assert store.query("links_kept", rollup=name, from_ns=0, to_ns=2 * world.START_NS).height
    over = world.START_NS + world.INTERVALS * world.INTERVAL_NS
    begin = -(-over // S) * S + 5 * S
    with Asked(store) as asked:
        for quiet in ({"from": begin, "to": begin + 20 * S}, {"from": begin, "to": begin + S}):
            told = asked.get("/api/v1/links", **quiet).json()
            assert (told["links"], told["interval"]["covered"]) == ([], 0.0)
            assert told["interval"]["step_ns"] < 60 * S
            sifted = asked.get("/api/v1/links", filter="u.max > 1", **quiet)
            assert (sifted.status_code, sifted.json()["links"]) == (200, [])
