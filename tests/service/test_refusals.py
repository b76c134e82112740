"""Strangers' input: a plain 4xx problem that names the field, and never more."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import httpx
import pytest

FLOW = {"src": "10.0.1.1:40001", "dst": "10.0.2.1:5001"}
HOSTILE = (
    "' OR 1=1 --",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "\x00",
    "1" * 5000,
    "{flow:UInt64}",
)


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == status
    assert found["detail"]
    return found


@pytest.mark.parametrize(
    ("path", "parameters", "field"),
    [
        ("/api/v1/flows/bottleneck", {"dst": "10.0.2.1:5001"}, "src"),
        ("/api/v1/flows/bottleneck", {**FLOW, "src": "10.0.1.1"}, "src"),
        ("/api/v1/flows/bottleneck", {**FLOW, "proto": "tcpp"}, "proto"),
        ("/api/v1/flows/bottleneck", {**FLOW, "at": "soon"}, "at"),
        ("/api/v1/flows/bottleneck", {**FLOW, "window": "10"}, "window"),
        ("/api/v1/flows/bottleneck", {**FLOW, "window": "400d"}, "window"),
        ("/api/v1/flows/bottleneck", {**FLOW, "vni": "-1"}, "vni"),
        ("/api/v1/flows/bottleneck", {**FLOW, "nonsense": "1"}, "nonsense"),
        ("/api/v1/flows/bottleneck", {**FLOW, "sport": "7"}, "sport"),
        ("/api/v1/flows/bottleneck", {**FLOW, "frames": "2"}, "frames"),
        ("/api/v1/flows/signals", {**FLOW, "window": "0s"}, "window"),
        ("/api/v1/bottlenecks", {"from": "2100-01-01T00:00:00Z"}, "from"),
        ("/api/v1/bottlenecks", {"to": "0"}, "to"),
        ("/api/v1/flows", {"q": "one two three"}, "q"),
        ("/api/v1/flows", {"limit": "0"}, "limit"),
        ("/api/v1/flows", {"from_": "5"}, "from_"),
        ("/api/v1/te/paths", {"class_": "4"}, "class_"),
        ("/api/v1/flows", {"from": "5", "to": "4"}, "to"),
        ("/api/v1/bottlenecks", {"from": "5", "to": "4"}, "to"),
        ("/api/v1/bottlenecks", {"from": "1000000000", "to": "1700000000"}, "from"),
        ("/api/v1/bottlenecks", {"limit": "1000000"}, "limit"),
        ("/api/v1/links", {"device": "leaf1"}, "interface"),
        ("/api/v1/links/flows", {"device": "leaf1"}, "interface"),
        ("/api/v1/te/paths", {"class": "64"}, "class"),
        ("/api/v1/te/links", {"class": "256"}, "class"),
        ("/api/v1/replay/decisions", {**FLOW, "start": str(2**64)}, "start"),
        ("/api/v1/replay/decisions", {**FLOW, "start": "-1"}, "start"),
    ],
)
def test_a_wrong_field_is_named(
    served: Any, path: str, parameters: dict[str, str], field: str
) -> None:
    found = problem(served.get(path, **parameters), 422)
    assert found["field"] == field
    assert "Value error" not in found["detail"]


def test_a_text_that_is_too_long_is_told_in_characters(served: Any) -> None:
    found = problem(served.get("/api/v1/flows", q="a" * 2001), 422)
    assert found["detail"] == "q: String should have at most 2000 characters"


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/api/v1/flows", "limit=5&limit=50", "limit"),
        ("/api/v1/flows", "limit=5&q=tcp&limit=5", "limit"),
        ("/api/v1/flows/signals", "src=10.0.1.1:1&src=10.0.1.2:1&dst=10.0.2.1:1", "src"),
        ("/api/v1/bottlenecks", "from=1&from=2", "from"),
        ("/api/v1/te/paths", "class=&class=4", "class"),
    ],
)
def test_a_parameter_that_is_given_twice_is_refused(
    served: Any, path: str, query: str, field: str
) -> None:
    found = problem(served.get(f"{path}?{query}"), 422)
    assert (found["field"], found["detail"]) == (
        field,
        f"{field}: is given 2 times; one is accepted",
    )


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("alerts/silences", '{"matchers": {"a": "b"}, "for": "1h", "for": "2h"}', "for"),
        ("alerts/silences", '{"matchers": {"a": "b", "a": "c"}, "for": "1h"}', "matchers.a"),
        ("jobs", '{"kind": "analyze", "capture": "0", "capture": "1"}', "capture"),
        ("session", '{"token": "abc", "token": "abd"}', "token"),
        ("session", '[{"token": "abc"}, {"token": "abd", "token": "abd"}]', "1.token"),
    ],
)
def test_a_name_that_a_body_has_twice_is_refused(
    served: Any, path: str, body: str, field: str
) -> None:
    kind = {"Content-Type": "application/json"}
    found = problem(
        httpx.post(f"{served.url}/api/v1/{path}", content=body, headers=kind, timeout=30), 422
    )
    assert (found["field"], found["detail"]) == (
        field,
        f"{field}: is given 2 times; one is accepted",
    )
    other = httpx.post(f"{served.url}/api/v1/{path}", content=body, timeout=30)
    assert problem(other, 415)["field"] == "Content-Type"


def test_a_list_is_given_as_often_as_there_are_values(served: Any) -> None:
    flow = "src=10.0.1.1:40001&dst=10.0.2.1:5001"
    answer = served.get(f"/api/v1/replay/decisions?{flow}&set=eta=0.9&set=N=wrong")
    assert "given 2 times" not in answer.text
    assert problem(answer, 422)["field"] == "set"


def test_a_hidden_route_stays_hidden_where_a_parameter_is_given_twice(served: Any) -> None:
    url = f"{served.url}/internal/v1/insert/verdicts?token=a&token=b"
    problem(httpx.post(url, timeout=30), 404)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_refused_or_finds_nothing(served: Any, text: str) -> None:
    for name in ("src", "dst", "proto", "at", "window"):
        problem(served.get("/api/v1/flows/bottleneck", **(FLOW | {name: text})), 422)
    problem(served.get("/api/v1/flows", q=text), 422)
    for name in ("tenant", "vrf"):
        answer = served.get("/api/v1/flows/bottleneck", **FLOW, **{name: text})
        problem(answer, 404 if answer.status_code == 404 else 422)
    answer = served.get("/api/v1/links", device=text, interface=text)
    problem(answer, 404 if answer.status_code == 404 else 422)
    problem(served.get(f"/console/{quote(text, safe='')}"), 404)


def test_an_unknown_flow_names_those_between_the_same_ends(served: Any) -> None:
    found = problem(served.get("/api/v1/flows/bottleneck", **(FLOW | {"src": "10.0.1.1:1"})), 404)
    assert [flow["sport"] for flow in found["flows"]] == [40001]
    problem(served.get("/api/v1/flows/signals", **(FLOW | {"src": "10.9.9.9:1"})), 404)


def test_a_length_of_which_there_is_no_verdict_is_told_with_those_that_there_are(
    served: Any, world: ModuleType
) -> None:
    path, whole = "/api/v1/bottlenecks", {"from": world.START_NS, "to": world.START_NS + 10**8}
    found = problem(served.get(path, **whole, interval="3ms"), 404)
    assert found["field"] == "interval"
    assert found["detail"].startswith("no verdict on intervals of 3 ms from 2025-10-09T08:53:20")
    assert found["detail"].endswith("there are such of 10 ms")
    assert served.get(path, **whole, interval="10ms").json()["bottlenecks"]
    # Of this length there are verdicts, and of that time there is none.
    sifted = {**whole, "interval": "10ms", "filter": "src = 10.9.9.9"}
    before = {"from": "1000", "to": "1001", "interval": "3ms"}
    for given in (sifted, before):
        answer = served.get(path, **given)
        assert (answer.status_code, answer.json()["bottlenecks"]) == (200, [])


def test_the_interval_of_signals_is_described_by_itself(served: Any) -> None:
    paths = served.get("/api/v1/openapi.json").json()["paths"]

    def told(route: str) -> str:
        rows = paths[f"/api/v1/flows/{route}"]["get"]["parameters"]
        return next(str(row) for row in rows if row["name"] == "interval")

    for route in ("signals", "spans"):
        assert "least width of cells" in told(route)
    assert "least width" not in told("bottleneck")
    given = FLOW | {"window": "100ms", "interval": "3ms"}
    answer = served.get("/api/v1/flows/signals", **given).json()
    assert answer["interval"]["step_ns"] == 10_000_000


def test_another_host_name_is_refused(served: Any) -> None:
    for host in ("evil.example", "evil.example:8470", ""):
        answer = httpx.get(f"{served.url}/api/v1/links", headers={"Host": host})
        assert problem(answer, 421)["field"] == "Host"
    port = served.url.rpartition(":")[2]
    assert httpx.get(f"{served.url}/healthz", headers={"Host": f"localhost:{port}"}).is_success


@pytest.mark.parametrize("path", ["/internal/v1/query/extent", "/internal/v1/insert/flows?token=a"])
def test_the_owners_routes_are_hidden_on_tcp(served: Any, path: str) -> None:
    forged = {"hopsight.unix_socket": "1", "X-Forwarded-For": "unix"}
    method = "POST" if "insert" in path else "GET"
    problem(httpx.request(method, f"{served.url}{path}", headers=forged), 404)


def test_a_large_body_is_refused_declared_or_not(served: Any) -> None:
    large = b"x" * 1_000_000
    problem(httpx.post(f"{served.url}/api/v1/flows", content=large), 413)
    chunked = httpx.post(
        f"{served.url}/internal/v1/insert/flows?token=a", content=iter([large] * 2)
    )
    assert chunked.status_code in {404, 413}


def test_the_wrong_method_and_path(served: Any) -> None:
    found = httpx.post(f"{served.url}/api/v1/links")
    assert "Allow names" in problem(found, 405)["detail"]
    assert found.headers["allow"] == "GET, HEAD"
    several = httpx.request("PATCH", f"{served.url}/api/v1/alerts/silences")
    assert several.headers["allow"] == "GET, POST, HEAD"
    assert "/api/v1/openapi.json" in problem(served.get("/api/v2/links"), 404)["detail"]


@pytest.mark.parametrize(
    "path", ["/api/v1/flows", "/api/v1/links", "/api/v1/flows/bottleneck", "/healthz", "/",
             "/api/v1/events", "/console/plotly.js", "/nowhere"],
)  # fmt: skip
def test_head_is_get_without_a_body(served: Any, path: str) -> None:
    head = httpx.head(f"{served.url}{path}", timeout=10)
    with httpx.stream("GET", f"{served.url}{path}") as got:
        assert (head.status_code, head.content) == (got.status_code, b"")
        for name in ("content-type", "content-length", "etag", "content-security-policy"):
            assert head.headers.get(name) == got.headers.get(name), name


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ('{"token":', 422, "body: is not JSON at character 9: Expecting value"),
        ("[1]", 422, "body: should be a JSON object"),
        ('{"token": ' + "9" * 5000 + "}", 400, "body: cannot be read as JSON"),
        ("[" * 60_000, 400, "body: cannot be read as JSON"),
        (b'{"token": "\xff"}', 400, "body: cannot be read as JSON"),
    ],
)
def test_a_body_that_is_no_object_is_called_the_body(
    served: Any, body: str | bytes, status: int, said: str
) -> None:
    kind = {"Content-Type": "application/json"}
    answer = httpx.post(f"{served.url}/api/v1/session", content=body, headers=kind)
    found = problem(answer, status)
    assert (found["field"], found["detail"]) == ("body", said)


def test_the_owner_refuses_what_is_no_table_and_no_query(served: Any) -> None:
    socket = json.loads(open_owner_file(served.dsn))["socket"]
    with httpx.Client(
        transport=httpx.HTTPTransport(uds=socket), base_url="http://localhost"
    ) as owner:
        problem(owner.post("/internal/v1/insert/users?token=a", content=b""), 404)
        problem(owner.post("/internal/v1/insert/flows?token=a", content=b"nonsense"), 422)
        problem(owner.post("/internal/v1/insert/flows", content=b""), 422)
        problem(owner.get("/internal/v1/query/nowhere"), 422)
        problem(owner.get("/internal/v1/query/extent?parameters=[1]"), 422)
        problem(owner.get("/internal/v1/query/hops?parameters={}"), 422)


def open_owner_file(dsn: str) -> str:
    return Path(f"{dsn.removeprefix('chdb://')}.owner.json").read_text(encoding="utf-8")
