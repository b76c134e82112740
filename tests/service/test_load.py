"""A few clients at once, as `benchmarks/bench_load.py` has two hundred: each is answered."""

import asyncio
import importlib.util
import sys
from pathlib import Path
from typing import Any

CLIENTS = Path(__file__).resolve().parents[2] / "benchmarks" / "clients.py"


def test_clients_at_once_get_answers_or_are_asked_to_come_later(served: Any) -> None:
    spec = importlib.util.spec_from_file_location("clients", CLIENTS)
    assert spec is not None
    assert spec.loader is not None
    clients = importlib.util.module_from_spec(spec)
    sys.modules["clients"] = clients
    spec.loader.exec_module(clients)
    flows = served.get("/api/v1/flows", filter="sport < 40004").json()["flows"]
    assert len(flows) == 3
    heard = asyncio.run(clients.asked(served.url, flows, 6, 600.0, most=12))
    assert heard.wrong == []
    assert {name for name, _, _ in heard.answers} == {
        *(path.partition("?")[0] for path in clients.OVERVIEW), "/api/v1/flows/bottleneck"
    }  # fmt: skip
    assert heard.flows == {0, 1, 2}
    assert heard.count(200) + heard.count(304) + heard.count(503) == len(heard.answers)
    assert clients.percentile(heard.seconds(), 0.5) > 0
