"""Two runs over the same signals, decision beside decision: where they part, and how far.

The signals are held fixed: both runs hear what was captured, although other windows would have made
other queues. So a difference says what would have been decided at this ACK, not what would have
become of the flow.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from pipeline import companion_fields
from replay.decision import FIELDS

ACK = ("source", "point", "frame", "flow", "ack")
"""What names an ACK in both runs; of several decisions at one, first stands beside first."""
SHARED = ("time_ns", *ACK, "algorithm", "branch", "quality")
WINDOWS = ("W", "cwnd", "ssthresh", "alpha", "U", "R", "rate_bps")
"""Variables that are compared, where an algorithm has them; the first of them is what it steers."""
SIZED = ("W", "cwnd")
"""Windows; of `IN_PACKETS` they count packets, else bytes."""
IN_PACKETS = ("swift", "poseidon")
WINDOW_BYTES = "window_bytes"
QUANTILES = (0.05, 0.5, 0.95)
OTHER = "_other"
NUMBER = "number"
TURN = "turn"


class Difference(NamedTuple):
    """What `difference` found.

    `rows` stand side by side, columns of the other run end in `_other`; `flows` has one row a flow
    and point, `spread` one a flow, point and variable.
    """

    rows: pl.DataFrame
    flows: pl.DataFrame
    spread: pl.DataFrame


def compared(algorithm: str) -> tuple[str, ...]:
    """The variables of an algorithm that are compared."""
    own = FIELDS.get(algorithm) or companion_fields(algorithm)
    return tuple(name for name in WINDOWS if name in own)


def kept(decisions: pl.DataFrame) -> pl.DataFrame:
    """The columns that a comparison needs."""
    return decisions.select(
        *(name for name in (*SHARED, *WINDOWS) if name in decisions.columns)
    ).with_columns(pl.col("algorithm", "branch", "quality").cast(pl.String))


def difference(
    base: pl.DataFrame, other: pl.DataFrame, segments: pl.DataFrame | None = None
) -> Difference:
    """Compare runs of one algorithm, or of two; both as `kept` gives them, in order of time.

    `flows` counts decisions, those that only one run made, those that differ in branch or in value,
    and names the first that does. `spread` has mean and quantiles of (other - base)/base; of two
    algorithms that steer windows it is of these in bytes (`window_bytes`), for which `segments`
    tells flow and segment_bytes, the largest that each flow sent.
    """
    one, two = (run["algorithm"].drop_nulls().first() for run in (base, other))
    same = one == two
    names = [
        name for name in compared(str(one))
        if name in compared(str(two)) and name in base.columns and name in other.columns
    ]  # fmt: skip
    if not same:
        base, other = (sized(turned(run), segments) for run in (base, other))
        both_sized = all(WINDOW_BYTES in run.columns for run in (base, other))
        names = [WINDOW_BYTES] if both_sized else []
    rows = beside(base, other)
    both = pl.col("branch").is_not_null() & pl.col(f"branch{OTHER}").is_not_null()
    branch = pl.col("branch") != pl.col(f"branch{OTHER}")
    if same:
        values = [pl.col(name).ne_missing(pl.col(f"{name}{OTHER}")) for name in names]
        parted = pl.any_horizontal(branch, *values)
    else:
        parted = pl.col(TURN) * pl.col(TURN + OTHER) < 0
    rows = rows.with_columns((parted & both).fill_null(value=False).alias("differs"))
    rows = rows.drop(TURN, TURN + OTHER, strict=False)
    return Difference(rows, by_flow(rows, both, branch), spread_of(rows, names))


def beside(base: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Both runs row by row; where only one decided, the other's columns are null."""
    on = [*ACK, NUMBER]
    left, right = (
        run.with_columns(pl.int_range(pl.len()).over(ACK).alias(NUMBER)) for run in (base, other)
    )
    joined = left.join(right, on=on, how="full", coalesce=True, suffix=OTHER,
                       maintain_order="left_right")  # fmt: skip
    time_ns = pl.coalesce("time_ns", f"time_ns{OTHER}").alias("time_ns")
    return (
        joined.with_columns(time_ns)
        .drop(f"time_ns{OTHER}", NUMBER)
        .sort("time_ns", maintain_order=True)
    )


