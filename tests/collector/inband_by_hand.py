"""INT frames on every carrier and a reader of them, both written from the documents' pictures."""

import random
from typing import Any

from octets import ETHERNET, ipv4, tcp, udp

MARKER = 0x1122334455667788
SETTINGS: dict[str, Any] = {
    "int_dscp": 23, "int_marker": MARKER, "int_gre_protocol": 0x4569, "int_source": (("mac", 64),),
    "int_utilization_full": 1000, "int_buffer_bytes": 80, "int_occupancy_bytes": 16,
}  # fmt: skip
CARRIERS = ("port", "dscp_tcp", "dscp_udp", "marker_tcp", "marker_udp", "gre", "gpe", "geneve",
            "v1_port", "v1_dscp", "v1_gpe", "mx")  # fmt: skip
SOURCE = 8
TWO = (4, 4, 4, 4, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4)
"""Octets of each baseline instruction of version 2, but for the complement."""
ONE = (4, 4, 4, 4, 4, 4, 8, 4, 4, 4, 4, 4, 4, 4, 4)
GEANT = (4, 4, 4, 4, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4)
INNER = ETHERNET + b"\x08\x00" + ipv4(tcp(payload=b"inner"), source=7)
Row = dict[str, Any]


def number(octets: bytes, first: int, count: int) -> int:
    return int.from_bytes(octets[first : first + count], "big")


def widths_of(bitmap: int, own: int, widths: tuple[int, ...]) -> list[int]:
    """Octets of a hop's pieces in wire order."""
    found = [width for bit, width in enumerate(widths) if bitmap & 0x8000 >> bit]
    found += [width for bit, width in enumerate((8, 4)) if own & 0x8000 >> bit]
    return found + [4] * (bitmap & 1)


