"""sFlow: each sample is a row, and lengths that contradict each other end by name."""

import struct

import polars as pl
import pytest
from compare import differences
from octets import ethernet, frames_of, ipv4, tcp, udp

from collector import CollectorSettings, Decoder, Scalar, complete
from collector.status import CODE
from collector.walk import Walk

FRAME = ethernet(ipv4(tcp(payload=b"data")))


def words(*numbers: int) -> bytes:
    """Numbers of 32 bits."""
    return struct.pack(f">{len(numbers)}I", *numbers)


def flow(frame: bytes, rate: int, sent: int = 0) -> bytes:
    """A flow sample with the first octets of one frame of so many, which are these and four."""
    body = words(1, sent or len(frame) + 4, 4, len(frame)) + frame + bytes(-len(frame) % 4)
    sample = words(7, 3, rate, 9000, 1, 5, 6, 1) + words(1, len(body)) + body
    return words(1, len(sample)) + sample


def datagram(*samples: bytes) -> bytes:
    """A frame with a datagram of agent 10.9.8.7."""
    head = words(5, 1) + bytes([10, 9, 8, 7]) + words(0, 33, 1000, len(samples))
    return ethernet(ipv4(udp(head + b"".join(samples), 6343), 17, source=99))


def test_every_sample_is_a_row_and_counters_are_none() -> None:
    decoder = Decoder(CollectorSettings())
    counters = words(2, 12) + words(7, 3, 0)
    frames = frames_of([datagram(flow(FRAME, 1024), counters, flow(FRAME, 2048))])
    rows = decoder.decode(frames, ["tap"], "test").to_dicts()
    assert decoder.accounting.reasons == {}
    told = [(row["sampling_rate"], row["mirror_agent_lo"], row["seq"]) for row in rows]
    told = [each for each in told if each[0] is not None]
    assert told == [(1024, 0xFFFF_0A09_0807, 1000), (2048, 0xFFFF_0A09_0807, 1000)]


def test_a_row_is_as_long_as_its_sampled_frame_was() -> None:
    samples = [flow(FRAME, 1024, sent) for sent in (1518, 90, 9018)]
    plain = ethernet(ipv4(tcp(payload=b"plain")))
    frames = frames_of([plain, datagram(*samples), datagram(flow(FRAME, 1024)), plain])
    decoder = Decoder(CollectorSettings())
    rows = decoder.decode(frames, ["tap"], "test")
    own = len(plain)
    assert rows["length"].to_list() == [own, 1518, 90, 9018, len(FRAME) + 4, own]
    assert rows["frame"].to_list() == [1, 2, 2, 2, 3, 4]
    assert (decoder.accounting.decoded, decoder.accounting.reasons) == (4, {})
    readings = Scalar(CollectorSettings()).read(datagram(*samples))
    assert [each.row()["mirror_length"] for each in readings] == [1518, 90, 9018]


REPORT = bytes.fromhex("20c000050000000a040f0000") + ipv4(tcp(payload=b"data")) + b"\0" * 16
OTHER_AGENT = words(5, 1) + bytes([10, 6, 6, 6]) + words(0, 33, 1000, 1) + flow(FRAME, 5)
ENVELOPES = {
    "a report": ipv4(udp(REPORT, 32766), 17),
    "another agent's datagram": ipv4(udp(OTHER_AGENT, 6343), 17),
    "a mirrored frame": ipv4(b"\0\0\x88\xbe" + FRAME, 47),
}


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_what_one_sample_carries_says_nothing_of_the_next(envelope: str) -> None:
    odd = flow(ethernet(ENVELOPES[envelope]), 1024)
    frame = datagram(flow(FRAME, 1), odd, flow(FRAME, 2), odd, flow(FRAME, 3))
    rows = Decoder(CollectorSettings()).decode(frames_of([frame]), ["tap"], "test")
    readings = [reading.row() for reading in Scalar(CollectorSettings()).read(frame)]
    assert len(readings) == rows.height
    for row, reading in zip(complete(rows).to_dicts(), readings, strict=True):
        told = {name: reading.get(name) for name in ("mirror_agent_lo", "report_node", "seq")}
        assert told == {name: row[name] for name in told}
    plain = complete(rows).filter(pl.col("sampling_rate") < 4).to_dicts()
    assert [row["sampling_rate"] for row in plain] == [1, 2, 3]
    assert {row["mirror_agent_lo"] for row in plain} == {0xFFFF_0A09_0807}
    assert {row["report_node"] for row in plain} == {None}


TWO_REPORTS = bytes.fromhex("20c000050000000a") + 2 * (
    bytes.fromhex("040b0000") + ipv4(tcp(payload=b"data"))
)


def ends(frame: bytes) -> tuple[dict[str, int], list[int]]:
    """Reasons by which a frame ended, and those of its rows, as both readers have them."""
    decoder, settings = Decoder(CollectorSettings()), CollectorSettings()
    rows = decoder.decode(frames_of([frame]), ["tap"], "test")
    assert differences(Walk(settings), Scalar(settings), frames_of([frame])) == []
    return decoder.accounting.reasons, rows["status"].to_list()


