"""Transports: published octets of RoCE and Accurate ECN, and headers that end in a reason."""

import pytest
from octets import ethernet, ipv4, tcp, udp
from single import only

CHECK = bytes.fromhex("deadbeef")


def roce(head: str, rest: bytes) -> bytes:
    """RoCEv2 with these headers."""
    return ethernet(ipv4(udp(bytes.fromhex(head) + rest + CHECK, 4791), 17))


def test_the_published_acknowledgment_names_queue_pair_and_packet() -> None:
    row = only(roce("1140ffff000000410000003e", bytes.fromhex("1b000001")))
    told = [row[f"roce_{name}"] for name in ("opcode", "qp", "psn", "syndrome", "msn")]
    assert told == [0x11, 0x41, 0x3E, 0x1B, 1]


def test_the_published_congestion_notification_names_its_queue_pair() -> None:
    row = only(roce("8100ffff4000011800000000", bytes(16)))
    assert (row["roce_opcode"], row["roce_qp"], row["payload_bytes"]) == (0x81, 0x118, 0)


def test_padding_and_check_value_are_no_payload() -> None:
    row = only(roce("0470ffff800000418000003e", b"12345\0\0\0"))
    assert row["payload_bytes"] == 5


@pytest.mark.parametrize(
    ("option", "counters"),
    [
        ("fe0dacc0000001000000000000", (1, 0, 0)),
        ("ac0b000001000000000001", (1, 0, 1)),
        ("ae0b000001000002000003", (3, 2, 1)),
        ("ac05000001", (1, None, None)),
        ("ae02", (None, None, None)),
    ],
)
def test_an_accurate_ecn_option_tells_its_counters(
    option: str, counters: tuple[int | None, ...]
) -> None:
    row = only(ethernet(ipv4(tcp(bytes.fromhex(option)))))
    assert tuple(row.get(f"accecn_{name}") for name in ("e0b", "ceb", "e1b")) == counters


def test_psp_tells_its_index_and_one_port_for_both_directions() -> None:
    body = bytes.fromhex("060103850000abcd") + bytes(32)
    row = only(ethernet(ipv4(udp(body, 1000), 17)))
    assert (row["spi"], row["sport"], row["dport"]) == (0xABCD, 1000, 1000)
