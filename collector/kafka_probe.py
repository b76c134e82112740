"""Why a broker cannot be talked to: its clients say no more than that they could not."""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from aiokafka.conn import create_conn
from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

from collector.bus import BusError, BusRefused

PROBE_S = 3.0
"""Seconds that a broker has for each step of a greeting."""
PORT = 9092
LOGIN = IllegalSaslStateError, SaslAuthenticationFailed, UnsupportedSaslMechanismError


class AbsentError(BusError):
    """Nobody listens at an address."""

    def __init__(self, place: str) -> None:
        super().__init__(f"{place}: no broker answers there")


async def reason(brokers: str, login: Mapping[str, Any]) -> BusError:
    """What stands in the way at `host:port,host:port…`; BusRefused: trying helps nothing.

    `login` is what clients are told (`kafka_login.login`).
    """
    found = await faults(brokers, login)
    there = [each for each in found if not isinstance(each, AbsentError)]
    refused = [each for each in there if isinstance(each, BusRefused)]
    return next(iter([*refused, *there]), AbsentError(brokers))


async def faults(brokers: str, login: Mapping[str, Any]) -> list[BusError]:
    """What each of the brokers that do not greet back says."""
    found = await asyncio.gather(*(_greeted(place, login) for place in brokers.split(",")))
    return [each for each in found if each is not None]


async def _greeted(place: str, login: Mapping[str, Any]) -> BusError | None:
    """What one broker says to a greeting; None: it greets back."""
    told = urlsplit(f"//{place}")
    host, port = told.hostname or "", told.port or PORT
    try:
        async with asyncio.timeout(PROBE_S):
            _, writer = await asyncio.open_connection(host, port)
        writer.close()
    except socket.gaierror as error:
        return BusError(f"{place}: {str(error.strerror).lower()}")
    except OSError:
        return AbsentError(place)
    try:
        connection = await create_conn(host, port, request_timeout_ms=int(PROBE_S * 1e3), **login)
    except ssl.SSLCertVerificationError as error:
        return BusRefused(f"{place}: its certificate is not accepted: {error.verify_message}")
    except LOGIN as error:
        return BusRefused(f"{place}: the broker refuses this login (bus.sasl): {said(error)}")
    except (OSError, KafkaError):
        spoken = " with TLS (bus.tls)" if "ssl_context" in login else " without TLS (bus.tls)"
        return BusError(f"{place}: what listens there does not answer as a broker{spoken}")
    connection.close()
    return None


def said(error: Exception) -> str:
    """The first line of what a broker said."""
    return str(error).partition("\n")[0]
