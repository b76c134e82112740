"""An HTTP endpoint on loopback in front of an embedded engine, for tests of what a server is for.

It speaks as much of ClickHouse's HTTP protocol as clickhouse-connect asks for: statements, settings
and parameters are handed unchanged to a chDB engine in this process, each in a session of its own,
and its answer or its error goes back. One thing chDB cannot do: its `input()` is given no data, so
data of such a statement goes through a file that takes its place.

`python tests/store_endpoint.py PORT DIRECTORY` runs until it is killed, which may be at any
instant, in the middle of an insert too.
"""

import json
import re
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

import chdb
import lz4.frame

OF_HTTP = frozenset(
    {
        "query", "database", "session_id", "query_id", "compress", "decompress", "user", "password",
        "default_format", "client_protocol_version", "wait_end_of_query", "buffer_size",
        "send_progress_in_http_headers", "http_headers_progress_interval_ms",
        "enable_http_compression", "cancel_http_readonly_queries_on_client_close",
    }
)  # fmt: skip
"""Names in an address that are no settings of the engine."""
DATA = b" FORMAT Native"
"""End of a statement that has data."""
INPUT = re.compile(rb"input\('((?:[^'\\]|\\.)*)'\)")
FAILED = re.compile(r"Code: (\d+)")


class Engine:
    """The embedded engine: a session of its own for each statement, as HTTP has it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.held = chdb.connect(path)  # the engine lives as long as one connection does

    def run(
        self, statement: bytes, data: bytes, database: str, settings: dict[str, str],
        given: dict[str, str],
    ) -> bytes:  # fmt: skip
        """The answer to a statement and its data. RuntimeError with the engine's words."""
        session = chdb.connect(self.path)
        try:
            if database:
                session.query(f"USE `{database}`")
            last = {"readonly"} & settings.keys()
            for names in (settings.keys() - last, last):  # all at once: each statement takes time
                if names:
                    told = (f"{name} = '{quoted(settings[name])}'" for name in sorted(names))
                    session.query(f"SET {', '.join(told)}")
            if found := INPUT.search(statement):
                return self.from_file(session, statement.removesuffix(DATA), data, found)
            statement += b"\n" + data if data else b""
            more = {"params": given} if given else {}
            return session.query(statement, "TabSeparated", **more).bytes() or b""
        finally:
            session.close()

    def from_file(self, session: Any, head: bytes, data: bytes, found: "re.Match[bytes]") -> bytes:
        """An INSERT that selects from its own data."""
        with tempfile.NamedTemporaryFile(suffix=".native") as file:
            file.write(data)
            file.flush()
            there = f"file('{file.name}', 'Native', '".encode() + found[1] + b"')"
            whole = head[: found.start()] + there + head[found.end() :]
            return session.query(whole.decode(), "TabSeparated").bytes() or b""


def quoted(value: str) -> str:
    """A value as it stands between quotes."""
    return value.replace("\\", "\\\\").replace("'", "\\'")


class Handler(BaseHTTPRequestHandler):
    """One request: a statement in the address or in the body, data behind it."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer goes in one piece: its second one would wait 40 ms for the first
    engine: ClassVar[Engine]

    def do_GET(self) -> None:
        """A statement in the address."""
        self.do_POST()

    def do_POST(self) -> None:
        """Run what was sent."""
        told = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/ping"):
            self.answer(200, b"Ok.\n")
            return
        if self.headers.get("Content-Encoding") == "lz4":
            body = lz4.frame.decompress(body)
        statement = told.get("query", "").encode()
        statement, data = (statement, body) if statement else (body, b"")
        given = {name[6:]: value for name, value in told.items() if name.startswith("param_")}
        settings = {
            name: value for name, value in told.items()
            if name not in OF_HTTP and not name.startswith("param_")
        }  # fmt: skip
        try:
            found = self.engine.run(statement, data, told.get("database", ""), settings, given)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises is its answer
            code = FAILED.search(str(error))
            self.answer(500, str(error).encode(), code[1] if code else "0")
        else:
            self.answer(200, found)

    def answer(self, status: int, body: bytes, code: str = "") -> None:
        """Send an answer."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-ClickHouse-Summary", json.dumps({"read_rows": "0"}))
        if code:
            self.send_header("X-ClickHouse-Exception-Code", code)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def serve(port: int, path: str) -> None:
    """Answer until killed."""
    Handler.engine = Engine(path)
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
