"""Candidate hops of every kind of telemetry, each kind's with probabilities of its own."""

from typing import NamedTuple

import polars as pl

from collector import arrow, at_once
from pipeline.comparison import KNOWN, LOAD, MARKS, TOLD, compared
from pipeline.feeding import fed
from pipeline.filling import FOUND, brimming, needed
from pipeline.groups import HOP
from pipeline.locate import KEY, by_lower_ends, inband, loads
from pipeline.marking import BRIM, may_be_marked
from pipeline.reserved import PLACE
from pipeline.sharing import NAMED_SHARE
from pipeline.tags import bounds, by_signal, congestion_signals, heard, shared
from pipeline.tapped import fitting_both, where_marked
from pipeline.throughput import FAR_FROM_FULL, FULL, while_sending
from pipeline.tie import tied
from pipeline.topology import Topology
from pipeline.way_choice import fitting

MEASURED_SPREAD = 0.08
"""How far a hop's load as INT measured it may be off, in steps of e."""
LOCATED_SPREAD = 0.3
"""The same of a load that CSIG's terms add up to."""
PATH_SPREAD = 0.04
"""The same of a path's load as AECN tells it, from many samples."""
MARK_SPREAD = 0.3
"""The same of a share of marks."""
SAMPLE_SPREAD = 1.0
"""What one sample alone adds to a spread; n samples add its n-th part, as variances do."""
CARRIED_SPREAD, POSSIBLE_SPREAD, POSSIBLE_MARK_SPREAD = 0.03, 0.3, 1.2
"""The same of what a full port surely carries; of a port that the flows that were seen could not
fill, since others may not have been seen; and of that port's marks."""
WHOLE_SPREAD, WHOLE_MARK_SPREAD = 0.05, 0.3
"""The same where taps are at all ends, so that others would have been seen."""
MOST = 1000.0
"""More than any load."""
CALM, FULL_LOAD = 0.95, 1.25
"""Load below which a hop marks nothing, and above which it marks."""
SOME_MARKS = 0.01
NOTHING_KNOWN = pl.DataFrame(schema=KNOWN)
NOTHING_FILLED = pl.DataFrame(schema=FOUND)


class Named(NamedTuple):
    """Candidate hops that telemetry names itself: by INT stacks, by locators; and CSIG's tags."""

    measured: pl.DataFrame
    located: pl.DataFrame
    tags: pl.DataFrame

    @property
    def hops(self) -> pl.DataFrame:
        """All of them."""
        return pl.concat([self.measured, self.located], how="diagonal_relaxed")


def named(
    sent: pl.DataFrame, hops: pl.DataFrame, topology: Topology | None, possible: pl.DataFrame,
    met: pl.DataFrame,
) -> Named:  # fmt: skip
    """What names hops itself; `possible` holds the possible paths of the flows (`ways.paths`).

    `met` tells how far along these tags were read (`in_sight.met`).
    """
    tags = shared(heard(hops, met), possible, topology)
    return Named(inband(hops, sent), congestion_signals(tags), tags)


def located(
    sent: pl.DataFrame,
    told_by_name: Named,
    topology: Topology | None,
    all_ways: pl.DataFrame,
    carried: pl.DataFrame,
    seen: pl.DataFrame,
) -> pl.DataFrame:
    """All candidate hops of all kinds of telemetry: see `locate` for the columns.

    `all_ways` holds the paths of the flow-intervals that are left (`narrowed`), `carried` what they
    send through hops (`throughput.utilisation`), `seen` what taps saw of them (`tapped`).
    """
    measured, by_locator, tags = told_by_name
    measured = by_lower_ends(measured, carried)
    direct = told_by_name.hops
    hop_loads = loads(direct)
    quiet = sent[[*KEY, "aecn_samples"]]
    silent = quiet.join(direct[KEY], on=KEY, how="anti", maintain_order="left")
    told = path_loads(sent, silent, tags)
    ways = fed(told, all_ways, hop_loads, topology, LOAD.zero)
    known = known_loads(hop_loads, carried) if told["wanted"].any() else NOTHING_KNOWN
    by_load = compared(told, known, ways, LOAD)
    marked = path_marks(sent, silent)
    found = [
        measured,
        tied(by_locator, by_load, ways),
        with_hops(told.filter(signal="aecn"), by_load, hop_loads),
        *by_mark(sent, marked, topology, all_ways, carried, hop_loads, seen),
        by_signal(tags),
    ]
    return pl.concat(found, how="diagonal_relaxed")


