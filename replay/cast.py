"""Casting: which hosts and switches of a fabric play the parts that a script names.

A script says leaf1 and spine1; a seed says which leaf and which spine these are. So a scenario is
another one with every seed, and its script stays as short.
"""

from dataclasses import replace

import numpy as np

from replay.world import SIDE, FlowScript, World


class Cast:
    """Who plays which part in a world, by a seed."""

    def __init__(self, world: World, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.world = world
        self.pods = random.permutation(world.pods)
        local = np.tile(np.arange(world.leaves_per_pod), (world.pods, 1))
        self.leaves = random.permuted(local, axis=1)
        self.spines, self.cores = map(random.permutation, (world.spines, world.cores))
        behind = np.tile(np.arange(world.hosts_per_leaf), (world.leaves, 1))
        self.hosts = random.permuted(behind, axis=1)

    def leaf(self, row: int) -> int:
        """Leaf that plays a leaf, both from 0."""
        pod, place = divmod(row, self.world.leaves_per_pod)
        return int(self.pods[pod] * self.world.leaves_per_pod + self.leaves[pod, place])

    def host(self, name: str) -> str:
        """Host that plays a host."""
        leaf, _, number = name.removeprefix("leaf").partition("-h")
        row = int(leaf) - 1
        return f"leaf{self.leaf(row) + 1}-h{self.hosts[row, int(number) - 1] + 1}"

    def port(self, name: str) -> str:
        """Port that plays a port of a leaf or a spine, as in leaf1:Ethernet7."""
        world = self.world
        device, _, number = name.partition(":Ethernet")
        at = int(number) - 1
        if device.startswith("leaf"):
            row = int(device.removeprefix("leaf")) - 1
            up = at - world.hosts_per_leaf
            real = self.hosts[row, at] if up < 0 else world.hosts_per_leaf + self.spines[up]
            return f"leaf{self.leaf(row) + 1}:Ethernet{real + 1}"
        pod, plane = divmod(int(device.removeprefix("spine")) - 1, world.spines)
        up = at - world.leaves_per_pod
        real = self.leaves[pod, at] if up < 0 else world.leaves_per_pod + self.cores[up]
        return f"spine{self.pods[pod] * world.spines + self.spines[plane] + 1}:Ethernet{real + 1}"

    def flow(self, flow: FlowScript) -> FlowScript:
        """The flow between those who play its parts."""
        phases = tuple(
            replace(
                phase,
                spine=int(self.spines[phase.spine - 1]) + 1 if phase.spine != SIDE else SIDE,
                core=int(self.cores[phase.core - 1]) + 1 if len(self.cores) else 1,
            )
            for phase in flow.phases
        )
        return replace(flow, src=self.host(flow.src), dst=self.host(flow.dst), phases=phases)


def cast(world: World, seed: int) -> World:
    """The world with pods, leaves, hosts behind them, spines and cores exchanged by the seed."""
    made = Cast(world, seed)
    return replace(
        world,
        seed=seed,
        flows=tuple(map(made.flow, world.flows)),
        nic_bps={made.host(host): bps for host, bps in world.nic_bps.items()},
        cpu_bps={made.host(host): bps for host, bps in world.cpu_bps.items()},
        rogues={made.port(name): kind for name, kind in world.rogues.items()},
        failures={made.port(name): at for name, at in world.failures.items()},
    )
