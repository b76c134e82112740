"""What a shell is told when somebody presses Tab behind an option."""

import socket
from typing import Any

import pytest

from service import completion


def told(hopsight: Any, *words: str) -> list[str]:
    """What bash is told behind words, the last of which is not complete."""
    asked = {
        "_HOPSIGHT_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("hopsight", *words)),
        "COMP_CWORD": str(len(words)),
    }
    hopsight.environment.update(asked)
    try:
        ran = hopsight.run()
    finally:
        for name in asked:
            del hopsight.environment[name]
    assert ran.stderr == ""
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("wh",), ["where"]),
        (("analyze", "--dialect", "linux"), ["linux", "linux_before"]),
        (("collect", "--set", "collector.ring"),
         ["collector.ring_directory=", "collector.ring_mib="]),
    ],
)  # fmt: skip
def test_tab_tells_what_is_accepted(
    hopsight: Any, words: tuple[str, ...], values: list[str]
) -> None:
    assert told(hopsight, *words) == values


def test_each_option_tells_its_own() -> None:
    names = {value if isinstance(value, str) else value[0] for value in completion.assignments()}
    assert names >= {"pipeline.base_rtt_us=", "collector.int_dscp=", "dctcp.g=", "hpcc.eta="}
    assert not any(name.startswith(("store.", "service.")) for name in names)
    assert {*completion.algorithms()} >= {"hpcc", "dctcp"}
    assert [*completion.scopes()] == ["read", "operate", "admin"]
    assert {*completion.protocols()} >= {"tcp", "udp"}
    assert {*completion.measures()} >= {"change_mean", "fct_mean_ns"}
    assert [*completion.interfaces()] == [name for _, name in socket.if_nameindex()]
