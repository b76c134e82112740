"""Who asks, and logins of browsers."""

import time
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from service.access import Identity, identity_of
from service.audit import WHO
from service.login import GUESSES, Login
from service.problem import Problem
from service.sessions import COOKIE, LIFE_NS, cookie_of

router = APIRouter(prefix="/api/v1", tags=["login"])

NS_PER_S = 10**9


class Credential(BaseModel):
    """What a browser brings once."""

    model_config = ConfigDict(extra="forbid")

    token: str = Field(min_length=1, max_length=16_384, description="The token.")


@router.get("/session")
async def session(request: Request) -> dict[str, Any]:
    """Who asks, what it may do and whose flows it sees; `identity` is null for a stranger.

    `fabric` says whether it may ask what tells of all tenants.
    """
    login: Login = request.app.state.login
    return {"login_required": login.required, "identity": shown(identity_of(request))}


@router.post("/session")
async def log_in(request: Request, response: Response, brought: Credential) -> dict[str, Any]:
    """Log a browser in: the answer sets a cookie, which no script can read."""
    login: Login = request.app.state.login
    now_ns = time.time_ns()
    try:
        identity = await login.who(brought.token, now_ns)
    except Problem as error:
        address = request.client.host if request.client else ""
        raise Problem(429, GUESSES) if login.guesses(error, address) else error from None
    request.scope[WHO] = identity
    response.set_cookie(
        COOKIE,
        login.sessions.begin(brought.token, now_ns),
        max_age=LIFE_NS // NS_PER_S,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return {"login_required": login.required, "identity": shown(identity)}


@router.delete("/session", status_code=204)
async def log_out(request: Request, response: Response) -> None:
    """Log a browser out."""
    login: Login = request.app.state.login
    login.sessions.end(cookie_of(request.headers.get("cookie", "")))
    response.delete_cookie(COOKIE, path="/")


def shown(identity: Identity | None) -> dict[str, Any] | None:
    """Who it is, as answers have it."""
    if identity is None:
        return None
    return {
        "name": identity.name,
        "scope": identity.scope.name.lower(),
        "tenants": list(identity.tenants),
        "fabric": identity.sees_all,
    }
