"""What `hopsight doctor` looks at: every stage in the order in which data passes it.

A check tells what it expected, what it saw, and what to do when the two differ. A stage that is not
configured is passed over; one that stands on a broken one is not looked at.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from collector import BusError, Decoder, bus_faults, is_compiled, ring_refusal
from pipeline import findings
from service.check import Check
from service.endpoint import time_text
from service.failure import Failure
from service.plain_frame import one_frame
from service.settings import Settings, SettingsError, load
from service.stored_checks import stored
from service.tls import SOON_DAYS, Tls
from service.topology_source import files_of
from service.usable import usable

PROGRAMS = (
    ("dumpcap", "live capture (`--interface`)"),
    ("tshark", "`dissect` and `--slow-path`"),
)


def checks(flags: Mapping[str, Mapping[str, Any]] | None = None) -> Iterator[Check]:
    """Every check in order; the first broken one is most likely the cause of those behind it.

    `flags` are settings that were given beside the others (`settings.load`).
    """
    expected = "settings that can be used"
    advice = "mend that setting; `hopsight settings --check` tells whether it is"
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
    yield certificate(settings)
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
        said = getattr(error, "strerror", None) or error
        return Check("topology", "broken", expected, f"{path}: {said}", "name another file")
    wrong = [one for one in found if one.level == "inconsistent"]
    if wrong:
        return Check("topology", "broken", expected, f"{path}: {len(wrong)} mistakes",
                     f"`hopsight topology check {path}` lists them by line")  # fmt: skip
    return Check("topology", "ok", expected, f"{path}: {len(found)} things unknown")


def bus(settings: Settings) -> Check:
    """Whether the brokers of the bus answer, and let us in."""
    url, expected = settings.bus.url, "a broker that lets us in"
    if not url:
        return Check("bus", "not asked", expected, "none is set: all in one process")
    try:
        found = asyncio.run(bus_faults(url, settings.bus))
    except BusError as error:
        return Check("bus", "broken", expected, str(error), "mend what [bus] or --bus says")
    if urlsplit(url).scheme != "kafka":
        return Check("bus", "not asked", expected, "the bus is in this process's memory")
    if found:
        return Check("bus", "broken", expected, "; ".join(map(str, found)),
                     "start the broker, or mend what [bus] or --bus says")  # fmt: skip
    return Check("bus", "ok", expected, f"{url} lets us in")


def certificate(settings: Settings) -> Check:
    """Whether clients accept the certificate of the service, and for how long."""
    expected = f"a certificate that is valid for {SOON_DAYS} days and more"
    try:
        tls = Tls.of(settings.service.tls_certificate, settings.service.tls_key)
    except Failure as error:
        return Check("certificate", "broken", expected, str(error), "mend that setting")
    if tls is None:
        return Check("certificate", "not asked", expected, "none is set: HTTP")
    if said := tls.doubt():
        return Check("certificate", "warning" if tls.is_valid else "broken", expected,
                     f"{tls.certificate}: {said}",
                     "put another in its place: a service that runs takes it")  # fmt: skip
    seen = f"{tls.certificate}: valid until {time_text(tls.to_ns)}"
    return Check("certificate", "ok", expected, seen)