def test_reports_inside_a_sample_that_are_not_read_are_counted() -> None:
    """One report may take all the octets: only its length tells it from two."""
    two = flow(ethernet(ipv4(udp(TWO_REPORTS, 32766), 17)), 7)
    one = flow(ethernet(ipv4(udp(TWO_REPORTS.replace(b"\x04\x0b", b"\x04\x17", 1), 32766), 17)), 7)
    many = CODE["too_many_rows"]
    assert ends(datagram(one, one, one)) == ({}, [0, 0, 0])
    assert ends(datagram(one, one, two, one)) == ({"too_many_rows": 1}, [0, 0, many, 0])
    assert ends(datagram(flow(FRAME, 1), two)) == ({"too_many_rows": 1}, [0, many])


@pytest.mark.parametrize(("rows", "counted"), [(256, {}), (257, {"too_many_rows": 1})])
def test_samples_beyond_what_one_frame_can_give_are_counted(
    rows: int, counted: dict[str, int]
) -> None:
    reasons, status = ends(datagram(*[flow(FRAME, 7)] * rows))
    assert (reasons, len(status)) == (counted, 256)
    assert status == [0] * 255 + [CODE["too_many_rows"] if counted else 0]


def reasons(*samples: bytes, captured: int | None = None) -> dict[str, int]:
    """How a frame with these samples ends, when so many of its octets were captured."""
    decoder = Decoder(CollectorSettings())
    frames = frames_of([datagram(*samples)])
    if captured is not None:
        frames.captured[:] = captured
    decoder.decode(frames, ["tap"], "test")
    return dict(decoder.accounting.reasons)


EXPANDED = words(3, 60, 7, 0, 3, 2048, 9000, 1, 0, 77, 0, 6, 1)
MALFORMED = {
    "a flow sample shorter than its fields": words(1, 31) + bytes(100),
    "a flow sample of no octets": words(1, 8) + bytes(100),
    "an expanded sample shorter than its fields": words(3, 43) + bytes(100),
    "a sample longer than any datagram": words(1, 0x10000) + bytes(100),
    "counters longer than any datagram": words(2, 0x10000) + bytes(100),
    "a flow sample whose fields the datagram cuts": flow(FRAME, 1024)[:39],
    "a flow sample cut behind its type": words(1),
    "an expanded sample whose fields the datagram cuts": EXPANDED[:51],
    "counters cut behind their type": words(2),
    "a sample cut inside its type": bytes(3),
    "a record cut inside its type by its sample": words(1, 35, 7, 3, 1, 2, 3, 5, 6, 1) + bytes(3),
    "a record cut by its sample": words(1, 36, 7, 3, 1, 2, 3, 5, 6, 1) + words(1) + bytes(40),
    "a raw header cut by its sample": words(1, 52, 7, 3, 1, 2, 3, 5, 6, 1)
    + words(1, 80, 1, 90, 4) + bytes(90),
    "a raw header shorter than its fields": words(1, 60, 7, 3, 1, 2, 3, 5, 6, 1)
    + words(1, 15, 1, 90, 4, 4) + bytes(90),
    "a raw header longer than any datagram": words(1, 60, 7, 3, 1, 2, 3, 5, 6, 1)
    + words(1, 16, 1, 90, 4, 0x10000) + bytes(90),
    "another record cut by its sample": words(1, 36, 7, 3, 1, 2, 3, 5, 6, 1) + words(9),
    "another record longer than any datagram": words(1, 48, 7, 3, 1, 2, 3, 5, 6, 2)
    + words(9, 0x10000) + bytes(90),
}  # fmt: skip


@pytest.mark.parametrize("what", MALFORMED)
def test_lengths_of_a_sample_that_contradict_each_other_end_by_name(what: str) -> None:
    assert reasons(MALFORMED[what]) == {"sflow_bad_length": 1}


@pytest.mark.parametrize("fields", [words(5, 3), words(5, 0xFFFF_FFFF)])
def test_an_agent_of_an_unknown_kind_ends_by_name(fields: bytes) -> None:
    decoder = Decoder(CollectorSettings())
    frame = ethernet(ipv4(udp(fields + bytes(40), 6343), 17))
    decoder.decode(frames_of([frame]), ["tap"], "test")
    assert decoder.accounting.reasons == {"sflow_bad_length": 1}


@pytest.mark.parametrize(
    "head", [words(5, 1), words(5, 2) + bytes(14), words(5, 1, 9) + bytes(14), words(5, 0, 1)]
)
def test_a_datagram_too_short_for_its_head_ends_by_name(head: bytes) -> None:
    decoder = Decoder(CollectorSettings())
    frame = ethernet(ipv4(udp(head + bytes(1), 6343), 17))
    decoder.decode(frames_of([frame]), ["tap"], "test")
    assert decoder.accounting.reasons == {"sflow_bad_length": 1}


def test_what_the_capture_cut_is_truncated_wherever_it_is_cut() -> None:
    whole = flow(FRAME, 1024)
    first = len(datagram())
    last = len(datagram(whole)) - len(b"data") - 2
    for captured in range(first - 27, last):
        assert reasons(whole, captured=captured) == {"truncated": 1}, captured
    assert reasons(whole, captured=last) == {}
