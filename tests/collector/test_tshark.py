"""What another dissector reads in the innermost headers of a frame is what is read here."""

import ipaddress
import random
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
import pytest
from octets import ethernet, frames_of, ipv4, tcp, udp

from collector import CollectorSettings, Decoder, complete, open_capture, write_pcapng

SHARED = Path(__file__).resolve().parents[3] / "shared" / "captures"
READ = ("ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "ip.dsfield.ecn", "ip.dsfield.dscp",
        "ipv6.tclass.ecn", "ipv6.tclass.dscp", "tcp.srcport", "tcp.dstport", "tcp.seq_raw",
        "tcp.ack_raw", "tcp.flags", "tcp.window_size_value", "tcp.len", "udp.srcport",
        "udp.dstport", "frame.protocols")  # fmt: skip
TCP_FIELDS = {"tcp.srcport": "sport", "tcp.dstport": "dport", "tcp.seq_raw": "seq",
              "tcp.ack_raw": "ack", "tcp.flags": "flags", "tcp.window_size_value": "window",
              "tcp.len": "payload_bytes"}  # fmt: skip
UDP_FIELDS = {"udp.srcport": "sport", "udp.dstport": "dport"}
REPEATS = 8
UDP, TCP, IPV4, IPV6 = 17, 6, 4, 41


def ipv6(payload: bytes, following: int, draw: random.Random) -> bytes:
    """An IPv6 header with random addresses and traffic class."""
    first = 6 << 28 | draw.getrandbits(28)
    length = len(payload).to_bytes(2, "big")
    source, destination = b"\x20\x01" + draw.randbytes(14), b"\xfd\x00" + draw.randbytes(14)
    return (
        first.to_bytes(4, "big") + length + bytes([following, 64]) + source + destination + payload
    )


def segment(draw: random.Random) -> tuple[bytes, int]:
    """A transport header with random numbers, and its IP protocol."""
    payload = draw.randbytes(draw.randrange(1, 20))
    if draw.random() < 0.3:
        return draw.randrange(50000, 60000).to_bytes(2, "big") + udp(payload, 50001)[2:], UDP
    options = draw.choice((b"", b"\x01\x01\x08\x0a" + draw.randbytes(8), b"\x02\x04\x05\x8c"))
    octets = bytearray(tcp(options, payload, flags=draw.getrandbits(9) & 0x1F8))
    octets[0:12] = b"\xc3\x51" + draw.randbytes(1) + b"\x99" + draw.randbytes(8)
    return bytes(octets), TCP


def packet(draw: random.Random) -> tuple[bytes, int]:
    """An IP packet around a segment, and its version's ethertype."""
    transport, protocol = segment(draw)
    if draw.random() < 0.4:
        chain = draw.choice((b"", bytes([protocol, 0]) + bytes.fromhex("010400000000")))
        return ipv6(chain + transport, 60 if chain else protocol, draw), 0x86DD
    return ipv4(transport, protocol, draw.getrandbits(6), draw.getrandbits(2), 9), 0x0800


def kinds(draw: random.Random) -> Iterable[bytes]:
    """One frame of every carrier that both readers know."""
    inner, ethertype = packet(draw)
    kind = ethertype.to_bytes(2, "big")
    whole = ethernet(inner, ethertype)
    protocol = IPV4 if ethertype == 0x0800 else IPV6

    def over(port: int, head: bytes, payload: bytes) -> bytes:
        return ethernet(ipv4(udp(head + payload, port), UDP, 1, 3, 77))

    def gre(head: bytes, payload: bytes) -> bytes:
        return ethernet(ipv4(head + payload, 47, 1, 3, 77))

    sequence = b"\0\0\0\x07"
    yield whole
    yield ethernet(b"\0\x64" + kind + inner, 0x8100)
    yield ethernet(b"\0\x64\x81\0\0\xc8" + kind + inner, 0x88A8)
    yield ethernet(b"\xaa\xaa\x03\0\0\0" + kind + inner, 8 + len(inner))
    yield ethernet(bytes.fromhex("2000000000070011223344550001") + kind + inner + bytes(16), 0x88E5)
    yield ethernet(bytes.fromhex("0001003f0002013f") + inner, 0x8847)
    yield ethernet(ipv4(inner, protocol, 0, 3, 77))
    yield ethernet(ipv6(inner, protocol, draw), 0x86DD)
    yield gre(b"\0\0" + kind, inner)
    yield gre(b"\x30\0" + kind + bytes(8), inner)
    yield gre(b"\x20\0\x65\x58" + sequence, whole)
    yield gre(b"\0\0\x88\xbe", whole)
    yield gre(b"\x10\0\x88\xbe" + sequence + bytes.fromhex("12aa96aa155f0f0f"), whole)
    yield gre(b"\x10\0\x22\xeb" + sequence + bytes.fromhex("206400013b9aca0000008004"), whole)
    subheader = bytes.fromhex("206400013b9aca00000080350c0000006553f100")
    yield gre(b"\x10\0\x22\xeb" + sequence + subheader, whole)
    yield over(4789, bytes.fromhex("0800000000123400"), whole)
    yield over(6081, b"\0\0\x65\x58" + bytes.fromhex("00123400"), whole)
    yield over(6081, b"\x02\0" + kind + bytes.fromhex("00123400" + "0103000100000000"), inner)
    yield over(4790, bytes.fromhex("0c00000300123400"), whole)


