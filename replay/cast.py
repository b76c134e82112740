"""Casting: which hosts and switches of a fabric play the parts that a script names.

A script says leaf1 and spine1; a seed says which leaf and which spine these are. So a scenario is
another one with every seed, and its script stays as short.
"""

from dataclasses import replace

import numpy as np

from replay.world import FlowScript, World


def cast(world: World, seed: int) -> World:
    """The world with leaves, hosts behind them and spines exchanged as the seed says."""
    random = np.random.default_rng(seed)
    leaves, spines = (random.permutation(count) + 1 for count in (world.leaves, world.spines))
    hosts = random.permuted(np.tile(np.arange(world.hosts_per_leaf) + 1, (world.leaves, 1)), axis=1)

    def named(host: str) -> str:
        leaf, _, number = host.removeprefix("leaf").partition("-h")
        row = int(leaf) - 1
        return f"leaf{leaves[row]}-h{hosts[row, int(number) - 1]}"

    def port(name: str) -> str:
        device, _, number = name.partition(":Ethernet")
        row = int(device.removeprefix("leaf").removeprefix("spine")) - 1
        at = int(number) - 1
        if device.startswith("spine"):
            return f"spine{spines[row]}:Ethernet{leaves[at]}"
        beyond = at - world.hosts_per_leaf
        real = hosts[row, at] if beyond < 0 else world.hosts_per_leaf + spines[beyond]
        return f"leaf{leaves[row]}:Ethernet{real}"

    def played(flow: FlowScript) -> FlowScript:
        phases = tuple(replace(phase, spine=int(spines[phase.spine - 1])) for phase in flow.phases)
        return replace(flow, src=named(flow.src), dst=named(flow.dst), phases=phases)

    return replace(
        world,
        seed=seed,
        flows=tuple(map(played, world.flows)),
        nic_bps={named(host): bps for host, bps in world.nic_bps.items()},
        rogues={port(name): kind for name, kind in world.rogues.items()},
    )
