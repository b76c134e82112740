"""The whole OpenAPI document against the service: no 5xx, and every answer as it is described."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import schemathesis
from asked import Asked, opened
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from jsonschema_rs import validate
from schemathesis import GenerationMode

from service.answer_table import ANSWERS, EXAMPLES
from service.openapi import schema_of
from service.settings import Settings

TIMES = int(os.environ.get("CONTRACT_EXAMPLES", "1"))
"""Requests of each kind to each route; `make soak` takes more."""
STREAM = "/api/v1/events"
"""Does not end by itself; test_events hears it."""
NOT_CHECKED = ("positive_data_acceptance",)
"""A text may have the right form and still be no time, filter or flow that there is."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, world: ModuleType) -> Iterator[Asked]:
    with opened(tmp_path_factory.mktemp("contract")) as store:
        for table, rows in world.frames().items():
            store.insert(table, rows, "world")
        # The client of the tool calls itself so.
        served = {"service": {"names": ["testserver"]}}
        with Asked(store, Settings.model_validate(served)) as client:
            yield client


@pytest.fixture(scope="module")
def app(asked: Asked) -> FastAPI:
    return asked.app


def told_names(app: FastAPI, line: str) -> set[str]:
    """Names that the document tells of a route's answer; those of a result may be any."""
    method, _, path = line.partition(" ")
    answers = app.openapi()["paths"][path][method.lower()]["responses"]
    [own] = [answers[status] for status in ("200", "201", "202") if status in answers]
    return set(own["content"]["application/json"]["schema"].get("properties", ()))


def test_an_empty_store_answers_as_it_is_described(tmp_path: Path) -> None:
    # In front of the others: one store can be open at a time.
    with opened(tmp_path) as store, Asked(store) as empty:
        for line in ANSWERS:
            method, _, path = line.partition(" ")
            answer = empty.get(path) if method == "GET" and "{" not in path else None
            if answer is not None and answer.status_code == 200:
                validate(schema_of(line), answer.json())
                assert set(answer.json()) <= told_names(empty.app, line), line


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_route_keeps_its_contract(app: FastAPI, mode: GenerationMode) -> None:
    schema: Any = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    unchecked = [schemathesis.checks.CHECKS.get_one(name) for name in NOT_CHECKED]
    counted: Counter[str] = Counter()
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path == STREAM:
            continue

        @settings(
            max_examples=TIMES, deadline=None, database=None, derandomize=TIMES < 100,
            suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate],
        )  # fmt: skip
        @given(operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            counted[case.operation.label] += 1
            answer = case.call_and_validate(excluded_checks=unchecked)
            told = answer.headers.get("content-type", [""])[0] if answer.content else ""
            if answer.status_code < 300 and told.startswith("application/json"):
                line = case.operation.label
                assert set(answer.json()) <= told_names(app, line), line

        # Nothing can be wrong with what is asked of a route that takes nothing.
        impossible = (Unsatisfiable,) if mode is GenerationMode.NEGATIVE else ()
        with suppress(*impossible):
            ask()
    assert len(counted) > (20 if mode is GenerationMode.POSITIVE else 10)


def test_the_document_has_examples_and_problems(app: FastAPI) -> None:
    document = app.openapi()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            problems = operation["responses"]["422"]["content"]
            assert list(problems) == ["application/problem+json"], path
        for each in operations.get("get", {}).get("parameters", ()):
            told = each["schema"]
            if told.get("type") == "string" and told.get("default") is not None:
                assert isinstance(told["default"], str), (path, each["name"])
    assert document["components"]["schemas"]["Problem"]["examples"]
    shown = document["paths"]["/api/v1/bottlenecks"]["get"]["responses"]["200"]["content"]
    assert shown["application/json"]["example"]["bottlenecks"]


def shape(value: Any) -> Any:
    """Names of an answer, one entry of a list standing for all; None where there is nothing."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return shape(value[0]) if value else None
    return None


def fits(example: Any, answer: Any, place: str) -> None:
    """An answer holds no name that its example lacks."""
    if example is not None and answer is not None:
        assert set(answer) <= set(example), place
        for name, each in answer.items():
            fits(example[name], each, f"{place} {name}")


def test_every_answer_has_an_example_that_is_as_it_is_described(app: FastAPI) -> None:
    assert set(EXAMPLES) == set(ANSWERS)
    for line, example in EXAMPLES.items():
        validate(schema_of(line), example)
        assert set(example) <= told_names(app, line), line


def test_examples_have_the_names_of_answers(asked: Asked) -> None:
    key = asked.get("/api/v1/bottlenecks").json()["bottlenecks"][0]["flow"]
    ends = {"src": f"{key['src']}:{key['sport']}", "dst": f"{key['dst']}:{key['dport']}"}
    about: dict[str, dict[str, str]] = {
        "flows/bottleneck": ends, "flows/signals": ends, "flows/contributors": ends,
        "flows/spans": ends,
    }  # fmt: skip
    plain = ("bottlenecks", "flows", "links", "topology",
             "replay/algorithms", "session", "captures", "jobs")  # fmt: skip
    for name in (*plain, *about):
        answer = asked.get(f"/api/v1/{name}", **about.get(name, {}))
        assert answer.status_code == 200, (name, answer.text)
        fits(shape(EXAMPLES[f"GET /api/v1/{name}"]), shape(answer.json()), name)


HOSTILE = ("' OR 1=1 --", "<script>alert(1)</script>", "../../etc/passwd", "\x00", "{a:String}",
           "1" * 5000, "%s%n", "𝕊\u202e", "; DROP TABLE flows")  # fmt: skip


def test_hostile_text_in_every_field_is_a_plain_answer(asked: Asked) -> None:
    for path, operations in asked.app.openapi()["paths"].items():
        for method, operation in operations.items():
            names = [row["name"] for row in operation.get("parameters", ()) if row["in"] == "query"]
            for number, name in enumerate(names):
                text = HOSTILE[number % len(HOSTILE)]
                if path == STREAM and len(text) < 64:
                    continue
                place = path.replace("{name}", "x")
                answer = asked.ask(method.upper(), place, params={name: text})
                assert answer.status_code < 500, (path, name, text, answer.text)
                assert "<script>" not in answer.text or "json" in answer.headers["content-type"]
