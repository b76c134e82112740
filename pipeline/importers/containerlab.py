"""A containerlab topology (`*.clab.yml`, or the `topology-data.json` of a lab) as a draft.

Links are read in the brief form (`endpoints: ["a:e1", "b:e2"]`) and in the extended one. Speeds and
ids are in neither; addresses of hosts are those that their `exec` commands give them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.importers.draft import Draft, DraftDevice, DraftHost, End, single
from pipeline.stage import stage_of
from pipeline.topology_text import TopologyError, Tree, load

HOSTS = frozenset({"linux", "ext-container", "generic_vm", "vr-ubuntu", "k8s-kind", "ixia-c-one",
                   "keysight_ixia-c-one"})  # fmt: skip
"""Kinds that are end hosts, unless their name says that they are a stage of the fabric."""
SEGMENTS = frozenset({"bridge", "ovs-bridge"})
"""Kinds that join ports without being a device that telemetry names."""
OUTSIDE = frozenset({"host", "mgmt-net", "macvlan", "macvtap", "vxlan", "vxlan-stitch", "dummy"})
"""Ends of links that are no node."""
LABELS = ("stage", "tier", "role", "graph-group")
"""Labels of a node that may tell its stage."""
ADDRESS = re.compile(r"\bip\s+(?:-[46]\s+)?a(?:ddr(?:ess)?)?\s+(?:add|replace)\s+([^;&|'\"\n]+)")


def containerlab(text: str) -> Draft:
    """The draft of a topology's text. Raises TopologyError where it is none."""
    tree, _ = load(text)
    topology = tree.get("topology", tree)
    nodes = topology.get("nodes") if isinstance(topology, Mapping) else None
    if not isinstance(nodes, Mapping):
        raise TopologyError("no containerlab topology: it has no nodes")
    draft = Draft("a containerlab topology", version=str(tree.get("name", "1")))
    known = {str(name): settled(topology, node) for name, node in nodes.items()}
    for name, node in known.items():
        stage = stage_of(*told_stage(node)) or stage_of(name)
        if node.get("kind") in SEGMENTS:
            draft.warn(f"{name}: a {node['kind']} joins links, who is behind it is unknown")
        elif stage or node.get("kind") not in HOSTS:
            guessed = not stage_of(*told_stage(node))
            site = str(labels(node).get("site", ""))
            draft.devices[name] = DraftDevice(stage=stage, site=site, guessed=guessed)
    links = topology.get("links") or tree.get("links") or []
    if not isinstance(links, list):
        raise TopologyError("no containerlab topology: its links are no list")
    for row, link in enumerate(links):
        connect(draft, known, list(ends_of(link)), f"link {row + 1}")
    for name, node in known.items():
        linked = any(host == name or host.startswith(f"{name}-") for host in draft.hosts)
        if node.get("kind") in HOSTS and name not in draft.devices and not linked:
            draft.warn(f"{name}: no link leads from it to a device")
    return draft


def settled(topology: Tree, node: Any) -> dict[str, Any]:
    """A node with what its kind, its group and the defaults tell of it."""
    own = dict(node) if isinstance(node, Mapping) else {}
    made: dict[str, Any] = {}
    defaults = topology.get("defaults")
    group = str(own.get("group"))
    kind = own.get("kind") or part(topology, "groups", group).get("kind")
    kind = str(kind or part(topology, "defaults").get("kind") or "")
    for over in (defaults, part(topology, "kinds", kind), part(topology, "groups", group), own):
        if isinstance(over, Mapping):
            joined = {**labels(made), **labels(over)}
            made |= {**over, **({"labels": joined} if joined else {})}
    return made | {"kind": kind}


def part(tree: Tree, *path: str) -> Tree:
    """A mapping below others, empty where there is none."""
    for key in path:
        inner = tree.get(key)
        if not isinstance(inner, Mapping):
            return {}
        tree = inner
    return tree


def labels(node: Tree) -> dict[str, Any]:
    """The labels of a node."""
    told = node.get("labels")
    return dict(told) if isinstance(told, Mapping) else {}


def told_stage(node: Tree) -> list[Any]:
    """What a node itself says of its stage."""
    return [*(labels(node).get(label) for label in LABELS), node.get("group")]


def ends_of(link: Any) -> Iterator[End]:
    """The ends of a link in any of its forms."""
    if not isinstance(link, Mapping):
        return
    ends = link.get("endpoints", link)
    if isinstance(ends, Mapping):
        ends = [ends[side] for side in ("a", "z", "endpoint") if side in ends]
    for end in ends if isinstance(ends, list) else []:
        if isinstance(end, Mapping):
            yield str(end.get("node", "")), str(end.get("interface", ""))
        else:
            name, _, interface = str(end).partition(":")
            yield name, interface


def connect(draft: Draft, known: Mapping[str, Tree], ends: list[End], link: str) -> None:
    """Take up one link."""
    inner = [end for end in ends if end[0] in draft.devices]
    for end in inner:
        draft.port(end)
    if len(ends) != 2 or any(name in OUTSIDE for name, _ in ends):  # noqa: PLR2004 - a link has two
        for name, interface in inner:
            draft.warn(f"{name}:{interface} leads out of the lab")
        return
    one, other = ends
    for end in ends:
        if end[0] not in known:
            draft.warn(f"{link}: there is no node {end[0]}")
    for near, far in ((one, other), (other, one)):
        if near not in inner:
            continue
        if far in inner or far[0] not in known:
            draft.port(near).peer = far
        elif known[far[0]].get("kind") in HOSTS:
            prefixes = single(addresses(known[far[0]], far[1]))
            draft.host(far[0], far[1], DraftHost(near, prefixes))


def addresses(node: Tree, interface: str) -> Iterator[str]:
    """Addresses that the commands of a node give to an interface."""
    commands = node.get("exec")
    for command in commands if isinstance(commands, list) else []:
        for given in ADDRESS.findall(str(command)):
            words = given.split()
            device = words[words.index("dev") + 1] if "dev" in words[:-1] else interface
            if device == interface:
                yield from (word for word in words if "/" in word)
