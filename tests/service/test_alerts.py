"""Alerts: rules, states, flapping, silences, and real receivers that fail and come back."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import httpx
import polars as pl
import pytest
from asked import Asked, opened

from pipeline import TABLES, Store, StoreError
from service.alerts import delivery
from service.alerts.delivery import Delivery
from service.alerts.engine import Engine
from service.alerts.rule import AlertsError, Receiver, read
from service.alerts.silence import LONGEST_NS, MOST_DAYS, Silence
from service.alerts.standing import Standing, as_kept
from service.alerts.state import FIRING, PENDING, RESOLVED, Alert, Patience
from service.alerts.telling import Look
from service.alerts.watch import Watch
from service.commands.serve import renew
from service.endpoint import NS_PER_S, time_text
from service.hub import Hub
from service.metrics import Metrics
from service.settings import Settings

S = 10**9
LAST = {"until_ns": 2**62, "rows": 100}
RULES = """
[[rule]]
name = "hot port"
over = "links"
filter = 'stage = "tor"'
value = "u.p99"
above = 1.0
for = "20ms"
window = "50ms"
group_by = ["device", "interface"]
severity = "page"
summary = "a port is full"
runbook = "https://runbooks.example/hot-port"

[[rule]]
name = "many held back"
over = "flows"
filter = "kind in (uplink, incast)"
above = 2
group_by = ["device"]

