"""What may be asked of a job, and the command line that it stands for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from pipeline import COMPANIONS
from service.endpoint import MAX_NS, parse_duration
from service.failure import Failure
from service.jobs.kept import ID
from service.problem import invalid
from service.routes.parameter import End, Name, Time

CaptureId = Annotated[str, Field(pattern=ID, description="A capture that was brought.")]
Told = Annotated[
    list[Name],
    Field(
        max_length=32,
        description="As `--set` of the command line: NAME=VALUE of congestion control,"
        " collector.NAME=VALUE or pipeline.NAME=VALUE.",
    ),
]
Algorithm = Literal["hpcc", "dctcp", *COMPANIONS]  # type: ignore[valid-type] # names of a table
PLACES = ("pipeline.topology",)
"""Settings that name files of the machine, which is no guest's business."""


class Wanted(BaseModel):
    """What every job may be told."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    point: Name | None = Field(None, description="Observation point of a capture that names none.")
    set_: Told = Field(default_factory=list, alias="set")


class Analyze(Wanted):
    """Where each flow of a capture is bottlenecked."""

    kind: Literal["analyze"]
    capture: CaptureId
    store: bool | None = Field(
        None, description="Keep what was found in the store too; none: where all tenants are seen."
    )
    dialect: Literal["rfc8257", "ns3", "linux", "linux_before"] | None = Field(
        None, description="DCTCP as whom it is taken to be."
    )
    base_rtt: Name | None = Field(None, description="Base round trip time T, such as 10us.")


class Replay(Wanted):
    """What congestion control decided at each ACK of a capture, or of a flow of the store."""

    kind: Literal["replay"]
    capture: CaptureId | None = Field(None, description="A capture; none: a flow of the store.")
    src: End | None = None
    dst: End | None = None
    from_: Time | None = Field(None, alias="from", description="Of the store: since when.")
    to: Time | None = Field(None, description="Of the store: until when.")
    algorithm: Algorithm | None = Field(
        None, description="What is run; default: what the packets show."
    )

    @field_validator("src", "dst", mode="before")
    @classmethod
    def written(cls, given: Any) -> Any:
        """Refuse an end that is no text."""
        if given is not None and not isinstance(given, str):
            raise ValueError("is a text such as 10.0.1.2:40001")
        return given

    @model_validator(mode="after")
    def whole(self) -> "Replay":
        """Refuse half a flow, no source, and what does not belong together."""
        if (self.src is None) != (self.dst is None):
            raise ValueError("src and dst name a flow together")
        if self.capture is None and self.src is None:
            raise ValueError("capture, or src and dst of a flow of the store, is required")
        if any(each is not None and not 0 <= each <= MAX_NS for each in (self.from_, self.to)):
            raise ValueError("from and to are times from 1970 on")
        timed = self.from_ is not None or self.to is not None
        if self.capture is not None and timed:
            raise ValueError("from and to are of the store, not of a capture")
        if self.from_ is not None and self.to is not None and self.to <= self.from_:
            raise ValueError("to is not after from")
        return self

    @property
    def flow(self) -> str | None:
        """The flow as the command line has it."""
        return f"{self.src} {self.dst}" if self.src else None


Asked = Annotated[Analyze | Replay, Field(discriminator="kind")]


def checked(wanted: Analyze | Replay) -> None:
    """Refuse, by the same means as the command line, what it would refuse. Raises Problem."""
    from service.commands.replay import companion_of
    from service.run import settings_of

    for text in wanted.set_:
        if text.partition("=")[0].strip() in PLACES:
            raise invalid({"set": f"{text.partition('=')[0]}: the service's own holds"})
    companion = companion_of(wanted.algorithm) if isinstance(wanted, Replay) else None
    try:
        settings_of(wanted.set_, companion)
    except Failure as error:
        said = str(error).removeprefix("--set").lstrip(": ")
        raise invalid({"set": said}) from None
    if isinstance(wanted, Analyze) and wanted.base_rtt is not None:
        try:
            parse_duration(wanted.base_rtt)
        except ValueError as error:
            raise invalid({"base_rtt": str(error)}) from None


def analyze_request(asked: dict[str, Any], captures: Sequence[Path], dsn: str) -> Any:
    """The command line of an analysis."""
    from service.commands.analyze import Request

    wanted = Analyze.model_validate(asked)
    return Request(
        captures, json=True, store=dsn if wanted.store else None, dialect=wanted.dialect,
        base_rtt=wanted.base_rtt, assignments=wanted.set_, point=wanted.point,
    )  # fmt: skip


def replay_request(asked: dict[str, Any], captures: Sequence[Path], dsn: str, **more: Any) -> Any:
    """The command line of a replay."""
    from service.commands.replay import Request

    wanted = Replay.model_validate(asked)
    told: dict[str, Any] = {} if captures else {
        "store": dsn, "from_": text(wanted.from_), "to": text(wanted.to)
    }  # fmt: skip
    return Request(
        captures, flow=wanted.flow, algorithm=wanted.algorithm, assignments=wanted.set_,
        point=wanted.point, **told, **more,
    )  # fmt: skip


def text(time_ns: int | None) -> str | None:
    """A time as the command line takes it."""
    return None if time_ns is None else f"{time_ns // 10**9}.{time_ns % 10**9:09d}"
