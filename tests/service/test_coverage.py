"""Every answer about a time says which part was judged and captured, and how complete that is."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from empty_store import empty_store

from pipeline import TABLES, Store
from service.app import create_app
from service.commands.top import look
from service.coverage import NOTHING
from service.settings import Settings

T0 = 1_760_000_000_000_000_000
S = 10**9
LINK = {
    "time_ns": T0, "node": 1, "port": 1, "dscp": 0, "source": "int", "samples": 10,
    "u_hist": {"bucket": [60], "samples": [10]}, "u_max_n": 10**13, "data_frames": 20,
}  # fmt: skip
ROUTES = ("/te/links", "/te/paths", "/links", "/bottlenecks")


JUDGED = (*ROUTES[2:], "/flows", "/health/telemetry")
VERDICT = {"interval_ns": S // 10, "kind": "not_congested", "samples": 10}


async def answers(
    store: Store, to_ns: int | None, routes: Sequence[str] = ROUTES
) -> dict[str, Any]:
    transport = httpx.ASGITransport(create_app(Settings(), store))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        told = {} if to_ns is None else {"from": T0, "to": to_ns}
        return {
            route: (await client.get(f"/api/v1{route}", params=told)).raise_for_status().json()
            for route in routes
        }


def test_a_gap_lowers_what_is_covered(tmp_path: Path) -> None:
    with empty_store(tmp_path / "db") as store:
        rows = pl.DataFrame(
            [LINK], schema={name: TABLES["link_seconds"].schema[name] for name in LINK}
        )
        store.insert("link_seconds", rows, "links")
        whole = asyncio.run(answers(store, T0 + S))
        assert {told["captured"] for told in whole.values()} == {1.0}
        assert whole["/te/links"]["completeness"] == 0.5
        # Nobody captured half of the second; another source lost a tenth of a whole one.
        gaps = [(T0, T0 + S // 2, "a", None, None), (T0, T0 + S, "b", 10, 100)]
        found = pl.DataFrame(gaps, TABLES["capture_gaps"].schema, orient="row")
        store.insert("capture_gaps", found, "gaps")
        half = asyncio.run(answers(store, T0 + S))
        assert [told["captured"] for told in half.values()] == [pytest.approx(0.5)] * len(ROUTES)
        assert half["/te/links"]["completeness"] == pytest.approx(0.25)
        longer = asyncio.run(answers(store, T0 + 2 * S))
        assert [told["captured"] for told in longer.values()] == [pytest.approx(0.75)] * len(ROUTES)
        assert half["/te/paths"]["completeness"] is None, "there is no row"


def test_what_was_judged_is_told_and_how_complete_it_is(tmp_path: Path) -> None:
    with empty_store(tmp_path / "db") as store:
        # Of two flows one was judged in the first half of a second, the other in a tenth of it.
        others = [(2, 2, 0.2), (3, 3, None)]
        rows = [
            VERDICT | {"time_ns": T0 + at * S // 10, "flow": flow, "completeness": complete}
            for at, flow, complete in [*((at, 1, 0.8) for at in range(5)), *others]
        ]
        schema = {name: TABLES["verdicts"].schema[name] for name in rows[0]}
        store.insert("verdicts", pl.DataFrame(rows, schema=schema), "verdicts")
        gap = [(T0, T0 + S // 2, "a", None, None)]
        found = pl.DataFrame(gap, TABLES["capture_gaps"].schema, orient="row")
        told = asyncio.run(answers(store, T0 + S, JUDGED))
        for route, answer in told.items():
            assert answer["interval"]["covered"] == pytest.approx(0.5), route
            assert (answer["captured"], answer["completeness"]) == (1.0, pytest.approx(0.7)), route
        store.insert("capture_gaps", found, "gaps")
        for route, answer in asyncio.run(answers(store, T0 + S, JUDGED)).items():
            assert answer["completeness"] == pytest.approx(0.35), route
        looked = look(store, T0 + S, 2 * S)
        # The window is cut where the store begins.
        assert (looked["interval"]["from_ns"], looked["interval"]["covered"]) == (T0, 0.5)
        assert looked["completeness"] == pytest.approx(0.35)


def test_of_an_empty_store_nothing_is_said_to_be_known(tmp_path: Path) -> None:
    with empty_store(tmp_path / "db") as store:
        transport = httpx.ASGITransport(create_app(Settings(), store))

        async def asked() -> list[Any]:
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost"
            ) as client:
                routes = dict.fromkeys([*ROUTES, *JUDGED])
                return [(await client.get(f"/api/v1{route}")).json() for route in routes]

        for answer in asyncio.run(asked()):
            assert answer.items() >= NOTHING.items()
