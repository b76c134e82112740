"""The compiled walk agrees with the scalar reader, whatever stands before or behind a frame."""

from dataclasses import replace

import numpy as np
import pytest
from compare import differences, endings, walked
from generate import PROFILES, Generator, grown
from mutate import Corpus, corpus, mutated, whole
from numpy.typing import NDArray

from collector import STATUS, CollectorSettings, Decoder, Frames, complete
from collector.scalar import Scalar
from collector.walk import Walk

GROWN, MUTATED = 1000, 4000
"""Frames of each profile; the soak takes millions."""
MOST_GROWN = 40_000
EACH = pytest.mark.parametrize("profile", range(len(PROFILES)))


def settings(profile: int) -> CollectorSettings:
    """The settings of a profile."""
    return CollectorSettings.model_validate(PROFILES[profile])


def source(profile: int) -> Corpus:
    """Whole frames to damage."""
    return corpus(grown(profile, GROWN, seed=50 + profile))


def rows(frames: Frames, order: NDArray[np.int64]) -> Frames:
    """Some of the frames, in this order."""
    names = ("offset", "captured", "length", "time_ns", "link", "interface")
    return replace(frames, **{name: getattr(frames, name)[order] for name in names})


@pytest.mark.sampled(2)
@EACH
def test_grown_frames_are_walked_as_they_are_read(profile: int) -> None:
    frames = whole(grown(profile, GROWN, seed=10 + profile))
    assert differences(Walk(settings(profile)), Scalar(settings(profile)), frames) == []


@pytest.mark.sampled(2)
@EACH
def test_damaged_frames_are_walked_as_they_are_read(profile: int) -> None:
    frames = mutated(source(profile), MUTATED, seed=20 + profile)
    assert differences(Walk(settings(profile)), Scalar(settings(profile)), frames) == []


@pytest.mark.sampled(2)
@EACH
def test_every_damaged_frame_is_counted_once(profile: int) -> None:
    frames = mutated(source(profile), MUTATED, seed=30 + profile)
    decoder = Decoder(settings(profile))
    decoder.decode(frames, ["tap"], "test")
    accounting = decoder.accounting
    assert accounting.seen == MUTATED
    assert accounting.decoded + sum(accounting.reasons.values()) == MUTATED
    assert set(accounting.reasons) <= {name for name, _ in STATUS}
    counted = endings(walked(Walk(settings(profile)), frames))
    assert dict(counted) == {name: n for name, n in accounting.by_status.items() if n}


@pytest.mark.sampled(2)
@EACH
def test_a_frame_is_read_alike_in_any_order_and_any_batch(profile: int) -> None:
    draw = np.random.default_rng(profile)
    frames = mutated(source(profile), 2000, seed=40 + profile)
    expected = walked(Walk(settings(profile)), frames)
    order = draw.permutation(len(frames))
    turned = walked(Walk(settings(profile)), rows(frames, order))
    assert [expected[at] for at in order] == turned
    walk = Walk(settings(profile))
    pieces = np.array_split(np.arange(len(frames)), 37)
    split = [found for piece in pieces for found in walked(walk, rows(frames, piece))]
    assert split == expected
    walk = Walk(settings(profile))
    for at in draw.integers(0, len(frames), 50):
        assert walked(walk, rows(frames, np.array([at]))) == [expected[at]]


@pytest.mark.sampled(2)
@EACH
def test_the_plain_walk_of_a_cold_start_observes_the_same(profile: int) -> None:
    frames = mutated(source(profile), 500, seed=70 + profile)
    decoder = Decoder(settings(profile))
    plainly = complete(decoder.decode_plainly(frames, ["tap"], "test"))
    assert plainly.equals(complete(decoder.decode(frames, ["tap"], "test")))


def test_the_generator_meets_every_header() -> None:
    generators = [Generator(settings(profile), seed=profile) for profile in range(len(PROFILES))]
    unmet = {name for generator in generators for name in generator.tables}
    for _ in range(MOST_GROWN):
        unmet.difference_update(*(generator.grow().names for generator in generators))
        if not unmet:
            break
    assert unmet == set()
