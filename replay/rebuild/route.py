"""Routes: hosts, egress ports and the way of each flow, by topology, by stacks, or as a star.

Where the topology knows both hosts it tells the ways; of several equal ones that is taken which the
hops of the flow's stacks name, else that whose busiest port has the least to carry. Without
topology the ids in stacks are the way; with neither, every receiver hangs on one port, and hops
before it are each sender's own.
"""

from typing import NamedTuple

import polars as pl

from pipeline import Host, Interface, Topology, address_text, between
from replay.rebuild.sighting import MOST_HOPS, Sightings

PORT = {
    "name": pl.String, "device": pl.String, "interface": pl.String, "node": pl.UInt32,
    "port": pl.UInt32, "bps": pl.Int64, "edge": pl.Boolean,
}  # fmt: skip


class Routes(NamedTuple):
    """What flows cross.

    Hosts (name, nic_bps; 0: not known), ports (`PORT`; a bps of 0 is not known), flows: src, dst,
    forward and back; and sentences on what was assumed.
    """

    hosts: pl.DataFrame
    ports: pl.DataFrame
    flows: pl.DataFrame
    notes: tuple[str, ...]


class Map:
    """Numbers hosts and ports as flows name them."""

    def __init__(self, topology: Topology | None) -> None:
        self.topology = topology
        self.hosts: dict[str, int] = {}
        self.nics: list[int] = []
        self.ports: dict[str, tuple[object, ...]] = {}
        self.by_hop = {i.hop: i for i in topology.interfaces} if topology else {}
        self.carried: dict[tuple[int, int], float] = {}
        self.unsure = 0
        self.without = 0

    def host(self, name: str, known: Host | None) -> int:
        """Number of a host."""
        if name not in self.hosts:
            self.nics.append(known.nic_bps if known else 0)
        return self.hosts.setdefault(name, len(self.hosts))

    def named(self, interface: Interface) -> int:
        """Number of a port that the topology knows."""
        name = f"{interface.device}:{interface.name}"
        edge = not interface.peer_interface
        return self.port(
            name, interface.device, interface.name, *interface.hop, interface.capacity_bps, edge
        )

    def port(self, name: str, *told: object) -> int:
        """Number of a port by its name."""
        self.ports.setdefault(name, (name, *told))
        return list(self.ports).index(name)

    def towards(self, host: str, bps: int = 0) -> int:
        """Number of the port that a host hangs on, of which only that is known."""
        return self.port(f"to {host}", "", f"to {host}", None, None, bps, True)

    def way(
        self,
        source: Host | None,
        target: Host | None,
        hops: list[tuple[int, int]],
        octets: float,
    ) -> list[int] | None:
        """Ports between hosts that the topology knows; None where it does not.

        `octets` is what the flow carries.
        """
        if self.topology is None or source is None or target is None:
            return None
        ways = between(self.topology, source, target)
        if not ways:
            return None
        matching = [way for way in ways if hops and set(hops) <= set(way)]
        if octets and len(ways) > 1 and len(matching) != 1:
            self.unsure += 1
        chosen = min(
            matching or ways,
            key=lambda way: max(self.carried.get(hop, 0.0) for hop in way[:-1] or way),
        )
        for hop in chosen:
            self.carried[hop] = self.carried.get(hop, 0.0) + octets
        return [self.named(self.by_hop[hop]) for hop in chosen[:MOST_HOPS]]

    def told(
        self, hops: list[tuple[int, int]], rates: list[int], source: str, target: str
    ) -> list[int]:
        """Ports that stacks name, or a way of the sender's own up to the receiver's port."""
        self.without += 1
        if hops and len(set(hops)) == len(rates):
            return [
                self.named(self.by_hop[hop]) if hop in self.by_hop
                else self.port(f"{hop[0]}:{hop[1]}", "", "", *hop, bps, place == len(rates) - 1)
                for place, (hop, bps) in enumerate(zip(hops, rates, strict=True))
            ]  # fmt: skip
        before = [
            self.port(f"hop {place} of {source}", "", f"hop {place}", None, None, bps, False)
            for place, bps in enumerate(rates[:-1])
        ]
        return [*before, self.towards(target, rates[-1] if rates else 0)]


