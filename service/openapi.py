"""The OpenAPI document: what every answer holds, which problems there are, how to log in."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from service.access import ROUTES
from service.answer_table import ANSWERS, AT_TIMES, EXAMPLES, OTHER_MEDIA, WORDS
from service.problem import MEDIA_TYPE, TITLES
from service.representation import JSON
from service.sessions import COOKIE

PROBLEM = {
    "title": "Problem",
    "description": "What went wrong (RFC 9457); `field` is the parameter that it is about.",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "field": {"type": "string"},
        "column": {"type": "integer"},
    },
    "examples": [
        {
            "type": "about:blank",
            "title": TITLES[422],
            "status": 422,
            "detail": "window: '10' is not a duration; write a number and a unit, such as 10s",
            "field": "window",
        }
    ],
}
PROBLEMS = {
    "400": "A filter or a body is not understood",
    **{str(status): title for status, title in TITLES.items() if status not in {400, 405, 500}},
}
"""Answers that every route may give beside its own."""
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A token, or a web token."},
    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
}
LOGIN: list[dict[str, list[str]]] = [{}, {"bearer": []}, {"session": []}]
"""Nothing on loopback where no login is asked for."""
METHODS = frozenset({"get", "post", "put", "patch", "delete"})


def describe(app: FastAPI) -> None:
    """Make the application publish the whole document."""

    def whole() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = document(app)
        return app.openapi_schema

    app.openapi = whole  # type: ignore[method-assign] # the way that FastAPI documents


def document(app: FastAPI) -> dict[str, Any]:
    """The document as FastAPI makes it, with what it cannot know."""
    made = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    parts = made.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Problem"] = PROBLEM
    parts["securitySchemes"] = SCHEMES
    for path, operations in made["paths"].items():
        for method, operation in operations.items():
            if method in METHODS:
                _complete(f"{method.upper()} {path}", operation)
    return made


def _complete(line: str, operation: dict[str, Any]) -> None:
    """Say of one route what it asks for and what it answers."""
    access = ROUTES.get(line)
    if access is not None and access.scope is not None:
        operation["security"] = LOGIN
        operation["x-scope"] = access.scope.name.lower()
    told = operation["responses"]
    shape = {"schema": {"$ref": "#/components/schemas/Problem"}}
    for status, title in PROBLEMS.items():
        told[status] = {"description": title, "content": {MEDIA_TYPE: shape}}
    own = told.get("200") or told.get("201") or told.get("202")
    if line not in ANSWERS or own is None:
        return
    own["content"] = {JSON: {"schema": schema_of(line)}}
    if line in EXAMPLES:
        own["content"][JSON]["example"] = EXAMPLES[line]
    own["content"] |= {media: {"schema": {"type": "string"}} for media in OTHER_MEDIA.get(line, ())}
    if line.startswith("GET"):
        told["304"] = {"description": "The answer that the client has (If-None-Match) still holds"}


def schema_of(line: str) -> dict[str, Any]:
    """The schema of a route's answer from its tables: each name with a word."""
    always, at_times = ANSWERS[line], AT_TIMES.get(line, {})
    properties = {name: _schema(word) for name, word in (always | at_times).items()}
    return {"type": "object", "required": sorted(always), "properties": properties}


def _schema(word: str) -> dict[str, Any]:
    """The schema that a word stands for, ? where it may be null."""
    schema = WORDS[word.rstrip("?")]
    return {"anyOf": [schema, {"type": "null"}]} if word.endswith("?") else schema
