"""The reference page of files of alert rules, from the models that read them."""

from collections.abc import Iterator

from markdown_text import code, table, title
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from service.alerts.rule import Receiver, Rule


def alerts() -> Iterator[str]:
    """Fields of rules and receivers."""
    yield title(
        "Alert rules",
        "The file that `service.alerts_file` names (TOML): tables `[[rule]]` and `[[receiver]]`. A "
        "length of time is written such as `30s`.",
    )
    for name, model in (("rule", Rule), ("receiver", Receiver)):
        yield f"## {name}\n"
        yield table(("field", "default", "meaning"), rows(model))


def rows(model: type[BaseModel]) -> Iterator[tuple[str, str, str]]:
    """The fields of a table."""
    for name, field in model.model_fields.items():
        empty = field.default is PydanticUndefined
        default = "must be given" if empty else code(shown(name, field.default))
        yield code(field.alias or name), default, field.description or ""


def shown(name: str, value: object) -> str:
    """A default as a file would have it."""
    if value in (None, "", ()):
        return ""
    if name.endswith("_ns") and isinstance(value, int):
        return f"{value / 10**9:g}s"
    return str(value)
