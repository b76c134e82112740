"""Feedback that was seen before, and feedback that cannot be told from a duplicate ACK."""

import polars as pl
import pytest

from pipeline.settings import PipelineSettings
from pipeline.worker import Worker
from tests.pipeline.conftest import Rows, observations

T0, MS = 1_760_000_000_000_000_000, 1_000_000


def reflections(**more: object) -> Rows:
    """ACKs 1 ms apart that reflect CSIG tags, each its own packet."""
    return [
        {
            "time_ns": T0 + at * MS, "src": "10.2.0.1", "dst": "10.1.0.1", "sport": 2000,
            "dport": 1000, "payload_bytes": 0, "ack": 1000 * at, "ip_id": 100 + at,
            "csig_echo_variant": 2, "csig_echo_t": 1, "csig_echo_s": 7, "csig_echo_lm": 3,
            "csig_echo_low": 0.5, "csig_echo_high": 0.6, **more,
        }
        for at in range(20)
    ]  # fmt: skip


def counted(rows: Rows, cuts: int = 1) -> dict[str, int]:
    """The flow's feedback by a worker."""
    worker = Worker(PipelineSettings(), None, ("a",))
    told = observations(rows)
    size = -(-told.height // cuts)
    made = [worker.advance(told[at : at + size]) for at in range(0, told.height, size)]
    made.append(worker.finish())
    flows = pl.concat(m.tables["flow_intervals"] for m in made if "flow_intervals" in m.tables)
    names = [name for name in flows.columns if name.startswith("feedback")]
    return {name: int(flows[name].sum()) for name in names}


def replayed(rows: Rows, after_ns: int) -> Rows:
    """The same rows once more, later."""
    return [*rows, *({**row, "time_ns": int(str(row["time_ns"])) + after_ns} for row in rows)]


def test_new_feedback_is_none_that_was_seen_before() -> None:
    told = counted(reflections())
    assert (told["feedback"], told["feedback_told_apart"], told["feedback_replayed"]) == (20, 20, 0)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("cuts", [1, 3, 40])
def test_what_comes_again_later_than_a_copy_is_replayed(cuts: int) -> None:
    told = counted(replayed(reflections(), 500 * MS), cuts)
    assert (told["feedback"], told["feedback_replayed"]) == (40, 20)


def test_a_mirrors_copy_is_no_replay() -> None:
    rows = sorted(replayed(reflections(), 1000), key=lambda row: int(str(row["time_ns"])))
    assert counted(rows)["feedback_replayed"] == 0


def test_duplicate_acks_that_nothing_tells_apart_are_accused_of_nothing() -> None:
    told = counted(replayed(reflections(ip_id=0), 500 * MS))
    assert (told["feedback"], told["feedback_told_apart"], told["feedback_replayed"]) == (40, 0, 0)


def test_feedback_belongs_to_the_flow_whose_data_it_tells_of() -> None:
    worker = Worker(PipelineSettings(), None, ("a",))
    worker.advance(observations(reflections()))
    made = worker.finish().tables
    ends = made["flows"].select("flow", "sport", "dport")
    rows = made["flow_intervals"].filter(pl.col("feedback") > 0).join(ends, on="flow")
    assert rows.select("sport", "dport").unique().rows() == [(1000, 2000)]


def test_checksums_of_feedback_are_counted_by_what_they_say() -> None:
    checked = zip(reflections(), [1, 2, None] * 7, strict=False)
    rows = [{**row, "integrity": said} for row, said in checked]
    told = counted(rows)
    assert (told["feedback_valid"], told["feedback_invalid"]) == (7, 7)
