"""Fields of a packet as `hopsight dissect` writes them: what they mean."""

import pytest

from collector import CollectorSettings, Field, Scalar
from service.field_text import columns_text, fields_text

SCALAR = Scalar(CollectorSettings())
MOMENT_NS = 1_760_000_000_000_382_222


def told(header: str, octets: str) -> dict[str, str]:
    """The fields of a header, as text."""
    table = SCALAR.tables[header]
    fields = table.unpack(bytes.fromhex(octets))
    return fields_text(fields, {field.name: field for field in table.fields})


@pytest.mark.parametrize(
    ("header", "octets", "expected"),
    [
        ("ethernet", "02000000000702000001000286dd",
         {"destination": "02:00:00:00:00:07", "source": "02:00:00:01:00:02",
          "ethertype": "0x86dd"}),
        ("ipv4", "455c00a4034440003d0625ae0a0300010a020001",
         {"source": "10.3.0.1", "destination": "10.2.0.1", "protocol": "6 (tcp)",
          "checksum": "0x25ae", "ttl": "61", "id": "836"}),
        ("ipv6", "60000000001406402001" + "00" * 13 + "01" + "00" * 10 + "ffff0a000001",
         {"source": "2001::1", "destination": "10.0.0.1", "next_header": "6 (tcp)"}),
        ("tcp", "1451d01afe533c52460a679380d0ffff9f4f0000",
         {"flags": "208 (CWR ECE ACK)", "window": "65535", "checksum": "0x9f4f"}),
        ("sll", "0000000100060200000100020000" + "0800",
         {"address": "02:00:00:01:00:02"}),
    ],
)  # fmt: skip
def test_fields_of_a_header_are_what_they_mean(
    header: str, octets: str, expected: dict[str, str]
) -> None:
    shown = told(header, octets)
    assert {name: shown.get(name) for name in expected} == expected
    assert not any(name.endswith(("_high", "_low")) for name in shown)


def test_columns_join_their_addresses_and_tell_set_clocks() -> None:
    flags = Field("flags", 9, "AE CWR ECE URG ACK PSH RST SYN FIN.", "flags")
    shown = columns_text(
        {"src_lo": 0xFFFF0A000001, "dst_hi": 0xFD00 << 48, "dst_lo": 4, "flags": 18, "seq": 7,
         "ts": MOMENT_NS, "protocol": 17}, flags,
    )  # fmt: skip
    assert shown == {
        "src": "10.0.0.1", "dst": "fd00::4", "flags": "18 (ACK SYN)", "seq": "7",
        "ts": f"{MOMENT_NS} (2025-10-09T08:53:20.000382222Z)", "protocol": "17 (udp)",
    }  # fmt: skip


def test_a_counter_that_is_no_clock_stays_a_number() -> None:
    shown = columns_text({"ts": 48_213, "U": 1.51129556, "u_hops": [0.5, None], "dst_hi": 1})
    assert shown == {"ts": "48213", "U": "1.5113", "u_hops": "[0.5, None]", "dst_hi": "1"}
