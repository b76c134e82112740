"""Scenarios: small worlds with bottlenecks known from their scripts, for demo, tests and docs."""

from dataclasses import replace
from itertools import cycle

from replay.world import GBPS, MS, FlowScript, Phase, Telemetry, World

START = 0
"""Flows that play from the beginning."""
TOLD: tuple[Telemetry, ...] = ("int", "csig_compact", "csig_expanded", "aecn")
"""Telemetry that says more than a mark: what the demo's flows carry."""


def flows(role: str, pairs: str, *phases: Phase) -> tuple[FlowScript, ...]:
    """Flows of "src>dst" pairs with the same phases; their telemetry goes round `TOLD`."""
    return tuple(
        FlowScript(role, telemetry, src, dst, phases)
        for (src, dst), telemetry in zip(ends(pairs), cycle(TOLD), strict=False)
    )


def ends(pairs: str) -> list[tuple[str, str]]:
    """Senders and receivers of "src>dst" pairs."""
    return [(src, dst) for src, _, dst in (pair.partition(">") for pair in pairs.split())]


def demo(seed: int = 1, duration_ns: int = 200 * MS) -> World:
    """The demo: an incast, a core hot spot that moves at half time, flows that only senders limit.

    - *incast*: four hosts each of leaf2 (by spine1) and leaf4 (by spine2) send to leaf3-h1 all the
      time: its port on leaf3 is the bottleneck.
    - *moving*: four flows from leaf1 to leaf4 and four (*staying*) from leaf1 to leaf2 collide on
      leaf1's uplink to spine1. At half time the first four are hashed to spine2, where four new
      flows (*joining*) from leaf2 to leaf4 meet them: spine2's port to leaf4 is the bottleneck now.
      The other four then only send what their applications give.
    - *limited*: eight flows whose applications hold them at 0.25 to 0.39 Gb/s, on links far from
      full.
    """
    half = duration_ns // 2
    return World(
        seed=seed,
        duration_ns=duration_ns,
        flows=(
            *flows("incast", racks("leaf2", "leaf3-h1"), Phase(START, spine=1)),
            *flows("incast", racks("leaf4", "leaf3-h1"), Phase(START, spine=2)),
            *flows("moving", racks("leaf1", "leaf4"), Phase(START, spine=1), Phase(half, spine=2)),
            *flows("staying", racks("leaf1", "leaf2"), Phase(START), Phase(half, GBPS // 2)),
            *flows(
                "joining",
                "leaf2-h5>leaf4-h5 leaf2-h6>leaf4-h6 leaf2-h5>leaf4-h6 leaf2-h6>leaf4-h5",
                Phase(half, spine=2),
            ),
            *limited(
                "leaf3-h2>leaf1-h5 leaf3-h3>leaf1-h6 leaf4-h5>leaf1-h5 leaf4-h6>leaf1-h6 "
                "leaf4-h5>leaf2-h5 leaf4-h6>leaf2-h6 leaf4-h5>leaf2-h6 leaf4-h6>leaf2-h5"
            ),
        ),
    )


def racks(source: str, target: str) -> str:
    """Pairs of the first four hosts of a leaf with one host, or with those of another leaf."""
    one = "-h" in target
    return " ".join(
        f"{source}-h{host}>{target if one else f'{target}-h{host}'}" for host in range(1, 5)
    )


def limited(pairs: str) -> tuple[FlowScript, ...]:
    """Flows by spine1 whose applications offer 0.25 Gb/s and a little more each."""
    return tuple(
        replace(flow, phases=(Phase(START, GBPS * (25 + 2 * row) // 100),))
        for row, flow in enumerate(flows("limited", pairs))
    )


def alone(
    telemetry: Telemetry, senders: int = 2, duration_ns: int = 10 * MS, seed: int = 1
) -> World:
    """Greedy flows of one kind meet at leaf1-h1's port: what HPCC++ or DCTCP makes of a link alone.

    They come from all other leaves and by both spines, so that no link before is full.
    """
    return World(
        seed=seed,
        duration_ns=duration_ns,
        flows=tuple(
            FlowScript(
                "incast",
                telemetry,
                f"leaf{2 + row % 3}-h{1 + row // 3}",
                "leaf1-h1",
                (Phase(START, spine=1 + row % 2),),
            )
            for row in range(senders)
        ),
    )


def elephant(
    telemetry: Telemetry = "csig_compact", duration_ns: int = 10 * MS, seed: int = 1
) -> World:
    """One greedy DCTCP flow fills a last hop that is slower than its sender's."""
    return World(
        seed=seed,
        duration_ns=duration_ns,
        nic_bps={"leaf1-h1": 2 * GBPS},
        flows=(FlowScript("elephant", telemetry, "leaf2-h1", "leaf1-h1", (Phase(START),)),),
    )
