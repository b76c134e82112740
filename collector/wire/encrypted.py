"""Encrypted payloads, of which the security parameters index is read: ESP (RFC 4303) and PSP.

ESP            | SPI 32 | sequence 32 | encrypted |
ESP in UDP     | SPI 32, not 0 | sequence 32 | encrypted |           0: key exchange (RFC 3948)
PSP            | next header 8 | length 8 | R 2 | crypt offset 6 | S D 2 | version 4 | V 1 | 1 1 |
               | SPI 32 | IV 64 | with V: cookie 64 | encrypted | ICV 128 |

A flow of ESP is its addresses and the SPI. PSP's UDP source port is entropy, so both ports are
given as PSP's own: data and acknowledgments then meet.
"""

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header, Length

PSP_PORT = 1000
ICV_OCTETS = 16
KEEPALIVE_OCTETS = 9
"""A UDP datagram of one octet, which keeps a translation alive (RFC 3948 section 2.3)."""

_SPI = Field("spi", 32, "Security parameters index.", "spi")
ESP = Header(
    "esp",
    "RFC 4303 §2",
    (_SPI, Field("sequence", 32, "Sequence number of the security association.")),
    doc="Encapsulating Security Payload; what follows is encrypted.",
)
ESP_UDP = Header(
    "esp_udp",
    "RFC 3948 §2",
    (),
    doc="What follows the UDP header of translated ESP.",
    branches=(Branch("_udp_length", 0xFFFF, KEEPALIVE_OCTETS, to="nat_keepalive"),),
    to="esp_marked",
)
NAT_KEEPALIVE = Header(
    "nat_keepalive",
    "RFC 3948 §2.3",
    (Field("ones", 8, "255."),),
    doc="Keeps a translation alive.",
)
ESP_MARKED = Header(
    "esp_marked",
    "RFC 3948 §2.1",
    (Field("spi", 32, "0: key exchange, not ESP.", "spi"), Field("sequence", 32)),
    doc="ESP in UDP, told from key exchange by its SPI.",
    checks=(Check("spi", 1, 0xFFFF_FFFF, None),),
    layer="esp",
)
PSP = Header(
    "psp",
    "PSP Architecture Specification, packet formats",
    (
        Field("next_header", 8, "IP protocol of what is encrypted."),
        Field("length", 8, "Eight-octet units without the first."),
        Field("reserved", 2),
        Field("crypt_offset", 6, "Words behind this header that are not encrypted."),
        Field("sampled", 1, "Marked for sampling."),
        Field("drop", 1, "Marked to be dropped."),
        Field("version", 4, "Cipher."),
        Field("cookie", 1, "A virtualization cookie is there."),
        Field("one", 1, "1."),
        _SPI,
        Field("iv", 64, "Initialization vector."),
    ),
    doc="PSP Security Protocol; what follows is encrypted.",
    length=Length("length", 8, 8),
    trailer=Length(add=ICV_OCTETS),
    marks=(("sport", PSP_PORT), ("dport", PSP_PORT)),
)
HEADERS = (ESP, ESP_UDP, NAT_KEEPALIVE, ESP_MARKED, PSP)


def headers(_: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return HEADERS


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """The IP protocol of ESP, and UDP ports."""
    psp = dict.fromkeys(settings.psp_udp_ports, "psp")
    return {
        "ip_protocol": {50: "esp"},
        "udp_port": psp | dict.fromkeys(settings.esp_udp_ports, "esp_udp"),
    }
