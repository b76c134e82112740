"""One conversation, two flows: what the hashes tell apart and what they do not."""

import random
from typing import Any

import numpy as np
import polars as pl
from octets import ethernet, frames_of, ipv4, tcp, udp

from collector import CollectorSettings, Decoder, directed

FLOWS = 2000


def turned(packet: bytes) -> bytes:
    """An IPv4 segment behind Ethernet with addresses and ports exchanged."""
    head, source, destination = packet[:26], packet[26:30], packet[30:34]
    return head + destination + source + packet[36:38] + packet[34:36] + packet[38:]


def decode(*packets: bytes, **settings: Any) -> pl.DataFrame:
    """Observations of these frames."""
    return Decoder(CollectorSettings(**settings)).decode(frames_of(packets), ["tap"], "test")


def key(packet: bytes, **settings: Any) -> tuple[int, int, int]:
    """Conversation, flow and direction of a frame."""
    (row,) = decode(packet, **settings).select("conversation", "flow", "direction").rows()
    return int(row[0]), int(row[1]), int(row[2])


def segment(draw: random.Random) -> bytes:
    """A segment between random addresses and ports."""
    octets = bytearray(ethernet(ipv4(tcp())))
    octets[26:38] = draw.randbytes(12)
    return bytes(octets)


def test_both_directions_are_one_conversation_and_two_flows() -> None:
    draw = random.Random(1)
    there = [segment(draw) for _ in range(FLOWS)]
    rows = decode(*there)
    back = decode(*map(turned, there))
    assert rows["conversation"].equals(back["conversation"])
    assert (rows["direction"] + back["direction"]).to_list() == [1] * FLOWS
    assert len({*rows["flow"], *back["flow"]}) == 2 * FLOWS
    assert rows["conversation"].n_unique() == FLOWS
    assert 0.4 * FLOWS < rows["direction"].sum() < 0.6 * FLOWS


def test_equal_addresses_are_told_apart_by_their_ports() -> None:
    packet = bytearray(ethernet(ipv4(tcp())))
    packet[30:34] = packet[26:30]
    there, back = key(bytes(packet)), key(turned(bytes(packet)))
    assert there[0] == back[0]
    assert there[1] != back[1]
    packet[36:38] = packet[34:36]
    assert key(bytes(packet)) == key(turned(bytes(packet)))


def test_tenant_vrf_network_and_protocol_take_part() -> None:
    plain = ethernet(ipv4(tcp()))
    datagram = ethernet(ipv4(udp(bytes(12), 5001), protocol=17))
    overlay = [
        ethernet(ipv4(udp(bytes([8, 0, 0, 0, 0, 0, vni, 0]) + plain, 4789), 17)) for vni in (1, 2)
    ]
    keys = [key(plain), key(datagram), *map(key, overlay)]
    keys += [key(plain, tenant="a"), key(plain, vrf="a"), key(plain, tenant="a", vrf="b")]
    keys += [key(plain, tenant="ab"), key(plain, vrf="ab")]
    assert len({conversation for conversation, _, _ in keys}) == len(keys)
    assert len({flow for _, flow, _ in keys}) == len(keys)


def test_every_part_of_the_key_moves_the_hash() -> None:
    plain = bytes(ethernet(ipv4(tcp())))
    changed = []
    for octet in range(26, 38):
        for bit in range(8):
            packet = bytearray(plain)
            packet[octet] ^= 1 << bit
            changed.append(bytes(packet))
    assert decode(plain, *changed)["conversation"].n_unique() == 1 + len(changed)


def test_what_is_not_the_key_does_not_move_the_hash() -> None:
    plain = key(ethernet(ipv4(tcp())))
    assert key(ethernet(ipv4(tcp(payload=b"data", flags=2), dscp=10, ecn=3))) == plain
    assert key(ethernet(bytes.fromhex("2b850800") + ipv4(tcp()), 0x9900)) == plain
    assert key(ethernet(ipv4(bytes.fromhex("00000800") + ipv4(tcp()), protocol=47))) == plain


def test_the_port_that_announces_telemetry_is_not_part_of_the_key() -> None:
    shim = bytes.fromhex("14051389" + "200002069000000000000000" + "00000001" + "00000002")
    plain = key(ethernet(ipv4(udp(b"data", 5001), protocol=17)))
    assert key(ethernet(ipv4(udp(shim + b"data", 555), protocol=17))) == plain


def test_the_reverse_flow_is_known_from_the_conversation() -> None:
    draw = random.Random(2)
    there = [segment(draw) for _ in range(100)]
    rows, back = decode(*there), decode(*map(turned, there))
    flow = np.empty(len(there), np.uint64)
    conversation, direction = rows["conversation"].to_numpy(), rows["direction"].to_numpy()
    directed(conversation, (1 - direction).astype(np.uint8), flow)
    assert flow.tolist() == back["flow"].to_list()
    directed(conversation, direction.astype(np.uint8), flow)
    assert flow.tolist() == rows["flow"].to_list()
