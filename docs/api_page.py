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
        " HEAD is answered as GET, without a body."
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
            if told := list(fields(route, schema["components"]["schemas"])):
                yield table(("field", "of", "required", "meaning"), told)
            if line in EXAMPLES:
                yield f"```json\n{json_text(EXAMPLES[line])}\n```\n"


def fields(route: dict[str, Any], models: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The fields of a JSON body, each with the kinds of body that have it; it is one of several."""
    content = route.get("requestBody", {}).get("content", {})
    body = content.get("application/json", {}).get("schema", {})
    forms = [models[form["$ref"].rpartition("/")[2]] for form in body.get("oneOf", [body]) if form]
    kinds = [form["properties"].get("kind", {}).get("const", "") for form in forms]
    for name in dict.fromkeys(name for form in forms for name in form["properties"]):
        own = [(kind, form) for kind, form in zip(kinds, forms, strict=True)
               if name in form["properties"]]  # fmt: skip
        needed = all(name in form.get("required", ()) for _, form in own)
        every = len(own) == len(forms)
        told = own[0][1]["properties"][name]
        kind_list = ", ".join(map(code, kinds)) if name == "kind" and len(kinds) > 1 else ""
        yield (
            code(name),
            "" if every else ", ".join(code(kind) for kind, _ in own),
            "yes" if needed else "",
            kind_list or meaning({"schema": told}),
        )


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
