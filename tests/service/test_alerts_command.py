"""`hopsight alerts` on a store that nobody has open: no engine moves what is kept there."""

import json
from pathlib import Path
from typing import Any

import polars as pl
from asked import opened

from pipeline import TABLES, open_or_ask
from service.alerts.state import FIRING, RESOLVED
from tests.service.test_alerts import RULES, S


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
