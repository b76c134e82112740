"""An embedded store that another process has open, asked over that process's Unix socket.

The owner answers on three routes, which pass its Store's own verbs on:
`POST /internal/v1/insert/{table}?token=…` takes an Arrow IPC stream and gives `{"rows": n}`;
`GET /internal/v1/query/{name}?parameters={…JSON…}` gives an Arrow IPC stream;
`GET /api/v1/flows/bottleneck?…` and `GET /api/v1/alerts` are public routes. The first two are
answered on the socket only, whose permissions let nobody but the store's user in. Errors are
problem documents (RFC 9457).
"""

import json
import socket
import time
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import httpx
import polars as pl

from pipeline.insert_body import to_arrow
from pipeline.kept_rows import conform
from pipeline.owner import Owner, StoreOwned, read_owner
from pipeline.store import Store, slices
from pipeline.store_address import parse_address
from pipeline.store_error import StoreBusy, StoreError
from pipeline.store_limits import StoreLimits

TIMEOUT_S = 60.0
"""How long the owner may take for one answer or one insert."""
CONNECT_S = 2.0
SETTLE_S = 3.0
"""How long an owner that has just opened the store may take until it serves."""
PAUSE_S = 0.05
INSERT_ROUTE = "/internal/v1/insert/"
QUERY_ROUTE = "/internal/v1/query/"
ANSWER_ROUTE = "/api/v1/flows/bottleneck"
ALERTS_ROUTE = "/api/v1/alerts"
ARROW = "application/vnd.apache.arrow.stream"


class OwnerClient:
    """The store of another process, with the verbs that a Store has.

    Raises StoreError when the owner does not serve or does not answer. Every verb raises StoreError
    with the owner's own sentence, or with the truth when the owner does not answer.
    """

    def __init__(self, owner: Owner, timeout_s: float = TIMEOUT_S) -> None:
        if owner.socket is None:
            raise StoreError(
                f"the store is open in process {owner.pid} since {owner.started}, which answers no"
                " questions; wait until it ends"
            )
        self.owner = owner
        # Asked here, since the client library leaves a socket open that finds nobody.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(owner.socket)
            except OSError as error:
                raise self._silent(error) from error
        self._client = httpx.Client(
            # Nothing is encrypted: to load whom to trust takes longer than most questions.
            transport=httpx.HTTPTransport(uds=owner.socket, verify=False),
            base_url="http://localhost",
            timeout=httpx.Timeout(timeout_s, connect=CONNECT_S),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def revision(self) -> int | None:
        """See `Store.revision`; only the owner knows it."""
        return None

    def insert(self, table: str, frame: pl.DataFrame, token: str) -> int:
        """Insert a frame's rows once; see `Store.insert`."""
        for part, part_token in slices(conform(table, frame), token):
            self._ask(
                "POST",
                f"{INSERT_ROUTE}{table}",
                params={"token": part_token},
                # The client copies what is left after each piece that the socket takes.
                content=to_arrow(part, small=True),
                headers={"content-type": ARROW},
            )
        return frame.height

    def query(self, name: str, **parameters: Any) -> pl.DataFrame:
        """The answer to a query by its name; see `Store.query`."""
        given = {"parameters": json.dumps(parameters)}
        return pl.read_ipc_stream(self._ask("GET", f"{QUERY_ROUTE}{name}", params=given).content)

    def answer(self, **asked: str | int) -> dict[str, Any]:
        """The answer of the public route to its own parameters (src, dst, proto, at, window, …)."""
        found: dict[str, Any] = self._ask("GET", ANSWER_ROUTE, params=asked).json()
        return found

    def alerts(self) -> dict[str, Any]:
        """The answer of the public route: alerts as the owner, who moves them, has them."""
        found: dict[str, Any] = self._ask("GET", ALERTS_ROUTE).json()
        return found

    def close(self) -> None:
        """Close the connection; the store stays open in its owner."""
        self._client.close()

    def _ask(self, method: str, route: str, **given: Any) -> httpx.Response:
        """One request, whose every failure is a sentence."""
        try:
            answer = self._client.request(method, route, **given)
        except httpx.HTTPError as error:
            raise self._silent(error) from error
        if answer.is_success:
            return answer
        kind = StoreBusy if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE else StoreError
        raise kind(_detail(answer))

    def _silent(self, error: Exception) -> StoreError:
        """The truth about an owner that does not answer."""
        why = str(error) or type(error).__name__
        return StoreError(
            f"process {self.owner.pid} has the store open since {self.owner.started} but does not"
            f" answer at {self.owner.socket}: {why}"
        )


def _detail(answer: httpx.Response) -> str:
    """The sentence of a problem document, or the status where there is none."""
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the owner of the store answered {answer.status_code} {answer.reason_phrase}"


def _settled(path: Path) -> Owner | None:
    """The owner of a store; one that is about to serve is given the time to say where."""
    until = time.monotonic() + SETTLE_S
    while (owner := read_owner(path)) is not None and owner.socket is None:
        if time.monotonic() > until:
            break
        time.sleep(PAUSE_S)
    return owner


def left_at(dsn: str) -> int | None:
    """When the embedded store at `dsn` was last opened or given up, ns; None for a server.

    None as well while a process has it open. Its folder tells the time: an owner's file is made
    there and removed.
    """
    path = parse_address(dsn).path
    if path is None or not may_be(dsn) or read_owner(path) is not None:
        return None
    return path.parent.stat().st_mtime_ns


def may_be(dsn: str) -> bool:
    """Whether there can be a store at `dsn`: a server, or a directory that exists."""
    path = parse_address(dsn).path
    return path is None or path.is_dir()


def open_or_ask(
    dsn: str, limits: StoreLimits | None = None, *, create: bool = False, writes: bool = False
) -> Store | OwnerClient:
    """The store at `dsn`, opened by this process or, when another has it open, asked for there.

    Its tables are there when this returns; who may `create` a store or `writes` into it brings them
    up to date. Raises StoreError for an embedded store that does not exist, unless `create`, and
    for one of an older hopsight that is only read.
    """
    path = parse_address(dsn).path
    if path is not None and (owner := _settled(path)) is not None:
        return OwnerClient(owner)
    if path is not None and path.exists() and not path.is_dir():
        raise StoreError(f"{path} can be no store: it is a file; a store is a directory")
    if not create and not may_be(dsn):
        raise StoreError(f"there is no store at {path}; `hopsight analyze --store` makes one")
    try:
        store = Store(dsn, limits)
    except StoreOwned as error:  # it was opened just now
        return OwnerClient(_settled(error.path) or error.owner)
    try:
        if create or writes:
            store.migrate()
        else:
            store.readable()
    except StoreError:
        store.close()
        raise
    return store
