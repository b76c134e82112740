"""What may be asked of a job: one model a kind, each refused in a sentence what does not fit."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_serializer, model_validator

from pipeline import NETWORK, Dialect
from service.endpoint import MAX_NS, Endpoint, seconds_text
from service.form import ID
from service.problem import about
from service.routes.parameter import Algorithm, End, Name, Time, Vni, Written, written

CaptureId = Annotated[str, Field(pattern=ID, description="A capture that was brought.")]
Told = Annotated[
    list[Name],
    Field(
        max_length=32,
        description="As `--set` of the command line: NAME=VALUE of congestion control,"
        " collector.NAME=VALUE or pipeline.NAME=VALUE.",
    ),
]
Changes = Annotated[
    list[Name],
    Field(
        max_length=32,
        description="As `--what-if` of the command line: NAME=VALUE, algorithm=NAME, or with the"
        " loop closed fabric.NAME=VALUE.",
    ),
]


WRITTEN_END = written("is a text such as 10.0.1.2:40001")


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
    dialect: Literal["auto", Dialect] | None = Field(
        None, description="DCTCP as whom it is taken to be."
    )
    base_rtt: Name | None = Field(None, description="Base round trip time T, such as 10us.")


class Traced(Wanted):
    """What reads a capture, or a flow of the store."""

    capture: CaptureId | None = Field(None, description="A capture; none: a flow of the store.")
    src: Annotated[End | None, WRITTEN_END] = None
    dst: Annotated[End | None, WRITTEN_END] = None
    from_: Annotated[Time | None, Written] = Field(
        None, alias="from", description="Of the store: since when."
    )
    to: Annotated[Time | None, Written] = Field(None, description="Of the store: until when.")
    tenant: Name | None = Field(None, description="Of the store: whose flow; none: anybody's.")
    vrf: Name | None = Field(None, description="Of the store: its routing instance.")
    vni: Vni | None = Field(None, description="Of the store: identifier of its tunnel's network.")

    @model_validator(mode="after")
    def whole(self) -> "Traced":
        """Refuse half a flow, no source, and what does not belong together."""
        if (self.src is None) != (self.dst is None):
            raise about("src" if self.src is None else "dst", "src and dst name a flow together")
        if self.capture is None and self.src is None:
            raise about("capture", "is required, or src and dst of a flow of the store")
        given = [name for name, value in self.network.items() if value is not None]
        if self.capture is not None and given:
            raise about(given[0], "is of the store, not of a capture")
        if any(each is not None and not 0 <= each <= MAX_NS for each in (self.from_, self.to)):
            raise about("from", "from and to are times from 1970 on")
        timed = self.from_ is not None or self.to is not None
        if self.capture is not None and timed:
            raise about("from", "from and to are of the store, not of a capture")
        if self.from_ is not None and self.to is not None and self.to <= self.from_:
            raise about("to", "is not after from")
        return self

    @field_serializer("src", "dst", "from_", "to", when_used="json-unless-none")
    def written(self, value: Endpoint | int) -> str:
        """An end or a time as it can be asked for, to be kept."""
        return seconds_text(value) if isinstance(value, int) else str(value)

    @property
    def flow(self) -> str | None:
        """The flow as the command line has it."""
        return f"{self.src} {self.dst}" if self.src else None

    @property
    def network(self) -> dict[str, str | int | None]:
        """What tells it from others of the store with its ends; None of what may be any."""
        return {name: getattr(self, name) for name in NETWORK}


class Replay(Traced):
    """What congestion control decided at each ACK."""

    kind: Literal["replay"]
    algorithm: Algorithm | None = Field(
        None, description="What is run; default: what the packets show."
    )


class WhatIf(Traced):
    """Where decisions part under other parameters or another algorithm, the signals held fixed."""

    kind: Literal["what_if"]
    what_if: Changes = Field(min_length=1)
    algorithm: Algorithm | None = None


class ClosedLoop(Wanted):
    """The fabric of the frames rebuilt and played: how well it repeats them, and with a change."""

    kind: Literal["closed_loop"]
    capture: CaptureId
    what_if: Changes = Field(default_factory=list)


class Sweep(Traced):
    """Every point of a grid of parameters, on fixed signals or with the loop closed."""

    kind: Literal["sweep"]
    sweep: list[Name] = Field(
        min_length=1, max_length=8, description="Axes: NAME=A,B,C or NAME=LOW..HIGH:COUNT."
    )
    what_if: Changes = Field(default_factory=list)
    closed_loop: bool = False
    by: Name | None = Field(None, description="Measure that ranks the rows.")
    algorithm: Algorithm | None = None

    @model_validator(mode="after")
    def of_one_form(self) -> "Sweep":
        """Refuse what a closed loop cannot be told."""
        if self.closed_loop and (self.algorithm is not None or self.flow is not None):
            field = "src" if self.algorithm is None else "algorithm"
            raise about(field, "algorithm, src and dst are of decisions, not of a closed loop")
        return self


class Conform(Traced):
    """Do senders and receivers do what their congestion control asks of them."""

    kind: Literal["conform"]


Kinds = Analyze | Replay | WhatIf | ClosedLoop | Sweep | Conform
Asked = Annotated[Kinds, Field(discriminator="kind")]
