"""Transports: the value of every field of TCP, of RoCEv2 and of the HPCC simulator's packets.

The methods of `TransportContent` are named for the wire tables that they fill.
"""

import numpy as np
from numpy.typing import NDArray

from replay.identity import CLIENT, EPHEMERAL, ROCE_PORT, SERVER
from replay.layout import HPCC_BYTES, HPCC_QUEUE, size
from replay.packet_content import TTL, PacketContent, Values
from replay.state import ACCECN, ACK, DATA, HOPS, SYN, SYN_ACK

F_SYN, F_ACK, F_ECE, F_CWR, F_AE = 2, 16, 64, 128, 256
ACE_SHIFT, ACE, ACE_FIRST, ACE_NOT_ECT = 6, 7, 5, 2
"""AccECN's counter in the flags, what it begins with, and what it says of a SYN-ACK without ECT."""
WINDOW, WINDOW_SHIFT = 65535, 2
TIMESTAMP_OCTETS = 12
MILLISECOND = 1_000_000
WORD, PSNS, COUNTED = 0xFFFFFFFF, 0xFFFFFF, 0xFFFFFF
SEND_ONLY, ACKNOWLEDGE, ANY_KEY, NO_CREDITS = 0x04, 0x11, 0xFFFF, 0x1F
GIGABIT, MILLION = 1_000_000_000, 1_000_000
TCP_INT_SPEEDS = {
    gbps * GIGABIT: code for code, gbps in enumerate((10, 25, 40, 50, 100, 200, 400), start=1)
}
"""TCP-INT's code by bit/s."""
QUEUED, DEPTH_SHIFT, LATENCY_SHIFT, LONGEST = 128, 13, 8, 0x7FFF
"""From this value on TCP-INT tells a queue, in units of 8 KiB; latencies in units of 256 ns."""
HPCC_RATES = (25, 50, 100, 200, 400, 40)
"""Gbit/s by the HPCC simulator's code."""
HPCC_FIELDS = (("rate", 0, 3), ("time", 3, 24), ("bytes", 27, 20), ("queue", 47, 17))
"""(name, lowest bit, bits) of a hop."""
PRIORITY_GROUP = 3


