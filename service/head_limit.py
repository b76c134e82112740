"""HTTP connections on which the head of a request has to come in time, and to its end.

Whoever sends it octet by octet, or without end, would hold a connection and memory for as long as
they like. The time between two requests of a connection is the server's own to limit. What is no
HTTP gets the shape that all errors have.
"""

import asyncio
import json

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from service.problem import MEDIA_TYPE, document

NO_HTTP = "what came is no HTTP request: its line, a header or a length is not as RFC 9112 has it"
HEAD_S = 10.0
"""Time from a connection's begin, or the first octet of a further request, to the head's end."""
HEAD_OCTETS = 64 << 10
"""Size of what may come of a head behind the piece that it begins in."""


class HeadLimited(HttpToolsProtocol):
    """The server's protocol, which closes a connection whose next head does not come."""

    _late: asyncio.TimerHandle | None = None
    _octets = 0

    def connection_made(  # type: ignore[override] # as the server's own narrows it
        self, transport: asyncio.Transport
    ) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        """Wait for the end of a head; the first one is waited for already."""
        super().on_message_begin()
        self._octets = 0
        if self._late is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """A head has come."""
        self._stop()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Take octets; of a head not more than so many."""
        waited = self._late
        super().data_received(data)
        if waited is not None and self._late is waited:
            self._octets += len(data)
            if self._octets > HEAD_OCTETS:
                self.transport.close()

    def send_400_response(self, _msg: str) -> None:
        """Refuse what is no HTTP, before any application hears of it."""
        body = json.dumps(document(400, NO_HTTP)).encode()
        head = (
            "HTTP/1.1 400 Bad Request",
            f"content-type: {MEDIA_TYPE}",
            f"content-length: {len(body)}",
            "connection: close",
        )
        self.transport.write("\r\n".join([*head, "", ""]).encode() + body)
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(HEAD_S, self.transport.close)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
