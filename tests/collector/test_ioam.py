"""IOAM traces: worked examples, a second reader, a real kernel's packets, another dissector."""

import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from octets import ADDRESSES, ethernet, frames_of, udp
from plain import observed, readings

from collector import CollectorSettings, Decoder, complete, open_capture, write_pcapng

LINUX = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "linux"
FRAMES = 3000
MOST_HOPS = 12
LATE_NS = 10_000
DATA = udp(b"data", 9)
PREALLOCATED = bytes.fromhex(
    "11070100313a0000007b2004f0000000000000000000000000000000000000003e00000300050006"
    "6553f100000001f43f000001000100026553f10000000190"
)
INCREMENTAL = bytes.fromhex(
    "11050100312a0001007b2004f00000003e000003000500066553f100000001f4"
    "3f000001000100026553f10000000190"
)
SHORT = {
    0: (("ttl", 1), ("node", 3)), 1: (("ingress_port", 2), ("port", 2)), 2: (("seconds", 4),),
    3: (("fraction", 4),), 4: (("latency_ns", 4),), 5: (("namespace_data", 4),),
    6: (("qlen_bytes", 4),), 7: (("complement", 4),), 8: (("ttl_wide", 1), ("node_wide", 7)),
    9: (("ingress_port_wide", 4), ("port_wide", 4)), 10: (("namespace_data_wide", 8),),
    11: (("buffer_bytes", 4),), **{bit: ((f"undefined{bit}", 4),) for bit in range(12, 22)},
}  # fmt: skip
"""Names and octets of a node's data by trace type bit, from the standard's pictures."""
SHARK = {
    "hlim": ("ttl", "ttl_wide"), "id": ("node",), "iif": ("ingress_port",), "eif": ("port",),
    "tss": ("seconds",), "tsf": ("fraction",), "trdelay": ("latency_ns",),
    "nsdata": ("namespace_data",), "qdepth": ("qlen_bytes",), "csum": ("complement",),
    "id_wide": ("node_wide",), "iif_wide": ("ingress_port_wide",), "eif_wide": ("port_wide",),
    "nsdata_wide": ("namespace_data_wide",), "bufoccup": ("buffer_bytes",),
    "oss.len": ("snapshot_words",), "oss.scid": ("snapshot_schema",),
}  # fmt: skip
"""Names of another dissector."""
RAW = {
    "ttl": "ttl", "node": "node", "ingress_port": "ingress", "port": "egress",
    "seconds": "seconds", "fraction": "fraction", "latency_ns": "transit",
    "namespace_data": "data", "qlen_bytes": "queue", "complement": "complement",
    "ttl_wide": "ttl_wide", "node_wide": "node_wide", "ingress_port_wide": "ingress_wide",
    "port_wide": "egress_wide", "namespace_data_wide": "data_wide", "buffer_bytes": "buffer",
    "snapshot_words": "snapshot_words", "snapshot_schema": "snapshot_schema",
}  # fmt: skip
"""Raw columns of the walk."""


def ipv6(chain: bytes, following: int = 0) -> bytes:
    """An Ethernet frame with an extension header and a UDP datagram."""
    body = chain + DATA
    head = bytes.fromhex("60000000") + len(body).to_bytes(2, "big") + bytes([following, 64])
    return ethernet(head + ADDRESSES + body, 0x86DD)