class TransportContent(PacketContent):
    """See the module."""

    def tcp(self) -> Values:
        """TCP header; sequence numbers count from the initial ones, SYN takes one."""
        kind, stream = self.shape.kind, self.packet["seq"]
        isn, peer = self.of(self.names.isn, self.sender), self.of(self.names.isn, 1 - self.sender)
        handshake = kind in (SYN, SYN_ACK)
        seq = isn + (0 if handshake else 1) + (stream if kind == DATA else 0)
        ack = peer + 1 + (stream if kind == ACK else 0)
        options = sum(map(size, self.layouts.tcp(self.shape)[0]))
        return {
            "source_port": self.of(self.names.port, self.sender),
            "destination_port": self.of(self.names.port, 1 - self.sender),
            "seq": seq & WORD, "ack": (ack & WORD) * (kind != SYN), "data_offset": options // 4,
            "flags": self.flags(), "window": self.offered(),
        }  # fmt: skip

    def flags(self) -> object:
        """ECN is negotiated by the flows that run DCTCP (RFC 3168 section 6.1.1)."""
        kind = self.shape.kind
        ecn = self.run.flows["ecn"][self.flow].astype(np.int64)
        if kind == SYN:
            wide = F_AE if self.shape.telemetry == ACCECN else 0
            return F_SYN | (F_ECE | F_CWR | wide) * ecn
        if kind == SYN_ACK and self.shape.telemetry == ACCECN:
            return F_SYN | F_ACK | F_CWR
        if kind == SYN_ACK:
            return F_SYN | F_ACK | F_ECE * ecn
        if self.shape.telemetry == ACCECN:
            return self.counted()
        return F_ACK | self.packet["ece"] * F_ECE | self.packet["cwr"] * F_CWR

    def tcp_mss(self) -> Values:
        """Segments carry the payload and the timestamps option."""
        return {"kind": 2, "length": 4, "mss": self.run.world.payload_bytes + TIMESTAMP_OCTETS}

    def tcp_wscale(self) -> Values:
        """Window scale."""
        return {"kind": 3, "length": 3, "shift": WINDOW_SHIFT}

    def tcp_timestamps(self) -> Values:
        """Milliseconds of each host's clock; the echo is the youngest value heard, 0 before any."""
        clock = self.names.clock
        value = self.of(clock, self.sender) + self.packet["first_ns"] // MILLISECOND
        echo = self.of(clock, 1 - self.sender) + self.heard_ns // MILLISECOND
        return {
            "kind": 8, "length": 10, "value": value & WORD,
            "echo": np.where(self.heard_ns < 0, 0, echo & WORD),
        }  # fmt: skip

    def offered(self) -> object:
        """The window: of a receiver that reads slowly what room it has, else as much as can be."""
        slow = self.run.flows["drain_bps"][self.flow] > 0
        if self.shape.kind != ACK:
            return WINDOW
        return np.where(slow, self.packet["window"] >> WINDOW_SHIFT, WINDOW)

    def counted(self) -> object:
        """AccECN's counter of marked packets (RFC 9768 section 3.2.2), as flags."""
        if self.shape.kind == ACK:
            ace = (ACE_FIRST + self.marked) & ACE
        else:
            ace = np.full(len(self.rows), ACE_FIRST if self.shape.kind == DATA else ACE_NOT_ECT)
        return F_ACK | ace << ACE_SHIFT

    def accecn_e0b_3(self) -> Values:
        """Octets that came with ECT(0), CE and ECT(1), from 1, 0 and 1 on."""
        payload = self.run.world.payload_bytes
        plain = 1 + (self.came - self.marked) * payload
        return {"kind": 172, "length": 11, "ee0b": plain & COUNTED,
                "eceb": self.marked * payload & COUNTED, "ee1b": 1}  # fmt: skip

    def tcp_int(self) -> Values:
        """The worst hop of the data's path, or its echo on the way back, where nothing is added."""
        option: Values = {"kind": self.settings.tcp_int_kind, "length": 12, "hop_id": TTL}
        if self.shape.hops == 0:
            return option
        worst, value = self.worst()
        at = np.arange(len(worst))
        bps = np.stack([self.port(hop)["bps"] for hop in range(self.shape.hops)], axis=1)
        speed = [TCP_INT_SPEEDS.get(int(each), 0) for each in bps[at, worst]]
        latency = self.told["wait_ns"][at, worst] >> LATENCY_SHIFT
        if self.shape.kind == DATA:
            return {**option, "speed": speed, "value": value, "hop_id": TTL - 1 - worst,
                    "latency": latency}  # fmt: skip
        return {**option, "echo_speed": speed, "echo_value": value, "echo_hop": worst + 1,
                "echo_latency": np.minimum(latency, LONGEST)}  # fmt: skip

    def worst(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The worst hop of TCP-INT and its value: how much waits there, or how much it sends."""
        hops = slice(self.shape.hops)
        depth = np.minimum(self.told["qlen"][:, hops] >> DEPTH_SHIFT, QUEUED - 1)
        used = self.told["used_ppm"][:, hops].astype(np.int64) * (QUEUED - 1) // MILLION
        value = np.where(depth > 0, QUEUED + depth, used)
        return value.argmax(axis=1), value.max(axis=1)

    def udp(self) -> Values:
        """Without a checksum, which IPv4 allows; the source port of RoCEv2 is entropy."""
        if self.shape.carriage.transport == "roce":
            ends: Values = {"source_port": EPHEMERAL + self.flow, "destination_port": ROCE_PORT}
        else:
            to, by = (self.of(self.names.port, end) for end in (1 - self.sender, self.sender))
            ends = {"source_port": by, "destination_port": to}
        return {**ends, "length": self.after("udp")}

    def roce(self) -> Values:
        """Every packet is a message of its own that asks for an acknowledgment."""
        first = self.of(self.names.isn, CLIENT) + 1
        number = self.packet["seq"] // self.run.world.payload_bytes
        data = self.shape.kind == DATA
        return {
            "opcode": SEND_ONLY if data else ACKNOWLEDGE, "partition": ANY_KEY,
            "qp": self.of(self.names.qp, 1 - self.sender), "ack_request": int(data),
            "psn": (first + number - (not data)) & PSNS,
        }  # fmt: skip

    def roce_aeth(self) -> Values:
        """An acknowledgment that gives no credits."""
        number = self.packet["seq"] // self.run.world.payload_bytes
        return {"syndrome": NO_CREDITS, "msn": number & PSNS}

    def hpcc_data(self) -> Values:
        """Number of the first octet."""
        return {"seq": self.packet["seq"] & WORD, "group": PRIORITY_GROUP}

    def hpcc_ack(self) -> Values:
        """Ports stand as the data that they answer has them, exchanged."""
        port = self.names.port
        return {
            "source_port": self.of(port, SERVER), "destination_port": self.of(port, CLIENT),
            "group": PRIORITY_GROUP, "ack": self.packet["seq"] & WORD,
        }  # fmt: skip

    def hpcc_int(self) -> Values:
        """The ring of hops; no path here is longer than it."""
        codes = {gbps * GIGABIT: code for code, gbps in enumerate(HPCC_RATES)}
        slots: Values = {}
        for hop in range(min(self.shape.hops, HOPS)):
            told = {
                "rate": np.array([codes[int(bps)] for bps in self.port(hop)["bps"]], np.uint64),
                "time": self.sent_ns(hop), "bytes": self.told["tx_bytes"][:, hop] // HPCC_BYTES,
                "queue": self.told["qlen"][:, hop] // HPCC_QUEUE,
            }  # fmt: skip
            word = np.zeros(len(self.rows), np.uint64)
            for name, low, bits in HPCC_FIELDS:
                held = told[name].astype(np.uint64) & np.uint64((1 << bits) - 1)
                word |= held << np.uint64(low)
            slots[f"slot{hop}"] = word
        return {**slots, "hops": self.shape.hops}
