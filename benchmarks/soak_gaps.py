"""Rounds of kill -9 of a service that captures live: each frame is a row once, or in a gap.

    soak_gaps.py [ROUNDS [SEED [udp|interface]]]

A sender puts numbered frames on a UDP feed of telemetry reports, or on one end of a veth pair, all
the time. `hopsight up` captures, judges and stores them in the embedded engine; it is killed at
random instants, mid-insert too, and begun anew. What was sent while nobody captured, or was on its
way when the service died, is gone. Fails when a frame is missing whose time no gap of the store
covers, when one is stored twice, or when an answer does not say that it lacks what the gaps lack.
"""

import argparse
import json
import random
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import httpx
import numpy as np
import polars as pl
import soak_live as live

from pipeline import Store
from pipeline.capture_gaps import gaps_of

ROUNDS, SEED = 25, 1
EVERY_S = 0.0005
PAYLOAD = 1000
CALM_S = 1.5
"""Most time that the service lives in a round, seconds; after it begins to serve."""
AWAY_S = 0.4
START_S = 300
LOOSE_NS = 20_000_000
"""How far the sender's clock may be from the time that the kernel gives a frame."""
NEARLY = 0.001
ETHERNET = bytes.fromhex("020000000002020000000001 0800")
REPORT = bytes.fromhex("14200000 03344c41 00000001 00000000")
"""Version 1, a tracked flow's packet without metadata."""
TCP = struct.Struct(">HHIIBBHHH")
ENDS = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
HOPSIGHT = live.HOPSIGHT
KEPT = re.compile(r'^hopsight_store_kept_total{[^}]*"rows_observations"[^}]*} [1-9]', re.MULTILINE)


def packet(number: int) -> bytes:
    """The headers of one segment of a flow whose sequence numbers tell which one it is."""
    head = struct.pack(">BBHHHBBH", 0x45, 0, 40 + PAYLOAD, number & 0xFFFF, 0, 64, 6, 0)
    words = struct.unpack(">10H", head + b"".join(ENDS))
    total = sum(words)
    total = (total & 0xFFFF) + (total >> 16)
    head = head[:10] + struct.pack(">H", 0xFFFF - ((total & 0xFFFF) + (total >> 16)))
    return head + b"".join(ENDS) + TCP.pack(5001, 5002, number * PAYLOAD, 1, 0x50, 0x10, 512, 0, 0)


class Sender(threading.Thread):
    """Sends numbered frames until it is over, and remembers when."""

    def __init__(self, send: Callable[[bytes], object]) -> None:
        super().__init__(daemon=True)
        self.send = send
        self.times: list[int] = []
        self.over = threading.Event()

    def run(self) -> None:
        """Send."""
        while not self.over.wait(EVERY_S):
            self.times.append(time.time_ns())
            self.send(packet(len(self.times) - 1))


def served(place: Path, feed: tuple[str, ...]) -> tuple["subprocess.Popen[str]", str]:
    """A service that captures, and serves already; its address."""
    command = [*HOPSIGHT, "up", *feed, "--port", "0", "--store", f"chdb://{place}/store"]
    process = subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return process, found[0]
    raise SystemExit("the service ended before it served")


def rounds(place: Path, feed: tuple[str, ...], count: int, chance: random.Random) -> None:
    """Kill the service so many times, then let it end in order."""
    for number in range(count):
        process, url = served(place, feed)
        while not number and not KEPT.search(httpx.get(f"{url}/metrics").text):
            time.sleep(0.1)  # what is sent before the first row is in no gap
        time.sleep(chance.uniform(0, CALM_S))
        process.kill()
        process.communicate()
        time.sleep(chance.uniform(0, AWAY_S))
        print(f"round {number + 1}: killed", flush=True)
    process, _ = served(place, feed)
    time.sleep(CALM_S)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=START_S)
    if process.returncode:
        raise SystemExit(said[-2000:])