def extension(option: bytes) -> bytes:
    """An extension header of one option on a boundary of four octets, and padding."""
    option = b"\x01\x00" + option
    pad = -(len(option) + 2) % 8
    option += b"" if pad == 0 else b"\0" if pad == 1 else bytes([1, pad - 2]) + bytes(pad - 2)
    return bytes([17, (len(option) + 2) // 8 - 1]) + option


def trace(kind: int, bits: int, word: int, data: bytes, number: int = 0x31) -> bytes:
    """A trace option; `word` is NodeLen, flags, RemLen."""
    head = bytes([0, kind, 0, 123]) + word.to_bytes(2, "big") + bits.to_bytes(3, "big") + b"\0"
    return bytes([number, len(head + data)]) + head + data


def make(draw: random.Random) -> bytes:
    """A trace of random type, nodes and free space; some words are all ones."""
    while True:
        bits = 0
        for bit in draw.sample(range(23), draw.randrange(1, 8)):
            bits |= 1 << 23 - bit
        words = sum(sum(octets for _, octets in parts) // 4
                    for bit, parts in SHORT.items() if bits >> 23 - bit & 1)  # fmt: skip
        nodes = [node(draw, bits, words) for _ in range(draw.choice((0, 1, 2, 3, 5, 12, 13)))]
        kind, free = draw.randrange(2), draw.choice((0, draw.randrange(9)))
        data = (b"\0" * 4 * free if kind == 0 else b"") + b"".join(nodes)
        if words and len(data) <= 240:
            word = words << 11 | draw.getrandbits(4) << 7 | free
            option = trace(kind, bits | draw.getrandbits(1), word, data)
            return ipv6(extension(option), draw.choice((0, 60)))


def node(draw: random.Random, bits: int, words: int) -> bytes:
    """What one node adds."""
    data = b"".join(
        draw.choice((b"\xff" * 4, draw.randbytes(4), draw.randbytes(4))) for _ in range(words)
    )
    if bits & 2:
        size = draw.choice((0, 0, 1, 3))
        schema = draw.choice((b"\xff\xff\xff", draw.randbytes(3)))
        data += bytes([size]) + schema + draw.randbytes(4 * size)
    return data


def read(frame: bytes) -> tuple[dict[str, int], list[dict[str, int]]]:
    """The trace of a frame made by `make`: its header, and its nodes nearest the sender first."""
    at = 14 + 40 + 4
    length = frame[at + 1]
    word = int.from_bytes(frame[at + 6 : at + 8], "big")
    bits = int.from_bytes(frame[at + 8 : at + 11], "big")
    head = {"ioam_type": frame[at + 3], "ioam_namespace": frame[at + 5],
            "ioam_flags": word >> 7 & 15, "ioam_remaining": word & 127,
            "ioam_trace_type": bits}  # fmt: skip
    stop = at + 2 + length
    at += 12
    if head["ioam_type"] == 0:
        at += 4 * head["ioam_remaining"]
    nodes: list[dict[str, int]] = []
    while at < stop:
        found: dict[str, int] = {}
        for bit, parts in SHORT.items():
            for name, octets in parts if bits >> 23 - bit & 1 else ():
                found[name] = int.from_bytes(frame[at : at + octets], "big")
                at += octets
        if bits & 2:
            found |= {"snapshot_words": frame[at],
                      "snapshot_schema": int.from_bytes(frame[at + 1 : at + 4], "big")}  # fmt: skip
            at += 4 + 4 * frame[at]
        nodes.append(found)
    return head, nodes[::-1]


def meaning(values: dict[str, int]) -> dict[str, int]:
    """Columns of an observation's hop, from a node's fields."""
    octets = {name: size for parts in SHORT.values() for name, size in parts}
    known = {name: value for name, value in values.items()
             if name not in octets or value != (1 << 8 * octets[name]) - 1}  # fmt: skip
    if known.get("snapshot_schema") == 0xFFFFFF:
        del known["snapshot_schema"]
    for limit, name in (("ttl_wide", "node_wide"), ("ttl", "node")):
        if limit in values and (values[limit] != 0xFF or name in known):
            known["ttl"] = values[limit]
    for name in ("node", "port", "ingress_port"):
        wide = known.get(f"{name}_wide", 1 << 32)
        if wide < 1 << 32:
            known.setdefault(name, wide)
    if "seconds" in known and "fraction" in known:
        known["ingress_ts_ns"] = known["seconds"] * 1_000_000_000 + known["fraction"] * 1000
        known["ts_ns"] = known["ingress_ts_ns"] + known.get("latency_ns", 0)
    return {name: value for name, value in known.items()
            if name not in {"seconds", "fraction", "ttl_wide"} and name[:5] != "undef"}  # fmt: skip


@pytest.mark.parametrize(("chain", "kind"), [(PREALLOCATED, 0), (INCREMENTAL, 1)])
def test_the_worked_examples(chain: bytes, kind: int) -> None:
    (row,) = Decoder(CollectorSettings()).decode(frames_of([ipv6(chain)]), ["tap"], "t").to_dicts()
    assert (row["status"], row["ioam_type"], row["ioam_namespace"], row["hop_count"]) == (
        0, kind, 123, 2,
    )  # fmt: skip
    assert (row["ioam_trace_type"], row["ioam_flags"], row["ioam_remaining"]) == (0xF00000, 0, 4)
    assert [row[f"h0_{name}"] for name in ("ttl", "node", "ingress_port", "port")] == [63, 1, 1, 2]
    assert [row[f"h1_{name}"] for name in ("ttl", "node", "ingress_port", "port")] == [62, 3, 5, 6]
    second = 0x6553F100 * 1_000_000_000
    assert (row["h0_ts_ns"], row["h1_ts_ns"]) == (second + 400_000, second + 500_000)
    assert (row["payload_bytes"], row["protocol"], row["dport"]) == (4, 17, 9)


def test_an_opaque_snapshot_is_not_counted_in_the_nodes_length() -> None:
    newest = bytes.fromhex("3e000003" + "020000421122334455667788")
    oldest = bytes.fromhex("3f000001" + "00ffffff")
    frame = ipv6(extension(trace(0, 0x800002, 1 << 11, newest + oldest)))
    (row,) = observed([frame]).to_dicts()
    assert [(row[f"h{hop}_snapshot_words"], row.get(f"h{hop}_snapshot_schema"))
            for hop in (0, 1)] == [(0, None), (2, 0x42)]  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "nanoseconds"), [("microseconds", 500_000), ("nanoseconds", 500), ("ntp", 116)]
)
def test_the_unit_of_the_fraction_is_a_setting(unit: Any, nanoseconds: int) -> None:
    (row,) = observed([ipv6(PREALLOCATED)], CollectorSettings(ioam_fraction=unit)).to_dicts()
    assert row["h1_ts_ns"] == 0x6553F100 * 1_000_000_000 + nanoseconds