def steered(algorithm: str) -> str | None:
    """What an algorithm steers: its window or rate; None of one that has neither."""
    return next(iter(compared(algorithm)), None)


def turned(run: pl.DataFrame) -> pl.DataFrame:
    """A run with the way that each decision moves what its algorithm steers: up 1, down -1.

    Null where it steers nothing, on the first decision of a flow, and where a state is not known.
    """
    window = steered(str(run["algorithm"].drop_nulls().first()))
    if window is None or window not in run.columns:
        return run.with_columns(pl.lit(None, pl.Float64).alias(TURN))
    before = pl.col(window).shift(1).over("point", "flow")
    return run.with_columns((pl.col(window) - before).sign().alias(TURN))


def sized(run: pl.DataFrame, segments: pl.DataFrame | None) -> pl.DataFrame:
    """A run with its window in bytes, where it steers one whose unit is known."""
    algorithm = str(run["algorithm"].drop_nulls().first())
    window = steered(algorithm)
    if window not in SIZED or window not in run.columns:
        return run
    if algorithm not in IN_PACKETS:
        return run.with_columns(pl.col(window).alias(WINDOW_BYTES))
    if segments is None:
        return run
    named = run.join(segments, on="flow", how="left", maintain_order="left")
    in_bytes = pl.col(window) * pl.col("segment_bytes")
    return named.with_columns(in_bytes.alias(WINDOW_BYTES)).drop("segment_bytes")


def by_flow(rows: pl.DataFrame, both: pl.Expr, branch: pl.Expr) -> pl.DataFrame:
    """One row a flow and point."""
    first = pl.col("differs")
    at = [pl.col(name).filter(first).first().alias(f"first_{name}")
          for name in ("time_ns", "frame", "ack", "branch", f"branch{OTHER}")]  # fmt: skip
    return rows.group_by("flow", "point", maintain_order=True).agg(
        pl.col("algorithm").drop_nulls().first(),
        pl.col(f"algorithm{OTHER}").drop_nulls().first(),
        both.sum().alias("decisions"),
        pl.col("branch").is_null().sum().alias("only_other"),
        pl.col(f"branch{OTHER}").is_null().sum().alias("only_base"),
        first.sum().alias("differ"),
        (branch & both).sum().alias("other_branch"),
        ((pl.col("quality") == "unknown") & both).sum().alias("unknown"),
        *at,
    )


def spread_of(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Distribution of relative differences, a row a flow, point and variable."""
    parts = [
        rows.group_by("flow", "point", maintain_order=True).agg(
            pl.lit(name).alias("variable"), *quantiles(relative(name))
        )
        for name in names
    ]
    return pl.concat(parts).filter(pl.col("known") > 0) if parts else pl.DataFrame()


def relative(name: str) -> pl.Expr:
    """(other - base)/base where both are known and the base is not 0."""
    base, other = pl.col(name), pl.col(f"{name}{OTHER}")
    share = (other - base) / base
    return pl.when(share.is_finite()).then(share).drop_nulls()


def quantiles(share: pl.Expr) -> Iterator[pl.Expr]:
    """How many are known, their mean, quantiles, and the one farthest from 0."""
    yield share.len().alias("known")
    yield share.mean().alias("mean")
    for quantile in QUANTILES:
        yield share.quantile(quantile, "linear").alias(f"p{round(100 * quantile):02}")
    yield share.get(share.abs().arg_max(), null_on_oob=True).alias("farthest")


def summary(made: Difference) -> dict[str, Any]:
    """Counts over all flows."""
    counts = ("decisions", "differ", "other_branch", "only_base", "only_other", "unknown")
    return {name: int(made.flows[name].sum()) for name in counts} | {"flows": made.flows.height}
