"""Who takes state over with other settings than it was made with is obeyed, or told so."""

import asyncio
import re
import threading
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from empty_store import empty_store

from collector import BusSettings, Repeats
from pipeline import Meeting, PipelineSettings, SnapshotError, Worker
from pipeline.group import Group
from pipeline.group_part import Part
from pipeline.group_state import SKIPPED, Kept, octets_of
from pipeline.handed_message import Pieces
from pipeline.state_codec import StateWriter
from pipeline.takeover import Takeover, taken_over
from pipeline.tuning import REFUSED, SHAPES, TUNED, needed

PLACE = "observations.v1.p2/3"
BEFORE = PipelineSettings()
OTHERS: dict[str, Any] = {
    "interval_ms": (10.0, 50.0), "lateness_ms": 0.0, "disorder_us": 5.0, "idle_ms": 7.0,
    "copies_us": 0.0, "base_rtt_us": 8.0, "nic_gbps": 100.0, "congested_u": 0.5, "sampling": 4.0,
    "standing_queue": 2.0, "standing_bytes": 1000, "dctcp_dialect": "ns3",
    "dctcp_dialects": {"10.0.0.0/8": "ns3"}, "near": ("10.0.0.0/8",), "flows": 1000,
    "parameters": {"hpcc": {"N": 4}}, "companions": ("swift",), "probe_dscp": 5,
    "health_ms": 0.0, "csig_hosts": ("10.0.0.0/8",), "topology": "fabric.yaml",
}  # fmt: skip
"""Another value of each setting."""
ELSEWHERE = frozenset({"congested_u", "topology"})
"""Settings that no part of a worker keeps: they are asked for where they are needed, or read."""
KEPT_BY = {
    "lateness_ms": ("ladder.lateness_ns", "ladder.rungs.lateness_ns", "ladder.revisions.keeping"),
    "disorder_us": ("order.disorder_ns",),
    "idle_ms": ("order.idle_ns",),
    "copies_us": ("copies.within_ns", "first_sight.within_ns", "health.pairs.within_ns"),
    "base_rtt_us": ("paths.told_rtt_ns",),
    "nic_gbps": ("paths.nic_bps",),
    "sampling": ("intervals.sampling",),
    "standing_queue": ("intervals.standing_queue",),
    "standing_bytes": ("intervals.standing_bytes",),
    "dctcp_dialects": ("hints.dialects",),
    "near": ("hints.near",),
    "csig_hosts": ("health.may_tag",),
}
"""Where a worker keeps each setting that is taken."""

HINTS = ("near", "dctcp_dialects")
"""With these an older version could not keep its state."""
AGES = ("of this version", "of an older one")
OLDER = frozenset({".worker.tracker", ".worker.ladder.told_ns"})
"""What an older version did not keep here; what settings give it did."""


def kept(settings: PipelineSettings) -> Kept:
    return Kept(Worker(settings), Repeats())


def state(settings: PipelineSettings, skipped: frozenset[str] = SKIPPED) -> bytes:
    return octets_of(kept(settings), StateWriter(skipped), full=True)


def resumed(settings: PipelineSettings, octets: bytes) -> tuple[Any, Takeover]:
    """A worker that has taken state over, and what is known of that."""
    made = kept(settings)
    return made.worker, taken_over(made, PLACE, [octets])


def at(worker: Any, path: str) -> Any:
    """What stands at a path, in the first of several."""
    return reduce(
        lambda held, name: getattr(held[0] if isinstance(held, list) else held, name),
        path.split("."), worker,
    )  # fmt: skip


def test_each_setting_is_taken_told_or_refused() -> None:
    assert OTHERS.keys() == PipelineSettings.model_fields.keys()
    assert OTHERS.keys() == {*KEPT_BY, *SHAPES, *REFUSED, *ELSEWHERE}


def test_the_page_of_settings_says_of_each_when_it_is_taken() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "settings.md"
    _, *rows = re.findall(r"^\| (`\w.*?) \|", page.read_text(), re.MULTILINE)
    tuned, started, shapes, refused = (tuple(re.findall(r"`(\w+)`", row)) for row in rows)
    assert (tuned, shapes, refused) == (TUNED, SHAPES, REFUSED)
    assert {*tuned, *started, *shapes, *refused} == OTHERS.keys()


