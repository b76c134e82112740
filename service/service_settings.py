"""Settings of the HTTP service: where it listens, who is let in, and its limits."""

from pathlib import Path

from pydantic import Field

from service.section import Section

TOKENS_VARIABLE = "HOPSIGHT_TOKENS"
"""Variable with lines of tokens; `;` ends a line too."""
OWN_VARIABLE = "HOPSIGHT_TOKEN"
"""Variable with the token that a command sends."""


class ServiceSettings(Section):
    """The HTTP service, its login and its limits."""

    host: str = Field(
        "127.0.0.1",
        min_length=1,
        description="Address to listen on. Any other than loopback asks everybody for a login, and"
        " is refused where there is none.",
    )
    port: int = Field(
        8470, ge=0, le=65_535, description="TCP port to listen on; 0 takes a free one."
    )
    names: tuple[str, ...] = Field(
        (),
        description="Names of this host that requests may have in their Host header, beside"
        " service.host and localhost.",
    )
    require_login: bool = Field(
        False, description="Ask for a login on loopback too, as behind a proxy."
    )
    tokens_file: Path | None = Field(
        None,
        description="File with the hashes of tokens, readable by its owner only (`hopsight token`);"
        " HOPSIGHT_TOKENS may hold more.",
    )
    jwt_issuer: str | None = Field(
        None, description="OpenID Connect provider whose JSON Web Tokens are a login, its URL."
    )
    jwt_audience: str | None = Field(None, description="Audience that such a token must name.")
    jwt_keys: str | None = Field(
        None, description="File or URL of the provider's key set; none: the provider is asked."
    )
    jwt_scope_claim: str = Field(
        "scope", description="Claim with read, operate or admin, with or without `hopsight:`."
    )
    jwt_tenants_claim: str = Field(
        "tenants", description="Claim with the tenants whose flows are seen; * is all."
    )
    tls_certificate: Path | None = Field(
        None, description="Certificate chain (PEM) to serve HTTPS with; none: HTTP."
    )
    tls_key: Path | None = Field(None, description="Private key (PEM) of the certificate.")
    requests_per_s: float = Field(
        100.0,
        gt=0,
        description="Requests a second of one login, or of one address without; five seconds' worth"
        " may come at once. Nobody counts on loopback without a login.",
    )
    max_body_bytes: int = Field(
        64 * 1024, ge=0, description="Largest request body of the public API, bytes."
    )
    jobs_folder: Path | None = Field(
        None,
        description="Folder of captures that are brought and of jobs; none: beside an embedded"
        " store, and with a server there are no jobs.",
    )
    max_capture_bytes: int = Field(
        1 << 30, ge=0, description="Largest capture that may be brought, bytes; 0: none may."
    )
    max_captures_bytes: int = Field(
        10 << 30, ge=0, description="Most bytes of all captures that are kept."
    )
    max_jobs: int = Field(
        16, ge=0, description="Jobs that run or wait; half of them may be of one login."
    )
    job_s: float = Field(3600.0, gt=0, le=31_536_000, description="Longest run of a job, seconds.")
    job_memory_bytes: int = Field(
        8 << 30, ge=1 << 28, le=1 << 50, description="Most memory of the process of a job, bytes."
    )
    keep_jobs_days: float = Field(
        7.0, gt=0, le=36_500, description="Days that captures and what jobs made are kept."
    )
    max_internal_body_bytes: int = Field(
        256 * 1024 * 1024, ge=0, description="Largest body on the owner's Unix socket, bytes."
    )
    max_window_s: float = Field(
        7 * 86_400.0, gt=0, description="Longest time window that one request may ask for, seconds."
    )
    max_streams: int = Field(
        64, ge=0, description="Listeners to events (`/api/v1/events`) that are served at once."
    )
    max_rows: int = Field(
        10_000,
        ge=1,
        description="Most flows that one answer of the API tells; `limit` bounds other rows.",
    )
    alerts_file: Path | None = Field(
        None, description="File (TOML) with the rules of alerts and who is told; none: no alerts."
    )
    export_key_file: Path | None = Field(
        None,
        description="File with the key of anonymised exports, readable by its owner only; none:"
        " HOPSIGHT_EXPORT_KEY, or there are no exports.",
    )
