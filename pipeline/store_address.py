"""Where a store is: a directory of this machine that one process opens, or a ClickHouse server."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from pipeline.store_error import StoreError

DATABASE = "hopsight"
ACCEPTED = "chdb:///absolute/directory, http://host:8123/database or https://host:8443/database"

OPTIONS = ("verify", "ca_cert", "client_cert", "client_cert_key", "server_host_name")
"""Options of an https address: of TLS alone, none of which is a secret."""

LOGIN = "user and password stand before the host, with %23 for #, %2F for / and %3F for ?"
"""Where these belong, and how they are written."""


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """A store's address, read; `path` is set when the store is embedded, `dsn` when it is a server.

    `name` is what messages show: it never holds a password.
    """

    name: str
    database: str
    path: Path | None = None
    dsn: str = ""
    scheme: str = ""
    """How a server is spoken to: http or https."""


def parse_address(dsn: str) -> StoreAddress:
    """Read a store address: `chdb:///directory`, a directory, or `http(s)://…`.

    Raises StoreError with the accepted forms.
    """
    text = dsn.strip()
    try:
        parts = urlsplit(text)
    except ValueError:
        raise StoreError(f"store address cannot be read; accepted: {ACCEPTED}") from None
    _port(parts)
    if text and not parts.scheme and "://" not in text:
        return _embedded(text)
    if parts.scheme == "chdb":
        if parts.netloc or not parts.path.startswith("/") or parts.path == "/":
            raise StoreError(f"store {dsn!r} names no absolute directory; accepted: {ACCEPTED}")
        if parts.query or parts.fragment:
            said = "an embedded store has no options, and a # of its directory is written %23"
            raise StoreError(f"store {dsn!r}: {said}")
        return _embedded(unquote(parts.path))
    if parts.scheme in {"http", "https"} and parts.hostname:
        _options(parts)
        database = unquote(parts.path.strip("/")) or DATABASE
        return StoreAddress(_without_login(parts), database, dsn=text, scheme=parts.scheme)
    raise StoreError(f"store {_without_login(parts)!r} is no store address; accepted: {ACCEPTED}")


def _embedded(directory: str) -> StoreAddress:
    """The address of an embedded store, whichever way its directory is spelt."""
    path = Path(directory).expanduser().resolve()
    if "?" in str(path):
        raise StoreError(f"store {directory!r} has a '?', which the embedded engine cannot read")
    return StoreAddress(f"chdb://{path}", DATABASE, path=path)


def _options(parts: SplitResult) -> None:
    """Refuse options that are not accepted, by their names alone. Raises StoreError."""
    own = _without_login(parts)
    if parts.fragment:
        raise StoreError(f"store {own!r} has a '#'; {LOGIN}")
    for name in parse_qs(parts.query, keep_blank_values=True):
        if not name.isidentifier():  # a piece of a password, say
            raise StoreError(f"store {own!r} has an option without a name; {LOGIN}")
        if name not in OPTIONS or parts.scheme != "https":
            raise StoreError(
                f"store {own!r} has the option {name!r}; accepted are, of https alone,"
                f" {', '.join(OPTIONS)}; {LOGIN}"
            )


def _port(parts: SplitResult) -> int | None:
    """The port of an address, None where it names none. Raises StoreError."""
    try:
        return parts.port
    except ValueError:
        own = _without_login(parts)
        raise StoreError(f"store {own!r} has a port that is none from 0 to 65535") from None


def _without_login(parts: SplitResult) -> str:
    """A server's address without user, password and options."""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
