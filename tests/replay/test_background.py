"""Flows with marks alone, flows with nothing, bursts, and ports that break the rules of CSIG."""

import pytest

from collector import CollectorSettings, Decoder
from replay import FlowScript, Phase, Run, World, frames_of, points, simulate, truth_of
from replay.state import DATA
from replay.world import GBPS, MS, Telemetry


def run(settings: CollectorSettings, *kinds: Telemetry, **changes: object) -> Run:
    """Two greedy flows of each kind meet at leaf1-h1."""
    flows = tuple(
        FlowScript("flow", kind, f"leaf{2 + row}-h{1 + at}", "leaf1-h1", (Phase(0),))
        for at, kind in enumerate(kinds)
        for row in range(2)
    )
    return simulate(World(flows, 3 * MS, **changes), settings)  # type: ignore[arg-type]


def test_a_flow_with_marks_alone_shows_nothing_else(settings: CollectorSettings) -> None:
    made = run(settings, "ecn")
    rows = Decoder(settings).decode(frames_of(made, settings), points(made.world), "fabric")
    data = rows.filter(rows["payload_bytes"] > 0)
    assert set(data["ecn"]) == {2, 3}
    assert data["hop_count"].max() == 0
    assert not [name for name in data.columns if name.startswith(("csig", "aecn"))]
    assert (made.decisions["alpha"] < 1).any()


def test_a_flow_with_nothing_is_never_marked(settings: CollectorSettings) -> None:
    made = run(settings, "none")
    rows = Decoder(settings).decode(frames_of(made, settings), points(made.world), "fabric")
    assert set(rows.filter(rows["payload_bytes"] > 0)["ecn"]) == {0}
    assert made.packets["ce"].max() == 0
    assert truth_of(made, MS).verdicts["congested"].any()


def test_bursts_are_no_change_of_the_script(settings: CollectorSettings) -> None:
    phases = (Phase(0), Phase(MS + MS // 2, GBPS))
    scored = [
        truth_of(simulate(World((flow,), 3 * MS), settings), MS).verdicts["scored"].to_list()
        for steady in (True, False)
        for flow in (FlowScript("flow", "int", "leaf2-h1", "leaf1-h1", phases, steady),)
    ]
    assert scored == [[True, False, True], [True, True, True]]


def test_a_port_that_passes_tags_through_names_itself_never(settings: CollectorSettings) -> None:
    found = []
    for rogues in ({}, {"leaf1:Ethernet1": "pass_through"}):
        made = run(settings, "csig_expanded", rogues=rogues)
        data = made.packets[(made.packets["kind"] == DATA) & (made.packets["last_ns"] > 0)]
        found.append(set(data["csig_lm"].tolist()))
    last = 1 << 8 | 1
    assert last in found[0]
    assert last not in found[1]


@pytest.mark.parametrize(
    "rogues", [{"leaf9:Ethernet1": "pass_through"}, {"leaf1:Ethernet1": "rude"}]
)
def test_a_rogue_that_cannot_be_is_said(
    settings: CollectorSettings, rogues: dict[str, str]
) -> None:
    with pytest.raises(ValueError, match=r"leaf9:Ethernet1|no class rude; there are honest"):
        run(settings, "csig_expanded", rogues=rogues)
