"""The JSON columns of verdicts: other candidates, and what speaks for the headline."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, at_once, kernel
from pipeline.evidence import HIGHEST
from pipeline.groups import HOP
from pipeline.judgment import window_is_shut
from pipeline.kind import RECEIVER
from pipeline.locate import KEY
from pipeline.testimony import LOAD, QUEUE, REMEMBERED, STANDING, Piece, hop_piece, known
from pipeline.texts import by_run, listed
from pipeline.topology import Topology

WINDOW = "advertised window"
MOST_CANDIDATES = 5
"""Candidates of each signal that are kept; of the headline all that it may well be."""
CLAIMED, MOST_CLAIMED = 0.999, 24
"""The headline's candidates are kept until they come to this probability, at most so many."""
SIGNALS = ("headline", "int", "csig", "aecn", "ecn")
"""Signals in the order in which they are listed, those of CSIG's types and delay behind."""
CANDIDATE = ("signal", "node", "port", "device", "interface", "u_mean", "probability", "samples")
STATES = {"U": "ratio", "W": "bytes", "alpha": "ratio"}
"""State of congestion control that is told as evidence, with its unit."""


def candidate_list(candidates: pl.LazyFrame) -> pl.DataFrame:
    """Hops that the signals of each flow and interval point at, those of one signal by rank."""
    query = candidates.with_columns(RANK, WHOLE).sort(
        *KEY,
        "rank",
        "signal",
        "probability",
        *HOP,
        descending=[False, False, False, False, True, False, False],
        nulls_last=True,
    )
    ranked = at_once(query.with_columns(NEW, OF_HEADLINE))
    marks = (arrow.values(ranked["new"]), arrow.values(ranked["headline"]))
    rows = np.flatnonzero(kept(*marks, arrow.fixed(ranked["probability"].to_numpy())))
    ranked = ranked[rows]
    text = ranked.select(TEXT).to_series()
    return by_run(ranked, KEY, text).select(*KEY, LIST)


RANK = (
    pl.col("signal")
    .replace_strict({name: place for place, name in enumerate(SIGNALS)}, default=None,
                    return_dtype=pl.UInt8)
    .alias("rank")
)  # fmt: skip
WHOLE = pl.col("samples").round().cast(pl.UInt64)
"""Samples of a locator that several ports share are divided among these."""
NEW = pl.any_horizontal(
    pl.col(name).ne_missing(pl.col(name).shift()) for name in (*KEY, "signal")
).alias("new")
OF_HEADLINE = (pl.col("signal") == SIGNALS[0]).alias("headline")
TEXT = pl.struct(CANDIDATE).struct.json_encode()
LIST = pl.format("[{}]", "texts").alias("candidates")


