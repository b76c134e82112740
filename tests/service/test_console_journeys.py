"""Journeys through the console of a service that asks for a login, in a real browser."""

import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from browser import View

from pipeline import TABLES, Host, Interface, Topology, open_or_ask
from service.tokens import line_of, made
from service.topology_source import store_topology

TOKEN, GREY = made(), made()
RANGE = "from=1760000000&to=1760000000.2"
S = 10**9
AGAIN_MS = 10_000
"""After so long a view without an answer asks again."""


def rollup(table: str, made_rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows of a rollup: ten samples of one load each."""
    told = {"source": "int", "samples": 10, "data_frames": 20, "dscp": 0, "u_max_n": 10**10}
    whole = [told | row for row in made_rows]
    return pl.DataFrame(whole, schema={name: TABLES[table].schema[name] for name in whole[0]})


def fabric() -> Topology:
    """The stored world's devices with both ends of each link."""
    ends = (
        ("leaf1", "Ethernet48", 1, 9, "tor", "up", "spine1", "Ethernet1"),
        ("spine1", "Ethernet1", 11, 1, "spine", "down", "leaf1", "Ethernet48"),
        ("spine1", "Ethernet8", 11, 2, "spine", "down", "leaf2", "Ethernet49"),
        ("leaf2", "Ethernet49", 2, 9, "tor", "up", "spine1", "Ethernet8"),
        ("leaf1", "Ethernet1", 1, 1, "tor", "host", "h1", ""),
        ("leaf2", "Ethernet4", 2, 1, "tor", "host", "h2", ""),
    )
    ports = tuple(Interface(*end[:4], 10**10, *end[4:]) for end in ends)
    hosts = tuple(
        Host(f"h{leaf}", (f"10.0.{leaf}.0/24",), f"leaf{leaf}", name, 10**10, site=f"site{leaf}")
        for leaf, name in ((1, "Ethernet1"), (2, "Ethernet4"))
    )
    return Topology("v2", 1, 20_000, ports, hosts)


def counts(bucket: int) -> dict[str, list[int]]:
    return {"bucket": [bucket], "samples": [10]}


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, hopsight: Any, world: ModuleType
) -> Iterator[Any]:
    """The stored world with rollups, behind a login; gives its URL and its store."""
    dsn = f"chdb://{tmp_path_factory.mktemp('journeys')}/store"
    lines = (line_of("ann", "operate", "*", TOKEN), line_of("grey", "read", "grey", GREY))
    variables = {"HOPSIGHT_TOKENS": ";".join(lines),
                 "HOPSIGHT_SERVICE__REQUIRE_LOGIN": "true"}  # fmt: skip
    own = type(hopsight)(hopsight.directory, hopsight.environment | variables)
    process = own.start("serve", "--store", dsn, "--port", "0")
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        with open_or_ask(dsn) as store:
            for table, rows in world.frames().items():
                store.insert(table, rows, "world")
            store_topology(store, fabric())
            links = [(1, 9, 84), (11, 2, 60), (2, 1, 62)]
            store.insert("link_seconds", rollup("link_seconds", [
                {"time_ns": world.START_NS, "node": node, "port": port, "u_hist": counts(u)}
                for node, port, u in links
            ]), "links")  # fmt: skip
            store.insert("path_seconds", rollup("path_seconds", [
                {"time_ns": world.START_NS, "scope": "device", "src": "leaf1", "dst": "leaf2",
                 "u_hist": counts(84), "data_bytes": 10**9}
            ]), "paths")  # fmt: skip
        yield found[0], dsn
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture
def page(looked: Callable[..., View], service: tuple[str, str]) -> Callable[..., View]:
    """A view of the console, after its login."""

    def entered(view: str, token: str = TOKEN) -> View:
        shown = looked(f"{service[0]}/{view}")
        shown.said.clear()  # the browser tells of the 401
        assert shown.page.locator("h1").inner_text() == "Log in"
        shown.page.fill("input[name=token]", token)
        shown.page.click("main button")
        shown.page.wait_for_function("() => document.querySelector('h1').innerText !== 'Log in'")
        shown.settled()
        return shown

    return entered


