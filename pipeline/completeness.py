"""How much of what happened the telemetry behind a verdict speaks of: each part a number.

- `telemetry`: share of the data frames that brought telemetry of any kind;
- `sampling`: share of the frames that a source passed on, where it says so or settings do
  (`pipeline.sampling`); null: not told;
- `gaps`: share of the data that was sent and not captured, by sequence numbers; null: not told;
- `shed`: share of all frames that the collector shed with their flows because what follows was
  behind; null: none. The flow itself is whole, but those that share its hops are not all in sight;
- `hops`, `hops_seen`: hops of the path, and those of which telemetry spoke.

`completeness` is their product. What is sampled leaves gaps as well: of what these two say was
captured the smaller share counts.
"""

import polars as pl

from collector import at_once
from pipeline.gaps import ENDS
from pipeline.locate import KEY
from pipeline.told_samples import BOUND, LOAD

VIEW = (
    pl.when(pl.col("source").str.starts_with("csig_echo")).then(pl.lit("echo"))
    .when(pl.col("source").str.starts_with("csig")).then(pl.lit("tag"))
    .otherwise(pl.lit("")).alias("view")
)  # fmt: skip
"""What a frame tells by: a tag, the reflection of one, or anything else."""
FRAMES = (
    pl.col("samples").filter(pl.col("view") != "tag").max().alias("told"),
    pl.col("samples").filter(pl.col("view") == "tag").max().alias("tags"),
)


def told_frames(hop_intervals: pl.DataFrame) -> pl.DataFrame:
    """Frames that speak of an interval, as the point that saw most: time_ns, flow, told, tags.

    `tags` are those with a tag of their own, `told` those with anything else.
    """
    is_stack = pl.col("source").is_in((LOAD, BOUND))
    # Each hop of a stack is a sample of the same frames; a tag is a sample of one of its signals.
    seen = hop_intervals.lazy().with_columns(VIEW)
    stacks = seen.filter(is_stack).group_by(*KEY, "point", "view", "hop_index")
    tags = seen.filter(~is_stack).group_by(*KEY, "point", "view")
    summed = [
        each.agg(pl.col("samples").sum()).select(*KEY, "view", "samples") for each in (stacks, tags)
    ]
    return at_once(pl.concat(summed).group_by(KEY).agg(FRAMES))


def parts() -> list[pl.Expr]:
    """The parts of headlines with their samples, `told`, and what the flow did (`activity`)."""
    # Tags that tell of a time before count in the intervals in which they came, not in that.
    dated = pl.col("tagged_frames").is_not_null() & (pl.col("samples") <= pl.col("tags"))
    others = pl.when(~dated.fill_null(value=False)).then("samples")
    tags = pl.coalesce("tagged_frames", "tags")
    told = pl.max_horizontal(others, "told", tags, "aecn_samples").fill_null(0)
    telemetry = (told / pl.col("data_frames")).clip(0.0, 1.0)
    unseen = (pl.col("unseen_bytes") - ENDS).clip(0)
    return [
        pl.when(pl.col("data_frames") > 0).then(telemetry).alias("telemetry"),
        (pl.col("frames") / pl.col("sampled_from")).clip(0.0, 1.0).alias("sampling"),
        pl.when(pl.col("data_bytes") > 0)
        .then(unseen / (unseen + pl.col("data_bytes")))
        .alias("gaps"),
        (pl.col("shed_frames") / (pl.col("shed_frames") + pl.col("frames"))).alias("shed"),
    ]


def completeness() -> pl.Expr:
    """One figure out of the parts; null where telemetry's share is not known."""
    in_sight = (pl.col("hops_seen") / pl.col("hops")).clip(0.0, 1.0).fill_null(1.0)
    return (pl.col("telemetry") * in_hand() * in_sight).alias("completeness")


def completeness_of_all() -> pl.Expr:
    """The completeness of rows together: of all frames that were sent; null where none was."""
    sent = pl.col("sent_frames")
    spoken = (pl.col("completeness") * sent).sum()
    return pl.when(sent.sum() > 0).then(spoken / sent.sum()).alias("completeness")


def in_hand() -> pl.Expr:
    """Which share of what was sent came to be judged: neither left out, nor missed, nor shed."""
    captured = pl.min_horizontal("sampling", 1.0 - pl.col("gaps")).fill_null(1.0)
    return (captured * (1.0 - pl.col("shed").fill_null(0.0))).alias("in_hand")
