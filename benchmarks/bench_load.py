"""200 clients at once while frames come in: no failure, answers in time, nothing that grows.

`tcpreplay` puts 100,000 frames a second on one end of a veth pair, and `hopsight up` captures,
judges and stores what comes out of the other end; it sheds whole flows when it falls behind. 200
clients, in this process, ask for 60 s: four of five requests are of consoles and TE controllers,
one is `where` of a flow drawn at random, of thousands that were stored before. As many send in a
second run; in the first 64 do (`--flows`), for to judge thousands takes more than a core by itself.
Then they ask for twice as long, for the memory alone: threads and caches that are there for clients
come with the first of them, and what grows goes on to grow. Whoever gets 503 comes again after the
time that it is told. Clients, sender and service share the machine's cores. Told is also what was
shed of the frames that came before the clients, and of those that came while they asked.
"""

import argparse
import re
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import mirror
import soak_live as live
import uvloop
from bar import end, met
from clients import Heard, asked, percentile

from pipeline import read_owner

CLIENTS, SECONDS, RATE = 200, 60.0, 100_000
SENDING, KNOWN = (64, 4096), 4096
"""Flows whose frames come in, of one run each, and those that were stored before."""
LEAST_WHERE, MOST_P99_S, MOST_BEHIND_S, MOST_GROWTH = 40.0, 1.0, 5.0, 1.25
WARM_S = 20.0
"""Time before the clients come, in which flows are seen."""
ENDS_S = 10.0
"""For how long frames come when the clients have gone."""
NS = 10**9
FRAMES = re.compile(
    r'^hopsight_collector_frames_total\{[^}]*status="(\w+)"[^}]*\} (\S+)$', re.MULTILINE
)


def behind_s(url: str) -> float:
    """Seconds between now and the newest verdict that is stored; a busy service is asked again."""
    for _ in range(20):
        try:
            told = httpx.get(f"{url}/api/v1/bottlenecks?limit=1", timeout=60).json()
            return (time.time_ns() - told["stored"]["to_ns"]) / NS
        except (httpx.HTTPError, KeyError, TypeError):
            time.sleep(0.5)
    return float("inf")


def frames(url: str) -> Counter[str]:
    """Frames that the service has told of, by how they ended."""
    text = httpx.get(f"{url}/metrics", timeout=60).text
    return Counter({status: round(float(count)) for status, count in FRAMES.findall(text)})


def show(heard: Heard, seconds: float) -> None:
    """Print what the clients heard, beside the bars."""
    statuses = Counter(status for _, status, _ in heard.answers)
    print(f"{len(heard.answers):,} answers in {seconds:.0f} s: {dict(sorted(statuses.items()))}")
    for what in sorted({name for name, _, _ in heard.answers}):
        took = heard.seconds(what)
        print(f"  {what:28}{len(took):8,}  p50 {percentile(took, 0.5) * 1e3:7.1f} ms"
              f"  p99 {percentile(took, 0.99) * 1e3:7.1f} ms")  # fmt: skip
    for line, count in Counter(heard.wrong).most_common(5):
        print(f"  {count} times {line}")
    print(f"no failure but 503 with Retry-After: {met(not heard.wrong, 'failures')}")
    rate = len(heard.flows) / seconds
    print(f"at least {LEAST_WHERE:g} distinct `where` a second: {met(rate >= LEAST_WHERE, 'where')}"
          f" ({rate:.1f})")  # fmt: skip
    p99 = percentile(heard.seconds(), 0.99)
    print(f"p99 of what is served below {MOST_P99_S:g} s: {met(p99 < MOST_P99_S, 'p99')}"
          f" ({p99:.2f} s)")  # fmt: skip


def kept(place: Path) -> None:
    """Fill the store with the flows that clients ask for, in as many frames as each was seen in."""
    sending, mirror.FLOWS = mirror.FLOWS, KNOWN
    mirror.csig(place / "known.pcap", live.FRAMES)
    mirror.FLOWS = sending
    live.keep(place, "known.pcap", "store", judged=True)


def main() -> None:
    """Send, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long clients ask")
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--rate", type=int, default=RATE, help="frames a second that come in")
    parser.add_argument("--flows", type=int, nargs="*", default=SENDING, help="that send (64 4096)")
    given = parser.parse_args()
    for flows in given.flows:
        mirror.FLOWS = flows
        loaded(given.clients, given.seconds, given.rate)
    end()


def loaded(clients: int, seconds: float, rate: int) -> None:
    """Send, ask and print, with so many clients for so long and so many frames a second."""
    with live.captured(before=kept) as (place, process):
        owner = read_owner(place / "store")
        assert owner is not None
        url = owner.url
        known = httpx.get(f"{url}/api/v1/flows?limit=10000&filter=dport%3D5001", timeout=60)
        flows = known.json()["flows"]
        if not flows:
            raise SystemExit("no flow is stored")
        length = f"--duration={WARM_S + 3 * seconds + ENDS_S:.0f}"
        pace = (*live.at(rate), "--loop=0", length)
        sent: list[tuple[int, float]] = []
        sender = threading.Thread(target=lambda: sent.append(live.send(place / "sent.pcap", *pace)))
        sender.start()
        time.sleep(WARM_S)
        before, lag = frames(url), behind_s(url)
        memory, look = live.resident(process.pid), live.Look(process.pid)
        look.start()
        heard = uvloop.run(asked(url, flows, clients, seconds))
        beside, late = frames(url) - before, behind_s(url)
        heard.wrong += uvloop.run(asked(url, flows, clients, 2 * seconds)).wrong
        look.over.set()
        grown = live.resident(process.pid)
        sender.join()
    [(count, took)] = sent
    print(f"{clients} clients, {len(flows):,} flows known, {mirror.FLOWS:,} that send,"
          f" {count / took:,.0f} frames/s offered:")  # fmt: skip
    show(heard, seconds)
    for when, ends in (("before them", before), ("beside them", beside)):
        told = ", ".join(f"{name} {count:,}" for name, count in sorted(ends.items()) if count)
        print(f"frames {when}: {told}")
    whole = not beside["shed"] if count / took >= live.LEAST * rate else None
    print(f"{rate:,} frames/s come in meanwhile, nothing shed:"
          f" {'not shown' if whole is None else met(whole, 'rate')}")  # fmt: skip
    fresh = late <= max(MOST_BEHIND_S, 2 * lag)
    print(f"verdicts at most {MOST_BEHIND_S:g} s behind the frames: {met(fresh, 'freshness')}"
          f" ({lag:.1f} s before, {late:.1f} s after)")  # fmt: skip
    first, last = look.fifth(1), look.fifth(4)
    flat = met(last <= first * live.MOST_GROWTH, "memory")
    print(f"memory of the last fifth at most {live.MOST_GROWTH}x that of the second: {flat}"
          f" ({first:,.0f} MB, then {last:,.0f} MB)")  # fmt: skip
    flat = met(grown <= memory * MOST_GROWTH, "memory")
    print(f"memory grows by less than {MOST_GROWTH - 1:.0%}: {flat}"
          f" ({memory:,.0f} MB before, {grown:,.0f} MB after)")  # fmt: skip


if __name__ == "__main__":
    main()
