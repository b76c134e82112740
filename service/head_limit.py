"""HTTP connections: not too many, and requests that come in time, and to their end.

Whoever sends a head or a body octet by octet, or without end, would hold a connection and memory
for as long as they like. The time between two requests of a connection is the server's own to
limit. What is refused before any application hears of it gets the shape that all errors have.
"""

import asyncio
import json
import socket
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from service.guard import LINGER_S, OWN_PACE
from service.login import network_of
from service.problem import MEDIA_TYPE, document

NO_HTTP = "what came is no HTTP request: its line, a header or a length is not as RFC 9112 has it"
TOO_MANY = "there are too many connections{}; try again later"
HEAD_S = 10.0
"""Time from a connection's begin, or the first octet of a further request, to the head's end."""
HEAD_OCTETS = 64 << 10
"""Size of a head; of one that begins in a piece behind a body, what comes in further pieces."""
REST_S = 20.0
"""Time from a head to the end of its message where no route waits for that (`guard.BODY_S`)."""
MOST_CONNECTIONS = 8192
"""Connections that one process has at most, all clients together."""
MOST_TURNED = 64
"""Connections beyond the bound that are closed gently; others at once, for want of files."""


class Bounds:
    """How many connections there may be: in all, and from one address half of that."""

    def __init__(self, most: int) -> None:
        """`most` are those of all clients together."""
        self.most = most
        self.each = max(1, most // 2)
        self.held: Counter[str] = Counter()
        self.turned = 0
        """Connections that are refused and not closed yet."""

    def refusal(self, address: str) -> str | None:
        """Why no further connection is taken from there, None if it is."""
        if self.held[address] >= self.each:
            return TOO_MANY.format(" from this address")
        return TOO_MANY.format("") if self.held.total() >= self.most else None

    def leave(self, address: str) -> None:
        """A connection that was taken has ended."""
        self.held[address] -= 1
        if self.held[address] <= 0:
            del self.held[address]


class HeadLimited(HttpToolsProtocol):
    """The server's protocol, which ends a connection whose next request does not come."""

    bounds: ClassVar[Bounds] = Bounds(MOST_CONNECTIONS)
    """Those of this process; the server sets what it has files for."""

    _late: asyncio.TimerHandle | None = None
    """Ends the wait for a head."""
    _rest: asyncio.TimerHandle | None = None
    """Ends the wait for the end of a message whose head has come."""
    _end: asyncio.TimerHandle | None = None
    """Closes the connection behind a refusal."""
    _octets = 0
    """Those that have come of a head whose end has not."""
    _begun = False
    """Whether the first octet of a head has come, and its end has not."""
    _open = False
    """Whether a head has come, and the end of its message has not."""
    _unix = False
    _place: str | None = None
    """The address that this connection counts for, None if it does not count."""
    _turned = False

    def connection_made(  # type: ignore[override] # as the server's own narrows it
        self, transport: asyncio.Transport
    ) -> None:
        """Wait for the first head, unless there are too many connections."""
        super().connection_made(transport)
        own: socket.socket | None = transport.get_extra_info("socket")
        self._unix = own is not None and own.family == socket.AF_UNIX
        if self._unix or self._taken():
            self._wait()

    def _taken(self) -> bool:
        """Count the connection, or refuse it."""
        address = network_of(self.client[0] if self.client else "")
        said = self.bounds.refusal(address)
        if said is None:
            self.bounds.held[address] += 1
            self._place = address
            return True
        gently = self.bounds.turned < MOST_TURNED
        self._turned = True
        self.bounds.turned += 1
        self._refuse(503, said, headers={"retry-after": "1"})
        if not gently:
            self.transport.close()
        return False

    def on_message_begin(self) -> None:
        """Wait for the end of a head; the first one is waited for already."""
        super().on_message_begin()
        self._begun = True
        if self._late is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """A head has come."""
        self._stop()
        self._begun, self._open, self._octets = False, True, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A message has come whole."""
        self._open = False
        self._stop_rest()
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Take octets; of a head not more than so many, behind a refusal none."""
        left = data
        while left and self._end is None and not self.transport.is_closing():
            # The reader of heads alone knows where one ends: it is given what a head has room for,
            # and what comes with its end, a body or another head, is not counted.
            room = HEAD_OCTETS - self._octets
            if not room:
                self._refuse(431, f"the head is larger than the limit of {HEAD_OCTETS} bytes")
                return
            piece, left = left[:room], left[room:]
            if not self._open:
                self._octets += len(piece)
            super().data_received(piece)
        if self._open and self._rest is None and not self._unix and self._end is None:
            self._rest = self.loop.call_later(REST_S, self._rest_late)

    def send_400_response(self, _msg: str) -> None:
        """Refuse what is no HTTP, before any application hears of it."""
        self._refuse(400, NO_HTTP)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop()
        self._stop_rest()
        if self._end is not None:
            self._end.cancel()
        if self._place is not None:
            self.bounds.leave(self._place)
            self._place = None
        if self._turned:
            self.bounds.turned -= 1
            self._turned = False
        super().connection_lost(exc)

    def _refuse(
        self,
        status: int,
        detail: str,
        more: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Answer, take nothing more, and close when the client has had time to read the answer.

        To close it at once would reset it where more has come already. Another request's answer
        that is not whole yet is not written into: then the connection ends without a word.
        """
        self._stop()
        self._stop_rest()
        asked = self._unanswered()
        if asked is not None and (asked.response_started or self._begun):
            self.transport.close()
            return
        body = json.dumps(document(status, detail, more)).encode()
        fields = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **(headers or {})}
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            *(f"{name}: {value}" for name, value in fields.items()),
            "connection: close",
        )
        self.transport.write("\r\n".join([*head, "", ""]).encode() + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        if asked is not None:  # whoever answers it answers nobody
            asked.disconnected = True
            asked.message_event.set()
        self._end = self.loop.call_later(LINGER_S, self.transport.close)

    def _unanswered(self) -> RequestResponseCycle | None:
        """The request whose answer is not whole yet."""
        if self.cycle is None or self.cycle.response_complete:  # type: ignore[redundant-expr] # there is none before the first request, whatever uvicorn says
            return None
        return self.cycle

    def _head_late(self) -> None:
        """A head has not come: without a word if it has not begun, as a browser opens some."""
        if self._begun:
            self._refuse(408, f"the head did not come within {HEAD_S:g} s")
        else:
            self.transport.close()

    def _rest_late(self) -> None:
        """A message has not come to its end.

        The client is waited for while a route takes the body at its own pace, or while nothing is
        read from it because an answer comes first.
        """
        self._rest = None
        if self._unanswered() is None:
            self.transport.close()
        elif self.flow.read_paused or self.scope.get(OWN_PACE):
            self._rest = self.loop.call_later(REST_S, self._rest_late)
        else:
            self._refuse(408, f"the body did not come within {REST_S:g} s", {"field": "body"})

    def _wait(self) -> None:
        self._late = self.loop.call_later(HEAD_S, self._head_late)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _stop_rest(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
