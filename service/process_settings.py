"""Settings of a process, whichever command it runs: what it tells of itself."""

from typing import Literal

from pydantic import Field

from service.form import URL
from service.section import Section


class ProcessSettings(Section):
    """Counters and logs of long-running commands."""

    metrics: str | None = Field(
        None,
        description="HOST:PORT at which `collect` and `pipeline` tell their counters to Prometheus;"
        " none: they do not. `serve` and `up` tell theirs at /metrics.",
    )
    traces: str | None = Field(
        None,
        pattern=URL,
        description="Where `serve` and `up` send traces of requests and questions to the store"
        " (OTLP over HTTP), such as http://127.0.0.1:4318/v1/traces; none: nowhere.",
    )
    log: Literal["text", "json"] = Field(
        "text", description="Form of log lines: text, or json for programs."
    )
