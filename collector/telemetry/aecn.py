"""AECN values in units. A frame with several AECN options says what the last of them says."""

from functools import reduce
from operator import add, or_

import polars as pl

from collector.settings import CollectorSettings
from collector.telemetry.raw import Raw
from collector.wire.aecn import BITMAP, CUSTOMISED, INFOS, TYPE_BITS

UNITS = {
    "inflight_ratio": ("aecn_u", "aecn_inflight_scale"),
    "dre": ("aecn_dre_ratio", "aecn_dre_scale"),
    "queue_utilization": ("aecn_queue_ratio", "aecn_queue_scale"),
    "queue_delay": ("aecn_queue_delay_ns", "aecn_queue_delay_ns"),
    "available_bandwidth": ("aecn_abw_bps", "aecn_bandwidth_bps"),
}
"""By info: its column in a unit, and the setting that says how much one step is."""


def columns(raw: Raw, settings: CollectorSettings) -> dict[str, pl.Expr]:
    """Each info as it is and in its unit, which are saturated, flags, and what cannot be read."""
    if not raw.has("aecn_form"):
        return {}
    infos = {
        name: info(bit, name, settings)
        for bit, (name, _) in enumerate(INFOS)
        if raw.has(f"aecn_{name}")
    }
    told = {f"aecn_{name}": value for name, value in infos.items()}
    for name, value in infos.items():
        if name in UNITS:
            column, scale = UNITS[name]
            told[column] = value.cast(pl.Float64) * getattr(settings, scale)
    if infos:
        told["aecn_saturated"] = saturated(infos, settings)
    if raw.has("aecn_other_flags"):
        told["aecn_flags"] = flags(raw, settings)
    if raw.has("aecn_rest"):
        told["aecn_rest"] = pl.when(pl.col("aecn_rest_bytes") > 0).then(pl.col("aecn_rest"))
    return told


def info(bit: int, name: str, settings: CollectorSettings) -> pl.Expr:
    """One info, null where the type does not name it."""
    place = TYPE_BITS - 1 - bit if settings.aecn_numbering == "msb" else bit
    named = pl.col("aecn_type") & (1 << place) != 0
    return pl.when((pl.col("aecn_form") == BITMAP) & named).then(pl.col(f"aecn_{name}"))


def saturated(infos: dict[str, pl.Expr], settings: CollectorSettings) -> pl.Expr:
    """Infos that may be larger than they say, as bits: type bit 0 is the lowest.

    Null without any info.
    """
    bits = [pl.lit(0)]
    for bit, (name, _) in enumerate(INFOS):
        if name in infos and bit in settings.aecn_saturation:
            full = infos[name] >= settings.aecn_saturation[bit]
            bits.append(pl.when(full).then(1 << bit).otherwise(0))
    known = reduce(or_, (value.is_not_null() for value in infos.values()))
    return pl.when(known).then(reduce(add, bits))


def flags(raw: Raw, settings: CollectorSettings) -> pl.Expr:
    """The flags as on the wire; of a customised option the table tells bit 7 from the others."""
    other = pl.col("aecn_other_flags").cast(pl.UInt16)
    msb = (settings.aecn_flags_numbering or settings.aecn_numbering) == "msb"
    own = pl.when(pl.col("aecn_form") == CUSTOMISED).then(other * 2 + 1 if msb else other + 0x80)
    return own.otherwise(pl.col("aecn_flags")) if raw.has("aecn_flags") else own
