"""The demo as a user runs it: made, run through everything, held against the truth."""

from contextlib import nullcontext
from json import loads
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from asked import Asked

from collector import open_capture, write_pcapng
from pipeline import Store
from replay import Score
from service.commands import demo

DECISIONS = "/api/v1/replay/decisions"
FRAMES = 25_000


def test_the_demo_agrees_with_its_truth(hopsight: Any, tmp_path: Path) -> None:
    place = tmp_path / "demo"
    ran = hopsight.run("demo", "--once", "--directory", str(place))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "INT flows all right" in ran.stdout
    for telemetry in ("int", "csig_compact", "csig_expanded", "aecn"):
        assert f" {telemetry} " in ran.stdout
    kept = {path.name for path in place.iterdir()}
    assert {"capture.pcapng", "topology.yaml", "hopsight.toml", "truth.parquet", "store"} <= kept
    told = hopsight.run(
        "--settings", str(place / "hopsight.toml"), "where", "10.2.0.1:53274", "10.3.0.1:5201"
    )
    assert told.returncode == 0, told.stderr
    assert "leaf3 Ethernet1 (tor, host, 10 Gbit/s) is the bottleneck" in told.stdout or (
        "leaf3 Ethernet1" in told.stdout and "is the bottleneck" in told.stdout
    )
    notes_of_windows(hopsight, place)


def begun(capture: Path) -> Path:
    """The beginning of a capture: what is said of all of it is said of that, and sooner."""
    path = capture.with_name("begun.pcapng")
    with open_capture(capture) as whole:
        first = next(iter(whole.chunks(FRAMES)))
        write_pcapng(path, list(whole.points), [first])
    return path


def notes_of_windows(hopsight: Any, place: Path) -> None:
    """What no packet tells, the N of HPCC++, is said to be the default until it is told."""
    flow = ("10.2.0.1:53274", "10.3.0.1:5201")
    beginning = begun(place / "capture.pcapng")
    settings = place / "hopsight.toml"
    words = ("--settings", str(settings), "replay", str(beginning))
    asked = (*words, "--flow", " ".join(flow), "--topology", str(place / "topology.yaml"))
    said = "W and R of HPCC++ hold for N = 100"
    told_by_settings = hopsight.here(*asked)
    assert said not in told_by_settings.stderr
    settings.write_text(settings.read_text().replace('"N" = 4', ""))
    assert said in hopsight.here(*asked).stderr
    assert hopsight.here(*asked, "--set", "N=4").stdout == told_by_settings.stdout
    assert said not in hopsight.here(*asked, "--set", "N=4").stderr
    alone = "W and R of HPCC++ without the change hold for N = 100"
    held = hopsight.here(*asked, "--what-if", "eta=0.9", "--json")
    assert said in held.stderr
    assert said in "".join(loads(held.stdout)["notes"])
    for way in (asked, (*words, "--closed-loop")):
        swept = hopsight.here(*way, "--sweep", "N=4", "--jobs", "1", "--json")
        assert alone in swept.stderr
        assert alone in "".join(loads(swept.stdout)["notes"])
    assert alone in hopsight.here(*asked, "--sweep", "N=4,8", "--jobs", "1").stderr
    closed = (*words, "--closed-loop")
    again = hopsight.here(*closed, "--what-if", "eta=0.9", "--json")
    assert said in again.stderr
    told = loads(again.stdout)
    assert said in "".join(told["notes"])
    # A change is told of the port that the re-run is compared at, whichever is its bottleneck.
    base, queue = ({each["name"]: each for each in told[name]} for name in ("trust", "changes"))
    for name in ("queue_mean_bytes", "queue_p99_bytes", "utilisation"):
        assert queue[name]["seen"] == base[name]["rerun"], name
    report = place / "told.md"
    hopsight.here(*asked, "--report", str(report))
    assert said in report.read_text()
    with Store(f"chdb://{place / 'store'}") as store, Asked(store) as service:
        ends = dict(zip(("src", "dst"), flow, strict=True)) | {"limit": 1}
        assert said in "".join(service.get(DECISIONS, **ends).json()["notes"])
        assert said not in "".join(service.get(DECISIONS, **ends, set="N=4").json()["notes"])


@pytest.mark.parametrize("json", [False, True], ids=["table", "json"])
def test_the_demo_is_served_with_its_topology(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], json: bool
) -> None:
    """Without it a replay on the page would know no line rate, and so no window of HPCC++."""
    served: list[Any] = []
    frames = {"seen": 3, "decoded": 3, "reasons": {}}
    flows = pl.DataFrame({"script": [0], "src": ["10.0.0.1"], "seen": ["leaf1 e1"]})
    right = Score(pl.DataFrame({"agrees": [True, True]}), flows, 1.0, measured_right=True)

    def made(directory: Path, *_: Any) -> tuple[None, None]:
        (directory / demo.TOPOLOGY).write_text("version: one\ndevices: {}\n")
        return None, None

    def hinted(*given: Any) -> None:
        given[-1]("in another shell")

    monkeypatch.setattr(demo, "analyze", lambda *_: (None, frames))
    monkeypatch.setattr(demo, "show", lambda *_: None)
    monkeypatch.setattr(demo, "explain", hinted)
    for name in ("opened", "warming", "bind"):
        monkeypatch.setattr(demo, name, lambda *_: nullcontext())
    monkeypatch.setattr(demo, "make", made)
    monkeypatch.setattr(demo, "score", lambda *_: right)
    monkeypatch.setattr(demo, "serve_store", lambda *given: served.extend(given))
    demo.run(once=False, seed=1, directory=tmp_path, port=0, json=json)
    assert served[-1].path == tmp_path / demo.TOPOLOGY
    assert served[0].pipeline.parameters["hpcc"] == {"N": 4}
    served[-2]("http://127.0.0.1:1")
    said = capsys.readouterr()
    hints = "frames: 3 seen = 3 decoded\nin another shell\n"
    if not json:
        assert said.out.startswith(hints)
        return
    assert said.err == hints
    told, where = map(loads, said.out.splitlines())
    assert where == {"url": "http://127.0.0.1:1"}
    assert (told["frames"], told["agreeing"], told["intervals"]) == (frames, 2, 2)
    assert told["flows"] == [{"src": "10.0.0.1", "seen": "leaf1 e1"}]
    assert told["store"] == f"chdb://{tmp_path}/store"
    assert told["topology"] == str(served[-1].path)
