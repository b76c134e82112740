"""`hopsight alerts` of a service that moves them, and of a store that nobody has open."""

import json
import re
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import polars as pl
from asked import opened

from pipeline import TABLES, open_or_ask
from service.alerts.engine import Engine
from service.alerts.rule import read
from service.alerts.standing import as_kept
from service.alerts.state import FIRING, RESOLVED
from service.hub import Hub
from tests.service.test_alerts import LAST, RULES, S
from tests.service.test_alerts_ahead import HISTORY, RULE, idle, keep


def test_the_command_says_that_an_alert_flaps_and_what_its_rule_says(
    hopsight: Any, tmp_path: Path
) -> None:
    opened(tmp_path).close()
    dsn, file = f"chdb://{tmp_path}/store", tmp_path / "alerts.toml"
    file.write_text(RULES)
    ruled = {"HOPSIGHT_SERVICE__ALERTS_FILE": str(file)}
    own = type(hopsight)(hopsight.directory, hopsight.environment | ruled)
    labels = {"alertname": "hot port", "device": "leaf1", "severity": "page"}
    schema = TABLES["alerts"].schema

    def told(command: Any, after_ns: int, state: str, changes: int) -> Any:
        row = {"time_ns": 1_760_000_000 * S + after_ns, "rule": "hot port", "value": 1.5,
               "labels": json.dumps(labels), "state": state, "since_ns": S, "changes": changes,
        }  # fmt: skip
        with open_or_ask(dsn) as kept:
            kept.insert("alerts", pl.DataFrame([row], schema=schema), f"after {after_ns}")
        done = command.here("alerts", "--store", dsn, "--json")
        return json.loads(done.stdout)["alerts"]

    alert = {
        "rule": "hot port", "labels": labels, "state": FIRING, "since_ns": S, "value": 1.5,
        "flapping": False, "silenced_by": [], "summary": "a port is full",
        "runbook": "https://runbooks.example/hot-port",
    }  # fmt: skip
    assert told(own, 1, FIRING, 1) == [alert]
    assert told(own, 2, FIRING, 7) == [alert | {"flapping": True}]
    assert "firing, flapping" in own.here("alerts", "--store", dsn).stdout
    unruled = alert | {"flapping": True, "summary": "", "runbook": ""}
    assert told(hopsight, 3, FIRING, 7) == [unruled]
    own.environment["HOPSIGHT_SERVICE__ALERTS_FILE"] = "gone.toml"
    done = own.here("alerts", "--store", dsn)
    assert (done.returncode, done.stderr) == (
        0, "service.alerts_file: gone.toml: No such file or directory\n"
    )  # fmt: skip
    assert told(hopsight, 4, RESOLVED, 8) == []


def held(verdicts: pl.DataFrame) -> pl.DataFrame:
    """What holds one flow back."""
    rows = verdicts.filter(pl.col("kind").is_in(["uplink", "incast"]))
    return rows.filter(pl.col("flow") == rows["flow"][0])


def test_the_command_says_what_the_service_says_that_has_the_store_open(
    hopsight: Any, tmp_path: Path, world: ModuleType
) -> None:
    (tmp_path / "alerts.toml").write_text(RULE)
    ruled = {"HOPSIGHT_SERVICE__ALERTS_FILE": str(tmp_path / "alerts.toml")}
    own = type(hopsight)(hopsight.directory, hopsight.environment | ruled)
    dsn, tables = f"chdb://{tmp_path}/store", world.frames()
    with opened(tmp_path) as store:
        store.insert("flows", tables["flows"], "flows")
        keep(store, tables["verdicts"])
    process = own.start("serve", "--store", dsn, "--port", "0")
    try:
        url = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())[0]

        def told(until_ns: int) -> Any:
            for _ in range(300):
                answer = httpx.get(f"{url}/api/v1/alerts").json()
                if (answer["now_ns"] or 0) >= until_ns:
                    return answer
                time.sleep(0.1)
            raise TimeoutError

        [first] = told(1)["alerts"]
        with open_or_ask(dsn) as store:
            until_ns = keep(store, held(tables["verdicts"]), 60 * S)
        answer = told(until_ns)
        assert first["value"] > answer["alerts"][0]["value"] == 1
        for where in (("--store", dsn), ("--server", url)):
            done = own.here("alerts", *where, "--json")
            assert json.loads(done.stdout) == answer, done.stderr
            assert "looked at 2025-10-09T08:54:20" in own.here("alerts", *where).stdout
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
    done = own.here("alerts", "--store", dsn, "--json")
    assert json.loads(done.stdout) == {"now_ns": None, "alerts": [first]}
    assert "by the last change that was kept" in own.here("alerts", "--store", dsn).stdout


def test_an_alert_that_flaps_does_so_after_a_restart(tmp_path: Path, world: ModuleType) -> None:
    (tmp_path / "alerts.toml").write_text(RULE)
    file, verdicts = read(tmp_path / "alerts.toml"), world.frames()["verdicts"]
    states = held(verdicts), idle(verdicts)
    with opened(tmp_path) as store:
        store.insert("flows", world.frames()["flows"], "flows")
        engine = Engine(file, store, hub := Hub(9))
        for half in range(17):  # it ends while the condition holds
            to_ns = keep(store, states[half % 2], 30 * half * S)
            engine.step()
        [moved] = engine.standing()
        assert (moved.state, moved.flapping) == (FIRING, True)
        [row] = store.query("alerts_last", **LAST).to_dicts()
        assert row["changes"] == next(iter(engine.alerts.values())).changes(to_ns, 600 * S) == 17
        assert as_kept(row, engine.rules, to_ns) == moved
        history = store.query("alerts_history", **HISTORY)["state"].to_list()
        assert history == [FIRING, *[RESOLVED, FIRING] * 3]
        assert len(hub._kept) == len(history), "a pause is no news"
        again = Engine(file, store, Hub(9))
        keep(store, states[1], 510 * S)
        for each in (engine, again):
            each.step()
            assert [(one.state, one.flapping) for one in each.standing()] == [(FIRING, True)]
        keep(store, states[1], 1_900 * S)
        for each in (engine, again):
            each.step()
            assert each.standing() == []
