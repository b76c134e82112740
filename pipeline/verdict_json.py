"""The JSON columns of verdicts: other candidates, and what speaks for the headline."""

import polars as pl

from pipeline.locate import HOP, KEY

MOST_CANDIDATES = 5
"""Candidates of each signal that are kept; of the headline all that it may well be."""
CLAIMED, MOST_CLAIMED = 0.999, 24
"""The headline's candidates are kept until they come to this probability, at most so many."""
SIGNALS = ("headline", "int", "csig", "aecn", "ecn")
"""Signals in the order in which they are listed, those of CSIG's types behind."""
CANDIDATE = ("signal", "node", "port", "device", "interface", "u_mean", "probability", "samples")
STATES = {"U": "ratio", "W": "bytes", "alpha": "ratio"}
"""State of congestion control that is told as evidence, with its unit."""


def candidate_list(candidates: pl.DataFrame) -> pl.DataFrame:
    """Hops that the signals of each flow and interval point at, those of one signal by rank."""
    signal = [*KEY, "signal"]
    rank = {name: place for place, name in enumerate(SIGNALS)}
    ranked = candidates.with_columns(
        pl.col("signal").replace_strict(rank, default=None, return_dtype=pl.UInt8).alias("rank"),
        # Those of a locator that several ports share are divided among these.
        pl.col("samples").round().cast(pl.UInt64),
    ).sort(
        *KEY,
        "rank",
        "signal",
        "probability",
        *HOP,
        descending=[False, False, False, False, True, False, False],
        nulls_last=True,
    )
    place, is_headline = pl.int_range(pl.len()).over(signal), pl.col("signal") == SIGNALS[0]
    before = pl.col("probability").cum_sum().over(signal) - pl.col("probability")
    most = pl.when(is_headline).then(MOST_CLAIMED).otherwise(MOST_CANDIDATES)
    ranked = ranked.filter((place < most) & (~is_headline | (before < CLAIMED)))
    text = pl.struct(CANDIDATE).struct.json_encode()
    return ranked.group_by(KEY, maintain_order=True).agg(
        pl.format("[{}]", text.str.join(",")).alias("candidates")
    )


def evidence_list() -> pl.Expr:
    """What speaks for each verdict: signal, name, value, unit, samples, observation point."""
    signal, samples = pl.col("signal"), pl.col("samples")
    echoed = pl.col("marked_bytes") / pl.col("acked_bytes")
    carried = pl.col("ce_frames") / pl.col("data_frames")
    acked = (pl.col("acked_bytes") > 0).fill_null(value=False)
    ecn, state, one = pl.lit("ecn"), pl.lit("state"), pl.lit(1)
    told = [
        piece(signal, "hop load u'", pl.col("u_mean"), "ratio", samples),
        piece(signal, "queue", pl.col("queue_mean_bytes"), "bytes", samples),
        piece(signal, "standing queue", pl.col("standing_share"), "ratio", samples),
        piece(ecn, "mark share", pl.when(acked).then(echoed), "ratio", pl.col("acks")),
        piece(
            ecn,
            "CE share",
            pl.when(~acked & (pl.col("ce_frames") > 0)).then(carried),
            "ratio",
            pl.col("data_frames"),
        ),
        *(piece(state, name, pl.col(name), unit, one) for name, unit in STATES.items()),
    ]
    listed = pl.concat_list(told).list.drop_nulls().list.join(",")
    return pl.format("[{}]", listed).alias("evidence")


def piece(signal: pl.Expr, name: str, value: pl.Expr, unit: str, samples: pl.Expr) -> pl.Expr:
    """One piece of evidence as JSON, null where the value is null or no number."""
    fields = pl.struct(
        signal.alias("signal"),
        pl.lit(name).alias("name"),
        value.cast(pl.Float64).alias("value"),
        pl.lit(unit).alias("unit"),
        samples.cast(pl.Int64).alias("samples"),
        pl.col("point").alias("point"),
    )
    return pl.when(value.cast(pl.Float64).is_finite()).then(fields.struct.json_encode())
