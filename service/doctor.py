"""What `hopsight doctor` looks at: every stage in the order in which data passes it.

A check tells what it expected, what it saw, and what to do when the two differ. A stage that is not
configured is passed over; one that stands on a broken one is not looked at.
"""

import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx

from collector import BusError, Decoder, is_compiled, open_bus, ring_refusal
from pipeline import (
    Asked,
    Owner,
    StoreError,
    findings,
    findings_of,
    open_or_ask,
    parse_address,
    read_owner,
    worth_a_look,
)
from service.endpoint import time_text
from service.failure import Failure
from service.plain_frame import one_frame
from service.settings import Settings, SettingsError, load
from service.text import duration
from service.topology_source import files_of
from service.trust import TrustError, trust
from service.usable import usable

State = Literal["ok", "warning", "broken", "not asked"]
PROGRAMS = (
    ("dumpcap", "live capture (`--interface`)"),
    ("tshark", "`dissect` and `--slow-path`"),
)
LEAST_FREE = 2 << 30
"""Octets of the disk below which a store is in danger."""
NO_ROOM = 64 << 20
"""Octets below which nothing can be relied on to be stored."""
GIB, MIB = 1 << 30, 1 << 20
ANSWER_S = 5.0
KAFKA_PORT = 9092
MOST_AHEAD_NS = 60_000_000_000
"""How far ahead of the clock here what is stored may be, so that no clock is doubted."""
FINDINGS_NS = 600_000_000_000
MOST_FINDINGS = 10_000
NO_FLOWS = "look at the sources: do frames arrive, are they decoded?"
NO_VERDICTS = ("if frames are judged (`hopsight pipeline`), verdicts were kept no longer"
               " (store.retention_days): minutes and hours of links reach farther")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Check:
    """One stage: what was expected of it, what was seen, and what to do."""

    stage: str
    state: State
    expected: str
    seen: str
    advice: str = ""


def checks(flags: Mapping[str, Mapping[str, Any]] | None = None) -> Iterator[Check]:
    """Every check in order; the first broken one is most likely the cause of those behind it.

    `flags` are settings that were given beside the others (`settings.load`).
    """
    expected = "settings that can be used"
    advice = "mend that setting; `hopsight settings --dump` lists all"
    try:
        settings = load(flags)
    except SettingsError as error:
        yield Check("settings", "broken", expected, str(error), advice)
        return
    here = {"pipeline": {"topology": None}, "bus": {"url": None}}  # these have stages of their own
    own = {name: getattr(settings, name).model_copy(update=more) for name, more in here.items()}
    try:
        usable(settings.model_copy(update=own))
        yield Check("settings", "ok", expected, "read, with the files that they name")
    except Failure as error:
        yield Check("settings", "broken", expected, str(error), advice)
    yield from map(program, PROGRAMS)
    yield ring(settings)
    yield decoder(settings)
    yield topology(settings)
    yield bus(settings)
    yield from stored(settings)


def program(wanted: tuple[str, str]) -> Check:
    """Whether a program of others is there, and what would do without it."""
    name, use = wanted
    path = shutil.which(name)
    if path is None:
        return Check(name, "warning", f"on PATH, for {use}", "not found",
                     "install Wireshark's command line tools")  # fmt: skip
    if not os.access(path, os.X_OK):
        return Check(name, "warning", f"on PATH, for {use}", f"{path} may not be run",
                     "give this user the right, for dumpcap by the group wireshark")  # fmt: skip
    return Check(name, "ok", f"on PATH, for {use}", path)


def ring(settings: Settings) -> Check:
    """Whether frames of an interface can come through files where the settings want them."""
    directory, mib = settings.collector.ring_directory, settings.collector.ring_mib
    expected = f"room for {mib} MiB where nobody else can change anything"
    if not directory:
        return Check("ring", "not asked", expected, "none is set: frames come through a pipe")
    if said := ring_refusal(Path(directory), mib):
        return Check("ring", "broken", expected, said,
                     "mend that, or name another collector.ring_directory")  # fmt: skip
    return Check("ring", "ok", expected, f"{directory} has it")


