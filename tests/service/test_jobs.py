"""Captures that are brought, and jobs: bounds, whose they are, real processes, and their ends."""

import asyncio
import io
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from asked import Asked, opened, strict

from pipeline import CALM
from service.failure import Failure
from service.jobs import running, work
from service.jobs.environment import environment_of
from service.jobs.folder import Folder, FolderError
from service.jobs.kept import DONE, FAILED, QUEUED, RUNNING, Job
from service.jobs.request import in_fields
from service.jobs.running import Running
from service.jobs.upload import Upload
from service.metrics import Metrics
from service.problem import Problem
from service.settings import Settings
from service.tokens import line_of, made

TOKENS = {name: made() for name in ("reader", "all", "blue", "red", "both")}
LINES = ";".join(
    line_of(name, "read" if name == "reader" else "operate", tenants, TOKENS[name])
    for name, tenants in (("reader", "*"), ("all", "*"), ("blue", "blue"), ("red", "red"),
                          ("both", "blue,red"))
)  # fmt: skip
DCTCP = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"
CAPTURES, JOBS = "/api/v1/captures", "/api/v1/jobs"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """Nobody works here: jobs stay as they are asked for."""
    with opened(tmp_path_factory.mktemp("jobs")) as store:
        settings, login = strict(LINES)
        bounds = {"max_capture_bytes": 200_000, "max_captures_bytes": 250_000, "max_jobs": 4}
        whole = settings.service.model_copy(update=bounds)
        with Asked(store, settings.model_copy(update={"service": whole}), login) as client:
            yield client


@pytest.fixture
def brought(asked: Asked, capture: Path) -> Iterator[dict[str, Any]]:
    found = asked.ask("POST", f"{CAPTURES}?name=small.pcapng", TOKENS["all"],
                      content=capture.read_bytes())  # fmt: skip
    assert found.status_code == 201, found.text
    assert found.headers["location"] == f"{CAPTURES}/{found.json()['id']}"
    yield found.json()
    for job in asked.get(JOBS, TOKENS["all"]).json()["jobs"]:
        asked.ask("POST", f"{JOBS}/{job['id']}/cancel", TOKENS["all"])
        assert asked.ask("DELETE", f"{JOBS}/{job['id']}", TOKENS["all"]).status_code == 204
    asked.ask("DELETE", f"{CAPTURES}/{found.json()['id']}", TOKENS["all"])


@pytest.mark.parametrize(
    ("content", "headers", "status", "said"),
    [
        (b"", {}, 422, "is empty"),
        (b"GIF89a" + bytes(100), {}, 415, "not a capture file (first bytes 47494638)"),
        (b"x" * 300_000, {}, 413, "limit of 200000"),
        (b"x", {"content-type": "multipart/form-data; boundary=a"}, 415, "not a form"),
        (b"x", {"content-encoding": "gzip"}, 415, "not by a coding"),
    ],
)
def test_what_is_no_capture_is_refused_with_a_sentence(
    asked: Asked, content: bytes, headers: dict[str, str], status: int, said: str
) -> None:
    answer = asked.ask("POST", CAPTURES, TOKENS["all"], content=content, headers=headers)
    assert answer.status_code == status
    assert said in answer.json()["detail"]
    assert asked.get(CAPTURES, TOKENS["all"]).json()["captures"] == []
    assert not [*asked.app.state.desk.folder.capture_place("").iterdir()]


@pytest.mark.parametrize("name", ["../../etc/passwd", "-", ".hidden", "a/b", "", "x" * 200])
def test_a_name_is_no_path(asked: Asked, name: str) -> None:
    answer = asked.ask("POST", CAPTURES, TOKENS["all"], params={"name": name}, content=b"x")
    assert answer.status_code == 422
    assert answer.json()["field"] == "name"


