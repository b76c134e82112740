"""What is done in the console, in a real browser: filters, silences, captures and their jobs."""

import csv
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
    "below": None, "for_ns": 0, "group_by": ["device", "interface"], "severity": "page",
    "summary": "",
}  # fmt: skip
CHANGE = {
    "time_ns": 1760000000100000000, "rule": "port full", "labels": LABELS,
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
    ("panel", "told"),
    [("Now", LABELS), ("Rules", {"group_by": "device interface"}), ("History", LABELS)],
)
def test_alerts_in_csv_have_a_column_for_each_label(
    page: Callable[..., View], panel: str, told: dict[str, str]
) -> None:
    view = page("#/nowhere")
    for pattern, answer in TOLD.items():
        view.page.route(pattern, partial(fulfilled, answer))
    view.turn("#/alerts")
    with view.page.expect_download() as saved:
        view.page.locator(f'section[aria-label="{panel}"] header button', has_text="CSV").click()
    text = saved.value.path().read_text()
    assert "[object" not in text
    [row] = csv.DictReader(text.splitlines())
    assert {name: row[name] for name in told} == told


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


def test_who_works_with_the_keyboard_stays_where_they_are(
    page: Callable[..., View], capture: Path
) -> None:
    """What was pressed is drawn anew with what came of it; what was said and typed beside stays."""
    view = page("#/captures")
    view.page.uncheck('input[name="analyze"]')
    view.page.set_input_files('input[type="file"]', capture)
    view.page.click(BRING)
    row = 'section[aria-label="Files"] tbody tr'
    view.page.wait_for_selector(row)
    view.page.fill('input[name="flow"]', "10.0.1.2:1 10.0.2.2:2")
    view.page.focus(f"{row} button >> text=Analyse")
    view.page.keyboard.press("Enter")
    job = 'section[aria-label="Jobs"] tbody tr'
    view.page.wait_for_selector(f"{job} progress")
    focused = "document.activeElement.ariaLabel"
    assert view.page.evaluate(focused) == "Analyse small.pcapng"
    view.page.set_input_files('input[type="file"]', Path(__file__))
    view.page.click(BRING)
    view.page.wait_for_selector("text=not a capture file")
    view.said.clear()  # the browser tells of the 415
    view.page.focus(f"{job} button >> text=Cancel")
    with view.page.expect_response("**/api/v1/jobs"):
        pass
    assert view.page.evaluate(focused).startswith("Cancel analyze")
    assert "not a capture file" in view.text
    view.page.keyboard.press("Enter")
    view.page.wait_for_selector("text=local cancelled it")
    assert view.page.evaluate(focused) == "Jobs"
    assert view.page.input_value('input[name="flow"]') == "10.0.1.2:1 10.0.2.2:2"
    view.page.click(f"{job} button >> text=Delete")
    view.page.wait_for_selector(job, state="detached")
    view.page.click(f"{row} button >> text=Delete")
    view.page.wait_for_selector(row, state="detached")


def test_a_row_that_is_drawn_anew_is_not_taken_for_another(page: Callable[..., View]) -> None:
    """Two jobs of one name: who is at the second one's button stays there, and asks once."""
    view = page("#/nowhere")
    held = {"id": "c1", "name": "small.pcapng", "bytes": 9, "created_ns": 10**18, "who": "sre"}
    rows = [
        {"id": each, "kind": "analyze", "state": "running", "created_ns": 10**18, "frames": 5,
         "progress": 0.5, "reason": None, "results": [], "asked": {"capture": "c1"}, "found": None}
        for each in ("j1", "j2")
    ]  # fmt: skip
    told = {"captures": [held], "bytes": 9, "most_bytes": 99, "most_bytes_each": 99}
    view.page.route("**/api/v1/captures", partial(fulfilled, told))
    view.page.route("**/api/v1/jobs", partial(fulfilled, {"jobs": rows, "more": False}))
    cancelled: list[str] = []
    view.page.route("**/cancel", lambda route: cancelled.append(route.request.url))
    view.turn("#/captures")
    view.page.focus('section[aria-label="Jobs"] [data-key="j2"]')
    for _ in range(2):
        with view.page.expect_response("**/api/v1/jobs"):
            pass
    assert view.page.evaluate("document.activeElement.dataset.key") == "j2"
    for _ in range(3):
        view.page.keyboard.press("Enter")
    view.page.wait_for_timeout(1500)
    assert [url.split("/")[-2] for url in cancelled] == ["j2"]


def test_a_form_is_sent_once(page: Callable[..., View]) -> None:
    view = page("#/alerts")
    sent: list[Any] = []

    def hold(route: Any) -> None:
        if route.request.method == "POST":
            sent.append(route)
        else:
            route.continue_()

    view.page.route("**/api/v1/alerts/silences", hold)
    view.page.fill("input[name=matchers]", "device=leaf1")
    view.page.fill("input[name=for]", "2h")
    view.page.dblclick("text=Keep quiet")
    view.page.wait_for_timeout(500)
    [route] = sent
    told = {"title": "busy", "status": 503, "detail": "all readers are at work"}
    route.fulfill(status=503, json=told)
    view.page.wait_for_selector("text=all readers are at work")
    view.said.clear()  # the browser tells of the 503
    view.page.evaluate("document.activeElement.blur()")
    view.page.evaluate("document.querySelector('main h1').textContent = 'old'")
    view.page.emulate_media(color_scheme="dark")
    view.page.wait_for_function("() => document.querySelector('main h1').textContent !== 'old'")
    assert "all readers are at work" in view.text
    assert view.page.input_value("input[name=matchers]") == "device=leaf1"