def by_mark(
    sent: pl.DataFrame,
    marked: pl.DataFrame,
    topology: Topology | None,
    all_ways: pl.DataFrame,
    carried: pl.DataFrame,
    hop_loads: pl.DataFrame,
    seen: pl.DataFrame,
) -> list[pl.DataFrame]:
    """Candidates of flows that may be `marked` (`path_marks`): by their marks, and by none."""
    if marked.is_empty():
        return [NOTHING_FILLED]
    wanted = marked["wanted"].any()
    # Where nobody is asked about and no port brims, nobody asks which hops are left.
    asks = wanted or (carried["least"] >= BRIM).any()
    ways = fed(marked, all_ways, hop_loads, topology, MARKS.zero) if asks else all_ways.clear()
    known = known_marks(hop_loads, carried) if wanted else NOTHING_KNOWN
    if seen.height and wanted:
        asked = sent.join(marked.filter("wanted"), on=KEY, how="semi", maintain_order="left")
        ways = fitting_both(where_marked(all_ways, seen, asked), ways)
    by_marks = compared(marked, known, ways, MARKS)
    calm = marked.filter(pl.col("quiet") & ~pl.col("wanted"))
    held = held_back(by_marks, hop_loads)
    found = pl.concat([brimming(calm, ways, carried), needed(calm, all_ways, carried, held, sent)])
    return [with_hops(marked, by_marks, hop_loads), filled(marked, found)]


def path_loads(sent: pl.DataFrame, silent: pl.DataFrame, tags: pl.DataFrame) -> pl.DataFrame:
    """Loads of whole paths: AECN's largest, and the bounds that CSIG's terms give.

    An option at its highest value says no more than at least so much.
    """
    mean = pl.col("aecn_u_sum") / pl.col("aecn_samples")
    parts = [NOTHING_TOLD.lazy(), bounds(tags).lazy().with_columns(*TAGGED)]
    if not arrow.values(sent["aecn_samples"]).any():
        return at_once(pl.concat(parts, how="diagonal_relaxed").sort(KEY, maintain_order=True))
    heard = sent.lazy().filter(pl.col("aecn_samples") > 0)
    quiet = silent.lazy().select(*KEY, pl.lit(value=True).alias("wanted"))
    own = heard.join(quiet, on=KEY, how="left", maintain_order="left").select(
        *KEY,
        mean.alias("low"),
        (mean + pl.col("aecn_saturated") / pl.col("aecn_samples") * MOST).alias("high"),
        spread(PATH_SPREAD, pl.col("aecn_samples")),
        pl.col("congested_hops").alias("most"),
        pl.col("wanted").fill_null(value=False),
        pl.col("aecn_samples").alias("samples"),
        pl.lit("aecn").alias("signal"),
    )
    told = pl.concat([parts[0], own, parts[1]], how="diagonal_relaxed")
    return at_once(told.sort(KEY, maintain_order=True))


NOTHING_TOLD = pl.DataFrame(schema={**TOLD, "samples": pl.UInt64, "signal": pl.String})
TAGGED = (
    pl.lit(LOCATED_SPREAD).alias("spread"), pl.lit(value=True).alias("wanted"),
    pl.lit("csig").alias("signal"),
)  # fmt: skip


def narrowed(
    sent: pl.DataFrame, named: pl.DataFrame, seen: pl.DataFrame, possible: pl.DataFrame
) -> pl.DataFrame:
    """The possible paths of each flow-interval: those with most of the hops that it named.

    Where taps have `seen` it (`tapped`) counts as well.
    """
    sure = (pl.col("signal") == "int") | (pl.col("share") >= NAMED_SHARE)
    parts = [named.lazy().filter(sure), seen.lazy().filter("whole")]
    told = at_once(pl.concat([each.select(*KEY, *HOP) for each in parts]))
    return fitting(sent, told, possible)


def path_marks(sent: pl.DataFrame, silent: pl.DataFrame) -> pl.DataFrame:
    """Share of marks of flows that may be marked; candidates are asked for where there are some."""
    share = pl.col("mark_share")
    rows = sent.lazy().filter(may_be_marked())
    untold = silent.lazy().filter(pl.col("aecn_samples") == 0)
    quiet = untold.select(*KEY, pl.lit(1).alias("quiet"))
    return at_once(
        rows.join(quiet, on=KEY, how="left", maintain_order="left")
        .select(
            *KEY,
            share.alias("low"),
            share.alias("high"),
            spread(MARK_SPREAD, pl.col("spoken")),
            pl.lit(None, pl.UInt8).alias("most"),
            ((share > 0) & pl.col("quiet").is_not_null()).alias("wanted"),
            pl.col("quiet").is_not_null(),
            pl.col("spoken").alias("samples"),
            pl.lit("ecn").alias("signal"),
        )
        .sort(KEY, maintain_order=True)
    )


def held_back(by_marks: pl.DataFrame, hop_loads: pl.DataFrame) -> pl.DataFrame:
    """Probability that flows are held back at hops: by marks, or by loads that were located."""
    here = ["time_ns", *HOP]
    loaded = named_only(hop_loads.lazy()).filter(pl.col("load") > FULL_LOAD)
    told = [by_marks[[*here, "probability"]].lazy(), loaded.select(*here, probability=1.0)]
    return at_once(pl.concat(told).group_by(here, maintain_order=True).agg(pl.max("probability")))


