"""One connection to ClickHouse, embedded or on a server, whose errors are sentences."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl

from pipeline.fatal import faults_end
from pipeline.fence import Fence
from pipeline.insert_body import FORMAT, PACKED, Body
from pipeline.store_address import StoreAddress
from pipeline.store_error import Fenced, StoreAway, StoreError, StoreLimit
from pipeline.store_limits import StoreLimits

EMBEDDED_CACHES = ("mark_cache_size", "primary_index_cache_size", "index_mark_cache_size")
"""Caches that the embedded engine would let grow to 5 GB each."""
MERGING = {"os_threads_nice_value_merge_mutate": "10"}
"""Merges go behind what frames and people wait for. The engine does that where the process may
change priorities (CAP_SYS_NICE); elsewhere they are as urgent as the rest."""

LIMIT_SENTENCES = {
    158: "reads too many rows",
    159: "took longer than {0.query_s:g} s",
    241: "needs more than {0.query_memory_bytes} bytes of memory",
    396: "gives more than {0.query_rows} rows",
}
"""Engine error codes that mean a limit was reached, and what is said then."""

AWAY = frozenset({202, 209, 210, 242, 243, 252, 319, 425, 999})
"""Engine error codes that pass: too busy, the network, read-only, a full disk, too many parts, a
coordinator that is away."""
ANSWER_S = 4
"""How long a server may take to answer where it is tried again, whole seconds."""
FENCED = 395
"""Engine error code of `throwIf`."""

_OTHER_STORE = re.compile(r"already initialized with path '([^']*)'")
"""How the engine says that it can have one path open at a time."""


class Connection:
    """A connection that one thread at a time uses. Every method raises StoreError or StoreLimit."""

    def __init__(
        self,
        address: StoreAddress,
        limits: StoreLimits,
        settings: Mapping[str, Any],
        database: str | None = None,
        **more: Any,
    ) -> None:
        """Connect; the engine's library is loaded with the first connection.

        `more` are options of the client library for a server.
        """
        from clickhouse_connect import get_client

        self.address = address
        self.limits = limits
        with self._told("opening it"):
            if address.path is None:
                # By itself the library tells http from https by the port alone.
                self._client = get_client(
                    dsn=address.dsn,
                    interface=address.scheme,
                    database=database or "default",
                    settings=dict(settings),
                    **more,
                )
                return
            try:
                address.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError, PermissionError) as error:
                # It does not pass, however long one waits.
                said = f"{address.path} can be no store: {error.strerror}"
                raise StoreError(said) from error
            self._client = get_client(
                interface="chdb",
                path=str(address.path),
                database=database,
                settings=dict(settings),
                chdb_options=dict.fromkeys(EMBEDDED_CACHES, str(limits.cache_bytes)) | MERGING,
            )
            faults_end()

    def use(self, database: str) -> None:
        """Make `database` the one that names without a database mean."""
        self._client.database = database

    def command(self, statement: str, **parameters: int | str) -> None:
        """Run a statement that gives no rows."""
        with self._told("changing its schema"):
            self._client.command(statement, parameters=parameters)

    def change(self, name: str, statement: str, token: str, **parameters: int | str) -> None:
        """Run a statement that changes rows; with a token that is remembered it changes nothing."""
        settings = {"insert_deduplication_token": token} if token else {}
        with self._told(name):
            self._client.command(statement, parameters=parameters, settings=settings)

    def rows(self, statement: str, **parameters: str) -> list[tuple[Any, ...]]:
        """Rows of a small question about the schema."""
        with self._told("reading its schema"):
            answer = self._client.query(statement, parameters=parameters)
            return [tuple(row) for row in answer.result_rows]

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        body: Body,
        token: str,
        fence: Fence | None = None,
        **more: int,
    ) -> None:
        """Insert a body's rows once: a token that the table remembers changes nothing.

        `more` are settings of the engine for this insert. A server refuses rows behind a `fence`
        that another worker has moved on; an embedded store has one owner, who needs none. Raises
        Fenced.
        """
        settings: dict[str, int | str] = {"insert_deduplication_token": token, **more}
        with self._told(f"insert into {table}"):
            if self.address.path is not None:
                self._client.command(from_file(table, columns, body.path, settings))
                return
            target: str = table
            named: Sequence[str] | None = columns
            if fence is not None:
                target, named = fence.guarded(table, columns), None
            self._client.raw_insert(
                target, named, body.packed(), settings=settings, fmt=FORMAT, compression=PACKED
            )

    def put(self, table: str, columns: Sequence[str], body: bytes, token: str) -> None:
        """Insert rows in the engine's own words (Parquet), once a token, past every view."""
        settings = {"insert_deduplication_token": token}
        with self._told(f"insert into {table}"):
            self._client.raw_insert(table, columns, body, settings=settings, fmt="Parquet")

    def parquet(self, statement: str, **parameters: int | str) -> bytes:
        """The answer to a statement as a Parquet file."""
        with self._told("reading rows"):
            return self._client.raw_query(statement, parameters=parameters, fmt="Parquet")

    def frame(self, name: str, text: str, parameters: Mapping[str, Any]) -> pl.DataFrame:
        """The answer to the query `text`, called `name`."""
        with self._told(f"query {name}"):
            told = self._client.raw_query(text, parameters=dict(parameters), fmt="ArrowStream")
        return pl.read_ipc_stream(told)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Turn the client library's errors into one sentence about `what`."""
        from clickhouse_connect.driver.exceptions import Error

        try:
            yield
        except Error as error:
            code = getattr(error, "code", None)
            if code == FENCED:
                raise Fenced(f"{what}: another worker has taken the place over") from error
            if code in LIMIT_SENTENCES:
                sentence = LIMIT_SENTENCES[code].format(self.limits)
                raise StoreLimit(f"{what} {sentence}; ask for a shorter window") from error
            away = _unreached(error) if code is None and self.address.dsn else ""
            reason = str(error).strip().partition("\n")[0]
            reason = f"it does not answer: {away}" if away else reason
            if other := _OTHER_STORE.search(reason):
                raise StoreError(
                    f"another embedded store, {other[1]}, is open in this process; close it first"
                ) from error
            kind = StoreAway if code is None or code in AWAY else StoreError
            raise kind(f"the store {self.address.name}: {what} failed: {reason}") from error
        except OSError as error:
            raise StoreAway(f"the store {self.address.name}: {what} failed: {error}") from error


