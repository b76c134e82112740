"""sFlow: each sample is a row, and lengths that contradict each other end by name."""

import struct

import pytest
from octets import ethernet, frames_of, ipv4, tcp, udp

from collector import CollectorSettings, Decoder

FRAME = ethernet(ipv4(tcp(payload=b"data")))


def words(*numbers: int) -> bytes:
    """Numbers of 32 bits."""
    return struct.pack(f">{len(numbers)}I", *numbers)


def flow(frame: bytes, rate: int) -> bytes:
    """A flow sample with the first octets of one frame."""
    body = words(1, len(frame) + 4, 4, len(frame)) + frame + bytes(-len(frame) % 4)
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


@pytest.mark.parametrize("length", [8, 31])
def test_a_sample_shorter_than_its_fields_ends_by_name(length: int) -> None:
    decoder = Decoder(CollectorSettings())
    sample = words(1, length) + bytes(length) + bytes(64)
    decoder.decode(frames_of([datagram(sample)]), ["tap"], "test")
    assert decoder.accounting.reasons == {"sflow_bad_length": 1}
