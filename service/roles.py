"""Who makes a link full and who suffers from it, by what each of its flows sent."""

from collections.abc import Mapping

import polars as pl

from pipeline import LEAST_SHARE, LITTLE


def with_roles(
    flows: pl.DataFrame, others: Mapping[str, int | None], *, known: bool = True
) -> pl.DataFrame:
    """Flows of a link (data_bytes, held_back) with the share and the role of each.

    A *culprit* sends at least an equal share of what the link carried, a *contributor* at least
    `LEAST_SHARE` of it; a *victim* is held back there although it sends less than `LITTLE` of an
    equal share. `others` (flows, data_bytes) are those that whoever asks does not see; the link
    carried them too. Where bytes of any are not known, or not all flows are (`known`), nobody knows
    what the link carried: shares are null and roles empty, as where nothing was sent.
    """
    sent, beside = pl.col("data_bytes"), others["data_bytes"]
    whole = sent.sum() + (beside or 0)
    told = known and beside is not None
    share = pl.when(pl.lit(told) & (sent.null_count() == 0) & (whole > 0)).then(sent / whole)
    rows = flows.with_columns(share.alias("share"))
    equal = pl.col("share") * (pl.len() + others["flows"])
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
