"""Flows of a link whose intervals are not kept any more: bytes of rollups, and nothing invented."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from asked import Asked, opened, strict

from pipeline import Store
from service.settings import Settings
from service.tokens import line_of, made

HALF = 10
"""Interval of the stored world that is the first of those kept, where some are gone."""


@pytest.fixture
def store(tmp_path: Path, world: ModuleType) -> Iterator[Store]:
    """The stored world; flow 1 began three seconds before it, where the same hop held it back."""
    with opened(tmp_path) as opened_store:
        for table, rows in world.frames().items():
            opened_store.insert(table, rows, "world")
            if table in ("flow_intervals", "hop_intervals", "verdicts"):
                first = pl.col("time_ns") - 3 * world.NANO
                early = rows.filter(flow=world.flow_hash(1)).with_columns(time_ns=first)
                opened_store.insert(table, early, "before the world")
        yield opened_store


def forget(store: Store, before_ns: int, *tables: str) -> None:
    with store.alone() as engine:
        for table in tables:
            engine.command(f"ALTER TABLE {table} DELETE WHERE time_ns < {before_ns}"
                           " SETTINGS mutations_sync = 1")  # fmt: skip


def told(asked: Asked, world: ModuleType, **given: Any) -> dict[str, Any]:
    place = {"device": "leaf2", "interface": "Ethernet4"}
    over = world.START_NS + world.INTERVALS * world.INTERVAL_NS
    answer = asked.get("/api/v1/links/flows", **place,
                       **{"from": world.START_NS, "to": over} | given)  # fmt: skip
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def sent(answer: dict[str, Any]) -> dict[str, int]:
    return {row["src"]: row["data_bytes"] for row in answer["flows"]}


def test_bytes_whose_intervals_are_gone_are_those_of_rollups(
    store: Store, world: ModuleType
) -> None:
    whole = {"from": world.START_NS - 3 * world.NANO}
    with Asked(store) as asked:
        before, longer = told(asked, world), told(asked, world, **whole)
    assert before["notes"] == longer["notes"] == []
    held = {row["src"] for row in before["flows"] if row["held_back"]}
    assert all(before["flows"][number]["share"] for number in range(len(held)))
    rolled_from = world.START_NS + HALF * world.INTERVAL_NS
    for before_ns, said in ((rolled_from, "before 2025"), (1 << 62, "of this range")):
        forget(store, before_ns, "flow_intervals", "hop_intervals")
        with Asked(store) as asked:
            after = told(asked, world)
            ends = {"src": f"{world.SRC.format(1)}:40001", "dst": f"{world.DST}:5001",
                    "at": rolled_from, "window": "100ms"}  # fmt: skip
            beside = asked.get("/api/v1/flows/contributors", **ends).json()
            assert sent(told(asked, world, **whole)).items() >= {
                (src, sent(longer)[src]) for src in held
            }
        assert {src: sent(after)[src] for src in held} == {src: sent(before)[src] for src in held}
        assert set(sent(beside).values()) >= {sent(before)[src] for src in held}
        for answer in (after, beside):
            assert [said in note for note in answer["notes"]] == [True]
            assert {(row["share"], row["role"]) for row in answer["flows"]} == {(None, "")}
    # Minutes are kept for longer than seconds, which tell of a part.
    forget(store, world.START_NS, "flow_seconds")
    with Asked(store) as asked:
        longest = sent(told(asked, world, **whole))
        assert {src: longest[src] for src in held} == {src: sent(longer)[src] for src in held}
        forget(store, 1 << 62, "flow_seconds", "flow_minutes", "flow_hours")
    with Asked(store) as asked:
        assert set(sent(told(asked, world)).values()) == {None}


def test_what_others_sent_is_not_told_where_intervals_are_gone(
    tmp_path: Path, world: ModuleType
) -> None:
    token = made()
    with opened(tmp_path) as store:
        for table, rows in world.frames().items():
            owner = pl.when(pl.col("sport") <= 40002).then(pl.lit("red")).otherwise(pl.lit("blue"))
            owned = rows.with_columns(owner.alias("owner")) if table == "flows" else rows
            store.insert(table, owned, "world")
        forget(store, 1 << 62, "flow_intervals", "hop_intervals")
        with Asked(store, *strict(line_of("red", "read", "red", token))) as asked:
            answer = told(asked, world, token=token)
        hidden = {"rollup": "flow_seconds", "step_ns": world.NANO, "tenants": ["blue"],
                  "flows": [world.flow_hash(1)], "firsts": [0], "lasts": [1 << 61]}  # fmt: skip
        assert store.query("flows_sent", **hidden | {"tenants": ["red"]}).height == 1
        assert store.query("flows_sent", **hidden).is_empty()
    assert answer["others"] == {"flows": 1, "data_bytes": None}
    assert set(sent(answer)) == {world.SRC.format(1), world.SRC.format(2)}
    assert all(sent(answer).values())


def test_silence_is_no_loss(store: Store, world: ModuleType) -> None:
    """Verdicts on a time in which nothing was sent, while what was before is kept."""
    quiet = world.START_NS + HALF * world.INTERVAL_NS
    with store.alone() as engine:
        engine.command(f"ALTER TABLE flow_intervals DELETE WHERE time_ns BETWEEN {world.START_NS}"
                       f" AND {quiet} SETTINGS mutations_sync = 1")  # fmt: skip
    with Asked(store) as asked:
        answer = told(asked, world)
    assert answer["notes"] == []
    assert all(row["share"] is not None for row in answer["flows"])


@pytest.mark.parametrize("most", [1, 2, 3])
def test_of_more_flows_than_are_told_those_that_sent_most_are_and_that_is_said(
    store: Store, world: ModuleType, most: int
) -> None:
    with Asked(store) as asked:
        whole = told(asked, world)
    settings = Settings.model_validate({"service": {"max_rows": most}})
    with Asked(store, settings) as asked:
        part = told(asked, world)
    ranked = [*sent(whole).items()]
    assert (whole["notes"], len(ranked) > 1) == ([], True)
    assert [*sent(part).items()] == ranked[:most]
    said = [f"more than {most:,} flows crossed it"] if most < len(ranked) else []
    assert [note.partition(":")[0] for note in part["notes"]] == said
