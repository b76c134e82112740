"""Encapsulated remote mirrors, ERSPAN types I, II and III (draft-foschiano-erspan-03, section 4).

    I          | in GRE without sequence number: nothing |
    II         | Ver 4 | VLAN 12 | COS 3 | En 2 | T 1 | session 10 | R 12 | index 20 |
    III        | Ver 4 | VLAN 12 | COS 3 | BSO 2 | T 1 | session 10 | timestamp 32 |
               | SGT 16 | P 1 | FT 5 | HwID 6 | D 1 | Gra 2 | O 1 |
    O, by      | platform 6 | ... 26 | ... 32 |
    platform 1 | R 14 | domain 12 | port 32 |
    3          | R 12 | port 14 | upper timestamp 32 |
    5, 6       | switch 10 | port 16 | seconds 32 |
    0, 7       | R 6 | port 20 | upper timestamp 32 |

What the mirror's own transport carried is forgotten.
"""

from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header

SPACES = {"erspan3": -CODE["unknown_ethertype"], "erspan_platform": 0}
DRAFT = "draft-foschiano-erspan-03 §4"
PLATFORMS = 64
"""Platform identifiers are numbers of six bits."""

_HEAD = (
    Field("vlan", 12, "VLAN of the copy."),
    Field("cos", 3, "Class of service of the copy."),
)
_SESSION = Field("session", 10, "Mirror session.", "mirror_session")
_PLATFORM = Field("platform", 6, "Which sub-header this is.")
_UPPER = Field("upper", 32, "Upper half of the timestamp.", "erspan_upper")
_COPY = (Branch("erspan_frame_type", 0, 0, select="erspan_frame_type", space="erspan3"),)

ERSPAN = Header(
    "erspan",
    f"{DRAFT}.1",
    (),
    doc="Type I in GRE without a sequence number, else type II.",
    branches=(Branch("_gre_present", 1, 0, to="erspan1"),),
    envelope="mirror",
    to="erspan2",
)
ERSPAN1 = Header(
    "erspan1",
    f"{DRAFT}.1",
    (),
    doc="Mirror without a header of its own.",
    envelope="mirror",
    layer="erspan",
    to="ethernet",
)
ERSPAN2 = Header(
    "erspan2",
    f"{DRAFT}.2",
    (
        Field("version", 4, "1."),
        *_HEAD,
        Field("encapsulation", 2, "Trunk of the copy: 2 802.1Q."),
        Field("truncated", 1, "The copy is cut."),
        _SESSION,
        Field("reserved", 12),
        Field("index", 20, "Port index.", "mirror_port"),
    ),
    doc="Mirror with session and port index.",
    checks=(Check("version", 1, 1, None),),
    otherwise="erspan3",
    envelope="mirror",
    layer="erspan",
    to="ethernet",
)
ERSPAN3 = Header(
    "erspan3",
    f"{DRAFT}.3",
    (
        Field("version", 4, "2."),
        *_HEAD,
        Field("bso", 2, "1 short, 2 oversized, 3 bad."),
        Field("truncated", 1, "The copy is cut."),
        _SESSION,
        Field("timestamp", 32, "In ticks of the granularity.", "erspan_timestamp"),
        Field("sgt", 16, "Security group of the copy."),
        Field("p", 1, "The copy is an Ethernet frame."),
        Field("frame_type", 5, "0 Ethernet, 2 IP.", "erspan_frame_type"),
        Field("hardware", 6, "Engine within the device."),
        Field("direction", 1, "0 ingress, 1 egress.", "mirror_direction"),
        Field(
            "granularity",
            2,
            "Tick: 0 100 us, 1 100 ns, 2 IEEE 1588, 3 user's.",
            "erspan_granularity",
        ),
        Field("optional", 1, "A sub-header follows.", "_erspan_optional"),
    ),
    doc="Mirror with session and timestamp.",
    checks=(Check("version", 2, 2, "bad_version"),),
    branches=(Branch("_erspan_optional", 1, 1, to="erspan_platform"),),
    next=("frame_type", "erspan3"),
    envelope="mirror",
    layer="erspan",
)
PLATFORM = Header(
    "erspan_platform",
    f"{DRAFT}.3",
    (_PLATFORM, Field("rest", 2)),
    doc="Looks at the platform identifier of a sub-header.",
    peek=True,
    layer="erspan",
    next=("platform", "erspan_platform"),
)


def subheader(name: str, doc: str, *fields: Field) -> Header:
    """An eight-octet sub-header; the copy follows."""
    return Header(
        name,
        f"{DRAFT}.3",
        (_PLATFORM, *fields),
        doc=doc,
        branches=_COPY,
        layer="erspan",
    )


def _port(bits: int) -> Field:
    """The field of a port that the copy was made at."""
    return Field("port", bits, "Port index.", "mirror_port")


SUBHEADERS = (
    subheader(
        "erspan_domain",
        "Sub-header of platform 1.",
        Field("reserved", 14),
        Field("domain", 12, "Virtual supervisor domain."),
        _port(32),
    ),
    subheader("erspan_wide", "Sub-header of platform 3.", Field("reserved", 12), _port(14), _UPPER),
    subheader(
        "erspan_seconds",
        "Sub-header of platforms 5 and 6.",
        Field("switch", 10),
        _port(16),
        Field("seconds", 32, "Seconds; the timestamp is their fraction.", "erspan_seconds"),
    ),
    subheader(
        "erspan_source", "Sub-header of platforms 0 and 7.", Field("reserved", 6), _port(20), _UPPER
    ),
    subheader(
        "erspan_reserved", "Any other sub-header.", Field("reserved", 26), Field("reserved2", 32)
    ),
)
BY_PLATFORM = {
    0: "erspan_source", 1: "erspan_domain", 3: "erspan_wide", 5: "erspan_seconds",
    6: "erspan_seconds", 7: "erspan_source",
}  # fmt: skip
HEADERS = (ERSPAN, ERSPAN1, ERSPAN2, ERSPAN3, PLATFORM, *SUBHEADERS)


def headers(_: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return HEADERS


def edges(_: CollectorSettings) -> dict[str, dict[int, str]]:
    """What a sub-header is, and what is mirrored; GRE names the protocols that lead here."""
    return {
        "erspan3": {0: "ethernet", 2: "raw_ip"},
        "erspan_platform": dict.fromkeys(range(PLATFORMS), "erspan_reserved") | BY_PLATFORM,
    }
