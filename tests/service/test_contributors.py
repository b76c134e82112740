"""Who shares a hop: shares and roles of the flows there."""

from typing import Any

import polars as pl
import pytest

from service.roles import with_roles

FLOW = {"src": "10.0.1.1:40001", "dst": "10.0.2.1:5001"}
NOBODY = {"flows": 0, "data_bytes": 0}


def test_roles_are_by_what_each_sends() -> None:
    rows = pl.DataFrame({
        "data_bytes": [9000, 900, 60, 40, 0], "held_back": [True, False, True, False, True]
    })  # fmt: skip
    made = with_roles(rows, NOBODY)
    assert made["role"].to_list() == ["culprit", "contributor", "victim", "", "victim"]
    assert made["share"].to_list() == pytest.approx([0.9, 0.09, 0.006, 0.004, 0.0])


def test_no_role_is_by_bytes_that_nobody_knows() -> None:
    rows = pl.DataFrame({"data_bytes": [9000, None], "held_back": [True, True]})
    known = pl.DataFrame({"data_bytes": [9000, 0], "held_back": [True, True]})
    elsewhere = {"flows": 3, "data_bytes": None}
    for made in (with_roles(rows, NOBODY), with_roles(rows[1:], NOBODY),
                 with_roles(known, elsewhere), with_roles(known, NOBODY, known=False)):  # fmt: skip
        assert set(made.select("share", "role").iter_rows()) == {(None, "")}


def test_who_is_not_seen_has_a_share_too() -> None:
    rows = pl.DataFrame({"data_bytes": [500, 500], "held_back": [True, True]})
    made = with_roles(rows, {"flows": 2, "data_bytes": 9000})
    assert made["share"].to_list() == [0.05, 0.05]
    assert made["role"].to_list() == ["contributor", "contributor"]


def test_the_contributors_of_a_flows_bottleneck(served: Any) -> None:
    found = served.get("/api/v1/flows/contributors", **FLOW).json()
    assert found["hop"]["name"] == "leaf1 Ethernet48"
    assert {row["src"] for row in found["flows"]} == {f"10.0.1.{n}" for n in range(1, 5)}
    assert {(row["share"], row["role"]) for row in found["flows"]} == {(0.25, "culprit")}
    idle = {"src": "10.0.1.4:40004", "dst": "10.0.2.1:5001"}
    assert served.get("/api/v1/flows/contributors", **idle).json()["flows"] == []
    assert (
        served.get("/api/v1/flows/contributors", **(FLOW | {"src": "10.9.9.9:1"})).status_code
        == 404
    )
    place = {"device": "leaf2", "interface": "Ethernet4"}
    rows = served.get("/api/v1/links/flows", **place).json()["flows"]
    assert {row["role"] for row in rows} == {"culprit"}
