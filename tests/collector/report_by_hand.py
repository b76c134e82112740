"""A second reader of telemetry reports, by hand from their pictures, and datagrams to read."""

import random
from typing import Any

INNER = bytes.fromhex(
    "45000028000100004006f6cbc0000201c000020203e807d000000001000000005002200000000000"
)
ETHERNET = bytes.fromhex("0200000000020200000000010800")
SIZES = {0: 0, 4: 8, 5: 8, 6: 8}
"""Octets of a metadata bit of version 2 that are not four."""
TO_THE_END = 0xFF


def datagram(draw: random.Random) -> bytes:
    """A datagram of any version; some lengths are odd, some values all ones."""
    version = draw.choice((2, 2, 2, 1, 0, 0))
    if version == 1:
        return first(draw)
    if version == 0:
        return oldest(draw)
    reports = [report(draw) for _ in range(draw.randint(1, 5))]
    if draw.random() < 0.2:
        octets = bytearray(reports[-1])
        octets[1] = TO_THE_END
        reports[-1] = bytes(octets)
    group = number(2 << 28 | draw.getrandbits(28), 4) + value(draw, 4)
    return group + b"".join(reports)


def number(what: int, octets: int) -> bytes:
    """A number in network order."""
    return what.to_bytes(octets, "big")


def value(draw: random.Random, octets: int) -> bytes:
    """Octets of any value, often all ones."""
    return b"\xff" * octets if draw.random() < 0.2 else draw.randbytes(octets)


def first(draw: random.Random) -> bytes:
    """A report of version 1."""
    bits = draw.getrandbits(6)
    words = bits.bit_count() + (draw.random() < 0.1)
    head = 1 << 28 | 4 + words << 24 | 1 << 21 | bits << 15 | draw.getrandbits(15)
    body = b"".join(value(draw, 4) for _ in range(3 + words))
    return number(head, 4) + body + INNER


