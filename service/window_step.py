"""The step by which windows of HPCC++ grow: whether it is told, and what is said if it is not."""

from collections.abc import Collection, Iterator, Mapping

from pipeline import Value, parameter_table

STEPPED = {"hpcc", "hpcc_aecn", "hpcc_csig", "hpcc_latency", "hpcc_probe", "hpcc_reported"}
"""Algorithms whose W grows by that step."""
Parameters = Mapping[str, Mapping[str, Value]]
Run = tuple[Collection[str], Parameters]
"""Algorithms that ran, and what their parameters were told to be."""


def step_known(parameters: Parameters) -> bool:
    """Whether the step of W is told, for which there is no usual one: by N or itself.

    One of 0 is derived from N; that of the rate holds in that form alone.
    """
    told = parameters.get("hpcc", {})
    by_rate = told.get("form") == "rate" and told.get("R_ai_bps")
    return bool("N" in told or told.get("W_ai") or by_rate)


def step_assumed(ran: Collection[str], parameters: Parameters, whose: str = "") -> Iterator[str]:
    """That windows of HPCC++ hold for the usual N, where none of `parameters` tells the step.

    The states are those of the pseudo-code, so that they are exact for that N; a sender's own
    may be far from it.
    """
    if step_known(parameters) or STEPPED.isdisjoint(ran):
        return
    usual = next(row.default for row in parameter_table("hpcc") if row.name == "N")
    yield (
        f"W and R of HPCC++{whose} hold for N = {usual}, which is only the default: tell the N of"
        " its senders as hpcc.N (--set N=4; of the API, set=N=4; in settings, pipeline.parameters)"
    )


def steps_assumed(base: Run, changed: Run) -> Iterator[str]:
    """The same of a run and of one under a change, which may be what tells the step."""
    alone = " without the change" if step_known(changed[1]) else ""
    both = [*step_assumed(*base, alone), *step_assumed(*changed)]
    yield from dict.fromkeys(both)
