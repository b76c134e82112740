"""Settings of the pipeline: how time is cut, what counts as congested, how senders are read."""

from collections.abc import Mapping
from ipaddress import ip_network
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, field_validator

from pipeline.companion_names import COMPANIONS
from pipeline.lengths import lengths_ns
from pipeline.unit import DAY, MICROSECOND, MILLISECOND

MOST_US = 1e9
MOST_LATE_MS = 60_000.0
DAY_MS = DAY / MILLISECOND
"""Flows that were silent for longer are forgotten."""


def _prefix(text: str) -> str:
    """An address prefix as it is written for short."""
    try:
        return str(ip_network(text))
    except ValueError as error:
        raise ValueError(f"no address prefix: {error}") from None


def _lengths(told: Any) -> float | tuple[float, ...]:
    """One length or several, as they are told."""
    several = isinstance(told, list | tuple)
    named = list(told) if several else [told]
    if any(isinstance(each, bool) or not isinstance(each, int | float) for each in named):
        raise ValueError("should be a number of ms, or a list such as [100, 1000]")
    lengths_ns(named)
    return tuple(map(float, named)) if several else float(told)


Prefix = Annotated[str, AfterValidator(_prefix)]
Lengths = Annotated[float | tuple[float, ...], PlainValidator(_lengths)]
Told = dict[str, float | int | str]
"""Values of parameters by their names."""
Dialect = Literal["rfc8257", "linux", "linux_before", "ns3", "classic"]


class PipelineSettings(BaseModel):
    """What the documents leave to the operator; see the reference page of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    interval_ms: Lengths = Field(
        (100.0, 1000.0),
        description="Lengths of verdicts' intervals, ms, up to a minute: one or several, each a "
        "whole multiple of the next shorter one. Verdicts are made at all of them at once; sums "
        "are kept of the shortest.",
    )
    lateness_ms: float = Field(
        1000.0,
        ge=0,
        le=MOST_LATE_MS,
        description="Time for which an interval that has ended is judged anew when late frames "
        "change it, ms; 0: late frames are counted and judged by themselves.",
    )
    disorder_us: float = Field(
        1000.0,
        ge=0,
        le=MOST_US,
        description="Disorder between frames that is put right before state is kept, us.",
    )
    idle_ms: float = Field(
        10_000.0,
        ge=0,
        le=DAY_MS,
        description="Silence after which a live source no longer holds back the others, ms.",
    )
    copies_us: float = Field(
        1000.0,
        ge=0,
        le=MOST_US,
        description="Time in which a frame seen again at one point is a mirror's copy, and in which"
        " other points see the same packet, us; larger where paths take longer. 0: off.",
    )
    base_rtt_us: float | None = Field(
        None,
        ge=0.001,
        le=MOST_US,
        description="HPCC++ T, us; none: the topology's, else the handshake's round trip, and 10 us"
        " for signals that need one.",
    )
    nic_gbps: float | None = Field(
        None,
        gt=0,
        le=1e6,
        description="Line rate of senders, Gbit/s; none: the topology's, else unknown.",
    )
    congested_u: float = Field(
        1.0, gt=0, description="Mean hop load u' above which a hop counts as congested."
    )
    sampling: float | None = Field(
        None,
        ge=1,
        le=1e9,
        description="Of how many frames mirrors pass one on, where frames do not say so; none: not"
        " known.",
    )
    standing_queue: float = Field(
        1.0,
        gt=0,
        description="Queue that counts as standing, in what the port sends in one base RTT.",
    )
    standing_bytes: int | None = Field(
        None,
        ge=0,
        description="Queue that counts as standing, bytes, such as the threshold from which ports"
        " mark; none: by standing_queue.",
    )
    dctcp_dialect: Literal["auto", Dialect] = Field(
        "auto",
        description="How DCTCP senders close windows; auto: by the handshake, else linux. classic:"
        " no DCTCP, but classic ECN, whose alpha is not claimed.",
    )
    dctcp_dialects: dict[Prefix, Dialect] = Field(
        {}, description="Dialects of senders by address prefix; the longest prefix holds."
    )
    near: tuple[Prefix, ...] = Field(
        (),
        description="Prefixes of hosts beside the observation points: ACKs reach their senders at "
        "once; of others the handshake tells how far they are.",
    )
    flows: int = Field(
        1 << 20,
        ge=1,
        le=1 << 26,
        description="Most conversations whose state is kept at a time.",
    )
    parameters: dict[str, Told] = Field(
        {},
        description="Parameters of congestion control that senders run with, by algorithm, such as "
        "{ hpcc = { N = 4 } }; the reference page of parameters has them all.",
    )
    companions: tuple[str, ...] = Field(
        (),
        description="Algorithms to run on the same signals beside those that packets show: "
        f"{', '.join(COMPANIONS)}.",
    )
    probe_dscp: int | None = Field(
        None,
        ge=0,
        le=63,
        description="DSCP of probes and their responses, which bring telemetry and move nothing of "
        "a sender; none: there are no probes.",
    )
    health_ms: float = Field(
        1000.0,
        ge=0,
        le=DAY_MS,
        description="Length of an interval of the telemetry's health, ms; 0: it is not watched.",
    )
    csig_hosts: tuple[Prefix, ...] | None = Field(
        None, description="Prefixes of hosts that may send CSIG tags; none: all may."
    )
    topology: str | None = Field(None, description="Topology file (YAML); none: ids are shown raw.")

    @property
    def lengths_ns(self) -> tuple[int, ...]:
        """Lengths of intervals in ns, the shortest first."""
        return lengths_ns(self.interval_ms)

    @property
    def disorder_ns(self) -> int:
        """How long rows of a source wait for earlier ones, ns."""
        return round(self.disorder_us * MICROSECOND)

    @property
    def idle_ns(self) -> int:
        """How long a silent source is waited for, ns."""
        return round(self.idle_ms * MILLISECOND)

    @property
    def lateness_ns(self) -> int:
        """How long intervals may be judged anew, ns."""
        return round(self.lateness_ms * MILLISECOND)

    @property
    def copies_ns(self) -> int:
        """How far apart sights of one packet may be, ns."""
        return round(self.copies_us * MICROSECOND)

    @property
    def health_ns(self) -> int:
        """Length of an interval of the telemetry's health, ns."""
        return round(self.health_ms * MILLISECOND)

    def parameters_with(self, more: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Told]:
        """Parameters of congestion control with `more` on top, which win."""
        both = (self.parameters, more or {})
        names = dict.fromkeys(name for each in both for name in each)
        return {name: {**both[0].get(name, {}), **both[1].get(name, {})} for name in names}

    @field_validator("parameters", mode="before")
    @classmethod
    def _accepted(cls, told: Any) -> Any:
        """Names and values that the algorithms have."""
        from pipeline.told_parameters import checked  # loads what computes: for who tells any

        return checked(told) if isinstance(told, Mapping) and told else told

    @field_validator("companions")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names of companions, each once."""
        for name in names:
            if name not in COMPANIONS:
                accepted = ", ".join(COMPANIONS)
                raise ValueError(f"no companion is called {name!r}; accepted are {accepted}")
        return tuple(dict.fromkeys(names))