def test_queue_and_buffer_have_units_and_types_are_a_setting() -> None:
    frame = ipv6(extension(trace(1, 0x021000, 2 << 11, bytes.fromhex("0000000500000007"), 0x3B)))
    settings = CollectorSettings(
        ioam_option_types=(0x3B,), ioam_queue_bytes=80, ioam_buffer_bytes=208
    )
    (row,) = observed([frame], settings).to_dicts()
    assert (row["h0_qlen_bytes"], row["h0_buffer_bytes"]) == (400, 1456)
    assert "ioam_type" not in observed([frame]).columns


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        (trace(0, 0xF00000, 4 << 11 | 5, bytes(16)), "ioam_bad_length"),
        (trace(0, 0xF00000, 4 << 11, bytes(20)), "ioam_bad_length"),
        (trace(0, 0xF00000, 3 << 11, bytes(24)), "ioam_bad_length"),
        (trace(0, 0xF00000, 5 << 11, bytes(20)), "ioam_bad_length"),
        (trace(1, 0x000002, 0, bytes(4)), "ioam_bad_length"),
        (trace(1, 0x800002, 1 << 11, b"\x3e\0\0\1\x09\0\0\1"), "ioam_bad_length"),
        (trace(1, 0x800000, 1 << 11, bytes(52)), "too_many_hops"),
        (b"\x31\x06" + bytes(6), "bad_option"),
    ],
)
def test_lengths_that_contradict_each_other_have_a_reason(option: bytes, reason: str) -> None:
    decoder = Decoder(CollectorSettings())
    decoder.decode(frames_of([ipv6(extension(option) + DATA)]), ["tap"], "test")
    assert decoder.accounting.reasons == {reason: 1}


@pytest.mark.parametrize("kind", [2, 3, 4])
def test_other_ioam_types_are_skipped(kind: int) -> None:
    frame = ipv6(extension(trace(kind, 0xF00000, 0x2004, bytes(12))))
    (row,) = observed([frame]).to_dicts()
    assert (row["status"], row["hop_count"], "ioam_type" in row) == (0, 0, False)


def test_the_second_reader_agrees_on_every_field_of_every_frame() -> None:
    draw = random.Random(31)
    frames = [make(draw) for _ in range(FRAMES)]
    rows = complete(Decoder(CollectorSettings()).decode(frames_of(frames), ["tap"], "test"))
    names = [name for name in rows.columns if name[0] == "h" and name[1].isdigit()]
    for row, frame in zip(rows.to_dicts(), frames, strict=True):
        head, nodes = read(frame)
        expected = {f"h{hop}_{name}": value for hop, each in enumerate(nodes[:MOST_HOPS])
                    for name, value in meaning(each).items()}  # fmt: skip
        assert {name: row[name] for name in names if row[name] is not None} == expected
        assert {name: row[name] for name in head} == head
        assert row["hop_count"] == min(len(nodes), MOST_HOPS)


