"""Checks of what a topology tells of CSIG: which ports a locator cannot tell apart."""

from collections.abc import Iterator
from itertools import combinations, islice, product
from typing import Literal

from pipeline.csig_profile import SIGNALS, TTL, VARIANT_NAMES, VARIANTS, Csig
from pipeline.interface import Interface
from pipeline.link_check import place_of
from pipeline.locator_table import TOLD, known_of
from pipeline.topology import Topology, distances

Told = tuple[Literal["inconsistent", "unknown"], str, str]
BITS = {"compact": 7, "expanded": 16}
LOCATOR = ["variant", "t", "lm", "node", "port"]
MOST_PAIRS = 20_000
"""Pairs of ports with one locator that are looked at for a common way."""


def csig(topology: Topology) -> Iterator[Told]:
    """Devices of whose part in CSIG nothing is told, and locators that tags cannot hold."""
    if all(device.csig is None for device in topology.devices):
        told = topology.locators.height
        if not told:
            yield "unknown", "csig", "nothing is told of CSIG"
            return
    for device in topology.devices:
        if device.csig is None:
            yield "unknown", f"devices.{device.name}", "its part in CSIG is not told"
        elif device.csig.updates:
            yield from untold(device.name, device.csig)
    for port in topology.interfaces:
        profile = topology.device_by_name[port.device].csig
        bits = BITS["compact"] - (profile is not None and profile.layout == "uec")
        if port.csig_lm_compact is not None and port.csig_lm_compact >= 1 << bits:
            said = f"compact tags have {bits} bits for it"
            yield "inconsistent", place_of(port, "csig_lm_compact"), said


def unfit(topology: Topology) -> Iterator[Told]:
    """Ports without a locator, since their ids do not fit its bits or a class has no number."""
    met: set[tuple[str, str]] = set()
    for port in topology.interfaces:
        profile = topology.device_by_name[port.device].csig
        if profile is None:
            continue
        known = known_of(port)
        for variant, kind in product(VARIANTS, range(len(SIGNALS))):
            if not profile.updated(kind) or getattr(port, TOLD[variant]) is not None:
                continue
            for name, bits in profile.parts(kind, variant):
                place = f"devices.{port.device}.node" if name == "device" else place_of(port, name)
                value = profile.number(name, known)
                level: Literal["inconsistent", "unknown"] = "inconsistent"
                if name == TTL or (value is not None and 0 <= value < 1 << bits):
                    continue
                if value is None:
                    level, said = "unknown", f"its {name} has no number in codes"
                else:
                    said = f"{value} does not fit the {bits} bits of {variant} locators"
                if (place, said) not in met:
                    met.add((place, said))
                    yield level, place, f"{said}: locators do not name it"


def untold(device: str, profile: Csig) -> Iterator[Told]:
    """Signals of a device whose values have no meaning."""
    for signal in profile.signals:
        if signal.supported and not signal.buckets and signal.quantum is None:
            said = f"{signal.name}: neither buckets nor a quantum are told, nor that it has none"
            yield "unknown", f"devices.{device}", said


def shared_locators(topology: Topology) -> Iterator[Told]:
    """Locators that two ports of one way share, and those that senders write themselves."""
    named = {port.hop: port for port in topology.interfaces}
    groups: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    for *key, node, port in topology.locators.select(LOCATOR).iter_rows():
        groups.setdefault((key[0], key[1], key[2]), []).append((node, port))
    # Signals of one layout have the same groups.
    alike = {(variant, lm, tuple(hops)) for (variant, _, lm), hops in groups.items()}
    left = MOST_PAIRS
    looked: set[tuple[int, tuple[tuple[int, int], ...]]] = set()
    met: set[tuple[int, str]] = set()
    for variant, lm, hops in sorted(alike):
        members = [named[hop] for hop in hops]
        for port in members:
            if lm in written(topology, variant, port) and (variant, place_of(port)) not in met:
                met.add((variant, place_of(port)))
                said = f"{VARIANT_NAMES[variant]} locator {lm} is what senders write"
                yield "inconsistent", place_of(port), said
        if (variant, hops) in looked:
            continue  # with another time to live
        looked.add((variant, hops))
        for a, b in islice(combinations(members, 2), max(left, 0)):
            left -= 1
            if crosses(topology, a, b) or crosses(topology, b, a):
                what = f"{VARIANT_NAMES[variant]} locator {lm}"
                said = f"{what} is {a.device}:{a.name}'s too, on one way"
                yield "inconsistent", place_of(b), said
    if left <= 0:
        said = f"more than {MOST_PAIRS} pairs of ports share locators: the rest was not looked at"
        yield "unknown", "csig", said


def written(topology: Topology, variant: int, port: Interface) -> set[int | None]:
    """Locators that senders write, by a port's device: no hop can be told by them."""
    profile = topology.device_by_name[port.device].csig
    signals = profile.signals if profile else ()
    return {getattr(signal, VARIANT_NAMES[variant]).default_lm for signal in signals}


def crosses(topology: Topology, first: Interface, last: Interface) -> bool:
    """Whether a shortest way between two hosts crosses one port and later the other."""
    between = distances(topology, last.device)
    if not first.peer_interface or first.peer_device not in between:
        return False
    links = 1 + between[first.peer_device]
    here = distances(topology, first.device)
    ends = dict.fromkeys(host.device for host in topology.hosts)
    for target in ends:
        far = distances(topology, target)
        if last.peer_interface:
            rest = 1 + far[last.peer_device] if last.peer_device in far else None
        else:
            rest = 0 if last.device == target else None
        # First the way on from here must be a shortest one, then some host's lead here.
        if rest is None or links + rest != far.get(first.device):
            continue
        if any(far.get(source) == here[source] + links + rest for source in ends if source in here):
            return True
    return False