[[rule]]
name = "slow"
over = "flows"
value = "u.mean"
below = 0.1
"""


class Heard(BaseHTTPRequestHandler):
    """A receiver that keeps what it is told, and fails as often as it is asked to."""

    told: ClassVar[list[tuple[str, Any, str]]] = []
    failing: ClassVar[list[int]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        code = self.failing.pop(0) if self.failing else 200
        if code == 200:
            self.told.append((self.path, body, self.headers.get("Authorization", "")))
        self.send_response(code)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def heard() -> Iterator[tuple[str, type[Heard]]]:
    Heard.told, Heard.failing = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Heard)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", Heard
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "alerts.toml"
    path.write_text(RULES)
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, world: ModuleType) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("alerts")) as made:
        for table, rows in world.frames().items():
            made.insert(table, rows, "world")
        yield made


def shifted(rows: pl.DataFrame, by_ns: int) -> pl.DataFrame:
    return rows.with_columns(pl.col("time_ns") + by_ns)


def test_states_move_by_what_holds_and_for_how_long() -> None:
    alert, waits = Alert(), Patience(10, 5, 6, 100)
    assert alert.advance(None, 0, waits) is None
    assert alert.advance(2.0, 1, waits) == PENDING
    assert alert.advance(2.0, 5, waits) is None
    assert alert.advance(None, 6, waits) == RESOLVED
    assert (alert.value, list(alert.changed)) == (None, [])
    assert alert.advance(2.0, 7, waits) == PENDING
    assert alert.advance(3.0, 17, waits) == FIRING
    assert (alert.since_ns, alert.value) == (7, 3.0)
    assert alert.advance(None, 20, waits) is None
    assert alert.advance(None, 22, waits) == RESOLVED
    assert Alert().advance(1.0, 5, Patience(0, 0, 6, 100)) == FIRING


def test_what_nobody_looked_at_did_not_hold_all_the_time() -> None:
    """Two bursts with a long silence between them are no condition that held for minutes."""
    waits, alert = Patience(300 * S, 0, 6, 600 * S), Alert()
    assert alert.advance(2.0, 1000 * S, waits) == PENDING
    assert alert.advance(2.0, 1700 * S, waits) is None
    assert alert.since_ns == 1700 * S
    assert alert.advance(2.0, 1900 * S, waits) is None
    assert alert.advance(2.0, 2000 * S, waits) == FIRING
    soon, alert = Patience(2 * S, 0, 6, 600 * S), Alert()
    assert alert.advance(2.0, 1000 * S, soon) == PENDING
    assert alert.advance(2.0, 1030 * S, soon) == FIRING, "looks of a busy service are far apart"


def test_an_alert_that_flaps_stays_until_it_is_quiet() -> None:
    alert, waits, told = Alert(), Patience(0, 0, 4, 100), []
    for now_ns in range(60):
        value = 1.0 if now_ns % 2 == 0 and now_ns < 40 else None
        if state := alert.advance(value, now_ns, waits):
            told.append((now_ns, state))
    assert told == [(0, FIRING), (1, RESOLVED), (2, FIRING), (3, RESOLVED), (4, FIRING)]
    assert alert.flaps(59, waits)
    assert alert.advance(None, 137, waits) is None
    assert alert.advance(None, 138, waits) == RESOLVED
    assert not alert.flaps(138 + 100, waits)


def test_an_alert_stays_as_long_as_it_flaps_and_not_as_it_holds() -> None:
    """What is damped are changes as well, or damping would end what it is there for."""
    alert, waits = Alert(), Patience(0, 0, 4, 100)
    told = []
    for now_ns in range(1_000):
        value = 1.0 if now_ns // 10 % 2 == 0 else None
        if alert.advance(value, now_ns, waits):
            told.append(now_ns)
    assert told == [0, 10, 20, 30, 40]
    for now_ns in range(1_000, 1_200):
        assert alert.advance(1.0, now_ns, waits) is None
    assert not alert.flaps(1_199, waits)
    assert alert.advance(None, 1_200, waits) == RESOLVED


def test_rules_over_the_store_fire_and_are_over_and_are_kept(
    store: Store, file: Path, world: ModuleType
) -> None:
    settings = Settings.model_validate({"service": {"alerts_file": file}})
    with Asked(store, settings) as client:
        watch: Watch = client.app.state.watch
        watch.engine.step()
        found = client.get("/api/v1/alerts").json()["alerts"]
        states = {(each["rule"], each["labels"].get("device")): each for each in found}
        assert states["many held back", "leaf1"]["state"] == FIRING
        assert states["many held back", "leaf1"]["value"] == 3
        assert states["hot port", "leaf1"]["state"] == PENDING
        assert states["hot port", "leaf1"]["value"] == pytest.approx(1.4)
        assert not [each for each in found if each["rule"] == "slow"]
        later = world.frames()
        for table in ("hop_intervals", "verdicts"):
            store.insert(table, shifted(later[table], S // 5), "later")
        watch.engine.step()
        found = client.get("/api/v1/alerts").json()["alerts"]
        hot = next(each for each in found if each["rule"] == "hot port")
        assert (hot["state"], hot["labels"]["interface"]) == (FIRING, "Ethernet48")
        assert (hot["labels"]["severity"], hot["silenced_by"]) == ("page", [])
        rules = {rule.name: rule for rule in read(file).rule}
        [newest_ns] = store.query("extent")["to_ns"]
        last = store.query("alerts_last", **LAST).iter_rows(named=True)
        kept = [as_kept(row, rules, newest_ns).shown([], 0) for row in last]
        assert sorted(kept, key=str) == sorted(found, key=str)
        again = Watch(read(file), store, client.app.state.hub, client.app.state.metrics)
        again.engine.reached = watch.engine.reached
        again.engine._restore(newest_ns)
        assert {each.rule.name for each in again.engine.standing()} == {
            "hot port",
            "many held back",
        }
        restored = [each for each in again.engine.alerts.values() if each.state == FIRING]
        assert {each.held_ns for each in restored} == {newest_ns}
        assert all(len(each.changed) > 0 for each in restored)
        # Ten minutes later there is only a flow that nothing holds back.
        idle = later["verdicts"].filter(pl.col("kind") == "sender_limited")
        store.insert("verdicts", shifted(idle, 600 * S), "idle")
        watch.engine.step()
        assert client.get("/api/v1/alerts").json()["alerts"] == []
        changes = client.get("/api/v1/alerts/history", rule="hot port").json()["changes"]
        assert [each["state"] for each in changes] == [RESOLVED, FIRING, PENDING]
        events = [event.name for event in client.app.state.hub._kept]
        assert events.count("alert") == len(client.get("/api/v1/alerts/history").json()["changes"])
        told = client.get("/api/v1/alerts/rules").json()
        assert [rule["name"] for rule in told["rules"]] == ["hot port", "many held back", "slow"]


def firing(file: Path) -> list[Any]:
    rule = read(file).rule[0]
    labels = {"alertname": rule.name, "device": "leaf1", "severity": "page"}
    return [Standing(rule, labels, FIRING, 1_760_000_000 * S, 1.4, flapping=False)]


def quiet(now_ns: int, **matchers: str) -> Silence:
    return Silence("a1", now_ns, now_ns - S, now_ns + S, matchers, "silence", "ann", "")


def seen(standing: list[Any], silences: list[Silence], now_ns: int) -> Callable[[], Look]:
    """What is seen however often it is looked."""
    return lambda: Look(standing, silences, now_ns)


def test_a_webhook_is_told_each_change_once_and_again_when_it_failed(
    heard: tuple[str, type[Heard]], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "FIRST_WAIT_S", 0.01)
    monkeypatch.setenv("HOOK_TOKEN", "s3cret")
    url, server = heard
    receiver = Receiver(name="hook", kind="webhook", url=url, token_variable="HOOK_TOKEN")  # noqa: S106 - the variable's name
    told, metrics = Delivery(receiver, Metrics()), Metrics()
    told.metrics = metrics
    server.failing = [500, 503, 429]
    standing, now_ns = firing(file), time.time_ns()
    told.step(seen(standing, [], now_ns), 0.0)
    assert len(server.told) == 1
    _, body, authorization = server.told[0]
    assert authorization == "Bearer s3cret"
    [alert] = body["alerts"]
    assert (alert["state"], alert["rule"], alert["value"]) == (FIRING, "hot port", 1.4)
    assert alert["runbook_url"] == "https://runbooks.example/hot-port"
    told.step(seen(standing, [], now_ns), 1.0)
    assert len(server.told) == 1
    told.step(seen(standing, [], now_ns), 61.0)
    assert len(server.told) == 2
    told.step(seen([], [], now_ns), 62.0)
    assert server.told[2][1]["alerts"][0]["state"] == RESOLVED
    server.failing = [500] * 5
    told.step(seen(standing, [], now_ns), 63.0)
    told.step(seen(standing, [], now_ns), 64.0)
    assert len(server.told) == 3
    told.step(seen(standing, [], now_ns), 63.0 + 80.0)
    assert len(server.told) == 4
    server.failing = [404]
    told.sent.clear()
    told.step(seen(standing, [], now_ns), 200.0)
    value = metrics.registry.get_sample_value
    name = "hopsight_alert_deliveries_total"
    assert value(name, {"receiver": "hook", "outcome": "delivered"}) == 4
    assert value(name, {"receiver": "hook", "outcome": "failed"}) == 2


def test_an_alertmanager_is_spoken_to_as_it_wants_and_silence_is_kept(
    heard: tuple[str, type[Heard]], file: Path
) -> None:
    url, server = heard
    told = Delivery(Receiver(name="am", kind="alertmanager", url=f"{url}/"), Metrics())
    standing, now_ns = firing(file), time.time_ns()
    told.step(seen(standing, [quiet(now_ns, device="leaf*")], now_ns), 0.0)
    told.step(seen(standing, [quiet(now_ns, device="leaf1", severity="page")], now_ns), 1.0)
    assert server.told == []
    told.step(seen(standing, [quiet(now_ns, device="spine1"), quiet(now_ns - 9 * S)], now_ns), 2.0)
    path, [alert], _ = server.told[0]
    assert path == "/api/v2/alerts"
    assert alert["labels"] == {"alertname": "hot port", "device": "leaf1", "severity": "page"}
    assert alert["annotations"]["value"] == "1.4"
    assert alert["startsAt"] == "2025-10-09T08:53:20.000000Z"
    assert alert["endsAt"] > alert["startsAt"]
    # Whoever was told that it fires is told that it is over, silent or not.
    told.step(seen([], [quiet(now_ns, device="leaf1")], now_ns), 3.0)
    assert len(server.told) == 2


def test_silences_are_asked_for_and_ended(store: Store, file: Path) -> None:
    settings = Settings.model_validate({"service": {"alerts_file": file}})
    with Asked(store, settings) as client:
        wish = {"matchers": {"device": "leaf1*"}, "for": "2h", "comment": "change"}
        made = client.ask("POST", "/api/v1/alerts/silences", json=wish)
        assert made.status_code == 201, made.text
        assert made.json()["author"] == "local"
        [held] = client.get("/api/v1/alerts/silences").json()["silences"]
        assert held == made.json()
        place = f"/api/v1/alerts/silences/{held['id']}"
        assert client.ask("DELETE", place).status_code == 204
        assert client.ask("DELETE", place).status_code == 404
        assert client.get("/api/v1/alerts/silences").json()["silences"] == []
        for wrong in (
            {"matchers": {}, "for": "2h"},
            {"matchers": {"a": "b"}},
            {"matchers": {"a": "b"}, "for": "2h", "to": "2030-01-01T00:00:00Z"},
            {"matchers": {"a": "b"}, "to": "2001-01-01T00:00:00Z"},
            {"matchers": {"a": "b"}, "for": "9999d"},
            {"matchers": {"a": 1}, "for": "2h"},
            {"matchers": {"a": "b\x00"}, "for": "2h"},
            {"matchers": {"a": "b"}, "for": "2h", "more": 1},
            {"matchers": {"a": "b"}, "for": 7200},
            {"matchers": {"a": "b"}, "for": True},
            {"matchers": {"a": "b"}, "from": 5, "for": "2h"},
            {"matchers": {"": "*"}, "for": "2h"},
            {"matchers": {"dev\x1bice": "*"}, "for": "2h"},
            [],
        ):
            answer = client.ask("POST", "/api/v1/alerts/silences", json=wrong)
            assert answer.status_code == 422, (wrong, answer.text)
            assert "key" not in answer.json()["field"], "no client sent that"


def test_the_farthest_end_of_a_silence_is_what_its_refusal_says(store: Store, file: Path) -> None:
    settings = Settings.model_validate({"service": {"alerts_file": file}})
    with Asked(store, settings) as client:
        wish: dict[str, Any] = {"matchers": {"device": "never"}}
        for days, status in ((MOST_DAYS, 201), (MOST_DAYS + 1, 422)):
            told = client.ask("POST", "/api/v1/alerts/silences", json=wish | {"for": f"{days}d"})
            assert told.status_code == status, told.text
        assert f"more than {MOST_DAYS} days from now" in told.json()["detail"]
        late = wish | {"to": time_text(time.time_ns() + LONGEST_NS + NS_PER_S)}
        told = client.ask("POST", "/api/v1/alerts/silences", json=late)
        assert f"more than {MOST_DAYS} days from now" in told.json()["detail"]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("[[rule]]\nname = 'a'", "rule.1.over: is required"),
        ("[[rule]]\nname='a'\nover='flows'", "has above or below"),
        ("[[rule]]\nname='a'\nover='flows'\nabove=1\nbelow=2", "has above or below"),
        ("[[rule]]\nname='a'\nover='flows'\nabove=1\nvalue='kind'", "'kind' is no number of flows"),
        ("[[rule]]\nname='a'\nover='links'\nabove=1\nvalue='u.p98'", "did you mean u.p9"),
        ("[[rule]]\nname='a'\nover='flows'\nabove=1\ngroup_by=['host']", "'host' is no field"),
        ("[[rule]]\nname='a'\nover='links'\nabove=1\nfilter='src = 1'", "filter: column 1"),
        ("[[rule]]\nname='a'\nover='links'\nabove=1\nfor='soon'", "is not a duration"),
        ("[[rule]]\nname='a'\nover='links'\nabove=1\nwindow='0s'", "rule.1.window: "),
        ("[[rule]]\nname='<b>'\nover='links'\nabove=1", "letters, digits"),
        ("[[receiver]]\nname='a'\nkind='webhook'\nurl='file:///etc'", "receiver.1.url"),
        ("[[reciever]]\n", "reciever: there is no such field; did you mean receiver?"),
        (
            "[[rule]]\nname='a'\nover='links'\nabov=1",
            "rule.1.abov: there is no such field; did you",
        ),
        ("[[rule]]\nname='a'\nover='links'\nabove=1\nmetric='x'", "there are name, over, "),
        ("[[rule]]\nname='a'\nover='links'\nabove=1\nfor=10", "rule.1.for: is a text with a unit"),
        ("[[rule]]\nname='a'\nover='links'\nabove=1\nwindow=true", "rule.1.window: is a text"),
        ("[[rule]]\nname='a'\nover='links'\nabove=nan", "rule.1.above"),
        ("[[receiver]]\nname=''\nkind='webhook'\nurl='http://h'", "receiver.1.name"),
        ("[[receiver]]\nname='a'\nkind='webhook'\nurl='http://'", "receiver.1.url: names no host"),
        ("[[receiver]]\nname='a'\nkind='webhook'\nurl='http://h:99999'", "receiver.1.url: "),
        ("[[rule]\n", "alerts.toml"),
    ],
)
def test_a_wrong_file_of_rules_is_named(tmp_path: Path, told: str, said: str) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text(told)
    with pytest.raises(AlertsError) as caught:
        read(path)
    assert said in str(caught.value)
    with pytest.raises(AlertsError, match="No such file"):
        read(tmp_path / "none.toml")


def test_a_file_of_rules_is_checked_as_a_topology_is(hopsight: Any, tmp_path: Path) -> None:
    rules, raw, absent = (tmp_path / name for name in ("alerts.toml", "raw.toml", "none.toml"))
    rules.write_text("[[rule]]\nname='a'\nover='links'\nabove=1\nfor='soon'\nmore=1")
    raw.write_bytes(b"\xff")
    done = hopsight.here("alerts", "check", str(rules))
    assert (done.returncode, done.stderr) == (1, "")
    assert "rule.1.for" in done.stdout
    assert done.stdout.endswith("2 wrong\n")
    done = hopsight.here("alerts", "check", str(rules), "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["rules"], told["receivers"]) == (1, None, None)
    assert [(one["file"], one["place"]) for one in told["errors"]] == [
        (str(rules), "rule.1.for"),
        (str(rules), "rule.1.more"),
    ]
    assert "is not a duration" in told["errors"][0]["sentence"]
    for file, said in ((raw, "not UTF-8 text"), (absent, "No such file")):
        done = hopsight.here("alerts", "check", str(file), "--json")
        assert (done.returncode, done.stdout) == (3, "")
        assert said in done.stderr
    rules.write_text("")
    done = hopsight.here("alerts", "check", str(rules), "--json")
    assert (done.returncode, json.loads(done.stdout)) == (
        0,
        {"rules": 0, "receivers": 0, "errors": []},
    )


def test_a_rule_may_hold_at_once(tmp_path: Path) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text("[[rule]]\nname = 'a'\nover = 'links'\nabove = 1\nfor = '0s'")
    (rule,) = read(path).rule
    assert rule.for_ns == 0


def test_the_command_shows_alerts_and_asks_for_silence(
    hopsight: Any, served: Any, file: Path
) -> None:
    done = hopsight.here("alerts", "silence", "device=leaf1", "--for", "1h", "--store", served.dsn)
    assert " until 20" in done.stdout
    held = served.get("/api/v1/alerts/silences").json()["silences"]
    assert [each["matchers"] for each in held] == [{"device": "leaf1"}]
    assert "no alert is pending" in hopsight.here("alerts", "--store", served.dsn).stdout
    name = done.stdout.split()[0]
    for source in (("--store", served.dsn), ("--server", served.url)):
        listed = hopsight.here("alerts", "silences", *source)
        assert listed.returncode == 0, listed.stderr
        for said in (name, "device=leaf1", "in force"):
            assert said in listed.stdout
        told = hopsight.here("alerts", "silences", *source, "--json")
        assert json.loads(told.stdout) == {"silences": held}
    for code, said in ((0, f"{name} is over\n"), (1, f"no silence '{name}' is in force")):
        done = hopsight.here("alerts", "unsilence", name, "--store", served.dsn)
        assert (done.returncode, said in done.stdout + done.stderr) == (code, True)
    assert served.get("/api/v1/alerts/silences").json()["silences"] == []
    none = hopsight.here("alerts", "silences", "--server", served.url)
    assert (none.returncode, none.stdout) == (0, "no silence is in force or to come\n")
    done = hopsight.here("alerts", "silence", "a=b", "--for", "367d", "--store", served.dsn)
    assert (done.returncode, "more than 366 days" in done.stderr) == (2, True)
    for wrong, said in (
        (("device=" + 201 * "x",), "device: String should have at most 200 characters"),
        (("dev ice=x",), "matchers: is no name of a label"),
        (("device=x", "--comment", "a\x1b[31m"), "--comment: has a character"),
    ):
        done = hopsight.here("alerts", "silence", *wrong, "--for", "1h", "--store", served.dsn)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    settings = file.with_name("hopsight.toml")
    settings.write_text(f'[service]\nalerts_file = "{file}"\n')
    done = hopsight.here(
        "--settings", str(settings), "alerts", "silence", "devic=x", "--store", served.dsn
    )
    said = "a label devic; there are alertname, device, interface, severity"
    assert (done.returncode, said in done.stderr) == (0, True), done.stderr
    fine = hopsight.here("alerts", "check", str(file))
    assert fine.stdout == "fine: 3 rules, 0 receivers\n"


def test_what_fired_and_ended_while_a_receiver_was_away_is_told(
    heard: tuple[str, type[Heard]], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "FIRST_WAIT_S", 0.01)
    url, server = heard
    told = Delivery(Receiver(name="hook", kind="webhook", url=url, attempts=2), Metrics())
    [one], now_ns = firing(file), time.time_ns()
    server.failing = [503, 503]
    told.fired(one)
    told.step(seen([one], [], now_ns), 0.0)
    assert server.told == []
    # It is over before the receiver comes back.
    told.step(seen([], [], now_ns), 10.0)
    assert len(told.waiting) == 1
    told.step(seen([], [], now_ns), 90.0)
    told.step(seen([], [], now_ns), 91.0)
    told.step(seen([], [], now_ns), 92.0)
    assert [body["alerts"][0]["state"] for _, body, _ in server.told] == [FIRING, RESOLVED]
    assert told.waiting == {}
    told.fired(one)
    told.step(seen([], [quiet(now_ns, device="leaf1")], now_ns), 93.0)
    assert (told.waiting, len(server.told)) == ({}, 2)
    # After a restart the end of what may have been told before is told.
    again = Delivery(told.receiver, Metrics())
    again.restored([one])
    again.step(seen([], [], now_ns), 94.0)
    assert server.told[-1][1]["alerts"][0]["state"] == RESOLVED


def test_what_was_silent_until_its_end_is_not_told_when_a_receiver_is_back(
    heard: tuple[str, type[Heard]], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "FIRST_WAIT_S", 0.01)
    url, server = heard
    told = Delivery(Receiver(name="hook", kind="webhook", url=url, attempts=1), Metrics())
    [one], now_ns = firing(file), time.time_ns()
    hushed, loud = (replace(one, labels={**one.labels, "device": name}) for name in "ab")
    maintenance = [quiet(now_ns, device="a")]
    server.failing = [503]
    told.step(seen([one], [], now_ns), 0.0)
    for each in (hushed, loud):
        told.fired(each, quiet=each is hushed)
    told.step(seen([one, hushed, loud], maintenance, now_ns), 1.0)
    told.step(seen([one], maintenance, now_ns), 2.0)
    told.step(seen([one], [], now_ns), 90.0)
    told.fired(hushed, quiet=True)
    told.step(seen([one], [], now_ns), 91.0)
    told.fired(hushed, quiet=True)
    server.failing = [503]
    told.step(seen([one, hushed, loud], maintenance, now_ns), 92.0)
    told.step(seen([one, hushed], [], now_ns), 93.0)
    told.step(seen([one], [], now_ns), 200.0)
    names = [[each["labels"]["device"] for each in body["alerts"]] for _, body, _ in server.told]
    assert sorted(names[0]) == ["b", "leaf1"]
    assert names[1] == ["b"], "its end"
    assert "a" in names[2], "it was to be told when its silence ended, and was over by then"


def test_of_what_a_receiver_did_not_take_it_hears_no_end_after_a_restart(
    tmp_path: Path,
    store: Store,
    heard: tuple[str, type[Heard]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But of what it may have taken, since nobody knows of an answer."""
    monkeypatch.setattr(delivery, "FIRST_WAIT_S", 0.01)
    url, server = heard
    path, rule = tmp_path / "alerts.toml", '[[rule]]\nname = "left"\nover = "flows"\nabove = 0\n'
    hook = f'[[receiver]]\nname = "left"\nkind = "webhook"\nurl = "{url}"\nattempts = 2\n'

    def looked(text: str) -> None:
        path.write_text(text)
        watch = Watch(read(path), store, Hub(1), Metrics())
        watch.engine.step()
        for each in watch.deliveries:
            watch.deliver(each)

    server.failing = [503, 503]
    looked(rule + 'window = "1h"\n' + hook)
    looked(hook)
    looked(hook)
    assert server.told == []

    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as ending:
        ending.setattr(Delivery, "_post", killed)
        with pytest.raises(SystemExit):
            looked(rule + 'window = "1h"\n' + hook)
    looked(hook)
    looked(hook)
    assert [body["alerts"][0]["state"] for _, body, _ in server.told] == [RESOLVED]


