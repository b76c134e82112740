"""One shape for every error of the API: RFC 9457 problem details (`application/problem+json`)."""

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic_core import PydanticCustomError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from service.form import REQUIRED, said_of

MEDIA_TYPE = "application/problem+json"

TITLES = {
    400: "The request is not understood",
    401: "A login is asked for",
    403: "This is not allowed",
    404: "There is no such thing here",
    405: "The method is not allowed here",
    408: "The request did not come in time",
    409: "This is not possible now",
    413: "The body is too large",
    415: "The body is of another kind",
    421: "The Host header names another server",
    422: "A field is not acceptable",
    429: "Too many requests",
    431: "The head of the request is too large",
    500: "The service failed",
    503: "This cannot be answered now",
}
"""Titles by status; a status that is missing takes its name from HTTP itself."""

logger = logging.getLogger("hopsight.service")


class Problem(Exception):  # noqa: N818 - a problem is what RFC 9457 calls it
    """An error that a client is told about: a status, one sentence, and the field it is about."""

    def __init__(
        self, status: int, detail: str, *, field: str | None = None, later_s: int = 1, **more: Any
    ) -> None:
        """`more` are further members of the problem document.

        `later_s` says after how many seconds it may be asked again, where that helps (503, 429).
        """
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.later_s = later_s
        self.more = more if field is None else {"field": field, **more}


def document(status: int, detail: str, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A problem document: type, title, status, detail and any further members (RFC 9457, 3)."""
    title = TITLES.get(status) or HTTPStatus(status).phrase
    return {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        **(more or {}),
    }


def response(
    status: int,
    detail: str,
    more: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """The HTTP answer that carries a problem document."""
    body = document(status, detail, more)
    return JSONResponse(body, status, dict(headers or {}), media_type=MEDIA_TYPE)


def invalid(fields: Mapping[str, str]) -> Problem:
    """A 422 for fields by name, each with one sentence; `field` is the first of them."""
    first = next(iter(fields))
    errors = [{"field": field, "detail": detail} for field, detail in fields.items()]
    return Problem(422, f"{first}: {fields[first]}", field=first, errors=errors)


SENTENCES = {
    "extra_forbidden": "there is no such {what}; the reference lists those of this route",
    "union_tag_invalid": "{tag!r} is none; accepted are {expected_tags}",
    "union_tag_not_found": REQUIRED,
    "model_attributes_type": "should be a JSON object",
    "json_invalid": "is not JSON at character {at}: {error}",
}
"""What is said instead of pydantic's own words, by its error types, with what these tell."""
BODY = "body"
"""The field that a body is when it is no JSON at all."""
PLAIN = {
    400: {"detail": f"{BODY}: cannot be read as JSON", "field": BODY},
    404: {"detail": "no route has this path; /api/v1/openapi.json lists those that there are"},
    405: {"detail": "this path does not take this method; the header Allow names those it does"},
}
"""What is said instead of the framework's own words, by status, with its field."""
JSON_KIND = re.compile(r"application/([^;]*\+)?json", re.IGNORECASE)
"""How a Content-Type begins whose body is read as JSON."""
OWN_WORDS = {"There was an error parsing the body", "Not Found", "Method Not Allowed"}


METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
KIND = "kind"
"""The field of a body that says which of several models it is."""
KEY = "[key]"
"""How pydantic says that an error is about the name of an entry."""
ABOUT = "about_field"
"""Errors of pydantic that tell their field."""


def about(field: str, sentence: str) -> PydanticCustomError:
    """What a validator of a whole model raises, with the field that it is about."""
    return PydanticCustomError(ABOUT, "{sentence}", {"sentence": sentence, "field": field})


def _location(error: Mapping[str, Any], kind: object) -> str:
    """The field that a pydantic error is about, as it is written.

    What pydantic puts before it is none: `query`, `body` or `path`, and the `kind` of a body.
    """
    told = error.get("ctx") or {}
    if error.get("type") == ABOUT:
        return str(told["field"])
    if str(error.get("type")).startswith("union_tag"):
        return str(told["discriminator"]).strip("'")
    if error.get("type") == "json_invalid":
        return BODY
    parts = [str(part) for part in error.get("loc", ())]
    if parts[:2] == [BODY, kind]:
        del parts[1]
    if parts[-1:] == [KEY]:  # it is what cannot be written, so that it is not repeated
        del parts[-2:]
    return ".".join(parts[1:] or parts) or "request"


def _sentence(error: Mapping[str, Any]) -> str:
    """A pydantic error as what is said after the field's name."""
    told = dict(error.get("ctx") or {}) | {"at": (error.get("loc") or ("?",))[-1]}
    told["what"] = "field" if BODY in error.get("loc", ())[:1] else "parameter"
    ours = SENTENCES.get(str(error["type"]))
    return said_of(error) if ours is None else ours.format(**told)


def _is_unread(error: Mapping[str, Any]) -> bool:
    """Whether a pydantic error is about a body as a whole that is there."""
    return tuple(error.get("loc", ())) == (BODY,) and error.get("type") != "missing"


def no_json(request: Request) -> str | None:
    """What is wrong with the Content-Type of a body that should be JSON, None for JSON."""
    kind = request.headers.get("content-type", "").strip()
    if JSON_KIND.fullmatch(kind.partition(";")[0].strip()):
        return None
    given = f"is {kind[:100]!r}" if kind else "is missing"
    return f"Content-Type {given}; accepted: application/json"


async def _on_problem(_: Request, error: Exception) -> Response:
    problem = error if isinstance(error, Problem) else Problem(500, "internal error")
    later = {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS}
    headers = {"Retry-After": f"{problem.later_s}"} if problem.status in later else None
    return response(problem.status, problem.detail, problem.more, headers)


async def _on_validation(request: Request, error: Exception) -> Response:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    body = error.body if isinstance(error, RequestValidationError) else None
    if any(_is_unread(one) for one in found) and (said := no_json(request)):
        return await _on_problem(request, Problem(415, said, field="Content-Type"))
    kind = body.get(KIND) if isinstance(body, dict) else None
    fields = {_location(one, kind): _sentence(one) for one in found}
    return await _on_problem(request, invalid(fields or {"request": "not acceptable"}))


def _methods(request: Request) -> list[str]:
    """All methods that a path takes: the framework tells those of its first route alone."""
    found = [
        method for method in METHODS
        if any(route.matches({**request.scope, "method": method})[0] == Match.FULL
               for route in request.app.routes)
    ]  # fmt: skip
    return [*found, "HEAD"] if "GET" in found else found  # (`Headed`)


async def _on_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict((error.headers if isinstance(error, HTTPException) else None) or {})
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods(request))
    detail = str(error.detail) if isinstance(error, HTTPException) else "internal error"
    more = dict(PLAIN.get(status, {})) if detail in OWN_WORDS else {}
    return response(status, more.pop("detail", detail), more, headers)


async def _on_anything(request: Request, error: Exception) -> Response:
    logger.error("request failed: %s %s", request.method, request.url.path, exc_info=error)
    return response(500, "an unexpected error was logged; the answer is not known")


def install(app: FastAPI) -> None:
    """Make `app` answer every error with a problem document."""
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_anything)
