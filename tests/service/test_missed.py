"""What live sources did not capture lowers what answers about many flows say that they cover."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from pipeline import TABLES, Store
from service.app import create_app
from service.settings import Settings

T0 = 1_760_000_000_000_000_000
S = 10**9
LINK = {
    "time_ns": T0, "node": 1, "port": 1, "dscp": 0, "source": "int", "samples": 10,
    "u_hist": {"bucket": [60], "samples": [10]}, "u_max_n": 10**13, "data_frames": 20,
}  # fmt: skip
ROUTES = ("/te/links", "/te/paths", "/links", "/bottlenecks")


async def answers(store: Store, to_ns: int) -> dict[str, Any]:
    transport = httpx.ASGITransport(create_app(Settings(), store))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        told = {"from": T0, "to": to_ns}
        return {
            route: (await client.get(f"/api/v1{route}", params=told)).raise_for_status().json()
            for route in ROUTES
        }


def test_a_gap_lowers_what_is_covered(tmp_path: Path) -> None:
    with Store(f"chdb://{tmp_path}/db") as store:
        store.migrate()
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