def judged(place: Path, sent_ns: list[int], kills: int) -> None:
    """Every frame that was sent is a row once, or in a gap; and answers say so."""
    with Store(f"chdb://{place}/store") as store:
        with store.alone() as engine:
            rows = engine.rows(
                f"SELECT intDiv(seq, {PAYLOAD}), time_ns, source FROM observations"  # noqa: S608 - ours
                " WHERE dport = 5002"
            )
        sources = {source for *_, source in rows}  # each socket of a feed is one
        gaps = gaps_of(store).filter(pl.col("source").is_in(sources)).sort("from_ns")
    number, times = np.array([row[:2] for row in rows], np.int64).T
    if twice := len(number) - len(set(number.tolist())):
        raise SystemExit(f"{twice:,} frames are stored twice")
    sent = np.array(sent_ns)
    missing = np.setdiff1d(np.arange(len(sent)), number)
    # Before the first row nobody captured yet, and after the last one nobody does.
    began, ended = times.min() + LOOSE_NS, times.max() - LOOSE_NS
    missing = missing[(sent[missing] > began) & (sent[missing] < ended)]
    told = np.zeros(len(missing), bool)
    for from_ns, to_ns in gaps.select("from_ns", "to_ns").iter_rows():
        told |= (sent[missing] > from_ns - LOOSE_NS) & (sent[missing] < to_ns + LOOSE_NS)
    print(
        f"{len(sent):,} frames sent, {len(number):,} stored once, {len(missing):,} in"
        f" {gaps.height} gaps after {kills} kills"
    )
    if not told.all():
        lost = missing[~told]
        raise SystemExit(f"{lost.size:,} frames are missing in no gap, the first is {lost[0]:,}")
    if not 0 < gaps.height <= kills * len(sources) or gaps["lost"].count():
        raise SystemExit(f"{gaps.height} gaps were told of {kills} kills")
    answered(place, int(times.min()), int(times.max()), gaps)


def answered(place: Path, from_ns: int, to_ns: int, gaps: pl.DataFrame) -> None:
    """The answer about the flow says what it lacks."""
    asked = [*HOPSIGHT, "where", "192.0.2.1:5001", "192.0.2.2:5002", "--at", str(to_ns),
             "--window", f"{to_ns - from_ns}ns", "--store", f"chdb://{place}/store",
             "--json"]  # fmt: skip
    told = json.loads(subprocess.check_output(asked, text=True))  # noqa: S603 - our own command
    away = max(lacking(each, from_ns, to_ns) for each in gaps.partition_by("source"))
    said, share = told["verdict"]["parts"]["captured"], 1 - away / (to_ns - from_ns)
    print(f"of {(to_ns - from_ns) / 1e9:.1f} s {share:.0%} was captured, and {said:.0%} is told")
    if abs(said - share) > NEARLY or "was not captured from" not in " ".join(told["notes"]):
        raise SystemExit(f"the answer says: {told['verdict']['parts']}, {told['notes']}")


def lacking(gaps: pl.DataFrame, from_ns: int, to_ns: int) -> int:
    """How much of a time gaps cover, ns; they are in order."""
    away, reached = 0, from_ns
    for begin, end in gaps.select("from_ns", "to_ns").iter_rows():
        away += max(min(end, to_ns) - max(begin, reached), 0)
        reached = max(reached, end)
    return away


def main() -> None:
    """Send, kill, and look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=ROUNDS)
    parser.add_argument("seed", nargs="?", type=int, default=SEED)
    parser.add_argument("feed", nargs="?", choices=("udp", "interface"), default="udp")
    asked = parser.parse_args()
    count, kind = asked.rounds, asked.feed
    chance = random.Random(asked.seed)  # noqa: S311 - to be repeated
    with tempfile.TemporaryDirectory() as folder, live.wire() if kind != "udp" else nullcontext():
        if kind == "udp":
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
                free.bind(("127.0.0.1", 0))
                address = free.getsockname()
            opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            feed = ("--int-reports", f"{address[0]}:{address[1]}")
            sender = Sender(lambda octets: opened.sendto(REPORT + octets, address))
        else:
            opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            opened.bind((live.ENDS[0], 0))
            feed = ("--interface", live.ENDS[1], "--filter", "tcp port 5002")
            sender = Sender(lambda octets: opened.send(ETHERNET + octets))
        served(Path(folder) / "warm", feed)[0].kill()
        sender.start()
        try:
            rounds(Path(folder), feed, count, chance)
        finally:
            sender.over.set()
        sender.join()
        judged(Path(folder), sender.times, count)
        opened.close()


if __name__ == "__main__":
    main()
