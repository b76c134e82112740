"""Claims: the smallest share of a port's capacity that tags promised of a path over it.

Which ports a tag has crossed is told by where it was seen: at its receiver, the receiver's port; at
a port above the sender's own switch, that port; at both, also the port between that leads from one
switch down to the other.
"""

from collections.abc import Iterator

import polars as pl

from collector import at_once
from pipeline.health.place import HOST, Places
from pipeline.health.tally import first_frame
from pipeline.signals import ABW, UTILIZATION

CLAIM_KEY = ["bin", "port"]
INGRESS = "ingress"
ROUTERS = 2
"""Routers between a port above one switch and a port to a host of another: the one between, and
the host's."""
TAG = ("csig_variant", "csig_t", "csig_s")
"""What a tag's value follows from."""
READ = ("bin", "time_ns", "source", "frame", "point", "src_hi", "src_lo", "dst_hi", "dst_lo",
        *TAG, "csig_low")  # fmt: skip
"""Columns of rows that are read."""


def claims_of(rows: pl.DataFrame, pairs: pl.DataFrame, places: Places) -> list[pl.DataFrame]:
    """Partial claims of a batch with its `bin` and of pairs whose later sights are in it."""
    if "csig_low" not in rows.columns:
        return []
    tells = pl.col("csig_t").is_in([ABW, UTILIZATION]) & pl.col("csig_low").is_not_null()
    read = rows.lazy().select(name for name in READ if name in rows.columns)
    told = at_once(read.filter(tells))
    if told.is_empty():
        return []
    crossed = [
        told.join(last_hops(told, places), on=["dst_hi", "dst_lo", "point"], how="inner"),
        told.join(first_hops(told, places), on=["src_hi", "src_lo", "point"], how="inner"),
    ]
    if pairs.height:
        crossed.append(between(told, pairs, places))
    return [least(part, places) for part in crossed if part.height]


def least(rows: pl.DataFrame, places: Places) -> pl.DataFrame:
    """The smallest share of each port and stretch."""
    ports = places.numbers[["port", "bps"]].lazy()
    share = pl.when(pl.col("csig_t") == ABW).then(pl.col("csig_low") / pl.col("bps"))
    return at_once(
        rows.lazy()
        .join(ports, on="port", how="inner", maintain_order="left")
        .group_by(CLAIM_KEY, maintain_order=True)
        .agg(share.otherwise("csig_low").min().alias("least"), *first_frame())
    )


def last_hops(rows: pl.DataFrame, places: Places) -> pl.DataFrame:
    """The port of each receiver, which is where its packets leave the network."""
    ends = rows[["dst_hi", "dst_lo"]].unique(maintain_order=True)
    topology = places.topology
    hosts = [topology.host(*words) if topology else None for words in ends.iter_rows()]
    names = [f"{host.device}:{host.interface}" if host else None for host in hosts]
    known = ends.with_columns(pl.Series("point", names, pl.String)).drop_nulls()
    return known.with_columns(pl.col("point").alias("port"))


def first_hops(rows: pl.DataFrame, places: Places) -> pl.DataFrame:
    """The ports above the senders' own switches, where taps saw their packets leave."""
    seen = rows[["src_hi", "src_lo", "point"]].unique(maintain_order=True)
    return seen.with_columns(pl.Series("port", [*leaving(seen, places)], pl.String)).drop_nulls(
        "port"
    )


def leaving(seen: pl.DataFrame, places: Places) -> Iterator[str | None]:
    """The port of each point that a sender's packets leave by for another switch."""
    for high, low, point in seen.iter_rows():
        port = above(point, places)
        host = places.topology.host(high, low) if places.topology and port else None
        yield port if host and port and places.ports[port].device == host.device else None


def above(point: str, places: Places) -> str | None:
    """The port of a point through which packets leave for another switch; None: it is none."""
    told = places.topology.point_by_name.get(point) if places.topology else None
    name = f"{told.device}:{told.interface}" if told and told.device else point
    port = places.ports.get(name)
    if port is None or port.orientation == HOST or (told and told.side == INGRESS):
        return None
    return name


def between(told: pl.DataFrame, pairs: pl.DataFrame, places: Places) -> pl.DataFrame:
    """Tags at receivers of packets that were seen above their sender's switch.

    With them comes the port from the switch between down to the receiver's.
    """
    seen = pairs.filter(
        (pl.col("a_ttl") - pl.col("z_ttl") == ROUTERS)
        & (pl.col("z_time_ns") > pl.col("a_time_ns"))
        & pl.col("z_csig_t").is_in([ABW, UTILIZATION])
    )
    ways = seen[["a_point", "z_point"]].unique(maintain_order=True)
    ports = [down(start, end, places) for start, end in ways.iter_rows()]
    known = ways.with_columns(pl.Series("port", ports, pl.String)).drop_nulls()
    values = told[[*TAG, "csig_low"]].unique(TAG, keep="first", maintain_order=True)
    own = {name: values.schema[name] for name in TAG}
    return (
        seen.join(known, on=["a_point", "z_point"], how="inner", maintain_order="left")
        .select(
            "bin",
            "port",
            pl.col("z_source").alias("source"),
            pl.col("z_frame").alias("frame"),
            pl.col("z_time_ns").alias("time_ns"),
            *(pl.col(f"z_{name}").cast(kind).alias(name) for name, kind in own.items()),
        )
        .join(values, on=TAG, how="inner", maintain_order="left")
    )


def down(start: str, end: str, places: Places) -> str | None:
    """The one port that leads from the switch above a point down to the switch of another."""
    up, out = above(start, places), places.ports.get(end)
    if up is None or out is None or out.orientation != HOST:
        return None
    found = places.facing.get((places.ports[up].peer_device, out.device), ())
    return found[0] if len(found) == 1 else None
