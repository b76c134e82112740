"""The API of a service elsewhere, asked by commands with a token from the environment."""

import os
from typing import Any

import httpx

from service.failure import ExitCode, Failure
from service.form import is_http
from service.service_settings import OWN_VARIABLE
from service.trust import trust

TIMEOUT_S = 60.0


def check_url(option: str, url: str) -> None:
    """Refuse what no HTTP server could be asked at. Raises Failure."""
    if not is_http(url):
        said = "is not http://HOST[:PORT] or https://HOST[:PORT]"
        raise Failure(ExitCode.USAGE, f"{option} {url!r} {said}")


def ask(server: str, path: str, parameters: dict[str, Any], field: str = "") -> dict[str, Any]:
    """The answer of a route; Failure has the sentence of the service.

    An answer 404 that has `field` is an answer too: it says what there is instead.
    """
    token = os.environ.get(OWN_VARIABLE, "")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    given = {name: value for name, value in parameters.items() if value is not None}
    check_url("--server", server)
    url = server.rstrip("/") + path
    try:
        answer = httpx.get(url, params=given, headers=headers, timeout=TIMEOUT_S, verify=trust(url))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        why = str(error) or type(error).__name__
        raise Failure(ExitCode.UNAVAILABLE, f"--server {server}: {why}") from None
    try:
        told = answer.json()
    except ValueError:
        told = None
    if not isinstance(told, dict):
        said = f"status {answer.status_code} without a JSON object: no hopsight answers there"
        raise Failure(ExitCode.UNAVAILABLE, f"--server {server}: {said}")
    if answer.is_success or (
        field and answer.status_code == httpx.codes.NOT_FOUND and field in told
    ):
        return told
    detail = str(told.get("detail", f"status {answer.status_code}"))
    if answer.status_code in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
        raise Failure(ExitCode.UNAVAILABLE, f"--server {server}: {detail} ({OWN_VARIABLE})")
    wrong = answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    code = ExitCode.USAGE if wrong else ExitCode.STORE
    raise Failure(code, f"--server {server}: {detail}")
