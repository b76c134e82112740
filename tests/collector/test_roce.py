"""RoCE: published headers by value, payload without padding, flows that meet their ACKs."""

from typing import Any

import pytest
from octets import ADDRESSES, ethernet, frames_of, ipv4, udp

from collector import CollectorSettings, Decoder

ICRC = bytes.fromhex("deadbeef")
ACK = "1140ffff000000410000003e"
CNP = "8100ffff4000011800000000"


def rows(*packets: bytes, **settings: Any) -> list[dict[str, Any]]:
    """Rows of whole frames, all of which are decoded."""
    decoder = Decoder(CollectorSettings(**settings))
    found = decoder.decode(frames_of(packets), ["tap"], "test").to_dicts()
    assert decoder.accounting.reasons == {}
    return found


def roce(head: str, rest: bytes = b"", port: int = 4791, source: int = 1) -> bytes:
    """RoCEv2 with `rest` before the ICRC."""
    return ethernet(ipv4(udp(bytes.fromhex(head) + rest + ICRC, port), 17, source=source))


def test_the_published_acknowledgment_is_read() -> None:
    (row,) = rows(roce(ACK, bytes.fromhex("1b000001")))
    named = {name: row[f"roce_{name}"] for name in ("opcode", "qp", "psn", "flags", "syndrome",
                                                    "msn")}  # fmt: skip
    assert named == {"opcode": 0x11, "qp": 0x41, "psn": 0x3E, "flags": 0, "syndrome": 0x1B,
                     "msn": 1}  # fmt: skip
    assert (row["payload_bytes"], row["sport"], row["dport"], row["protocol"]) == (
        0,
        4791,
        4791,
        17,
    )


def test_the_published_congestion_notification_is_read() -> None:
    (row,) = rows(roce(CNP, bytes(16)))
    assert (row["roce_opcode"], row["roce_qp"], row["roce_flags"]) == (0x81, 0x118, 2)
    assert row["payload_bytes"] == 0


@pytest.mark.parametrize(
    ("head", "rest", "payload"),
    [
        ("0470ffff800000418000003e", b"12345\0\0\0", 5),
        ("0b40ffff000000410000003e", bytes(16) + b"IMMDpayl", 4),
        ("6540ffff000000410000003e", bytes(8) + b"IMMDpayl", 4),
        ("1240ffff000000410000003e", bytes(4) + bytes(8), 0),
        ("1340ffff000000410000003e", bytes(28), 0),
        ("0740ffff000000410000003e", b"payload!", 8),
    ],
)
def test_payload_is_what_no_header_and_no_padding_takes(
    head: str, rest: bytes, payload: int
) -> None:
    (row,) = rows(roce(head, rest))
    assert row["payload_bytes"] == payload


def test_version_1_has_its_addresses_in_the_route_header() -> None:
    body = bytes.fromhex(ACK + "1b000001") + ICRC
    head = bytes.fromhex("62a00005") + len(body).to_bytes(2, "big") + b"\x1b\x40" + ADDRESSES
    (row,) = rows(ethernet(head + body, 0x8915))
    assert (row["src_lo"], row["dst_lo"], row["dscp"], row["ecn"]) == (1, 2, 10, 2)
    assert (row["roce_qp"], row["roce_msn"], row["sport"], row["protocol"]) == (0x41, 1, 0, 27)


def test_a_set_port_carries_it_too() -> None:
    (row,) = rows(roce(ACK, bytes(4), port=4999), roce_udp_ports=(4999,))
    assert (row["roce_psn"], row["dport"]) == (0x3E, 4791)
