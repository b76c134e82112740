"""Carriage: how the frames of each kind of telemetry are built, and what its flows do meanwhile.

One row a kind, by the code that `world.TELEMETRY` gives it. A frame of data is, in this order,

    Ethernet | tag | IP | option or `around` | transport | stack and records | payload

and where a flow is in a tunnel, what switches read and write stands outside of it:

    Ethernet | tag | IP | option or `around` | UDP | stack and records | tunnel | Ethernet | ...
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from collector import TCP, UDP
from replay.state import (
    ACCECN,
    ACK,
    AECN,
    CSIG_COMPACT,
    CSIG_EXPANDED,
    DATA,
    ECN,
    HPCC_INT,
    IFA,
    INT,
    INT_1,
    IOAM,
    MX,
    NONE,
    POSTCARDS,
    POSTCARDS_05,
    POSTCARDS_1,
    ROCE,
    SINK,
    TCP_INT,
)
from replay.world import TELEMETRY, Telemetry

INT_MD = ("int_shim", "int_md")
REPORT_2 = ("report_group", "report_int", "report_saw")
IFA_PROTOCOL = 253
EXPEDITED = 46
"""DSCP of urgent data (RFC 3246)."""


@dataclass(frozen=True, slots=True)
class Carriage:
    """One kind of telemetry; the names are those of wire tables, of records those of `Layouts`."""

    acts: int
    """The kind as which switches and senders treat it: one of the first ten."""
    version: int = 4
    transport: Literal["tcp", "roce", "hpcc"] = "tcp"
    tag: str = ""
    option: str = ""
    """How `Layouts` calls the IPv6 option of data."""
    around: str = ""
    """What stands before the transport, which has its number then."""
    stack: tuple[str, ...] = ()
    record: str = ""
    """What each hop adds behind the stack's headers."""
    on: tuple[int, ...] = (DATA,)
    """Kinds of packets with a stack."""
    announced: bool = False
    """Whether the DSCP says that a stack follows."""
    options: Mapping[int, str] = field(default_factory=dict)
    """TCP option by kind of packet."""
    reports: Literal["", "last", "each"] = ""
    """Which switches on the way report the packet."""
    report: tuple[str, ...] = ()
    """Headers of such a report."""
    grows: tuple[int, ...] = ()
    """Kinds of packets that say something of each hop which they, or the data that they answer,
    have passed."""
    names: bool = False
    """Whether they say which ports these were."""
    needs: tuple[str, ...] = ()
    """Settings of the collector that must name a value."""

    @property
    def protocol(self) -> int:
        """Protocol of its flows."""
        return TCP if self.transport == "tcp" else UDP


BOTH = (DATA, ACK)
CARRIAGES: dict[int, Carriage] = {
    INT: Carriage(INT, stack=INT_MD, record="int_hop", on=BOTH, announced=True, grows=BOTH,
                  names=True),
    CSIG_COMPACT: Carriage(CSIG_COMPACT, tag="csig_compact", options={ACK: "csig_echo_compact"}),
    CSIG_EXPANDED: Carriage(CSIG_EXPANDED, tag="csig_expanded",
                            options={ACK: "csig_echo_expanded"}),
    AECN: Carriage(AECN, version=6, option="aecn_option", needs=("aecn_option_types",)),
    ECN: Carriage(ECN),
    NONE: Carriage(NONE),
    IFA: Carriage(IFA, around="ifa_over_tcp", stack=("ifa_metadata",), record="ifa_hop",
                  grows=(DATA,), names=True),
    IOAM: Carriage(IOAM, version=6, option="trace", grows=(DATA,), names=True,
                   needs=("ioam_option_types",)),
    SINK: Carriage(SINK, stack=INT_MD, record="int_hop", announced=True, reports="last",
                   report=("report_group", "report_inner"), needs=("report_udp_ports",)),
    POSTCARDS: Carriage(POSTCARDS, reports="each", report=REPORT_2, needs=("report_udp_ports",)),
    INT_1: Carriage(IFA, stack=("int_v1_shim_dscp", "int_v1_md"), record="int_v1_hop",
                    announced=True, grows=(DATA,), names=True),
    MX: Carriage(POSTCARDS, stack=("int_shim", "int_mx"), announced=True, reports="each",
                 report=REPORT_2, needs=("report_udp_ports",)),
    POSTCARDS_1: Carriage(POSTCARDS, reports="each", report=("report_1", "report_saw_1"),
                          needs=("report_udp_ports",)),
    POSTCARDS_05: Carriage(POSTCARDS, reports="each", report=("report_05", "report_05_local"),
                           needs=("report_udp_ports",)),
    TCP_INT: Carriage(POSTCARDS, options={DATA: "tcp_int", ACK: "tcp_int"}, grows=BOTH),
    ROCE: Carriage(INT, transport="roce", stack=INT_MD, record="int_hop", on=BOTH, announced=True,
                   grows=BOTH, names=True, needs=("roce_udp_ports",)),
    HPCC_INT: Carriage(INT, transport="hpcc", grows=BOTH,
                       needs=("hpcc_udp_ports", "hpcc_ack_protocols")),
    ACCECN: Carriage(ECN, options={ACK: "accecn_e0b_3"}),
}  # fmt: skip
"""What may be carried. Reports name their switches, CSIG's locators are looked at one by one."""
NAMES: dict[Telemetry, Carriage] = {name: CARRIAGES[code] for code, name in enumerate(TELEMETRY)}


@dataclass(frozen=True, slots=True)
class Tunnel:
    """An overlay: what announces it, and its headers."""

    port: int | None
    """UDP destination port; none: it is a protocol of its own."""
    table: str
    int_shim: str = "int_shim"
    around: str = "ifa_over_udp"
    """The table of IFA's head there; without one it is not carried."""


GRE_PROTOCOL, BRIDGED = 47, 0x6558
TUNNELS = (
    None,
    Tunnel(4789, "vxlan"),
    Tunnel(6081, "geneve"),
    Tunnel(None, "gre", "int_shim_gre", ""),
)
"""By the code of `world.OVERLAYS`: nothing, VXLAN (RFC 7348), Geneve (RFC 8926), GRE (RFC 2890)."""


GROWING = {
    packet: tuple(code for code, each in CARRIAGES.items() if packet in each.grows)
    for packet in BOTH
}
"""Kinds by the kind of packet that grows from hop to hop."""
REPORTING = tuple(code for code, each in CARRIAGES.items() if each.reports)
EACH_HOP = tuple(code for code, each in CARRIAGES.items() if each.reports == "each")
NAMING = tuple(code for code, each in CARRIAGES.items() if each.names)
SILENT = (NONE, *EACH_HOP)
"""Kinds whose packets say nothing themselves."""