def test_what_is_typed_outlasts_news_and_what_stands_a_refusal(page: Callable[..., View]) -> None:
    view = page("#/")
    view.page.fill('main input[name="filter"]', "stage = tor")
    view.page.evaluate("document.activeElement.blur()")
    view.page.evaluate("document.querySelector('main h1').textContent = 'old'")
    view.page.emulate_media(color_scheme="dark")
    view.page.wait_for_selector("main h1:has-text('held back')")
    assert view.page.input_value('main input[name="filter"]') == "stage = tor"
    told = {"title": "busy", "status": 503, "detail": "all readers are at work"}
    view.page.route("**/api/v1/bottlenecks*", lambda route: route.fulfill(status=503, json=told))
    view.page.emulate_media(color_scheme="light")
    view.page.wait_for_selector("#covered:has-text('not of now: all readers are at work')")
    view.said.clear()  # the browser tells of the 503
    assert "held back" in view.page.inner_text("main h1")
    view.page.unroute("**/api/v1/bottlenecks*")
    view.page.emulate_media(color_scheme="dark")
    view.page.wait_for_function(
        "() => !document.getElementById('covered').textContent.includes('not of now')"
    )


def test_news_reach_whoever_stands_on_a_button_and_wait_for_who_is_in_a_field(
    page: Callable[..., View], served: Any
) -> None:
    """Of a view that waits it is said; where the focus was on a button, it stays there."""
    view = page("#/alerts")
    view.page.focus("main button >> text=CSV >> nth=0")
    wish = {"matchers": {"device": "leaf9"}, "for": "1h", "comment": "planned work"}
    place = f"{served.url}/api/v1/alerts/silences"
    made = httpx.post(place, json=wish).raise_for_status().json()
    view.page.wait_for_selector("main:has-text('planned work')")
    assert view.page.evaluate("document.activeElement.textContent") == "CSV"
    view.page.focus("input[name=matchers]")
    httpx.delete(f"{place}/{made['id']}").raise_for_status()
    view.page.wait_for_selector("#covered:has-text('not of now')")
    assert "planned work" in view.page.inner_text("main")
    view.page.evaluate("document.activeElement.blur()")
    view.page.wait_for_selector("main:not(:has-text('planned work'))")
    view.settled()
    assert "not of now" not in view.page.inner_text("#covered")


def test_a_text_that_is_no_end_may_be_a_switch_a_link_or_a_prefix(
    page: Callable[..., View],
) -> None:
    for text, leads in (
        ("leaf2+Ethernet4", "#/link?device=leaf2&interface=Ethernet4"),
        ("leaf2", "#/fabric?device=leaf2"),
        ("10.0.1.0/24", "#/find?filter=host+in+10.0.1.0%2F24"),
    ):
        view = page(f"#/find?q={text}")
        view.page.wait_for_selector(".note a")
        view.said.clear()  # the browser tells of the 422
        assert view.page.locator(".note a").first.get_attribute("href") == leads
        assert view.page.input_value('main input[name="q"]') == text.replace("+", " ")


def test_a_time_that_is_refused_can_be_corrected(page: Callable[..., View]) -> None:
    view = page("#/?from=2030-01-01T00:00:00Z&to=2031-01-01T00:00:00Z")
    view.page.wait_for_selector("main .note")
    view.said.clear()  # the browser tells of the 422
    assert "is longer than" in view.page.inner_text("main .note")
    assert view.page.input_value('main input[name="from"]') == "2030-01-01T00:00:00Z"


def test_a_flow_is_shown_from_one_time_to_another(page: Callable[..., View]) -> None:
    begin = 1_760_000_000 * 10**9
    flow = "#/flow?src=10.0.1.1:40001&dst=10.0.2.1:5001"
    asked = f"{flow}&from={begin + 50_000_000}&to={begin + 100_000_000}"
    view = page("#/nowhere")
    with view.page.expect_request("**/api/v1/flows/bottleneck*") as sent:
        view.turn(asked)
    assert f"at={begin + 100_000_000}&window=50000000ns" in sent.value.url
    assert "no time was given" not in view.text
    assert ".050 to 2025-10-09 08:53:20.100 UTC" in view.page.inner_text("#covered")


def test_a_moment_is_told_to_the_microsecond_that_it_is(page: Callable[..., View]) -> None:
    view = page("#/nowhere")
    told = view.page.evaluate(
        "import('/console/units.js').then((units) => [9, 10, 50, 90, 130].map((ms) =>"
        " units.moment(1760000000000000000 + ms * 1e6, 1e9)))"
    )
    assert [each.rpartition(".")[2] for each in told] == ["009", "010", "050", "090", "130"]


def test_what_others_sent_over_a_link_counts_in_its_shares(page: Callable[..., View]) -> None:
    view = page("#/nowhere")
    url = "**/api/v1/links/flows*"

    def with_others(route: Any) -> None:
        told = route.fetch().json()
        for row in told["flows"]:
            row["share"] = 0.17
        route.fulfill(json=told | {"others": {"flows": 5, "data_bytes": 79_924_000}})

    view.page.route(url, with_others)
    view.turn(f"#/link?device=leaf2&interface=Ethernet4&{RANGE}")
    assert "beside them 5 flows of others, 76.2 MiB" in view.text
    assert "17 %" in view.text
    assert "33 %" not in view.text
