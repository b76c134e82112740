"""Traces of senders that number packets, and their RoCEv2 frames octet by octet.

A trace has a row a packet, in order of time: time_ns, flow, what (D data, A acknowledgment, N
negative one, R one of a receiver that is not ready), number (of the packet from 0, or of the next
one expected), nhop and per hop h{i}_ts, h{i}_tx, h{i}_q, h{i}_mbps, which acknowledgments reflect.
"""

from typing import Any

import numpy as np
import polars as pl

from collector import CollectorSettings, Decoder, Frames

PAYLOAD, MESSAGE = 1000, 4
"""Octets of a packet, and packets of a message."""
INT_DSCP = 23
SETTINGS = CollectorSettings(int_dscp=INT_DSCP)
FIRST, MIDDLE, LAST, ACK = 0x00, 0x01, 0x02, 0x11
SYNDROMES = {"A": 0x1F, "N": 0x60, "R": 0x25}
PSNS = 1 << 24
ETHERNET, IP, UDP, BTH, AETH, ICRC = 14, 20, 8, 12, 4, 4
HEAD = ETHERNET + IP + UDP
INT_HEAD, INT_HOP = 16, 24
"""Octets of the shim with its header, and of a hop: occupancy, egress time, tx bytes, rate."""


def generated(
    flows: int, packets: int, seed: int, hops: int = 2, lose: float = 0.0
) -> pl.DataFrame:
    """A window of up to 12 packets a flow over one path, an ACK for every second packet or so."""
    draw = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for flow in range(flows):
        time, nxt, una, sent_bytes = 1000 + 1777 * flow, 0, 0, 0
        while una < packets:
            window = int(draw.integers(1, 13))
            while nxt < min(una + window, packets):
                rows.append({"time_ns": time, "flow": flow, "what": "D", "number": nxt, "nhop": 0})
                nxt, time, sent_bytes = (
                    nxt + 1,
                    time + int(draw.integers(81, 400)),
                    sent_bytes + PAYLOAD,
                )
            lost = draw.random() < lose
            una = int(draw.integers(una, nxt)) if lost else int(draw.integers(una + 1, nxt + 1))
            time += int(draw.integers(500, 3000))
            row: dict[str, Any] = {
                "time_ns": time,
                "flow": flow,
                "what": "A",
                "number": una,
                "nhop": hops,
            }
            for hop in range(hops):
                row |= {
                    f"h{hop}_ts": time - 400 + hop, f"h{hop}_tx": sent_bytes * 3,
                    f"h{hop}_q": int(draw.integers(0, 40_000)), f"h{hop}_mbps": 25_000,
                }  # fmt: skip
            if lost:
                row["what"], nxt = str(draw.choice(["N", "R"])), una
            rows.append(row)
            time += int(draw.integers(1, 200))
    return pl.DataFrame(rows, infer_schema_length=None).sort(
        "time_ns", pl.col("what") == "D", maintain_order=True
    )


def big(frame: Any, at: int, octets: int, value: Any) -> None:
    """A number into every row, most significant octet first."""
    value = np.broadcast_to(np.asarray(value, np.int64), frame.shape[0])
    for octet in range(octets):
        frame[:, at + octet] = value >> 8 * (octets - 1 - octet) & 0xFF


