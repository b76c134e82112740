"""The listening socket of the service."""

import asyncio
import socket

from service.server import bind


def test_a_piece_of_an_answer_does_not_wait_for_the_one_before() -> None:
    """Nagle's algorithm would hold it until the client has confirmed that one, some 40 ms."""

    async def answered() -> int:
        met: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def meet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted: socket.socket = writer.get_extra_info("socket")
            met.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(meet, sock=bind("127.0.0.1", 0)) as server:
            _, asks = await asyncio.open_connection(*server.sockets[0].getsockname())
            told = await met
            asks.close()
            return told

    assert asyncio.run(answered())
