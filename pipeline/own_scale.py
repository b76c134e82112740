"""A device's own scale: what its CSIG values mean where its buckets or steps are not the file's.

The collector decodes by one scale, before anybody knows whose value a tag carries; the locator then
names the device, and the value is read again by that device's scale (draft-ravi-ippm-csig-00 5.4,
appendix A: buckets are a device's configuration).
"""

from collections.abc import Iterator
from functools import lru_cache

import polars as pl

from pipeline.csig_profile import VARIANTS, CsigSignal
from pipeline.interface import Device
from pipeline.topology import Topology

OPEN_BUCKETS = 32
"""Edges up to which the last one begins an open bucket."""
REMEMBERED = 16
"""Topologies of which the scales are remembered."""
KEY = ("node", "variant", "t")
STEPS = {"node": pl.UInt32, "variant": pl.UInt8, "t": pl.UInt8, "quantum": pl.Float64,
         "base": pl.Float64}  # fmt: skip
BUCKETS = {"node": pl.UInt32, "variant": pl.UInt8, "t": pl.UInt8, "s": pl.UInt32,
           "middle": pl.Float64}  # fmt: skip


def reread(placed: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Signals of hops (`signals.place`), `value` by the scale of the device that is named."""
    if topology is None:
        return placed
    found = placed
    buckets, steps = scales(topology)
    if buckets.height:
        own = placed.select(*(pl.col(n).cast(BUCKETS[n]) for n in (*KEY, "s")))
        middle = own.join(buckets, on=[*KEY, "s"], how="left", maintain_order="left")["middle"]
        found = found.with_columns(pl.coalesce(middle, pl.col("value")).alias("value"))
    if steps.height:
        own = placed.select(*(pl.col(n).cast(STEPS[n]) for n in KEY), pl.col("s").cast(pl.Float64))
        told = own.join(steps, on=list(KEY), how="left", maintain_order="left")
        middle = told.select(pl.col("base") + (pl.col("s") + 0.5) * pl.col("quantum")).to_series()
        found = found.with_columns(pl.coalesce(middle, pl.col("value")).alias("value"))
    return found


@lru_cache(REMEMBERED)
def scales(topology: Topology) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of devices that differ from the file: middles of buckets, and steps of expanded values."""
    differing = [device for device in topology.devices if device.csig and topology.csig]
    buckets = [row for device in differing for row in buckets_of(device, topology)]
    steps = [row for device in differing for row in steps_of(device, topology)]
    return (
        pl.DataFrame(buckets, schema=BUCKETS, orient="row"),
        pl.DataFrame(steps, schema=STEPS, orient="row"),
    )


def pairs(device: Device, topology: Topology) -> Iterator[tuple[int, CsigSignal, CsigSignal]]:
    """Signals by type, as the device and as the file tells them."""
    assert device.csig is not None
    assert topology.csig is not None
    both = zip(device.csig.signals, topology.csig.signals, strict=True)
    for kind, (own, general) in enumerate(both):
        yield kind, own, general


def buckets_of(device: Device, topology: Topology) -> Iterator[tuple[int, int, int, int, float]]:
    """node, variant, t, s and the middle of each bucket; of an open one its lower end."""
    for kind, own, general in pairs(device, topology):
        if not own.buckets or (own.buckets, own.bounded) == (general.buckets, general.bounded):
            continue
        edges = own.buckets
        count = len(edges) - (own.bounded or len(edges) > OPEN_BUCKETS)
        for s in range(count):
            high = edges[s + 1] if s + 1 < len(edges) else edges[s]
            yield device.node_id, VARIANTS["compact"], kind, s, (edges[s] + high) * 0.5


def steps_of(device: Device, topology: Topology) -> Iterator[tuple[int, int, int, float, float]]:
    """node, variant, t, quantum and base of expanded values."""
    for kind, own, general in pairs(device, topology):
        told = (own.quantum, own.base)
        if own.quantum is not None and told != (general.quantum, general.base):
            yield device.node_id, VARIANTS["expanded"], kind, own.quantum, own.base or 0.0
