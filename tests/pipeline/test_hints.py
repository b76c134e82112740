"""What settings say of senders by their addresses, and what the loop makes of it."""

import polars as pl
import pytest
from pydantic import ValidationError

from pipeline import PipelineSettings, Tracker, Worker
from pipeline.hints import Hints
from tests.pipeline.test_track import DATA, SHARED, needs_shared
from tests.pipeline.test_track import observations as captured


def dialects(rows: pl.DataFrame) -> set[tuple[str, str]]:
    made = Tracker().advance(rows).decisions.filter(pl.col("dialect").is_not_null())
    return set(made.select(pl.col("dialect", "basis").cast(pl.String)).unique().rows())


def test_the_longest_prefix_tells_the_dialect() -> None:
    rows = captured(DATA / "dctcp_a1.pcap.zst")
    assert dialects(rows) == {("ns3", "handshake")}
    told = {"10.0.0.0/8": "rfc8257", "10.1.1.0/24": "linux"}
    hinted = Hints(PipelineSettings(dctcp_dialects=told)).told(rows)
    assert dialects(hinted) == {("linux", "set")}
    other = Hints(PipelineSettings(dctcp_dialects={"10.9.0.0/16": "linux"})).told(rows)
    assert dialects(other) == {("ns3", "handshake")}


def test_a_prefix_can_be_said_to_run_no_dctcp() -> None:
    hints = Hints(PipelineSettings(dctcp_dialects={"10.0.0.0/8": "classic"}))
    made = Tracker().advance(hints.told(captured(DATA / "dctcp_a1.pcap.zst"))).decisions
    told = made.filter(pl.col("algorithm") == "dctcp")
    assert told.select("dialect", "basis", "why").unique().rows() == [
        ("classic", "set", "classic_ecn")
    ]
    assert told["alpha"].null_count() == told.height


def test_without_settings_rows_are_as_they_are() -> None:
    rows = captured(DATA / "dctcp_a1.pcap.zst")
    assert Hints(PipelineSettings()).told(rows) is rows


def test_addresses_of_both_families_have_their_bits() -> None:
    hints = Hints(
        PipelineSettings(near=("10.1.0.0/16", "fd00::/8"), dctcp_dialects={"::/0": "ns3"})
    )
    mapped = 0xFFFF_0A01_0002
    assert hints.of(0, mapped) == 8
    assert hints.of(0xFD00 << 48, 1) == 8 | 3
    assert hints.of(0x2001 << 48, 1) == 3


def test_the_worker_reads_them() -> None:
    rows = captured(DATA / "dctcp_a1.pcap.zst")
    worker = Worker(PipelineSettings(dctcp_dialects={"0.0.0.0/0": "linux_before"}))
    tracked = [worker.advance(rows).tracked, worker.finish().tracked]
    made = pl.concat([each.decisions for each in tracked if each is not None])
    assert made["dialect"].drop_nulls().unique().to_list() == ["linux_before"]


@needs_shared
def test_a_sender_that_is_said_to_be_near_hears_its_acks_at_once() -> None:
    rows = captured(SHARED / "dctcp" / "a1_swin.pcap.zst")
    far = Tracker().advance(rows).decisions
    near = Tracker().advance(Hints(PipelineSettings(near=("0.0.0.0/0",))).told(rows)).decisions
    assert "far_from_sender" in far["why"].unique().to_list()
    assert "far_from_sender" not in near["why"].unique().to_list()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"near": ["10.0.0.1/8"]}, "no address prefix: 10.0.0.1/8 has host bits set"),
        ({"dctcp_dialects": {"nowhere": "linux"}}, "no address prefix"),
        ({"dctcp_dialects": {"10.0.0.0/8": "cubic"}}, "'rfc8257', 'linux'"),
    ],
)
def test_what_is_no_prefix_or_dialect_is_refused(
    settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValidationError, match=sentence):
        PipelineSettings.model_validate(settings)
