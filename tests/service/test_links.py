"""Links over time: cells as wide as what is stored, and pages that follow one another."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from asked import Asked, opened

MS = 1_000_000
T0 = 1_760_000_000_000_000_000
LENGTH_NS = 10 * MS
LOADS = {1: (0.5, 2.0), 2: (1.1, 1.2), 3: (0.9, 1.2), 4: (0.2, 0.3)}
"""Mean and largest load of each port; port 4 was seen in one interval."""
RANGE = {"from": T0, "to": T0 + 20 * LENGTH_NS}


def cell(number: int, port: int) -> dict[str, Any]:
    mean, most = LOADS[port]
    return {
        "time_ns": T0 + number * LENGTH_NS, "interval_ns": LENGTH_NS, "flow": 1, "point": "p",
        "node": 7, "port": port, "hop_index": 0, "source": "int", "samples": 10,
        "u_sum_n": round(10 * mean * 10**9), "u_max_n": round(most * 10**9), "standing": 0,
    }  # fmt: skip


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, world: ModuleType) -> Iterator[Asked]:
    with opened(tmp_path_factory.mktemp("links")) as store:
        rows = [cell(number, port) for number in (3, 5) for port in (1, 2, 3)] + [cell(4, 4)]
        store.insert("hop_intervals", pl.DataFrame(rows), "links")
        store.insert("hops", world.frames()["hops"], "hops")
        with Asked(store) as client:
            yield client


def pages(asked: Asked, limit: int) -> list[dict[str, Any]]:
    """All pages of the range."""
    answers = [asked.get("/api/v1/links", **RANGE, limit=limit).json()]
    while (cursor := answers[-1]["cursor"]) is not None:
        answers.append(asked.get("/api/v1/links", cursor=cursor, limit=limit).json())
    return answers


def test_cells_are_as_wide_as_stored_intervals(asked: Asked) -> None:
    place = {"device": "node 7", "interface": "port 4"}
    for given in ({}, place):
        answer = asked.get("/api/v1/links", **RANGE, **given).json()
        assert answer["interval"]["step_ns"] == LENGTH_NS
        assert answer["times_ns"] == list(range(T0, RANGE["to"], LENGTH_NS))
    [link] = answer["links"]
    assert [at for at, u in enumerate(link["u_mean"]) if u is not None] == [4]
    nothing = asked.get("/api/v1/links", **{"from": T0 - 10**9, "to": T0 - 10**9 + 240}).json()
    assert (nothing["interval"]["step_ns"], nothing["links"]) == (2, [])


def test_a_range_holds_the_interval_that_it_begins_in(asked: Asked) -> None:
    given = {"from": T0 + 3 * LENGTH_NS + 1, "to": T0 + 4 * LENGTH_NS}
    whole = asked.get("/api/v1/links", **given).json()
    assert {link["interface"] for link in whole["links"]} == {f"port {port}" for port in (1, 2, 3)}
    place = {"device": "node 7", "interface": "port 2"}
    for path in ("/api/v1/links", "/api/v1/links/flows"):
        one = asked.get(path, **given, **place).json()
        assert len(one["links" if "links" in one else "flows"]) == 1
    none = {"from": T0 + 4 * LENGTH_NS, "to": T0 + 5 * LENGTH_NS}
    assert asked.get("/api/v1/links", **none, **place).json()["links"] == []


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_pages_of_any_size_are_the_whole_list(asked: Asked, limit: int) -> None:
    [whole] = pages(asked, 200)
    assert [link["port"] for link in whole["links"]] == [1, 2, 3, 4]
    told = pages(asked, limit)
    assert [link for page in told for link in page["links"]] == whole["links"]
    assert all(page["links"] for page in told), "no page is empty"
    assert {page["interval"]["step_ns"] for page in told} == {LENGTH_NS}
    assert {tuple(page["times_ns"]) for page in told} == {tuple(whole["times_ns"])}


@pytest.mark.parametrize(
    ("device", "interface", "field"),
    [("leaf9", "Ethernet4", "device"), ("leaf2", "Ethernet9", "interface"),
     ("node x", "port 1", "device"), ("node 7", "port x", "interface")],
)  # fmt: skip
def test_the_name_that_is_not_known_is_named(
    asked: Asked, device: str, interface: str, field: str
) -> None:
    for path in ("/api/v1/links", "/api/v1/links/flows"):
        answer = asked.get(path, **RANGE, device=device, interface=interface)
        assert (answer.status_code, answer.json()["field"]) == (404, field)
