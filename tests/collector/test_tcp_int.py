"""TCP-INT: the worked example, its scales, and a second reader."""

import random
from typing import Any

import pytest
from octets import ethernet, frames_of, ipv4, tcp
from plain import observed

from collector import CollectorSettings, Decoder, complete

FRAMES = 3000
EXAMPLE = bytes.fromhex("720c15853e0003e820521234")
GIGABITS = {1: 10, 2: 25, 3: 40, 4: 50, 5: 100, 6: 200, 7: 400}


def row_of(option: bytes, **settings: Any) -> dict[str, Any]:
    """What a segment with this option says about its path."""
    frame = ethernet(ipv4(tcp(option, b"data")))
    (row,) = observed([frame], CollectorSettings(**settings)).to_dicts()
    return {name[8:]: value for name, value in row.items()
            if name.startswith("tcp_int_") and value is not None}  # fmt: skip


def test_the_worked_example_by_both_byte_orders_of_its_echo() -> None:
    told = {
        "value": 0x85, "qlen_bytes": 40_960, "b_bps": 100_000_000_000, "hop": 2,
        "latency_ns": 256_000, "echo_value": 0x20, "echo_b_bps": 100_000_000_000, "echo_hop": 2,
    }  # fmt: skip
    assert row_of(EXAMPLE) == told | {"echo_latency_ns": 0x3412 << 8}
    assert row_of(EXAMPLE, tcp_int_echo_order="big") == told | {"echo_latency_ns": 4660 << 8}


def test_a_value_below_the_middle_is_utilisation() -> None:
    full, idle = row_of(b"\x72\x0c\x01\x7f" + EXAMPLE[4:]), row_of(b"\x72\x0c\x01\0" + EXAMPLE[4:])
    assert (full["utilization"], idle["utilization"]) == (1.0, 0.0)
    assert "qlen_bytes" not in full


def test_the_time_to_live_that_a_host_sets_and_an_echo_of_none_are_no_hop() -> None:
    row = row_of(bytes.fromhex("720c00004000000000000000"))
    assert row == {"value": 0, "utilization": 0.0, "latency_ns": 0, "echo_value": 0,
                   "echo_latency_ns": 0}  # fmt: skip


@pytest.mark.parametrize(("scale", "latency"), [("whole", 0x8012 << 16), ("masked", 0x12 << 16)])
def test_a_long_echoed_latency_has_another_unit(scale: str, latency: int) -> None:
    option = EXAMPLE[:10] + b"\x80\x12"
    row = row_of(option, tcp_int_echo_order="big", tcp_int_echo_scale=scale)
    assert row["echo_latency_ns"] == latency


def test_kind_is_a_setting_and_another_length_is_another_option() -> None:
    assert row_of(EXAMPLE, tcp_int_kind=0x73) == {}
    assert row_of(b"\x73" + EXAMPLE[1:], tcp_int_kind=0x73)["hop"] == 2
    assert row_of(b"\x72\x0b" + EXAMPLE[2:11]) == {}


def read(option: bytes) -> dict[str, Any]:
    """The option by its picture, as columns of an observation."""
    rates = {code: rate * 10**9 for code, rate in GIGABITS.items()}
    value, echoed = option[3], int.from_bytes(option[10:12], "little")
    found = {
        "value": value,
        "utilization": value / 127 if value < 128 else None,
        "qlen_bytes": value % 128 * 8192 if value >= 128 else None,
        "b_bps": rates.get(option[2] % 16),
        "hop": 64 - option[4] if option[4] < 64 else None,
        "latency_ns": int.from_bytes(option[5:8], "big") * 256,
        "echo_value": option[8],
        "echo_b_bps": rates.get(option[9] // 16),
        "echo_hop": option[9] % 16 or None,
        "echo_latency_ns": echoed * (65536 if echoed >= 32768 else 256),
    }
    return {f"tcp_int_{name}": told for name, told in found.items()}


def test_the_second_reader_agrees_on_every_field_of_every_frame() -> None:
    draw = random.Random(114)
    bodies = [draw.choice((draw.randbytes(10), b"\xff" * 10, bytes(10), draw.randbytes(10)))
              for _ in range(FRAMES)]  # fmt: skip
    before = (b"", b"\x01", b"\x02\x04\x05\xb4", b"\x01\x01\x08\x0a" + bytes(8))
    frames = [
        ethernet(ipv4(tcp(draw.choice(before) + b"\x72\x0c" + body, draw.randbytes(5))))
        for body in bodies
    ]
    decoder = Decoder(CollectorSettings())
    rows = complete(decoder.decode(frames_of(frames), ["tap"], "test")).to_dicts()
    assert decoder.accounting.reasons == {}
    for row, body in zip(rows, bodies, strict=True):
        expected = read(b"\x72\x0c" + body)
        assert {name: row[name] for name in expected} == expected
