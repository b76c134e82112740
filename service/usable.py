"""Whether what settings name can be used: files are read, addresses looked at, nothing opened."""

from pathlib import Path

from service.failure import ExitCode, Failure
from service.settings import Settings


def usable(settings: Settings) -> None:
    """Look at what settings name, as whoever needs it does. Raises Failure, of the settings all."""
    try:
        _usable(settings)
    except Failure as failure:
        raise Failure(ExitCode.USAGE, str(failure)) from None


def _usable(settings: Settings) -> None:
    from service.commands.serve import login_for
    from service.tls import Tls

    _addresses(settings)
    _files(settings)
    login_for(settings)
    Tls.of(settings.service.tls_certificate, settings.service.tls_key)


def _addresses(settings: Settings) -> None:
    """Look at addresses as whoever uses them does, without connecting. Raises Failure."""
    from collector import BusError, open_bus, unwritable
    from pipeline import StoreError, parse_address
    from service.sources import port_of

    try:
        parse_address(settings.store.dsn)
    except StoreError as error:
        raise Failure(ExitCode.USAGE, f"store.dsn: {error}") from None
    if settings.bus.url is not None:
        try:
            open_bus(settings.bus.url, settings.bus)
        except BusError as error:
            raise Failure(ExitCode.USAGE, f"bus.url: {error}") from None
    spill = settings.bus.spill_directory
    if spill and (said := unwritable(Path(spill))):
        raise Failure(ExitCode.USAGE, f"bus.spill_directory: {said}")
    if settings.process.metrics is not None:
        try:
            port_of(settings.process.metrics)
        except Failure as failure:
            raise Failure(ExitCode.USAGE, f"process.metrics: {failure}") from None


def _files(settings: Settings) -> None:
    """Read the files that settings name, as whoever needs them does. Raises Failure."""
    from service.alerts.rule import AlertsError, read
    from service.export_key import ExportKeyError, export_key
    from service.topology_source import read_topology

    read_topology(None, settings.pipeline.topology)
    service = settings.service
    try:
        read(service.alerts_file)
        if service.export_key_file is not None:
            export_key({}, service.export_key_file)
    except AlertsError as error:
        raise Failure(ExitCode.USAGE, f"service.alerts_file: {error}") from None
    except ExportKeyError as error:
        raise Failure(ExitCode.USAGE, str(error)) from None
