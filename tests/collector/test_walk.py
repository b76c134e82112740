"""Every frame is counted once, whatever it holds; what tshark reads is what is read here."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from octets import INT_UDP, aecn_frame, ethernet, frames_of, ipv4, tcp, udp

from collector import CollectorSettings, Decoder, complete, open_capture, write_pcapng
from collector.observation import SCHEMA

SHARED = Path(__file__).resolve().parents[3] / "shared" / "captures"
KINDS = (
    ethernet(ipv4(tcp(bytes.fromhex("0204058c0402080a0000000100000000"), flags=0xC2))),
    ethernet(ipv4(tcp(bytes.fromhex("fd06c5162b85"), b"payload"))),
    ethernet(bytes.fromhex("2b850800") + ipv4(tcp(payload=b"x")), 0x9900),
    ethernet(ipv4(INT_UDP, protocol=17)),
    ethernet(ipv4(udp(bytes.fromhex("0800000000123400") + ethernet(ipv4(tcp())), 4789), 17)),
    aecn_frame(),
)
ARP = ethernet(bytes(28), 0x0806)
FIELDS = {"ip.src": "src_lo", "tcp.srcport": "sport", "tcp.dstport": "dport", "tcp.seq_raw": "seq",
          "tcp.ack_raw": "ack", "ip.dsfield.ecn": "ecn", "ip.dsfield.dscp": "dscp"}  # fmt: skip


def endings(*packets: bytes, captured: int | None = None) -> tuple[pl.DataFrame, Decoder]:
    """Rows of these frames, cut to `captured` octets, and their accounting."""
    frames = frames_of(packets)
    if captured is not None:
        frames.captured[:] = captured
    decoder = Decoder(CollectorSettings())
    return decoder.decode(frames, ["tap"], "test"), decoder


def test_frames_without_a_flow_give_no_row_and_a_reason() -> None:
    fragment = bytearray(ethernet(ipv4(tcp())))
    fragment[21] = 7
    short = bytearray(ethernet(ipv4(tcp())))
    short[14] = 0x41
    rows, decoder = endings(ARP, bytes(fragment), bytes(short), KINDS[0])
    assert rows.height == 1
    assert decoder.accounting.seen == 4
    assert decoder.accounting.reasons == {"unknown_ethertype": 1, "fragment": 1, "bad_length": 1}


def test_a_frame_cut_by_the_snap_length_decodes_what_is_there() -> None:
    whole = ethernet(ipv4(tcp(payload=bytes(1000))))
    rows, decoder = endings(whole, captured=60)
    assert decoder.accounting.decoded == 1
    assert rows["payload_bytes"].to_list() == [1000]
    _, cut = endings(whole, captured=40)
    assert cut.accounting.reasons == {"truncated": 1}


def test_a_batch_leaves_out_what_is_null_and_completes_to_the_schema() -> None:
    rows, _ = endings(*KINDS[:2])
    assert "csig_variant" not in rows.columns
    assert rows["mss"].to_list() == [0x058C, None]
    assert complete(rows).schema == SCHEMA


def test_mutated_frames_are_each_counted_once() -> None:
    draw = random.Random(7)
    packets = []
    for _ in range(6000):
        packet = bytearray(draw.choice(KINDS))
        for _ in range(draw.randrange(1, 6)):
            packet[draw.randrange(len(packet))] ^= 1 << draw.randrange(8)
        packets.append(bytes(packet[: draw.randrange(1, len(packet) + 1)]))
    rows, decoder = endings(*packets)
    assert decoder.accounting.seen == len(packets)
    assert len(decoder.accounting.reasons) > 5
    assert 0 < rows.height < len(packets)


def test_no_octet_is_read_beyond_a_frame(tmp_path: Path) -> None:
    """The same with Numba's bounds checks, in code compiled for this test."""
    program = "import test_walk; test_walk.test_mutated_frames_are_each_counted_once()"
    here = Path(__file__).parent
    places = os.pathsep.join((str(here), str(here.parent.parent)))
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ
        | {"NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": places, "HOPSIGHT_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def tshark(tool: Callable[..., str], path: Path) -> pl.DataFrame:
    """The innermost fields of each frame, by tshark."""
    named = [argument for field in FIELDS for argument in ("-e", field)]
    ran = subprocess.run(
        [tool("tshark"), "-r", str(path), "-T", "fields", "-E", "occurrence=l", "-E", "separator=;",
         "-e", "frame.number", *named],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    cells = [line.split(";") for line in ran.stdout.splitlines()]
    return pl.DataFrame(cells, schema=["frame", *FIELDS], orient="row")


def agree(tool: Callable[..., str], path: Path) -> int:
    """Hold the rows of a capture against tshark; the number of TCP frames compared."""
    decoder = Decoder(CollectorSettings())
    with open_capture(path) as capture:
        batches = [decoder.decode(f, capture.points, capture.source) for f in capture.chunks()]
    assert decoder.accounting.seen == sum(decoder.accounting.reasons.values()) + (
        decoder.accounting.decoded
    )
    rows = complete(pl.concat(batches, how="diagonal")) if batches else pl.DataFrame(schema=SCHEMA)
    told = tshark(tool, path).with_columns(pl.col("frame").cast(pl.UInt64))
    both = rows.filter(status=0, protocol=6).join(told, on="frame", how="inner")
    both = both.filter((pl.col("ip.src") != "") & (pl.col("tcp.srcport") != ""))
    for field, column in FIELDS.items():
        if field == "ip.src":
            words = pl.col("src_lo") & 0xFFFFFFFF
            octets = [(words // 256**place % 256).cast(pl.String) for place in (3, 2, 1, 0)]
            mine = both.select(pl.concat_str(octets, separator="."))
            assert mine.to_series().to_list() == both[field].to_list(), field
        else:
            assert both[column].cast(pl.Int64).to_list() == [int(x) for x in both[field]], field
    return both.height


def test_generated_frames_read_as_tshark_reads_them(
    tool: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "kinds.pcapng"
    write_pcapng(path, ["tap"], [frames_of([KINDS[0], KINDS[1], KINDS[4]] * 5)])
    assert agree(tool, path) == 15


@pytest.mark.skipif(not SHARED.exists(), reason="captures of others are not part of a clone")
def test_captures_of_others_read_as_tshark_reads_them(tool: Callable[..., str]) -> None:
    assert sum(agree(tool, path) for path in sorted(SHARED.glob("*.pcap"))) > 50
