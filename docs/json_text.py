"""JSON as a person reads it: what fits a line stays on one."""

import json
from typing import Any

WIDTH = 110


def json_text(value: Any, indent: int = 0) -> str:
    """A value as JSON; containers that are wider than a line are broken into their entries."""
    line = json.dumps(value, ensure_ascii=False)
    if indent + len(line) <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner = indent + 1
    if isinstance(value, dict):
        entries = [f"{json.dumps(name)}: {json_text(each, inner)}" for name, each in value.items()]
    else:
        entries = [json_text(each, inner) for each in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    body = ",\n".join(" " * inner + entry for entry in entries)
    return f"{begin}\n{body}\n{' ' * indent}{end}"
