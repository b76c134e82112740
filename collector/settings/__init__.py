"""Settings of the collector: what the documents leave unassigned, and the bounds of its work."""

from pydantic import ConfigDict, Field

from collector.settings.aecn import AecnSettings
from collector.settings.csig import CsigSettings
from collector.settings.envelope import EnvelopeSettings
from collector.settings.inband import IntSettings
from collector.settings.report import ReportSettings
from collector.settings.trace import TraceSettings
from collector.settings.transport import TransportSettings


class CollectorSettings(
    CsigSettings,
    AecnSettings,
    IntSettings,
    ReportSettings,
    TraceSettings,
    TransportSettings,
    EnvelopeSettings,
):
    """What is recognised where. Numbers are decimal or, in TOML, hexadecimal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(
        "",
        pattern=r"^[A-Za-z0-9._-]{0,253}$",
        description="What this collector is called, such as its machine: it stands before the names"
        " of interfaces and UDP feeds as sources (leaf1/mirror0). Collectors of one bus or store"
        " need different ones; empty: nothing stands there.",
    )
    tenant: str = Field("", description="Tenant of all flows of this collector.")
    vrf: str = Field("", description="VRF of all flows of this collector.")
    verify_checksums: bool = Field(
        False,
        description="Check IP, TCP and UDP checksums and RoCEv2's ICRC of frames captured whole.",
    )
    frames_per_batch: int = Field(
        131_072, ge=1, le=1 << 20, description="Most frames decoded at a time."
    )
    ring_directory: str | None = Field(
        None,
        min_length=1,
        description="Directory in memory, such as /dev/shm/hopsight, in which dumpcap leaves the"
        " frames of an interface in files, of which the oldest gives way; none: they come through a"
        " pipe. Files spare a third of what capturing takes, where they come too fast; of few"
        " frames they tell up to 0.5 s later.",
    )
    ring_mib: int = Field(
        256, ge=8, le=1 << 16, description="Most that these files take, of each interface, MiB."
    )
