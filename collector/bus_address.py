"""Which bus an address names."""

from pathlib import Path
from typing import TYPE_CHECKING

from collector.bus import Bus, BusError, MemoryBus
from collector.bus_option import option, parted
from collector.kafka_message import OBSERVATIONS, Contents
from collector.settings.bus import BusSettings
from collector.spill import Spill
from collector.spool import Spool

if TYPE_CHECKING:
    from collector.kafka_group import GroupReader, Moved
    from collector.kafka_span import KafkaSpan
    from collector.kafka_writer import KafkaWriter

POLICIES = ("block",)
"""What a full bus may do with the next batch; what does not want to wait sheds before (`shed`)."""


def open_bus(url: str, settings: BusSettings | None = None) -> Bus:
    """The bus at `url`; nothing is connected before the first batch is published or awaited.

    - `memory://` in this process; `?capacity=16&policy=block`;
    - `kafka://host:port/topic` through a broker, see collector.kafka_topic for its options;
      `settings` say how the broker is reached.

    Raises BusError when the address or one of its options is not understood.
    """
    address = parted(url)
    if address.scheme == "memory":
        capacity = option(url, "capacity", 16, ("capacity", "policy"))
        policy = option(url, "policy", "block", ("capacity", "policy"))
        if policy not in POLICIES:
            raise BusError(f"{url}: policy must be one of {', '.join(POLICIES)}, not {policy!r}")
        if capacity < 1:
            raise BusError(f"{url}: capacity must be at least 1")
        return MemoryBus(capacity)
    if address.scheme == "kafka":
        from collector.kafka import KafkaBus

        return KafkaBus(url, settings)
    raise BusError(f"{url}: a bus is memory:// or kafka://host:port/topic")


def spooled(bus: Bus, settings: BusSettings) -> Spool:
    """The same bus behind a spool: what waits for it is bounded, in memory and on disk.

    Raises BusError when the directory of what is spilled cannot be had.
    """
    named = settings.spill_directory
    spill = Spill(Path(named).expanduser(), settings.spill_bytes) if named else None
    return Spool(bus, settings.waiting, spill)


def open_group(
    url: str,
    settings: BusSettings,
    taken: "Moved",
    left: "Moved",
    contents: Contents = OBSERVATIONS,
) -> "GroupReader":
    """A member of the group of workers that share the topic at `url`, not started yet.

    The topic is that of observations, or another one that `contents` derives from it. Raises
    BusError when the address is not understood or names no broker.
    """
    if parted(url).scheme != "kafka":
        raise BusError(f"{url}: a group reads kafka://host:port/topic")
    from collector.kafka_group import GroupReader

    return GroupReader(url, settings, taken, left, contents)


def open_writer(url: str, settings: BusSettings, derived: str) -> "KafkaWriter":
    """What writes to the topic that is `derived` from the one at `url`, not connected yet.

    Raises BusError for an address or a setting that cannot be used.
    """
    from collector.kafka_topic import KafkaTopic
    from collector.kafka_writer import KafkaWriter

    return KafkaWriter(KafkaTopic(url, settings, derived))


def open_span(url: str, settings: BusSettings, from_offset: int | None) -> "KafkaSpan":
    """What the topic at `url` holds from an offset on, see `collector.kafka_span`.

    Raises BusError for an address or a setting that cannot be used.
    """
    from collector.kafka_span import KafkaSpan

    return KafkaSpan(url, settings, from_offset)


async def bus_faults(url: str, settings: BusSettings) -> list[BusError]:
    """What is wrong with each broker of a bus that does not greet back as the settings have it.

    Of `memory://` there is nothing. Raises BusError for an address that is not understood.
    """
    if parted(url).scheme != "kafka":
        open_bus(url, settings)
        return []
    from collector.kafka_topic import KafkaTopic

    return await KafkaTopic(url, settings).faults()
