"""The store's door: ClickHouse in this process or on a server, behind the same four verbs.

`chdb:///directory` is the engine embedded in this process, `http(s)://…` a server; both are driven
by one client library, one dialect and the same `.sql` files. A `Store` may be used from any thread:
inserts take turns on one connection, on a server those of tables that people wait for on another
and the log of groups on a third, queries on a few others (`StoreLimits.readers`), so that reading
goes on while rows are written. No two threads use one connection at a time.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import resources
from typing import Any, Self

import polars as pl

from collector import one_thread
from pipeline.connection import Connection, reach
from pipeline.connections import Connections
from pipeline.fence import Fence
from pipeline.insert_body import Bodies
from pipeline.joined_question import JOINED
from pipeline.kept_rows import kept
from pipeline.migration import migrate, pending, readable
from pipeline.owner import Ownership
from pipeline.question_text import asked
from pipeline.remembered import Remembered
from pipeline.room import Day, trim
from pipeline.store_address import parse_address
from pipeline.store_error import StoreError
from pipeline.store_limits import StoreLimits
from pipeline.tables import TABLES, WAITED_FOR
from pipeline.together import Together

TRIM_S = 600.0
"""Time between two looks at how many bytes the store takes, seconds."""
ROWS_PER_INSERT = 1 << 18
"""Rows sent at a time. Larger frames are cut, always at the same rows, so that a retry matches."""

WRITER_SETTINGS: dict[str, Any] = {
    "async_insert": 0,  # on by default in this engine: rows are acknowledged before they are kept
    "insert_deduplicate": 1,
    "deduplicate_blocks_in_dependent_materialized_views": 1,  # a repeat counts once in rollups too
    "input_format_null_as_default": 1,
    "max_partitions_per_insert_block": 0,  # a capture with wild timestamps is slow, not refused
    "log_queries": 0,
}
CLUSTER_SETTINGS: dict[str, Any] = {
    "distributed_foreground_insert": 1,  # answered when the shard has the rows
    "insert_quorum": "auto",
    "insert_quorum_parallel": 0,
    "select_sequential_consistency": 1,  # the log of a place is read as it was written
    "distributed_ddl_task_timeout": 60,
}
READER_SETTINGS: dict[str, Any] = {
    "readonly": 2,
    "result_overflow_mode": "throw",
    "output_format_arrow_string_as_string": 1,
    "output_format_arrow_low_cardinality_as_dictionary": 0,
    "log_queries": 0,
}

FEEDING_SETTINGS: dict[str, Any] = {"optimize_on_insert": 0}
"""Of tables that feed others: their rows differ in their keys, to join them takes time alone."""
FEEDING = frozenset(table.fed_by for table in TABLES.values() if table.fed_by)

FEW_ROWS = 1 << 13
FEW_SETTINGS: dict[str, Any] = {"max_threads": 1}
"""Of inserts of a few rows: to begin threads and to join them takes longer than their work."""

UNASKED = frozenset({"audit"})
"""Tables that no answer which is polled is told from."""

GIVEN = {"tenants": ["*"], "skip": 0}
"""What a question is told unless its asker says: of all tenants, and from the first row on."""


class Store:
    """An open store; an embedded one belongs to this process until `close`.

    Raises StoreOwned when another process has the embedded store open, StoreAway, within seconds,
    where a server is not there or does not answer, StoreError when it cannot be opened for another
    reason.
    """

    def __init__(self, dsn: str, limits: StoreLimits | None = None) -> None:
        """Open the store at `dsn`; its tables are made by `migrate`."""
        self.address = parse_address(dsn)
        reach(self.address)
        self.limits = limits or StoreLimits()
        self.ownership = Ownership.claim(self.address.path) if self.address.path else None
        self._inserts = 0
        self._remembered = Remembered(time.monotonic)
        self._trim_at = time.monotonic()
        self._writing, self._counting = threading.Lock(), threading.Lock()
        self._bodies = Bodies()
        readers, given = self.limits.readers, (self.limits.wait_s, self._open_reader)
        # Each kind has its own, so that neither waits behind the other's queue, nor questions that
        # are asked together behind those of another name: what a flow is asked for begins at once.
        self._readers = Connections(readers, *given)
        self._together = Together(Connections(max(readers, len(JOINED)), *given))
        # Beside each other inserts of an embedded engine take longer than one after the other.
        self._apart = WAITED_FOR if self.address.path is None else ()
        sooner = partial(self._open_writer, self.address.database)
        self._sooner, self._changing = (Connections(1, None, sooner) for _ in range(2))
        try:
            self._writer = self._open_writer()
        except StoreError:
            self._release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def migrate(self) -> list[str]:
        """Make or complete the tables, and give the statements of it; may be repeated.

        Raises StoreError when a newer hopsight made the store, when a column has another type or
        when repeated inserts would double rows.
        """
        with self._writing:
            return migrate(self._writer)

    def readable(self) -> None:
        """Make the tables of a store that has none, and leave others as they are: for who reads.

        Raises StoreError for one that today's questions cannot be put to.
        """
        with self._writing:
            readable(self._writer)

    def pending(self) -> list[str]:
        """Statements that `migrate` would run now."""
        with self._writing:
            return list(pending(self._writer))

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """The connection of inserts while nobody inserts: for what changes whole tables."""
        with ExitStack() as others:
            others.enter_context(self._writing)
            for each in (self._sooner, self._changing) if self._apart else ():
                others.enter_context(each.one())
            self._writer.use(self.address.database)
            self._changed(None)
            try:
                yield self._writer
            finally:
                self._changed(None)

    @one_thread
    def insert(
        self, table: str, frame: pl.DataFrame, token: str, fence: Fence | None = None
    ) -> int:
        """Insert a frame's rows once, however often this is repeated; gives the rows sent.

        `token` names the rows: the same token with other rows drops those silently, so it must be
        a pure function of where the rows come from (source, first, last). Columns that the frame
        lacks become null, or zero where the table knows no null. Raises StoreError for a column
        that the table lacks, Fenced behind a `fence` that another worker has moved on.
        """
        more = FEEDING_SETTINGS if table in FEEDING else {}
        more = more | FEW_SETTINGS if frame.height <= FEW_ROWS else more
        waiting = deque(slices(kept(table, frame), token))
        while waiting:
            part, part_token = waiting.popleft()
            columns = part.columns
            with self._bodies.one() as body:
                body.write(part)
                del part  # rows are not held twice while their insert waits and runs
                with self._writer_of(table) as writer:
                    self._changed(table)
                    try:
                        writer.insert(table, columns, body, part_token, fence, **more)
                    finally:
                        self._changed(table)
        self.trim_when_due()
        return frame.height

    def _changed(self, table: str | None) -> None:
        """Tell that rows of a table, or of any, are about to be stored, and that they were."""
        with self._counting:
            self._inserts += table not in UNASKED
            self._remembered.changed(table)

    def trim_when_due(self) -> None:
        """Trim once in a while: for who inserts, and for who serves what nobody adds to."""
        if time.monotonic() > self._trim_at:
            self.trim()

    def trim(self) -> list[Day]:
        """Drop the oldest days of what takes more than `retention_bytes`; the days that went."""
        self._trim_at = time.monotonic() + TRIM_S
        if self.limits.retention_bytes is None:
            return []
        with self.alone() as connection:
            return trim(connection, self.limits.retention_bytes)

    def change(self, name: str, token: str = "", **parameters: int | str) -> None:
        """Run the statement of `pipeline/sql/change/<name>.sql`, once for each token."""
        place = resources.files("pipeline") / "sql" / "change" / f"{name}.sql"
        text = place.read_text(encoding="utf-8")
        # What a step may do hangs on it: on a server it waits for no insert.
        with self._changing.one() if self._apart else self._writer_of(name) as connection:
            connection.change(name, text, token, **parameters)

    @property
    def revision(self) -> int | None:
        """A number that is another one after every insert; None: others may write there too."""
        return None if self.address.path is None else self._inserts

    def query(self, name: str, **parameters: Any) -> pl.DataFrame:
        """The answer to `pipeline/sql/<name>.sql`, whose parameters the engine itself binds.

        `filter` is a text of the filter language (`pipeline.filter`); FilterError when it is wrong.
        Of questions with `tenants` the answer is about the flows that these own; without, about
        all. Raises StoreLimit past a limit of time, rows or memory, StoreBusy when no reader comes
        free.
        """
        sifted = str(parameters.pop("filter", ""))
        text = asked(name, sifted)
        least = text.wanted - GIVEN.keys()
        if not least <= parameters.keys() <= text.wanted:
            raise StoreError(
                f"query {name} takes {', '.join(sorted(least)) or 'no parameters'};"
                f" given: {', '.join(sorted(parameters)) or 'none'}"
            )
        parameters = {name: GIVEN[name] for name in GIVEN.keys() & text.wanted} | parameters
        told = parameters | text.own
        if self.revision is None or sifted:
            return self._told(name, text.sql, told)
        return self._remembered.ask(name, told, lambda: self._told(name, text.sql, told))

    def _told(self, name: str, sql: str, parameters: dict[str, Any]) -> pl.DataFrame:
        """What a reader says; of what is asked for many at once, what it says to this asker."""
        if name in JOINED:
            return self._together.ask(name, parameters)
        with self._readers.one() as connection:
            return connection.frame(name, sql, parameters)

    def close(self) -> None:
        """Close every connection and give an embedded store up; may be called again."""
        self._readers.close()
        self._together.close()
        self._sooner.close()
        self._changing.close()
        self._writer.close()
        self._bodies.close()
        self._release()

    def _release(self) -> None:
        if self.ownership is not None:
            self.ownership.release()

    @contextmanager
    def _writer_of(self, table: str) -> Iterator[Connection]:
        """The connection for rows of a table, when it is free."""
        if table in self._apart:
            with self._sooner.one() as connection:
                yield connection
        else:
            with self._writing:
                yield self._writer

    def _open_writer(self, database: str | None = None) -> Connection:
        more: dict[str, Any] = {"max_memory_usage": self.limits.insert_memory_bytes}
        more |= CLUSTER_SETTINGS if self.limits.cluster else {}
        return Connection(self.address, self.limits, WRITER_SETTINGS | more, database)

    def _open_reader(self) -> Connection:
        bounds = {
            "max_execution_time": self.limits.query_s,
            "max_result_rows": self.limits.query_rows,
            "max_memory_usage": self.limits.query_memory_bytes,
        }
        joins = {"distributed_product_mode": "global"} if self.limits.cluster else {}
        given = {**READER_SETTINGS, **bounds, **joins}
        return Connection(self.address, self.limits, given, self.address.database)


def slices(frame: pl.DataFrame, token: str) -> Iterator[tuple[pl.DataFrame, str]]:
    """A frame cut into inserts, each with its own deduplication token."""
    if not token:
        raise StoreError("an insert needs a token: without one, equal rows are dropped as repeats")
    if 0 < frame.height <= ROWS_PER_INSERT:
        yield frame, token
        return
    for number, part in enumerate(frame.iter_slices(ROWS_PER_INSERT)):
        if part.height:
            yield part, f"{token}/{number}"
