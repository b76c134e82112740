"""Whatever octets frames hold, they are counted and judged: no packet ends a worker."""

from dataclasses import replace

import numpy as np
import pytest

from collector import CollectorSettings, Decoder
from pipeline import COMPANIONS, PipelineSettings, Worker
from replay import frames_of, points, scenario, simulate, topology

MS = 1_000_000
TOLD = CollectorSettings(int_dscp=23)
EXTREMES = np.array([0, 1, 0x7F, 0x80, 0xFE, 0xFF], np.uint8)
ETHERNET, HEADERS = 14, 200
"""Octets of a frame that are left as they are, and those that may be changed."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("telemetry", ["int", "csig_expanded", "aecn"])
def test_frames_with_any_octets_in_their_headers_are_counted_and_judged(
    telemetry: str, seed: int
) -> None:
    world = scenario.alone(telemetry, duration_ns=2 * MS)
    frames, chance = frames_of(simulate(world, TOLD), TOLD), np.random.default_rng(seed)
    data, hurt = frames.data.copy(), np.flatnonzero(chance.random(len(frames)) < 1 / 2)
    room = np.minimum(frames.captured[hurt], HEADERS) - ETHERNET
    places = frames.offset[hurt] + ETHERNET + (chance.random(len(hurt)) * room).astype(np.int64)
    for width in range(4):
        wide = places[chance.random(len(places)) < 1 / (1 + width)] + width
        wide = wide[wide < len(data)]
        data[wide] = chance.choice(EXTREMES, len(wide))
    decoder = Decoder(TOLD)
    rows = decoder.decode(replace(frames, data=data), points(world), "fabric")
    told = decoder.accounting
    assert told.seen == len(frames) == told.decoded + sum(told.reasons.values())
    settings = PipelineSettings(interval_ms=(0.5, 1.0), companions=tuple(COMPANIONS))
    worker = Worker(settings, topology(world))
    made = [*(worker.advance(part) for part in rows.iter_slices(1_000)), worker.finish()]
    assert sum(each.tables.get("verdicts", rows.clear()).height for each in made) > 0
