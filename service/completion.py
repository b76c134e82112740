"""Values that a shell completes behind options; what they are is asked for only then."""

import socket
from collections.abc import Iterator
from typing import get_args

Told = Iterator[str | tuple[str, str]]
"""Values, some with what they mean."""


def protocols() -> Told:
    """Behind `--proto`."""
    from pipeline import PROTOCOLS

    yield from PROTOCOLS


def interfaces() -> Told:
    """Behind `--interface`: those of this machine."""
    yield from (name for _, name in socket.if_nameindex())


def scopes() -> Told:
    """Behind `--scope`."""
    from service.access import SCOPES

    yield from SCOPES


def dialects() -> Told:
    """Behind `--dialect`."""
    from pipeline import PipelineSettings

    yield from get_args(PipelineSettings.model_fields["dctcp_dialect"].annotation)


def algorithms() -> Told:
    """Behind `--algorithm`."""
    from pipeline import COMPANIONS, SHOWN

    yield from (*SHOWN, *COMPANIONS)


def collector_settings() -> Told:
    """Behind the `--set` of a collector."""
    yield from settings_of("collector")


def assignments() -> Told:
    """Behind `--set` and `--what-if`: settings, and parameters of congestion control."""
    from pipeline import SHOWN
    from service.run import SECTIONS

    yield from settings_of(*SECTIONS)
    for algorithm, table in SHOWN.items():
        for row in table:
            yield f"{algorithm}.{row.name}=", row.doc


def settings_of(*sections: str) -> Told:
    """Settings of sections, as they are assigned."""
    from service.settings import rows

    for name, _, _, meaning in rows():
        if name.partition(".")[0] in sections:
            yield f"{name}=", meaning


def measures() -> Told:
    """Behind `--by`: of decisions, and of a closed loop."""
    from service.commands import sweep_closed, sweep_open

    yield from dict.fromkeys((*sweep_open.MEASURES, *sweep_closed.MEASURES))
