"""Other readers of captures, each asked for the same fields: dpkt here, the others by command."""

import struct
import sys
from pathlib import Path
from shutil import which

NAMES = (
    "frame.number", "frame.time_epoch", "frame.len", "ip.src", "ip.dst", "ip.proto",
    "ip.dsfield.dscp", "ip.dsfield.ecn", "ip.ttl", "ip.id", "tcp.srcport", "tcp.dstport",
    "tcp.seq_raw", "tcp.ack_raw", "tcp.flags", "tcp.window_size_value",
    "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr",
)  # fmt: skip
"""Fields that Wireshark has of IPv4 and TCP."""
CSIG_NAMES = ("hopsight.csig.t", "hopsight.csig.s", "hopsight.csig.lm")


def capinfos(path: Path) -> list[str]:
    """Count the frames, in C."""
    return ["capinfos", "-c", str(path)]


def tshark(path: Path, dissectors: Path | None = None) -> list[str]:
    """Print fields; CSIG's too with our dissectors."""
    extra = ["-X", f"lua_script:{dissectors}"] if dissectors else []
    names = (*NAMES, *CSIG_NAMES) if dissectors else NAMES
    return ["tshark", "-n", *extra, "-r", str(path), "-T", "fields",
            *(word for name in names for word in ("-e", name))]  # fmt: skip


def pyshark(path: Path) -> list[str]:
    """Touch the same fields of every packet in Python."""
    return [sys.executable, str(Path(__file__).with_name("pyshark_reader.py")), str(path)]


def dpkt(path: Path) -> int:
    """The same fields in Python, through dpkt's classes; the tag, which it lacks, by hand."""
    from dpkt.ip import IP
    from dpkt.pcap import Reader
    from dpkt.tcp import parse_opts

    total = 0
    with path.open("rb") as file:
        for number, (time, octets) in enumerate(Reader(file), 1):
            tpid, tag = struct.unpack_from(">HH", octets, 12)
            tagged = tpid == 0x9900  # noqa: PLR2004 - the tag's default
            ip = IP(octets[18 if tagged else 14 :])
            tcp = ip.data
            stamp = next(value for kind, value in parse_opts(tcp.opts) if kind == 8)  # noqa: PLR2004
            row = (number, time, ip.len, ip.src, ip.dst, ip.p, ip.tos >> 2, ip.tos & 3, ip.ttl,
                   ip.id, tcp.sport, tcp.dport, tcp.seq, tcp.ack, tcp.flags, tcp.win,
                   struct.unpack(">II", stamp), tag >> 13, tag >> 7 & 31, tag & 127)  # fmt: skip
            total += len(row)
    return total


def missing(program: str) -> bool:
    """Whether a program or a package is not there to be compared with."""
    if program in {"dpkt", "pyshark"}:
        from importlib.util import find_spec

        return find_spec(program) is None
    return which(program) is None
