"""Pace: a world whose links are slower, so that long intervals hold few enough packets.

At a tenth of the speed a second of a full link holds 30,000 packets of 4,000 bytes. The base round
trip grows with what packets take on slower links, and K shrinks so that a queue of K fills as much
of it as before.
"""

from dataclasses import replace

from replay.world import World

PAYLOAD_BYTES = 4_000


def slower(world: World, times: int) -> World:
    """The world with links and applications that many times slower, and larger packets.

    Times of phases stay.
    """
    if times == 1:
        return world
    flows = tuple(
        replace(
            flow,
            drain_bps=flow.drain_bps and flow.drain_bps // times,
            phases=tuple(
                replace(phase, rate_bps=phase.rate_bps and phase.rate_bps // times)
                for phase in flow.phases
            ),
        )
        for flow in world.flows
    )
    # Of packets four times as long on links `times` slower only a part is added by the links.
    longer = times / 2
    return replace(
        world,
        flows=flows,
        host_bps=world.host_bps // times,
        link_bps=world.link_bps // times,
        core_bps=world.core_bps // times,
        nic_bps={host: bps // times for host, bps in world.nic_bps.items()},
        cpu_bps={host: bps // times for host, bps in world.cpu_bps.items()},
        side_bps=world.side_bps // times,
        base_rtt_ns=round(world.base_rtt_ns * longer),
        mark_bytes=round(world.mark_bytes * longer / times),
        payload_bytes=PAYLOAD_BYTES,
    )
