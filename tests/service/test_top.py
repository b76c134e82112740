"""`top` and `watch` name the hops that hold flows back, from the store or from its owner."""

import io
import json
import signal
from pathlib import Path
from typing import Any

from rich.console import Console

from pipeline import Asked, Store, StoreLimits
from service.commands.top import HOPS, left_out
from service.looks import Looks
from service.text import table


def test_top_names_the_hop_that_holds_most_flows_first(hopsight: Any, served: Any) -> None:
    told = hopsight.here("top", "--store", served.dsn, "--window", "1m", "--json")
    assert (told.returncode, told.stderr) == (0, "")
    answer = json.loads(told.stdout)
    same = served.get("/api/v1/bottlenecks").json()["bottlenecks"]
    assert [row["flow"]["flow"] for row in answer["flows"]] == [row["flow"]["flow"] for row in same]
    hops = answer["hops"]
    assert [hop["flows"] for hop in hops] == sorted((h["flows"] for h in hops), reverse=True)
    assert sum(hop["flows"] for hop in hops) == len(answer["flows"]) > 0
    shown = hopsight.here("top", "--store", served.dsn, "--window", "1m").stdout
    first = hops[0]["hop"]
    assert f"{first['device']} {first['interface']}" in shown
    assert "hops that hold flows back" in shown
    assert "highest flow's u" in shown, "it is no mean load of the hop"


def test_top_shows_as_many_as_are_asked_for(hopsight: Any, served: Any) -> None:
    shown = hopsight.here("top", "--store", served.dsn, "--window", "1m", "-n", "1").stdout
    assert "more flows; -n shows more" in shown


def test_what_top_leaves_out_is_told_without_zeros() -> None:
    assert left_out(0, 10) == "10 more flows; -n shows more"
    assert left_out(1, 1200) == "1 more hop and 1,200 more flows; -n shows more"
    assert left_out(-3, 0) == ""


def test_top_says_when_nothing_is_stored(hopsight: Any, served: Any, tmp_path: Any) -> None:
    calm = hopsight.here("top", "--store", served.dsn, "--at", "2001-01-01T00:00:00Z")
    assert calm.returncode == 1
    assert "the store holds nothing of that time" in calm.stderr
    wrong = hopsight.here("top", "--store", served.dsn, "--window", "long")
    assert wrong.returncode == 2
    assert "--window: 'long' is not a duration" in wrong.stderr
    long = hopsight.here("top", "--store", served.dsn, "--window", "1000000d")
    assert (long.returncode, long.stderr.count("--window: '1000000d' is too long")) == (2, 1)
    missing = hopsight.here("top", "--store", f"chdb://{tmp_path}/none")
    assert missing.returncode == 4


def test_a_filter_that_keeps_no_flow_has_found_nothing(hopsight: Any, served: Any) -> None:
    asked = ("top", "--store", served.dsn, "--window", "1m", "--filter")
    none = hopsight.here(*asked, "src = 192.0.2.1")
    assert (none.returncode, none.stdout) == (1, "")
    assert "the filter keeps no flow of that time" in none.stderr
    told = hopsight.here(*asked, "src = 192.0.2.1", "--json")
    assert told.returncode == 1
    assert json.loads(told.stdout)["any_flow"] is False
    # One that nothing holds back is found all the same.
    calm = hopsight.here(*asked, "kind = sender_limited")
    assert (calm.returncode, calm.stderr) == (0, "")
    assert "no flow was held back by the network" in calm.stdout


def test_watch_goes_on_until_ctrl_c(hopsight: Any, served: Any) -> None:
    process = hopsight.start("watch", "--store", served.dsn, "--window", "1m", "--every", "0.2")
    assert process.stdout is not None
    seen = 0
    for line in process.stdout:
        seen += "hops that hold flows back" in line
        if seen > 1:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert (seen, process.returncode) == (2, 0)


def test_a_store_that_nobody_has_open_is_opened_when_it_may_have_changed(tmp_path: Path) -> None:
    dsn, asked = f"chdb://{tmp_path}/store", list[int]()
    with Store(dsn) as store:
        store.migrate()

    def ask(store: Asked) -> dict[str, int]:
        asked.append(store.query("extent").height)
        return {"asked": len(asked)}

    looks = Looks(dsn, StoreLimits(), ask)
    assert [looks.look() for _ in range(5)] == [{"asked": 1}] * 5
    with Store(dsn):
        pass
    assert [looks.look() for _ in range(5)] == [{"asked": 2}] * 5


def test_numbers_stay_whole_where_a_terminal_is_narrow() -> None:
    row = ("leaf1 Ethernet1", "tor downlink", "downlink", "1.25", "1,234", True)
    screen = Console(width=50, file=io.StringIO(), markup=False)
    screen.print(table(HOPS, [row]))
    said = screen.file.getvalue()
    assert "1.25" in said
    assert "1,234" in said
    assert "…" not in said
