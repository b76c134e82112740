"""Rows of messages without one of their columns are refused, or judged: they end no worker."""

from dataclasses import replace

import polars as pl
import pytest

from collector import SCHEMA, Batch, CollectorSettings, Decoder, UnreadableError, together
from collector.kafka_message import headers, octets_of, read
from collector.loss import losses_of
from pipeline import COMPANIONS, PipelineSettings, Worker
from replay import frames_of, points, scenario, simulate, topology

MS = 1_000_000
TOLD = CollectorSettings(int_dscp=23)
ROWS = 300
SETTINGS = PipelineSettings(interval_ms=(0.5, 1.0), companions=tuple(COMPANIONS))


def sent(rows: pl.DataFrame) -> Batch:
    """What a worker reads of a message with these rows."""
    batch = Batch(rows, "fabric", 0, 0, 1 << 40)
    value = octets_of(rows)
    return read(value, headers(batch, value))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("telemetry", "of"),
    [("int", ("int_", "h0_", "tcp_int")), ("csig_expanded", ""), ("aecn", "aecn_")],
)
def test_a_column_that_is_left_out_is_refused_or_counts_as_null(
    telemetry: str, of: str | tuple[str, ...]
) -> None:
    world = scenario.alone(telemetry, duration_ns=2 * MS)
    frames = frames_of(simulate(world, TOLD), TOLD)
    rows = Decoder(TOLD).decode(frames, points(world), "fabric").head(ROWS)
    assert sent(rows).frame.equals(rows)
    refused: set[str] = set()
    names = [name for name in rows.columns if name.startswith(of)]
    for name in names:
        try:
            left = sent(rows.drop(name)).frame
        except UnreadableError as error:
            refused.add(name if name in str(error) else f"not {name}")
            continue
        worker = Worker(SETTINGS, topology(world))
        worker.advance(left)
        worker.finish()
    assert len(names) > 1
    assert refused <= {*names}
    if telemetry == "csig_expanded":
        assert {"point", "direction", "protocol", "sport", "dst_lo"} <= refused
        assert refused.isdisjoint({"csig_high", "csig_lm", "ip_id", "tcp_flags"})


def test_what_no_row_tells_of_a_tag_is_null_and_what_every_tag_has_is_asked_for() -> None:
    rows = pl.DataFrame({"csig_echo_t": [2], "csig_echo_low": [1.0]})
    whole = together(rows)
    assert {f"csig_echo_{name}" for name in ("variant", "s", "lm", "high")} < {*whole.columns}
    assert whole["csig_echo_high"].dtype == SCHEMA["csig_echo_high"]
    assert "csig_t" not in whole.columns
    world = scenario.alone("csig_expanded", duration_ns=MS)
    frames = frames_of(simulate(world, TOLD), TOLD)
    tagged = Decoder(TOLD).decode(frames, points(world), "fabric")
    with pytest.raises(UnreadableError, match=r"csig_s is not told of every row"):
        sent(tagged.drop("csig_s"))


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, "[[1]]x", "[[1, 99999999999999999999]]", '[["a", 1]]', "[[1, 2, 3, 4, 5]]"],
)
def test_losses_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"loss|Extra data"):
        losses_of(text)
    batch = replace(Batch(pl.DataFrame(schema=SCHEMA), "fabric", 0, 0, 0), ended=True)
    value = octets_of(batch.frame)
    given = [(name, told) for name, told in headers(batch, value) if name != "losses"]
    with pytest.raises(UnreadableError):
        read(value, [*given, ("losses", text.encode())])
