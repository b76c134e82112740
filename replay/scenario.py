"""Scenarios: small worlds whose bottleneck is known from their script, for the demo, the tests and the docs."""

from itertools import cycle

from replay.world import GBPS, MS, TELEMETRY, FlowScript, Phase, World

START = 1 * MS
"""Flows of the first hour start here, so that every interval has a beginning."""


def greedy(role: str, pairs: str, *phases: Phase) -> tuple[FlowScript, ...]:
    """Flows of "src>dst" pairs with the same phases; their telemetry goes round through all kinds."""
    return tuple(
        FlowScript(role, telemetry, *pair.split(">"), phases)
        for pair, telemetry in zip(pairs.split(), cycle(TELEMETRY), strict=False)
    )


def demo(seed: int = 1, duration_ns: int = 200 * MS) -> World:
    """The demo: an incast, a core hot spot that moves at half time, and flows that only their senders limit.

    - *incast*: four hosts each of leaf2 (by spine1) and leaf4 (by spine2) send to leaf3-h1 all the time: its
      port on leaf3 is the bottleneck.
    - *moving*: four flows from leaf1 to leaf4 and four (*staying*) from leaf1 to leaf2 collide on
      leaf1's uplink to spine1. At half time the first four are hashed to spine2, where four new flows
      (*joining*) from leaf2 to leaf4 meet them: spine2's port to leaf4 is the bottleneck now. The other four
      then only send what their application gives.
    - *limited*: eight flows from leaf3 to leaf1 that their applications hold at 0.3 to 0.65 Gb/s.
    """
    half = duration_ns // 2
    incast = " ".join(
        f"{rack}-h{host}>leaf3-h1" for rack in ("leaf2", "leaf4") for host in range(1, 5)
    )
    by_rack = {"leaf2": 1, "leaf4": 2}
    moving = " ".join(f"leaf1-h{host}>leaf4-h{host}" for host in range(1, 5))
    staying = " ".join(f"leaf1-h{host}>leaf2-h{host}" for host in range(1, 5))
    joining = "leaf2-h5>leaf4-h5 leaf2-h6>leaf4-h6 leaf2-h5>leaf4-h6 leaf2-h6>leaf4-h5"
    limited = [
        FlowScript(
            "limited", telemetry, f"leaf3-h{2 + row % 4}", f"leaf1-h{1 + row % 6}",
            (Phase(START, int((0.3 + 0.05 * row) * GBPS), spine=1 + row % 2),),
        )
        for row, telemetry in zip(range(8), cycle(TELEMETRY), strict=False)
    ]  # fmt: skip
    return World(
        seed=seed,
        duration_ns=duration_ns,
        flows=(
            *(
                flow
                for rack, spine in by_rack.items()
                for flow in greedy(
                    "incast",
                    " ".join(pair for pair in incast.split() if pair.startswith(rack)),
                    Phase(START, spine=spine),
                )
            ),
            *greedy("moving", moving, Phase(START, spine=1), Phase(half, spine=2)),
            *greedy("staying", staying, Phase(START, spine=1), Phase(half, GBPS // 2, spine=1)),
            *greedy("joining", joining, Phase(half, spine=2)),
            *limited,
        ),
    )