def test_captures_that_are_kept_have_a_bound(
    asked: Asked, capture: Path, brought: dict[str, Any]
) -> None:
    size = capture.stat().st_size
    assert brought["bytes"] == size
    kept = []
    while True:
        answer = asked.ask("POST", CAPTURES, TOKENS["all"], content=capture.read_bytes())
        if answer.status_code != 201:
            break
        kept.append(answer.json()["id"])
    assert len(kept) == 250_000 // size - 1
    assert answer.status_code == 413
    assert "service.max_captures_bytes" in answer.json()["detail"]
    for name in kept:
        assert asked.ask("DELETE", f"{CAPTURES}/{name}", TOKENS["all"]).status_code == 204


def test_captures_that_are_brought_at_once_keep_the_bound_together(
    asked: Asked, capture: Path
) -> None:
    head = capture.read_bytes()
    turn = asyncio.Event()

    async def slowly(first: bool) -> AsyncIterator[bytes]:
        yield head
        for _ in range(12):
            if first:
                await turn.wait()
            yield bytes(10_000)
        turn.set()

    async def both() -> list[httpx.Response]:
        return await asyncio.gather(*(
            asked.http.post(CAPTURES, content=slowly(who == "all"),
                            headers={"Authorization": f"Bearer {TOKENS[who]}"})
            for who in ("all", "both")
        ))  # fmt: skip

    first, second = asked.runner.run(both())
    assert (first.status_code, second.status_code) == (413, 201), first.text
    assert "service.max_captures_bytes" in first.json()["detail"]
    assert asked.get(CAPTURES, TOKENS["all"]).json()["bytes"] == second.json()["bytes"]
    assert asked.app.state.desk.uploads == []
    asked.ask("DELETE", f"{CAPTURES}/{second.json()['id']}", TOKENS["all"])


@pytest.mark.parametrize(
    ("wanted", "field", "said"),
    [
        ({"kind": "analyze", "capture": "0" * 16}, "capture", "there is no capture"),
        ({"kind": "analyze", "set": ["eta"]}, "set", "NAME=VALUE"),
        ({"kind": "analyze", "set": ["wings=2"]}, "set", "no parameter is called 'wings'"),
        ({"kind": "analyze", "set": ["pipeline.topology=/etc/passwd"]}, "set", "own holds"),
        ({"kind": "analyze", "set": ["pipeline.interval_ms=-4"]}, "set", "interval_ms"),
        ({"kind": "analyze", "base_rtt": "soon"}, "base_rtt", "is not a duration"),
        ({"kind": "replay"}, "capture", "is required"),
        ({"kind": "replay", "algorithm": "best"}, "algorithm", "hpcc"),
        ({"kind": "replay", "src": "10.0.0.1:1"}, "dst", "together"),
        (
            {"kind": "replay", "src": {"address": "1.1.1.1", "port": 9**9}, "dst": "1.1.1.1:1"},
            "src",
            "is a text",
        ),
        ({"kind": "sing"}, "kind", "'sing' is none; accepted are 'analyze', 'replay'"),
        ({"kind": "replay", "capture": "mine"}, "capture", "is not 16 digits and letters"),
        ({"kind": "conform"}, "capture", "is required"),
        (
            {"kind": "what_if", "src": "1.1.1.1:1", "dst": "1.1.1.1:2"},
            "what_if",
            "required",
        ),
        ({"kind": "closed_loop"}, "capture", "is required"),
        ({"kind": "sweep", "sweep": ["eta=1"]}, "capture", "is required"),
        ({"kind": "sweep", "sweep": "eta=1"}, "sweep", "list"),
        ({"kind": "sweep", "sweep": [3]}, "sweep.0", "string"),
        ({"kind": "replay", "capture": "0" * 16, "from": "5"}, "from", "of the store"),
        ({"kind": "replay", "capture": "0" * 16, "vni": 7}, "vni", "of the store"),
        ({"kind": "replay", "vni": 7}, "capture", "is required"),
        ({"kind": "conform", "src": "1.1.1.1:1", "dst": "1.1.1.1:2", "vni": 1 << 24}, "vni", ""),
        ({"kind": "replay", "replay": 1}, "replay", "no such field"),
        ({}, "kind", "is required"),
    ],
)
def test_a_job_is_checked_as_the_command_line_would(
    asked: Asked, brought: dict[str, Any], wanted: dict[str, Any], field: str, said: str
) -> None:
    told = {"capture": brought["id"]} if wanted.get("kind") == "analyze" else {}
    answer = asked.ask("POST", JOBS, TOKENS["all"], json=told | wanted)
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["detail"]
    assert answer.json()["field"] == field