@kernel
def kept(
    new: NDArray[np.bool_], headline: NDArray[np.bool_], probability: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether each candidate is kept, of those of one signal by rank; `new` begins another one.

    One without a probability is no headline that is claimed.
    """
    found = np.empty(new.size, np.bool_)
    place, before = 0, 0.0
    for row in range(new.size):
        if new[row]:
            place, before = 0, 0.0
        if headline[row]:
            told = not np.isnan(probability[row])
            before += probability[row] if told else 0.0
            claimed = told and before - probability[row] < CLAIMED
            found[row] = claimed and place < MOST_CLAIMED
        else:
            found[row] = place < MOST_CANDIDATES
        place += 1
    return found


def evidence_list(rows: pl.DataFrame, topology: Topology | None) -> pl.Series:
    """What speaks for each verdict: signal, name, value, unit, samples, observation point.

    First what the headline's signal says of its hop, then what each signal says by itself
    (`testimony`), then what marks, Advanced ECN and the sender's state say of the path.
    """
    pieces = pieces_of(topology)
    said = rows.select(each.known for each in pieces)
    row, texts = [np.zeros(0, np.int64)], [pl.Series([], dtype=pl.String)]
    for told, each in zip(said, pieces, strict=True):
        # Most pieces have nothing to say in most rows.
        at = arrow.where(told)
        if len(at):
            row.append(at)
            texts.append(rows[each.names][at].select(each.text).to_series())
    return listed(pl.concat(texts), np.concatenate(row), rows.height).alias("evidence")


class Told(NamedTuple):
    """A piece of evidence, and the columns that its text is made of."""

    known: pl.Expr
    text: pl.Expr
    names: list[str]


@lru_cache(REMEMBERED)
def pieces_of(topology: Topology | None) -> list[Told]:
    """Every piece of evidence, in the order in which they are told."""
    signal = pl.col("signal")
    echoed = pl.col("marked_bytes") / pl.col("acked_bytes")
    carried = pl.col("ce_frames") / pl.col("data_frames")
    acked = (pl.col("acked_bytes") > 0).fill_null(value=False)
    ce = pl.when(~acked & (pl.col("ce_frames") > 0)).then(carried)
    ecn, aecn, state = pl.lit("ecn"), pl.lit("aecn"), pl.lit("state")
    ratio, options = pl.col("aecn_u_sum") / pl.col("aecn_samples"), pl.col("aecn_samples")
    waited, full = pl.col("aecn_queue_delay") / options, pl.col("aecn_saturated")
    here = ((LOAD, "u_mean", "ratio"), (QUEUE, "queue_mean_bytes", "bytes"),
            (STANDING, "standing_share", "ratio"))  # fmt: skip
    told = [
        *(hop_piece(signal, pl.lit(name), pl.col(column), pl.lit(unit), topology)
          for name, column, unit in here),
        Piece(pl.col("testimony").is_not_null(), pl.col("testimony")),
        piece(aecn, "inflight ratio", ratio, "ratio", options, "aecn_point"),
        piece(aecn, HIGHEST, pl.when(full > 0).then(full), "options", full, "aecn_point"),
        piece(aecn, "queue delay", waited, "option units", options, "aecn_point"),
        piece(aecn, "congested hops", pl.col("congested_hops"), "hops", options, "aecn_point"),
        piece(ecn, "mark share", pl.when(acked).then(echoed), "ratio", pl.col("acks"), "ack_point"),
        *window_pieces(),
        piece(ecn, "CE share", ce, "ratio", pl.col("data_frames"), "ce_point"),
        *(piece(state, name, pl.col(name), unit, pl.lit(1)) for name, unit in STATES.items()),
    ]  # fmt: skip
    return [
        Told(each.known.alias(str(place)), each.text.alias(""),
             sorted(set(each.text.meta.root_names())))
        for place, each in enumerate(told)
    ]  # fmt: skip


def window_pieces() -> list[Piece]:
    """What advertised windows say: how large they are where they hold the flow back."""
    signal, acks, zeros = pl.lit("window"), pl.col("rwnd_acks"), pl.col("rwnd_zero")
    mean = pl.when((pl.col("kind") == RECEIVER) & window_is_shut() & (acks > 0)).then(
        pl.col("rwnd_sum_bytes") / acks
    )
    unscaled = pl.when(pl.col("rwnd_unscaled") > 0).then("rwnd_unscaled")
    number = "acknowledgments"
    return [
        piece(signal, WINDOW, mean, "bytes", acks, "rwnd_point"),
        piece(signal, f"{WINDOW} of 0", pl.when(zeros > 0).then(zeros), number, zeros,
              "rwnd_point"),
        piece(signal, f"{WINDOW}, scale unknown", unscaled, number, unscaled, "rwnd_point"),
    ]  # fmt: skip


def piece(
    signal: pl.Expr, name: str, value: pl.Expr, unit: str, samples: pl.Expr, point: str = "point"
) -> Piece:
    """One piece of evidence, known where the value is a number."""
    fields = pl.struct(
        signal.alias("signal"),
        pl.lit(name).alias("name"),
        value.cast(pl.Float64).alias("value"),
        pl.lit(unit).alias("unit"),
        samples.cast(pl.Int64).alias("samples"),
        pl.col(point).alias("point"),
    )
    return Piece(known(value), fields.struct.json_encode())
