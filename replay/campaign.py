"""The campaign: which scenarios are played with which telemetry, seeds and faults of mirrors."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from collector import CollectorSettings
from replay import scenario_clos as clos
from replay import scenario_core as core
from replay import scenario_ends as ends
from replay import scenario_hosts as hosts
from replay import scenario_loss as loss
from replay import scenario_scored as scored
from replay.cast import cast
from replay.fabric import simulate
from replay.pace import slower
from replay.taps import ALL, Taps
from replay.trial import Trial, judged
from replay.world import MS, Telemetry, World

KINDS: tuple[Telemetry, ...] = ("int", "csig_expanded", "csig_compact", "aecn", "ecn")
"""Telemetry that is judged."""
STACKS: tuple[Telemetry, ...] = ("ifa", "ioam", "int_sink", "int_reports")
"""Telemetry of the INT kind by other carriers, judged apart."""
Scenario = Callable[[Sequence[Telemetry], int], World]


def by_name(*made: Scenario) -> dict[str, Scenario]:
    """Scenarios by the names of their functions."""
    return {each.__name__.replace("_", " "): each for each in made}


SCENARIOS = by_name(
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
    loss.shallow_buffers,
    loss.broken_link,
)
"""Scenarios to develop with; they are scored too, with other seeds."""
SCORED_ONLY = by_name(
    scored.two_ways_up,
    scored.bursts_on_the_way_up,
    scored.late_elephant,
    scored.faster_fabric,
    scored.inside_a_rack,
    scored.up_in_a_pod,
    scored.there_and_back,
    scored.many_on_one_way,
    scored.incast_and_core,
)
"""Scenarios that are only scored: nobody develops with them."""
AT_ENDS = by_name(ends.slow_application, ends.busy_sender, ends.leaf_to_leaf)
"""Scenarios that are only played by name: their limit is at a host, or on a link between equals."""
FIRST_SCORED = 2000
"""Seeds from here on are kept for scoring; those below are for development."""
DSCP = 23
SETTINGS = CollectorSettings(
    int_dscp=DSCP, report_utilization_full=1_000_000, ifa_cell_bytes=80, ioam_fraction="nanoseconds"
)
ALONE = tuple((kind,) for kind in KINDS)
"""Each kind of telemetry in a fabric of its own."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How every scenario of a campaign is played: for how long, in which intervals, how seen."""

    name: str
    duration_ns: int = 8 * MS
    interval_ns: int = MS
    taps: Taps = ALL
    casts: tuple[tuple[Telemetry, ...], ...] = (KINDS, *ALONE)
    """Kinds of telemetry in one fabric: all of them beside each other, then each alone."""
    slower: int = 1
    """By how much all links are slower (`pace`)."""


@dataclass(frozen=True, slots=True)
class Play:
    """One world, and all the plans by which it is judged."""

    scenario: str
    seed: int
    kinds: tuple[Telemetry, ...]
    duration_ns: int
    slower: int
    plans: tuple[Plan, ...]


def plays(plans: Iterable[tuple[Plan, Iterable[str], Iterable[int]]]) -> list[Play]:
    """The worlds that plans ask for, each once; each plan with its scenarios and seeds."""
    asked: dict[tuple[str, int, tuple[Telemetry, ...], int, int], list[Plan]] = {}
    for plan, names, seeds in plans:
        numbers = [*seeds]
        for name in names:
            for seed in numbers:
                for kinds in plan.casts:
                    key = (name, seed, kinds, plan.duration_ns, plan.slower)
                    asked.setdefault(key, []).append(plan)
    return [Play(*key, tuple(wanted)) for key, wanted in asked.items()]


def play(asked: Play) -> pl.DataFrame:
    """Judged flow-intervals (`trial`) of a world by all its plans, with `scenario`, `plan`, `seed`.

    `mixed` says whether several kinds of telemetry were beside each other.
    """
    made = {**SCENARIOS, **SCORED_ONLY, **AT_ENDS}[asked.scenario](asked.kinds, asked.duration_ns)
    world = slower(cast(made, asked.seed), asked.slower)
    run = simulate(world, SETTINGS)
    parts = [
        judged(Trial(world, plan.taps, plan.interval_ns), SETTINGS, run).with_columns(
            pl.lit(plan.name).alias("plan")
        )
        for plan in asked.plans
    ]
    return pl.concat(parts, how="diagonal_relaxed").with_columns(
        pl.lit(asked.scenario).alias("scenario"),
        pl.lit(asked.seed).alias("seed"),
        pl.lit(len(asked.kinds) > 1).alias("mixed"),
    )


def campaign(plan: Plan, names: Iterable[str], seeds: Iterable[int]) -> pl.DataFrame:
    """All rows of one plan."""
    return pl.concat(map(play, plays([(plan, names, seeds)])), how="diagonal_relaxed")
