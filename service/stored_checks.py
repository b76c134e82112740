"""What `hopsight doctor` looks at of a store: its disk, who serves it, and what it holds."""

import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from collector import unwritable
from pipeline import (
    Asked,
    Owner,
    StoreError,
    findings_of,
    open_or_ask,
    parse_address,
    read_owner,
    worth_a_look,
)
from service.check import Check, State
from service.endpoint import time_text
from service.future import MOST_AHEAD_NS
from service.settings import Settings
from service.text import duration
from service.trust import TrustError, trust

LEAST_FREE = 2 << 30
"""Octets of the disk below which a store is in danger."""
NO_ROOM = 64 << 20
"""Octets below which nothing can be relied on to be stored."""
GIB, MIB = 1 << 30, 1 << 20
ANSWER_S = 5.0
FINDINGS_NS = 600_000_000_000
MOST_FINDINGS = 10_000
NO_FLOWS = "look at the sources: do frames arrive, are they decoded?"
NO_VERDICTS = ("if frames are judged (`hopsight pipeline`), verdicts were kept no longer"
               " (store.retention_days): minutes and hours of links reach farther")  # fmt: skip


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
        elif not unwritable(above):
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
