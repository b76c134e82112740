"""A second reader, by hand, agrees on PSP and on the trailers of taps, malformed ones too."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import encrypted_by_hand as psp
import timestamp_by_hand as trailer
from octets import frames_of

from collector import CollectorSettings, Decoder

FRAMES = 4000


def observed(
    packets: list[bytes], captured: Sequence[int], **settings: object
) -> tuple[dict[int, dict[str, Any]], dict[str, int]]:
    """Rows by the number of their frame, from 0, and how frames ended."""
    frames = frames_of(packets)
    frames.captured[:] = captured
    decoder = Decoder(CollectorSettings.model_validate(settings))
    rows = decoder.decode(frames, ["tap"], "test").to_dicts()
    assert decoder.accounting.seen == len(packets)
    return {row["frame"] - 1: row for row in rows}, dict(decoder.accounting.reasons)


def test_a_second_reader_of_psp_agrees() -> None:
    draw = random.Random("psp")
    sent = [psp.make(draw) for _ in range(FRAMES)]
    told = [psp.read(each) for each in sent]
    rows, reasons = observed(
        [each.octets for each in sent], [each.captured for each in sent], psp_udp_ports=psp.PORTS
    )
    assert reasons == dict(Counter(each.reason for each in told if each.reason))
    assert set(reasons) == {"truncated", "bad_length"}
    for number, each in enumerate(told):
        if each.reason:
            assert rows.get(number, {}).get("spi") is None
        else:
            row = rows[number]
            assert {name: row.get(name) for name in each.columns} == each.columns, number
    assert sum(each.columns.get("spi") is not None for each in told) > FRAMES / 3


def test_a_second_reader_of_trailers_agrees() -> None:
    draw = random.Random("trailer")
    packets = [trailer.make(draw) for _ in range(FRAMES)]
    told = [trailer.read(each) for each in packets]
    rows, reasons = observed(packets, [len(each) for each in packets], timestamp_trailer="metamako")
    assert reasons == dict(Counter(reason for reason, _ in told if reason))
    assert set(reasons) == {"bad_length", "unknown_ethertype"}
    for number, (reason, columns) in enumerate(told):
        if not reason:
            assert {name: rows[number].get(name) for name in columns} == columns, number
    assert sum(not reason for reason, _ in told) > FRAMES / 2
