"""Companion: HPCC++ (`cc.hpcc`) for classes of a port served by weight (`cc.qos`, section 9.3).

A hop's latency is the sojourn time. The class of a packet is the one that its DSCP is mapped to, or
the queue that the hop names. A port is known by node, port and the point it was seen from, and all
flows there share its state. Where hops count bytes by port and not by queue, `tx_of` says so: the
rate of a class is then unknown, and its sojourn time a lower bound.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import borrowing, inlined
from pipeline.batch import Batch, Rows
from pipeline.cc import hop_load, qos
from pipeline.cc.hop_load import LOAD, Tag
from pipeline.cc.hop_record import MAX_HOPS, TS, TX, B
from pipeline.cc.parameter import Parameter, Record, Value
from pipeline.cc.qos import MAX_CLASSES, MOST_WEIGHT
from pipeline.companion import Course
from pipeline.companions.heard import NOBODY, Flags, Heard
from pipeline.companions.hop_values import (
    BEFORE,
    HopValues,
    begin_at,
    delay_of,
    hop_values,
    name_of,
    same_hop,
    stacked,
    tau_of,
    worst_of,
)
from pipeline.companions.load_companion import ACTS, LoadCompanion, wholes
from pipeline.companions.load_loop import DECIDED, Fault
from pipeline.companions.port_number import PortNumbers
from pipeline.memory import Ints

__all__ = ["DECIDED", "TABLE", "HpccQos"]

WEIGHTS = tuple(
    Parameter(f"w{k}", 1, "", 0, MOST_WEIGHT, f"Weight of class {k}; 0: there is no such.", "9.3")
    for k in range(MAX_CLASSES)
)
CLASSES = tuple(
    Parameter(f"c{k}", k, "", 0, MAX_CLASSES - 1, f"Class of the DSCPs {8 * k} to {8 * k + 7}.",
              "open")
    for k in range(MAX_CLASSES)
)  # fmt: skip
BY_QUEUE, OF_PORT = 1, 1
READING = (
    Parameter("class_by", "dscp", "", 0, 1, "A packet's class: of its DSCP, or the hop's queue id.",
              "open", ("dscp", "queue")),
    Parameter("tx_of", "queue", "", 0, 1, "Whose bytes the hop's counter of transmitted ones is.",
              "open", ("queue", "port")),
)  # fmt: skip
TABLE = (*qos.TABLE, *WEIGHTS, *CLASSES, *READING, *ACTS)


class Fixed(NamedTuple):
    """What holds for all rows: masks of counters by width, weights, and classes by DSCP/8."""

    ts: Ints
    tx: Ints
    weights: Ints
    classes: Ints


class Ports(NamedTuple):
    """State of ports, and which of them each hop is (hop, row of those with telemetry)."""

    states: NDArray[Any]
    numbers: NDArray[np.int32]


class HpccQos(LoadCompanion):
    """See the module; ValueError names a parameter that is not accepted."""

    name = "hpcc_qos"

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        tables = qos.TABLE, WEIGHTS, CLASSES, READING, ACTS
        super().__init__(parameters, *tables, before=(BEFORE, MAX_HOPS))
        _, weights, classes, *_ = self.parameters
        self.weights = np.array(weights[0].tolist(), np.int64)
        self.classes = np.array(classes[0].tolist(), np.int64)
        self.numbers = PortNumbers()
        self.ports = new_ports(0)

    def pieces(self, course: Course) -> tuple[Flags, Flags]:
        """Rows with a stack of hops."""
        return stacked(course)

    def fill(self, course: Course, told: Heard, loads: NDArray[Any]) -> None:
        """The worst hop of each stack for the class of its packet."""
        numbers = self.numbers.of(course)
        self.ports = np.concatenate([self.ports, new_ports(len(self.numbers) - self.ports.size)])
        rules = course.rules
        masks = Fixed(rules.ts_mask, rules.tx_mask, self.weights, self.classes)
        reading, hops = self.parameters[3], np.zeros(MAX_HOPS, LOAD)
        make(
            course.rows, course.batch, told, hop_values(course), self.book["before"], masks,
            Ports(self.ports, numbers), wholes(course.frame, "dscp", told), self.parameters[0],
            reading, hops, loads,
        )  # fmt: skip


def new_ports(count: int) -> NDArray[Any]:
    """Ports of which nothing has been seen."""
    ports = qos.state(count)
    for port in ports:
        qos.reset(port, -1)
    return ports


@borrowing
def make(
    rows: Rows, batch: Batch, told: Heard, values: HopValues, before: NDArray[Any], fixed: Fixed,
    ports: Ports, dscps: Ints, q: NDArray[Any], reading: NDArray[Any], hops: NDArray[Any],
    loads: NDArray[Any],
) -> None:  # fmt: skip
    """A load of each stack; `hops` is overwritten."""
    for at in range(loads.size):
        place = told.place[at]
        if place == NOBODY:
            continue
        begin_at(before, place, told.news[at])
        row = rows.telemetry[told.row[at]]
        nhop = batch.loads[row].nhop
        for i in range(nhop):
            was = before[place * MAX_HOPS + i]
            sojourn_ns = delay_of(values, batch, i, row, fixed.ts[batch.loads[row].width])
            sojourn_before, tau = -1, 0
            rate_bps = rate_of(values, batch, i, row, reading[0])
            if same_hop(was, values, i, row):
                sojourn_before = was.sojourn_ns
                width = batch.loads[row].width
                tau = tau_of(was, batch.stacks[TS, i, row], fixed.ts[width])
                sent = sent_of(was, batch.stacks[TX, i, row], fixed.tx[width])
                if reading[0].tx_of != OF_PORT and tau > 0 and sent >= 0:
                    rate_bps = sent * 8 / (tau * 1e-9)
            if ports.numbers[i, row] >= 0:
                s = ports.states[ports.numbers[i, row]]
                s.B_bps = batch.stacks[B, i, row]
                klass = class_of(values, i, row, dscps[at], fixed.classes, reading[0])
                qos.measured(
                    hops[i], s, q[0], fixed.weights, klass, rows.time_ns[told.row[at]],
                    told.t_ns[at], sojourn_ns, sojourn_before, rate_bps,
                )  # fmt: skip
            else:
                hop_load.begin(hops[i], Tag.LOWER_BOUND.value)
                hops[i].faults |= Fault.PORT_UNKNOWN.value
            hops[i].tau_ns = tau
            was.name = name_of(values, i, row)
            remember(was, batch, i, row, sojourn_ns)
        worst_of(loads[at], hops, nhop, values, row)


@inlined
def remember(was: Record, batch: Batch, hop: int, row: int, sojourn_ns: int) -> None:
    """What the hop tells, for the flow's next record of it."""
    was.ts_ns, was.tx_bytes = batch.stacks[TS, hop, row], batch.stacks[TX, hop, row]
    was.sojourn_ns, was.known = sojourn_ns, 1


@inlined
def sent_of(was: Record, tx_bytes: int, mask: int) -> int:
    """Bytes since the record before; -1 where either does not tell its counter."""
    if tx_bytes < 0 or was.tx_bytes < 0:
        return -1
    return int((tx_bytes - was.tx_bytes) & mask)


@inlined
def rate_of(values: HopValues, batch: Batch, hop: int, row: int, reading: Record) -> float:
    """The rate that a reported utilisation stands for; NaN where it is not known, or the port's."""
    b_bps = batch.stacks[B, hop, row]
    if reading.tx_of == OF_PORT or b_bps < 0:
        return np.nan
    return float(values.utilization[hop, row] * b_bps)


@inlined
def class_of(
    values: HopValues, hop: int, row: int, dscp: int, classes: Ints, reading: Record
) -> int:
    """The class of a packet at a hop; -1: unknown."""
    if reading.class_by == BY_QUEUE:
        return int(values.queue[hop, row])
    return int(classes[dscp >> 3]) if 0 <= dscp < MAX_CLASSES << 3 else -1
