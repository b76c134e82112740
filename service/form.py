"""Forms of texts that people give: a pattern for machines, and what is said of what is not so."""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field

PRINTED = r"^[^\x00-\x1f]*$"
URL = r"^https?://"
ID = r"^[0-9a-f]{16}$"
"""What a capture or a job is called in answers."""
HEX = r"^[0-9a-f]+$"
FILE_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.@+-]*$"
LABEL = r"^[A-Za-z_][A-Za-z0-9_]*$"
TEXT_LIMIT = 200
"""Longest text that is given, characters."""
Text = Annotated[str, Field(max_length=TEXT_LIMIT, pattern=PRINTED)]

REQUIRED = "is required"
SAID = {
    PRINTED: "has a character that cannot be printed",
    URL: "does not begin with http:// or https://",
    ID: "is not 16 digits and letters from a to f, as answers tell it",
    HEX: "has other characters than digits and letters from a to f",
    LABEL: "is no name of a label: letters, digits and _, and no digit first",
    FILE_NAME: "has other characters than letters, digits and _ . @ + -, or begins with . @ + -",
}
WORDS = {
    "missing": REQUIRED,
    "too_short": "should have {min_length} or more items",
    "too_long": "should have at most {max_length} items",
    "tuple_type": "should be a list",
    "model_type": "should be a table",
    "int_parsing_size": "is a number that is too large",
}
"""What is said in the place of pydantic's own words, by its error types, with what these tell."""


def is_http(url: str) -> bool:
    """Whether a server could be asked at a URL: http or https, a host, a port that there is."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def lacking(pattern: str) -> str:
    """What is said of a text that is not so, behind the name of its field."""
    return SAID.get(pattern, f"is not of the form {pattern}")


def said_of(error: Mapping[str, Any]) -> str:
    """What is said of a value that pydantic refuses, behind the name of its field."""
    if error["type"] == "string_pattern_mismatch":
        return lacking(str(error["ctx"]["pattern"]))
    if error["type"] in WORDS:
        return WORDS[error["type"]].format(**error.get("ctx") or {})
    return str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
