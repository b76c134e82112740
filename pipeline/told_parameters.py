"""Parameters of the recurrences as they are told: values by name, by algorithm."""

from collections.abc import Mapping
from typing import Any

from pipeline.cc import dialect, hpcc_table
from pipeline.cc.parameter import Parameter, Value, known
from pipeline.companion_names import COMPANIONS
from pipeline.companions import companion_table

SHOWN = {"hpcc": hpcc_table.TABLE, "dctcp": dialect.TABLE}
"""Parameters of the algorithms that packets show; companions bring their own."""
ELSEWHERE = {
    ("hpcc", "T_ns"): "base_rtt_us",
    ("hpcc", "B_nic_bps"): "nic_gbps",
    ("dctcp", "dialect"): "dctcp_dialect",
}
"""Parameters for which there are settings of their own: told twice, only one would hold."""


def parameter_table(algorithm: str) -> tuple[Parameter, ...]:
    """The parameters of an algorithm. Raises ValueError for one that there is not."""
    if algorithm in SHOWN:
        return SHOWN[algorithm]
    if algorithm not in COMPANIONS:
        names = ", ".join((*SHOWN, *COMPANIONS))
        raise ValueError(f"no algorithm is called {algorithm!r}; accepted are {names}")
    return companion_table(algorithm)


def checked(told: Mapping[str, Any]) -> dict[str, dict[str, Value]]:
    """What settings tell, as numbers and choices. Raises ValueError for what is not accepted."""
    if loose := [name for name, values in told.items() if not isinstance(values, Mapping)]:
        raise ValueError(f"{loose[0]} should be a table, as in {{ hpcc = {{ N = 4 }} }}")
    made: dict[str, dict[str, Value]] = {}
    for algorithm, values in told.items():
        rows = {row.name: row for row in parameter_table(algorithm)}
        for name, value in known(rows.values(), values).items():
            if own := ELSEWHERE.get((algorithm, name)):
                raise ValueError(f"{algorithm}.{name} is told by pipeline.{own}")
            number = rows[name].number(value)  # a choice stays the word that it is
            made.setdefault(algorithm, {})[name] = value if rows[name].choices else number
    return made
