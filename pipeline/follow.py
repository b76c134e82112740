"""The one loop over rows: what each does to the two senders of its conversation at one point.

A row of direction r moves SND.NXT of r by its data, and by its ACK drives the recurrences of the
sender d = 1 - r. All of it is compiled; nothing of Python runs per row.
"""

from collector import borrowing
from pipeline.batch import Batch, Kind, finish, read
from pipeline.datagram_row import datagram
from pipeline.flow import key_of, locate, settle
from pipeline.memory import Mark, Memory, Rules
from pipeline.near import AHEAD, LARGE, bring
from pipeline.pool import has_room
from pipeline.sender import enter
from pipeline.tcp_row import segment
from pipeline.telemetry_row import observe_hops


@borrowing
def follow(batch: Batch, memory: Memory, rules: Rules, start: int) -> int:
    """Every row from `start`, in order; returns where a pool was full, or the number of rows."""
    row, size = batch.row[0], batch.rows.time_ns.size
    for at in range(start, size):
        if not has_room(memory):
            finish(batch.out, batch.counts)
            return at
        if (at - start) % AHEAD == 0 and memory.slots.size > LARGE:
            bring(batch, memory, at, min(at + AHEAD, size))
        read(batch.rows, at, row)
        key = key_of(row.conversation, row.point)
        entry, how = locate(memory.flows, key, row.time_ns, rules.idle_ticks, memory.used)
        slot = memory.slots[memory.flows[entry].slot]
        enter(slot, how, batch.counts)
        if row.kind == Kind.TCP.value:
            segment(slot, row, at, batch, memory, rules)
        elif row.kind != Kind.OTHER.value:
            datagram(slot, row, at, batch, memory, rules)
        if row.telemetry >= 0 and batch.loads[row.telemetry].reflected == 0:
            observe_hops(slot, row, batch, memory, rules)
        closed = slot.marks[0] & slot.marks[1] & Mark.CLOSED.value != 0
        settle(memory.flows[entry], closed)
    finish(batch.out, batch.counts)
    return int(size)
