"""The keys of a topology file: one row each, from which it is read, written and documented."""

from dataclasses import dataclass
from typing import Any

from pipeline.csig_profile import SIGNALS
from pipeline.reserved import MOST_ID
from pipeline.unit import GIGABIT, MICROSECOND

MOST = 1 << 62
"""Largest number of a column."""
ORIENTATIONS = ("up", "down", "side", "host")
"""What a port may face."""
SIDES = ("ingress", "egress")
"""Of an interface, where a point sees packets."""
LAYOUTS = ("draft", "uec")


@dataclass(frozen=True, slots=True)
class Key:
    """One key: what its value may be and what it means.

    `kind` is text, whole, number (in columns a whole one), real, flag, time, a list (texts, wholes,
    reals, parts, list) or a mapping (mapping, sections: by name); `least` to `most` hold in the
    file's unit, of which one is `scale` of a column's. `field` is its name in the
    object that is read, where that is another. Without `required` it may be absent or null.
    """

    name: str
    kind: str
    doc: str
    least: float = 0
    most: float = MOST
    required: bool = False
    default: Any = None
    accepted: tuple[str, ...] = ()
    field: str = ""
    scale: int = 1

    @property
    def target(self) -> str:
        """Name of the value in the object."""
        return self.field or self.name

    def meaning(self) -> str:
        """What is accepted, in words."""
        if self.accepted:
            return ", ".join(self.accepted)
        bounded = self.kind in {"whole", "number"} and self.most < MOST / self.scale
        return f"{self.kind}, {self.least:.10g} to {self.most:.10g}" if bounded else self.kind


DELAY = 1_000_000_000
UNITS = {"abw": ("gbps", GIGABIT), "utilization": ("ratio", 1), "delay": ("us", MICROSECOND),
         "queue": ("ratio", 1)}  # fmt: skip
"""Unit of each signal in the file, and how much of a column's it is."""

