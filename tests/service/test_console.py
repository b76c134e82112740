"""The console in a real browser: not empty, no error, and each view at its own URL."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import httpx
import polars as pl
import pytest
from browser import View

RANGE = "from=1760000000&to=1760000000.2"
FLOW = "#/flow?src=10.0.1.1:40001&dst=10.0.2.1:5001"
LINK = f"#/link?device=leaf2&interface=Ethernet4&{RANGE}"
VIEWS = {
    "overview": f"#/?{RANGE}",
    "flow": FLOW,
    "link": LINK,
    "fabric": f"#/fabric?{RANGE}",
    "traffic, empty": "#/te",
    "telemetry": f"#/telemetry?{RANGE}",
    "telemetry, empty": f"#/telemetry?{RANGE}&class=clock",
    "find": "#/find",
    "nothing found": "#/find?q=10.9.9.9",
    "refused": "#/find?q=one+two+three",
    "no such page": "#/nowhere",
    "alerts, empty": "#/alerts",
    "captures, empty": "#/captures",
    "filter refused": f"#/?{RANGE}&filter=stage+%3D+tor+and+colour+%3D+red",
    "found by a filter": f"#/find?{RANGE}&filter=sport+%3D+40003",
}
"""Every view, and every way in which one can be empty."""


@pytest.fixture
def page(looked: Callable[..., View], served: Any) -> Callable[..., View]:
    """A view of the console by its URL."""
    return lambda view, *more, **named: looked(f"{served.url}/{view}", *more, **named)


def charted(view: View) -> None:
    """Wait for the charts."""
    view.page.wait_for_selector(".main-svg", state="attached", timeout=60_000)


def test_the_overview_tells_places_sites_links_and_flows(page: Callable[..., View]) -> None:
    view = page(f"#/?{RANGE}")
    assert "3 flows are held back at 1 hop" in view.text
    for title in ("Where", "Who meets there", "Links over time", "Flows that are held back"):
        assert view.page.locator(f'section[aria-label="{title}"]').count() == 1
    where = view.page.locator('section[aria-label="Where"] tbody tr')
    assert where.count() == 1
    assert "leaf1 Ethernet48" in where.inner_text()
    head = view.page.locator('section[aria-label="Where"] thead').inner_text()
    assert "Highest flow's load" in head, "it is no mean load of the link"
    highest = where.locator(".meter").inner_text().strip()
    assert f"leaf1 Ethernet48, its highest flow's load {highest}." in view.text
    assert view.page.locator(".sankey .band").count() == 6
    assert view.page.locator(".sankey a").count() == 4
    assert view.page.locator(".heat td.hot").count() >= 10
    assert view.page.locator('.top a[aria-current="page"]').inner_text() == "Overview"


def test_from_the_overview_to_the_guilty_hop_in_three_clicks(page: Callable[..., View]) -> None:
    view = page(f"#/?{RANGE}")
    view.page.click('section[aria-label="Flows that are held back"] tbody tr:first-child .flow a')
    view.settled()
    assert "leaf1 Ethernet48" in view.page.locator(".stop.here").inner_text()
    view.page.click(".stop.here")
    view.page.wait_for_selector("h1:text-is('leaf1 Ethernet48')")
    view.settled()
    assert view.page.locator("tbody tr").count() == 4


def test_a_keyboard_skips_to_the_content(page: Callable[..., View]) -> None:
    view = page("#/link?device=leaf1&interface=Ethernet48")
    before = view.page.url
    view.page.keyboard.press("Tab")
    assert view.page.evaluate("document.activeElement.className") == "skip"
    view.page.keyboard.press("Enter")
    assert view.page.evaluate("document.activeElement.id") == "view"
    assert view.page.url == before
    assert "leaf1 Ethernet48" in view.page.locator("h1").inner_text()


def test_a_flow_shows_verdict_path_history_signals_and_evidence(page: Callable[..., View]) -> None:
    view = page(FLOW)
    charted(view)
    assert "leaf1 Ethernet48 (tor, " in view.text
    stops = view.page.locator(".path .stop").all_inner_texts()
    assert [text.split("\n")[0] for text in stops] == [
        "sender", "leaf1 Ethernet48", "spine1 Ethernet8", "leaf2 Ethernet4", "receiver",
    ]  # fmt: skip
    label = view.page.locator(".lane").get_attribute("aria-label")
    assert label == "leaf2 Ethernet4 for 100 ms, leaf1 Ethernet48 for 100 ms"
    changes = view.page.locator(".changes li").all_inner_texts()
    assert "moved from leaf2 Ethernet4 to leaf1 Ethernet48 at " in changes[1]
    for words in ("eta 0.95", "U, normalised inflight", "Queueing delay, s", "Marks, share"):
        assert words in view.html
    assert "hop load u'" in view.text


def test_a_link_shows_its_load_and_its_flows(page: Callable[..., View]) -> None:
    view = page(LINK)
    charted(view)
    assert "10.0.1.4:40004" in view.text


def test_the_fabric_is_coloured_by_load_at_a_time(page: Callable[..., View]) -> None:
    view = page(f"#/fabric?{RANGE}")
    port = view.page.locator('.fabric a[aria-label^="leaf1 Ethernet48"] path:not(.casing)')
    assert view.page.locator(".fabric .device").count() == 3
    assert port.get_attribute("class") == "over", "the latest time is shown first"
    assert "t=" not in view.page.url
    assert view.page.locator("tbody tr").first.inner_text().startswith("leaf1 Ethernet48")
    view.page.locator("#moment").press("Home")
    assert port.get_attribute("class") == "some"
    view.page.locator("#moment").press("ArrowRight")
    assert "t=1760000000010000000" in view.page.url
    again = page(view.page.url.partition("/#")[2].join(["#", ""]))
    assert again.page.locator("#moment").input_value() == "1"
    view.page.locator("#moment").press("End")
    assert "t=" not in view.page.url, "who looks at the latest goes on with it"


def test_telemetry_names_the_device_that_breaks_rules(page: Callable[..., View]) -> None:
    view = page(f"#/telemetry?{RANGE}")
    assert "1 finding worth a look" in view.text
    assert "a.pcap, frame 7" in view.text
    view.page.select_option("select[name=class]", "clock")
    view.page.wait_for_function("() => location.hash.includes('class=clock')")
    view.settled()
    assert "No finding in this time" in view.text


def test_a_pasted_line_of_ss_finds_its_flow(page: Callable[..., View]) -> None:
    view = page("")
    view.page.keyboard.press("/")
    line = 'ESTAB 0   0  10.0.1.3:40003  10.0.2.1:5001 users:(("iperf3",pid=7,fd=3))'
    view.page.keyboard.insert_text(line)
    view.page.keyboard.press("Enter")
    view.page.wait_for_function("() => document.title.startsWith('find')")
    assert view.page.locator("tbody tr").count() == 1
    assert "10.0.1.3:40003" in view.text


def test_a_search_in_the_address_bar_is_one(page: Callable[..., View]) -> None:
    view = page("?q=10.0.1.3", wait=False)
    view.page.wait_for_selector("tbody tr")
    assert "#/find?q=10.0.1.3" in view.page.url


def test_a_filter_in_the_address_bar_is_one(page: Callable[..., View]) -> None:
    view = page("?q=device+%3D+leaf1", wait=False)
    view.page.wait_for_selector("tbody tr")
    assert "#/find?filter=device" in view.page.url


def test_a_time_of_which_nothing_is_stored_is_no_all_clear(page: Callable[..., View]) -> None:
    view = page("#/?from=2020-01-01T00:00:00Z&to=2020-01-01T01:00:00Z")
    assert view.page.locator("h1").inner_text() == "Nothing is stored of this time"
    view.page.click("text=Show the latest")
    view.settled()
    assert "held back" in view.page.locator("h1").inner_text()


def test_a_page_of_an_empty_store_fills_by_itself(page: Callable[..., View]) -> None:
    view = page("#/alerts")
    empty = {"interval": None, "stored": None, "bottlenecks": [], "more": False, "flows_seen": 0}
    view.page.route("**/api/v1/bottlenecks*", lambda route: route.fulfill(json=empty), times=1)
    view.page.click('nav a[href="/#/"]')
    view.page.wait_for_selector("text=The store is empty")
    view.page.wait_for_selector("text=held back at", timeout=20_000)


@pytest.mark.parametrize(
    ("loaded", "said"), [(True, "Links have loads"), (False, "No link reported a load")]
)
def test_a_fabric_that_nobody_described_says_what_is_known(
    page: Callable[..., View], loaded: bool, said: str
) -> None:
    view = page("#/alerts")

    def told(route: Any, name: str) -> None:
        route.fulfill(json=route.fetch().json() | {name: []})

    view.page.route("**/api/v1/topology*", lambda route: told(route, "hops"))
    if not loaded:
        view.page.route("**/api/v1/links*", lambda route: told(route, "links"))
    view.page.click('nav a[href^="/#/fabric"]')
    view.page.wait_for_selector(f"text={said}")


def test_a_flow_without_a_verdict_leads_to_what_may_be_meant(page: Callable[..., View]) -> None:
    view = page("#/alerts")
    other = {"src": "10.0.1.4", "sport": 40004, "dst": "10.0.2.1", "dport": 5001, "protocol": 6}
    told = {"status": 404, "detail": "none of its data was judged then", "flows": [other]}
    back = "**/api/v1/flows/bottleneck?src=10.0.2.1*"
    view.page.route(back, lambda route: route.fulfill(status=404, json=told))
    view.page.goto(f"{view.page.url.partition('#')[0]}#/flow?src=10.0.2.1:5001&dst=10.0.1.4:40004")
    view.page.wait_for_selector("text=none of its data")
    view.page.click("#view .empty a")
    view.page.wait_for_selector("h1:has-text('10.0.1.4:40004')")
    view.said.clear()  # the browser tells of the 404


def test_a_flow_at_a_time_without_a_verdict_leads_to_the_flow_as_it_was_seen(
    page: Callable[..., View],
) -> None:
    view = page("#/alerts")
    view.page.goto(f"{view.page.url.partition('#')[0]}{FLOW}&at=1990-01-01T00:00:00Z")
    view.page.wait_for_selector("text=Nothing is known of this at that time")
    assert "hopsight where 10.0.1.1:40001 10.0.2.1:5001\n" in view.text
    assert view.page.locator("#view .empty a").count() == 1, "its acknowledgments have no verdict"
    view.page.click("#view .empty a")
    view.page.wait_for_selector(".stop.here")
    view.said.clear()  # the browser tells of the 404


def test_times_in_csv_have_all_their_digits(page: Callable[..., View], served: Any) -> None:
    view = page("#/find")
    told = httpx.get(f"{served.url}/api/v1/flows").json()["flows"]
    with view.page.expect_download() as saved:
        view.page.click('section[aria-label="Flows"] button')
    rows = pl.read_csv(saved.value.path(), infer_schema=False)
    assert rows["first_ns"].to_list() == [str(flow["first_ns"]) for flow in told]
    assert rows["last_ns"].to_list() == [str(flow["last_ns"]) for flow in told]


def test_links_of_a_page_tell_times_to_the_nanosecond(
    page: Callable[..., View], served: Any
) -> None:
    """What began a few ns later would lack the frame that a replay begins with."""
    asked = {"at": "1760000000150000037", "window": "120000041ns"}
    ends = {"src": "10.0.1.1:40001", "dst": "10.0.2.1:5001"}
    told = httpx.get(f"{served.url}/api/v1/flows/bottleneck", params=ends | asked).json()
    interval = {name: str(told["interval"][f"{name}_ns"]) for name in ("from", "to")}
    assert int(float(interval["to"])) != int(interval["to"])
    view = page(f"{FLOW}&at={asked['at']}&window={asked['window']}")
    link = view.page.locator("a:text-is('Replay each ACK')").get_attribute("href") or ""
    query = dict(parse_qsl(link.partition("?")[2]))
    assert {name: query[name] for name in interval} == interval


def test_a_chart_gives_its_data_as_csv(page: Callable[..., View]) -> None:
    view = page(LINK)
    with view.page.expect_download() as saved:
        view.page.click('section[aria-label="Load and queue"] button')
    text = saved.value.path().read_text()
    assert text.startswith("time_ns,u_mean,u_max,queue_mean_bytes\n")
    assert len(text.splitlines()) == 21
    view.turn(FLOW)
    with view.page.expect_download() as saved:
        view.page.click('section[aria-label="Signals"] header button')
    assert saved.value.path().read_text().startswith("time_ns,length_ns,U,")


@pytest.mark.parametrize("name", ["overview", "flow", "link", "fabric", "telemetry", "find"])
def test_every_panel_of_data_gives_it_as_csv_and_names_its_question(
    page: Callable[..., View], served: Any, name: str
) -> None:
    view = page(VIEWS[name])
    panels = view.page.locator("section.panel").filter(has=view.page.locator("h2"))
    told = [panel for panel in panels.all() if panel.get_attribute("aria-label") != "Verdict"]
    assert told
    for panel in told:
        with view.page.expect_download() as saved:
            panel.locator("header button", has_text="CSV").click()
        text = saved.value.path().read_text()
        assert len(text.splitlines()) > 1, panel.inner_text()
        assert "[object" not in text
        [asked, *_] = panel.locator("header a", has_text="API").all()
        answer = httpx.get(f"{served.url}{asked.get_attribute('href')}")
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(("fabric", "shown"), [(True, 9), (False, 7)])
def test_who_sees_some_tenants_is_offered_what_may_be_asked(
    page: Callable[..., View], fabric: bool, shown: int
) -> None:
    view = page("#/nowhere")
    identity = {"name": "ann", "scope": "read", "tenants": ["blue"], "fabric": fabric}
    told = {"login_required": True, "identity": identity}
    view.page.route("**/api/v1/session", lambda route: route.fulfill(status=200, json=told))
    view.page.reload()
    view.page.wait_for_selector("#who button")
    assert view.page.locator(".top nav a:visible").count() == shown
    assert view.page.locator("text=Metrics").is_visible() == fabric


def test_text_of_a_url_never_becomes_markup(page: Callable[..., View]) -> None:
    view = page("#/find?q=%3Cimg/onerror=alert(1)%3E")
    view.said.clear()  # the browser tells of the 422 that it got
    assert view.page.locator("img").count() == 0
    assert "<img/onerror=alert" in view.text


def test_who_is_not_known_is_asked_for_a_token(page: Callable[..., View]) -> None:
    view = page("#/nowhere")
    refused = {"status": 401, "json": {"status": 401, "detail": "nobody is known to ask"}}
    view.page.route("**/api/v1/bottlenecks*", lambda route: route.fulfill(**refused))
    view.page.route("**/api/v1/session", lambda route: route.fulfill(status=200, json={}))
    view.turn("#/")
    view.said.clear()  # the browser tells of the 401
    assert view.page.locator("h1").inner_text() == "Log in"
    view.page.unroute("**/api/v1/bottlenecks*")
    view.page.fill("input[name=token]", "hs_secret")
    view.page.click("main button")
    view.page.wait_for_selector(".heat")
    assert "secret" not in view.page.url


def test_the_overview_follows_what_is_stored(page: Callable[..., View]) -> None:
    view = page("#/nowhere")
    told = {"content_type": "text/event-stream", "body": "event: stored\ndata: {}\n\n"}
    view.page.route("**/api/v1/events", lambda route: route.fulfill(**told))
    view.turn("#/")
    with view.page.expect_request("**/api/v1/bottlenecks"):
        pass


@pytest.mark.parametrize("width", [400, 800, 1000, 1100, 1280])
def test_the_search_box_is_wide_enough_to_paste_into(page: Callable[..., View], width: int) -> None:
    box = page("#/nowhere", "light", width).page.locator("#query").bounding_box()
    assert box is not None
    assert box["width"] >= 250


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 340)])
def test_every_view_is_accessible(
    page: Callable[..., View], axe: str, scheme: str, width: int
) -> None:
    view = page("#/nowhere", scheme, width)
    found = {}
    for name, url in VIEWS.items():
        view.turn(url)
        found[name] = view.violations(axe)
        if not view.page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            found[name].append("wider than the window")
    view.said = [words for words in view.said if not re.search("4(00|22)", words)]
    assert found == {name: [] for name in VIEWS}
