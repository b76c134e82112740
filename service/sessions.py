"""Logins of browsers: a cookie stands for a token, so that no script has to keep one."""

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie

COOKIE = "hopsight_session"
LIFE_NS = 8 * 3600 * 10**9
MOST = 10_000


@dataclass(frozen=True, slots=True)
class Session:
    """The token that a browser brought, and until when it need not bring it again."""

    token: str
    until_ns: int


class Sessions:
    """Sessions by the hash of their cookie; they end with the process."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, Session] = OrderedDict()

    def begin(self, token: str, now_ns: int) -> str:
        """A new session's cookie."""
        cookie = secrets.token_urlsafe(32)
        self._held[_key(cookie)] = Session(token, now_ns + LIFE_NS)
        if len(self._held) > MOST:
            self._held.popitem(last=False)
        return cookie

    def token(self, cookie: str, now_ns: int) -> str | None:
        """The token behind a cookie; it is judged anew each time, for it may be taken back."""
        found = self._held.get(_key(cookie))
        return found.token if found and now_ns < found.until_ns else None

    def end(self, cookie: str) -> None:
        """Forget a session."""
        self._held.pop(_key(cookie), None)


def cookie_of(header: str) -> str:
    """The session's cookie in a Cookie header; empty: there is none."""
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _key(cookie: str) -> str:
    return sha256(cookie.encode()).hexdigest()