@pytest.mark.parametrize(
    ("wanted", "field", "said"),
    [
        ({"kind": "what_if", "what_if": ["eta"]}, "what_if", "'eta' is not of the form NAME=VALUE"),
        ({"kind": "what_if", "what_if": ["collector.int_dscp=2"]}, "what_if", "use set"),
        ({"kind": "what_if", "what_if": ["pipeline.topology=/etc/passwd"]}, "what_if", "own holds"),
        ({"kind": "what_if", "what_if": ["fabric.rate=2"]}, "what_if", "by closed_loop"),
        ({"kind": "closed_loop", "what_if": ["fabric.rate=nan"]}, "what_if", "from 0.001 to 1000"),
        ({"kind": "closed_loop", "what_if": ["algorithm=best"]}, "what_if", "none of hpcc, dctcp"),
        ({"kind": "sweep", "sweep": ["eta=0..1:501"]}, "sweep", "501 points are more than 500"),
        ({"kind": "sweep", "sweep": ["dctcp.g=0.1,9"]}, "sweep", "g takes a number"),
        ({"kind": "sweep", "sweep": ["dctcp.g=0.1"], "by": "speed"}, "by", "'speed'; there are"),
        ({"kind": "sweep", "sweep": ["dctcp.g=0.1"], "closed_loop": True, "algorithm": "dctcp"},
         "algorithm", "are of decisions"),
    ],
)  # fmt: skip
def test_a_what_if_is_checked_as_the_command_line_would(
    asked: Asked, brought: dict[str, Any], wanted: dict[str, Any], field: str, said: str
) -> None:
    answer = asked.ask("POST", JOBS, TOKENS["all"], json=wanted | {"capture": brought["id"]})
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["detail"]
    assert answer.json()["field"] == field


def test_a_job_names_fields_and_no_options() -> None:
    said = "no frame of a b was seen"
    assert in_fields(f"--flow: {said}; --from 5 is later than --to 3") == (
        f"src, dst: {said}; from 5 is later than to 3"
    )


def test_jobs_wait_in_a_bounded_queue_and_can_be_cancelled(
    asked: Asked, brought: dict[str, Any]
) -> None:
    wanted = {"kind": "analyze", "capture": brought["id"]}
    made_jobs = [asked.ask("POST", JOBS, TOKENS["all"], json=wanted) for _ in range(3)]
    assert [each.status_code for each in made_jobs] == [202, 202, 503]
    assert made_jobs[2].headers["retry-after"]
    first = made_jobs[0].json()
    assert (first["state"], first["progress"], first["asked"]["store"]) == (QUEUED, None, True)
    place = f"{JOBS}/{first['id']}"
    assert asked.ask("DELETE", place, TOKENS["all"]).status_code == 409
    assert asked.get(f"{place}/result", TOKENS["all"]).status_code == 409
    own = asked.app.state.desk.folder.job_place(first["id"])
    assert [each.name for each in (own / "input").iterdir()] == ["small.pcapng"]
    ended = asked.ask("POST", f"{place}/cancel", TOKENS["all"]).json()
    assert not (own / "input").exists(), "it reads nothing any more"
    assert (ended["state"], ended["reason"]) == ("cancelled", "all cancelled it")
    assert asked.ask("POST", f"{place}/cancel", TOKENS["all"]).status_code == 409
    page = asked.get(JOBS, TOKENS["all"], limit=1).json()
    rest = asked.get(JOBS, TOKENS["all"], cursor=page["cursor"]).json()
    other = asked.get(JOBS, TOKENS["all"], cursor=page["cursor"], state="failed")
    assert (other.status_code, other.json()["field"]) == (422, "cursor")
    assert page["more"]
    assert [each["id"] for each in page["jobs"] + rest["jobs"]] == [
        made_jobs[1].json()["id"], first["id"]
    ]  # fmt: skip


