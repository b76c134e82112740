"""What taps along the way tell of a flow's path, and of where on it marks were made.

A tap stands on a link. A flow whose data it saw crossed the port that sends into that link, and CE
marks that a packet carries there were made no later than at that port (RFC 3168, section 5: no
router takes them off again), those that are met behind it were made behind it.
"""

from functools import lru_cache

import polars as pl

from pipeline.comparison import MARKS
from pipeline.groups import HOP
from pipeline.locate import KEY
from pipeline.topology import Hop, Topology

TAPPED = {"time_ns": pl.Int64, "flow": pl.UInt64, "node": pl.UInt32, "port": pl.UInt32,
          "marked": pl.UInt64, "frames": pl.UInt64, "whole": pl.Boolean}  # fmt: skip
NOWHERE = pl.DataFrame(schema=TAPPED)
STANDING = {"point": pl.String, "node": pl.UInt32, "port": pl.UInt32}
REMEMBERED = 1 << 12
"""Names of points of which is remembered where they stand."""
WHOLE = 0.9
"""Part of a flow's frames from which a tap saw all of it: of fewer others may go another way."""
SURE = 2.0
"""Standard deviations by which the number of marked frames that a tap saw may be off."""
MORE = 0.6
"""How much more, as a difference of logarithms, is marked on one side where it is told."""
HEARD = 0.5
"""Part of the marks that a tap saw from which their echo has come."""
BEFORE, BEHIND = -1, 1
"""Where most marks of a flow were made, by one tap: up to its link, or behind it."""


