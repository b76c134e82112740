"""The one loop over rows: what each does to the two senders of its conversation at one point.

A row of direction r moves SND.NXT of r by its data, and by its ACK drives the recurrences of the
sender d = 1 - r. All of it is compiled; nothing of Python runs per row.
"""

import numpy as np

from collector import borrowing
from pipeline.batch import AHEAD, TOGETHER, Batch, Kind, Rows
from pipeline.datagram_row import datagram
from pipeline.decision_block import Decisions, is_full, spread
from pipeline.flow import locate, settle
from pipeline.memory import Mark, Memory, Rules
from pipeline.near import Near, come
from pipeline.near_stacks import leave_loads
from pipeline.pool import has_room
from pipeline.sender import enter, heed
from pipeline.tcp_row import segment
from pipeline.telemetry_row import observe_hops
from pipeline.trail import leave


@borrowing
def follow(
    rows: Rows, near: Near, out: Decisions, batch: Batch, memory: Memory, rules: Rules, start: int
) -> int:
    """Every row from `start`, in order; returns where there was no room, or the number of rows."""
    size = rows.time_ns.size
    for at in range(start, size):
        if not has_room(memory) or is_full(batch, out):
            spread(batch, out)
            leave_loads(batch)
            return at
        if batch.made[0] >= TOGETHER:
            spread(batch, out)
        place = np.uint64(at - start) % np.uint64(AHEAD)
        if place == 0:
            leave_loads(batch)
            come(rows, near, batch, memory, at, min(at + AHEAD, size))
        key, row = near.keys[place], near.rows[place]
        entry, how = locate(memory.flows, key, row.time_ns, rules.idle_ticks, memory.used)
        slot = memory.slots[memory.flows[entry].slot]
        enter(slot, how, batch.counts)
        una, known = slot.snd_una[1 - row.direction], slot.marks[1 - row.direction]
        if row.hints != 0:
            heed(slot, row)
        if row.kind == Kind.TCP.value:
            segment(slot, row, at, batch, memory, rules)
        elif row.kind > Kind.PROBE.value:
            datagram(slot, row, at, batch, memory, rules)
        if row.telemetry >= 0 and batch.loads[row.telemetry].reflected == 0:
            observe_hops(slot, row, batch, memory, rules)
        if batch.trail.size > 0:
            acked = slot.snd_una[1 - row.direction] - una if known & Mark.NUMBERED.value else 0
            leave(batch.trail[at], slot, memory.flows[entry].slot, acked)
        closed = slot.marks[0] & slot.marks[1] & Mark.CLOSED.value != 0
        settle(memory.flows[entry], closed)
    spread(batch, out)
    leave_loads(batch)
    return int(size)
