"""Settings of IOAM, IFA, TCP-INT and the HPCC simulator's INT."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator

Protocol = Annotated[int, Field(ge=1, le=254)]
Port = Annotated[int, Field(ge=1, le=65535)]
IfaColumn = Literal[
    "node", "ttl", "speed", "congestion", "queue", "seconds", "nanoseconds", "port",
    "ingress_port", "residence", "tx_bytes", "cells", "pool_cells", "reserved",
]  # fmt: skip
Unit = Annotated[int, Field(ge=1, le=1 << 32)]
IfaSchema = tuple[tuple[IfaColumn, Annotated[int, Field(ge=1, le=64)]], ...]
OCTET, WORD_BITS = 8, 32
LNS_BITS = 4
GLOBAL = 15
"""As global name space: each hop has its own."""


class TraceSettings(BaseModel):
    """How trace options and stacks are recognised, and what their units are."""

    ioam_option_types: tuple[Annotated[int, Field(ge=2, le=255)], ...] = Field(
        (0x31,), description="IPv6 option types that carry IOAM traces (RFC 9486)."
    )
    ioam_fraction: Literal["microseconds", "nanoseconds", "ntp"] = Field(
        "microseconds",
        description="Unit of the IOAM timestamp fraction: POSIX, PTP, or 2^-32 seconds.",
    )
    ioam_queue_bytes: Unit = Field(1, description="Bytes per unit of IOAM queue depth.")
    ioam_buffer_bytes: Unit = Field(1, description="Bytes per unit of IOAM buffer occupancy.")
    ifa_protocols: tuple[Protocol, ...] = Field(
        (253, 131), description="IP protocols that carry IFA (unassigned by the draft)."
    )
    ifa_versions: tuple[Literal[2, 3], ...] = Field(
        (2,), min_length=1, description="IFA versions that are read, by the rules of version 2."
    )
    ifa_flag_order: Literal["draft", "reversed"] = Field(
        "draft", description="Flags of IFA: reserved bits first, or the checksum flag first."
    )
    ifa_cell_bytes: Unit = Field(
        1, description="Bytes of a buffer cell, the unit of IFA queue depths."
    )
    ifa_name_spaces: dict[int, IfaSchema] = Field(
        default_factory=dict,
        description="Hop records of IFA name spaces other than 1, behind the name space's four"
        " bits: (name, bits) in wire order.",
    )
    tcp_int_kind: int = Field(0x72, ge=2, le=254, description="TCP option kind of TCP-INT.")
    tcp_int_echo_order: Literal["little", "big"] = Field(
        "little", description="Byte order of the echoed latency of TCP-INT; x86 hosts write little."
    )
    tcp_int_echo_scale: Literal["whole", "masked"] = Field(
        "whole",
        description="Long echoed latencies of TCP-INT: shifted with their marking bit, as the"
        " published code does, or without.",
    )
    hpcc_udp_ports: tuple[Port, ...] = Field(
        (), description="UDP destination ports of the HPCC simulator's data packets."
    )
    hpcc_ack_protocols: tuple[Protocol, ...] = Field(
        (0xFC,), description="IP protocols of the HPCC simulator's acknowledgments."
    )
    hpcc_nack_protocols: tuple[Protocol, ...] = Field(
        (), description="The same for negative ones; its 253 is IFA elsewhere."
    )
    hpcc_multi: Unit = Field(
        1, description="Global scale of the HPCC simulator's queue and byte counters."
    )

    @field_validator("ifa_name_spaces")
    @classmethod
    def _whole_words(cls, schemas: dict[int, IfaSchema]) -> dict[int, IfaSchema]:
        """Refuse a name space that no record can name, and records that cannot be read."""
        for number, schema in schemas.items():
            if not 0 <= number < GLOBAL:
                raise ValueError(f"IFA name space {number}: not within 0 and {GLOBAL - 1}")
            at = LNS_BITS
            for name, bits in schema:
                if at % OCTET + bits > 2 * WORD_BITS:
                    raise ValueError(f"IFA name space {number}: {name} spans more than 8 octets")
                at += bits
            if at % WORD_BITS:
                raise ValueError(f"IFA name space {number}: records are not whole words")
        return schemas