def tapped(flow_intervals: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Ports that flows crossed, since a tap saw their data behind: see `TAPPED`.

    Of `frames` of data there `marked` carried CE; `whole` says that the tap saw as much as any. A
    tap that sees both ways of a link has a row for each of the ports at its ends, of which one lies
    on a way.
    """
    if topology is None:
        return NOWHERE
    hops = taps(flow_intervals["point"], topology)
    if hops.is_empty():
        return NOWHERE
    seen = flow_intervals.filter(pl.col("data_frames") > 0).select(
        *KEY,
        "point",
        pl.col("ce_frames").fill_null(0).alias("marked"),
        pl.col("data_frames").alias("frames"),
        (WHOLE * STOOD_FOR.max().over(KEY) <= STOOD_FOR).alias("whole"),
    )
    crossed = seen.join(hops, on="point", how="inner", maintain_order="left_right")
    return crossed.select(list(TAPPED))


def taps(points: pl.Series, topology: Topology) -> pl.DataFrame:
    """Ports that send what is seen at points: point, node, port; of the others there is no row."""
    known = [(point, *hop) for point in points.unique() for hop in sending_into(topology, point)]
    return pl.DataFrame(known, schema=STANDING, orient="row")


@lru_cache(REMEMBERED)
def sending_into(topology: Topology, point: str) -> tuple[Hop, ...]:
    """Ports that send what is seen at a point; none where it stands at no port of the topology."""
    told = topology.point_by_name.get(point)
    device, _, name = point.partition(":")
    if told and told.device:
        device, name = told.device, told.interface
    side = told.side if told else ""
    port = topology.port(device, name)
    if port is None:
        return ()
    peer = topology.port(port.peer_device, port.peer_interface)
    ends = (port if side != "ingress" else None, peer if side != "egress" else None)
    return tuple(end.hop for end in ends if end is not None)


def where_marked(ways: pl.DataFrame, seen: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """The rows of `ways` (`ways.paths`, with time_ns) that are left where taps tell of marks.

    Left out are hops up to a tap where most marks are made behind it, and those behind it where
    most are made before. Only taps on all of a flow's possible paths tell, and of marks behind only
    a later one: what ECE tells counts otherwise (a classic receiver repeats it, acknowledgments
    stand for several frames, and come later), so that it can show that there are few, not many. A
    tap that sees few marks behind one that saw them says nothing: they were taken off. Of a flow of
    which none were left all stay. `seen` is as `tapped` gives it, `asked` rows of `activity`.
    """
    told = ways.join(
        seen.select(*KEY, *HOP, *BOUNDS), on=[*KEY, *HOP], how="inner", maintain_order="left"
    )
    told = told.join(asked.select(*KEY, ECHOED), on=KEY, how="inner", maintain_order="left")
    if told.is_empty():
        return ways
    paths = ways.group_by(*KEY, "path").agg(pl.col("place").max().alias("end"))
    told = (
        told.join(paths.with_columns(PATHS), on=[*KEY, "path"], how="left", maintain_order="left")
        .filter(ON_ALL)
        .sort(*KEY, "path", "place", descending=[False, False, False, True])
        .with_columns(*BEHIND_IT)
        .with_columns(SIDE)
    )
    bounds = told.group_by(*KEY, "path", maintain_order=True).agg(PASSED, BOUND)
    may = ways.join(bounds, on=[*KEY, "path"], how="left", maintain_order="left").select(*KEY, MAY)
    return ways.filter(may.select(pl.col("may") | ~pl.col("may").any().over(KEY)).to_series())


def fitting_both(by_taps: pl.DataFrame, fed: pl.DataFrame) -> pl.DataFrame:
    """Hops that taps (`where_marked`) and what feeds them (`feeding.fed`) leave to each flow.

    Where they leave none, taps are right: something that nobody saw feeds a hop.
    """
    if by_taps.is_empty():
        return fed
    both = fed.join(by_taps, on=[*KEY, "path", *HOP], how="semi", maintain_order="left")
    told = fed[KEY].unique()
    lone = told.join(both, on=KEY, how="anti")
    other = by_taps.join(lone, on=KEY, how="semi", maintain_order="left")
    return pl.concat([both, other]) if other.height else both


def shares() -> list[pl.Expr]:
    """The least and the most share of marks that a tap's frames show, beyond chance."""
    count = pl.col("marked").cast(pl.Float64)
    least = (count - SURE * count.sqrt()).clip(0) / pl.col("frames")
    most = ((count + SURE * (count + 1).sqrt() + SURE) / pl.col("frames")).clip(0, 1)
    return [least.alias("least"), most.alias("most"), (count / pl.col("frames")).alias("share")]


def behind_it() -> list[pl.Expr]:
    """What is known of marks behind each tap, of rows by path whose last place comes first.

    `later` is the least share at a later tap, `whole` that of the whole path: at its end, or else
    as it is echoed, unless that has not come yet.
    """
    path = [*KEY, "path"]
    at_end = pl.col("most").filter(pl.col("place") == pl.col("end")).max().over(path)
    echoed = pl.when(pl.col("echoed") >= pl.col("share") * HEARD).then("echoed")
    return [
        pl.col("least").cum_max().shift().over(path).alias("later"),
        pl.coalesce(at_end, echoed).alias("whole"),
    ]


def side() -> pl.Expr:
    """On which side of a tap most marks were made; 0: as many on either, or too few to say."""
    behind = more(pl.col("later"), pl.col("most")) > MORE
    before = more(pl.col("whole"), pl.col("least")) < -MORE
    return pl.when(behind).then(BEHIND).when(before).then(BEFORE).otherwise(0)


def more(whole: pl.Expr, carried: pl.Expr) -> pl.Expr:
    """By how much more is marked behind a tap than up to it, on the scale of `comparison`.

    Of what came unmarked to the tap some was marked behind.
    """
    share = ((whole - carried) / (1 - carried)).fill_nan(0).clip(0)
    return (share + MARKS.zero).log() - (carried + MARKS.zero).log()


STOOD_FOR = pl.coalesce("sampled_from", "frames")
"""Frames that a point saw, or of which it saw a sample."""
ECHOED = (
    pl.when(pl.col("acked_bytes") > 0)
    .then(pl.col("marked_bytes") / pl.col("acked_bytes"))
    .alias("echoed")
)
BOUNDS, BEHIND_IT, SIDE = shares(), behind_it(), side().alias("side")
PATHS = pl.len().over(KEY).alias("paths")
ON_ALL = pl.col("path").n_unique().over(*KEY, *HOP) == pl.col("paths")
LAST = pl.col("place").filter(pl.col("side") == BEFORE).min()
BOUND = LAST.alias("last")
PASSED = (
    pl.col("place")
    .filter((pl.col("side") == BEHIND) & (pl.col("place") < LAST).fill_null(value=True))
    .max()
    .alias("passed")
)
MAY = (
    (pl.col("place") > pl.col("passed")).fill_null(value=True)
    & (pl.col("place") <= pl.col("last")).fill_null(value=True)
).alias("may")
