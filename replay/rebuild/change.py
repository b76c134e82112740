"""Changes: a scene with other parameters of its senders, another algorithm, or another fabric."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from pipeline import Value
from replay.rebuild.demand import ENDLESS
from replay.rebuild.scene import ALGORITHMS, DCTCP, Scene


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing of the fabric that may be changed: what its number is, and what it may be."""

    name: str
    doc: str
    low: float
    high: float


SETTINGS = (
    Setting("mark_bytes", "K of every port, bytes", 0, 1e12),
    Setting("buffer_bytes", "what every port's buffer holds, bytes", 1, 1e12),
    Setting("rate", "factor of the rate of all ports of switches", 1e-3, 1e3),
    Setting("delay", "factor of all round trips without queues", 1e-3, 1e3),
    Setting("demand", "factor of what is offered", 1e-3, 1e3),
)
"""What `fabric.NAME` changes."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is changed: parameters by algorithm, settings of the fabric, the algorithm of all."""

    parameters: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    fabric: Mapping[str, float] = field(default_factory=dict)
    algorithm: str | None = None


def fabric_value(name: str, text: str) -> float:
    """The number of a setting of the fabric; ValueError says what is accepted."""
    known = {setting.name: setting for setting in SETTINGS}
    if name not in known:
        raise ValueError(f"fabric has no {name!r}; accepted are {', '.join(known)}")
    setting = known[name]
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not setting.low <= number <= setting.high:
        raise ValueError(
            f"fabric.{name} ({setting.doc}) takes a number from {setting.low:g} to"
            f" {setting.high:g}, not {text!r}"
        )
    return number


def changed(scene: Scene, change: Change) -> Scene:
    """The scene with a change. ValueError where another algorithm lacks what it needs."""
    parameters = {name: dict(told) for name, told in scene.parameters.items()}
    for name, told in change.parameters.items():
        parameters.setdefault(name, {}).update(told)
    flows, ports, offers = scene.flows, scene.ports, scene.offers
    if change.algorithm is not None:
        if change.algorithm not in ALGORITHMS:
            raise ValueError(
                f"algorithm {change.algorithm!r} cannot be played; {', '.join(ALGORITHMS)} can"
            )
        flows = flows.with_columns(algorithm=pl.lit(change.algorithm))
    for name, number in change.fabric.items():
        if name in ("mark_bytes", "buffer_bytes"):
            column = {"mark_bytes": "mark_bytes", "buffer_bytes": "room_bytes"}[name]
            ports = ports.with_columns(pl.lit(round(number), pl.Int64).alias(column))
        elif name == "rate":
            scaled = (pl.col("bps", "line_bps") * number).round().cast(pl.Int64)
            ports = ports.with_columns(scaled)
        elif name == "delay":
            flows = flows.with_columns((pl.col("base_ns", "t_ns") * number).round().cast(pl.Int64))
        else:
            limit, total = pl.col("limit"), (pl.col("total") * number).round().cast(pl.Int64)
            more = (limit * number).round().cast(pl.Int64)
            offers = offers.with_columns(limit=pl.when(limit < ENDLESS).then(more).otherwise(limit))
            flows = flows.with_columns(total=total)
    marks = ports["mark_bytes"].drop_nulls().len() > 0
    if change.algorithm == DCTCP and not marks:
        raise ValueError("DCTCP needs marks, and none were seen: say fabric.mark_bytes=BYTES too")
    return replace(scene, flows=flows, ports=ports, offers=offers, parameters=parameters)