def reach(address: StoreAddress) -> None:
    """Raise StoreAway where a server does not answer soon: the library would wait for minutes."""
    if address.path is not None:
        return
    soon: dict[str, Any] = {"connect_timeout": ANSWER_S, "send_receive_timeout": ANSWER_S}
    try:
        Connection(address, StoreLimits(), {}, **soon).close()
    except StoreAway as error:
        reason = error.__cause__
        if getattr(reason, "code", None) is not None:  # it did answer
            raise
        said = _unreached(error) or str(reason).strip().partition("\n")[0]
        raise StoreAway(f"the store {address.name} does not answer: {said}") from error


def _unreached(error: BaseException) -> str:
    """What the system said of a server that does not answer; empty: it is another error.

    The client library tells it inside of what its own libraries made of it.
    """
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, OSError):
        inner = inner.__cause__ or inner.__context__
    if inner is None:
        return ""
    said = inner.strerror or str(inner)
    return f"{said[:1].lower()}{said[1:]}"


def from_file(
    table: str, columns: Sequence[str], path: str, settings: Mapping[str, int | str]
) -> str:
    """The statement by which the embedded engine takes rows from a body in a file."""
    from clickhouse_connect.driver.binding import format_str, quote_identifier

    names = ", ".join(map(quote_identifier, columns))
    told = ", ".join(f"{name} = {format_str(str(value))}" for name, value in settings.items())
    source = f"FROM INFILE {format_str(path)} SETTINGS {told} FORMAT {FORMAT}"
    return f"INSERT INTO {table} ({names}) {source}"
