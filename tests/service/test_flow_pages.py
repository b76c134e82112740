"""Pages of flows hold every flow, also of those that go on sending while pages are asked for."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import polars as pl
import pytest
from asked import Asked, opened

from pipeline import Store
from service.cursor import cursor_of, place_behind
from service.routes.flow_search import SearchParameters
from service.service_settings import ServiceSettings
from service.settings import Settings

MOST = 40
"""Pages until somebody has asked long enough."""
Meanwhile = Callable[[int], None]


@pytest.fixture
def rows(world: ModuleType) -> pl.DataFrame:
    """Twelve flows that were seen one after the other, to three ports."""
    number = pl.int_range(12, eager=True)
    one: pl.DataFrame = world.frames()["flows"]
    return one[[0] * 12].with_columns(
        flow=(number * 7 % 12 + 1).cast(pl.UInt64),
        sport=(number + 1000).cast(pl.UInt16),
        dport=(number % 3 + 5000).cast(pl.UInt16),
        first_ns=world.START_NS + number,
        last_ns=world.START_NS + 10 * number,
    )


@pytest.fixture
def store(tmp_path: Path, rows: pl.DataFrame) -> Iterator[Store]:
    with opened(tmp_path) as made:
        made.insert("flows", rows, "flows")
        yield made


def pages(store: Store, meanwhile: Meanwhile, most: int = 100, **asked: Any) -> list[int]:
    """Ports of the flows of all pages; `meanwhile` something happens between two.

    The store gives at most so many rows at once.
    """
    found: list[int] = []
    settings = Settings(service=ServiceSettings(max_rows=most))
    with Asked(store, settings) as client:
        for page in range(MOST):
            answer = client.get("/api/v1/flows", **asked).json()
            assert len(answer["flows"]) <= asked["limit"]
            found += [row["sport"] for row in answer["flows"]]
            assert answer["more"] is (answer["cursor"] is not None)
            if not answer["more"]:
                return found
            asked["cursor"] = answer["cursor"]
            meanwhile(page)
    raise AssertionError(found)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 11, 12])
def test_flows_that_rest_are_told_once_newest_first(store: Store, limit: int) -> None:
    ports = [1000 + number for number in range(12)]
    to_one = [port for port in ports if port % 3 == 1]
    for most in (1, 3, 100):
        assert pages(store, lambda _: None, most, limit=limit) == ports[::-1], most
        assert pages(store, lambda _: None, most, limit=limit, q=":5000") == to_one[::-1], most


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("limit", "most"), [(1, 100), (2, 100), (5, 100), (5, 3), (2, 1)])
@pytest.mark.parametrize("q", ["", ":5001"])
def test_flows_that_go_on_sending_meanwhile_are_told(
    store: Store, rows: pl.DataFrame, limit: int, most: int, q: str
) -> None:
    """Between two pages the next ones that would be told are seen again, and one that is new."""
    later_ns = int(rows["last_ns"].to_numpy().max()) + 10**9

    def meanwhile(page: int) -> None:
        moved = rows[::-1][(page + 1) * limit :][:3]
        new = rows[:1].with_columns(
            flow=pl.lit(100 + page, pl.UInt64), sport=pl.lit(1, pl.UInt16), first_ns=later_ns
        )
        seen = pl.concat([moved, new]).with_columns(last_ns=later_ns + page)
        store.insert("flows", seen, f"seen {page}")

    found = pages(store, meanwhile, most, limit=limit, q=q)
    assert set(found) - {1} == {1000 + number for number in range(12) if not q or number % 3 == 1}
    assert all(found.count(port) <= 2 for port in found)


def test_a_cursor_of_something_else_is_none(store: Store) -> None:
    asked = SearchParameters.model_validate({})
    made = [place_behind(asked, *numbers) for numbers in ((1, 2), (1, 2, 3, 2), (1, 2, 3, -1))]
    with Asked(store) as client:
        for cursor in (*made, cursor_of(1, 2, 3, 0), "x"):
            answer: httpx.Response = client.get("/api/v1/flows", cursor=cursor)
            assert answer.status_code == 422
            assert "cursor" in answer.text
        own = client.get("/api/v1/flows", limit=1).json()["cursor"]
        assert client.get("/api/v1/flows", limit=2, cursor=own).status_code == 200
        for other in ({"q": "10.0.0.1"}, {"filter": "u.max > 1"}, {"to": 1}):
            answer = client.get("/api/v1/flows", cursor=own, **other)
            assert (answer.status_code, answer.json()["field"]) == (422, "cursor")