def filled(marked: pl.DataFrame, full: pl.DataFrame) -> pl.DataFrame:
    """Candidates of flows that were not marked, the surest reason first."""
    if full.is_empty():
        return NOTHING_FILLED
    best = full.unique([*KEY, *HOP], keep="first", maintain_order=True)
    surest = pl.col("filled").first().over(KEY)
    return marked[[*KEY, "signal", "samples"]].join(
        best.filter(pl.col("filled") == surest), on=KEY, how="inner", maintain_order="left"
    )


def spread(least: float, samples: pl.Expr) -> pl.Expr:
    """How far a mean of so many samples may be off."""
    return (least**2 + SAMPLE_SPREAD**2 / samples).sqrt().alias("spread")


def known_loads(hop_loads: pl.DataFrame, carried_by: pl.DataFrame) -> pl.DataFrame:
    """Loads of hops that were located, and what flows carry through hops, each with its spread."""
    width = pl.when(pl.col("measured")).then(MEASURED_SPREAD).otherwise(LOCATED_SPREAD)
    load, part = pl.col("load"), pl.col("bounded").cast(pl.Float64)  # lacks what a port can send
    seen = named_only(hop_loads.lazy()).select(
        "time_ns", *HOP, load.alias("low"), (load + part).alias("high"), width.alias("spread")
    )
    least, most, whole = while_sending("least"), while_sending("most"), pl.col("whole")
    full, free, carried = least >= FULL, most < FAR_FROM_FULL, carried_by.lazy()
    known = pl.concat(
        [
            pl.LazyFrame(schema=KNOWN),
            seen,
            bound(carried.filter(full), least.clip(0.0, 1.0), MOST, CARRIED_SPREAD),
            bound(carried.filter(free & ~whole), pl.lit(0.0), 1.0, POSSIBLE_SPREAD),
            bound(carried.filter(free & whole), pl.lit(0.0), 1.0, WHOLE_SPREAD),
        ]
    )
    return at_once(known)


def known_marks(hop_loads: pl.DataFrame, carried_by: pl.DataFrame) -> pl.DataFrame:
    """What loads say of marks: none below `CALM`, some above `FULL_LOAD`, some of a full port."""
    rows = named_only(hop_loads.lazy())
    calm = rows.filter((pl.col("load") < CALM) & ~pl.col("bounded"))
    none, some = pl.lit(0.0), pl.lit(SOME_MARKS)
    least, most, whole = while_sending("least"), while_sending("most"), pl.col("whole")
    full, free, carried = least >= FULL, most < FAR_FROM_FULL, carried_by.lazy()
    known = pl.concat(
        [
            pl.LazyFrame(schema=KNOWN),
            bound(calm, none, 0.0, MARK_SPREAD),
            bound(rows.filter(pl.col("load") > FULL_LOAD), some, 1.0, MARK_SPREAD),
            bound(carried.filter(full), some, 1.0, MARK_SPREAD),
            bound(carried.filter(free & ~whole), none, 0.0, POSSIBLE_MARK_SPREAD),
            bound(carried.filter(free & whole), none, 0.0, WHOLE_MARK_SPREAD),
        ]
    )
    return at_once(known)


def bound(rows: pl.LazyFrame, low: pl.Expr, high: float, width: float) -> pl.LazyFrame:
    """That the value of each hop lies between two ends."""
    return rows.select(
        "time_ns", *HOP, low.cast(pl.Float64).alias("low"), pl.lit(high).alias("high"),
        pl.lit(width).alias("spread"),
    )  # fmt: skip


def named_only(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows whose hop has a node and a port."""
    return rows.filter(pl.col("node") < PLACE)


NO_HOPS = pl.DataFrame(
    schema={"time_ns": pl.Int64, "flow": pl.UInt64, "node": pl.UInt32, "port": pl.UInt32,
            **dict.fromkeys(("u_mean", "u_max", "standing_share", "above"), pl.Float64),
            "samples": pl.UInt64, "signal": pl.String, "probability": pl.Float64}
)  # fmt: skip


def with_hops(told: pl.DataFrame, found: pl.DataFrame, hop_loads: pl.DataFrame) -> pl.DataFrame:
    """The candidates of flow-intervals that wanted some, and a row without a hop for the others."""
    if not told["wanted"].any():
        return NO_HOPS
    aecn, above = pl.when(pl.col("signal") == "aecn"), pl.col("high") - pl.col("low")  # at most
    path = aecn.then("low").alias("u_mean"), aecn.then(above).alias("above")
    asked = told.lazy().filter("wanted").select(*KEY, "signal", *path, "samples")
    rows = asked.join(found.lazy(), on=KEY, how="left", maintain_order="left_right").join(
        hop_loads.lazy(), on=["time_ns", *HOP], how="left", maintain_order="left"
    )
    load = pl.coalesce("u_mean", "load")
    return at_once(rows.select(
        *KEY, *HOP, load.alias("u_mean"), load.alias("u_max"), "standing_share", "samples",
        "signal", "probability", "above",
    ))  # fmt: skip
