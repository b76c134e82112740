"""Who cannot talk to a broker hears why, and at once where trying again helps nothing."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from certificates import Pair

from collector import BusError, BusRefused, BusSettings, bus_faults, open_group, open_writer
from collector.kafka_probe import PROBE_S

RETRY_S = 2.0
SASL = {"sasl": "SCRAM-SHA-256", "sasl_user": "hopsight"}


@asynccontextmanager
async def listening(answer: bytes = b"", **given: Any) -> AsyncIterator[str]:
    """Something that is no broker: it takes a connection, says something and closes it."""

    async def meet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(meet, "127.0.0.1", 0, **given) as server:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}"


async def refused(place: str, **given: Any) -> BusError:
    """What a collector hears of a bus there."""
    settings = BusSettings.model_validate({"retry_s": RETRY_S, **given})
    writer = open_writer(f"kafka://{place}/observations?idempotence=off", settings, "probe")
    begun = time.monotonic()
    with pytest.raises(BusError) as told:
        await writer.partitions()
    await writer.close()
    assert time.monotonic() - begun < 3 * RETRY_S + 2 * PROBE_S
    assert [str(each) for each in await bus_faults(f"kafka://{place}/x", settings)] == [
        str(told.value)
    ]
    return told.value


def test_a_broker_that_speaks_no_tls_is_told(broker: str) -> None:
    told = asyncio.run(refused(broker, tls=True))
    assert str(told) == (
        f"{broker}: what listens there does not answer as a broker with TLS (bus.tls)"
    )


def test_a_login_that_a_broker_does_not_take_is_refused_at_once(
    broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPSIGHT_BUS_PASSWORD", "hidden")
    told = asyncio.run(refused(broker, **SASL))
    assert str(told).startswith(f"{broker}: the broker refuses this login (bus.sasl): ")
    assert isinstance(told, BusRefused)
    assert "hidden" not in str(told)


def test_a_worker_does_not_try_again_what_is_refused(
    broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPSIGHT_BUS_PASSWORD", "hidden")
    settings = BusSettings.model_validate({"retry_s": 600, **SASL})

    async def joined() -> None:
        async def moved(_: object) -> None: ...

        group = open_group(f"kafka://{broker}/observations", settings, moved, moved)
        await group.start()

    with pytest.raises(BusRefused, match="refuses this login"):
        asyncio.run(joined())


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    pair = Pair(tmp_path / "chain.pem", tmp_path / "key.pem")
    pair.put(days=1)

    async def told() -> BusError:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*pair)
        async with listening(ssl=context) as place:
            return await refused(place, tls=True)

    said = asyncio.run(told())
    assert isinstance(said, BusRefused)
    assert "its certificate is not accepted: self-signed certificate" in str(said)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_what_is_no_broker_is_told_from_nothing_at_all(answer: bytes) -> None:
    async def told() -> tuple[BusError, BusError]:
        async with listening(answer) as place:
            there = await refused(place)
        return there, await refused(place)

    there, gone = asyncio.run(told())
    assert str(there).endswith("what listens there does not answer as a broker without TLS"
                               " (bus.tls)")  # fmt: skip
    assert str(gone).endswith(": no broker answers there")


def test_of_several_brokers_each_is_told(broker: str) -> None:
    found = asyncio.run(bus_faults(f"kafka://127.0.0.1:1,{broker}/x", BusSettings()))
    assert [str(each) for each in found] == ["127.0.0.1:1: no broker answers there"]
    assert asyncio.run(bus_faults("memory://", BusSettings())) == []