def test_another_dissector_reads_the_same(tool: Callable[..., str], tmp_path: Path) -> None:
    draw = random.Random(7)
    frames = [make(draw) for _ in range(FRAMES)]
    path = tmp_path / "ioam.pcapng"
    write_pcapng(path, ["tap"], [frames_of(frames)])
    prefix = "ipv6.opt.ioam.trace."
    heads = {"ns": "ioam_namespace", "flags": "ioam_flags", "remlen": "ioam_remaining",
             "type": "ioam_trace_type"}  # fmt: skip
    wanted = [*heads, *(f"node.{name}" for name in SHARK)]
    arguments = [argument for name in wanted for argument in ("-e", prefix + name)]
    shown = subprocess.run(
        [tool("tshark"), "-r", path, "-T", "fields", "-E", "separator=;", *arguments],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for line, reading in zip(shown, readings(frames, CollectorSettings()), strict=True):
        cells = dict(zip(wanted, line.split(";"), strict=True))
        assert {name: int(cells[name], 0) for name in heads} == {
            name: reading.columns[column] for name, column in heads.items()
        }
        told = reading.columns["ioam_type"] == 0 or reading.columns["ioam_remaining"] == 0
        if not told or reading.reason == "too_many_hops":
            continue  # It takes what may still be added to an incremental trace for free space.
        for name, columns in SHARK.items():
            raw = [f"ioam_{RAW[column]}" for column in columns]
            mine = [hop[each] for hop in reversed(reading.hops) for each in raw if each in hop]
            assert mine == [int(value, 0) for value in cells[f"node.{name}"].split(",") if value]


@pytest.mark.sampled(2)
@pytest.mark.skipif(not LINUX.exists(), reason="oracles are not part of a clone")
@pytest.mark.parametrize("name", ["D1", "D2", "D5", "D7"])
def test_a_kernels_traces_equal_what_its_configuration_makes_them(name: str) -> None:
    decoder = Decoder(CollectorSettings())
    with open_capture(LINUX / f"{name}_last.pcap.zst") as capture:
        rows = pl.concat([complete(decoder.decode(frames, capture.points, "test"))
                          for frames in capture.chunks()])  # fmt: skip
    assert decoder.accounting.reasons == {}
    truth = pl.read_parquet(LINUX / f"truth_linux_ioam_{name}.parquet")
    traces = rows.filter(pl.col("ioam_type") == 0).with_columns(pkt=pl.col("frame").cast(int) - 1)
    nodes = truth.group_by("pkt").agg(count="idx", bits="type", over="overflow", size="trace_bytes")
    assert sorted(traces["pkt"]) == sorted(nodes["pkt"])
    by_packet = {row["pkt"]: row for row in traces.to_dicts()}
    queues = 0
    for node in truth.to_dicts():
        row, bits = by_packet[node["pkt"]], int(node["type"], 16)
        hop = {each[3:]: row[each] for each in row if each.startswith(f"h{node['idx']}_")}
        assert (row["ioam_namespace"], row["ioam_trace_type"]) == (123, bits)
        assert row["ioam_flags"] == 8 * node["overflow"]
        assert (hop["ttl"], hop["node"]) == (node["hop_lim"], node["node_id"])
        if bits >> 22 & 1:
            inside = None if node["in_if"] == 0xFFFF else node["in_if"]
            assert (hop["ingress_port"], hop["port"]) == (inside, node["out_if"])
            late = None if node["idx"] == 0 else hop["ts_ns"] - node["t_ingress_ns"]
            assert hop["ts_ns"] is None if late is None else -1000 < late < LATE_NS
            queues += node["backlog_bytes_est"] not in (None, hop["qlen_bytes"])
    assert queues < 0.01 * truth.height, "the truth's own estimates are off now and then"
    for each in nodes.to_dicts():
        row, count = by_packet[each["pkt"]], len(each["count"])
        words = sum(row[f"h{hop}_snapshot_words"] or 0 for hop in range(count))
        own = {"D1": 4, "D2": 20, "D5": 20, "D7": 8}[name]
        assert row["hop_count"] == count
        assert 4 * (row["ioam_remaining"] + words) + own * count == each["size"][0]
