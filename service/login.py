"""Who asks: found before a route sees the request. On loopback nobody has to say."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service import problem
from service.access import AGAIN, IDENTITY, LOCAL, NO_LOGIN, OPEN, OWNER, ROUTES, Identity
from service.bucket import Buckets
from service.guard import over_unix_socket
from service.loopback import is_loopback
from service.problem import Problem
from service.service_settings import TOKENS_VARIABLE, ServiceSettings
from service.sessions import Sessions, cookie_of
from service.tokens import PREFIX, Tokens, TokensError, digest
from service.web_token import NO_KEYS, URLS, Provider, WebTokens, key_set

OPEN_PATHS = frozenset(route.partition(" ")[2] for route, asks in ROUTES.items() if asks == OPEN)
OPEN_FOLDER = "/console/"
"""What is answered to anybody: whether the service lives, the login, and the console's files, in
which there is nobody's data."""
BURST_S = 5.0
"""Seconds of the rate that may be asked at once."""
SITE_BITS = 64
FAILED_PER_S, FAILED_BURST = 0.5, 60.0
"""Wrong tokens of one address that are answered by 401; more get 429."""
GUESSES = "too many tokens that are not known"
"""What such an address hears."""
HEADERS = {
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": 'Bearer realm="hopsight"'},
    HTTPStatus.SERVICE_UNAVAILABLE: {"Retry-After": "5"},
}
"""What belongs to a refusal by its status (RFC 9110)."""


class LoginError(ValueError):
    """The service cannot be served as it is set; one sentence that names the setting."""


@dataclass
class Login:
    """How requests say who they are from. `required`: nobody is let in unknown."""

    tokens: Tokens
    web: WebTokens | None = None
    required: bool = False
    sessions: Sessions = field(default_factory=Sessions)
    failed: Buckets = field(default_factory=lambda: Buckets(FAILED_PER_S, FAILED_BURST))

    @property
    def possible(self) -> bool:
        """Whether anybody can log in."""
        return bool(self.tokens) or self.web is not None

    def guesses(self, error: Problem, address: str) -> float:
        """For how long an address that is refused is not heard, seconds; 0: it may try again.

        Who is let in and may not do a thing does not guess, and where the provider is away nobody
        knows who does.
        """
        if error.status != HTTPStatus.UNAUTHORIZED:
            return 0.0
        return self.failed.wait(network_of(address), time.monotonic())

    async def who(self, token: str, now_ns: int) -> Identity:
        """Who has a token. Raises Problem."""
        if token.startswith(PREFIX) or self.web is None:
            found = self.tokens.known(digest(token), now_ns)
            if found is None:
                raise Problem(401, "the token is not known, or no longer")
            return found
        return await anyio.to_thread.run_sync(self.web.known, token)


def login_of(settings: ServiceSettings, environment: Mapping[str, str]) -> Login:
    """How to log in, by settings and environment. Raises LoginError: nobody could, and all may ask.

    An address that other machines can reach asks for a login; so does `service.require_login`.
    """
    try:
        tokens = Tokens(environment, settings.tokens_file)
    except TokensError as error:
        raise LoginError(str(error)) from None
    web = None
    for name in ("jwt_audience", "jwt_keys"):
        if settings.jwt_issuer is None and getattr(settings, name) is not None:
            raise LoginError(f"service.{name}: is of no use without service.jwt_issuer")
    if settings.jwt_issuer is not None:
        if settings.jwt_audience is None:
            raise LoginError(
                "service.jwt_audience: a login by JWT needs the audience that is meant"
            )
        if settings.jwt_keys is None and not settings.jwt_issuer.startswith(URLS):
            raise LoginError(
                "service.jwt_issuer: is no URL that could be asked for keys, and service.jwt_keys"
                " names none"
            )
        provider = Provider(
            settings.jwt_issuer,
            settings.jwt_audience,
            settings.jwt_keys,
            settings.jwt_scope_claim,
            settings.jwt_tenants_claim,
        )
        if provider.file is not None:
            _readable(provider.file)
        web = WebTokens(provider)
    reachable = not is_loopback(settings.host)
    login = Login(tokens, web, required=reachable or settings.require_login)
    if login.required and not login.possible:
        why = (
            f"service.host: {settings.host!r} can be reached by other machines"
            if reachable
            else "service.require_login is set"
        )
        raise LoginError(
            f"{why} and nobody could log in; set service.tokens_file, {TOKENS_VARIABLE} or"
            " service.jwt_issuer (`hopsight token` makes a token)"
        )
    return login


def _readable(path: Path) -> None:
    """Raises LoginError for a file of keys by which nobody could log in."""
    try:
        key_set(path.read_text(encoding="utf-8"))
    except NO_KEYS as error:
        why = error.strerror if isinstance(error, OSError) else "is no JSON key set (RFC 7517)"
        raise LoginError(f"service.jwt_keys: {path}: {why}") from None


class Identified:
    """ASGI middleware that finds out who asks, and how often."""

    def __init__(self, app: ASGIApp, *, login: Login, requests_per_s: float) -> None:
        self.app = app
        self.login = login
        self.asked = Buckets(requests_per_s, max(1.0, requests_per_s * BURST_S))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find out, then pass on or refuse."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        address = (scope.get("client") or ("",))[0]
        try:
            identity = await self._who(scope)
        except Problem as error:
            if not _is_open(scope["path"]):
                await self._refusal(error, address)(scope, receive, send)
                return
            identity = None  # a probe whose token is over is a stranger, and no sign of death
        if identity is None and not _is_open(scope["path"]):
            await self._refusal(Problem(401, NO_LOGIN), address)(scope, receive, send)
            return
        scope[IDENTITY] = identity
        scope[AGAIN] = partial(self._who, scope)
        if identity not in {LOCAL, OWNER}:
            asker = identity.name if identity else f"address {network_of(address)}"
            if wait_s := self.asked.wait(asker, time.monotonic()):
                said = "more requests than service.requests_per_s allows"
                await _too_many(said, wait_s)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, error: Problem, address: str) -> ASGIApp:
        """The answer to whoever is not let in."""
        if wait_s := self.login.guesses(error, address):
            return _too_many(GUESSES, wait_s)
        headers = HEADERS.get(HTTPStatus(error.status), {})
        return problem.response(error.status, error.detail, error.more, headers)

    async def _who(self, scope: Scope) -> Identity | None:
        """Who asks; None: a stranger. Raises Problem for a token that is wrong."""
        if over_unix_socket(scope):
            return OWNER
        headers = Headers(scope=scope)
        kind, _, token = headers.get("authorization", "").partition(" ")
        now_ns = time.time_ns()
        if self.login.possible:
            if kind.lower() == "bearer" and token.strip():
                return await self.login.who(token.strip(), now_ns)
            cookie = cookie_of(headers.get("cookie", ""))
            if cookie and (held := self.login.sessions.token(cookie, now_ns)) is not None:
                try:
                    return await self.login.who(held, now_ns)
                except Problem as error:
                    if error.status != HTTPStatus.UNAUTHORIZED:
                        raise
                    # The session ends with its token; its browser is a stranger, who may log in.
                    self.login.sessions.end(cookie)
        return None if self.login.required else LOCAL


def network_of(address: str) -> str:
    """What counts as one stranger: an address, of IPv6 the 64 bits that a site hands out."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(ip_network((found, SITE_BITS), strict=False))
    return str(found)


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


def _too_many(said: str, wait_s: float) -> ASGIApp:
    return problem.response(429, said, None, {"Retry-After": str(math.ceil(wait_s))})
