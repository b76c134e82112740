"""An egress port and an end host, as a topology describes them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interface:
    """One egress port; telemetry names it by (`node_id`, `port_id`).

    `peer_interface` is empty where the peer is a host. `base_delay_ns` is what a packet takes
    through the device to the line when no queue is there; None where it is not known.
    """

    device: str
    name: str
    node_id: int
    port_id: int
    capacity_bps: int
    stage: str
    orientation: str
    peer_device: str
    peer_interface: str
    csig_lm: int | None = None
    csig_lm_compact: int | None = None
    base_delay_ns: int | None = None

    @property
    def hop(self) -> tuple[int, int]:
        """Node and port id, as telemetry names the hop."""
        return self.node_id, self.port_id


@dataclass(frozen=True, slots=True)
class Host:
    """An end host: its addresses and the port that it hangs on; a `nic_bps` of 0 is unknown."""

    name: str
    prefixes: tuple[str, ...]
    device: str
    interface: str
    nic_bps: int
