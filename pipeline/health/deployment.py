"""Deployment: how DCTCP lives beside others on the same queues (RFC 8257 section 5)."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from pipeline.health.coverage import ENOUGH
from pipeline.health.finding import CANNOT_TELL, YES
from pipeline.health.found import Found, first_of, port_or_locator, sure
from pipeline.health.scene import Scene
from pipeline.signals import DELAY

QUEUED = 32
"""Packets that met a long queue unmarked before a port is said not to mark."""
REPEATED = 3
"""Handshakes that were repeated before a queue is said to drop them."""
CLASSIC, DCTCP = "classic", "dctcp"
SPOKEN = (DCTCP, CLASSIC, "unrecognised")
"""What ECN-capable TCP may be: by a dialect of DCTCP, by classic ECN, or not recognised."""


def deployment(scene: Scene) -> Iterator[Found]:
    """All findings about the deployment of congestion control."""
    yield from beside_classic(scene)
    yield from unmarked(scene)
    yield from control(scene)
    yield from ends(scene)


def beside_classic(scene: Scene) -> Iterator[Found]:
    """DCTCP and classic TCP (classic ECN, or none) to one port in one class.

    ECN-capable data says nothing of who sends it: its flows count as what they were recognised as.
    Those of no known dialect may be either, so that beside classic TCP they leave it open. What
    such a flow sends again is not ECN-capable (RFC 3168, section 6.1.5), and no other's.
    """
    here = with_dialects(scene).filter(pl.col("point") == pl.col("dst"))
    again = pl.col("ect_n").sum().over("flow") > 0
    here = here.with_columns(pl.when(again).then(0).otherwise("plain_n").alias("plain_n"))
    each = (pl.col("ect_n").filter(pl.col("spoken") == name).sum().alias(name) for name in SPOKEN)
    shared = here.group_by("point", "dscp", maintain_order=True).agg(
        *each,
        pl.col("plain_n").sum(),
        *(pl.col(name).first() for name in ("seen_ns", "source", "frame")),
    )
    for row in shared.iter_rows(named=True):
        classic = row["plain_n"] + row["classic"]
        either = max(row["dctcp"], row["unrecognised"])
        if min(classic, either) < ENOUGH:
            continue
        verdict = YES if row["dctcp"] >= ENOUGH else CANNOT_TELL
        told = {"dscp": row["dscp"], **{name: row[name] for name in SPOKEN},
                "not_ecn_capable": row["plain_n"], **first_of(row)}  # fmt: skip
        count = min(classic, row["dctcp"] if verdict == YES else either)
        yield Found("interface", row["point"], "dctcp_beside_classic", verdict, count, told)


def with_dialects(scene: Scene) -> pl.DataFrame:
    """Sights with what their flow speaks (`SPOKEN`): what the most of its decisions rest on."""
    # State that an older hopsight kept does not tell TCP's from others.
    tcp = "tcp_ect_n" if "tcp_ect_n" in scene.sights.columns else "ect_n"
    rows, unknown = scene.sights.with_columns(pl.col(tcp).alias("ect_n")), SPOKEN[-1]
    if scene.dialects.is_empty():
        return rows.with_columns(pl.lit(unknown).alias("spoken"))
    spoken = pl.when(pl.col("dialect") == CLASSIC).then(pl.lit(CLASSIC)).otherwise(pl.lit(DCTCP))
    known = (
        scene.dialects.group_by("flow", spoken.alias("spoken"))
        .agg(pl.col("n").sum())
        .sort("flow", "n", "spoken", descending=[False, True, False])
        .unique("flow", keep="first")
        .select("flow", "spoken")
    )
    rows = rows.join(known, on="flow", how="left", maintain_order="left")
    return rows.with_columns(pl.col("spoken").fill_null(unknown))


def unmarked(scene: Scene) -> Iterator[Found]:
    """Ports with a long queue that mark nothing."""
    named = scene.paths.filter("touched", pl.col("t") == DELAY, pl.col("long_n") > 0)
    long: dict[tuple[str, str], tuple[int, int, dict[str, Any]]] = {}
    for row in named.iter_rows(named=True):
        tag = (row["variant"], row["t"], row["lm"])
        if tag in scene.places.locators:
            subject = port_or_locator(scene.places, tag)
            n, marked, told = long.get(subject, (0, 0, first_of(row)))
            long[subject] = (n + row["long_n"], marked + row["marked_n"], told)
    for (kind, name), (count, marked, told) in sorted(long.items()):
        if count >= QUEUED and not marked:
            evidence = {"long_queue": count, "marked": marked, **told}
            yield Found(kind, name, "ect_without_marks", YES, count, evidence)


def control(scene: Scene) -> Iterator[Found]:
    """Handshakes that are repeated towards a port where data is marked."""
    if scene.begun.is_empty():
        return
    here = scene.sights.filter(pl.col("point") == pl.col("dst"))
    marked = here.group_by("dst").agg(pl.col("ce_n").sum()).filter(pl.col("ce_n") >= ENOUGH)
    again = (
        scene.begun.filter(pl.col("n") > 1)
        .group_by("dst", maintain_order=True)
        .agg(
            pl.col("flow").n_unique().cast(pl.Int64).alias("flows"),
            *(pl.col(name).first() for name in ("seen_ns", "source", "frame")),
        )
        .join(marked, on="dst", how="inner", maintain_order="left")
    )
    for row in again.filter(pl.col("flows") >= REPEATED).iter_rows(named=True):
        told = {"handshakes": row["flows"], "marked": row["ce_n"], **first_of(row)}
        yield Found("interface", row["dst"], "control_dropped", YES, row["flows"], told)


def ends(scene: Scene) -> Iterator[Found]:
    """Receivers to which both DCTCP and classic ECN are spoken."""
    if scene.dialects.is_empty():
        return
    classic = pl.col("dialect") == CLASSIC
    both = (
        scene.dialects.filter(pl.col("dst").is_not_null())
        .group_by("dst", maintain_order=True)
        .agg(
            pl.col("n").filter(classic).sum().alias("classic"),
            pl.col("n").filter(~classic).sum().alias("dctcp"),
            *(pl.col(name).first() for name in ("seen_ns", "source", "frame")),
        )
        .filter((pl.col("classic") > 0) & (pl.col("dctcp") > 0))
    )
    for row in both.iter_rows(named=True):
        told = {"classic": row["classic"], "dctcp": row["dctcp"], **first_of(row)}
        count = min(row["classic"], row["dctcp"])
        yield Found("interface", row["dst"], "ends_differ", sure(count), count, told)
