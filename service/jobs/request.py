"""The command line that a job stands for, and what of it is refused before it waits."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from service.endpoint import parse_duration, seconds_text
from service.failure import Failure
from service.jobs.wanted import Analyze, Asked, ClosedLoop, Kinds, Replay, Sweep, Traced, WhatIf
from service.problem import invalid

PLACES = ("pipeline.topology",)
"""Settings that name files of the machine, which is no guest's business."""
OPTION = re.compile(r"--(set|what-if|sweep|by|algorithm|flow|point|closed-loop|from|to)\b")
"""What the command line calls a field."""
TWO = {"flow": "src, dst"}
"""Fields of a job that are one option of the command line."""
POINTS = 500
"""Most points of one sweep."""
ASKED: TypeAdapter[Kinds] = TypeAdapter(Asked)


def checked(wanted: Kinds) -> None:
    """Refuse, by the same means as the command line, what it would refuse. Raises Problem."""
    from service.commands.replay import companion_of
    from service.run import settings_of

    for field in ("set_", "what_if", "sweep"):
        for text in getattr(wanted, field, ()):
            if text.partition("=")[0].strip() in PLACES:
                raise invalid(
                    {field.rstrip("_"): f"{text.partition('=')[0]}: the service's own holds"}
                )
    companion = companion_of(getattr(wanted, "algorithm", None))
    refused("set", lambda: settings_of(wanted.set_, companion))
    if isinstance(wanted, Analyze) and wanted.base_rtt is not None:
        try:
            parse_duration(wanted.base_rtt)
        except ValueError as error:
            raise invalid({"base_rtt": str(error)}) from None
    if isinstance(wanted, Sweep):
        if wanted.what_if:
            refused("what_if", lambda: changed(wanted, wanted.what_if))
        refused("sweep", lambda: swept(wanted))
    elif isinstance(wanted, WhatIf | ClosedLoop):
        refused("what_if", lambda: changed(wanted, wanted.what_if))


def refused(field: str, check: Callable[[], object]) -> None:
    """A refusal of the command line as one of the API: what it names first is the field, if any.

    Raises Problem.
    """
    try:
        check()
    except Failure as error:
        said = str(error)
        if named := OPTION.match(said):
            said = said[named.end() :].lstrip(": ")
            # A point of a sweep is tried as a change.
            field = field if named[1] == "what-if" else as_field(named)
        raise invalid({field: in_fields(said)}) from None


def in_fields(said: str) -> str:
    """What the command line says, with its options as the fields that they are here."""
    return OPTION.sub(as_field, said)


def as_field(option: re.Match[str]) -> str:
    """An option of the command line as the field that it is here."""
    return TWO.get(option[1], option[1].replace("-", "_"))


def swept(wanted: Sweep) -> None:
    """Refuse what is no grid; values of an axis are checked one by one. Raises Failure, Problem."""
    from service.axis import each_value, grid
    from service.commands import sweep, sweep_closed, sweep_open

    axes, points = grid(wanted.sweep, wanted.what_if)
    if len(points) > POINTS:
        raise invalid({"sweep": f"{len(points):,} points are more than {POINTS:,}; ask in parts"})
    form = sweep_closed if wanted.closed_loop else sweep_open
    sweep.check_measure(wanted.by, axes, form.MEASURES)
    for point in each_value(axes):
        changed(wanted, [*wanted.what_if, *point])


def changed(wanted: WhatIf | ClosedLoop | Sweep, what_if: Sequence[str]) -> None:
    """Refuse a change that the command line would. Raises Failure."""
    from service.commands import closed_loop
    from service.commands import what_if as fixed

    if isinstance(wanted, ClosedLoop) or (isinstance(wanted, Sweep) and wanted.closed_loop):
        closed_loop.change_of(what_if)
        return
    asked = fixed.Asked(wanted.set_, what_if, wanted.algorithm, wanted.flow, wanted.point)
    fixed.making_of(asked, None)


def analyze_request(asked: dict[str, Any], captures: Sequence[Path], dsn: str) -> Any:
    """The command line of an analysis."""
    from service.commands.analyze import Request

    wanted = Analyze.model_validate(asked)
    return Request(
        captures, json=True, store=dsn if wanted.store else None, dialect=wanted.dialect,
        base_rtt=wanted.base_rtt, assignments=wanted.set_, point=wanted.point,
    )  # fmt: skip


def replay_request(asked: dict[str, Any], captures: Sequence[Path], dsn: str, **more: Any) -> Any:
    """The command line of a replay, in whichever form."""
    from service.commands.replay import Request

    wanted = ASKED.validate_python(asked)
    told: dict[str, Any] = {}
    if isinstance(wanted, Traced):
        told["flow"] = wanted.flow
        if not captures:
            told |= {"store": dsn, "from_": text(wanted.from_), "to": text(wanted.to)}
            told["network"] = wanted.network
    if isinstance(wanted, Replay | WhatIf | Sweep):
        told["algorithm"] = wanted.algorithm
    if isinstance(wanted, WhatIf | ClosedLoop | Sweep):
        told["what_if"] = wanted.what_if
    if isinstance(wanted, Sweep):
        told |= {"sweep": wanted.sweep, "by": wanted.by}
    closed = isinstance(wanted, ClosedLoop) or getattr(wanted, "closed_loop", False)
    return Request(
        captures, assignments=wanted.set_, point=wanted.point, closed_loop=closed, **told, **more
    )  # fmt: skip


def words_of(asked: dict[str, Any]) -> list[str]:
    """What was asked of a replay as it is typed behind the captures."""
    wanted = Replay.model_validate(asked)
    single = {"--flow": wanted.flow, "--from": text(wanted.from_), "--to": text(wanted.to),
              "--algorithm": wanted.algorithm, "--point": wanted.point}  # fmt: skip
    single |= {f"--{name}": None if value is None else str(value)
               for name, value in wanted.network.items()}  # fmt: skip
    told = [word for name, value in single.items() if value for word in (name, value)]
    return told + [word for each in wanted.set_ for word in ("--set", each)]


def text(time_ns: int | None) -> str | None:
    """A time as the command line takes it."""
    return None if time_ns is None else seconds_text(time_ns)
