"""Tokens: who may ask over the network. Kept as hashes, compared in constant time, never printed.

A token is 32 random octets, so that one SHA-256 of it can be kept: nobody can try 2^256 of them.
A line is `NAME SCOPE TENANTS sha256:HEX [EXPIRES]`; `TENANTS` is `*` or names with commas between
them, `EXPIRES` a time. Empty lines and what follows `#` say nothing.
"""

import hmac
import logging
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from service.access import ALL, OURS, SCOPES, Identity
from service.endpoint import MAX_NS, parse_time
from service.service_settings import TOKENS_VARIABLE
from service.stamp import stamp

PREFIX = "hs_"
"""What every token begins with, so that it is recognised where it should not stand."""
OCTETS = 32
FOREIGN = stat.S_IRWXG | stat.S_IRWXO
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
HASH = re.compile(r"sha256:([0-9a-f]{64})")
FORM = "accepted: NAME SCOPE TENANTS sha256:HEX [EXPIRES]"
FIELDS = (4, 5)
MOST_NAMED = 10
"""Lines that cannot be used and are told of by themselves."""
logger = logging.getLogger("hopsight.tokens")


class TokensError(ValueError):
    """Tokens that cannot be used; the text names the place and never what was read there."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token as it is kept."""

    identity: Identity
    digest: str
    expires_ns: int = MAX_NS


def digest(token: str) -> str:
    """The hash by which a token is known."""
    return sha256(token.encode()).hexdigest()


def made() -> str:
    """A new token."""
    return PREFIX + secrets.token_urlsafe(OCTETS)


def line_of(name: str, scope: str, tenants: str, token: str, expires: str = "") -> str:
    """The line by which a token is kept. Raises TokensError."""
    for word, reason in faults(name, scope, tenants, expires):
        raise TokensError(f"the {word} {reason}")
    return f"{name} {scope} {tenants} sha256:{digest(token)} {expires}".strip()


def faults(name: str, scope: str, tenants: str, expires: str = "") -> Iterator[tuple[str, str]]:
    """Words of a token that cannot be used, each by its name and why; none is repeated."""
    if not NAME.fullmatch(name):
        yield "name", "has other signs than letters, digits and ._@-, or more than 64"
    if name in OURS:
        yield "name", "is what hopsight calls who asks from this machine"
    if scope not in SCOPES:
        yield "scope", f"is none of {', '.join(SCOPES)}"
    names = names_of(tenants)
    if not names or (ALL in names and len(names) > 1) or tenants.split() != [tenants]:
        yield "tenants", "should be * or names with commas between them"
    try:
        until_ns(expires)
    except ValueError:
        yield "expiry", "is no time"


def names_of(tenants: str) -> tuple[str, ...]:
    """The tenants of a token."""
    return tuple(each for each in tenants.split(",") if each)


def until_ns(expires: str = "") -> int:
    """When a token ends, ns. Raises ValueError."""
    return parse_time(expires) if expires else MAX_NS


def parsed(line: str, place: str) -> Token:
    """A token from its line. Raises TokensError."""
    fields = line.split()
    if len(fields) not in FIELDS:
        raise TokensError(f"{place}: {len(fields)} words; {FORM}")
    name, scope, tenants, hashed, *expires = fields
    for word, reason in faults(name, scope, tenants, *expires):
        raise TokensError(f"{place}: the {word} {reason}")
    found = HASH.fullmatch(hashed)
    if found is None:
        raise TokensError(f"{place}: the hash is not sha256: and 64 hexadecimal digits")
    return Token(Identity(name, SCOPES[scope], names_of(tenants)), found[1], until_ns(*expires))


def lines(text: str, place: str) -> Iterator[tuple[str, str]]:
    """Every line of a text that says something, and its place."""
    for number, line in enumerate(re.split(r"[\n;]", text), 1):
        if told := line.partition("#")[0].strip():
            yield told, f"{place}, line {number}"


def read(text: str, place: str) -> tuple[Token, ...]:
    """Every token of a text. Raises TokensError."""
    return tuple(parsed(line, where) for line, where in lines(text, place))


def usable(text: str, place: str) -> tuple[Token, ...]:
    """The tokens of the lines that can be used; of others it is said why they cannot."""
    found, left = [], []
    for line, where in lines(text, place):
        try:
            found.append(parsed(line, where))
        except TokensError as error:
            left.append(f"{error}; the line lets nobody in")
    for said in left[:MOST_NAMED]:
        logger.error("%s", said)
    if more := len(left[MOST_NAMED:]):
        logger.error("%s: %d more lines let nobody in", place, more)
    return tuple(found)


class Tokens:
    """The tokens of the environment and of a file, which is read again when it has changed."""

    def __init__(self, environment: Mapping[str, str], file: Path | None) -> None:
        """Raises TokensError."""
        self._told = read(environment.get(TOKENS_VARIABLE, ""), TOKENS_VARIABLE)
        self._file = file
        self._stamp = self._now()
        self._read = self._from_file(read)
        self._any = bool(self._told or self._read)

    def __bool__(self) -> bool:
        """Whether there is a token, or was one: those of a file that is broken come again."""
        if not self._any:
            self._renew()
            self._any = bool(self._told or self._read)
        return self._any

    def known(self, digested: str, now_ns: int) -> Identity | None:
        """Who has the token of this hash; every one is compared, whichever it is."""
        self._renew()
        found = None
        for token in (*self._told, *self._read):
            if hmac.compare_digest(token.digest, digested) and now_ns < token.expires_ns:
                found = token.identity
        return found

    def _renew(self) -> None:
        """Read a changed file: each line by itself, since it may still be written, or mistyped.

        One that cannot be read leaves nobody in.
        """
        if self._file is not None and (stamp := self._now()) != self._stamp:
            self._stamp = stamp
            try:
                self._read = self._from_file(usable)
            except TokensError as error:
                self._read = ()
                # The sentence says it, and never what was read.
                logger.error("%s; nobody whose token it holds is let in", error)  # noqa: TRY400 - see above

    def _now(self) -> tuple[int, ...]:
        return stamp(self._file) if self._file else ()

    def _from_file(self, taken: Callable[[str, str], tuple[Token, ...]]) -> tuple[Token, ...]:
        if self._file is None:
            return ()
        place = f"service.tokens_file: {self._file}"
        try:
            mode, text = self._file.stat().st_mode, self._file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "not UTF-8 text"
            raise TokensError(f"{place}: {why}") from None
        if mode & FOREIGN:
            raise TokensError(f"{place} can be read by others; accepted: mode 0600")
        return taken(text, place)
