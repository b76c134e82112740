"""Alerts where a clock of the data, or the one here, is in the future."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from asked import Asked, opened

from pipeline import TABLES, Store
from service.alerts.engine import Engine, change_of
from service.alerts.rule import AlertFile, read
from service.alerts.state import FIRING, RESOLVED
from service.future import MOST_AHEAD_NS, reached
from service.hub import Hub
from service.settings import Settings

S = 10**9
YEARS_NS = 20 * 365 * 86_400 * S
RULE = """
[[rule]]
name = "held"
over = "flows"
filter = "kind in (uplink, incast)"
above = 0
"""
HISTORY = {"rule": "", "before_ns": 2**63 - 1, "rows": 10}


@pytest.fixture
def store(tmp_path: Path, world: ModuleType) -> Iterator[Store]:
    with opened(tmp_path) as made:
        made.insert("flows", world.frames()["flows"], "flows")
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "alerts.toml"
    path.write_text(RULE)
    return path


@pytest.fixture
def verdicts(world: ModuleType) -> pl.DataFrame:
    rows: pl.DataFrame = world.frames()["verdicts"]
    return rows


def keep(store: Store, rows: pl.DataFrame, by_ns: int = 0) -> int:
    """Store verdicts of some time later; until when they go."""
    later = rows.with_columns(pl.col("time_ns") + by_ns)
    store.insert("verdicts", later, f"{rows.height} {by_ns}")
    return max((later["time_ns"] + later["interval_ns"]).to_list())


def idle(verdicts: pl.DataFrame) -> pl.DataFrame:
    return verdicts.filter(pl.col("kind") == "sender_limited")


def test_data_of_the_future_stops_no_alert(
    store: Store, file: Path, verdicts: pl.DataFrame
) -> None:
    settings = Settings.model_validate({"service": {"alerts_file": file}})
    with Asked(store, settings) as client:
        engine = client.app.state.watch.engine
        ended = keep(store, verdicts)
        engine.step()
        assert ([each.state for each in engine.standing()], engine.now_ns) == ([FIRING], ended)
        assert engine.ahead_s() == 0
        keep(store, verdicts, YEARS_NS)
        engine.step()
        assert ended <= engine.now_ns <= ended + 1
        ended = keep(store, idle(verdicts), 600 * S)
        engine.step()
        assert (engine.standing(), engine.now_ns) == ([], ended)
        told = re.search(
            r"^hopsight_data_ahead_seconds (\S+)$", client.get("/metrics").text, re.MULTILINE
        )
        assert told
        assert 18 * 365 * 86_400 < float(told[1]) < 20 * 365 * 86_400


def test_changes_that_were_kept_of_the_future_do_not_count(
    store: Store, file: Path, verdicts: pl.DataFrame
) -> None:
    """They are of a service that went by all that was stored."""
    ended = keep(store, idle(verdicts))
    of_future = keep(store, verdicts, YEARS_NS)
    key = ("held", '{"alertname": "held", "severity": "warning"}')
    row = change_of(key, FIRING, of_future, of_future, 3.0, 1)
    store.insert("alerts", pl.DataFrame([row], schema=TABLES["alerts"].schema), "future")
    engine = Engine(read(file), store, Hub(9))
    engine.step()
    assert (engine.standing(), engine.now_ns) == ([], ended)


def test_a_clock_that_was_set_back_stops_no_alert(
    store: Store, file: Path, verdicts: pl.DataFrame
) -> None:
    ended = keep(store, verdicts)
    engine = Engine(read(file), store, Hub(9), clock=lambda: ended + YEARS_NS)
    ahead = keep(store, verdicts, YEARS_NS)
    engine.step()
    assert (engine.now_ns, len(engine.standing())) == (ahead, 1)
    ended = keep(store, idle(verdicts), 600 * S)
    engine.clock = lambda: ended
    engine.step()
    assert (engine.now_ns, engine.standing()) == (ended, [])


def test_a_clock_here_that_is_behind_ends_nothing(
    store: Store, file: Path, verdicts: pl.DataFrame
) -> None:
    ended, begun = keep(store, verdicts), 0
    Engine(read(file), store, Hub(9)).step()
    engine = Engine(AlertFile(), store, Hub(9), clock=lambda: begun)
    engine.step()
    assert [row["state"] for row in store.query("alerts_history", **HISTORY).to_dicts()] == [FIRING]
    engine.clock = lambda: ended
    engine.step()
    states = store.query("alerts_history", **HISTORY)["state"].to_list()
    assert states == [RESOLVED, FIRING]


def test_what_is_a_little_ahead_is_looked_at(store: Store, verdicts: pl.DataFrame) -> None:
    assert reached(store, 0) == (0, 0)
    ended = keep(store, verdicts)
    assert reached(store, ended - MOST_AHEAD_NS) == (ended, ended)
    to_ns, newest_ns = reached(store, ended - MOST_AHEAD_NS - 1)
    assert newest_ns == ended
    assert ended - MOST_AHEAD_NS < to_ns < ended
    assert reached(store, 0) == (0, ended)


def test_prometheus_hears_of_what_rules_do_not_look_at() -> None:
    rules = Path(__file__).parents[2] / "deploy" / "prometheus" / "rules.yaml"
    assert f"(hopsight_data_ahead_seconds) > {MOST_AHEAD_NS // S}\n" in rules.read_text()
