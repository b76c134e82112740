"""Frames in, observations on a bus out. The room furthest upstream: it imports no other room."""

from collector import arrow
from collector.arena import Arena
from collector.at_once import at_once
from collector.bus import (
    JOINED_ROWS,
    Batch,
    Bus,
    BusError,
    BusRefused,
    MemoryBus,
    MessagesGone,
)
from collector.bus_address import bus_faults, open_bus, open_group, open_span, open_writer, spooled
from collector.capture import Capture, open_capture
from collector.carriers import headers
from collector.commented import write_commented
from collector.datagrams import open_datagrams
from collector.decoder import Accounting, Decoder
from collector.feed import feed
from collector.flow_key import directed, flow_keys, salt
from collector.follow import Follow
from collector.frame import UNNAMED, Frames
from collector.integrity import crc_of_octets
from collector.kafka_message import (
    MESSAGE_BYTES,
    OBSERVATIONS,
    Contents,
    Message,
    UnreadableError,
    digest,
    number_of,
    octets_of,
    rows_of,
    texts_of,
)
from collector.kernel import borrowing, inlined, inner, is_compiled, kernel, merged, step
from collector.layer import LAYERS
from collector.live import capturing, open_interface
from collector.lua import dissectors
from collector.lying import WORD, address_of, fetch_at, word_at
from collector.observation import (
    HOP,
    HOPS,
    OBSERVATION,
    SCHEMA,
    SCHEMA_VERSION,
    Column,
    beyond,
    complete,
    together,
)
from collector.one_thread import one_thread
from collector.pcapng import write_pcapng
from collector.prefetch import prefetch
from collector.protocol_number import TCP, UDP
from collector.reading import Reading
from collector.repeated import nothing, repeated
from collector.repeats import Repeats
from collector.resumed import Kept, Known, has_frame, nothing_kept
from collector.ring import ring_refusal
from collector.rotation import UNREADABLE, Rotation, source_in
from collector.scalar import Scalar
from collector.settings import CollectorSettings
from collector.settings.bus import PASSWORD_VARIABLE, BusSettings
from collector.shark import SharkError, dissected
from collector.shed import SHED_REASONS, Shed
from collector.slow_path import SlowAccounting, SlowPath
from collector.source import Source, tell_apart
from collector.spool import Spool
from collector.status import STATUS
from collector.window import CaptureError, LiveError
from collector.wire.place import Field
from collector.wire.roce import PORT as ROCE_PORT
from collector.wire.table import Header
from collector.writable import unwritable

__all__ = [
    "HOP",
    "HOPS",
    "JOINED_ROWS",
    "LAYERS",
    "MESSAGE_BYTES",
    "OBSERVATION",
    "OBSERVATIONS",
    "PASSWORD_VARIABLE",
    "ROCE_PORT",
    "SCHEMA",
    "SCHEMA_VERSION",
    "SHED_REASONS",
    "STATUS",
    "TCP",
    "UDP",
    "UNNAMED",
    "UNREADABLE",
    "WORD",
    "Accounting",
    "Arena",
    "Batch",
    "Bus",
    "BusError",
    "BusRefused",
    "BusSettings",
    "Capture",
    "CaptureError",
    "CollectorSettings",
    "Column",
    "Contents",
    "Decoder",
    "Field",
    "Follow",
    "Frames",
    "Header",
    "Kept",
    "Known",
    "LiveError",
    "MemoryBus",
    "Message",
    "MessagesGone",
    "Reading",
    "Repeats",
    "Rotation",
    "Scalar",
    "SharkError",
    "Shed",
    "SlowAccounting",
    "SlowPath",
    "Source",
    "Spool",
    "UnreadableError",
    "address_of",
    "arrow",
    "at_once",
    "beyond",
    "borrowing",
    "bus_faults",
    "capturing",
    "complete",
    "crc_of_octets",
    "digest",
    "directed",
    "dissected",
    "dissectors",
    "feed",
    "fetch_at",
    "flow_keys",
    "has_frame",
    "headers",
    "inlined",
    "inner",
    "is_compiled",
    "kernel",
    "merged",
    "nothing",
    "nothing_kept",
    "number_of",
    "octets_of",
    "one_thread",
    "open_bus",
    "open_capture",
    "open_datagrams",
    "open_group",
    "open_interface",
    "open_span",
    "open_writer",
    "prefetch",
    "repeated",
    "ring_refusal",
    "rows_of",
    "salt",
    "source_in",
    "spooled",
    "step",
    "tell_apart",
    "texts_of",
    "together",
    "unwritable",
    "word_at",
    "write_commented",
    "write_pcapng",
]
