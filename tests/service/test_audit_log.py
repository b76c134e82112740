"""Rows of the audit log: many who are refused at once hold nobody up and do not fill it."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from asked import Asked, opened, strict

from pipeline import Store
from service.tokens import line_of, made

SCOPES = {"reader": "read", "operator": "operate", "admin": "admin"}
TOKENS = {name: made() for name in SCOPES}
LINES = "\n".join(line_of(name, scope, "*", TOKENS[name]) for name, scope in SCOPES.items())
MANY, BURST = 160, 100
SILENCE = {"matchers": {"alert": "x"}, "comment": "that was it"}


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    with opened(tmp_path) as store, Asked(store, *strict(LINES)) as client:
        yield client


def rows(asked: Asked) -> list[dict[str, Any]]:
    found = asked.get("/api/v1/audit", TOKENS["admin"], limit=10_000).json()["audit"]
    return sorted(found, key=lambda each: int(each["time_ns"]))


def test_who_is_refused_again_and_again_holds_nobody_up(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row in an insert of its own took the threads in which others read."""
    inserts: list[int] = []
    insert = Store.insert

    def counted(store: Store, table: str, frame: pl.DataFrame, token: str) -> int:
        inserts.extend([frame.height] if table == "audit" else [])
        return insert(store, table, frame, token)

    monkeypatch.setattr(Store, "insert", counted)

    async def flood() -> list[int]:
        head = {"Authorization": f"Bearer {TOKENS['reader']}"}
        each = [asked.http.post("/api/v1/jobs", headers=head, json={}) for _ in range(MANY)]
        return [answer.status_code for answer in await asyncio.gather(*each)]

    assert {*asked.runner.run(flood())} == {403}
    assert BURST <= sum(inserts) < MANY
    assert len(inserts) < BURST / 4
    done = asked.ask(
        "POST",
        "/api/v1/alerts/silences",
        TOKENS["operator"],
        json=SILENCE | {"to": str(int(time.time()) + 60)},
    )
    assert done.status_code == 201, done.text
    *refused, change, told = rows(asked)
    assert {(each["who"], each["status"]) for each in refused} == {("reader", 403)}
    assert (change["who"], json.loads(change["body"])["comment"]) == ("operator", "that was it")
    assert json.loads(told["body"]) == {"refused_left_out": MANY - len(refused)}
    assert len(refused) + 2 == sum(inserts)
