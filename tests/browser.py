"""A real browser for the console: Chromium of the machine, driven by Playwright, and axe-core."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import urlsplit

import pytest

AXE = "axe-core@4.14.1"
PATIENCE_MS = 60_000
READY = "main[aria-busy=false]"
QUIET = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"""
CHECK = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
  .map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`)"""


@dataclass
class View:
    """A page of the console that has drawn itself."""

    page: Any
    said: list[str] = field(default_factory=list)
    """What the page wrote to its console, and what it threw."""
    hosts: set[str] = field(default_factory=set)
    """Hosts that were asked."""

    @property
    def text(self) -> str:
        """What can be read."""
        return str(self.page.inner_text("body"))

    @property
    def html(self) -> str:
        """The document."""
        return str(self.page.content())

    def settled(self) -> None:
        """Wait until the view that the URL names is drawn."""
        self.page.wait_for_selector(READY, timeout=PATIENCE_MS)
        self.page.evaluate(QUIET)

    def go(self, url: str) -> None:
        """Open a URL and wait."""
        self.page.goto(url)
        self.settled()

    def turn(self, url: str) -> None:
        """Follow a link within the page and wait."""
        self.page.evaluate("url => { window.left = document.querySelector('#view > *');"
                           " location.hash = url }", url)  # fmt: skip
        self.page.wait_for_function("() => !window.left?.isConnected", timeout=PATIENCE_MS)
        self.settled()

    def violations(self, axe: str) -> list[str]:
        """What axe-core finds wrong here."""
        self.page.evaluate(f"globalThis.axe || (() => {{ {axe} }})()")
        return list(self.page.evaluate(CHECK))


WORTH_TELLING = ("error", "warning", "assert")
"""Kinds of console messages that no page may leave; hints of the browser are none."""


BUSY = "status of 503"
"""A service that has no turn to give says so; the console asks again, and the browser notes it."""


FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-software-rasterizer", "--disable-extensions"]
"""The last three: pages are drawn by the processor once, not as a graphics card would."""


def noted(view: View, message: Any) -> None:
    """Keep a console message that is worth it."""
    if message.type in WORTH_TELLING and BUSY not in message.text:
        view.said.append(message.text)


@pytest.fixture(scope="module")
def browser(tool: Callable[..., str]) -> Iterator[Any]:
    """Chromium, started once a file: while it runs, the thread's event loop is its own."""
    from playwright.sync_api import sync_playwright

    chromium = tool("chromium", "chromium-browser", "google-chrome")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def looked(browser: Any) -> Iterator[Callable[..., View]]:
    """Open a URL in a fresh profile; at the end nothing may have gone wrong or been asked afar."""
    opened: list[tuple[Any, View]] = []

    def look(url: str, scheme: str = "light", width: int = 1280, *, wait: bool = True) -> View:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=scheme)
        view = View(context.new_page())
        view.page.on("console", partial(noted, view))
        view.page.on("pageerror", lambda error: view.said.append(str(error)))
        view.page.on("request", lambda asked: view.hosts.add(urlsplit(asked.url).hostname or ""))
        opened.append((context, view))
        if wait:
            view.go(url)
        else:
            view.page.goto(url)
        return view

    yield look
    for context, view in opened:
        context.close()
        assert view.said == []
        assert view.hosts <= {"127.0.0.1", ""}


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, from npm."""
    npm = which("npm")
    if npm is None:
        pytest.skip("npm is not installed, so axe-core cannot be had")
    place = tmp_path_factory.mktemp("axe")
    flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(place)]
    done = subprocess.run(
        [npm, "install", *flags, AXE], capture_output=True, text=True, check=False
    )
    file = Path(place, "node_modules", "axe-core", "axe.min.js")
    if done.returncode or not file.is_file():
        pytest.skip(f"npm gave no {AXE}: {done.stderr.strip()[-200:]}")
    return file.read_text()