@pytest.mark.parametrize(
    ("name", "older"),
    [(name, older) for older in (False, True) for name in KEPT_BY if not (older and name in HINTS)],
)
def test_a_worker_with_other_settings_takes_them(name: str, older: bool) -> None:
    """An older version kept in state what settings give; here it is not heeded."""
    other = BEFORE.model_copy(update={name: OTHERS[name]})
    for before, after in ((BEFORE, other), (other, BEFORE)):
        worker, told = resumed(after, state(before, OLDER if older else SKIPPED))
        assert told.left == []
        assert worker.settings == after
        fresh, made = Worker(after), Worker(before)
        for path in KEPT_BY[name]:
            assert at(worker, path) == at(fresh, path) != at(made, path)


@pytest.mark.parametrize("skipped", [SKIPPED, OLDER], ids=AGES)
def test_lengths_of_before_hold_and_are_said(skipped: frozenset[str]) -> None:
    other = BEFORE.model_copy(update={"interval_ms": 1000.0, "health_ms": 0.0})
    worker, told = resumed(other, state(BEFORE, skipped))
    made_with = "with which the state was made, and is not"
    lengths, health = told.left
    assert lengths == (
        f"pipeline.interval_ms stays [100, 1000], {made_with} 1000: begin with another topic for"
        " that"
    )
    assert health.startswith(f"pipeline.health_ms stays 1000, {made_with} 0: ")
    assert worker.settings == BEFORE
    assert worker.tune(other) == {"interval_ms", "health_ms"}
    assert (
        resumed(BEFORE, octets_of(Kept(worker, Repeats()), StateWriter(SKIPPED), full=True))[1].left
        == []
    )


def test_who_names_one_length_less_is_told() -> None:
    """A longer one may be there since a signal is measured over a longer time."""
    assert (
        len(resumed(BEFORE.model_copy(update={"interval_ms": 100.0}), state(BEFORE))[1].left) == 1
    )
    one = PipelineSettings(interval_ms=100.0)
    measured = kept(one)
    measured.worker.ladder.reach(10**9)
    octets = octets_of(measured, StateWriter(SKIPPED), full=True)
    assert resumed(one, octets)[1].left == []
    assert len(resumed(BEFORE, octets)[1].left) == 1


def test_who_judges_for_several_partitions_is_told_the_same() -> None:
    made = Kept(Meeting(BEFORE), Pieces())
    octets = octets_of(made, StateWriter(SKIPPED), full=True)
    other = BEFORE.model_copy(
        update={name: OTHERS[name] for name in ("interval_ms", "lateness_ms")}
    )
    after = Kept(Meeting(other), Pieces())
    [said] = taken_over(after, PLACE, [octets]).left
    assert said.startswith("pipeline.interval_ms stays [100, 1000]")
    assert after.worker.ladder.lateness_ns == 0


@pytest.mark.parametrize("name", REFUSED)
def test_state_that_cannot_be_read_with_a_setting_says_what_to_do(name: str) -> None:
    with pytest.raises(SnapshotError, match="or begin with another topic") as refused:
        resumed(BEFORE.model_copy(update={name: OTHERS[name]}), state(BEFORE))
    assert str(refused.value).startswith(f"{PLACE}: the snapshot was taken with")


def test_what_is_not_taken_while_it_runs_says_what_it_needs() -> None:
    assert [*needed(frozenset({"near", "flows", "interval_ms"}))] == [
        "pipeline.near: needs a restart",
        "pipeline.flows, pipeline.interval_ms: need a restart with another topic",
    ]


def test_a_worker_of_a_group_logs_what_it_does_not_take(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(work: Callable[[], Any]) -> Any:
        return work()

    with empty_store(tmp_path / "store") as store:
        before = Part(store, PLACE, lambda: Worker(BEFORE), at_once)
        before.claim()
        before.cut(0, 9)
        before.work(0, 9, (), snapshot=True)
        before.storing.wait()
        other = PipelineSettings(interval_ms=(10.0, 50.0), copies_us=0.0)
        group = Group("kafka://127.0.0.1:9/x", BusSettings(), store, lambda: Worker(other))
        reader = SimpleNamespace(place=lambda _: PLACE, partitions=1)
        monkeypatch.setattr(group, "reader", reader)
        part = asyncio.run(group._owned(0, threading.Event()))
    assert part.position == 10
    assert at(part.kept.worker, "copies.within_ns") == 0
    [said] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert said.startswith(f"{PLACE}: pipeline.interval_ms stays [100, 1000], with which the state")
