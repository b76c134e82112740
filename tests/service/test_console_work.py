"""What is done in the console, in a real browser: filters, silences, captures and their jobs."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from browser import View

BRING = 'form[aria-label="Bring a capture"] button'
RANGE = "from=1760000000&to=1760000000.2"
LABELS = {
    "alertname": "port full",
    "device": "leaf1",
    "interface": "Ethernet48",
    "severity": "page",
}
ALERT = {
    "rule": "port full", "labels": LABELS, "state": "firing", "since_ns": 1760000000100000000,
    "value": 2.21, "flapping": False, "silenced_by": [], "summary": "an uplink is full",
    "runbook": "https://runbooks.example/port-full",
}  # fmt: skip
RULE = {
    "name": "port full", "over": "links", "filter": 'stage = "tor"', "value": "u.p99", "above": 1.0,
    "below": None, "for_ns": 0, "group_by": ["device"], "severity": "page", "summary": "",
}  # fmt: skip
CHANGE = {
    "time_ns": 1760000000100000000, "rule": "port full", "labels": json.dumps(LABELS),
    "state": "firing", "since_ns": 1760000000100000000, "value": 2.21, "changes": 1,
}  # fmt: skip
TOLD = {
    "**/api/v1/alerts": {"now_ns": 1760000000200000000, "alerts": [ALERT]},
    "**/api/v1/alerts/rules": {"rules": [RULE], "receivers": [{"name": "am", "kind": "webhook"}]},
    "**/api/v1/alerts/history*": {"changes": [CHANGE], "more": False},
}


def fulfilled(answer: Any, route: Any) -> None:
    """Answer what the page asks."""
    route.fulfill(json=answer)


@pytest.fixture
def page(looked: Callable[..., View], served: Any) -> Callable[..., View]:
    """A view of the console by its URL."""
    return lambda view, *more, **named: looked(f"{served.url}/{view}", *more, **named)


def test_a_wrong_filter_points_at_its_column(page: Callable[..., View]) -> None:
    view = page(f"#/?{RANGE}")
    view.page.fill('main input[name="filter"]', "device = leaf1 and colour = red")
    view.page.keyboard.press("Enter")
    view.page.wait_for_selector(".caret")
    view.said.clear()  # the browser tells of the 400
    text, caret = view.page.inner_text(".caret").split("\n")
    assert text[caret.index("^") :].startswith("colour")
    view.page.fill('main input[name="filter"]', "sport in (40001, 40002)")
    view.page.keyboard.press("Enter")
    view.page.wait_for_function("() => !document.querySelector('.caret')")
    view.settled()
    assert "2 flows are held back" in view.text


def test_the_search_box_takes_a_filter(page: Callable[..., View]) -> None:
    view = page("#/nowhere")
    view.page.fill("#query", "sport = 40003 and kind is known")
    view.page.press("#query", "Enter")
    view.page.wait_for_selector("tbody tr")
    assert view.page.locator("tbody tr").count() == 1
    assert "10.0.1.3:40003" in view.text
    assert view.page.input_value('main input[name="filter"]') == "sport = 40003 and kind is known"


def test_an_alert_is_kept_quiet_from_its_page(page: Callable[..., View], axe: str) -> None:
    view = page("#/nowhere")
    for pattern, answer in TOLD.items():
        view.page.route(pattern, partial(fulfilled, answer))
    view.turn("#/alerts")
    assert "1 alert firing" in view.text
    assert "u.p99 of links above 1, where stage" in view.text
    view.page.click('section[aria-label="Now"] tbody button')
    wanted = view.page.input_value('input[name="matchers"]')
    assert wanted == 'alertname="port full" device=leaf1 interface=Ethernet48'
    view.page.fill('input[name="for"]', "soon")
    view.page.press('input[name="for"]', "Enter")
    view.page.wait_for_selector("text=is not a duration")
    view.said.clear()  # the browser tells of the 422
    view.page.fill('input[name="for"]', "2h")
    view.page.select_option('select[name="kind"]', "maintenance")
    view.page.fill('input[name="comment"]', "<b>line card</b>")
    view.page.press('input[name="for"]', "Enter")
    # Other tests may have kept theirs in the same store.
    kept = 'section[aria-label="Quiet"] tbody tr:has-text("line card")'
    view.page.wait_for_selector(kept)
    assert "<b>line card</b>" in view.page.inner_text(kept)
    assert view.violations(axe) == []
    view.page.click(f"{kept} button")
    view.page.wait_for_selector(kept, state="detached")


@pytest.mark.parametrize(
    "typed",
    ["device=leaf1 Ethernet7", "device=leaf1 interface = Ethernet7", "device=~leaf.*",
     'device="leaf', "device=leaf1 device=leaf2", "leaf1"],
)  # fmt: skip
def test_no_more_is_kept_quiet_than_was_typed(
    page: Callable[..., View], served: Any, typed: str
) -> None:
    view = page("#/alerts")
    before = httpx.get(f"{served.url}/api/v1/alerts/silences").json()
    view.page.fill("input[name=matchers]", typed)
    view.page.fill("input[name=for]", "2h")
    view.page.click("text=Keep quiet")
    view.page.wait_for_selector("text=Write name=value")
    assert httpx.get(f"{served.url}/api/v1/alerts/silences").json() == before


def test_a_capture_is_brought_and_its_job_followed_and_cancelled(
    page: Callable[..., View], capture: Path, served: Any, axe: str
) -> None:
    view = page("#/captures")
    view.page.uncheck('input[name="analyze"]')
    view.page.set_input_files('input[type="file"]', capture)
    view.page.click(BRING)
    row = 'section[aria-label="Files"] tbody tr'
    view.page.wait_for_selector(row)
    assert "small.pcapng" in view.page.inner_text(row)
    view.page.click(f"{row} button >> text=Analyse")
    job = 'section[aria-label="Jobs"] tbody tr'
    view.page.wait_for_selector(f"{job} progress")
    assert view.violations(axe) == []
    view.page.click(f"{job} button >> text=Cancel")
    view.page.wait_for_selector("text=local cancelled it")
    view.page.click(f"{job} button >> text=Delete")
    view.page.wait_for_selector(job, state="detached")
    view.page.set_input_files('input[type="file"]', Path(__file__))
    view.page.click(BRING)
    view.page.wait_for_selector("text=not a capture file")
    view.said.clear()  # the browser tells of the 415
    view.page.click(f"{row} button >> text=Delete")
    view.page.wait_for_selector(row, state="detached")
    assert httpx.get(f"{served.url}/api/v1/captures").json()["captures"] == []
