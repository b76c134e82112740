"""Milliseconds until the console paints first in Chromium, on the demo, and until a view is drawn.

Each view is opened in a new profile, nothing cached, and the median of several rounds is told.
First paint is the browser's own figure (first contentful paint); a view is drawn when its tables
stand, charts by plotly come a moment later. The bar is a first paint within a second everywhere.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bar import end, met, missed

BAR_MS = 1000.0
ROUNDS = 5
FLOW = "src={src}:{sport}&dst={dst}:{dport}"
VIEWS = {
    "overview": "#/",
    "flow": f"#/flow?{FLOW}",
    "link": "#/link?device={device}&interface={interface}",
    "fabric": "#/fabric",
    "traffic": "#/te?by=device",
    "telemetry": "#/telemetry",
    "replay": f"#/replay?{FLOW}",
    "docs": "docs/",
}
PAINTED = """() => performance.getEntriesByName('first-contentful-paint')[0].startTime"""


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """The URL of a service over the demo's store."""
    hopsight = [sys.executable, "-m", "service.cli"]
    made = [*hopsight, "demo", "--once", "--directory", str(directory)]
    subprocess.run(made, check=True, capture_output=True)  # noqa: S603 - our own command
    serving = [*hopsight, "--settings", str(directory / "hopsight.toml"), "serve", "--port", "0"]
    with subprocess.Popen(serving, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - the same
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        try:
            assert found is not None
            yield found[0]
        finally:
            process.terminate()


def opened(browser: Any, url: str) -> tuple[float, float]:
    """Milliseconds from asking for a URL until it painted, and until it was drawn."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("main[aria-busy=false]", timeout=60_000)
    drawn = page.evaluate("() => performance.now()")
    painted = page.evaluate(PAINTED)
    context.close()
    return painted, drawn


def main() -> None:
    """Open every view in turns; end with a failure where the bar is missed."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as place, served(Path(place)) as url, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        worst = page.request.get(f"{url}/api/v1/bottlenecks?limit=1").json()["bottlenecks"][0]
        named = {**worst["flow"], **worst["hop"]}
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in VIEWS}
        for _ in range(ROUNDS):
            for name, view in VIEWS.items():
                times[name].append(opened(browser, f"{url}/{view.format(**named)}"))
        browser.close()
    print(f"{'view':<12}{'first paint':>14}{'drawn':>10}   of {ROUNDS} rounds, median, ms")
    for name, found in times.items():
        painted, drawn = (median(each) for each in zip(*found, strict=True))
        print(f"{name:<12}{painted:>14.0f}{drawn:>10.0f}")
        met(painted <= BAR_MS, name)
    print(f"first paint within {BAR_MS:.0f} ms:", f"NOT MET by {missed}" if missed else "met")
    end()


if __name__ == "__main__":
    main()
