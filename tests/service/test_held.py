"""Answers that hold are told before routes are looked at, to those alone who may ask for them."""

import asyncio
import math
import time
from collections.abc import Iterator
from concurrent.futures import Future
from types import ModuleType

import polars as pl
import pytest
from asked import Asked, opened, strict
from fastapi import Request, Response

from service.access import IDENTITY, Identity, Scope
from service.representation import Tags
from service.tokens import line_of, made
from service.told_answers import ToldAnswers
from service.turns import MOST_LATER_S

PATH = "/api/v1/links"
TOKENS = {name: made() for name in ("one", "other", "blue")}
LINES = ";".join(
    line_of(name, "read", "blue" if name == "blue" else "*", TOKENS[name]) for name in TOKENS
)


@pytest.fixture
def asked(tmp_path_factory: pytest.TempPathFactory, world: ModuleType) -> Iterator[Asked]:
    with opened(tmp_path_factory.mktemp("held")) as store:
        for table, frame in world.frames().items():
            store.insert(table, frame, "world")
        with Asked(store, *strict(LINES)) as client:
            yield client


def counted(asked: Asked, route: str) -> float:
    """Answers that are counted under a route."""
    lines = asked.get("/metrics", TOKENS["one"]).text.splitlines()
    told = [line for line in lines if line.startswith("hopsight_http_requests_total{")]
    return sum(float(line.split()[-1]) for line in told if f'route="{route}"' in line)


def test_an_answer_that_holds_needs_no_route(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    first = asked.get(PATH, TOKENS["one"])
    routed: list[str] = []
    handle = asked.app.router.app

    async def watched(scope: dict[str, str], receive: object, send: object) -> None:
        routed.append(scope["path"])
        await handle(scope, receive, send)  # type: ignore[arg-type] # as it was called

    monkeypatch.setattr(asked.app.router, "middleware_stack", watched)
    again = asked.get(PATH, TOKENS["other"])
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["x-content-type-options"] == "nosniff"
    tag = {"If-None-Match": first.headers["etag"]}
    assert asked.get(PATH, TOKENS["one"], headers=tag).status_code == 304
    assert routed == []
    assert asked.get(PATH).status_code == 401
    assert asked.get(PATH, "hs_wrong").status_code == 401
    assert routed == []
    assert asked.get(PATH, TOKENS["blue"]).status_code == 200
    assert routed == [PATH], "what others may see is another answer"
    assert counted(asked, PATH) == 4


def test_what_was_stored_since_is_told(asked: Asked, world: ModuleType) -> None:
    path = "/api/v1/te/paths"
    first = asked.get(path, TOKENS["one"])
    assert asked.get(path, TOKENS["one"]).content == first.content
    row = {"time_ns": world.START_NS, "scope": "site", "tenant": "", "src": "here", "dst": "there",
           "dscp": 0, "source": "traffic", "data_bytes": 5, "data_frames": 1}  # fmt: skip
    asked.app.state.reader.store.insert("path_seconds", pl.DataFrame([row]), "since")
    tag = {"If-None-Match": first.headers["etag"]}
    again = asked.get(path, TOKENS["one"], headers=tag)
    assert again.status_code == 200
    assert "there" in {each["dst"] for each in again.json()["paths"]}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("spelt", ["format=csv", "%66ormat=csv", "form%61t=%63sv"])
def test_the_format_is_part_of_what_was_asked(asked: Asked, spelt: str) -> None:
    path = "/api/v1/te/links"
    assert asked.get(path, TOKENS["one"]).headers["content-type"] == "application/json"
    for _ in range(2):
        kind = asked.get(f"{path}?{spelt}", TOKENS["one"]).headers["content-type"]
        assert kind.startswith("text/csv")
    assert asked.get(path, TOKENS["one"]).headers["content-type"] == "application/json"


def test_who_would_wait_in_vain_is_sent_away_before_parameters_are_looked_at(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, turns = "/api/v1/flows/bottleneck", asked.app.state.reader.answers
    with monkeypatch.context() as crowded:
        crowded.setattr(turns, "_free", 0)
        crowded.setattr(turns, "_waiting", [(-1, 0, Future())])  # somebody waits already
        crowded.setattr(turns, "_takes_s", 60.0)
        answer = asked.get(path, TOKENS["one"])
        assert answer.status_code == 503
        later = f"{min(math.ceil(60 / turns.count), MOST_LATER_S)}"
        assert answer.headers["retry-after"] == later
        detail = answer.json()["detail"]
        assert "the store is busy: an answer takes" in detail
        assert detail.endswith(f"try again in {later} s")
        assert asked.get(path).status_code == 401
    assert asked.get(path, TOKENS["one"]).status_code == 422


def test_an_answer_is_of_those_who_asked_and_of_nobody_with_a_like_name() -> None:
    def key(path: str, query: bytes, *tenants: str) -> str:
        identity = Identity("someone", Scope.READ, tenants)
        scope = {"type": "http", "path": path, "query_string": query, "headers": [],
                 IDENTITY: identity}  # fmt: skip
        return Tags.key(Request(scope))

    keys = [
        key(PATH, b"", "a b"), key(PATH, b"", "a", "b"), key(PATH, b"", ""), key(PATH, b""),
        key(PATH, b"", "x *"), key(PATH, b"", "x", "*"), key(PATH, b"a=1?b"),
        key(f"{PATH}?a=1", b"b"),
    ]  # fmt: skip
    assert len({*keys}) == len(keys)


def test_what_is_kept_of_many_small_answers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.told_answers.KEPT_OCTETS", 100_000)
    answers = ToldAnswers()

    async def make() -> Response:
        return Response(b"[]")

    async def asked_all() -> None:
        for number in range(100):
            await answers.ask(f"{'q' * 500}{number}", 1, busy=lambda: False, make=make)

    asyncio.run(asked_all())
    assert sum(answers.held(f"{'q' * 500}{number}", 1, busy=lambda: False) is not None
               for number in range(100)) < 40  # fmt: skip


def test_an_answer_of_an_idle_store_is_made_anew_once_in_a_while(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asked.get(PATH, TOKENS["one"])
    told = counted_questions(asked)
    tag = {"If-None-Match": first.headers["etag"]}
    assert asked.get(PATH, TOKENS["one"], headers=tag).status_code == 304
    assert counted_questions(asked) == told
    later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert asked.get(PATH, TOKENS["one"], headers=tag).status_code == 304
    assert counted_questions(asked) > told


def test_any_tag_is_one_that_the_client_has(asked: Asked) -> None:
    asked.get(PATH, TOKENS["one"])
    assert asked.get(PATH, TOKENS["one"], headers={"If-None-Match": "*"}).status_code == 304


def counted_questions(asked: Asked) -> float:
    """Questions that the store was asked."""
    lines = asked.get("/metrics", TOKENS["one"]).text.splitlines()
    told = [line for line in lines if line.startswith("hopsight_store_queries_total{")]
    return sum(float(line.split()[-1]) for line in told)
