"""Times and texts that pages of the console hand on, in a real browser: they stay what they are."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import polars as pl
import pytest
from browser import View

RANGE = "from=1760000000&to=1760000000.2"
BEGIN, END = 1_760_000_000_000_000_000, 1_760_000_000_200_000_000
STEP = 10_000_000
FLOW = "#/flow?src=10.0.1.1:40001&dst=10.0.2.1:5001"
NOTE = "main div.note"
FINE = 1_760_000_000_000_169_831
"""A moment that no number of JavaScript is."""


@pytest.fixture
def page(looked: Callable[..., View], served: Any) -> Callable[..., View]:
    """A view of the console by its URL."""
    return lambda view, *more, **named: looked(f"{served.url}/{view}", *more, **named)


def query(url: str) -> dict[str, str]:
    """Parameters of a view."""
    return {name: value for name, [value] in parse_qs(url.partition("?")[2]).items()}


def test_hops_of_the_evidence_lead_to_the_time_of_the_verdict(
    page: Callable[..., View], served: Any
) -> None:
    view = page(FLOW)
    told = served.get(f"/api/v1/flows/bottleneck?{FLOW.partition('?')[2]}").json()["interval"]
    tables = view.page.locator('section[aria-label="Evidence"] table')
    assert [table.locator("td.hop a").count() > 0 for table in tables.all()] == [True, True]
    for link in tables.locator("td.hop a").all():
        asked = query(link.get_attribute("href") or "")
        assert (asked["from"], asked["to"]) == (str(told["from_ns"]), str(told["to_ns"]))


def test_a_time_of_the_fabric_is_shared_with_what_was_loaded(page: Callable[..., View]) -> None:
    view = page("#/fabric")
    view.page.locator("#moment").press("Home")
    asked = query(view.page.url)
    assert asked == {"from": str(BEGIN), "to": str(END), "t": str(BEGIN)}
    port = view.page.locator(".fabric a.port").first
    assert f"from={BEGIN}" in (port.get_attribute("href") or "")
    view.page.locator("#moment").press("End")
    assert query(view.page.url) == {}, "the latest goes on with the data"


def test_the_fabric_plays_from_a_time_to_the_next(page: Callable[..., View]) -> None:
    view = page(f"#/fabric?{RANGE}&t={BEGIN}")
    clock = view.page.inner_text(".clock")
    view.page.click("main button:text-is('Play')")
    view.page.wait_for_function(
        "before => document.querySelector('.clock').innerText !== before", arg=clock
    )
    assert int(query(view.page.url)["t"]) > BEGIN


def test_who_leaves_a_fabric_that_plays_has_left_it(page: Callable[..., View]) -> None:
    """It goes on between a click and the view that it leads to."""
    view = page("#/fabric")
    view.page.evaluate(
        """() => {
            location.hash = "#/te";
            const slider = document.getElementById("moment");
            slider.value = 0;
            slider.dispatchEvent(new Event("input"));
        }"""
    )
    view.page.wait_for_selector("h1:text-is('Traffic between ends')")
    assert view.page.url.endswith("/#/te")


@pytest.mark.parametrize(
    ("told", "shown", "said"),
    [
        (str(BEGIN - 1000), "0", "lies before what was loaded; the first"),
        (str(END), "19", "lies after what was loaded; the last"),
        ("leaf 1", "19", "“leaf 1” is no time; the latest is shown"),
        (str(BEGIN + STEP), "1", ""),
        (str(BEGIN + 2 * STEP - 1000), "1", ""),
        ("1760000000.01", "1", ""),
        ("2025-10-09T08:53:20.010", "1", ""),
    ],
)
def test_a_time_that_the_fabric_does_not_show_is_said_to_be_none(
    page: Callable[..., View], told: str, shown: str, said: str
) -> None:
    view = page(f"#/fabric?{RANGE}&t={told}")
    assert view.page.input_value("#moment") == shown
    assert view.page.locator(NOTE).count() == bool(said)
    if said:
        assert said in view.page.inner_text(NOTE)
        view.page.locator("#moment").press("ArrowLeft" if shown != "0" else "ArrowRight")
        assert view.page.locator(NOTE).count() == 0, "another time was chosen"


def test_a_flow_is_shown_of_times_that_are_told_in_seconds(page: Callable[..., View]) -> None:
    view = page("#/nowhere")
    with view.page.expect_request("**/api/v1/flows/bottleneck*") as sent:
        view.turn(f"{FLOW}&from=1760000000.05&to=1760000000.1")
    assert query(sent.value.url)["window"] == "50000000ns"


def test_what_is_pasted_takes_the_place_of_what_was_searched_for(page: Callable[..., View]) -> None:
    view = page("#/nowhere")
    view.page.keyboard.press("/")
    view.page.keyboard.insert_text("10.0.1.3")
    view.page.keyboard.press("Enter")
    view.page.wait_for_selector("tbody tr")
    view.page.locator("#view").focus()
    view.page.keyboard.press("/")
    view.page.keyboard.insert_text("10.0.1.4")
    assert view.page.input_value("#query") == "10.0.1.4"
    view.page.keyboard.press("Enter")
    view.page.wait_for_selector("h1:has-text('10.0.1.4')")
    assert view.page.input_value("#query") == "10.0.1.4"
    view.turn("#/alerts")
    assert view.page.input_value("#query") == ""
    view.page.fill("#query", "10.0.1.2")
    view.turn(f"#/?{RANGE}")
    assert view.page.input_value("#query") == "10.0.1.2", "it was not searched for yet"


def saved(view: View, panel: str) -> list[dict[str, str]]:
    """Rows of the CSV file of a panel."""
    with view.page.expect_download() as told:
        view.page.locator(f'section[aria-label="{panel}"] header button').first.click()
    return pl.read_csv(told.value.path(), infer_schema=False).to_dicts()


def test_evidence_in_csv_has_all_digits_of_its_times(page: Callable[..., View]) -> None:
    view = page("#/nowhere")
    evidence = {"first": {"frame": 7, "source": "a.pcap", "time_ns": FINE}, "at": [FINE, 0.5, None]}

    def finer(route: Any) -> None:
        told = route.fetch().json()
        for row in told["findings"]:
            row["evidence"] = evidence
        route.fulfill(json=told)

    view.page.route("**/api/v1/health/telemetry*", finer)
    view.turn(f"#/telemetry?{RANGE}")
    title = view.page.locator("section.panel").first.get_attribute("aria-label") or ""
    rows = saved(view, title)
    assert rows
    assert [json.loads(row["evidence"]) for row in rows] == [evidence] * len(rows)


def test_what_a_job_found_has_all_digits_in_csv(page: Callable[..., View]) -> None:
    view = page("#/nowhere")
    job = {
        "id": "j1", "kind": "analyze", "state": "done", "created_ns": FINE, "results": ["json"],
        "asked": {"src": "10.0.1.1:1", "from": FINE}, "reason": "", "frames": 9, "progress": 1.0,
        "found": {"flows": 2, "bottlenecked": 1, "stored": True, "from_ns": FINE, "to_ns": FINE},
    }  # fmt: skip
    told = {"jobs": [job], "more": False}
    view.page.route("**/api/v1/jobs", lambda route: route.fulfill(json=told))
    view.turn("#/captures")
    [row] = saved(view, "Jobs")
    assert row["created_ns"] == str(FINE)
    assert json.loads(row["found"]) == job["found"]
    assert json.loads(row["asked"]) == job["asked"]


def test_a_chart_draws_no_line_over_time_in_which_nothing_was_seen(
    page: Callable[..., View], served: Any
) -> None:
    told = served.get(f"/api/v1/flows/signals?{FLOW.partition('?')[2]}").json()
    kept = [at for at in range(len(told["times_ns"])) if at not in range(3, 7)]
    whole = told["times_ns"]
    for name in ("times_ns", "lengths_ns"):
        told[name] = [told[name][at] for at in kept]
    for series in (told["signals"], *told["hops"]):
        for name, values in series.items():
            if isinstance(values, list):
                series[name] = [values[at] for at in kept]
    told["interval"]["from_ns"] = whole[0] + STEP // 2  # the first cell begins before
    view = page("#/")
    view.page.route("**/api/v1/flows/signals?*", lambda route: route.fulfill(json=told))
    view.turn(FLOW)
    view.page.wait_for_function("() => document.querySelector('.js-plotly-plot')?.data?.length")
    [rate] = view.page.evaluate(
        "document.querySelector('.js-plotly-plot').data"
        ".filter(line => line.name === 'data').map(line => [line.x, line.y])"
    )
    assert rate[0][0] == 0, "what began before is drawn from where the time begins"
    assert rate[0][3] < rate[0][4]
    assert rate[1] == [*told["signals"]["rate_bps"][:3], None, *told["signals"]["rate_bps"][3:]]