def decoder(settings: Settings) -> Check:
    """Whether a plain frame is decoded, and whether the compiled code is kept."""
    try:
        made = Decoder(settings.collector)
        decode = made.decode if is_compiled() else made.decode_plainly
        decode(one_frame(), ["doctor"], "doctor")
    except ValueError as error:
        return Check("decoder", "broken", "a TCP frame is decoded", str(error),
                     "mend the setting under [collector] that it names")  # fmt: skip
    if made.accounting.decoded != 1:
        return Check("decoder", "broken", "a TCP frame is decoded", str(made.accounting.reasons),
                     "look at the settings under [collector]")  # fmt: skip
    if not is_compiled():
        return Check("decoder", "warning", "compiled code in the cache", "decoded, without it",
                     "the next command compiles; if that recurs, name a HOPSIGHT_CACHE_DIR"
                     " that can be written")  # fmt: skip
    return Check("decoder", "ok", "a TCP frame is decoded", "decoded by compiled code")


def topology(settings: Settings) -> Check:
    """Whether the topology can be read and is consistent."""
    path, expected = settings.pipeline.topology, "a topology without mistakes"
    if not path:
        return Check("topology", "not asked", expected, "none is set",
                     "hops are raw ids until pipeline.topology names a file")  # fmt: skip
    try:
        files = list(files_of(Path(path)))
        found = [one for file in files for one in findings(file.read_text(encoding="utf-8"))]
    except (OSError, UnicodeDecodeError) as error:
        return Check("topology", "broken", expected, f"{path}: {error}", "name another file")
    wrong = [one for one in found if one.level == "inconsistent"]
    if wrong:
        return Check("topology", "broken", expected, f"{path}: {len(wrong)} mistakes",
                     f"`hopsight topology check {path}` lists them by line")  # fmt: skip
    return Check("topology", "ok", expected, f"{path}: {len(found)} things unknown")


def bus(settings: Settings) -> Check:
    """Whether the brokers of the bus can be reached."""
    url, expected = settings.bus.url, "a broker that takes connections"
    if not url:
        return Check("bus", "not asked", expected, "none is set: all in one process")
    try:
        open_bus(url, settings.bus)
    except BusError as error:
        return Check("bus", "broken", expected, str(error), "mend what [bus] or --bus says")
    address, silent = urlsplit(url), []
    if address.scheme != "kafka":
        return Check("bus", "not asked", expected, "the bus is in this process's memory")
    for place in address.netloc.split(","):
        told = urlsplit(f"//{place}")
        try:
            there = (told.hostname or "", told.port or KAFKA_PORT)
            socket.create_connection(there, ANSWER_S).close()
        except OSError as error:
            silent.append(f"{place}: {error}")
    if silent:
        return Check("bus", "broken", expected, "; ".join(silent),
                     "start the broker, or mend bus.url (--bus)")  # fmt: skip
    return Check("bus", "ok", expected, f"{url} takes connections")


def stored(settings: Settings) -> Iterator[Check]:
    """The store, its disk, who serves it, and what it holds."""
    dsn, expected = settings.store.dsn, "a store that answers"
    try:
        address = parse_address(dsn)
    except StoreError as error:
        yield Check("store", "broken", expected, str(error), "mend store.dsn (--store)")
        return
    path = address.path
    if path is not None and not path.exists():
        above = next(each for each in path.parents if each.exists())
        room = disk(above)
        yield room
        if room.state == "broken":
            seen = f"{path} is not there yet, and there is no room for it"
            yield Check("store", "not asked", expected, seen, "make room first")
        elif above.is_dir() and os.access(above, os.W_OK | os.X_OK):
            made = "`hopsight analyze CAPTURE --store DSN` or `hopsight up` makes it"
            yield Check("store", "not asked", expected, f"{path} is not there yet", made)
        else:
            yield Check("store", "broken", expected, f"{path} cannot be made in {above}",
                        "name another directory in store.dsn (--store)")  # fmt: skip
        return
    try:
        if path is not None:
            yield disk(path)
            owner = read_owner(path)
            status = answered(owner)
            yield service(owner, status)
            if owner is not None and (owner.socket is None or isinstance(status, httpx.HTTPError)):
                seen = f"{path} is open in process {owner.pid}, which answers no questions"
                advice = "ask when it has ended; one that `serve` or `up` has answers"
                yield Check("store", "not asked", expected, seen, advice)
                return
        with open_or_ask(dsn, settings.store) as store:
            extent = store.query("extent").row(0, named=True)
            yield Check("store", "ok", expected, f"{address.name} answers")
            yield from data(store, extent)
    except StoreError as error:
        yield Check("store", "broken", expected, str(error), "see the sentence beside this")


