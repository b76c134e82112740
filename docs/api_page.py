"""The reference page of the HTTP API, from the schema that the service itself publishes."""

from collections.abc import Iterator
from typing import Any, cast

from json_text import json_text
from markdown_text import code, table, title

from pipeline.store import Store
from service.access import ROUTES
from service.answer_table import EXAMPLES
from service.app import create_app
from service.settings import Settings


def api() -> Iterator[str]:
    """Every route, from the schema that the service itself publishes."""
    # The schema needs no store, and the application opens none by itself.
    schema = create_app(Settings.model_construct(), cast("Store", None)).openapi()
    yield title(
        "HTTP API",
        f"{schema['info']['description']} The whole schema is at `/api/v1/openapi.json`."
        " Answers that are shown are about the demo, their lists shortened.",
    )
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            line = f"{method.upper()} {path}"
            yield f"## {line}\n"
            yield f"{route.get('description') or route['summary']}\n"
            yield f"{scope_of(line)}\n"
            given = route.get("parameters", [])
            if given:
                yield table(
                    ("parameter", "in", "required", "meaning"),
                    (
                        (
                            code(row["name"]),
                            row["in"],
                            "yes" if row["required"] else "",
                            meaning(row),
                        )
                        for row in given
                    ),
                )
            if line in EXAMPLES:
                yield f"```json\n{json_text(EXAMPLES[line])}\n```\n"


def scope_of(line: str) -> str:
    """What a route asks for."""
    access = ROUTES[line]
    if access.scope is None:
        return "Scope: none."
    whole = ", over all tenants" if access.fabric else ""
    return f"Scope: {code(access.scope.name.lower())}{whole}."


def meaning(parameter: dict[str, Any]) -> str:
    """What a parameter of a route says about itself, or the first of its forms does."""
    forms = (parameter, parameter["schema"], *parameter["schema"].get("anyOf", ()))
    return next((str(form["description"]) for form in forms if "description" in form), "")
