"""Who may do what: scopes, who asks, and the table of what each route asks for."""

from dataclasses import dataclass
from enum import IntEnum

from fastapi import Request

from service.problem import Problem


class Scope(IntEnum):
    """What a login may do; each includes those before it."""

    READ = 1
    OPERATE = 2
    ADMIN = 3


SCOPES = {scope.name.lower(): scope for scope in Scope}
"""Scopes by the word that tokens and settings have."""
ALL = "*"
"""In the place of tenants: every one, and what nobody owns."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks: a name for the audit log, what it may do, and whose flows it sees."""

    name: str
    scope: Scope
    tenants: tuple[str, ...] = (ALL,)

    @property
    def sees_all(self) -> bool:
        """Whether it sees the flows of all tenants."""
        return ALL in self.tenants


LOCAL = Identity("local", Scope.ADMIN)
"""Whoever asks from this machine where no login is asked for."""
OWNER = Identity("socket", Scope.ADMIN)
"""The store's own user, over its Unix socket."""
OURS = frozenset({LOCAL.name, OWNER.name})
"""Names that nobody may log in by."""
IDENTITY = "hopsight.identity"
"""Where a request's scope has who asks."""
AGAIN = "hopsight.again"
"""Where it has what finds that out again, for answers that take long."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a route asks for; a route for the whole `fabric` is closed to the people of tenants."""

    scope: Scope | None
    fabric: bool = False


OPEN = Access(None)
READ = Access(Scope.READ)
READ_FABRIC = Access(Scope.READ, fabric=True)
OPERATE_OWN = Access(Scope.OPERATE)
OPERATE = Access(Scope.OPERATE, fabric=True)
ADMIN = Access(Scope.ADMIN, fabric=True)

ROUTES = {
    "GET /": OPEN,
    "GET /console/plotly.min.js": OPEN,
    "GET /docs/{name:path}": READ,
    "GET /healthz": OPEN,
    "GET /readyz": OPEN,
    "GET /metrics": READ_FABRIC,
    "GET /api/v1/session": OPEN,
    "POST /api/v1/session": OPEN,
    "DELETE /api/v1/session": OPEN,
    "GET /api/v1/bottlenecks": READ,
    "GET /api/v1/flows": READ,
    "GET /api/v1/flows/bottleneck": READ,
    "GET /api/v1/flows/signals": READ,
    "GET /api/v1/flows/spans": READ,
    "GET /api/v1/flows/contributors": READ,
    "GET /api/v1/links": READ,
    "GET /api/v1/links/flows": READ,
    "GET /api/v1/te/paths": READ,
    "GET /api/v1/te/links": READ,
    "GET /api/v1/te/alternatives": READ,
    "GET /api/v1/te/export": READ_FABRIC,
    "GET /api/v1/health/telemetry": READ_FABRIC,
    "GET /api/v1/topology": READ,
    "GET /api/v1/replay/decisions": READ,
    "GET /api/v1/replay/algorithms": READ,
    "GET /api/v1/captures": READ,
    "POST /api/v1/captures": OPERATE_OWN,
    "GET /api/v1/captures/{name}": READ,
    "DELETE /api/v1/captures/{name}": OPERATE_OWN,
    "GET /api/v1/jobs": READ,
    "POST /api/v1/jobs": OPERATE_OWN,
    "GET /api/v1/jobs/{name}": READ,
    "POST /api/v1/jobs/{name}/cancel": OPERATE_OWN,
    "DELETE /api/v1/jobs/{name}": OPERATE_OWN,
    "GET /api/v1/jobs/{name}/result": READ,
    "GET /api/v1/alerts": READ_FABRIC,
    "GET /api/v1/alerts/rules": READ_FABRIC,
    "GET /api/v1/alerts/history": READ_FABRIC,
    "GET /api/v1/alerts/silences": READ_FABRIC,
    "POST /api/v1/alerts/silences": OPERATE,
    "DELETE /api/v1/alerts/silences/{name}": OPERATE,
    "GET /api/v1/events": READ,
    "GET /api/v1/audit": ADMIN,
    "POST /internal/v1/insert/{table}": ADMIN,
    "GET /internal/v1/query/{name}": ADMIN,
}
"""What each route asks for, by method and pattern; a route that is not here answers nobody."""


def identity_of(request: Request) -> Identity | None:
    """Who asks; None: it is not known."""
    found: Identity | None = request.scope.get(IDENTITY)
    return found


async def allowed(request: Request) -> None:
    """Refuse whoever may not ask this. Raises Problem."""
    pattern = getattr(request.scope.get("route"), "path", "")
    access = ROUTES.get(f"{request.method} {pattern}")
    if access is None:
        raise Problem(403, "nobody may ask this")
    if access.scope is None:
        return
    identity = identity_of(request)
    if identity is None:
        raise Problem(401, NO_LOGIN)
    if identity.scope < access.scope:
        wanted = access.scope.name.lower()
        raise Problem(403, f"this asks for the scope {wanted}; {identity.name} has"
                      f" {identity.scope.name.lower()}", scope=wanted)  # fmt: skip
    if access.fabric and not identity.sees_all:
        raise Problem(403, f"this tells of all tenants; {identity.name} sees some of them")


NO_LOGIN = "a token is asked for: send it as `Authorization: Bearer TOKEN`"
