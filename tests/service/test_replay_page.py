"""Replay over HTTP and in the browser: the decisions of the command, page by page, ACK by ACK."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import View

from service.routes.replay import as_csv, columns_of

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
CONSOLE = Path(__file__).resolve().parent.parent.parent / "service" / "console"
FLOW = {"src": "10.1.1.1:40000", "dst": "10.2.1.2:5001"}
PATH = "/api/v1/replay/decisions"
PAGE = "#/replay?src=10.1.1.1:40000&dst=10.2.1.2:5001"


@pytest.fixture(scope="module")
def replays(
    hopsight: Any, serve: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """A service whose store holds the frames of a flow."""
    dsn = f"chdb://{tmp_path_factory.mktemp('replays')}/store"
    done = hopsight.run("analyze", str(CAPTURE), "--store", dsn)
    assert done.returncode == 0, done.stderr
    service = serve(dsn)
    yield service
    service.stop()


def pages(service: Any, limit: int, **asked: str) -> list[dict[str, Any]]:
    """All decisions, page by page."""
    found: list[dict[str, Any]] = []
    start: int | None = 0
    while start is not None:
        answer = service.get(PATH, **FLOW, **asked, start=start, limit=limit).json()
        found += answer["decisions"]
        start = answer["next"]
    assert len(found) == answer["total"]
    return found


def test_pages_are_the_decisions_of_the_command(replays: Any, hopsight: Any) -> None:
    ends = " ".join(FLOW.values())
    command = ("replay", str(CAPTURE), "--flow", ends, "--json", "--explain")
    told = [json.loads(line) for line in hopsight.run(*command).stdout.splitlines()]
    found = pages(replays, 5000)
    assert [{k: v for k, v in each.items() if k != "path"} for each in found] == told


def test_parameters_and_algorithms_change_what_is_decided(replays: Any) -> None:
    before = replays.get(PATH, **FLOW, limit=1000).json()
    after = replays.get(PATH, **FLOW, limit=1000, set="g=0.25").json()
    assert before["parameters"]["dctcp"]["g"] == 0.0625
    assert after["parameters"]["dctcp"]["g"] == 0.25
    alphas = [[each["alpha"] for each in answer["decisions"]] for answer in (before, after)]
    assert alphas[0] != alphas[1]
    swift = replays.get(PATH, **FLOW, limit=3, algorithm="swift").json()["decisions"]
    assert {each["algorithm"] for each in swift} == {"swift"}


def test_a_page_as_a_table(replays: Any) -> None:
    table, page = (replays.get(PATH, **FLOW, limit=2, format=form) for form in ("csv", "json"))
    lines = table.text.splitlines()
    assert lines[0].startswith("time_ns,src,sport,dst,dport,algorithm,branch")
    assert len(lines) == 3
    told, said = table.headers, page.json()
    for name in ("captured", "completeness", "total", "next"):
        assert told[f"hopsight-{name}"] == str(said[name])
    assert told["hopsight-interval-from-ns"] == str(said["interval"]["from_ns"])


def test_every_page_of_a_table_has_its_heading(replays: Any) -> None:
    """Also one of no decisions, which readers of tables refused."""
    total = replays.get(PATH, **FLOW, limit=1).json()["total"]
    first, last, beyond = (
        replays.get(PATH, **FLOW, format="csv", start=start, limit=2).text.splitlines()
        for start in (0, total - 1, total)
    )
    assert [len(page) for page in (first, last, beyond)] == [3, 2, 1]
    assert first[0] == last[0] == beyond[0]
    never = {"from": 1, "to": 2, "format": "csv"}
    [head] = replays.get(PATH, **FLOW, **never).text.splitlines()
    assert head.split(",")[:2] == ["time_ns", "src"]
    assert "alpha" not in head
    [head] = replays.get(PATH, **FLOW, **never, algorithm="dctcp").text.splitlines()
    assert head == first[0]


def test_columns_are_those_of_all_that_decided_and_not_of_the_page() -> None:
    decided = [
        {"time_ns": 1, "algorithm": "dctcp", "branch": "close", "alpha": 0.5},
        {"time_ns": 2, "algorithm": "hpcc", "branch": "fast", "alpha": None},
    ]
    rows = pl.DataFrame(decided)
    names = columns_of(rows, None)
    heads = [as_csv(rows.slice(at, 1), names).splitlines()[0] for at in range(3)]
    assert heads == [",".join(names).encode()] * 3
    assert {"alpha", "Wc"} <= {*names}


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"set": "gg=1"}, "set"),
        ({"set": "g"}, "set"),
        ({"set": "g=7"}, "set"),
        ({"set": "pipeline.flows=1"}, "set"),
        ({"algorithm": "cubic"}, "algorithm"),
        ({"from": "5", "to": "4"}, "to"),
        ({"limit": "100000"}, "limit"),
        ({"window": "5s"}, "window"),
    ],
)
def test_what_is_not_accepted_is_named(replays: Any, asked: dict[str, str], field: str) -> None:
    answer = replays.get(PATH, **FLOW, **asked)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_a_point_that_saw_nothing_of_the_flow_is_refused(replays: Any) -> None:
    known = replays.get(PATH, **FLOW, limit=1).json()["decisions"][0]["point"]
    assert replays.get(PATH, **FLOW, point=known).json()["total"] > 0
    wrong = replays.get(PATH, **FLOW, point="nope")
    assert (wrong.status_code, wrong.json()["field"]) == (422, "point")
    assert known in wrong.json()["detail"]


def test_a_time_without_frames_has_no_decisions(replays: Any) -> None:
    answer = replays.get(PATH, **FLOW, **{"from": 1, "to": 2}).json()
    assert (answer["total"], answer["observations"], answer["interval"]) == (0, 0, None)
    assert replays.get(PATH, src="1.2.3.4:5", dst="1.2.3.4:6").status_code == 404


def test_the_overview_tells_a_flow_whose_place_nothing_tells(
    replays: Any, looked: Callable[..., View]
) -> None:
    [row] = replays.get("/api/v1/bottlenecks").json()["bottlenecks"]
    assert row["hop"] is None
    view = looked(f"{replays.url}/#/")
    assert "1 flow is held back where no frame tells the place" in view.text
    assert FLOW["src"] in view.text


def test_the_page_steps_ack_by_ack(replays: Any, looked: Callable[..., View], axe: str) -> None:
    first = replays.get(PATH, **FLOW, limit=200).json()["decisions"]
    view = looked(f"{replays.url}/{PAGE}&at=2")
    assert first[2]["sentence"] in view.text
    view.page.click("button:text-is('Next')")
    assert first[3]["sentence"] in view.page.locator(".sentence").inner_text()
    assert "at=3" in view.page.url
    ended = next(at for at, each in enumerate(first) if each["branch"] == "window_end")
    view.page.locator("#step").fill(str(ended))
    lit = view.page.locator(".code .lit .number").all_inner_texts()
    assert lit == [str(number) for number in range(1, 9)]
    again = looked(view.page.url)
    assert first[ended]["sentence"] in again.page.locator(".sentence").inner_text()
    assert view.violations(axe) == []


def test_how_much_of_the_timeline_is_shown_is_in_the_address(
    replays: Any, looked: Callable[..., View]
) -> None:
    view = looked(f"{replays.url}/{PAGE}&at=2")
    view.page.select_option('select[aria-label="Decisions on the timeline"]', "200")
    assert "zoom=200" in view.page.url
    assert "at=2" in view.page.url


def test_a_replay_that_is_drawn_twice_tells_its_place(
    replays: Any, looked: Callable[..., View]
) -> None:
    """The first drawing is overtaken by the second, and never seen."""
    view = looked(f"{replays.url}/#/te")
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    view.page.route("**/replay/decisions?*", hold)
    with view.page.expect_request("**/replay/decisions?*"):
        view.page.evaluate("page => { location.hash = page; }", PAGE)
    with view.page.expect_request("**/replay/decisions?*"):
        view.page.evaluate("dispatchEvent(new Event('hopsight:again'))")
    for route in held:
        with view.page.expect_response("**/replay/decisions?*"):
            route.continue_()
        view.page.wait_for_timeout(500)
    view.page.wait_for_selector("#step")
    view.page.click("button:text-is('Next')")
    assert "at=1" in view.page.url


def test_who_leaves_a_replay_that_plays_has_left_it(
    replays: Any, looked: Callable[..., View]
) -> None:
    """It goes on between a click and the view that it leads to."""
    view = looked(f"{replays.url}/{PAGE}")
    view.page.evaluate(
        """() => {
            location.hash = "#/te";
            document.getElementById("step").dispatchEvent(new Event("input"));
        }"""
    )
    view.page.wait_for_selector("h1:text-is('Traffic between ends')")
    assert view.page.url.endswith("/#/te")


def test_who_leaves_a_replay_before_it_is_there_has_left_it(
    replays: Any, looked: Callable[..., View]
) -> None:
    view = looked(f"{replays.url}/#/te")
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    view.page.route("**/replay/decisions?*", hold)
    with view.page.expect_request("**/replay/decisions?*"):
        view.page.evaluate("page => { location.hash = page; }", PAGE)
    view.page.evaluate("location.hash = '#/alerts'")
    view.page.wait_for_selector("h1:has-text('firing')")
    with view.page.expect_response("**/replay/decisions?*"):
        held[0].continue_()
    view.page.wait_for_timeout(500)
    assert view.page.url.endswith("/#/alerts")


def test_what_a_sender_does_is_said_and_stepped_to(
    hopsight: Any, serve: Callable[[str], Any], looked: Callable[..., View], axe: str,
    silenced: Path, tmp_path: Path,
) -> None:  # fmt: skip
    """A sender that answers no ECE: as the command judges it, with the ACKs that asked."""
    told = json.loads(hopsight.run("conform", str(silenced), "--json").stdout)
    [finding] = told["findings"]
    dsn = f"chdb://{tmp_path}/store"
    assert hopsight.run("analyze", str(silenced), "--store", dsn).returncode == 0
    service = serve(dsn)
    try:
        answer = service.get(PATH, **FLOW, limit=5000).json()
        [there] = answer["conformance"]["findings"]
        assert answer["conformance"]["sender"] == "breaks"
        assert {name: there[name] for name in finding} == finding
        assert (there["sure_text"], there["odds_text"]) == ("> 99.999 %", "1 in 10¹¹")
        view = looked(f"{service.url}/{PAGE}")
        assert "the sender breaks the rules" in view.text
        assert "7 of 7 windows" in view.text
        asked = finding["frames"][0]["cause_frame"]
        view.page.locator(
            "button[title='Step to this decision']", has_text=str(asked)
        ).first.click()
        at = next(at for at, each in enumerate(answer["decisions"]) if each["frame"] == asked)
        assert f"at={at}" in view.page.url
        assert view.violations(axe) == []
    finally:
        service.stop()


def test_a_sender_that_conforms_is_said_to(replays: Any, looked: Callable[..., View]) -> None:
    answer = replays.get(PATH, **FLOW, limit=1).json()
    assert answer["conformance"]["findings"] == []
    assert "the sender does as it should" in looked(f"{replays.url}/{PAGE}").text


@pytest.mark.parametrize(
    ("beside", "lines"),
    [
        ("", ["alpha", "cwnd", "ssthresh"]),
        ("&with=g=0.25",
         ["alpha", "alpha, second run", "cwnd", "ssthresh", "cwnd, second run"]),
        ("&with=algorithm=swift swift.base_target_ns=100000",
         ["alpha", "cwnd", "ssthresh", "delay_ns, second run", "target_ns, second run",
          "cwnd, second run"]),
    ],
    ids=["alone", "parameters", "algorithm"],
)  # fmt: skip
def test_each_line_has_a_colour_of_its_own(
    replays: Any, looked: Callable[..., View], beside: str, lines: list[str]
) -> None:
    """Out of those that people with any colour vision can tell apart."""
    view = looked(f"{replays.url}/{PAGE}{beside}")
    strokes = view.page.eval_on_selector_all(
        ".timeline polyline", "all => all.map((each) => each.style.stroke)"
    )
    named = view.page.eval_on_selector_all(
        ".keys > span",
        "all => all.map((each) => [each.textContent, each.firstChild.style.background])",
    )
    assert [name for name, _ in named] == lines
    assert [colour for _, colour in named] == strokes
    assert len({*strokes}) == len(lines)
    palette = re.search(r"NAMES = (\[.*\])", (CONSOLE / "colour.js").read_text())
    assert palette is not None
    told = [bytes.fromhex(colour[1:]) for colour in json.loads(palette[1])]
    assert {*strokes} <= {f"rgb({red}, {green}, {blue})" for red, green, blue in told}


def test_two_runs_lie_over_each_other(replays: Any, looked: Callable[..., View]) -> None:
    view = looked(f"{replays.url}/{PAGE}&with=g=0.25&zoom=200")
    assert "the runs part at decision" in view.text
    view.page.click("text=To where they part")
    assert view.page.locator(".variables .differs").count() > 0
    assert view.page.locator(".timeline polyline").count() >= 4
    view.page.locator("select[aria-label=Speed]").select_option("500")
    before = int(view.page.locator("#step").input_value())
    view.page.click("button:text-is('Play')")
    view.page.wait_for_function(
        "before => Number(document.getElementById('step').value) > before + 20", arg=before
    )
    view.page.click("button:text-is('Pause')")


def test_another_algorithm_has_rows_and_units_of_its_own(
    replays: Any, looked: Callable[..., View]
) -> None:
    """Swift's cwnd is packets: beside DCTCP's bytes it would be a line at 0."""
    view = looked(f"{replays.url}/{PAGE}&with=algorithm=swift swift.base_target_ns=100000")
    titles = view.page.locator(".timeline text.title").all_text_contents()
    assert titles[-1] == "cwnd, packets: second run, swift"
    assert len(titles) == 4
    assert "Second run (swift)" in view.text
    assert "the runs part at decision" in view.text
    assert "the runs part at decision 1;" not in view.text


def test_what_is_refused_can_be_changed_and_run_again(
    replays: Any, looked: Callable[..., View]
) -> None:
    view = looked(f"{replays.url}/{PAGE}&with=g=nan")
    assert "g takes a number from 0.001 to 1" in view.text
    view.page.fill("input[name=with]", "g=0.25")
    view.page.click("button:text-is('Run')")
    view.page.wait_for_selector(".timeline polyline")
    assert "with=g" in view.page.url
    assert all("422" in each for each in view.said)  # the browser tells of every refusal
    view.said.clear()


def test_the_documentation_is_served_at_this_version(
    replays: Any, looked: Callable[..., View], axe: str
) -> None:
    view = looked(f"{replays.url}/docs/")
    view.page.click("article a:text-is('Tutorial')")
    view.page.wait_for_url("**/docs/tutorial/tour")
    assert "A tour" in view.page.locator("article h1").inner_text()
    assert view.page.locator('.pages a[aria-current="page"]').count() == 1
    assert view.violations(axe) == []
    version = replays.get("/healthz").json()["version"]
    assert f"hopsight {version}" in view.text
    assert replays.get("/docs/../pyproject.toml").status_code == 404
    assert replays.get("/docs/how-to/%2e%2e/%2e%2e/README").status_code == 404


def test_nothing_to_replay_says_why(replays: Any, looked: Callable[..., View]) -> None:
    assert "Which flow?" in looked(f"{replays.url}/#/replay").text
    view = looked(f"{replays.url}/{PAGE}&from=1&to=2")
    assert "The store holds no frames of the flow in that time" in view.text
