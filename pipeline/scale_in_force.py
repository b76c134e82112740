"""CSIG values by the version of the topology that is in force at each row.

The collector decodes by one scale: that of the newest version where it was told a topology, else
its own settings. What a version tells of buckets and steps holds at its time, and for rows that
come over a bus from collectors that know no topology.
"""

from functools import lru_cache

import polars as pl

from pipeline.csig_profile import VARIANTS, Csig
from pipeline.own_scale import OPEN_BUCKETS
from pipeline.topology import Topology
from pipeline.versions import Versions

PREFIXES = ("csig", "csig_echo")
KEY = {"variant": pl.UInt8, "t": pl.UInt8, "s": pl.UInt32}
BUCKETS = {**KEY, "low": pl.Float64, "high": pl.Float64}
STEPS = {"variant": pl.UInt8, "t": pl.UInt8, "quantum": pl.Float64, "base": pl.Float64}
CSIG_VALUES = frozenset(("csig_buckets", "csig_bounded", "csig_quanta", "csig_bases"))
"""Settings of the collector that a version tells too."""
REMEMBERED = 16
"""Parts in CSIG of which the scales are remembered."""


def in_force(rows: pl.DataFrame, versions: Versions) -> pl.DataFrame:
    """The rows, the ends of CSIG values (`low`, `high`) by the version at their time."""
    tagged = [prefix for prefix in PREFIXES
              if f"{prefix}_variant" in rows.columns and f"{prefix}_low" in rows.columns
              and rows[f"{prefix}_variant"].null_count() < rows.height]  # fmt: skip
    if not tagged or all(known.csig is None for known in versions.topologies):
        return rows
    return versions.across(rows, lambda known, part: rescaled(part, known, tagged))


def rescaled(
    rows: pl.DataFrame, topology: Topology | None, prefixes: list[str]
) -> pl.DataFrame:  # fmt: skip
    """The rows, their values by one version; what it does not tell stays as it was decoded."""
    if topology is None or topology.csig is None:
        return rows
    buckets, steps = scales(topology.csig)
    for prefix in prefixes:
        names = {f"{prefix}_{name}": name for name in KEY}
        told = rows.select(pl.col(name).cast(KEY[own]).alias(own) for name, own in names.items())
        found = told.join(buckets, on=list(KEY), how="left", maintain_order="left")
        found = found.join(steps, on=["variant", "t"], how="left", maintain_order="left")
        low = pl.col("base") + pl.col("s") * pl.col("quantum")
        high = pl.col("base") + (pl.col("s") + 1) * pl.col("quantum")
        ends = found.select(
            low=pl.coalesce("low", low),
            # The open bucket's end is not known: what was decoded does not stand in for it.
            high=pl.coalesce("high", high),
            known=pl.col("low").is_not_null() | pl.col("quantum").is_not_null(),
        )
        rows = rows.with_columns(
            pl.when(ends["known"]).then(ends[end]).otherwise(pl.col(f"{prefix}_{end}"))
            .cast(rows.schema[f"{prefix}_{end}"]).alias(f"{prefix}_{end}")
            for end in ("low", "high")
        )  # fmt: skip
    return rows


@lru_cache(REMEMBERED)
def scales(csig: Csig) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Ends of compact buckets, and steps of expanded values, that a version tells."""
    buckets = [
        (VARIANTS["compact"], kind, s, edges[s], edges[s + 1] if s + 1 < len(edges) else None)
        for kind, signal in enumerate(csig.signals)
        for edges in (signal.buckets,)
        for s in range(len(edges) - (signal.bounded or len(edges) > OPEN_BUCKETS))
    ]
    steps = [
        (VARIANTS["expanded"], kind, signal.quantum, signal.base or 0.0)
        for kind, signal in enumerate(csig.signals)
        if signal.quantum is not None
    ]
    return (
        pl.DataFrame(buckets, schema=BUCKETS, orient="row"),
        pl.DataFrame(steps, schema=STEPS, orient="row"),
    )
