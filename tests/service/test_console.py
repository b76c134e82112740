"""The console in a real browser: not empty, no error, and each view at its own URL."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=20000",
    "--enable-logging=stderr",
    "--dump-dom",
)
RANGE = "from=1760000000&to=1760000000.2"
FLOW = "#/flow?src=10.0.1.1:40001&dst=10.0.2.1:5001"


@pytest.fixture
def page(tool: Callable[..., str], served: Any, tmp_path: Path) -> Callable[[str], str]:
    """The document at a URL of the console after its scripts have run."""
    chromium = tool("chromium", "chromium-browser", "google-chrome")

    def load(view: str) -> str:
        done = subprocess.run(
            [chromium, *FLAGS, f"--user-data-dir={tmp_path}", f"{served.url}/{view}"],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        said = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
        assert said == []
        return done.stdout

    return load


def test_the_overview_shows_flows_and_links(page: Callable[[str], str]) -> None:
    document = page(f"#/?{RANGE}")
    assert "3 flows are held back at 1 hop" in document
    assert "10.0.1.1:40001" in document
    assert document.count('href="#/flow?') == 3
    assert re.search(r'<th scope="row"><a href="#/link\?[^"]*">leaf2 Ethernet4</a></th>', document)
    assert document.count('class="hot"') >= 10


def test_a_flow_shows_verdict_path_history_signals_and_evidence(page: Callable[[str], str]) -> None:
    document = page(FLOW)
    assert "leaf1 Ethernet48 (tor, " in document
    assert 'class="stop here"' in document
    assert "leaf2 Ethernet4 for 100 ms, leaf1 Ethernet48 for 100 ms" in document
    assert 'class="main-svg"' in document
    assert "eta 0.95" in document
    assert "hop load u'" in document


def test_a_link_shows_its_load_and_its_flows(page: Callable[[str], str]) -> None:
    document = page(f"#/link?device=leaf2&interface=Ethernet4&{RANGE}")
    assert 'class="main-svg"' in document
    assert "10.0.1.4:40004" in document


def test_a_search_finds_flows(page: Callable[[str], str]) -> None:
    assert "10.0.1.3:40003" in page("#/find?q=10.0.1.3")


def test_what_cannot_be_answered_is_said_in_plain_words(page: Callable[[str], str]) -> None:
    assert "There is no such page" in page("#/nowhere")


def test_text_of_a_url_never_becomes_markup(page: Callable[[str], str]) -> None:
    document = page("#/find?q=%3Cimg%20src=x%20onerror=alert(1)%3E")
    assert "<img" not in document
