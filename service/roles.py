"""Who makes a link full and who suffers from it, by what each of its flows sent."""

import polars as pl

from pipeline import LEAST_SHARE, LITTLE


def with_roles(flows: pl.DataFrame) -> pl.DataFrame:
    """Flows of a link (data_bytes, held_back) with the share and the role of each.

    A *culprit* sends at least an equal share of what all of these send, a *contributor* at least
    `LEAST_SHARE` of it; a *victim* is held back there although it sends less than `LITTLE` of an
    equal share. The share is null where nobody's bytes are known.
    """
    sent = pl.col("data_bytes").fill_null(0)
    whole = sent.sum()
    share = pl.when(whole > 0).then(sent / whole)
    rows = flows.with_columns(share.alias("share"))
    equal = pl.col("share") * pl.len()
    role = (
        pl.when(pl.col("held_back") & (equal < LITTLE))
        .then(pl.lit("victim"))
        .when(equal >= 1)
        .then(pl.lit("culprit"))
        .when(pl.col("share") >= LEAST_SHARE)
        .then(pl.lit("contributor"))
        .otherwise(pl.lit(""))
    )
    return rows.with_columns(role.alias("role"))