def told(tool: Callable[..., str], path: Path) -> pl.DataFrame:
    """The last occurrence of each field in each frame, as text; absent fields are empty."""
    wanted = [argument for name in READ for argument in ("-e", name)]
    ran = subprocess.run(
        [tool("tshark"), "-r", str(path), "-T", "fields", "-E", "occurrence=l", "-E", "separator=;",
         "-e", "frame.number", *wanted],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    cells = [line.split(";") for line in ran.stdout.splitlines()]
    names = ["frame", *READ]
    return pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row").with_columns(
        pl.col("frame").cast(pl.UInt64)
    )


def decoded(path: Path) -> pl.DataFrame:
    """Complete observations of a capture, without INT: tshark does not know it."""
    decoder = Decoder(CollectorSettings(int_udp_ports=()))
    with open_capture(path) as capture:
        batches = [
            complete(decoder.decode(frames, capture.points, capture.source))
            for frames in capture.chunks()
        ]
    return pl.concat(batches)


def address(row: dict[str, int], end: str) -> ipaddress.IPv6Address:
    """An address of a row."""
    return ipaddress.IPv6Address(row[f"{end}_hi"] << 64 | row[f"{end}_lo"])


def compared(row: dict[str, int], other: dict[str, str]) -> bool:
    """Hold a row against the fields of the innermost headers; false when there is no transport."""
    layers = other["frame.protocols"].split(":")
    innermost = [layer for layer in layers if layer in {"ip", "ipv6"}][-1:]
    transport = [layer for layer in layers if layer in {"tcp", "udp"}][-1:]
    if not innermost or not transport:
        return False
    version = innermost[0]
    for end, name in (("src", "src"), ("dst", "dst")):
        mine = address(row, end)
        text = str(mine.ipv4_mapped if version == "ip" else mine)
        assert text == other[f"{version}.{name}"]
    prefix = "ip.dsfield" if version == "ip" else "ipv6.tclass"
    assert (row["ecn"], row["dscp"]) == tuple(
        int(other[f"{prefix}.{name}"], 0) for name in ("ecn", "dscp")
    )
    fields = TCP_FIELDS if transport[0] == "tcp" else UDP_FIELDS
    assert {name: row[column] for name, column in fields.items()} == {
        name: int(other[name], 0) for name in fields
    }
    return True


def agree(rows: pl.DataFrame, others: pl.DataFrame) -> int:
    """Hold all decoded TCP and UDP rows against tshark's; how many there were."""
    mine = rows.filter(pl.col("protocol").is_in([TCP, UDP]), status=0)
    theirs = {row["frame"]: row for row in others.to_dicts()}
    return sum(compared(row, theirs[row["frame"]]) for row in mine.to_dicts())


def test_every_carrier_is_read_alike(tool: Callable[..., str], tmp_path: Path) -> None:
    draw = random.Random(3)
    packets = [frame for _ in range(REPEATS) for frame in kinds(draw)]
    path = tmp_path / "kinds.pcapng"
    write_pcapng(path, ["tap"], [frames_of(packets)])
    assert agree(decoded(path), told(tool, path)) == len(packets)


@pytest.mark.sampled(8)
@pytest.mark.skipif(not SHARED.exists(), reason="captures of others are not part of a clone")
@pytest.mark.parametrize("path", sorted(SHARED.glob("*.pcap")), ids=lambda path: path.stem)
def test_captures_of_others_are_read_alike(tool: Callable[..., str], path: Path) -> None:
    """Also: no frame in which tshark sees a transport ends as if it held none."""
    rows, others = decoded(path), told(tool, path)
    agree(rows, others)
    transports = pl.col("frame.protocols").str.contains(r":(?:tcp|udp|icmp|icmpv6)(?::|$)")
    seen = others.filter(transports).join(rows, on="frame", how="left")
    assert seen["src_lo"].null_count() == 0
