"""Parameters of congestion control that settings tell: they hold wherever decisions are made."""

from typing import Any

import pytest

from pipeline import SHOWN, Decider, PipelineSettings, parameter_table
from pipeline.companion_names import COMPANIONS

TOLD = PipelineSettings.model_validate({"parameters": {"hpcc": {"N": 4, "form": "rate"}}})


def test_a_decider_runs_with_what_settings_tell() -> None:
    own = Decider(TOLD).tracker.rules.hpcc[0]
    usual = Decider(PipelineSettings()).tracker.rules.hpcc[0]
    assert (int(own.N), int(own.form)) == (4, 1)
    assert (int(usual.N), int(usual.form)) == (100, 0)
    assert own.eta == usual.eta


def test_what_a_run_is_told_wins_name_by_name() -> None:
    own = Decider(TOLD, None, {"hpcc": {"N": 8}, "dctcp": {"g": 0.5}}).tracker.rules
    assert (int(own.hpcc[0].N), int(own.hpcc[0].form)) == (8, 1)
    assert float(own.dctcp[0].g) == 0.5
    assert TOLD.parameters == {"hpcc": {"N": 4, "form": "rate"}}


def test_companions_take_theirs() -> None:
    told = {"companions": ("swift",), "parameters": {"swift": {"base_target_ns": 77_000}}}
    made = Decider(PipelineSettings.model_validate(told)).tracker.companions["swift"]
    assert 77_000 in made.parameters[0][0].tolist()


def test_every_algorithm_has_a_table() -> None:
    for name in (*SHOWN, *COMPANIONS):
        assert parameter_table(name)
        assert PipelineSettings(parameters={name: {}}).parameters == {}


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"N": 4}, "N should be a table, as in { hpcc = { N = 4 } }"),
        ({"cubic": {"C": 1}}, "no algorithm is called 'cubic'; accepted are hpcc, dctcp, "),
        ({"hpcc": {"M": 4}}, "no parameter is called 'M'; accepted are eta, maxStage, "),
        ({"hpcc": {"N": 0}}, "N takes a whole number from 1 to 1e+09 flows, not 0"),
        ({"hpcc": {"N": True}}, "N takes a whole number from 1 to 1e+09 flows, not True"),
        ({"hpcc": {"N": [4]}}, r"N takes a whole number from 1 to 1e+09 flows, not [4]"),
        ({"hpcc": {"eta": float("nan")}}, "eta takes a number from 0.01 to 1, not nan"),
        ({"dctcp": {"counts": "packets"}}, "counts takes bytes or segments or whole_segments, "),
        ({"hpcc": {"T_ns": 9}}, "hpcc.T_ns is told by pipeline.base_rtt_us"),
        ({"hpcc": {"B_nic_bps": 9}}, "hpcc.B_nic_bps is told by pipeline.nic_gbps"),
        ({"dctcp": {"dialect": "ns3"}}, "dctcp.dialect is told by pipeline.dctcp_dialect"),
        ([4], "Input should be a valid dictionary"),
    ],
)
def test_what_is_not_accepted_is_named(told: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match="parameters") as refused:
        PipelineSettings.model_validate({"parameters": told})
    assert sentence in str(refused.value)