def test_tenants_see_their_own_and_readers_only_read(asked: Asked, capture: Path) -> None:
    def bring(who: str) -> httpx.Response:
        return asked.ask("POST", CAPTURES, TOKENS[who], content=capture.read_bytes())

    assert bring("reader").status_code == 403
    assert asked.ask("POST", CAPTURES, content=b"x").status_code == 401
    own = bring("blue").json()["id"]
    kept = asked.ask("POST", JOBS, TOKENS["blue"],
                     json={"kind": "analyze", "capture": own, "store": True})  # fmt: skip
    assert (kept.status_code, kept.json()["field"]) == (403, "store")
    stored = {"kind": "replay", "src": "10.0.0.1:1", "dst": "10.0.0.2:2"}
    assert asked.ask("POST", JOBS, TOKENS["blue"], json=stored).status_code == 403
    job = asked.ask("POST", JOBS, TOKENS["blue"], json={"kind": "analyze", "capture": own}).json()
    assert job["asked"]["store"] is False
    for who, sees in (("blue", True), ("both", True), ("all", True), ("red", False)):
        status = 200 if sees else 404
        assert asked.get(f"{CAPTURES}/{own}", TOKENS[who]).status_code == status
        assert asked.get(f"{JOBS}/{job['id']}", TOKENS[who]).status_code == status
        assert len(asked.get(JOBS, TOKENS[who]).json()["jobs"]) == sees
    stolen = asked.ask("POST", JOBS, TOKENS["red"], json={"kind": "analyze", "capture": own})
    assert (stolen.status_code, stolen.json()["field"]) == (422, "capture")
    asked.ask("POST", f"{JOBS}/{job['id']}/cancel", TOKENS["blue"])
    assert asked.ask("DELETE", f"{JOBS}/{job['id']}", TOKENS["blue"]).status_code == 204
    assert asked.ask("DELETE", f"{CAPTURES}/{own}", TOKENS["both"]).status_code == 204
    told = asked.app.state.reader.store.query("audit", before_ns=2**63 - 1, rows=200)
    assert {("POST", CAPTURES), ("POST", JOBS)} <= {*told.select("method", "path").iter_rows()}


def job_of(state: str, created_ns: int = 1, **told: Any) -> Job:
    return Job(who="all", tenants=("*",), created_ns=created_ns, kind="analyze",
               asked={"kind": "analyze", "capture": "0" * 16}, state=state, **told)  # fmt: skip


def test_jobs_survive_a_restart_as_failed_and_go_after_their_time(tmp_path: Path) -> None:
    first = Folder(tmp_path)
    for job in (job_of(RUNNING), job_of(QUEUED), job_of(DONE, ended_ns=5)):
        first.job_place(job.id).mkdir()
        first.keep(job)
    first.job_place("begun").mkdir()
    with pytest.raises(FolderError, match="used by another service"):
        Folder(tmp_path)
    first.close()
    again = Folder(tmp_path)
    again.interrupted(9)
    states = sorted((each.state, each.reason or "") for each in again.jobs.values())
    assert [state for state, _ in states] == [DONE, FAILED, FAILED]
    assert "while this job was queued" in states[1][1]
    assert "while this job was running" in states[2][1]
    assert not again.job_place("begun").exists()
    assert again.drop_older(6) == 1
    assert len([*again.job_place("").iterdir()]) == 2
    again.close()


