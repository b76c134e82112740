"""Identities on the wire: addresses, ports, initial sequence numbers of flows, from the seed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay import wiring
from replay.carriage import CARRIAGES
from replay.fabric import Run
from replay.state import HPCC_INT, INT, ROCE

HPCC_PORT, DCTCP_PORT = 5201, 5202
ROCE_PORT, HPCC_INT_PORT = 4791, 100
"""UDP ports of RoCEv2, which its flows have at both ends, and of the HPCC simulator's data."""
EPHEMERAL = 49152
LOCAL_MAC = 0x02 << 40
"""Locally administered addresses: hosts below, the leaves that route for them from ROUTER on."""
ROUTER = 1 << 16
FIRST_QP = 0x100
CLIENT, SERVER = 0, 1
"""Ends of a flow: who sends data, who receives it; the columns of the arrays of `Identities`."""


@dataclass(frozen=True, slots=True)
class Identities:
    """One row a flow, one column an end (`CLIENT`, `SERVER`)."""

    host: NDArray[np.int64]
    """Row of the host."""
    port: NDArray[np.int64]
    """Port of TCP or UDP."""
    qp: NDArray[np.int64]
    """Queue pair of RoCE."""
    isn: NDArray[np.int64]
    """Initial sequence number; the stream's first byte has the next one."""
    clock: NDArray[np.int64]
    """TCP timestamp value at virtual time 0."""
    ipv4: NDArray[np.uint64]
    ipv6_high: NDArray[np.uint64]
    ipv6_low: NDArray[np.uint64]
    mac: NDArray[np.uint64]
    router: NDArray[np.uint64]
    """MAC of the end's first router."""
    version: NDArray[np.int64]
    """IP version by flow."""


def identities(run: Run) -> Identities:
    """Identities of the run's flows; the same for the same world."""
    flows, world = run.flows, run.world
    random = np.random.default_rng((world.seed, len(flows)))
    host = np.stack([flows["src"], flows["dst"]], axis=1)
    server = np.where(flows["kind"] == INT, HPCC_PORT, DCTCP_PORT)
    client = EPHEMERAL + random.permutation(1 << 14)[: len(flows)]
    port = np.stack([client, server], axis=1)
    port[flows["form"] == HPCC_INT, SERVER] = HPCC_INT_PORT
    port[flows["form"] == ROCE] = ROCE_PORT
    leaf = host // world.hosts_per_leaf
    number = host % world.hosts_per_leaf + 1
    word = np.uint64
    return Identities(
        host=host,
        port=port,
        qp=FIRST_QP + np.arange(host.size).reshape(host.shape),
        isn=random.integers(1 << 32, size=host.shape),
        clock=random.integers(1 << 31, size=host.shape),
        ipv4=(10 << 24 | (leaf + 1) << 16 | number).astype(word),
        ipv6_high=(leaf + 1).astype(word) | word(wiring.PREFIX << 48),
        ipv6_low=number.astype(word),
        mac=(LOCAL_MAC | host + 1).astype(word),
        router=(LOCAL_MAC | ROUTER + leaf + 1).astype(word),
        version=np.array([CARRIAGES[int(form)].version for form in flows["form"]]),
    )
