"""What the node of a telemetry report saw: its words by report metadata bit.

2.0 (16 bits) | 1 ingress 16, egress 16 | 2 latency 32 | 3 queue 8, occupancy 24 |
              | 4 ingress ts 64 | 5 egress ts 64 | 6 level 2 ingress 32, egress 32 |
              | 7 TX utilisation 32 | 8 buffer 8, occupancy 24 | 9-14 reserved 32 |
              | 15 queue 8, drop reason 8, pad 16 |
1.0 (6 bits)  | 0 ingress 16, egress 16 | 1 latency 32 | 2 queue 8, occupancy 24 |
              | 3 egress ts 32 | 4 queue 8, drop reason 8, pad 16 | 5 TX utilisation 32 |
"""

from collector.wire.place import Field
from collector.wire.table import Part

BITS_2, BITS_1 = 16, 6
_PORTS = (
    Field("ingress", 16, "Ingress interface.", "report_ingress"),
    Field("egress", 16, "Egress interface.", "report_port"),
)
_LATENCY = (Field("latency", 32, "Hop latency.", "report_latency"),)
_QUEUE = (
    Field("queue", 8, "Queue id.", "report_queue"),
    Field("occupancy", 24, "Queue occupancy.", "report_occupancy"),
)
_DROP = (
    Field("drop_queue", 8, "Queue id.", "report_drop_queue"),
    Field("reason", 8, "Drop reason.", "report_drop_reason"),
    Field("pad", 16),
)
_UTILIZATION = (Field("utilization", 32, "TX utilisation.", "report_utilization"),)
PARTS_2 = (
    Part(0, ()),
    Part(1, _PORTS),
    Part(2, _LATENCY),
    Part(3, _QUEUE),
    Part(4, (Field("ingress_ts", 64, "Ingress timestamp, ns.", "report_ingress_ts"),)),
    Part(5, (Field("egress_ts", 64, "Egress timestamp, ns.", "report_egress_ts"),)),
    Part(6, (Field("ingress2", 32, "Level 2 ingress interface.", "report_l2_ingress"),
             Field("egress2", 32, "Level 2 egress interface.", "report_l2_port"))),
    Part(7, _UTILIZATION),
    Part(8, (Field("buffer", 8, "Buffer id.", "report_buffer"),
             Field("buffer_occupancy", 24, "Buffer occupancy.", "report_buffer_occupancy"))),
    *(Part(bit, (Field(f"reserved{bit}", 32, "Its length is kept."),)) for bit in range(9, 15)),
    Part(15, _DROP),
)  # fmt: skip
"""Of reports 2.0; bit 0 is reserved and has no words."""
PARTS_1 = (
    Part(0, _PORTS),
    Part(1, _LATENCY),
    Part(2, _QUEUE),
    Part(3, (Field("egress_ts", 32, "Egress timestamp, ns, wraps.", "report_egress_ts_low"),)),
    Part(4, _DROP),
    Part(5, _UTILIZATION),
)
"""Of reports 1.0."""