def test_who_brings_a_token_is_let_in_and_may_leave(
    looked: Callable[..., View], service: tuple[str, str], axe: str
) -> None:
    view = looked(f"{service[0]}/#/?{RANGE}")
    view.page.fill("input[name=token]", "hs_wrong")
    view.page.click("main button")
    view.page.wait_for_selector("text=the token is not known")
    assert view.violations(axe) == []
    view.said.clear()  # the browser tells of each 401
    view.page.fill("input[name=token]", TOKEN)
    view.page.click("main button")
    view.page.wait_for_selector(".heat")
    assert "ann" in view.page.inner_text("#who")
    assert view.violations(axe) == []
    assert view.page.evaluate("document.cookie") == ""
    view.page.click("#who button")
    view.page.wait_for_selector("h1:has-text('Log in')")
    view.said.clear()
    assert view.page.inner_text("#who") == ""


def test_a_controller_s_matrix_leads_to_the_ways_of_a_pair(
    page: Callable[..., View], axe: str
) -> None:
    view = page("#/te?by=device&from=1760000000&to=1760000001")
    cell = view.page.locator(".matrix tbody td a")
    assert cell.count() == 1
    assert 1.0 < float(cell.inner_text()) < 2.0
    cell.click()
    view.page.wait_for_selector('section[aria-label="Ways from leaf1 to leaf2"] tbody tr')
    ways = view.page.inner_text('section[aria-label="Ways from leaf1 to leaf2"] tbody')
    assert "leaf1 Ethernet48 → spine1 Ethernet8" in ways
    links = view.page.locator('section[aria-label="Ways from leaf1 to leaf2"] tbody a').all()
    within = f"&from={1_760_000_000 * S}&to={1_760_000_001 * S}"
    assert links
    assert all((link.get_attribute("href") or "").endswith(within) for link in links)
    view.page.select_option('select[name="metric"]', "delay_p99_ns")
    view.page.wait_for_selector("section[aria-label=Matrix] :text('queueing delay')")
    assert view.page.is_visible('section[aria-label="Ways from leaf1 to leaf2"] tbody tr')
    for button in view.page.locator("section.panel header button", has_text="CSV").all():
        with view.page.expect_download() as saved:
            button.click()
        assert "[object" not in saved.value.path().read_text()
    assert view.violations(axe) == []


def test_who_owns_no_flow_hears_so_and_not_that_nothing_is_stored(
    page: Callable[..., View], axe: str
) -> None:
    view = page("#/", GREY)
    for url in ("#/fabric", "#/link?device=leaf1&interface=Ethernet48"):
        view.turn(url)  # loads of links are told to all
        assert "Ethernet48" in view.text
        assert "is stored" not in view.text
    view.turn("#/")
    assert "No flow of yours is stored" in view.text
    for wrong in ("The store is empty", "reported nothing", "No frame in this time", "doctor"):
        assert wrong not in view.text
    assert view.violations(axe) == []


def test_an_open_overview_shows_what_is_stored_without_being_asked(
    page: Callable[..., View], service: tuple[str, str], world: ModuleType
) -> None:
    view = page("#/")
    assert "3 flows are held back" in view.text
    later = world.frames()["verdicts"].filter(pl.col("sport") == 40001)
    with open_or_ask(service[1]) as store:
        store.insert("verdicts", later.with_columns(pl.col("time_ns") + 3600 * S), "later")
    view.page.wait_for_selector("h1:has-text('1 flow is held back')", timeout=60_000)


@pytest.mark.parametrize(("retry_s", "meanwhile"), [(1, "aria-busy=true"), (60, "aria-busy=false")])
def test_a_busy_service_is_asked_again(
    page: Callable[..., View], retry_s: int, meanwhile: str
) -> None:
    view = page("#/fabric")
    view.page.clock.install()
    refused = []

    def busy(route: Any) -> None:
        refused.append(route.request.url)
        if len(refused) > 1:
            route.continue_()
            return
        told = {"title": "busy", "status": 503, "detail": "all readers are at work"}
        route.fulfill(status=503, json=told, headers={"Retry-After": str(retry_s)})

    view.page.route("**/api/v1/bottlenecks*", busy)
    with view.page.expect_response("**/api/v1/bottlenecks*"):
        view.page.evaluate("location.hash = '#/'")
    view.page.wait_for_selector(f"main[{meanwhile}]")
    assert ("No answer" in view.text) == (retry_s == 60)
    view.page.clock.fast_forward(AGAIN_MS)
    view.page.wait_for_selector("h1:has-text('held back')", timeout=60_000)
    assert len(refused) > 1
