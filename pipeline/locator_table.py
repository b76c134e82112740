"""CSIG locators of ports: as they were told, or as the layout of their device makes them."""

from collections.abc import Iterable, Iterator, Mapping

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
    known = {"port": port.port_id, "device": port.node_id, "stage": port.stage,
             "orientation": port.orientation, "capacity": port.capacity_bps}  # fmt: skip
    for variant, number in VARIANTS.items():
        told = getattr(port, TOLD[variant])
        for kind in updated:
            made = csig.locator(kind, variant, known) if told is None and csig else told
            if made is not None:
                yield number, kind, made, *port.hop, port.capacity_bps or None