def oldest(draw: random.Random) -> bytes:
    """A report of version 0.5."""
    kind = draw.randrange(3)
    octets = (12, 24, 28)[kind]
    body = b"".join(value(draw, 4) for _ in range(octets // 4 - 1))
    return number(kind << 24 | draw.getrandbits(24), 4) + body + ETHERNET + INNER


def report(draw: random.Random) -> bytes:
    """One report of version 2."""
    kind = draw.choice((0, 1, 1, 1, 2, 5))
    inner_type = draw.choice((0, 1, 2, 3, 4, 4, 4))
    inner = {0: b"", 1: tlvs(draw), 2: draw.randbytes(8), 3: ETHERNET + INNER + b"\0\0",
             4: INNER}[inner_type]  # fmt: skip
    bits, words = draw.getrandbits(16) & draw.getrandbits(16), draw.randrange(256)
    main = b""
    if kind == 1:
        own = need(bits)
        extra = draw.choice((0, 0, 0, 4, 12, -4 if own >= 8 else 0))
        words = (own + extra) // 4
        main = number(bits, 2) + draw.randbytes(6) + value(draw, 4 * words)
        if words and draw.random() < 0.7:
            main = main[:8] + b"".join(value(draw, 4) for _ in range(words))
    rest = main + inner
    return bytes([kind << 4 | inner_type, len(rest) // 4, words]) + draw.randbytes(1) + rest


def tlvs(draw: random.Random) -> bytes:
    """Domain-specific contents, then a packet."""
    skipped = b"".join(
        bytes([draw.choice((0, 0x70)), words]) + draw.randbytes(2 + 4 * words)
        for words in (draw.randrange(4) for _ in range(draw.randrange(3)))
    )
    packet = INNER if draw.random() < 0.5 else ETHERNET + INNER + b"\0\0"
    kind = 0x20 if packet == INNER else 0x10
    return skipped + bytes([kind, len(packet) // 4]) + draw.randbytes(2) + packet


def need(bits: int) -> int:
    """Octets of the metadata that sixteen bits announce."""
    return sum(SIZES.get(bit, 4) for bit in range(16) if bits >> 15 - bit & 1)


def known(told: dict[str, Any], name: str, octets: bytes) -> None:
    """Note a value that is not all ones."""
    if octets != b"\xff" * len(octets):
        told[name] = int.from_bytes(octets, "big")


def expected(payload: bytes) -> list[dict[str, Any]]:
    """Columns of every row whose inner flow is known."""
    return {2: second, 1: one, 0: half}[payload[0] >> 4](payload)


def second(payload: bytes) -> list[dict[str, Any]]:
    """Rows of a datagram of version 2."""
    word = int.from_bytes(payload[:4], "big")
    group = {"report_version": 2, "report_hardware": word >> 22 & 63,
             "report_sequence": word & 0x3FFFFF,
             "report_node": int.from_bytes(payload[4:8], "big")}  # fmt: skip
    rows, at = [], 8
    while at < len(payload):
        length = payload[at + 1]
        end = len(payload) if length == TO_THE_END else at + 4 + 4 * length
        kind, inner_type = payload[at] >> 4, payload[at] & 15
        told = group | {"report_flags": payload[at + 3] >> 4, "hop_count": 0}
        if kind == 1:
            told |= {"hop_count": 1, "h0_node": group["report_node"]}
            bits = int.from_bytes(payload[at + 4 : at + 6], "big")
            words = payload[at + 2]
            if need(bits) <= 4 * words:
                told |= saw(bits, payload[at + 12 : at + 12 + 4 * words])
        if kind < 2 and inner_type in (1, 3, 4):
            rows.append(told)
        at = end
    return rows


def saw(bits: int, octets: bytes) -> dict[str, Any]:
    """The metadata of version 2."""
    told: dict[str, Any] = {}
    at, dropped = 0, b""
    for bit in range(16):
        if not bits >> 15 - bit & 1:
            continue
        own = octets[at : at + SIZES.get(bit, 4)]
        at += len(own)
        if bit == 15:
            dropped = own
        else:
            one_part(told, bit, own)
    return finish(told, dropped)


def one_part(told: dict[str, Any], bit: int, own: bytes) -> None:
    """Note one part, by its bit in version 2."""
    names = {1: (("h0_ingress_port", 0, 2), ("h0_port", 2, 4)), 2: (("h0_latency_ns", 0, 4),),
             3: (("h0_queue", 0, 1), ("h0_qlen_bytes", 1, 4)), 4: (("h0_ingress_ts_ns", 0, 8),),
             5: (("h0_ts_ns", 0, 8),),
             6: (("h0_l2_ingress_port", 0, 4), ("h0_l2_port", 4, 8)),
             7: (("h0_utilization", 0, 4),),
             8: (("h0_buffer", 0, 1), ("h0_buffer_bytes", 1, 4))}  # fmt: skip
    for name, start, stop in names.get(bit, ()):
        known(told, name, own[start:stop])


def finish(told: dict[str, Any], dropped: bytes) -> dict[str, Any]:
    """Units of three bytes, 1024 a full link; a drop's queue where no other is told."""
    for name in ("h0_qlen_bytes", "h0_buffer_bytes"):
        if name in told:
            told[name] *= 3
    if "h0_utilization" in told:
        told["h0_utilization"] /= 1024
    if dropped:
        told["report_drop_reason"] = dropped[1]
        if "h0_queue" not in told:
            known(told, "h0_queue", dropped[:1])
    return told


def one(payload: bytes) -> list[dict[str, Any]]:
    """The row of a datagram of version 1."""
    word, node, sequence, ingress = (
        int.from_bytes(payload[at : at + 4], "big") for at in (0, 4, 8, 12)
    )
    told = {"report_version": 1, "report_hardware": word & 63, "report_sequence": sequence,
            "report_node": node, "report_flags": (word >> 6 & 7) * 2, "hop_count": 1,
            "h0_node": node, "h0_ingress_ts_ns": ingress}  # fmt: skip
    bits, words = word >> 15 & 63, (word >> 24 & 15) - 4
    count = bits.bit_count()
    if words and (count == 0 or words % count):
        return [told]
    at, dropped = 16, b""
    seen: dict[str, Any] = {}
    for bit, like in enumerate((1, 2, 3, None, None, 7)):
        if not bits >> 5 - bit & 1:
            continue
        own = payload[at : at + 4]
        at += 4
        if bit == 3:
            seen["h0_ts_ns"] = int.from_bytes(own, "big")
        elif bit == 4:
            dropped = own
        elif like is not None:
            one_part(seen, like, own)
    return [told | finish(seen, dropped)]


def half(payload: bytes) -> list[dict[str, Any]]:
    """The row of a datagram of version 0.5."""
    word, sequence, ingress, node = (
        int.from_bytes(payload[at : at + 4], "big") for at in (0, 4, 8, 12)
    )
    told: dict[str, Any] = {
        "report_version": 0, "report_hardware": word & 63, "report_sequence": sequence,
        "report_flags": (word >> 21 & 7) * 2, "hop_count": 0,
    }  # fmt: skip
    kind = word >> 24 & 15
    if kind == 0:
        return [told]
    told |= {"report_node": node, "hop_count": 1, "h0_node": node, "h0_ingress_ts_ns": ingress}
    seen: dict[str, Any] = {}
    one_part(seen, 1, payload[16:20])
    if kind == 1:
        known(seen, "h0_queue", payload[20:21])
        told["report_drop_reason"] = payload[21]
    else:
        one_part(seen, 3, payload[20:24])
        seen["h0_ts_ns"] = int.from_bytes(payload[24:28], "big")
    return [told | finish(seen, b"")]
