"""A doubting engineer finds the packets: frames by signal, source and point, out of a store."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline import PipelineSettings, Store, Topology, Worker
from pipeline.question import Question
from pipeline.where import answer

Rows = Iterable[Mapping[str, Any]]
Observed = Callable[[Rows], pl.DataFrame]
SECOND = 1_000_000_000
T0 = 1_760_000_000 * SECOND
TAG = {"csig_variant": 2, "csig_t": 2, "csig_s": 500, "csig_lm": 3 * 256 + 3,
       "csig_low": 60_000.0, "csig_high": 60_000.0}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(f"chdb://{tmp_path}/store")
    made.migrate()
    yield made
    made.close()


def test_evidence_names_the_frames_that_carry_it(
    store: Store, observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    echo = {name.replace("csig_", "csig_echo_"): value for name, value in TAG.items()}
    data = [{"time_ns": T0 + at, "point": "leaf2:host", **TAG} for at in range(0, 60, 2)]
    acks = [
        {"time_ns": T0 + at + 1, "point": "leaf1:host", "src": "10.2.0.1", "dst": "10.1.0.1",
         "sport": 2000, "dport": 1000, "payload_bytes": 0, **echo}
        for at in range(0, 60, 2)
    ]  # fmt: skip
    rows = observed(sorted([*data, *acks], key=lambda row: int(row["time_ns"])))
    worker = Worker(PipelineSettings(interval_ms=1.0), chain_of("leaf1", "spine1", "leaf2"), ("a",))
    for part, output in enumerate((worker.advance(rows), worker.finish())):
        for name, table in output.tables.items():
            if table.height:
                store.insert(name, table, f"{name}/{part}")
    asked = Question(ip_address("10.1.0.1"), 1000, ip_address("10.2.0.1"), 2000)
    made = answer(store, asked)
    # The window ends with the flow's own last frame, before the last reflection.
    load = next(piece for piece in made["evidence"] if piece["name"] == "hop load u'")
    assert load["signal"] == "csig"
    assert load["frames"] == [
        {"source": "a", "point": "leaf1:host", "first": 2, "last": 58, "frames": 29},
        {"source": "a", "point": "leaf2:host", "first": 1, "last": 59, "frames": 30},
    ]
    assert made["verdict"]["hop"]["name"] == "leaf2 host"