def test_a_process_that_takes_too_long_or_dies_fails_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path)
    monkeypatch.setattr(running, "POLL_S", 0.01)
    for command, most_s, reason in (
        ("import time; time.sleep(60)", 0.05, "longer than service.job_s"),
        ("import os; os._exit(9)", 60.0, r"without a word (exit code 9)"),
    ):
        folder.queue(job := job_of(QUEUED, time.time_ns()))
        started = running.subprocess.Popen
        monkeypatch.setattr(
            running.subprocess, "Popen",
            lambda argv, command=command, started=started, **given: started(
                [argv[0], "-c", command], **given
            ),
        )  # fmt: skip
        environment = environment_of(Settings(), {"PATH": "/usr/bin:/bin"})
        worker = Running(folder, environment, Metrics(), most_s, 10**18)
        assert worker.step()
        monkeypatch.setattr(running.subprocess, "Popen", started)
        assert folder.jobs[job.id].state == FAILED
        assert reason in str(folder.jobs[job.id].reason)
    assert not worker.step()
    folder.close()


def test_a_job_gets_the_settings_and_no_secret() -> None:
    settings = Settings.model_validate(
        {"collector": {"int_dscp": 23}, "store": {"dsn": "chdb:///tmp/x"}}
    )
    given = {"HOPSIGHT_TOKENS": "secret", "HOPSIGHT_SETTINGS": "a.toml", "HOME": "/root",
             "HOPSIGHT_CACHE_DIR": "/c"}  # fmt: skip
    told = environment_of(settings, given, Path("fabric.yaml"))
    assert "HOPSIGHT_TOKENS" not in told
    assert "HOPSIGHT_SETTINGS" not in told
    assert told["HOPSIGHT_COLLECTOR__INT_DSCP"] == "23"
    assert told["HOPSIGHT_STORE__DSN"] == "chdb:///tmp/x"
    assert told["HOPSIGHT_PIPELINE__TOPOLOGY"] == str(Path("fabric.yaml").resolve())


def ended(served: Any, name: str) -> dict[str, Any]:
    until_s = time.monotonic() + 300
    while True:
        job: dict[str, Any] = served.get(f"{JOBS}/{name}").json()
        if job["state"] not in {QUEUED, RUNNING} or time.monotonic() > until_s:
            return job
        time.sleep(0.1)


@pytest.mark.parametrize(
    "counts",
    [{"frames": 100, "frames_total": 100}, {"points": 2, "points_total": 2}],
)
def test_a_job_that_is_not_done_says_less_than_all(counts: dict[str, int]) -> None:
    """Frames that were read are judged and stored yet."""
    job = Job(who="x", tenants=(), created_ns=0, kind="analyze", asked={}, state=RUNNING, **counts)
    assert job.progress() == 0.99
    assert job.model_copy(update={"state": DONE}).progress() == 1.0