def routes(seen: Sightings, topology: Topology | None) -> Routes:
    """The ways of all flows; see the module."""
    drawn = Map(topology)
    stacks = stacks_of(seen)
    rows = []
    octets = dict(seen.sends.group_by("flow").agg(pl.col("octets").sum()).iter_rows())
    for number, flow in enumerate(seen.flows.iter_rows(named=True)):
        known = [
            topology.host(flow[f"{end}_hi"], flow[f"{end}_lo"]) if topology else None
            for end in ("src", "dst")
        ]
        names = [
            host.name if host else address_text(flow, end)
            for host, end in zip(known, ("src", "dst"), strict=True)
        ]
        source, target = known
        hops, rates = stacks.get(number, ([], []))
        forward = drawn.way(source, target, hops, float(octets.get(number, 0)))
        back = drawn.way(target, source, [], 0.0)
        if forward is None or back is None:
            forward = drawn.told(hops, rates, *names)
            back = [drawn.towards(names[0])]
        ends = [drawn.host(name, host) for name, host in zip(names, known, strict=True)]
        rows.append((*ends, forward, back))
    lists = pl.List(pl.Int64)
    flows = pl.DataFrame(
        rows, schema={"src": pl.Int64, "dst": pl.Int64, "forward": lists, "back": lists},
        orient="row",
    )  # fmt: skip
    hosts = pl.DataFrame({"name": list(drawn.hosts), "nic_bps": drawn.nics},
                         schema={"name": pl.String, "nic_bps": pl.Int64})  # fmt: skip
    ports = pl.DataFrame(list(drawn.ports.values()), schema=PORT, orient="row")
    return Routes(hosts, ports, flows, notes(drawn))


def flows_of(count: int) -> str:
    """How many flows."""
    return f"{count:,} flow{'s' * (count != 1)}"


def notes(drawn: Map) -> tuple[str, ...]:
    """What was assumed of ways."""
    said = []
    if drawn.unsure:
        said.append(
            f"which of several equal ways {flows_of(drawn.unsure)} took is not in the frames:"
            " all are spread evenly"
        )
    if drawn.without:
        said.append(
            f"no topology knows the ways of {flows_of(drawn.without)}: a stack tells them, or each"
            " receiver's port is all that flows share"
        )
    return tuple(said)


def stacks_of(seen: Sightings) -> dict[int, tuple[list[tuple[int, int]], list[int]]]:
    """Ids and rates of the hops that the most stacks of each flow name; no ids: an empty list."""
    parts = [rows for rows in (seen.acks, seen.sends) if "hop_count" in rows.columns]
    found: dict[int, tuple[list[tuple[int, int]], list[int]]] = {}
    for rows in parts:
        told = rows.filter(pl.col("hop_count") > 0)
        wanted = [
            f"h{hop}_{name}" for hop in range(MOST_HOPS) for name in ("node", "port", "b_bps")
        ]
        told = told.with_columns(
            pl.lit(None, pl.Int64).alias(name) for name in wanted if name not in told.columns
        )
        common = (
            told.group_by("flow", "hop_count", *wanted)
            .len()
            .sort("flow", "len", descending=[False, True], maintain_order=True)
        )
        for row in common.unique("flow", keep="first", maintain_order=True).iter_rows(named=True):
            count = min(row["hop_count"], MOST_HOPS)
            ids = [(row[f"h{hop}_node"], row[f"h{hop}_port"]) for hop in range(count)]
            rates = [int(row[f"h{hop}_b_bps"] or 0) for hop in range(count)]
            whole = all(None not in hop for hop in ids)
            found.setdefault(row["flow"], (ids if whole else [], rates))
    return found
