"""HTTP connections on which the head of a request has to come in time.

Whoever sends it octet by octet would hold a connection for as long as they like. The time between
two requests of a connection is the server's own to limit.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""Time from a connection's begin, or the first octet of a further request, to the head's end."""


class HeadLimited(H11Protocol):
    """The server's protocol, which closes a connection whose next head does not come."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override] # as the server's own narrows it
        self, transport: asyncio.Transport
    ) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take octets; part of a head begins the time, its end ends it."""
        super().data_received(data)
        waits = self.conn.their_state is h11.IDLE
        if waits and self._late is None and self.conn.trailing_data[0]:
            self._wait()
        elif not waits:
            self._stop()

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
