"""CSIG locators of ports: as they were told, or as the layout of their device makes them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from pipeline.csig_profile import SIGNALS, VARIANTS, Csig
from pipeline.interface import Device, Interface

TOLD = {"compact": "csig_lm_compact", "expanded": "csig_lm"}
"""Fields of an interface that name its locator, whatever the signal."""
COLUMNS = {"variant": pl.UInt8, "t": pl.UInt8, "lm": pl.UInt16, "node": pl.UInt32,
           "port": pl.UInt32, "capacity_bps": pl.Int64}  # fmt: skip


def locator_table(
    interfaces: Iterable[Interface], devices: Mapping[str, Device]
) -> pl.DataFrame:  # fmt: skip
    """Rows variant, t, lm, node, port, capacity_bps, and `ports`: how many share the locator."""
    rows = [row for port in interfaces for row in locators(port, devices[port.device].csig)]
    named = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    return named.with_columns(pl.len().over("variant", "t", "lm").alias("ports"))


def locators(port: Interface, csig: Csig | None) -> Iterator[tuple[int | None, ...]]:
    """Each locator of one port: of the signals that its device updates."""
    updated = [kind for kind in range(len(SIGNALS)) if csig is None or csig.updated(kind)]
    known = known_of(port)
    for variant, number in VARIANTS.items():
        told = getattr(port, TOLD[variant])
        for kind in updated:
            if told is not None:
                made: tuple[int, ...] = (told,)
            else:
                made = csig.locators(kind, variant, known) if csig else ()
            for lm in made:
                yield number, kind, lm, *port.hop, port.capacity_bps or None


def known_of(port: Interface) -> dict[str, Any]:
    """What parts of a locator may tell of a port."""
    return {"port": port.port_id, "device": port.node_id, "stage": port.stage,
            "orientation": port.orientation, "capacity": port.capacity_bps}  # fmt: skip