def make_stack(draw: random.Random, words: int, limit: int) -> bytes:
    """Hops of so many words, mostly random, a few all ones."""
    hops = min(draw.choice((0, 1, 2, 3, 5, 12, 14)), limit // words if words else 0)
    pieces = (draw.choice((b"\xff" * 4, draw.randbytes(4), draw.randbytes(4)))
              for _ in range(hops * words))  # fmt: skip
    return b"".join(pieces)


def make_two(draw: random.Random, limit: int) -> bytes:
    """MD header of version 2 and a stack, now and then with other lengths than they should be."""
    bitmap = draw.getrandbits(16) & draw.choice((0xFF81, 0xFFFF, 0xF000, draw.getrandbits(16)))
    own = draw.choice((0, 0, 0x8000, 0x4000, 0xC000))
    words = sum(widths_of(bitmap, own, TWO)) // 4
    words = min(31, words + draw.choice((0, 0, 0, 0, 1, -1 if words > 1 else 0)))
    stack = make_stack(draw, words, limit - 3 - SOURCE // 4)
    stack += draw.randbytes(draw.choice((0, 0, SOURCE, 0, 4)))
    version = draw.choice((2,) * 20 + (1, 3))
    first = version << 28 | draw.getrandbits(3) << 25 | words << 8 | draw.getrandbits(8)
    return (first.to_bytes(4, "big") + bitmap.to_bytes(2, "big") + draw.randbytes(2)
            + own.to_bytes(2, "big") + draw.randbytes(2) + stack)  # fmt: skip


def make_one(draw: random.Random) -> bytes:
    """MD header of version 1.0 and a stack by either profile."""
    bitmap = draw.getrandbits(16) & draw.choice((0xFF01, 0xFFFF, 0xF000))
    words = sum(widths_of(bitmap, 0, draw.choice((ONE, GEANT)))) // 4
    stack = make_stack(draw, words, 240)
    version = draw.choice((1,) * 20 + (2,))
    first = version << 28 | draw.getrandbits(5) << 23 | words << 8 | draw.getrandbits(8)
    return first.to_bytes(4, "big") + bitmap.to_bytes(2, "big") + draw.randbytes(2) + stack


def make(draw: random.Random) -> tuple[str, bytes]:
    """A carrier and a frame on it."""
    carrier = draw.choice(CARRIERS)
    frame = MAKERS[carrier.split("_")[0]](draw, carrier)
    return carrier, frame


def load(draw: random.Random) -> bytes:
    return draw.randbytes(draw.randrange(9))


def make_ip(transport: bytes, protocol: int, dscp: int = 0) -> bytes:
    return ETHERNET + b"\x08\x00" + ipv4(transport, protocol, dscp)


def make_port(draw: random.Random, _: str) -> bytes:
    md, npt = make_two(draw, 255), draw.choice((0, 1, 2))
    kind = draw.choice((1,) * 20 + (2, 15))
    last = {0: b"\0\0", 1: (9000).to_bytes(2, "big"), 2: b"\0\x06"}[npt]
    shim = bytes([kind << 4 | npt << 2, len(md) // 4]) + last
    rest = tcp(payload=load(draw)) if npt == 2 else load(draw)
    return make_ip(udp(shim + md + rest, 555), 17)


def make_dscp(draw: random.Random, carrier: str) -> bytes:
    md = make_two(draw, 255)
    body = bytes([0x10, len(md) // 4, 0, draw.getrandbits(8)]) + md + load(draw)
    return make_l4(draw, carrier, body, 23)


def make_marker(draw: random.Random, carrier: str) -> bytes:
    md = make_two(draw, 255)
    body = MARKER.to_bytes(8, "big") + bytes([0x10, len(md) // 4, 0, 40]) + md + load(draw)
    if draw.random() < 0.2:
        body = draw.choice((body[:7], b"\0" + body, b""))
    return make_l4(draw, carrier, body, 10)


def make_l4(draw: random.Random, carrier: str, body: bytes, dscp: int) -> bytes:
    if carrier.endswith("udp"):
        return make_ip(udp(body, 5001), 17, dscp)
    options = draw.choice((b"", b"\x01\x01\x08\x0a" + draw.randbytes(8)))
    return make_ip(tcp(options, body), 6, dscp)


def make_gre(draw: random.Random, _: str) -> bytes:
    md = make_two(draw, 255)
    shim = bytes([0x18, len(md) // 4]) + b"\x65\x58"
    return make_ip(b"\0\0\x45\x69" + shim + md + INNER, 47)


def make_gpe(draw: random.Random, _: str) -> bytes:
    md = make_two(draw, 255)
    shim = bytes([0x10, len(md) // 4, 0x80, 3])
    return make_ip(udp(bytes.fromhex("0c00008200123400") + shim + md + INNER, 4790), 17)


def make_geneve(draw: random.Random, _: str) -> bytes:
    md = make_two(draw, 31)
    number_of = draw.choice((0x0103, 0x0103, 0x0104))
    option = number_of.to_bytes(2, "big") + bytes([1, len(md) // 4]) + md
    other = draw.choice((b"", b"\x01\x02\x07\x01abcd"))
    head = bytes([(len(other) + len(option)) // 4]) + b"\0\x65\x58\0\x12\x34\0"
    return make_ip(udp(head + other + option + INNER, 6081), 17)


def make_v1(draw: random.Random, carrier: str) -> bytes:
    md = make_one(draw)
    last = 3 if carrier == "v1_gpe" else draw.getrandbits(8)
    shim = bytes([draw.choice((1,) * 20 + (2,)), 0, 1 + len(md) // 4, last])
    if carrier == "v1_gpe":
        gpe = bytes.fromhex("0c00000800123400")
        return make_ip(udp(gpe + shim + md + INNER, 4790), 17)
    if carrier == "v1_port":
        return make_ip(udp(shim + md + load(draw), 555), 17)
    return make_ip(tcp(payload=shim + md + load(draw)), 6, 23)


def make_mx(draw: random.Random, _: str) -> bytes:
    extra = draw.randbytes(4 * draw.randrange(4))
    first = 2 << 28 | draw.getrandbits(28)
    header = first.to_bytes(4, "big") + draw.randbytes(8) + extra
    shim = bytes([0x34, len(header) // 4]) + (9000).to_bytes(2, "big")
    return make_ip(udp(shim + header + load(draw), 555), 17)


MAKERS = {
    "port": make_port, "dscp": make_dscp, "marker": make_marker, "gre": make_gre, "gpe": make_gpe,
    "geneve": make_geneve, "v1": make_v1, "mx": make_mx,
}  # fmt: skip


def read(carrier: str, frame: bytes) -> tuple[str, Row]:
    """How a frame ends and what it says, by the names of the observation's columns."""
    row: Row = {"dscp": frame[15] >> 2, "sport": 40000, "hop_count": 0}
    at = 34 + {"gre": 4}.get(carrier, 20 if frame[23] == 6 else 8)
    if frame[23] == 6:
        at += 4 * (frame[46] >> 4) - 20
    if carrier in ("gpe", "geneve", "v1_gpe"):
        at += 8
        if carrier == "geneve" and frame[at] == 1 and frame[at + 1] == 2:
            at += 8
    if carrier.startswith("marker"):
        if number(frame, at, 8) != MARKER or len(frame) < at + 8:
            return "decoded", row | {"payload_bytes": len(frame) - at}
        at += 8
    if carrier == "geneve" and number(frame, at, 2) != 0x0103:
        return "decoded", row | {"dscp": 0, "payload_bytes": 5}
    return read_one(carrier, frame, at, row) if carrier.startswith("v1") else read_two(
        carrier, frame, at, row
    )  # fmt: skip


def read_two(  # noqa: C901 - one branch a rule of the picture
    carrier: str, frame: bytes, at: int, row: Row
) -> tuple[str, Row]:
    kind = frame[at + 2] if carrier == "geneve" else frame[at] >> 4
    if kind not in (1, 3):
        return "int_unsupported_type", row
    words = frame[at + (3 if carrier == "geneve" else 1)]
    if carrier == "port" and frame[at] >> 2 & 3 == 1:
        row["dport"] = number(frame, at + 2, 2)
    if carrier.startswith("dscp"):
        row["dscp"] = frame[at + 3] >> 2
    first = number(frame, at + 4, 4)
    if carrier != "geneve" or (first >> 28 == 2 and first >> 8 & 31):
        row["int_type"] = kind
    if first >> 28 != 2:
        return "int_unknown_version", row
    if kind == 3:
        row["dport"] = number(frame, at + 2, 2)
        row |= {"int_version": 2, "int_flags": first >> 25 & 7,
                "int_domain": number(frame, at + 10, 2)}  # fmt: skip
        return "decoded", row | {"payload_bytes": len(frame) - at - 4 - 4 * words}
    step = 4 * (first >> 8 & 31)
    if step == 0:
        return "int_bad_length", row
    row |= {"int_version": 2, "int_flags": first >> 25 & 7, "int_remaining_hops": first & 255,
            "int_domain": number(frame, at + 10, 2)}  # fmt: skip
    bitmap, own = number(frame, at + 8, 2), number(frame, at + 12, 2)
    start, stack = at + 16, 4 * words - 12
    if stack >= SOURCE and (stack - SOURCE) % step == 0:
        stack -= SOURCE
        row["int_source_data"] = number(frame, start + stack, SOURCE)
    inside = carrier in ("gre", "gpe", "geneve")
    behind = len(frame) - at - 4 - 4 * words
    if carrier == "port" and frame[at] >> 2 & 3 == 2:
        behind -= 20
        row["dport"] = 5001
    row["payload_bytes"] = 5 if inside else behind
    widths = widths_of(bitmap, own, TWO)
    row |= {"int_hop_words": step // 4} if sum(widths) != step else {}
    if stack % step or (sum(widths) > step and stack):
        row.pop("int_source_data", None)
        return "int_bad_length", row
    return read_hops(frame[start : start + stack], step, row, (bitmap, own, TWO))


def read_one(carrier: str, frame: bytes, at: int, row: Row) -> tuple[str, Row]:
    if frame[at] != 1:
        return "int_unsupported_type", row
    words, first = frame[at + 2], number(frame, at + 4, 4)
    row["int_type"] = 1
    if carrier == "v1_dscp":
        row["dscp"] = frame[at + 3] >> 2
    if first >> 28 != 1:
        return "int_unknown_version", row
    step, bitmap = 4 * (first >> 8 & 31), number(frame, at + 8, 2)
    if step == 0:
        return "int_bad_length", row
    profile = 0 if sum(widths_of(bitmap, 0, ONE)) == step else 1
    row |= {"int_version": 1, "int_replication": first >> 26 & 3, "int_flags": first >> 23 & 7,
            "int_remaining_hops": first & 255, "int_profile": profile}  # fmt: skip
    widths = (ONE, GEANT)[profile]
    row |= {"int_hop_words": step // 4} if sum(widths_of(bitmap, 0, widths)) != step else {}
    row["payload_bytes"] = 5 if carrier == "v1_gpe" else len(frame) - at - 4 * words
    return read_hops(frame[at + 12 : at + 4 * words], step, row, (bitmap, 0, widths))


def read_hops(stack: bytes, step: int, row: Row,
              what: tuple[int, int, tuple[int, ...]]) -> tuple[str, Row]:  # fmt: skip
    """The newest hop stands first."""
    records = [stack[at : at + step] for at in range(0, len(stack), step)][::-1]
    row["hop_count"] = min(len(records), 12)
    for hop, record in enumerate(records[:12]):
        row |= {f"h{hop}_{name}": value for name, value in read_hop(record, *what).items()}
    return ("too_many_hops" if len(records) > 12 else "decoded"), row


def read_hop(record: bytes, bitmap: int, own: int, widths: tuple[int, ...]) -> Row:
    """One record in units; all ones are left out."""
    found: dict[int, bytes] = {}
    at = 0
    for bit, width in enumerate(widths):
        if bitmap & 0x8000 >> bit:
            found[bit], at = record[at : at + width], at + width
    for bit, width in enumerate((8, 4)):
        if own & 0x8000 >> bit:
            found[16 + bit], at = record[at : at + width], at + width
    if bitmap & 1:
        found[15] = record[at : at + 4]
    half = len(found[6]) // 2 if 6 in found else 0
    pieces = (
        ("node", 0, 0, 4, 1), ("ingress_port", 1, 0, 2, 1), ("port", 1, 2, 4, 1),
        ("latency_ns", 2, 0, 4, 1), ("queue", 3, 0, 1, 1), ("qlen_bytes", 3, 1, 4, 16),
        ("ingress_ts_ns", 4, 0, 8, 1), ("ts_ns", 5, 0, 8, 1), ("l2_ingress_port", 6, 0, half, 1),
        ("l2_port", 6, half, 2 * half, 1), ("utilization", 7, 0, 4, 1 / 1000),
        ("buffer", 8, 0, 1, 1), ("buffer_bytes", 8, 1, 4, 80), ("complement", 15, 0, 4, 1),
        ("tx_bytes", 16, 0, 8, 1), ("b_bps", 17, 0, 4, 1_000_000),
    )  # fmt: skip
    one = widths is not TWO
    told = {name: (found[bit][start:stop], unit) for name, bit, start, stop, unit in pieces
            if bit in found and not (one and bit == 8)}  # fmt: skip
    return {name: int.from_bytes(octets, "big") * unit for name, (octets, unit) in told.items()
            if octets.strip(b"\xff")}  # fmt: skip
