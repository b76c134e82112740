"""Listed hops: what the ranked candidates of a verdict claim, each a forecast of its own.

A hop is listed that any signal of the interval points at. Its forecast is the probability that the
headline gives it: 0 where the headline has left it out.
"""

import json
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import polars as pl

STATED = 0.99
"""Probability that a set of candidates claims: so many of the likeliest that they come to it."""
HEADLINES = ("headline", "int", "csig", "aecn", "ecn")
"""Signals of candidates, the one that speaks for the headline first."""
LISTED = {"listed": pl.Int64, "listed_right": pl.Float64, "listed_error": pl.Float64}
"""Columns of `forecasts`."""


def spoken(candidates: str | None) -> tuple[list[Any], list[Any]]:
    """All candidates, and those of the signal that speaks for the headline, the likeliest first."""
    told = json.loads(candidates or "[]")
    signal = next((kind for kind in HEADLINES if any(one["signal"] == kind for one in told)), "")
    ranked = (one for one in told if one["signal"] == signal)
    return told, sorted(ranked, key=lambda one: -one["probability"])


def place(one: Mapping[str, object]) -> str:
    """Name of a candidate's hop."""
    return f"{one['device']} {one['interface']}"


def claimed(candidates: str | None) -> list[str]:
    """Hops of the set that claims `STATED`: of the first kind of signal that has any."""
    _, ranked = spoken(candidates)
    before = [0.0, *accumulate(one["probability"] for one in ranked)]
    return [place(one) for one, sum_ in zip(ranked, before, strict=False) if sum_ < STATED]


def forecasts(candidates: str | None, right: Mapping[str, float]) -> tuple[int, float, float]:
    """How many hops are listed, how many of them are right, and their summed squared errors.

    `right` says of hops in which share of cases they are the bottleneck; others never are.
    """
    told, ranked = spoken(candidates)
    chance = {place(one): 0.0 for one in told if one["device"] is not None}
    chance |= {hop: one["probability"] for one in ranked for hop in (place(one),) if hop in chance}
    shares = [(right.get(hop, 0.0), said) for hop, said in chance.items()]
    error = sum(share * (1 - said) ** 2 + (1 - share) * said**2 for share, said in shares)
    return len(shares), sum(share for share, _ in shares), error
