"""One owner of an embedded store: claimed, found, asked over its socket, taken over when dead."""

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from polars.testing import assert_frame_equal

from pipeline import remote
from pipeline.insert_body import to_arrow
from pipeline.owner import MAX_SOCKET_PATH, Owner, Ownership, StoreOwned, owner_file, read_owner
from pipeline.remote import ARROW, OwnerClient, open_or_ask
from pipeline.store import Store
from pipeline.store_error import StoreBusy, StoreError

HOLD = """
import sys, time
from pathlib import Path
from pipeline.owner import Ownership
owned = Ownership.claim(Path(sys.argv[1]))
owned.announce(*(sys.argv[2:4] or (None, None)))
print("held", flush=True)
time.sleep(60)
"""


@contextmanager
def holder(path: Path, *announced: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns the store at `path`."""
    command = [sys.executable, "-c", HOLD, str(path), *announced]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@contextmanager
def serving(app: FastAPI, listener: socket.socket) -> Iterator[None]:
    """`app` on a Unix socket, by the server that the product uses."""
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        assert thread.is_alive()
    yield
    server.should_exit = True
    thread.join()


def routes(store: Store) -> FastAPI:
    """The routes that an owner answers on, as `pipeline.remote` names them."""
    app = FastAPI()

    @app.post("/internal/v1/insert/{table}")
    async def insert(table: str, token: str, request: Request) -> Any:
        assert request.headers["content-type"] == ARROW
        frame = pl.read_ipc_stream(await request.body())
        try:
            return {"rows": store.insert(table, frame, token)}
        except StoreError as error:
            return JSONResponse({"detail": str(error)}, 422)

    @app.get("/internal/v1/query/{name}")
    def query(name: str, parameters: str) -> Response:
        if name == "busy":
            return JSONResponse({"detail": "the store is busy"}, 503)
        if name == "broken":
            return Response("<html>", 500)
        return Response(to_arrow(store.query(name, **json.loads(parameters))), media_type=ARROW)

    @app.get("/api/v1/flows/bottleneck")
    def bottleneck(src: str, window: str) -> dict[str, Any]:
        return {"verdict": None, "asked": [src, window]}

    return app


def test_a_second_process_is_told_who_owns_the_store(tmp_path: Path) -> None:
    path = tmp_path / "db"
    assert read_owner(path) is None
    with holder(path, "http://127.0.0.1:1", "/tmp/x.sock") as process:  # noqa: S108
        with pytest.raises(
            StoreOwned, match=f"is open in process {process.pid} since 20"
        ) as caught:
            Ownership.claim(path)
        assert caught.value.owner == read_owner(path)
        assert caught.value.owner.pid == process.pid
        assert caught.value.owner.url == "http://127.0.0.1:1"
        assert stat.S_IMODE(owner_file(path).stat().st_mode) == 0o600
        with pytest.raises(StoreOwned):
            Store(f"chdb://{path}")


def test_what_a_dead_process_left_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with holder(path) as process:
        process.kill()
        process.wait()
        assert owner_file(path).exists()
        assert read_owner(path) is None
        owned = Ownership.claim(path)
        assert json.loads(owner_file(path).read_text())["pid"] == os.getpid()
        owned.release()
        owned.release()
    assert not owner_file(path).exists()


def test_a_reused_process_number_fools_nobody(tmp_path: Path) -> None:
    path = tmp_path / "db"
    owner_file(path).write_text(
        json.dumps({"pid": os.getpid(), "url": None, "socket": None, "started": "x"})
    )
    Ownership.claim(path).release()


def test_a_broken_file_of_a_dead_owner_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "db"
    owner_file(path).write_bytes(b"\x00{" * 1000)
    owned = Ownership.claim(path)
    assert read_owner(path) == owned.owner
    owned.release()


def test_a_link_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    owner_file(tmp_path / "db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="cannot be opened"):
        Ownership.claim(tmp_path / "db")
    assert (tmp_path / "elsewhere").read_text() == "precious"


def test_a_shorter_announcement_replaces_a_longer_one(tmp_path: Path) -> None:
    owned = Ownership.claim(tmp_path / "db")
    owned.announce("http://a-long-name.example:1234/", "/a/long/path.sock")
    owned.announce(None, None)
    assert read_owner(tmp_path / "db") == Owner(os.getpid(), None, None, owned.owner.started)
    owned.release()


def test_only_this_user_can_connect_to_the_socket(tmp_path: Path) -> None:
    owned = Ownership.claim(tmp_path / "db")
    (tmp_path / "db.sock").write_text("left by a dead process")
    with owned.listen() as listener:
        assert listener.getsockname() == str(tmp_path / "db.sock")
        assert stat.S_IMODE((tmp_path / "db.sock").stat().st_mode) == 0o600
    owned.release()
    assert not (tmp_path / "db.sock").exists()


def test_a_store_with_a_long_path_listens_in_a_private_directory(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    owned = Ownership.claim(deep / "db")
    with owned.listen() as listener:
        place = Path(listener.getsockname())
        assert len(os.fsencode(place)) <= MAX_SOCKET_PATH
        assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    owned.release()
    assert not place.parent.exists()


def test_without_an_owner_the_store_is_opened_and_without_a_store_it_is_told(
    tmp_path: Path,
) -> None:
    dsn = f"chdb://{tmp_path / 'db'}"
    with pytest.raises(
        StoreError, match=r"there is no store at .*/db; `hopsight analyze --store` makes"
    ):
        open_or_ask(dsn)
    assert list(tmp_path.iterdir()) == []
    for create in (True, False):
        with open_or_ask(dsn, create=create) as store:
            assert isinstance(store, Store)
            assert store.query("extent")["verdicts"].to_list() == [0]


def test_an_owner_that_serves_is_asked(tmp_path: Path) -> None:
    """Insert, query and answer work on a store that is open elsewhere; tokens count there too."""
    dsn = f"chdb://{tmp_path / 'db'}"
    with Store(dsn) as store:
        store.migrate()
        assert store.ownership is not None
        listener = store.ownership.listen()
        store.ownership.announce("http://127.0.0.1:1", listener.getsockname())
        with serving(routes(store), listener), open_or_ask(dsn) as asked:
            assert isinstance(asked, OwnerClient)
            hops = pl.DataFrame({"node": [1, 2], "device": ["leaf1", "leaf2"]})
            for _ in range(2):
                assert asked.insert("hops", hops, "topology/1") == 2
            assert store.query("hops", at_ns=0).equals(asked.query("hops", at_ns=0))
            assert asked.query("hops", at_ns=0)["device"].to_list() == ["leaf1", "leaf2"]
            assert asked.answer(src="10.0.0.1:1", window="10s")["asked"] == ["10.0.0.1:1", "10s"]
            with pytest.raises(StoreError, match="table hops has no column colour"):
                asked.insert("hops", pl.DataFrame({"colour": [1]}), "t")
            with pytest.raises(StoreBusy, match="the store is busy"):
                asked.query("busy")
            with pytest.raises(StoreError, match="the owner of the store answered 500"):
                asked.query("broken")


def test_rows_go_to_an_owner_in_a_small_body() -> None:
    rows = pl.DataFrame({"time_ns": range(100_000)}).with_columns(nothing=pl.lit(None, pl.UInt64))
    small = to_arrow(rows, small=True)
    assert len(small) < len(to_arrow(rows)) / 2
    assert_frame_equal(pl.read_ipc_stream(small), rows)


def test_an_owner_that_does_not_serve_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "SETTLE_S", 0.05)
    with (
        holder(tmp_path / "db") as process,
        pytest.raises(
            StoreError,
            match=f"open in process {process.pid} since .* answers no questions; wait until",
        ),
    ):
        open_or_ask(f"chdb://{tmp_path / 'db'}")


def test_an_owner_that_does_not_answer_is_told(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nobody.sock")
    with holder(tmp_path / "db", "http://127.0.0.1:1", nowhere) as process:
        said = f"process {process.pid} has the store open since .* but does not answer at {nowhere}"
        with pytest.raises(StoreError, match=said):
            open_or_ask(f"chdb://{tmp_path / 'db'}")


def test_an_owner_that_stops_answering_is_told(tmp_path: Path) -> None:
    place = tmp_path / "deaf.sock"
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(place))
        deaf.listen()
        owner = Owner(1, None, str(place), "then")
        said = "process 1 has the store open since then but does not answer"
        with OwnerClient(owner, timeout_s=0.2) as asked, pytest.raises(StoreError, match=said):
            asked.query("extent")
