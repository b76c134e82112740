"""sFlow version 5: samples of frames as one more feed (sflow.org, sFlow Version 5, section 5).

datagram        | 5 32 | address type 32 | agent 32 or 128 | sub-agent 32 | sequence 32 |
                | uptime 32 | samples 32 | samples ...
flow sample     | type 1 32 | length 32 | sequence 32 | class 8 | index 24 | rate 32 | pool 32 |
                | drops 32 | input 32 | output 32 | records 32 | records ...
expanded sample | type 3 32 | length 32 | sequence 32 | class 32 | index 32 | rate 32 | pool 32 |
                | drops 32 | input format 32 | input 32 | output format 32 | output 32 |
                | records 32 | records ...
raw header      | type 1 32 | length 32 | protocol 32 | frame length 32 | stripped 32 | octets 32 |

A header for which the lengths around it have no room ends by name. Every sample is a row of its
own, as long as the sample says that its frame was (with the frame check sequence where the agent
counts that); counter samples and other records are skipped. Type is enterprise 20 and format 12.
The datagram is an envelope of copies: what its own transport carried is forgotten.
"""

from dataclasses import replace

from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header, Length

SPACES = {"sflow_protocol": -CODE["unknown_ethertype"]}
SPECIFICATION = "sFlow Version 5 §5"
VERSION = 5
FLOW, EXPANDED, RAW_HEADER = 1, 3, 1
"""Types of samples and of records that are read."""
LONGEST = 0xFFFF
"""No length is longer than a UDP datagram."""
WHOLE = 0xFFFF_FFFF
NEVER = 1 << 32
"""No length: one of 0 octets is meant."""


DATAGRAM = Header(
    "sflow",
    SPECIFICATION,
    (
        Field("version", 32, "5."),
        Field("address_type", 32, "Of the agent: 0 none, 1 IPv4, 2 IPv6.", "_sflow_address"),
    ),
    doc="Datagram of an agent.",
    checks=(
        Check("version", VERSION, VERSION, None),
        Check("address_type", 0, 2, "sflow_bad_length"),
    ),
    branches=(
        Branch("_sflow_address", WHOLE, 1, to="sflow_agent4"),
        Branch("_sflow_address", WHOLE, 2, to="sflow_agent6"),
    ),
    envelope="mirror",
    to="sflow_datagram",
)
AGENT4 = Header(
    "sflow_agent4",
    SPECIFICATION,
    (Field("agent", 32, "Address of the agent.", "mirror_agent_lo", 0xFFFF_0000_0000),),
    doc="Agent with an IPv4 address.",
    layer="sflow",
    inherited=True,
    to="sflow_datagram",
)
AGENT6 = Header(
    "sflow_agent6",
    SPECIFICATION,
    (
        Field("agent_high", 64, "Address of the agent, high half.", "mirror_agent_hi"),
        Field("agent_low", 64, "Address of the agent, low half.", "mirror_agent_lo"),
    ),
    doc="Agent with an IPv6 address.",
    layer="sflow",
    inherited=True,
    to="sflow_datagram",
)
HEAD = Header(
    "sflow_datagram",
    SPECIFICATION,
    (
        Field("sub_agent", 32),
        Field("sequence", 32, "Sequence number of the datagram."),
        Field("uptime", 32, "Milliseconds."),
        Field("samples", 32),
    ),
    doc="Rest of the datagram's header.",
    layer="sflow",
    to="sflow_sample",
)
SAMPLE = Header(
    "sflow_sample",
    SPECIFICATION,
    (Field("type", 32, "1 flow, 3 expanded flow; others are skipped.", "_sflow_sample"),),
    doc="Looks at the type of a sample.",
    peek=True,
    branches=(
        Branch("_sflow_sample", WHOLE, FLOW, to="sflow_flow"),
        Branch("_sflow_sample", WHOLE, EXPANDED, to="sflow_expanded"),
    ),
    layer="sflow",
    to="sflow_other",
)


def sample(name: str, doc: str, *fields: Field) -> Header:
    """A sample of any type."""
    octets = sum(field.bits for field in fields) // 8
    return Header(
        name,
        SPECIFICATION,
        (Field("type", 32), Field("length", 32, "Octets that follow."), *fields),
        doc=doc,
        extent=Length("length", 1, 8, open=NEVER),
        checks=(Check("length", octets, LONGEST, "sflow_bad_length"),),
        again="sflow_sample",
        layer="sflow",
        to="sflow_record" if fields else None,
    )


_RATE = (
    Field("rate", 32, "One frame in so many is sampled.", "sampling_rate"),
    Field("pool", 32, "Frames that could have been sampled."),
    Field("drops", 32, "Samples lost for want of resources."),
)
SAMPLES = (
    sample(
        "sflow_flow",
        "Sample of a frame.",
        Field("sequence", 32),
        Field("source_class", 8, "0: an interface."),
        Field("source_index", 24),
        *_RATE,
        Field("input", 32, "Interface that the frame came in by.", "mirror_port"),
        Field("output", 32),
        Field("records", 32),
    ),
    sample(
        "sflow_expanded",
        "Sample of a frame where interface numbers are large.",
        Field("sequence", 32),
        Field("source_class", 32, "0: an interface."),
        Field("source_index", 32),
        *_RATE,
        Field("input_format", 32),
        Field("input", 32, "Interface that the frame came in by.", "mirror_port"),
        Field("output_format", 32),
        Field("output", 32),
        Field("records", 32),
    ),
    sample("sflow_other", "Counters and whatever else is not a frame."),
)
RECORD = Header(
    "sflow_record",
    SPECIFICATION,
    (Field("type", 32, "1 raw header; others are skipped.", "_sflow_record"),),
    doc="Looks at the type of a record.",
    peek=True,
    branches=(Branch("_sflow_record", WHOLE, RAW_HEADER, to="sflow_raw"),),
    layer="sflow",
    to="sflow_skipped",
)
RAW = Header(
    "sflow_raw",
    SPECIFICATION,
    (
        Field("type", 32, "1."),
        Field("length", 32, "Octets that follow."),
        Field("protocol", 32, "1 Ethernet, 7 PPP, 11 IPv4, 12 IPv6, 13 MPLS."),
        Field("frame_length", 32, "Octets of the frame on the wire.", "mirror_length"),
        Field("stripped", 32, "Octets that were taken off before."),
        Field("header_length", 32, "Octets of the frame that follow."),
    ),
    doc="First octets of a frame.",
    extent=Length("header_length", 1, 24, open=NEVER),
    checks=(
        Check("length", 16, LONGEST, "sflow_bad_length"),
        Check("header_length", 0, LONGEST, "sflow_bad_length"),
    ),
    layer="sflow",
    next=("protocol", "sflow_protocol"),
)
SKIPPED = Header(
    "sflow_skipped",
    SPECIFICATION,
    (Field("type", 32), Field("length", 32, "Octets that follow.")),
    doc="A record that is no raw header.",
    length=Length("length", 1, 8),
    checks=(Check("length", 0, LONGEST, "sflow_bad_length"),),
    layer="sflow",
    to="sflow_record",
)
HEADERS = (AGENT4, AGENT6, HEAD, SAMPLE, *SAMPLES, RECORD, RAW, SKIPPED)


def headers(_: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return DATAGRAM, *(replace(each, short="sflow_bad_length") for each in HEADERS)


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """Ports of sFlow, and what a sample's first octets are."""
    return {
        "udp_port": dict.fromkeys(settings.sflow_udp_ports, "sflow"),
        "sflow_protocol": {1: "ethernet", 7: "ppp", 11: "ipv4", 12: "ipv6", 13: "mpls"},
    }