FILE = (
    Key("version", "text", "Name of this version; answers say which one was in force.",
        default="1"),
    Key("valid_from", "time", "Since when it holds: ISO 8601 (UTC where no zone is told) or ns "
        "since 1970.", -MOST, field="valid_from_ns", default=0),
    Key("valid_from_ns", "whole", "The same in ns since 1970.", -MOST, default=0),
    Key("base_rtt_us", "number", "Round trip of the longest way without queues: HPCC++'s T.",
        0, MOST / MICROSECOND, field="base_rtt_ns", scale=MICROSECOND, default=0),
    Key("base_rtts", "list", "Round trips by pair of sites, beside that default."),
    Key("csig", "mapping", "What holds of CSIG for every device that says nothing else."),
    Key("tenants", "sections", "Tenants by name."),
    Key("devices", "sections", "Devices by name."),
    Key("hosts", "sections", "End hosts, or racks and sites by their prefixes, by name."),
    Key("points", "sections", "Observation points by their name in the column `point`."),
    Key("versions", "list", "Several versions: each a mapping of these keys; what one does not "
        "tell is taken from the file's top."),
)  # fmt: skip
DEVICE = (
    Key("node", "whole", "Id by which telemetry names the device.", 0, MOST_ID, required=True,
        field="node_id"),
    Key("stage", "text", "Stage of the fabric: tor, spine or core; words for them, as leaf, "
        "fabric, agg, superspine, T1, count as these.", default=""),
    Key("site", "text", "Site: a building, a region, whatever paths are told apart by.",
        default=""),
    Key("marks_ecn", "flag", "Whether its queues mark packets with CE."),
    Key("queue_unit_bytes", "whole", "Bytes per unit of queue occupancy in its INT metadata, on "
        "top of the setting `collector.int_occupancy_bytes`.", 1, 1 << 24),
    Key("t_us", "number", "The device's own T, by which Advanced ECN's inflight ratio is taken.",
        0.001, 1e9, field="t_ns", scale=MICROSECOND),
    Key("base_delay_ns", "whole", "Delay through the device without a queue, of ports that tell "
        "none of their own.", 0, DELAY),
    Key("csig", "mapping", "Its part in CSIG, key by key over that of the file."),
    Key("interfaces", "sections", "Egress ports by name."),
)  # fmt: skip
INTERFACE = (
    Key("port", "whole", "Id by which telemetry names the egress port.", 0, MOST_ID, required=True,
        field="port_id"),
    Key("capacity_gbps", "number", "What it can send; 0: unknown.", 0, MOST / GIGABIT,
        field="capacity_bps", scale=GIGABIT, default=0),
    Key("orientation", "text", "What it faces.", default="", accepted=ORIENTATIONS),
    Key("peer", "text", "What it leads to: DEVICE:INTERFACE, or a host's name.", default=""),
    Key("csig_lm", "whole", "Its locator in expanded tags, for all signals.", 0, 0xFFFF),
    Key("csig_lm_compact", "whole", "Its locator in compact tags, for all signals.", 0, 0xFFFF),
    Key("base_delay_ns", "whole", "Delay through the device to the line without a queue.",
        0, DELAY),
)  # fmt: skip
HOST = (
    Key("prefixes", "texts", "Addresses and prefixes; the longest match wins.", default=()),
    Key("attached", "text", "The port it hangs on, DEVICE:INTERFACE.", required=True),
    Key("nic_gbps", "number", "Line rate of its network card; 0: unknown.", 0, MOST / GIGABIT,
        field="nic_bps", scale=GIGABIT, default=0),
    Key("tenant", "text", "Tenant that owns the addresses, one of `tenants`.", default=""),
    Key("site", "text", "Its site, where that is not its device's.", default=""),
)  # fmt: skip
TENANT = (
    Key("vrfs", "texts", "Names of the routing instances that carry its addresses.", default=()),
    Key("vnis", "wholes", "Virtual networks that carry its addresses.", 0, (1 << 24) - 1,
        default=()),
)  # fmt: skip
POINT = (
    Key("device", "text", "Device of the tap.", default=""),
    Key("interface", "text", "Its interface.", default=""),
    Key("side", "text", "Whether packets are seen as they enter or as they leave.", default="",
        accepted=SIDES),
    Key("snaplen", "whole", "Octets that are kept of a frame.", 14, 1 << 20),
    Key("sampling", "whole", "One frame of so many is seen.", 1, 1 << 32),
    Key("clock_bound_us", "number", "How far its clock may be off.", 0, 1e9,
        field="clock_bound_ns", scale=MICROSECOND),
)  # fmt: skip
RTT = (
    Key("between", "texts", "Two sites; the same one twice: within it.", required=True,
        field="sites"),
    Key("base_rtt_us", "number", "Round trip between them without queues.", 0.001,
        MOST / MICROSECOND, required=True, field="base_rtt_ns", scale=MICROSECOND),
)  # fmt: skip
CSIG = (
    Key("updates", "flag", "Compares and replaces; otherwise tags pass untouched.", default=True),
    Key("strips", "flag", "Takes tags off.", default=False),
    Key("adds", "flag", "Puts tags on.", default=False),
    Key("layout", "text", "Bit layout of tags.", default="draft", accepted=LAYOUTS),
    Key("codes", "mapping", "Numbers of the classes in locators: below `stage` and `orientation` "
        "by name, below `capacity` by Gbit/s."),
    Key("signals", "mapping", f"By signal: {', '.join(SIGNALS)}."),
)  # fmt: skip
LOCATOR = (
    Key("lm", "parts", "Parts of the locator from its highest bit on: lists of name and bits.",
        field="parts", default=()),
    Key("default_lm", "whole", "Locator that senders write.", 0, 0xFFFF),
    Key("initial_s", "whole", "Signal value that senders write.", 0, 0xFFFFF),
)  # fmt: skip


def signal_keys(signal: str) -> tuple[Key, ...]:
    """The keys below a signal, whose values are in that signal's unit."""
    unit, scale = UNITS[signal]
    most = 1e18 / scale
    return (
        Key("supported", "flag", "Whether the device knows the signal.", default=True),
        Key("delta_t_us", "number", "Time over which it is measured.", 0.001, 1e9,
            field="delta_t_ns", scale=MICROSECOND),
        Key(f"buckets_{unit}", "reals", "Edges of compact buckets, half-open: each is the lower "
            "end of one, and the last is open.", 0, most, field="buckets", scale=scale,
            default=()),
        Key("bounded", "flag", "The last edge bounds the bucket before it.", default=False),
        Key(f"quantum_{unit}", "real", "Step of expanded values.", 1e-18, most, field="quantum",
            scale=scale),
        Key(f"base_{unit}", "real", "What expanded values start from.", -most, most,
            field="base", scale=scale),
        Key("compact", "mapping", "Locators of compact tags."),
        Key("expanded", "mapping", "Locators of expanded tags."),
    )  # fmt: skip


SECTIONS = {
    "file": FILE,
    "file.devices.NAME": DEVICE,
    "file.devices.NAME.interfaces.NAME": INTERFACE,
    "file.hosts.NAME": HOST,
    "file.tenants.NAME": TENANT,
    "file.points.NAME": POINT,
    "file.base_rtts[]": RTT,
    "file.csig, file.devices.NAME.csig": CSIG,
    **{f"….csig.signals.{name}": signal_keys(name) for name in SIGNALS},
    "….csig.signals.NAME.compact, .expanded": LOCATOR,
}
"""Every section of the file with its keys."""
