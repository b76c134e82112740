"""The scene of a judgement: what one interval showed, what all of them did, where things stand."""

from dataclasses import dataclass

import polars as pl

from pipeline.health.place import Places
from pipeline.health.tally import joined
from pipeline.signals import DELAY

PATH_KEY = ("point", "src", "dst", "variant", "t", "lm", "touched")
"""What the total of sights tells apart: paths, not flows."""
PORT_KEY = ("variant", "t", "lm", "src", "sender")
"""What says whether a port reports but the minimum: locators and who crosses them."""


@dataclass(frozen=True)
class Scene:
    """What is of the interval: `sights`, with the ports of flows' ends, to `buckets`.

    `paths`, `ports`, `changed`, `against`, `edges` and `begun` are the totals since the beginning.
    """

    places: Places
    sights: pl.DataFrame
    changes: pl.DataFrame
    beside: pl.DataFrame
    buckets: pl.DataFrame
    paths: pl.DataFrame
    ports: pl.DataFrame
    changed: pl.DataFrame
    against: pl.DataFrame
    edges: pl.DataFrame
    begun: pl.DataFrame
    dialects: pl.DataFrame
    may_tag: tuple[str, ...] | None


def by_port(sights: pl.DataFrame) -> pl.DataFrame:
    """Sights by locator and sender, with the delays that the same flows were told.

    `pd_n` counts tags of max(PD) of flows that name the locator, `quiet_n` those without a queue.
    """
    if sights.is_empty():
        return sights
    delays = sights.filter((pl.col("t") == DELAY) & (pl.col("variant") > 0))
    told = delays.group_by("point", "flow", maintain_order=True).agg(
        pl.col("n").sum().alias("pd_n"), pl.col("quiet_n").sum()
    )
    named = sights.filter(pl.col("touched") & (pl.col("t") != DELAY)).drop("quiet_n")
    return joined([named.join(told, on=["point", "flow"], how="left")], PORT_KEY)
