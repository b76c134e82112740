"""The campaign: which scenarios are played with which telemetry, seeds and faults of mirrors."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from collector import CollectorSettings
from replay import scenario_clos as clos
from replay import scenario_core as core
from replay import scenario_hosts as hosts
from replay.cast import cast
from replay.taps import ALL, Taps
from replay.trial import Trial, judged
from replay.world import MS, Telemetry, World

KINDS: tuple[Telemetry, ...] = ("int", "csig_expanded", "csig_compact", "aecn", "ecn")
"""Telemetry that is judged."""
SCENARIOS: dict[str, Callable[[Sequence[Telemetry], int], World]] = {
    made.__name__.replace("_", " "): made
    for made in (
        hosts.incast,
        hosts.swift_incast,
        hosts.last_hop_elephant,
        hosts.slow_receiver,
        hosts.application_limited,
        hosts.calm,
        hosts.microbursts,
        core.uplink_hot_spot,
        core.shared_locators,
        core.two_classes,
        core.weighted_classes,
        core.core_hot_spot,
        core.ecmp_imbalance,
        core.elephants_and_mice,
        core.oversubscribed,
        core.two_in_a_row,
        core.path_change,
        core.two_places,
        clos.core_link,
        clos.between_pods,
        clos.failed_link,
        clos.incast_from_afar,
    )
}
FIRST_SCORED = 1000
"""Seeds from here on are kept for scoring; those below are for development."""
DSCP = 23
SETTINGS = CollectorSettings(int_dscp=DSCP)


@dataclass(frozen=True, slots=True)
class Plan:
    """How every scenario of a campaign is played: for how long, in which intervals, how seen."""

    name: str
    duration_ns: int = 8 * MS
    interval_ns: int = MS
    taps: Taps = ALL
    casts: tuple[tuple[Telemetry, ...], ...] = (KINDS, *((kind,) for kind in KINDS))
    """Kinds of telemetry in one fabric: all of them beside each other, then each alone."""


def played(plan: Plan, names: Iterable[str], seeds: Iterable[int]) -> Iterator[pl.DataFrame]:
    """Judged flow-intervals (`trial`) of one world after the other, with `scenario` and `seed`."""
    for name in names:
        for seed in seeds:
            for kinds in plan.casts:
                world = cast(SCENARIOS[name](kinds, plan.duration_ns), seed)
                rows = judged(Trial(world, plan.taps, plan.interval_ns), SETTINGS)
                yield rows.with_columns(
                    pl.lit(name).alias("scenario"),
                    pl.lit(seed).alias("seed"),
                    pl.lit(len(kinds) > 1).alias("mixed"),
                )


def campaign(plan: Plan, names: Iterable[str], seeds: Iterable[int]) -> pl.DataFrame:
    """All rows of a campaign."""
    return pl.concat(played(plan, names, [*seeds]), how="diagonal_relaxed")
