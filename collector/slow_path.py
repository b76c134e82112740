"""The slow path: frames that the tables do not know are read by tshark, and join the others."""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector.decoder import Accounting, Decoder
from collector.frame import Frames
from collector.layer import BIT
from collector.observation import SCHEMA
from collector.observe import observe
from collector.settings import CollectorSettings
from collector.shark import dissected
from collector.status import CODE, STATUS
from collector.walked import Walked

UNKNOWN = ("unknown_link_type", "unknown_ethertype", "bad_version", "too_many_layers")
"""How frames end that another dissector may know more of; others are damaged or have said all."""
NETWORK = {
    "ip": {"dscp": "ip.dsfield.dscp", "ecn": "ip.dsfield.ecn", "ttl": "ip.ttl", "ip_id": "ip.id",
           "protocol": "ip.proto"},
    "ipv6": {"dscp": "ipv6.tclass.dscp", "ecn": "ipv6.tclass.ecn", "ttl": "ipv6.hlim",
             "flow_label": "ipv6.flow", "protocol": "ipv6.nxt"},
}  # fmt: skip
"""Columns of the walk by the filter names of Wireshark's network layers."""
TRANSPORT = {
    "tcp": {"sport": "tcp.srcport", "dport": "tcp.dstport", "seq": "tcp.seq_raw",
            "ack": "tcp.ack_raw", "flags": "tcp.flags", "window": "tcp.window_size_value",
            "payload_bytes": "tcp.len"},
    "udp": {"sport": "udp.srcport", "dport": "udp.dstport", "payload_bytes": "udp.length"},
}  # fmt: skip
"""The same of its transports; a UDP length counts its header."""
FRAMES = ("eth", "erspan")
"""Layers with which a frame begins anew."""
NUMBERS = {"tcp": 6, "udp": 17}
UDP_HEADER = 8
FLAGS = 0x1FF
"""Flags without the reserved bits that Wireshark counts among them."""
TRANSPORTED = 1 << BIT["tcp"] | 1 << BIT["udp"]
MAPPED = 0xFFFF << 32
"""Low word of ::ffff:0.0.0.0."""
HALF = 64
LOW = (1 << HALF) - 1
ALWAYS = ("src_hi", "src_lo", "dst_hi", "dst_lo", "sport", "dport", "protocol", "payload_bytes",
          "status", "layers", "hop_count")  # fmt: skip
"""Columns that every row has: 0 where nothing is said."""
NAMES = sorted({
    *ALWAYS,
    *(name for layers in (NETWORK, TRANSPORT) for names in layers.values() for name in names),
})  # fmt: skip


class SlowAccounting(Accounting):
    """Frames by how the walk ended, as always, and what became of those that tshark was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.slow_path = {"asked": 0, "found": 0, "left": 0}
        """Frames handed to tshark, told a flow by it, and left because there were too many."""


class SlowPath(Decoder):
    """A decoder that asks tshark about frames that it does not know, `most` of them in all."""

    accounting: SlowAccounting

    def __init__(self, settings: CollectorSettings, most: int) -> None:
        super().__init__(settings)
        self.accounting = SlowAccounting()
        self.most = most

    def decode(self, frames: Frames, points: list[str], source: str) -> pl.DataFrame:
        """Observations of all frames whose flow is known, to the tables or to tshark.

        Raises SharkError when tshark cannot be asked.
        """
        walked = self.walk.walk(frames)
        endings = np.bincount(walked.status)
        self.accounting.add({STATUS[code][0]: int(n) for code, n in enumerate(endings)})
        known = observe(walked, frames, points, source, self.settings, self.walk.arena)
        rows = undecoded(walked)
        counted = self.accounting.slow_path
        asked = rows[: self.most - counted["asked"]]
        counted["asked"] += len(asked)
        counted["left"] += len(rows) - len(asked)
        if not len(asked):
            return known
        found = self.ask(frames, asked, walked)
        counted["found"] += len(found.row)
        if not len(found.row):
            return known
        told = observe(found, frames, points, source, self.settings, self.walk.arena)
        both = pl.concat([known, told], how="diagonal").sort("frame", maintain_order=True)
        return both.select(name for name in SCHEMA if name in both.columns)

    def ask(self, frames: Frames, rows: NDArray[np.int64], walked: Walked) -> Walked:
        """What tshark says of these frames, as the walk would have said it."""
        found = {
            row: dict.fromkeys(ALWAYS, 0) | told | {"status": int(walked.status[row])}
            for row, packet in dissected(frames, rows, self.settings)
            if (told := columns(packet.layers))
        }
        order = sorted(found)
        raw = pl.DataFrame(
            {name: [found[row].get(name) for row in order] for name in NAMES},
            schema={name: SCHEMA[name] for name in NAMES},
        )
        return Walked(raw, np.array(order, np.int64), walked.status)


def undecoded(walked: Walked) -> NDArray[np.int64]:
    """Places of frames whose end another dissector may explain, and whose flow is not known."""
    codes = [CODE[name] for name in UNKNOWN]
    unknown = np.isin(walked.status, codes)
    unknown[walked.row] = False
    return np.flatnonzero(unknown)


def columns(layers: Iterable[Any]) -> dict[str, int]:
    """Columns of the innermost flow among a packet's layers; none without an address.

    What lies in front of an inner frame or IP header belongs to the envelope and is forgotten: a
    mirrored frame without a flow gives none.
    """
    told: dict[str, int] = {}
    for layer in layers:
        name = layer.layer_name
        if name in FRAMES:
            told = {}
        elif name in NETWORK:
            told = _network(layer, name)
        elif name in TRANSPORT and told and not told["layers"] & TRANSPORTED:
            told |= _fields(layer, TRANSPORT[name]) | {"protocol": NUMBERS[name]}
            told["layers"] |= 1 << BIT[name]
            if name == "udp":
                told["payload_bytes"] = max(told.get("payload_bytes", 0) - UDP_HEADER, 0)
    return told


def _network(layer: Any, name: str) -> dict[str, int]:
    """Columns of an IP header; none when its addresses were not captured."""
    if layer.get_field(f"{name}.dst") is None:
        return {}
    told = _fields(layer, NETWORK[name]) | {"layers": 1 << BIT["ipv4" if name == "ip" else "ipv6"]}
    for end in ("src", "dst"):
        address = ipaddress.ip_address(str(layer.get_field(f"{name}.{end}")))
        number = int(address) | (MAPPED if name == "ip" else 0)
        told[f"{end}_hi"], told[f"{end}_lo"] = number >> HALF, number & LOW
    size = layer.get_field("ip.len" if name == "ip" else "ipv6.plen")
    head = layer.get_field("ip.hdr_len")
    told["payload_bytes"] = max(int(str(size or 0)) - int(str(head or 0)), 0)
    return told


def _fields(layer: Any, names: Mapping[str, str]) -> dict[str, int]:
    """Numbers of a layer by column; its own fields come first, whatever a layer repeats."""
    found = ((column, layer.get_field(name)) for column, name in names.items())
    told = {column: int(str(value), 0) for column, value in found if value is not None}
    return told | ({"flags": told["flags"] & FLAGS} if "flags" in told else {})