def disk(path: Path) -> Check:
    """Whether the store's disk has room."""
    free = shutil.disk_usage(path).free
    expected, seen = f"at least {LEAST_FREE / GIB:g} GiB free", f"{free / GIB:.1f} GiB free"
    if free < NO_ROOM:
        seen = f"{free / MIB:.0f} MiB free: nothing can be stored"
        return Check("disk", "broken", expected, seen, "make room, or keep rows for less long")
    if free < LEAST_FREE:
        return Check("disk", "warning", expected, seen, "make room, or keep rows for less long")
    return Check("disk", "ok", expected, seen)


def service(owner: Owner | None, status: int | httpx.HTTPError | None) -> Check:
    """Whether a process serves the store, and answers."""
    expected = "a service that answers"
    if owner is None or status is None:
        return Check("service", "not asked", expected, "nobody serves this store",
                     "`hopsight serve` does")  # fmt: skip
    if isinstance(status, TrustError):
        return Check("service", "broken", expected, f"{owner.url}: {status}",
                     "mend that variable, for all that ask others by HTTPS")  # fmt: skip
    if isinstance(status, httpx.HTTPError):
        return Check("service", "broken", expected, f"{owner.url}: {status}",
                     f"end process {owner.pid} and start it again")  # fmt: skip
    state: State = "ok" if status == httpx.codes.OK else "broken"
    return Check("service", state, expected, f"{owner.url} answers {status}")


def answered(owner: Owner | None) -> int | httpx.HTTPError | None:
    """What a service says, beside its store if it can; None: nobody serves; an error: silence."""
    if owner is None or owner.url is None:
        return None
    url = "http://localhost" if owner.socket else owner.url
    try:
        trusted = trust(url)
        beside = httpx.HTTPTransport(uds=owner.socket, verify=trusted) if owner.socket else None
        with httpx.Client(transport=beside, timeout=ANSWER_S, verify=trusted) as client:
            return client.get(f"{url}/readyz").status_code
    except httpx.HTTPError as error:
        return error


def data(store: Asked, extent: Mapping[str, Any]) -> Iterator[Check]:
    """How new the verdicts are, and what is wrong with the telemetry they are made of."""
    expected, flows = "verdicts on flows", int(store.query("flows_known")["flows"][0])
    if not extent["verdicts"]:
        seen = f"no verdicts of {flows:,} flows" if flows else "the store is empty"
        yield Check("data", "warning", expected, seen, NO_VERDICTS if flows else NO_FLOWS)
        return
    to_ns = int(extent["to_ns"])
    lasted, since_ns = duration(to_ns - int(extent["from_ns"])), time.time_ns() - to_ns
    since = f"{duration(abs(since_ns))} {'ago' if since_ns >= 0 else 'ahead of the clock here'}"
    ahead = since_ns < -MOST_AHEAD_NS
    yield Check("data", "warning" if ahead else "ok", expected,
                f"{extent['verdicts']:,} over {lasted}, the newest {time_text(to_ns)}, {since};"
                f" {flows:,} flows are known, those of acknowledgments too",
                "set the clocks of capture points, collectors and this machine: windows end where"
                " the data does" if ahead else "")  # fmt: skip
    given = {"from_ns": to_ns - FINDINGS_NS, "to_ns": to_ns, "class": "", "verdict": ""}
    rows = store.query("health_findings", **given, rows=MOST_FINDINGS)
    wrong = [*worth_a_look(findings_of(rows))]
    if wrong:
        names = ", ".join(sorted({one["finding"].replace("_", " ") for one in wrong})[:3])
        yield Check("telemetry", "warning", "nothing wrong with it", f"{len(wrong)}: {names}",
                    "`hopsight health` tells each with its evidence")  # fmt: skip
    else:
        yield Check("telemetry", "ok", "nothing wrong with it", "nothing as far as was seen")
