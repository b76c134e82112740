"""Logins by JSON Web Tokens (RFC 7519) of an OpenID Connect provider (Discovery 1.0)."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import jwt

from service.access import OURS, SCOPES, Identity, Scope
from service.problem import Problem
from service.stamp import stamp
from service.trust import trust

ALGORITHMS = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"), "OKP": ("EdDSA",),
}  # fmt: skip
"""Signatures by a private key alone, by the kind of key: with a shared secret every reader of it
could sign."""
MOST_NAME, HASHED = 64, 16
LEEWAY_S = 30
REFRESH_S = 60.0
"""Least time between two fetches of the provider's keys, however many unknown keys are named."""
FAILED_S, OLD_S = 5.0, 3600.0
"""The same after a fetch that failed, and the age at which keys are fetched again."""
FETCH_S, MOST_OCTETS = 5.0, 1 << 20
"""Within which a provider's document has to come, and how large it may be."""
DISCOVERY = "/.well-known/openid-configuration"
PREFIX = "hopsight:"
"""What a scope word may begin with, where a provider's scopes have names of their own."""
URLS = ("https://", "http://")
NO_KEYS = (
    OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, jwt.PyJWTError,
)  # fmt: skip
"""What is raised where a key set is not there or is none."""


@dataclass(frozen=True)
class Provider:
    """What is known of a provider: `keys` is a file or URL of its key set; none: it is asked."""

    issuer: str
    audience: str
    keys: str | None = None
    scope_claim: str = "scope"
    tenants_claim: str = "tenants"

    @property
    def file(self) -> Path | None:
        """The file of keys, where it is one."""
        return None if self.keys is None or self.keys.startswith(URLS) else Path(self.keys)


class Key(NamedTuple):
    """A key of a provider, and the algorithms that it signs by."""

    key: Any
    algorithms: tuple[str, ...]


class WebTokens:
    """Checks tokens of one provider, whose keys are fetched when they are first needed."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._keys: dict[str, Key] = {}
        self._fetched_s: float | None = None
        self._failed = False
        """Whether the keys were not to be had when they were asked for last."""
        self._stamp: tuple[int, ...] = ()
        """Of the file of keys, as it was read last."""
        self._turn = threading.Lock()

    def known(self, token: str) -> Identity:
        """Who has a token. Raises Problem: 401 for a wrong one, 503 when no keys are to be had."""
        try:
            header = jwt.get_unverified_header(token)
            key = self._key(str(header.get("kid", "")))
            claims = jwt.decode(
                token,
                key.key,
                algorithms=list(key.algorithms),
                audience=self.provider.audience,
                issuer=self.provider.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise Problem(401, f"the token is refused: {error}") from None
        try:
            json.dumps(claims, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Problem(401, "the token is refused: a claim is no Unicode text") from None
        return self._identity(claims)

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        words = _words(claims.get(self.provider.scope_claim))
        scopes = [SCOPES[name] for word in words if (name := word.removeprefix(PREFIX)) in SCOPES]
        if not scopes:
            raise Problem(403, f"the token has none of the scopes {', '.join(SCOPES)}")
        # Without a word on tenants nobody's flows are seen.
        tenants = _words(claims.get(self.provider.tenants_claim))
        return Identity(named(str(claims["sub"])), max(scopes, default=Scope.READ), tuple(tenants))

    def _key(self, name: str) -> Key:
        """The provider's key of this name; an only key needs none.

        One asks the provider at a time and nobody waits for it: whose key is known needs no answer,
        and strangers who name keys that there are not would hold everybody up.
        """
        found = self._known(name)
        if not self._may_fetch(REFRESH_S if found is None else OLD_S):
            return self._signed(found)
        if not self._turn.acquire(blocking=False):
            if found is None:
                raise Problem(503, f"the keys of {self.provider.issuer} are being asked for")
            return found
        try:
            if self._may_fetch(REFRESH_S if found is None else OLD_S):
                self._keys = self._fetch()
                self._fetched_s, self._failed = time.monotonic(), False
        except Problem:
            # From the end on: a provider that does not answer takes as long as it is given.
            self._fetched_s, self._failed = time.monotonic(), True
            if found is None:
                self._fetched_s -= REFRESH_S - FAILED_S
                raise
        finally:
            self._turn.release()
        return self._signed(self._known(name))

    def _signed(self, found: Key | None) -> Key:
        if found is not None:
            return found
        if self._failed:  # the token may be good: whoever is told that it is not throws it away
            raise Problem(503, f"the keys of {self.provider.issuer} are not to be had")
        raise Problem(401, "the token is refused: no key of the provider signed it")

    def _known(self, name: str) -> Key | None:
        only = next(iter(self._keys.values())) if len(self._keys) == 1 and not name else None
        return self._keys.get(name) or only

    def _may_fetch(self, after_s: float) -> bool:
        file = self.provider.file
        if file is not None and stamp(file) != self._stamp:
            return True
        return self._fetched_s is None or time.monotonic() - self._fetched_s > after_s

    def _fetch(self) -> dict[str, Key]:
        """The provider's key set, of its file or its URL."""
        try:
            if (file := self.provider.file) is not None:
                self._stamp = stamp(file)
                told = file.read_text(encoding="utf-8")
            else:
                told = _document(self.provider.keys or self._discovered())
            keys = key_set(told)
        except (httpx.HTTPError, *NO_KEYS) as error:
            raise Problem(503, f"the keys of {self.provider.issuer} are not to be had:"
                          f" {type(error).__name__}") from None  # fmt: skip
        return keys

    def _discovered(self) -> str:
        told = _document(self.provider.issuer.rstrip("/") + DISCOVERY)
        place = str(httpx.Response(HTTPStatus.OK, text=told).json()["jwks_uri"])
        if not place.startswith(URLS):
            raise ValueError("jwks_uri is no URL")
        return place


