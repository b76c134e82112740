"""The dashboard of the store: every question of it is answered by the real engine."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from asked import opened

from pipeline import Store
from pipeline.health.answer import AS_IT_SHOULD_BE

BOARDS = Path(__file__).resolve().parents[2] / "deploy" / "grafana" / "dashboards"
BOARD = json.loads((BOARDS / "congestion.json").read_text())
PANELS = {panel["title"]: panel for panel in BOARD["panels"]}
MS = 1_000_000
BETWEEN = {"scope": "site", "src": "east", "dst": "west"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, world: ModuleType) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("board")) as made:
        for table, rows in world.frames().items():
            made.insert(table, rows, "world")
        [(time_ns,)] = made._writer.rows("SELECT min(time_ns) FROM verdicts")
        more: dict[str, dict[str, Any]] = {
            "link_seconds": {"node": 1, "port": 2, "source": "int", "u_max_n": 5 * 10**8},
            "path_seconds": {**BETWEEN, "source": "traffic", "data_bytes": 10, "abw_min_bps": 7},
            "telemetry_health": {"finding": "mute", "kind": "device", "subject": "leaf1"},
        }
        for table, row in more.items():
            made.insert(table, pl.DataFrame([{"time_ns": time_ns, **row}]), "more")
        yield made


def asked(panel: dict[str, Any], from_ms: int, to_ms: int) -> str:
    """A question with Grafana's variables put in."""
    [target] = panel["targets"]
    text: str = target["rawSql"]
    told = {"$__from": from_ms, "$__to": to_ms, "$__interval_ms": 15_000}
    for name, value in told.items():
        text = text.replace(name, str(value))
    assert "$" not in text
    return text


def test_what_is_as_it_should_be_hides_no_finding() -> None:
    [target] = PANELS["Findings about telemetry"]["targets"]
    left_out = ", ".join(f"'{name}'" for name in sorted(AS_IT_SHOULD_BE))
    assert f"finding NOT IN ({left_out})" in target["rawSql"]


@pytest.mark.parametrize("title", PANELS)
def test_a_panel_is_answered(store: Store, title: str) -> None:
    [(first, last)] = store._writer.rows("SELECT min(time_ns), max(time_ns) FROM verdicts")
    rows = store._writer.rows(asked(PANELS[title], first // MS - 60_000, last // MS + 60_000))
    assert rows
    if PANELS[title]["type"] == "timeseries":
        times = [row[0] for row in rows]
        assert times == sorted(times)
    outside = store._writer.rows(asked(PANELS[title], 0, 1))
    assert not outside or title == "Room of the store"
