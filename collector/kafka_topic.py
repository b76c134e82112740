"""A topic of a broker: where it is, what it is called, and clients that talk to it.

The versions of the observation table and of the conversation hash are part of its name: readers of
another layout or another placement never meet these messages, and topics of two versions stand side
by side while collectors are upgraded one by one.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    IncompatibleBrokerVersion,
    KafkaConnectionError,
    KafkaError,
    TopicAlreadyExistsError,
    UnknownError,
    UnsupportedVersionError,
    for_code,
)

from collector.bus import BusError, BusRefused
from collector.bus_option import option, parted
from collector.flow_key import PLACEMENT_VERSION
from collector.kafka_login import login
from collector.kafka_message import Compression
from collector.kafka_probe import AbsentError, faults, reason, said
from collector.observation import SCHEMA_VERSION
from collector.settings.bus import BusSettings

UNNUMBERED = (
    ClusterAuthorizationFailedError, IncompatibleBrokerVersion, UnknownError,
    UnsupportedVersionError,
)  # fmt: skip
"""What a writer hears at first from a broker without idempotent writers, or that has none here."""
OPTIONS = ("partitions", "replication", "idempotence", "compression")
COMPRESSIONS: Mapping[str, Compression] = {"lz4": "lz4", "zstd": "zstd"}
MOST = {"partitions": 10_000, "replication": 100}
"""Largest values that an address may ask for."""
TOPIC = re.compile(r"[A-Za-z0-9._-]{1,200}")
REQUEST_BYTES = 1_000_000
"""Largest request of a writer: one message with its headers."""
REQUEST_MS = 10_000
"""How long one answer of the broker is waited for."""


def port_of(place: str) -> int | None:
    """The port of HOST:PORT, None where there is none. Raises ValueError for what cannot be one."""
    return urlsplit(f"//{place}").port


class KafkaTopic:
    """The topic at `kafka://host:port/topic`; nothing is connected before it is asked for.

    Its options are:

    - `partitions=8`, `replication=1`: used only when the topic does not exist and is made;
    - `idempotence=on`: the broker drops what a retry repeats; `off` for brokers that cannot;
    - `compression=lz4` or `zstd`: of the rows inside a message.
    """

    def __init__(self, url: str, settings: BusSettings | None = None, derived: str = "") -> None:
        """The topic of observations, or one `derived` from it by that name, of one partition.

        Raises BusError for an address or a setting that cannot be used.
        """
        address = parted(url)
        if "@" in address.netloc:
            raise BusError("a bus address holds no password; see the settings bus.sasl…")
        if not address.hostname or not address.path.strip("/"):
            raise BusError(f"{url}: an address is kafka://host:port/topic")
        for place in address.netloc.split(","):
            try:
                port_of(place)
            except ValueError:
                raise BusError(f"{url}: the port of {place} is none from 0 to 65535") from None
        self.broker = address.netloc
        self.name = f"{address.path.strip('/')}.v{SCHEMA_VERSION}.p{PLACEMENT_VERSION}"
        self.idempotence = option(url, "idempotence", True, OPTIONS)
        self.settings = settings or BusSettings()
        self._partitions = option(url, "partitions", 8, OPTIONS)
        self._replication = option(url, "replication", 1, OPTIONS)
        for name, number in (("partitions", self._partitions), ("replication", self._replication)):
            if not 1 <= number <= MOST[name]:
                raise BusError(f"{url}: {name} must be from 1 to {MOST[name]:,}, not {number}")
        if not TOPIC.fullmatch(self.name):
            raise BusError(f"{url}: a topic has letters, digits and ._- in its name, 200 at most")
        chosen = option(url, "compression", "lz4", OPTIONS)
        if chosen not in COMPRESSIONS:
            raise BusError(f"{url}: compression must be lz4 or zstd, not {chosen!r}")
        self.compression = COMPRESSIONS[chosen]
        if derived:
            self.name, self._partitions = f"{self.name}.{derived}", 1
        self._login = login(self.settings)

    @property
    def dead_letters(self) -> str:
        """The topic for messages that cannot be read."""
        return f"{self.name}.dead"

    async def make(self) -> int:
        """Make the topic and that of dead letters unless they are there; partitions asked for.

        Raises BusError.
        """
        admin = AIOKafkaAdminClient(
            bootstrap_servers=self.broker, request_timeout_ms=REQUEST_MS, **self._login
        )
        try:
            await admin.start()
            known = set(await admin.list_topics())
            sizes = {self.name: self._partitions, self.dead_letters: 1}
            wanted = [
                NewTopic(name, count, self._replication)
                for name, count in sizes.items() if name not in known
            ]  # fmt: skip
            answer = await admin.create_topics(wanted) if wanted else None
            for name, code, *_ in answer.topic_errors if answer else ():
                if code and for_code(code) is not TopicAlreadyExistsError:
                    raise for_code(code)(name)
        except KafkaError as error:
            raise await self.unmet(error) from error
        finally:
            await admin.close()
        return self._partitions

    async def producer(self, **given: Any) -> Any:
        """A started writer. Raises BusError; BusRefused by a broker without idempotent writers."""
        told = {"acks": "all", "enable_idempotence": self.idempotence, "linger_ms": 0, **given}
        client = AIOKafkaProducer(
            bootstrap_servers=self.broker, max_request_size=REQUEST_BYTES,
            request_timeout_ms=REQUEST_MS, **told, **self._login,
        )  # fmt: skip
        try:
            return await self._started(client)
        except BusError as error:
            if not (told["enable_idempotence"] and isinstance(error.__cause__, UNNUMBERED)):
                raise
            raise BusRefused(
                f"{self.broker}: the broker gives writers no numbers"
                f" ({type(error.__cause__).__name__}), by which it would tell repeats;"
                " `idempotence=off` in the bus's address does without"
            ) from error

    async def consumer(self, *topics: str, **given: Any) -> Any:
        """A started reader that commits nothing by itself. Raises BusError."""
        client = AIOKafkaConsumer(
            *topics, bootstrap_servers=self.broker, auto_offset_reset="earliest",
            enable_auto_commit=False, **given, **self._login,
        )  # fmt: skip
        return await self._started(client)

    def failed(self, error: Exception) -> BusError:
        """One sentence about what a client said."""
        if isinstance(error, KafkaConnectionError):
            return AbsentError(self.broker)
        return BusError(f"{self.broker}: {said(error) or type(error).__name__}")

    async def faults(self) -> list[BusError]:
        """What each of the brokers that do not greet back says."""
        return await faults(self.broker, self._login)

    async def unmet(self, error: Exception | None = None) -> BusError:
        """The same of a client that was not let in, with the reason, which it does not know."""
        if error is None or isinstance(error, KafkaConnectionError):
            return await reason(self.broker, self._login)
        return self.failed(error)

    async def _started(self, client: Any) -> Any:
        try:
            await client.start()
        except KafkaError as error:
            await client.stop()
            raise await self.unmet(error) from error
        except asyncio.CancelledError:
            await client.stop()
            raise
        return client
