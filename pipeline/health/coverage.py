"""Coverage: on which paths tags arrive, where they get lost, and what hops do not report."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from pipeline.health.changes import Change
from pipeline.health.finding import CANNOT_TELL, YES
from pipeline.health.found import FEW, Found, about, first_of, sure
from pipeline.health.place import HOST, path
from pipeline.health.scene import Scene

ENOUGH = 20
"""Data frames of a path before anything is said of its coverage."""
LASTING_NS = 2_000_000
"""How long tagged frames must go missing: those that are under way are not lost."""
EVERY = pl.lit(value=True)
OFTEN = 200
"""Tags that name a device before the types of which it is never named are worth a word."""


def coverage(scene: Scene) -> Iterator[Found]:
    """All findings about coverage."""
    if scene.paths.is_empty() or not (scene.paths["variant"] > 0).any():
        return
    yield from arrivals(scene)
    yield from stripped(scene)
    yield from leaking(scene)
    yield from vanishing(scene)
    yield from unsupported(scene)
    yield from buckets(scene)


def arrivals(scene: Scene) -> Iterator[Found]:
    """Tagged, untagged or never tagged, by path or, where hosts are not known, by point."""
    tagged = pl.col("variant") > 0
    counts = (
        scene.paths.group_by("point", "src", "dst", maintain_order=True)
        .agg(
            pl.col("n").filter(tagged).sum().alias("tagged"),
            pl.col("n").filter(~tagged).sum().alias("untagged"),
            *(pl.col(name).first() for name in ("seen_ns", "source", "frame")),
        )
        .filter(pl.col("tagged") + pl.col("untagged") >= ENOUGH)
    )
    now = scene.sights[["point", "src", "dst"]].unique()
    counts = counts.join(now, on=["point", "src", "dst"], how="semi", nulls_equal=True)
    entered = {
        (row["src"], row["dst"]): row for row in counts.iter_rows(named=True)
        if row["point"] == row["src"]
    }  # fmt: skip
    for row in counts.iter_rows(named=True):
        if row["point"] == row["src"] or (row["dst"] and row["point"] != row["dst"]):
            continue
        known = row["src"] and row["dst"]
        kind, subject = ("path", path(row["src"], row["dst"])) if known else ("point", row["point"])
        told = {"tagged": row["tagged"], "untagged": row["untagged"], "at": row["point"],
                **first_of(row)}  # fmt: skip
        if row["tagged"]:
            yield Found(kind, subject, "tagged", YES, row["tagged"], told)
            continue
        start = entered.get((row["src"], row["dst"]))
        if start is None or start["tagged"]:
            count = row["untagged"]
            yield Found(kind, subject, "untagged_on_arrival", CANNOT_TELL, count, told)
        else:
            yield Found(kind, subject, "never_tagged", YES, start["untagged"], told)


def stripped(scene: Scene) -> Iterator[Found]:
    """Tags that were seen at one point and not at a later one."""
    for row, both in pairs_with(scene, pl.col("change") == Change.STRIPPED.value):
        devices = scene.places.between(row["before"], row["point"], row["hops"])
        kind, subject = about((), row["before"], row["point"])
        told = {"frames": row["n"], "seen_twice": both, "devices": devices, **first_of(row)}
        yield Found(kind, subject, "stripped", sure(row["n"]), row["n"], told)


def pairs_with(
    scene: Scene, what: pl.Expr, of: pl.Expr = EVERY
) -> Iterator[tuple[dict[str, Any], int]]:
    """Pairs of points that showed a change in this interval: totals, and packets seen at both.

    Of these only such count `of` which a change could be seen.
    """
    if scene.changes.is_empty():
        return
    key = ["before", "point", "hops"]
    now = scene.changes.filter(what)[[*key]].unique()
    all_of = scene.changed.filter(of).group_by(key).agg(pl.col("n").sum().alias("both"))
    rows = (
        scene.changed.filter(what)
        .group_by(key, maintain_order=True)
        .agg(
            pl.col("n").sum(),
            *(pl.col(name).first() for name in FIRST_OF_PAIR),
        )
        .join(now, on=key, how="semi")
        .join(all_of, on=key)
        .sort(key)
    )
    for row in rows.iter_rows(named=True):
        yield row, row["both"]


FIRST_OF_PAIR = ("seen_ns", "source", "frame", "before_source", "before_frame", "variant", "t",
                 "lm", "before_lm")  # fmt: skip


def leaking(scene: Scene) -> Iterator[Found]:
    """Tags at a port behind which the topology has neither device nor host."""
    places = scene.places
    hosts = {f"{host.device}:{host.interface}" for host in places.topology.hosts} if (
        places.topology
    ) else set()  # fmt: skip
    outside = [
        name for name, port in places.ports.items()
        if name not in hosts and port.peer_device not in places.devices and port.orientation != HOST
    ]  # fmt: skip
    seen = scene.paths.filter(pl.col("point").is_in(outside) & (pl.col("variant") > 0))
    for (point,), rows in seen.group_by("point", maintain_order=True):
        out = rows.filter(pl.col("src").is_not_null() & pl.col("dst").is_null())
        row = (out if out.height else rows).row(0, named=True)
        count = int((out if out.height else rows)["n"].sum())
        verdict = sure(count) if out.height else CANNOT_TELL
        told = {"tagged": count, **first_of(row)}
        yield Found("interface", str(point), "leaking", verdict, count, told)


def vanishing(scene: Scene) -> Iterator[Found]:
    """Hosts to which tagged frames are sent and of which only untagged ones arrive."""
    if scene.changed.is_empty():
        return
    sent = (
        scene.paths.filter((pl.col("variant") > 0) & (pl.col("point") != pl.col("dst")))
        .group_by("point", "dst", maintain_order=True)
        .agg(
            pl.col("n").sum(),
            pl.col("last_ns").max(),
            *(pl.col(name).first() for name in ("seen_ns", "source", "frame")),
        )
        .filter((pl.col("n") >= ENOUGH) & (pl.col("last_ns") - pl.col("seen_ns") >= LASTING_NS))
    )
    had = ~pl.col("change").is_in([Change.UNTAGGED.value, Change.INSERTED.value])
    passed = scene.changed.group_by("before", "point").agg(
        pl.col("n").filter(had).sum().alias("tagged"),
        pl.col("n").filter(~had).sum().alias("untagged"),
    )
    lost = sent.join(
        passed, left_on=["point", "dst"], right_on=["before", "point"], how="inner",
        maintain_order="left",
    ).filter((pl.col("tagged") == 0) & (pl.col("untagged") >= ENOUGH))  # fmt: skip
    for row in lost.iter_rows(named=True):
        told = {
            "tagged": row["n"], "arrived_tagged": 0, "arrived_untagged": row["untagged"],
            "devices": scene.places.on_the_way(row["point"], row["dst"]), **first_of(row),
        }  # fmt: skip
        yield Found("path", path(row["point"], row["dst"]), "vanishing", YES, row["n"], told)


def unsupported(scene: Scene) -> Iterator[Found]:
    """Types of signal for which a device is never named, though others name it often."""
    places = scene.places
    counts: dict[str, dict[int, int]] = {}
    seen: dict[int, int] = {}
    tags = scene.paths.filter(pl.col("variant") > 0).group_by("variant", "t", "lm", "touched")
    for variant, t, lm, touched, n in tags.agg(pl.col("n").sum()).iter_rows():
        seen[t] = seen.get(t, 0) + n
        device = places.device_of((variant, t, lm)) if touched else None
        if device:
            own = counts.setdefault(device, {})
            own[t] = own.get(t, 0) + n
    for device, own in sorted(counts.items()):
        for t in sorted(seen):
            often = max(own.values()) >= OFTEN and seen[t] >= OFTEN
            if not often or own.get(t):
                continue
            told = places.topology.device_by_name[device].csig if places.topology else None
            signal = told.signal(t) if told else None
            verdict = YES if signal is not None and not signal.supported else CANNOT_TELL
            evidence = {"type": t, "named_by_type": {str(k): n for k, n in sorted(own.items())}}
            yield Found("device", device, "unsupported_signal", verdict, 0, evidence)


def buckets(scene: Scene) -> Iterator[Found]:
    """Devices whose values lie outside their table."""
    odd: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {}
    wrong = (pl.col("odd_n") > 0) | (pl.col("most_s") >= pl.lit(fewest(scene), pl.Int64))
    for row in scene.paths.filter("touched", wrong).iter_rows(named=True):
        device = scene.places.device_of((row["variant"], row["t"], row["lm"]))
        count = row["odd_n"] or (row["n"] if beyond(scene, device, row) else 0)
        if not count:
            continue
        subject = ("device", device) if device else ("path", path(row["src"], row["dst"]))
        known = odd.get(subject, (0, {"type": row["t"], **first_of(row)}))
        odd[subject] = (known[0] + count, known[1])
    for (kind, name), (count, told) in sorted(odd.items()):
        verdict = YES if kind == "device" and count >= FEW else CANNOT_TELL
        yield Found(kind, name, "other_buckets", verdict, count, {"frames": count, **told})


def fewest(scene: Scene) -> int | None:
    """The least compact value that is beyond the buckets of any device; None: there are none."""
    told = [
        device.csig for device in (scene.places.topology.devices if scene.places.topology else ())
    ]
    signals = [signal for csig in told if csig for signal in csig.signals]
    return min((len(s.buckets) - s.bounded for s in signals if s.buckets), default=None)


def beyond(scene: Scene, device: str | None, row: dict[str, Any]) -> bool:
    """Whether a compact value is beyond the buckets that the topology tells of its device."""
    topology, most, t = scene.places.topology, row["most_s"], row["t"]
    told = topology.device_by_name[device].csig if topology and device else None
    signal = told.signal(t) if told and isinstance(t, int) else None
    if signal is None or not signal.buckets or not isinstance(most, int):
        return False
    return most >= len(signal.buckets) - signal.bounded
