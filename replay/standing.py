"""How far a state can be trusted, and why not further, in words."""

import polars as pl

from replay.step import WHY

OF_RECEIVER = {
    "unsighted": (
        "no CE was seen on its data at this point, as where the queue that marks lies behind it,"
        " and how long ECE lasts tells no kind of receiver yet; a tap nearer the receiver would"
    ),
    "sighted": "what was acknowledged so far fits more than one kind of receiver",
}
"""Why nothing is known of a receiver, by whether its marks are in sight."""
RECEIVER = "dctcp_receiver"
NEEDED = {"algorithm", "branch", "verdict"}


def standing(rows: pl.DataFrame) -> pl.Series:
    """Quality of each decision with its reason: exact, estimated or unknown, and why."""
    both = rows.select(pl.col("quality").cast(pl.String), reason_names(rows).alias("why"))
    seen = both.unique(maintain_order=True)
    texts = [
        None if quality is None else f"{quality}: {reason(why)}" if reason(why) else quality
        for quality, why in seen.iter_rows()
    ]
    named = seen.with_columns(pl.Series("standing", texts, pl.String))
    on = ["quality", "why"]
    return both.join(named, on=on, how="left", maintain_order="left", nulls_equal=True)["standing"]


def reason_names(rows: pl.DataFrame) -> pl.Series:
    """`why` of each decision as text; of receivers of which nothing is known, what is missing."""
    why = rows["why"].cast(pl.String)
    if not set(rows.columns) >= NEEDED:
        return why
    text = {name: pl.col(name).cast(pl.String) for name in (*NEEDED, "why")}
    bare = (text["algorithm"] == RECEIVER) & (text["verdict"] == "unknown") & text["why"].is_null()
    unsighted = text["branch"] == "unsighted"
    missing = pl.when(unsighted).then(pl.lit("unsighted")).otherwise(pl.lit("sighted"))
    told = pl.when(bare).then(missing).otherwise(text["why"])
    return rows.select(told.alias("why"))["why"]


def reason(why: str | None) -> str | None:
    """A reason in words; None where there is none."""
    return None if why is None else WHY.get(why) or OF_RECEIVER.get(why)
