"""What the folder of jobs keeps: a capture that was brought, and a job with how far it has come."""

import secrets
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.access import ALL, Identity

Kind = Literal["analyze", "replay", "what_if", "closed_loop", "sweep", "conform"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
QUEUED, RUNNING, DONE, FAILED, CANCELLED = "queued", "running", "done", "failed", "cancelled"
WAITING = frozenset({QUEUED, RUNNING})
"""States of a job that has not ended."""
NEARLY = 0.99
"""The most that a job which is not done says of how far it is: frames are judged and stored yet
when all of them were read."""


def new_id() -> str:
    """A name that nobody guesses."""
    return secrets.token_hex(8)


class Kept(BaseModel):
    """Whose it is: who asked, and the tenants whose flows that login sees."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(default_factory=new_id)
    who: str
    tenants: tuple[str, ...]
    created_ns: int

    def seen_by(self, identity: Identity) -> bool:
        """Whether a login may know of it: it sees every tenant whose flows may be in it.

        What a login brought that has no tenants is its own.
        """
        if identity.sees_all:
            return True
        if not self.tenants:
            return identity.name == self.who and not identity.tenants
        return ALL not in self.tenants and set(self.tenants) <= set(identity.tenants)


class Brought(Kept):
    """A capture that was brought."""

    name: str
    octets: int
    sha256: str

    def shown(self) -> dict[str, Any]:
        """The capture as answers have it."""
        return {"id": self.id, "name": self.name, "bytes": self.octets, "sha256": self.sha256,
                "who": self.who, "created_ns": self.created_ns}  # fmt: skip


class Job(Kept):
    """A job; `asked` is what was asked for, `reason` why it failed, `found` what it came to."""

    kind: Kind
    asked: dict[str, Any]
    state: State = "queued"
    started_ns: int | None = None
    ended_ns: int | None = None
    frames: int = 0
    frames_total: int | None = None
    points: int = 0
    points_total: int | None = None
    reason: str | None = None
    results: dict[str, str] = Field(default_factory=dict)
    found: dict[str, Any] = Field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        """The job as answers have it."""
        told = self.model_dump(exclude={"tenants", "results"})
        return told | {"results": sorted(self.results), "progress": self.progress()}

    def progress(self) -> float | None:
        """How much is done, 0 to 1: of a sweep's points, else of the frames; None: not known.

        It is 1 when the job is done, not before.
        """
        if self.state == DONE:
            return 1.0
        if self.points_total:
            return min(self.points / self.points_total, NEARLY)
        return min(self.frames / self.frames_total, NEARLY) if self.frames_total else None