def test_before_each_try_it_is_looked_anew(
    heard: tuple[str, type[Heard]], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is silent, or over, when the receiver takes it again nobody hears that it fires."""
    monkeypatch.setattr(delivery, "FIRST_WAIT_S", 0.01)
    url, server = heard
    [one], now_ns = firing(file), time.time_ns()
    other = replace(one, labels={**one.labels, "device": "leaf2"})
    looks = iter([
        Look([one, other], [], now_ns),
        Look([one, other], [quiet(now_ns, device="leaf1")], now_ns + 1),
        Look([one], [quiet(now_ns, device="leaf1")], now_ns + 2),
    ])  # fmt: skip
    metrics = Metrics()
    told = Delivery(Receiver(name="am", kind="alertmanager", url=url), metrics)
    server.failing = [500, 500]
    told.step(lambda: next(looks), 0.0)
    assert (server.told, told.sent, next(looks, None)) == ([], {}, None)
    told.step(seen([replace(one, since_ns=now_ns + 3600 * S)], [], now_ns), 1.0)
    [(_, [alert], _)] = server.told
    assert alert["startsAt"] < alert["endsAt"], "data is ahead of the clock"
    told.step(seen([], [], now_ns), 2.0)
    [_, (_, [alert], _)] = server.told
    assert alert["startsAt"] <= alert["endsAt"]
    value = metrics.registry.get_sample_value
    taken = {"receiver": "am", "outcome": "delivered"}
    assert value("hopsight_alert_deliveries_total", taken) == 2


def test_who_may_have_heard_of_an_alert_hears_that_it_is_over(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver that takes it and answers too late, and a silence before the next try."""
    heard: list[str] = []
    late = [True]

    async def posted(url: str, body: Any, *_: object) -> httpx.Response:
        heard.extend(each["state"] for each in body["alerts"])
        if late:
            late.clear()
            raise TimeoutError
        return httpx.Response(200, request=httpx.Request("POST", url))

    monkeypatch.setattr(delivery, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(delivery, "posted", posted)
    [one], now_ns = firing(file), time.time_ns()
    silent = Look([one], [quiet(now_ns, device="leaf1")], now_ns)
    looks = iter([Look([one], [], now_ns), silent])
    told = Delivery(Receiver(name="hook", kind="webhook", url="http://x"), Metrics())
    told.step(lambda: next(looks), 0.0)
    told.step(lambda: silent, 1.0)
    assert heard == [FIRING]
    told.step(seen([], [], now_ns), 2.0)
    assert heard == [FIRING, RESOLVED]


def test_nobody_hears_that_something_fires_behind_its_end(
    heard: tuple[str, type[Heard]], file: Path
) -> None:
    url, server = heard
    told = Delivery(Receiver(name="hook", kind="webhook", url=url), Metrics())
    [one], now_ns = firing(file), time.time_ns()
    told.fired(one)
    told.step(seen([one], [], now_ns), 0.0)
    told.fired(replace(one, since_ns=one.since_ns + 5))  # it was over in between
    told.step(seen([], [], now_ns), 1.0)
    told.step(seen([], [], now_ns), 2.0)
    assert [body["alerts"][0]["state"] for _, body, _ in server.told] == [FIRING, RESOLVED]
    assert told.waiting == {}


@pytest.mark.parametrize("late", [False, True])
def test_an_end_that_a_receiver_did_not_take_is_told_after_a_restart(
    tmp_path: Path,
    store: Store,
    heard: tuple[str, type[Heard]],
    monkeypatch: pytest.MonkeyPatch,
    late: bool,
) -> None:
    monkeypatch.setattr(delivery, "FIRST_WAIT_S", 0.01)
    url, server = heard
    name = f"ends {late}"
    path, rule = tmp_path / "alerts.toml", f'[[rule]]\nname = "{name}"\nover = "flows"\nabove = 0\n'
    hook = f'[[receiver]]\nname = "{name}"\nkind = "webhook"\nurl = "{url}"\nattempts = 2\n'

    def watching(text: str) -> Watch:
        path.write_text(text)
        return Watch(read(path), store, Hub(1), Metrics())

    def look(watch: Watch) -> None:
        watch.engine.step()
        for each in watch.deliveries:
            watch.deliver(each)

    if late:  # it hears of it after a restart alone
        server.failing = [503, 503]
        look(watching(rule + 'window = "1h"\n' + hook))
    watch = watching(rule + 'window = "1h"\n' + hook)
    look(watch)
    path.write_text(hook)
    server.failing = [503, 503]
    watch.renew(read(path))
    look(watch)
    assert len(server.told) == 1
    watch = watching(hook)
    look(watch)
    assert [body["alerts"][0]["state"] for _, body, _ in server.told] == [FIRING, RESOLVED]
    look(watching(hook))
    assert len(server.told) == 2


def test_of_what_was_silent_all_the_time_nobody_hears_the_end(
    tmp_path: Path, store: Store, heard: tuple[str, type[Heard]]
) -> None:
    """Not after a restart either."""
    url, server = heard
    path, rule = tmp_path / "alerts.toml", '[[rule]]\nname = "hushed"\nover = "flows"\nabove = 0\n'
    hook = f'[[receiver]]\nname = "hushed"\nkind = "webhook"\nurl = "{url}"\n'

    def looked(text: str, watch: Watch | None = None) -> Watch:
        path.write_text(text)
        if watch is None:
            watch = Watch(read(path), store, Hub(1), Metrics())
        watch.renew(read(path))
        watch.engine.step()
        for each in watch.deliveries:
            watch.deliver(each)
        return watch

    now_ns = time.time_ns()
    row = {"id": "hushed", "written_ns": now_ns, "from_ns": now_ns - S, "to_ns": now_ns + 600 * S,
           "matchers": '{"alertname": "hushed"}', "kind": "silence", "author": "",
           "comment": ""}  # fmt: skip
    store.insert("silences", pl.DataFrame([row]), "hushed")
    looked(rule + 'window = "1h"\n' + hook)
    after = looked(rule + 'window = "1h"\n' + hook)
    assert [each.state for each in after.engine.standing()] == [FIRING]
    looked(hook, after)
    looked(hook)
    assert server.told == []
    over = row | {"written_ns": now_ns + 1, "to_ns": now_ns}
    store.insert("silences", pl.DataFrame([over]), "not hushed any more")


def test_a_receiver_that_comes_back_hears_the_end_of_what_it_takes_to_fire(
    tmp_path: Path, store: Store, heard: tuple[str, type[Heard]]
) -> None:
    """It was left out of the file for a while, in which the alert ended."""
    url, server = heard
    path, rule = tmp_path / "alerts.toml", '[[rule]]\nname = "back"\nover = "flows"\nabove = 0\n'
    hook = f'[[receiver]]\nname = "back"\nkind = "webhook"\nurl = "{url}"\n'
    path.write_text(rule + 'window = "1h"\n' + hook)
    watch = Watch(read(path), store, Hub(1), Metrics())
    for text in (path.read_text(), rule + 'window = "1h"\n', "", hook, hook):
        path.write_text(text)
        watch.renew(read(path))
        watch.engine.step()
        for each in watch.deliveries:
            watch.deliver(each)
    assert [body["alerts"][0]["state"] for _, body, _ in server.told] == [FIRING, RESOLVED]


class Away:
    """A store that can be away."""

    def __init__(self, store: Store) -> None:
        self.store, self.away = store, False

    def __getattr__(self, name: str) -> Any:
        if self.away and name == "insert":
            raise StoreError("the disk is full")
        return getattr(self.store, name)


def test_changes_wait_for_a_store_that_takes_none(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text('[[rule]]\nname = "any"\nover = "flows"\nwindow = "1h"\nabove = 0\n')
    inner, hub = Away(store), Hub(1)
    known: Any = inner
    watch = Watch(read(path), known, hub, Metrics())
    inner.away = True
    with pytest.raises(StoreError):
        watch.engine.step()
    assert [each.state for each in watch.engine.standing()] == [FIRING]
    given = {"rule": "any", "before_ns": 2**63 - 1, "rows": 10}
    assert store.query("alerts_history", **given).is_empty()
    assert len(hub._kept) == 1
    inner.away = False
    watch.engine.step()
    assert store.query("alerts_history", **given)["state"].to_list() == [FIRING]
    assert len(hub._kept) == 1
    assert watch.engine.unkept == []


def test_a_rule_is_told_where_the_store_fails_at_the_next(tmp_path: Path, store: Store) -> None:
    class Failing(Away):
        """Fails at the second question of flows."""

        asked = 0

        def query(self, question: str, **given: Any) -> Any:
            self.asked += question == "alert_flows"
            if question == "alert_flows" and self.asked == 2:
                raise StoreError("it is away")
            return self.store.query(question, **given)

    path, fired = tmp_path / "alerts.toml", []
    rule = '[[rule]]\nname = "NAME"\nover = "flows"\nwindow = "1h"\nabove = 0\n'
    path.write_text(rule.replace("NAME", "before it") + rule.replace("NAME", "at it"))
    known: Any = Failing(store)
    engine = Engine(read(path), known, Hub(9), fired=fired.append)
    with pytest.raises(StoreError):
        engine.step()
    engine.step()
    assert [each.rule.name for each in fired] == ["before it", "at it"]
    for name in ("before it", "at it"):
        given = {"rule": name, "before_ns": 2**63 - 1, "rows": 10}
        assert store.query("alerts_history", **given)["state"].to_list() == [FIRING]


def test_every_mistake_of_a_file_is_named_at_once(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rule = "[[rule]]\nname='a'\nover='flows'\nabove=1\n"
    wrong = "below=2\nfor='-3s'\nvalue='u.p999'\nfilter='stagee = tor'\ngroup_by=['nosuch']\n"
    rules.write_text(rule + wrong + rule)
    with pytest.raises(AlertsError) as caught:
        read(rules)
    told = {each.place: each.sentence for each in caught.value.mistakes}
    assert {*told} == {"", *(f"rule.1.{name}" for name in ("below", "for", "value", "filter",
                                                         "group_by"))}  # fmt: skip
    assert told["rule.1.filter"].startswith("column 1")
    assert told[""] == "two rules or two receivers have one name"
    rules.write_text("rule = 3")
    with pytest.raises(AlertsError, match="rule: "):
        read(rules)


def test_an_alert_ends_with_its_rule(tmp_path: Path, store: Store) -> None:
    path, known = tmp_path / "alerts.toml", []
    path.write_text('[[rule]]\nname = "old"\nover = "flows"\nwindow = "1h"\nabove = 0\n')
    Engine(read(path), store, Hub(1)).step()
    path.write_text(path.read_text().replace("old", "new"))
    engine = Engine(read(path), store, Hub(1), restored=known.extend)
    engine.step()
    assert [(each.rule.name, each.state) for each in known] == [("old", FIRING)]
    assert [each.rule.name for each in engine.standing()] == ["new"]
    standing = store.query("alerts_last", **LAST)["rule"]
    assert "new" in standing
    assert "old" not in standing


def test_a_rule_that_comes_back_while_no_data_comes_fires_anew(
    tmp_path: Path, store: Store
) -> None:
    """Its last change is the last in time as well, so that its end is told after a restart."""
    path, known = tmp_path / "alerts.toml", []
    rule = '[[rule]]\nname = "again"\nover = "flows"\nwindow = "1h"\nabove = 0\n'
    other = rule.replace("again", "only")

    def files(*texts: str) -> Iterator[Any]:
        for text in texts:
            path.write_text(text)
            yield read(path)

    first, *following = files(rule, other, rule + other, other)
    engine = Engine(first, store, Hub(1))
    engine.step()
    for file in following[:-1]:
        engine.renew(file)
        engine.step()
    given = {"rule": "again", "before_ns": 2**63 - 1, "rows": 10}
    changes = store.query("alerts_history", **given)
    assert changes["state"].to_list() == [FIRING, RESOLVED, FIRING]
    assert changes["time_ns"].n_unique() == 3
    Engine(following[-1], store, Hub(1), restored=known.extend).step()
    assert ("again", FIRING) in [(each.rule.name, each.state) for each in known]
    assert "again" not in store.query("alerts_last", **LAST)["rule"]


@pytest.mark.parametrize("changed", ['severity = "page"', 'group_by = ["kind"]'])
@pytest.mark.parametrize("restarted", [False, True])
def test_an_alert_is_over_where_its_rule_has_other_labels(
    tmp_path: Path, store: Store, changed: str, restarted: bool
) -> None:
    path = tmp_path / "alerts.toml"
    name = f"{changed.split(maxsplit=1)[0]} {restarted}"
    path.write_text(f'[[rule]]\nname = "{name}"\nover = "flows"\nwindow = "1h"\nabove = 0\n')
    engine = Engine(read(path), store, Hub(1))
    engine.step()
    [before] = engine.standing()
    path.write_text(path.read_text() + changed)
    if restarted:
        engine = Engine(read(path), store, Hub(1))
    else:
        engine.renew(read(path))
    engine.step()
    standing = engine.standing()
    assert standing
    assert before.labels not in [each.labels for each in standing]
    given = {"rule": name, "before_ns": 2**63 - 1, "rows": 100}
    changes = store.query("alerts_history", **given).rows(named=True)
    own = [each["state"] for each in changes if json.loads(each["labels"]) == before.labels]
    assert own == [RESOLVED, FIRING]


def test_a_receiver_that_is_gone_is_not_waited_for(tmp_path: Path, store: Store) -> None:
    """It takes connections and answers nothing: that is why it was taken away."""
    path, hub = tmp_path / "alerts.toml", Hub(1)
    rule = '[[rule]]\nname = "hangs"\nover = "flows"\nwindow = "1h"\nabove = 0\n'
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hook = (
            '[[receiver]]\nname = "hook"\nkind = "webhook"\n'
            f'url = "http://127.0.0.1:{silent.getsockname()[1]}"\ntimeout_s = 2\n'
        )
        path.write_text(rule + hook)
        watch = Watch(read(path), store, hub, Metrics())
        watch.engine.step()
        watch.start()
        silent.settimeout(30)
        asked, _ = silent.accept()
        path.write_text(rule)
        [beat] = (watch._beats or {}).values()
        began_s = time.monotonic()
        watch.renew(read(path))
        assert time.monotonic() - began_s < 1
        asked.close()
        beat.join(30)
        assert not beat.is_alive()
        silent.settimeout(0.2)
        with pytest.raises(TimeoutError):
            silent.accept()  # nothing was tried again
        watch.end()


def test_a_token_that_is_not_there_is_told(caplog: pytest.LogCaptureFixture) -> None:
    url, name = "http://127.0.0.1:1", "NO_SUCH_VARIABLE"
    Delivery(Receiver(name="hook", kind="webhook", url=url, token_variable=name), Metrics())
    assert f"the variable {name} is not set" in caplog.text


def test_authorities_that_cannot_be_read_are_told_where_nobody_is(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/gone.pem")
    receiver = Receiver(name="hook", kind="webhook", url="https://127.0.0.1:1")
    Delivery(receiver, Metrics()).step(seen(firing(file), [], time.time_ns()), 1.0)
    assert "hook does not take them: SSL_CERT_FILE=/gone.pem cannot be read" in caplog.text


def test_a_silence_is_of_alerts_that_have_its_labels() -> None:
    now_ns = time.time_ns()
    assert quiet(now_ns, device="*").fits({"device": "leaf1"}, now_ns)
    assert not quiet(now_ns, pod="*").fits({"device": "leaf1"}, now_ns)


def test_other_rules_and_receivers_are_taken_and_what_stood_by_a_rule_that_is_gone_is_over(
    heard: tuple[str, type[Heard]],
    tmp_path: Path,
    store: Store,
    world: ModuleType,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As SIGHUP does; a file that is wrong changes nothing, and other settings are named."""
    path = tmp_path / "alerts.toml"
    path.write_text(RULES)
    settings = Settings.model_validate({"service": {"alerts_file": path}})
    with Asked(store, settings) as client:
        app, url = client.app, heard[0]
        watch: Watch = app.state.watch
        store.insert("verdicts", shifted(world.frames()["verdicts"], 3600 * S), "an hour later")
        watch.engine.step()
        [before] = [each for each in watch.engine.standing() if each.rule.name == "many held back"]
        wide = settings.model_copy(
            update={"service": settings.service.model_copy(update={"max_rows": 7})}
        )
        again = partial(renew, app, lambda: wide, lambda: None)
        path.write_text(RULES.replace("above = 2", 'above = "two"'))
        again()
        watch.engine.step()
        assert before in watch.engine.standing()
        said = " ".join(caplog.messages)
        assert "service.max_rows: need a restart" in said
        assert "rule.2.above: should be a valid number" in said
        hook = f'[[receiver]]\nname = "hook"\nkind = "webhook"\nurl = "{url}"\n'
        path.write_text(RULES.replace("above = 2", "above = 1") + hook)
        watch.start()
        try:
            again()
            watch.engine.step()
            after = watch.engine.standing()
            assert [each.since_ns for each in after if each.rule.above == 1] == [before.since_ns]
            told = client.get("/api/v1/alerts/rules").json()
            assert told["rules"][1]["above"] == 1
            assert until(lambda: "many held back" in named(heard[1], FIRING))
            path.write_text(RULES.replace("many held back", "others") + hook)
            again()
            watch.engine.step()
            standing = {each.rule.name for each in watch.engine.standing()}
            assert standing == {"others"}
            changes = client.get("/api/v1/alerts/history", rule="many held back").json()["changes"]
            assert changes[0]["state"] == RESOLVED
            assert until(lambda: "many held back" in named(heard[1], RESOLVED))
            path.write_text(RULES)
            again()
            assert watch.deliveries == []
        finally:
            watch.end()


def test_history_is_paged_by_moments(store: Store) -> None:
    """All groups of a look change in one moment: none is left between two pages."""
    begin = 1_760_000_000 * S
    with Asked(store) as client:
        changes = [
            {"time_ns": moment, "rule": "paged", "labels": json.dumps({"n": str(n)}),
             "state": FIRING, "since_ns": moment, "value": 1.0, "changes": 1}
            for moment, several in ((begin, 3), (begin + 1, 5), (begin + 2, 1))
            for n in range(several)
        ]  # fmt: skip
        rows = pl.DataFrame(changes, schema=TABLES["alerts"].schema, strict=False)
        store.insert("alerts", rows, "some")
        pages, given = [], {"limit": 2, "rule": "paged"}
        for _ in range(4):
            page = client.get("/api/v1/alerts/history", **given).json()
            pages.append([change["time_ns"] - begin for change in page["changes"]])
            if not page["more"]:
                break
            given["before"] = begin + pages[-1][-1]
        assert pages == [[2, 1, 1, 1, 1, 1], [0, 0, 0]]


def named(server: type[Heard], state: str) -> set[str]:
    """Rules of which a receiver was told that state."""
    told = (each for _, body, _ in server.told for each in body["alerts"])
    return {each["rule"] for each in told if each["state"] == state}


def until(true: Callable[[], bool]) -> bool:
    """Whether it becomes true within some seconds."""
    end_s = time.monotonic() + 10
    while not true() and time.monotonic() < end_s:
        time.sleep(0.05)
    return true()
