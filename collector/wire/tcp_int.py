"""TCP-INT: the worst hop of a path in a TCP option, and its echo (p4lang p4app-TCP-INT).

| kind 8 | length 8 | tag frequency 4 | link speed 4 | value 8 | hop id 8 | latency 24 |
| echoed value 8 | echoed link speed 4 | echoed hop 4 | echoed latency 16 |

A value below 128 is the link's utilisation, else its low seven bits are the queue's depth. The hop
id is the time to live at the worst hop; the echo counts hops from the sender instead.
"""

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Header


def option(settings: CollectorSettings) -> Header:
    """The option's table; the host that echoes a latency writes it in its own byte order."""
    little = 2 if settings.tcp_int_echo_order == "little" else 0
    return Header(
        "tcp_int",
        "p4lang/p4app-TCP-INT, code/src/bpf/tcp_int.bpf.c",
        (
            Field("kind", 8, "TCP option kind."),
            Field("length", 8, "12."),
            Field("tag_frequency", 4),
            Field("speed", 4, "Link speed of the worst hop, a code.", "tcp_int_speed"),
            Field("value", 8, "Utilisation or queue depth.", "tcp_int_value"),
            Field("hop_id", 8, "Time to live at the worst hop.", "tcp_int_hop_id"),
            Field("latency", 24, "Latency of the worst hop, 256 ns.", "tcp_int_latency"),
            Field("echo_value", 8, "The same, echoed.", "tcp_int_echo_value"),
            Field("echo_speed", 4, "The same, echoed.", "tcp_int_echo_speed"),
            Field("echo_hop", 4, "Number of the worst hop, from 1; 0 none.", "tcp_int_echo_number"),
            Field("echo_latency", 16, "Latency, echoed: 256 or 65536 ns.", "tcp_int_echo_latency",
                  little=little),
        ),
        doc="Telemetry of the path's worst hop, and the echo of that of the way back.",
    )  # fmt: skip


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return (option(settings),)


def options(settings: CollectorSettings) -> dict[str, dict[tuple[int, int], str]]:
    """The TCP option; of any other length it is somebody else's."""
    return {"tcp_option": {(settings.tcp_int_kind, 12): "tcp_int"}}
