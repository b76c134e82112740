"""One table as JSON, CSV or an Arrow stream, with a tag by which an unchanged answer is known."""

import io
import json
import re
import time
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import polars as pl
from fastapi import Request, Response

from pipeline import to_arrow
from service.access import identity_of
from service.told_answers import KEPT_S

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
FORMATS = {"json": JSON, "csv": CSV, "arrow": ARROW}
"""Media types by the name that the parameter `format` takes."""
MAYBE_FORMAT = re.compile(rb"(?:^|&)(?:format|[^=&]*%)")
"""Of a query string: a parameter that may be called `format`, as it stands or escaped."""
WEIGHT = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?", re.ASCII)
"""A weight of an Accept header."""
KEY = "hopsight.key"
"""Where a request's scope has what its answer depends on, once that was asked for."""
REMEMBERED = 256
"""Answers whose tag is remembered."""


class Tags:
    """Tags of answers by request, each with the state of the store that it was told from."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[int, float, str]] = {}

    def unchanged(self, request: Request, revision: int | None) -> Response | None:
        """The 304 for a request whose answer cannot have changed since it was last told."""
        state, until_s, tag = self.known.get(self.key(request), (None, 0.0, ""))
        if revision is None or state != revision or not matches(request, tag):
            return None
        if time.monotonic() > until_s:
            return None
        return Response(status_code=304, headers=headers(tag))

    def remember(self, key: str, revision: int | None, tag: str) -> None:
        """Keep the tag of an answer, the longest unused giving way."""
        if revision is None:
            return
        self.known.pop(key, None)
        self.known[key] = (revision, time.monotonic() + KEPT_S, tag)
        if len(self.known) > REMEMBERED:
            self.known.pop(next(iter(self.known)))

    @staticmethod
    def key(request: Request) -> str:
        """What an answer depends on beside the store."""
        scope = request.scope
        known: str | None = scope.get(KEY)
        if known is None:
            identity = identity_of(request)
            seen = identity.tenants if identity else ()
            # As they are written in Python no two requests have one key; a URL takes ten times as
            # long.
            known = f"{scope['path']!r} {scope['query_string']!r} {media_type(request)} {seen!r}"
            scope[KEY] = known
        return known


def media_type(request: Request) -> str:
    """What is asked for: by `format`, else the type that is accepted most, else JSON."""
    # Most requests have no such parameter, and all are asked for it.
    named = MAYBE_FORMAT.search(request.scope["query_string"])
    if named and (asked := request.query_params.get("format")):
        return FORMATS.get(asked, JSON)
    return preferred(request.headers.get("accept", ""))


@lru_cache(maxsize=64)
def preferred(accept: str) -> str:
    """The type that an Accept header asks for most, JSON where none of them (RFC 9110, 12.5.1)."""
    ranges = []
    for at, part in enumerate(accept.lower().split(",")):
        name, *given = (word.strip() for word in part.split(";"))
        told = next((word[2:] for word in given if word.startswith("q=")), "1")
        ranges.append((name, float(told) if WEIGHT.fullmatch(told) else 1.0, at))
    best, most = JSON, (0.0, 0, 0)
    for media in FORMATS.values():
        names = ("*/*", f"{media.partition('/')[0]}/*", media)
        fit = [(names.index(name), weight, -at) for name, weight, at in ranges if name in names]
        if not fit:
            continue
        # Of a type the narrowest range speaks; of types as welcome the one that was named first.
        narrow, weight, at = max(fit)
        if weight > 0 and (weight, narrow, at) > most:
            best, most = media, (weight, narrow, at)
    return best


def matches(request: Request, tag: str) -> bool:
    """Whether the client has this answer already (If-None-Match, RFC 9110, 13.1.2)."""
    given = ",".join(request.headers.getlist("if-none-match"))
    told = {each.strip().removeprefix("W/") for each in given.split(",")}
    return tag in told or "*" in told


def headers(tag: str) -> dict[str, str]:
    """Headers by which an answer may be kept and asked for again."""
    return {
        "ETag": tag,
        "Cache-Control": "private, no-cache",
        "Vary": "Accept, Authorization, Cookie",
    }


def represented(media: str, rows: pl.DataFrame, about: Mapping[str, Any], name: str) -> Response:
    """The whole answer; JSON has `about` beside the rows, the others in `Hopsight-` headers."""
    if media == ARROW:
        body = to_arrow(rows)
    elif media == CSV:
        body = rows.write_csv().encode()
    else:
        body = in_json(rows, about, name)
    told = {} if media == JSON else dict(flat("Hopsight", about))
    return whole(body, json.dumps(about).encode(), media, told)


def documented(request: Request, tree: Mapping[str, Any]) -> Response:
    """An answer that is no table: JSON, known again by its tag like any other."""
    body = json.dumps(tree, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    return tagged(request, body, b"", JSON, {})


def tagged(
    request: Request, body: bytes, about: bytes, media: str, told: Mapping[str, str]
) -> Response:
    """The answer with the tag of its content, or the 304 of one that the client has."""
    return unless_held(request, whole(body, about, media, told))


def whole(body: bytes, about: bytes, media: str, told: Mapping[str, str]) -> Response:
    """The answer with the tag of its content."""
    tag = f'"{blake2b(body + about, digest_size=12).hexdigest()}"'
    return Response(body, media_type=media, headers={**headers(tag), **told})


def unless_held(request: Request, answer: Response) -> Response:
    """The answer, or the 304 of one that the client has."""
    tag = answer.headers["etag"]
    return Response(status_code=304, headers=headers(tag)) if matches(request, tag) else answer


def in_json(rows: pl.DataFrame, about: Mapping[str, Any], name: str) -> bytes:
    """The rows as an array beside what is about them."""
    out = io.BytesIO()
    rows.with_columns(pl.col(pl.Float64).fill_nan(None)).write_json(out)
    head = json.dumps(about, separators=(",", ":"))
    return b"".join((head[:-1].encode(), f',"{name}":'.encode(), out.getvalue(), b"}"))


def flat(prefix: str, about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is about an answer as headers."""
    made: list[tuple[str, str]] = []
    for name, value in about.items():
        title = f"{prefix}-{name.replace('_', '-').title()}"
        if isinstance(value, Mapping):
            made += flat(title, value)
        elif value is not None:
            made.append((title, str(value)))
    return made
