"""What is wrong with the head of a request before anybody looks at what it asks for."""

import re
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.types import Scope

HOST = re.compile(r"(?:\[[^\[\]]*\]|[^\[\]:/?#@]*)(?::\d*)?", re.ASCII)
"""A host with or without a port (RFC 3986, 3.2.2 and 3.2.3), as far as it has to be told apart."""
PLAIN = "identity"
"""The coding of what is not coded (RFC 9110, 8.4)."""


class Fault(NamedTuple):
    """What is wrong with the head of a request."""

    field: str
    detail: str
    status: int = 400


def of_host(scope: Scope, headers: Headers) -> Fault | None:
    """What is wrong where there is not one Host (RFC 9112, 3.2); HTTP/1.0 may have none."""
    given = headers.getlist("host")
    if len(given) > 1:
        return Fault("Host", f"Host is given {len(given)} times; one is accepted")
    if not given and scope.get("http_version") == "1.1":
        return Fault("Host", "Host is required in a request of HTTP/1.1")
    if given and not HOST.fullmatch(given[0]):
        return Fault("Host", "Host is no name or address, with or without a port")
    return None


def of_others(headers: Headers) -> Fault | None:
    """What is wrong where two log in by one request, or a body is coded."""
    if (times := len(headers.getlist("authorization"))) > 1:
        return Fault("Authorization", f"Authorization is given {times} times; one is accepted")
    coding = headers.get("content-encoding", PLAIN)
    if coding.strip().lower() != PLAIN:
        said = "Content-Encoding is none that is taken; send the body as it is, not by a coding"
        return Fault("Content-Encoding", said, 415)
    return None