def packed(
    rows: pl.DataFrame, starts: list[int], hosts: list[tuple[int, int]], back: list[int]
) -> Any:
    """Frames of rows of one kind and one number of hops."""
    what, hops = str(rows["what"][0]), int(rows["nhop"][0])
    data = what == "D"
    flow, number = rows["flow"].to_numpy(), rows["number"].to_numpy()
    told = INT_HEAD + INT_HOP * hops if hops else 0
    size = HEAD + told + BTH + (PAYLOAD if data else AETH) + ICRC
    frame = np.zeros((rows.height, size), np.uint8)
    ends = np.array(hosts)[flow] if data else np.array(hosts)[flow][:, ::-1]
    big(frame, 12, 2, 0x0800)
    big(frame, 14, 2, 0x4500 | (INT_DSCP << 2 if hops else 0))
    big(frame, 16, 2, size - ETHERNET)
    big(frame, 22, 2, 0x4011)
    big(frame, 26, 4, 0x0A00_0000 + ends[:, 0])
    big(frame, 30, 4, 0x0A00_0000 + ends[:, 1])
    big(frame, 34, 2, 49152 + flow + (0 if data else 100))
    big(frame, 36, 2, 4791)
    big(frame, 38, 2, size - ETHERNET - IP)
    at = HEAD
    if hops:
        big(frame, at, 4, 0x1000_0000 | (told // 4 - 1) << 16)
        big(frame, at + 4, 4, 0x2000_0000 | INT_HOP // 4 << 8 | 8)
        big(frame, at + 8, 4, 0x1400_0001)
        big(frame, at + 12, 4, 0xC000_0000)
        for hop in range(hops):
            place = at + INT_HEAD + INT_HOP * (hops - 1 - hop)
            for name, octets, here in (("q", 4, 0), ("ts", 8, 4), ("tx", 8, 12), ("mbps", 4, 20)):
                big(frame, place + here, octets, rows[f"h{hop}_{name}"].to_numpy())
        at += told
    psn = number if data else number - (what == "A")
    part = number % MESSAGE
    ending = np.where(part == MESSAGE - 1, LAST, MIDDLE)
    big(frame, at, 1, np.where(part == 0, FIRST, ending) if data else ACK)
    big(frame, at + 1, 3, 0x40FFFF)
    big(frame, at + 5, 3, 0x1000 + flow if data else np.array(back)[flow])
    big(frame, at + 9, 3, (psn + np.array(starts)[flow]) % PSNS)
    if not data:
        big(frame, at + BTH, 1, SYNDROMES[what])
        big(frame, at + BTH + 1, 3, number // MESSAGE)
    return frame


def observed(
    trace: pl.DataFrame,
    starts: list[int],
    hosts: list[tuple[int, int]] | None = None,
    back: list[int] | None = None,
) -> pl.DataFrame:
    """The trace's frames decoded; PSNs of each flow begin at its start.

    `hosts` are the ends of each flow (all between the same two by default), `back` the queue pairs
    that acknowledgments go to.
    """
    flows = len(starts)
    hosts = hosts or [(1, 2)] * flows
    back = back or [0x2000 + 7 * (flows - each) for each in range(flows)]
    decoder, parts = Decoder(SETTINGS), []
    for part in trace.with_row_index("row").partition_by("what", "nhop", maintain_order=True):
        frame = packed(part, starts, hosts, back)
        size, octets = frame.shape
        whole = np.full(size, octets, np.int32)
        frames = Frames(
            frame.ravel(), np.arange(size) * octets, whole, whole, part["time_ns"].to_numpy(),
            np.ones(size, np.uint16), np.zeros(size, np.uint16), 1,
        )  # fmt: skip
        parts.append(decoder.decode(frames, ["nic"], "simulator").with_columns(part["row"]))
    assert decoder.accounting.reasons == {}
    rows = pl.concat(parts, how="diagonal").sort("row")
    return rows.with_columns(pl.col("row").cast(pl.UInt64).alias("frame")).drop("row")


def as_datagrams(rows: pl.DataFrame, trace: pl.DataFrame) -> pl.DataFrame:
    """The same trace as datagrams that number bytes, each flow a conversation of its own."""
    octet = (trace["number"] * PAYLOAD).cast(pl.UInt32)
    kind = trace["what"].replace_strict({"D": 0, "A": 1, "N": 2, "R": 2}, return_dtype=pl.UInt8)
    return rows.drop(name for name in rows.columns if name.startswith("roce_")).with_columns(
        seq=octet, ack=octet, hpcc_kind=kind, conversation=trace["flow"].cast(pl.UInt64) + 1
    )