def test_a_capture_is_analysed_into_the_store_by_a_process(
    tmp_path: Path, serve: Callable[[str], Any], capture: Path
) -> None:
    served = serve(f"chdb://{tmp_path}/store")
    try:
        bring = httpx.post(f"{served.url}{CAPTURES}?name=small.pcapng",
                           content=capture.read_bytes(), timeout=30)  # fmt: skip
        wanted = {"kind": "analyze", "capture": bring.json()["id"]}
        place = f"{JOBS}/{httpx.post(f'{served.url}{JOBS}', json=wanted).json()['id']}"
        job = ended(served, place.rpartition("/")[2])
        assert (job["state"], job["reason"]) == (DONE, None)
        assert (job["frames"], job["progress"]) == (100, 1.0)
        assert (job["found"]["flows"], job["found"]["stored"]) == (1, True)
        report = served.get(f"{place}/result").json()
        held = [each for each in report["flows"] if each["bottleneck"]["kind"] not in CALM]
        assert job["found"]["bottlenecked"] == len(held)
        table = served.get(f"{place}/result", format="arrow").content
        whole = httpx.get(f"{served.url}{place}/result", headers={"range": "bytes=abc"})
        assert (whole.status_code, whole.json()) == (200, report)
        told = pl.read_ipc(io.BytesIO(table))["data_bytes"].to_list()
        assert told == [each["data_bytes"] for each in report["flows"]]
        found = served.get("/api/v1/flows", q="10.7.0.1:40000").json()["flows"]
        assert sorted(each["dport"] for each in found) == [5001, 40000]
        between = {"from": "1970-01-01T00:00:00Z", "to": "2100-01-01T00:00:00.5Z"}
        ends = {"src": "10.7.0.1:40000", "dst": "10.7.0.2:5001"}
        for more in (
            {"kind": "replay"},
            {"kind": "conform"},
            {"kind": "what_if", "what_if": ["dctcp.g=0.5"], "algorithm": "dctcp"},
            {"kind": "sweep", "sweep": ["dctcp.g=0.5,0.1"], "algorithm": "dctcp"},
        ):
            timed = httpx.post(f"{served.url}{JOBS}", json=between | ends | more)
            job = ended(served, timed.json()["id"])
            assert (job["state"], job["reason"]) == (DONE, None), more
        other = httpx.post(f"{served.url}{JOBS}", json=wanted | {"base_rtt": "20us"})
        job = ended(served, other.json()["id"])
        assert job["state"] == FAILED
        assert "(pipeline.base_rtt_us: not told then, 20.0 now)" in job["reason"]
        refused = served.get(f"{place}/result", format="html")
        assert (refused.status_code, refused.json()["field"]) == (422, "format")
        counted = served.get("/metrics").text
        assert 'hopsight_jobs_total{kind="analyze",outcome="done"} 1.0' in counted
        assert httpx.delete(f"{served.url}{place}").status_code == 204
        assert served.get(place).status_code == 404
        cut = httpx.post(f"{served.url}{CAPTURES}?name=cut.pcapng",
                         content=capture.read_bytes()[:-7], timeout=30)  # fmt: skip
        asked = {"kind": "analyze", "capture": cut.json()["id"]}
        job = ended(served, httpx.post(f"{served.url}{JOBS}", json=asked).json()["id"])
        assert job["state"] == DONE
        assert "1 file_truncated" in "".join(job["found"]["notes"])
    finally:
        served.stop()


def test_a_replay_keeps_decisions_and_a_report(
    asked: Asked, brought: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"kind": "replay", "capture": brought["id"], "algorithm": "dctcp"}
    name = asked.ask("POST", JOBS, TOKENS["all"], json=wanted).json()["id"]
    folder = asked.app.state.desk.folder
    job = folder.jobs[name]
    monkeypatch.chdir(folder.job_place(name))
    monkeypatch.setattr(work.sys, "argv", [])
    with pytest.raises(Failure, match="no hpcc decision in these frames"):
        work.done(job.model_copy(update={"asked": wanted | {"algorithm": "hpcc"}}))
    results, found = work.done(job)
    folder.change(name, frozenset({QUEUED}), state=DONE, results=results, found=found)
    assert found["flows"] == 1
    told = json.loads(Path(work.PROGRESS).read_text())
    assert told["frames"] == told["frames_total"] == 100, "it goes over them twice"
    assert len(found["notes"]) == len({*found["notes"]})
    place = f"{JOBS}/{name}/result"
    page = asked.get(place, TOKENS["all"], start="2", limit="7").json()
    assert (page["total"], page["next"], len(page["decisions"])) == (found["decisions"], 9, 7)
    table = asked.get(place, TOKENS["all"], format="arrow").content
    assert pl.read_ipc(io.BytesIO(table)).height == page["total"]
    html = asked.get(place, TOKENS["all"], format="html")
    assert "sandbox" in html.headers["content-security-policy"]
    assert "hopsight replay input/small.pcapng --algorithm dctcp --report report.html" in html.text
    assert str(folder.place) not in html.text


