"""The one loop over rows: what each does to the two senders of its conversation at one point.

A row of direction r moves SND.NXT of r by its data, and by its ACK drives the recurrences of the
sender d = 1 - r. All of it is compiled; nothing of Python runs per row.
"""

from collector import borrowing
from pipeline.batch import Batch, finish, read
from pipeline.flow import key_of, locate
from pipeline.memory import Memory, Rules
from pipeline.pool import has_room
from pipeline.sender import enter
from pipeline.tcp_row import segment
from pipeline.telemetry_row import observe_hops


@borrowing
def follow(batch: Batch, memory: Memory, rules: Rules, start: int) -> int:
    """Every row from `start`, in order; returns where a pool was full, or the number of rows."""
    row = batch.row[0]
    for at in range(start, batch.rows.time_ns.size):
        if not has_room(memory):
            finish(batch.out, batch.counts)
            return at
        read(batch.rows, at, row)
        place_of, how = locate(
            memory.keys, memory.last_ns, key_of(row.conversation, row.point), row.time_ns
        )
        slot = memory.slots[place_of]
        enter(slot, row, how, batch.counts)
        if row.tcp:
            segment(slot, row, at, batch, memory, rules)
        if row.telemetry >= 0 and batch.loads[row.telemetry].reflected == 0:
            observe_hops(slot, row, batch, memory, rules)
    finish(batch.out, batch.counts)
    return int(batch.rows.time_ns.size)
