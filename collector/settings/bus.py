"""Settings of the bus between processes: how a broker is reached, and what may wait."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

PASSWORD_VARIABLE = "HOPSIGHT_BUS_PASSWORD"  # noqa: S105 - the variable's name, no password


class BusSettings(BaseModel):
    """How a Kafka broker is reached.

    Passwords are in no setting: they come from a file or from HOPSIGHT_BUS_PASSWORD.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    url: str | None = Field(
        None,
        description="Bus of `collect` and `pipeline`: kafka://host:port/topic, several brokers"
        " host:port,host:port; options partitions, replication, idempotence, compression.",
    )
    tls: bool = Field(False, description="Speak TLS with the broker, and check its certificate.")
    tls_ca_file: str | None = Field(
        None, description="Certificates that the broker's is checked by; none: the system's."
    )
    tls_cert_file: str | None = Field(
        None, description="Certificate that the broker knows this process by; none: no certificate."
    )
    tls_key_file: str | None = Field(
        None, description="Private key of tls_cert_file; none: it is in the same file."
    )
    sasl: Literal["none", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "none", description="How this process logs in: none, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512."
    )
    sasl_user: str = Field("", description="Name that it logs in by.")
    sasl_password_file: str | None = Field(
        None,
        description="File with the password, readable by its owner only; none:"
        " HOPSIGHT_BUS_PASSWORD.",
    )
    retry_s: float = Field(
        300.0,
        ge=0,
        description="How long a broker that does not answer is tried again, with growing pauses,"
        " before the collector ends, and a worker that finds no store when it starts, seconds.",
    )

    overload: Literal["block", "shed"] = Field(
        "block",
        description="What live frames do when what follows is behind and no room is left. block:"
        " they wait, and the kernel drops what it cannot keep; shed: only one of 2, 3, 4, …"
        " conversations is passed on, and the rows say so. Files always wait.",
    )
    waiting: int = Field(
        4, ge=1, le=1024, description="Batches that may wait in memory before a bus."
    )
    behind_ms: float = Field(
        2000.0,
        ge=0,
        description="With overload = 'shed': how much time of live frames may wait in memory inside"
        " one process; of more a smaller part is passed on, so that what is judged is fresh, ms."
        " 0: as much as there is room for.",
    )
    spill_directory: str | None = Field(
        None,
        description="Directory for batches that have no room in memory, for one process alone;"
        " none: nothing is spilled.",
    )
    spill_bytes: int = Field(
        1 << 30, ge=1 << 20, description="Most bytes of batches in spill_directory."
    )
    group: str = Field(
        "hopsight",
        pattern=r"^[A-Za-z0-9._-]{1,100}$",
        description="Name of the group of workers that share a topic.",
    )
    session_s: float = Field(
        6.0,
        ge=0.5,
        le=300,
        description="Silence after which a worker's partitions are given to others, seconds.",
    )
    cut_ms: float = Field(
        500.0,
        ge=0,
        le=60_000,
        description="Least time between two inserts of a partition that is not behind, ms.",
    )
    snapshot_s: float = Field(
        20.0,
        ge=0,
        le=3600,
        description="Time between two snapshots of a partition's state, seconds; what came since is"
        " worked on again by whoever takes the partition over.",
    )

    @model_validator(mode="after")
    def whole(self) -> "BusSettings":
        """Refuse halves: a key without a certificate, a login without a name or in clear text."""
        if self.tls_key_file and not self.tls_cert_file:
            raise ValueError("tls_key_file needs tls_cert_file")
        if (self.tls_cert_file or self.tls_ca_file) and not self.tls:
            raise ValueError("tls_ca_file and tls_cert_file need tls = true")
        if self.sasl != "none" and not self.sasl_user:
            raise ValueError(f"sasl = {self.sasl!r} needs sasl_user")
        if self.sasl == "PLAIN" and not self.tls:
            raise ValueError("sasl = 'PLAIN' would send the password readable: it needs tls = true")
        return self
