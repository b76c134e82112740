"""CSIG values are those of the version in force at each row, whoever decoded it."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from collector import CollectorSettings
from pipeline import Csig, Topology, Versions, Worker
from pipeline.csig_profile import CsigSignal
from pipeline.scale_in_force import CSIG_VALUES, in_force
from pipeline.settings import PipelineSettings
from service.commands.pipeline import worker_of
from service.run import follows
from service.settings import load
from tests.pipeline.test_worker import played

CHANGE = 1000


def told(version: str, since_ns: int, edges: tuple[float, ...], quantum: float) -> Topology:
    """A version of which abw's buckets and delay's quantum are known."""
    abw = CsigSignal("abw", buckets=edges)
    delay = CsigSignal("delay", quantum=quantum, base=7.0)
    _, utilization, _, queue = Csig().signals
    csig = Csig(signals=(abw, utilization, delay, queue))
    return Topology(version, since_ns, 0, (), csig=csig)


OLD, NEW = told("a", 0, (0.0, 10.0, 30.0), 2.0), told("b", CHANGE, (0.0, 50.0, 90.0), 3.0)


def row(time_ns: int, variant: int, kind: int, s: int) -> dict[str, Any]:
    return {"time_ns": time_ns, "csig_variant": variant, "csig_t": kind, "csig_s": s,
            "csig_low": 1e9, "csig_high": 2e9}  # fmt: skip


def test_each_version_reads_the_rows_of_its_time() -> None:
    rows = pl.DataFrame(
        [row(CHANGE, 1, 0, 1), row(5, 1, 0, 1), row(6, 1, 0, 2), row(7, 2, 2, 4),
         row(CHANGE + 1, 2, 2, 4), row(8, 1, 1, 1), row(9, 1, 0, 30), row(-1, 1, 0, 1)],
        schema_overrides={"csig_variant": pl.UInt8, "csig_t": pl.UInt8, "csig_s": pl.UInt32},
    )  # fmt: skip
    found = in_force(rows, Versions.of([OLD, NEW]))
    assert found.select("csig_low", "csig_high").rows() == [
        (50.0, 90.0), (10.0, 30.0), (30.0, None), (15.0, 17.0), (19.0, 22.0),
        (1e9, 2e9),  # the version tells nothing of that type
        (1e9, 2e9),  # nor of a bucket beyond its table
        (1e9, 2e9),  # no version is in force
    ]  # fmt: skip
    assert found.drop("csig_low", "csig_high").equals(rows.drop("csig_low", "csig_high"))
    assert found.schema == rows.schema
    assert in_force(rows, Versions()) is rows
    plain = rows.drop("csig_variant")
    assert in_force(plain, Versions.of(OLD)) is plain


def test_a_worker_reads_by_version_and_by_one_that_it_takes_later() -> None:
    rows, known = played("csig_compact")
    signals = (CsigSignal("abw", buckets=tuple(float(s) for s in range(33))),
               *Csig().signals[1:])  # fmt: skip
    first = replace(known, csig=Csig(signals=signals))
    double = CsigSignal("abw", buckets=tuple(2.0 * s for s in range(33)))
    middle = int(rows["time_ns"][rows.height // 2])
    second = replace(
        known, version="b", valid_from_ns=middle, csig=Csig(signals=(double, *signals[1:]))
    )
    worker = Worker(PipelineSettings(interval_ms=1.0), first, ("fabric",))
    worker.rescaled = True
    worker.renew(Versions.of([first, second]))
    made = [worker.advance(rows), worker.finish()]
    seen = pl.concat(out.tables["observations"] for out in made if "observations" in out.tables)
    abw = seen.filter(pl.col("csig_t") == 0)
    for part, width in ((pl.col("time_ns") < middle, 1.0), (pl.col("time_ns") >= middle, 2.0)):
        here = abw.filter(part)
        assert here.height
        assert here["csig_low"].to_list() == [s * width for s in here["csig_s"]]


def test_settings_of_the_collector_hold_over_the_file() -> None:
    known = Versions.of([OLD, NEW])
    assert follows(CollectorSettings(**NEW.collector_settings()), known)
    assert not follows(CollectorSettings(csig_buckets={0: (0.0, 1.0)}), known)
    assert follows(CollectorSettings(), Versions())
    assert CollectorSettings.model_fields.keys() >= CSIG_VALUES


@pytest.mark.parametrize("own", [False, True])
def test_a_pipeline_behind_a_bus_reads_by_the_file(own: bool) -> None:
    settings = load({"collector": {"csig_quanta": {0: 5.0}}} if own else {})
    assert worker_of(settings, None, {}).rescaled is not own
