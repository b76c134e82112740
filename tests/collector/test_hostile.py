"""Damaged frames of every kind: each is counted once, and only its own octets are read."""

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from octets import frames_of
from test_envelopes import CARRIERS
from test_oracle import make

from collector import STATUS, CollectorSettings, Decoder, Frames, kernel

HERE = Path(__file__).resolve().parent
PATIENCE_S = 300


def damaged(draw: random.Random, count: int) -> list[bytes]:
    """Frames of every kind with flipped bits, other octets, cuts and repetitions."""
    carriers = [frame for frame, _, _ in CARRIERS.values()]
    packets = []
    for number in range(count):
        packet = bytearray(draw.choice(carriers) if number % 2 else make(draw))
        for _ in range(draw.randrange(4)):
            packet[draw.randrange(len(packet))] ^= 1 << draw.randrange(8)
        if draw.random() < 0.3:
            packet[draw.randrange(12, len(packet))] = draw.choice((0, 1, 0x7F, 0x80, 0xFF))
        if draw.random() < 0.2:
            at = draw.randrange(12, len(packet))
            packet[at:at] = packet[12:at]
        packets.append(bytes(packet[: draw.randrange(len(packet) + 1) or None]))
    return packets


def surrounded(packets: list[bytes], filler: int) -> Frames:
    """The same frames with octets of `filler` between them."""
    frames = frames_of(packets)
    gap = 64
    offset = frames.offset + gap * np.arange(len(packets))
    data = np.full(len(frames.data) + gap * len(packets), filler, np.uint8)
    for packet, at in zip(packets, offset, strict=True):
        data[at : at + len(packet)] = np.frombuffer(packet, np.uint8)
    return replace(frames, data=data, offset=offset)


def decode(frames: Frames) -> tuple[pl.DataFrame, Decoder]:
    """Observations and accounting."""
    decoder = Decoder(CollectorSettings(int_dscp=23))
    return decoder.decode(frames, ["tap"], "test"), decoder


def test_each_damaged_frame_is_counted_once() -> None:
    packets = damaged(random.Random(1), 20_000)
    rows, decoder = decode(frames_of(packets))
    accounting = decoder.accounting
    assert accounting.seen == len(packets)
    assert accounting.decoded + sum(accounting.reasons.values()) == len(packets)
    assert set(accounting.reasons) >= {
        "truncated", "unknown_ethertype", "bad_version", "bad_length", "fragment", "bad_option",
        "int_unsupported_type", "int_unknown_version", "int_bad_length", "aecn_bad_length",
    }  # fmt: skip
    kept = rows.group_by("status").len().rows()
    for status, count in kept:
        assert count <= accounting.by_status[STATUS[status][0]]
    assert rows["frame"].is_unique().all()


def test_damage_to_one_frame_does_not_reach_another() -> None:
    draw = random.Random(2)
    whole = [make(draw) for _ in range(500)]
    expected, _ = decode(frames_of(whole))
    mixed = [packet for pair in zip(whole, damaged(draw, 500), strict=True) for packet in pair]
    rows, _ = decode(frames_of(mixed))
    rows = rows.filter(pl.col("frame") % 2 == 1)
    same = [name for name in expected.columns if name not in {"time_ns", "frame"}]
    assert rows.select(same).equals(expected.select(same))


def test_only_a_frame_s_own_octets_are_read() -> None:
    packets = damaged(random.Random(3), 10_000)
    zeros, first = decode(surrounded(packets, 0))
    ones, second = decode(surrounded(packets, 0xFF))
    assert first.accounting.by_status == second.accounting.by_status
    assert zeros.equals(ones)


def test_a_number_beyond_the_snap_length_is_truncated_not_guessed() -> None:
    frame, _, _ = CARRIERS["vxlan"]
    lengths = range(1, len(frame) + 1)
    frames = frames_of([frame[:length] for length in lengths])
    frames.length[:] = len(frame)
    rows, decoder = decode(frames)
    assert decoder.accounting.seen == len(frame)
    assert set(decoder.accounting.reasons) == {"truncated"}
    whole = rows.filter(status=0)
    assert whole.height == 5
    assert whole["payload_bytes"].to_list() == [4] * whole.height


@kernel
def beyond(values: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> int:
    """Read past the end: what bounds checks must notice."""
    return int(values[values.size])


def test_the_same_under_bounds_checks(tmp_path: Path) -> None:
    """In a process of its own with a cache of its own: compiled code keeps its checks or not.

    At its end the frames' last octets are taken away behind the walk's back, which must be noticed.
    """
    program = """
import random
from dataclasses import replace
import numpy as np
import pytest
import test_hostile as hostile
from generate import PROFILES, grown
from mutate import corpus, mutated
from collector import CollectorSettings, Decoder, walk
with pytest.raises(IndexError):
    hostile.beyond(np.zeros(1, np.uint8))
packets = hostile.damaged(random.Random(4), 3000)
rows, decoder = hostile.decode(hostile.frames_of(packets))
assert decoder.accounting.seen == len(packets) and rows.height
for number, profile in enumerate(PROFILES):
    decoder = Decoder(CollectorSettings.model_validate(profile))
    decoder.decode(mutated(corpus(grown(number, 500, 1)), 3000, 2), ["tap"], "test")
    assert decoder.accounting.seen == 3000
frames = hostile.frames_of(packets)
walk.padded = lambda frames, _: frames
with pytest.raises(IndexError):
    hostile.decode(replace(frames, data=frames.data[:-20]))
"""
    checked = {"NUMBA_BOUNDSCHECK": "1", "HOPSIGHT_CACHE_DIR": str(tmp_path)}
    places = {"PYTHONPATH": os.pathsep.join((str(HERE), str(HERE.parent.parent)))}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | checked | places,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert ran.returncode == 0, ran.stderr