def key_set(text: str) -> dict[str, Key]:
    """The keys of a key set's JSON. Raises one of `NO_KEYS`."""
    return dict(keys_of(json.loads(text)))


def keys_of(told: Any) -> Iterator[tuple[str, Key]]:
    """Keys of a key set (RFC 7517) that sign, by their names; those of other kinds are passed over.

    Where a key does not name its algorithm it is any that its kind has. PyJWTError: there is none.
    """
    known = 0
    for each in told["keys"]:
        kind, algorithm = each.get("kty"), each.get("alg")
        able = ALGORITHMS.get(kind, ()) if algorithm is None else (algorithm,)
        if each.get("use", "sig") != "sig" or not set(able) & set(ALGORITHMS.get(kind, ())):
            continue
        try:
            made = jwt.PyJWK.from_dict(each, algorithm or able[0])
        except jwt.PyJWTError:
            continue
        known += 1
        yield str(each.get("kid") or ""), Key(made.key, able)
    if not known:
        raise jwt.PyJWKSetError("no key of the set signs tokens")


def named(subject: str) -> str:
    """A subject as logs and bounds know it; of a long one its end is told by a hash."""
    if len(subject) <= MOST_NAME and subject not in OURS:
        return subject
    return f"{subject[: MOST_NAME - HASHED - 1]}~{sha256(subject.encode()).hexdigest()[:HASHED]}"


def _document(url: str) -> str:
    """What is at a URL, if it comes whole within `FETCH_S`. Raises HTTPError or one of `NO_KEYS`.

    A look-up of a name, and a provider that sends octet by octet, end at no timeout of a client.
    """
    made: Future[str] = Future()
    # The client closes what is still being read.
    with httpx.Client(timeout=FETCH_S, verify=trust(url)) as client:

        def fetch() -> None:
            try:
                made.set_result(_fetched(client, url))
            except Exception as error:  # noqa: BLE001 - raised where it is waited for
                made.set_exception(error)

        threading.Thread(target=fetch, name="keys", daemon=True).start()
        return made.result(FETCH_S)


def _fetched(client: httpx.Client, url: str) -> str:
    told, until_s = bytearray(), time.monotonic() + FETCH_S
    with client.stream("GET", url) as answer:
        answer.raise_for_status()
        for part in answer.iter_bytes():
            told += part
            if len(told) > MOST_OCTETS or time.monotonic() > until_s:
                raise ValueError(f"{url} has more than {MOST_OCTETS} octets, or is slow")
    return told.decode()


def _words(told: object) -> list[str]:
    """A claim that is a text of words or a list of them."""
    if isinstance(told, str):
        return told.split()
    listed = told if isinstance(told, list) else []
    return [each.strip() for each in listed if isinstance(each, str) and each.strip()]
