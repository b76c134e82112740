"""Observations and interval rows made by hand, and small topologies."""

from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

from collector.columns import KEY
from collector.flow_key import flow_keys, salt
from collector.observation import SCHEMA
from pipeline import TABLES, Host, Interface, Topology, address_words
from pipeline.known_flows import flow_rows

Rows = Iterable[Mapping[str, Any]]
GBPS = 10**9
DEFAULTS = {
    "time_ns": 0, "source": "a", "point": "leaf1:Ethernet1", "status": 0, "layers": 0,
    "tenant": "", "vrf": "", "vni": None, "src": "10.1.0.1", "dst": "10.2.0.1", "sport": 1000,
    "dport": 2000, "protocol": 6, "ecn": 0, "flags": 16, "seq": 0, "ack": 0,
    "payload_bytes": 1000, "hop_count": 0,
}  # fmt: skip


def observations(rows: Rows) -> pl.DataFrame:
    """Observations with the columns that the rows give, `DEFAULTS` and what follows from both."""
    given = [{**DEFAULTS, "frame": at, **row} for at, row in enumerate(rows, start=1)]
    for row in given:
        for end in ("src", "dst"):
            row[f"{end}_hi"], row[f"{end}_lo"] = address_words(ip_address(row.pop(end)))
        row.setdefault("length", row["payload_bytes"] + 54)
        row.setdefault("ip_id", row["frame"] & 0xFFFF)
    told = {name for row in given for name, value in row.items() if value is not None}
    names = [name for name in SCHEMA if name in told]
    frame = pl.DataFrame(given, schema={name: SCHEMA[name] for name in names}, strict=False)
    return frame.with_columns(**identities(frame)) if given else frame


def identities(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """conversation, flow and direction of keys."""
    size = frame.height
    key = [frame[name].to_numpy() for name in KEY]
    conversation, flow = np.empty(size, np.uint64), np.empty(size, np.uint64)
    direction = np.empty(size, np.uint8)
    none = np.zeros(size, np.uint32)
    flow_keys(*key, none, none, salt("", ""), conversation, flow, direction)
    return {
        "conversation": pl.Series(conversation),
        "flow": pl.Series(flow),
        "direction": pl.Series(direction),
    }


def flows(rows: Rows) -> pl.DataFrame:
    """Rows of the table flows for keys."""
    known = flow_rows(observations(rows))
    return pl.concat([TABLES["flows"].schema.to_frame(), known], how="diagonal_relaxed")


def table(name: str, rows: Rows) -> pl.DataFrame:
    """Rows of a table of the store."""
    return pl.DataFrame(list(rows), schema=TABLES[name].schema, strict=False)


def chain(*devices: str, lm: int = 0) -> Topology:
    """One host at either end of a chain of devices: port 1 faces on, port 2 back, 3 the host."""
    ports = []
    for near, far in pairwise(devices):
        for device, name, peer, peer_name in ((near, "on", far, "back"), (far, "back", near, "on")):
            ports.append((device, name, peer, peer_name))
    ends = [(devices[0], "host", "h1", ""), (devices[-1], "host", "h2", "")]
    numbers = {"on": 1, "back": 2, "host": 3}
    return Topology(
        version="chain",
        valid_from_ns=0,
        base_rtt_ns=10_000,
        interfaces=tuple(
            Interface(
                device=device,
                name=name,
                node_id=devices.index(device) + 1,
                port_id=numbers[name],
                capacity_bps=10 * GBPS,
                stage="tor" if device in (devices[0], devices[-1]) else "spine",
                orientation="host" if name == "host" else "up" if name == "on" else "down",
                peer_device=peer,
                peer_interface=peer_name,
                csig_lm=lm or (devices.index(device) + 1) * 256 + numbers[name],
                csig_lm_compact=(lm or devices.index(device) * 4) + numbers[name],
            )
            for device, name, peer, peer_name in (*ports, *ends)
        ),
        hosts=(
            Host("h1", ("10.1.0.0/16", "fd00:1::/32"), devices[0], "host", 10 * GBPS),
            Host("h2", ("10.2.0.0/16",), devices[-1], "host", 10 * GBPS),
        ),
    )


@pytest.fixture(scope="session")
def observed() -> Callable[[Rows], pl.DataFrame]:
    return observations


@pytest.fixture(scope="session")
def flows_of() -> Callable[[Rows], pl.DataFrame]:
    return flows


@pytest.fixture(scope="session")
def rows_of() -> Callable[[str, Rows], pl.DataFrame]:
    return table


@pytest.fixture(scope="session")
def chain_of() -> Callable[..., Topology]:
    return chain
