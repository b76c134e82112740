"""The flow's identity: one hash that knows the direction, one that does not.

`conversation` places a row (data and its ACKs meet on one worker), `flow` names one direction.
Tenant, VRF and VNI take part: overlapping address spaces are normal.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from collector.kernel import kernel

FIRST, SECOND = 0xD6E8FEB86659FD93, 0xA0761D6478BD642F
"""Odd numbers that spread the high words of addresses over all bits."""
PLACEMENT_VERSION = 2
"""Raised when the hash changes; part of the topic's name."""


@kernel
def mix(state: np.uint64, value: np.uint64) -> np.uint64:
    """One round of splitmix64 over `state ^ value`: every input bit moves every output bit."""
    z = (state ^ value) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def flow_keys(
    src_hi: NDArray[np.uint64],
    src_lo: NDArray[np.uint64],
    dst_hi: NDArray[np.uint64],
    dst_lo: NDArray[np.uint64],
    sport: NDArray[np.uint16],
    dport: NDArray[np.uint16],
    protocol: NDArray[np.uint8],
    vni: NDArray[np.uint32],
    own: NDArray[np.uint32],
    salt: np.uint64,
    conversation: NDArray[np.uint64],
    flow: NDArray[np.uint64],
    direction: NDArray[np.uint8],
) -> None:
    """Hash every row.

    `own` is what each direction has for itself (a security parameters index, a destination queue
    pair; 0: nothing): it tells flows apart and does not take part in where they are placed.
    """
    for row in range(src_hi.size):
        a_hi, a_lo, a_port = src_hi[row], src_lo[row], np.uint64(sport[row])
        b_hi, b_lo, b_port = dst_hi[row], dst_lo[row], np.uint64(dport[row])
        turned = a_hi > b_hi or (
            a_hi == b_hi and (a_lo > b_lo or (a_lo == b_lo and a_port > b_port))
        )
        if turned:
            a_hi, a_lo, a_port, b_hi, b_lo, b_port = b_hi, b_lo, b_port, a_hi, a_lo, a_port
        # Two words at a step: the multiplication is a bijection, so each still moves every bit.
        hashed = mix(salt, a_hi * np.uint64(FIRST) ^ a_lo)
        rest = np.uint64(vni[row]) << np.uint64(40) | a_port << np.uint64(24)
        rest |= b_port << np.uint64(8) | np.uint64(protocol[row])
        hashed = mix(mix(hashed, b_hi * np.uint64(SECOND) ^ b_lo), rest)
        conversation[row] = hashed
        direction[row] = 1 if turned else 0
        hashed = mix(hashed, np.uint64(1 if turned else 0))
        flow[row] = mix(hashed, np.uint64(own[row])) if own[row] != 0 else hashed


def salt(tenant: str, vrf: str) -> np.uint64:
    """Where the hash of a tenant's VRF starts."""
    text = f"{len(tenant)}:{tenant}{vrf}".encode()
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big"))


@kernel
def directed(
    conversation: NDArray[np.uint64], direction: NDArray[np.uint8], flow: NDArray[np.uint64]
) -> None:
    """Write the flow of each (conversation, direction): the other direction is the reverse flow."""
    for row in range(conversation.size):
        flow[row] = mix(conversation[row], np.uint64(direction[row]))
