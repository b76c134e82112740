"""The scene: hosts, ports, flows and offers of a fabric as rebuilt, ready to be played.

Tables are flat; a row's number is its name in the others. It holds nothing of the frames that it
was found in, so a changed scene is played as the first one is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from pipeline import Value

HPCC, DCTCP, SWIFT, UNTOLD = "hpcc", "dctcp", "swift", "untold"
ALGORITHMS = (HPCC, DCTCP, SWIFT)
"""What a sender of the simulator can run; `untold` ones grow until they lose."""


@dataclass(frozen=True, slots=True)
class Scene:
    """See the module. Times in the tables count from `start_ns`, ns since 1970.

    - `hosts`: name, nic_bps, line_bps (as its frames follow each other);
    - `ports`: name, device, interface, node, port, bps, line_bps, mark_bytes and room_bytes (null:
      none), and `edge`, whether a host is behind it;
    - `flows`: the key of a flow as text and numbers, src and dst (rows of hosts), algorithm,
      start_ns, handshake, payload, data_octets, ack_octets, window, each, base_ns, t_ns, forward
      and back (lists of ports), total (bytes; null: more than was seen), end_ns (last ACK seen);
    - `offers`: flow, at_ns, limit.
    """

    start_ns: int
    duration_ns: int
    hosts: pl.DataFrame
    ports: pl.DataFrame
    flows: pl.DataFrame
    offers: pl.DataFrame
    parameters: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    units: tuple[int, int] = (1, 1)
    """Units in which stacks tell qlen and txBytes."""
    notes: tuple[str, ...] = ()
    """What was assumed, in sentences."""