WHAT_IF = ["fabric.mark_bytes=60000"]
GRID = ["fabric.mark_bytes=20000,40000"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("wanted", "words", "results"),
    [
        ({"kind": "conform"}, ["conform"], {"json"}),
        ({"kind": "what_if", "what_if": ["dctcp.g=0.5"]},
         ["replay", "--what-if", "dctcp.g=0.5"], {"json", "arrow"}),
        ({"kind": "closed_loop", "what_if": WHAT_IF},
         ["replay", "--closed-loop", "--what-if", *WHAT_IF], {"json"}),
        ({"kind": "sweep", "sweep": GRID, "closed_loop": True, "by": "queue_mean_bytes"},
         ["replay", "--closed-loop", "--sweep", *GRID, "--by", "queue_mean_bytes"],
         {"json", "arrow"}),
    ],
    ids=lambda each: each["kind"] if isinstance(each, dict) else "",
)  # fmt: skip
def test_a_job_finds_what_its_command_prints(
    asked: Asked, wanted: dict[str, Any], words: list[str], results: set[str], hopsight: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The capture is of both senders, so that there is something to rebuild and to judge."""
    made = asked.ask("POST", f"{CAPTURES}?name=a1.pcap.zst", TOKENS["all"],
                     content=DCTCP.read_bytes()).json()  # fmt: skip
    asking = wanted | {"capture": made["id"]}
    answer = asked.ask("POST", JOBS, TOKENS["all"], json=asking)
    assert answer.status_code == 202, answer.text
    name = answer.json()["id"]
    folder = asked.app.state.desk.folder
    monkeypatch.chdir(folder.job_place(name))
    monkeypatch.setattr(work.sys, "argv", ["work"])
    files, found = work.done(folder.jobs[name])
    told = running.progress_of(folder.job_place(name))
    folder.change(name, frozenset({QUEUED}), state=DONE, results=files, found=found, **told)
    job = asked.get(f"{JOBS}/{name}", TOKENS["all"]).json()
    assert set(job["results"]) == results
    assert (job["points"], job["points_total"]) == (
        (2, 2) if wanted["kind"] == "sweep" else (0, None)
    )
    whole = None if wanted["kind"] == "sweep" else 3000
    assert (job["frames"], job["frames_total"]) == (3000, whole)
    page = asked.get(f"{JOBS}/{name}/result", TOKENS["all"]).json()
    printed = json.loads(hopsight.here(words[0], str(DCTCP), *words[1:], "--json").stdout)
    assert json.dumps(page).replace("input/", "") == json.dumps(printed)
    if "trust" in page:
        assert found["off_by"]["bottleneck"] == 0
        assert abs(found["off_by"]["queue_mean_bytes"]) < 0.25
    if "arrow" in results:
        table = asked.get(f"{JOBS}/{name}/result", TOKENS["all"], format="arrow").content
        assert pl.read_ipc(io.BytesIO(table)).height >= len(page.get("rows", [1]))
    asked.ask("DELETE", f"{JOBS}/{name}", TOKENS["all"])
    asked.ask("DELETE", f"{CAPTURES}/{made['id']}", TOKENS["all"])


def test_whoever_sends_next_to_nothing_gives_the_place_to_others(tmp_path: Path) -> None:
    upload = Upload(tmp_path, lambda: (10**9, "service.max_capture_bytes"))
    upload._at_pace(10, 59.0)
    upload._at_pace(700_000, 61.0)
    with pytest.raises(Problem, match="bytes came in a second"):
        upload._at_pace(500_000, 61.0)


def test_a_full_disk_does_not_make_a_job_run_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path)
    folder.queue(job := job_of(QUEUED))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("service.jobs.folder.write", full)
    assert folder.change(job.id, frozenset({QUEUED}), state=FAILED, reason="x") is not None
    assert folder.jobs[job.id].state == FAILED
    folder.close()
