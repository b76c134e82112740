"""What is shipped for deployment names only what there is: metrics, settings, commands, files."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import typer
import yaml

from collector import SHED_REASONS, BusSettings
from collector.datagrams import DATAGRAM_REASONS
from collector.kafka_message import REASONS as LETTERS
from collector.live import LIVE_REASONS
from collector.status import STATUS
from pipeline import Crew
from service import cli
from service.commands.serve import login_for
from service.metrics import METRICS
from service.settings import NOT_SETTINGS, Settings, rows
from service.stages import STAGES

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
TABLE = {metric.name: metric for metric in (*METRICS, *STAGES)}
HISTOGRAM = ("_bucket", "_sum", "_count")
BOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
YAML = sorted(DEPLOY.rglob("*.yaml"))
REASONS = {*(name for name, _ in STATUS), *SHED_REASONS, *LIVE_REASONS, *DATAGRAM_REASONS}


def rules() -> list[dict[str, Any]]:
    told = yaml.safe_load((DEPLOY / "prometheus" / "rules.yaml").read_text())
    return [rule for group in told["groups"] for rule in group["rules"]]


def expressions() -> Iterator[tuple[str, str]]:
    """Where an expression stands, and the expression."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for path in BOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                if "expr" in target:
                    yield f"{path.name}: {panel['title']} {target['refId']}", target["expr"]


def metric(name: str) -> str:
    """The metric of a series."""
    for end in HISTOGRAM:
        bare = name.removesuffix(end)
        if bare in TABLE and TABLE[bare].kind == "histogram":
            return bare
    return name


def test_the_image_sets_nothing_that_would_win_over_a_file_of_settings() -> None:
    """A variable does: all that is deployed from the image names its store in a file."""
    image = (DEPLOY / "Containerfile").read_text()
    told = set(re.findall(r"\b(HOPSIGHT_\w+)=", image))
    assert told <= {"HOPSIGHT_SETTINGS", *NOT_SETTINGS}
    assert 'dsn = "chdb:///var/lib/hopsight/store"' in image
    for path in YAML:
        if "image: hopsight" in path.read_text() or "/hopsight:" in path.read_text():
            assert "HOPSIGHT_SETTINGS" in path.read_text()


EXPRESSIONS = dict(expressions())


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_asks_for_metrics_and_labels_that_there_are(expression: str) -> None:
    named = set(map(metric, re.findall(r"hopsight_[a-z_]+", expression)))
    assert named <= set(TABLE), named - set(TABLE)
    assert named or "up{" in expression
    labels = {label for name in named for label in TABLE[name].labels} | {"job", "instance", "le"}
    asked = {word for inside in re.findall(r"by \(([^)]*)\)", expression)
             for word in inside.replace(",", " ").split()}  # fmt: skip
    asked |= set(re.findall(r'(\w+)(?:=~|!=|!~|=)"', expression))
    assert asked <= labels, asked - labels
    assert expression.count("(") == expression.count(")")
    for value in re.findall(r'status(?:=~|!=|=)"([a-z_|]+)"', expression):
        if "http" not in expression:
            assert set(value.split("|")) <= REASONS


def test_every_stage_is_shown() -> None:
    shown = {metric(name) for each in EXPRESSIONS.values()
             for name in re.findall(r"hopsight_[a-z_]+", each)}  # fmt: skip
    assert {each.name for each in STAGES} <= shown


def test_no_alert_waits_for_what_is_counted_when_a_capture_has_ended() -> None:
    asked = {word for rule in rules() for word in re.findall(r"\w+", rule["expr"])}
    assert DATAGRAM_REASONS.keys() <= asked.difference(LIVE_REASONS) == asked


def matched(expression: str, name: str) -> bool:
    """Whether an expression asks for an event; Prometheus matches the whole of a label."""
    asked = re.findall(r'event=(~?)"([^"]+)"', expression)
    return any(
        re.fullmatch(event if is_pattern else re.escape(event), name) for is_pattern, event in asked
    )


def test_dead_letters_and_a_store_that_is_away_are_told_of_both_topics_of_a_worker() -> None:
    nothing: Any = None
    crew = Crew("kafka://127.0.0.1:9/x", BusSettings(), nothing, nothing, nothing)
    crew.observing.counts["store_away"] = crew.meeting.counts["store_away"] = 1
    dead = {name for name in crew.counters if "dead" in name}
    away = {name for name in crew.counters if "store_away" in name}
    assert {name.removeprefix("meeting_") for name in dead} == {f"dead_{name}" for name in LETTERS}
    assert len(dead) == 2 * len(LETTERS)
    assert len(away) == 2
    alerts = {rule["alert"]: rule["expr"] for rule in rules()}
    events = {*crew.counters, "messages", "rows", "fenced", "bus_away", "idle"}
    for alert, own in (("HopsightDeadLetters", dead), ("HopsightStoreAway", away)):
        assert {name for name in events if matched(alerts[alert], name)} == own
    [shown] = [each for each in EXPRESSIONS.values() if "dead_" in each and "store_away" in each]
    others = {"fenced", "meeting_fenced", "bus_away", "meeting_bus_away"}
    assert {each for each in dead | away | others if not matched(shown, each)} == set()


def test_each_alert_leads_to_what_is_to_be_done() -> None:
    for rule in rules():
        page, _, heading = rule["annotations"]["runbook_url"].partition("#")
        headings = re.findall(r"^## (.+)$", (ROOT / page).read_text(), re.MULTILINE)
        assert heading in {each.lower().replace(" ", "-") for each in headings}, rule["alert"]
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]
        assert "for" in rule or "increase" in rule["expr"]


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
def test_a_dashboard_has_panels_that_do_not_cover_each_other(path: Path) -> None:
    told = json.loads(path.read_text())
    places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in told["panels"]]
    assert len(places) == len(set(places)) == len({each["id"] for each in told["panels"]})
    assert all(each["targets"] and each["title"] for each in told["panels"])


def tables() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in DEPLOY.rglob("*.toml"):
        yield path.relative_to(ROOT).as_posix(), tomllib.loads(path.read_text())
    for path in YAML:
        for document in yaml.safe_load_all(path.read_text()):
            if document and document.get("kind") == "ConfigMap":
                for name, text in document["data"].items():
                    yield f"{path.name}: {name}", tomllib.loads(text)


TABLES = dict(tables())


@pytest.mark.parametrize("told", TABLES.values(), ids=TABLES)
def test_settings_that_are_shipped_are_accepted(told: dict[str, Any]) -> None:
    known = {name for name, _, _, _ in rows()}
    assert {f"{part}.{name}" for part, names in told.items() for name in names} <= known
    assert Settings(**told)


@pytest.mark.parametrize("told", TABLES.values(), ids=TABLES)
def test_settings_that_are_shipped_need_no_tokens_where_nobody_serves(
    told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers and collectors share them; `doctor` would call a setting broken that they ignore."""
    monkeypatch.delenv("HOPSIGHT_TOKENS", raising=False)
    login_for(Settings(**told))


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.relative_to(DEPLOY).as_posix())
def test_environment_and_commands_of_a_file_exist(path: Path) -> None:
    text = path.read_text()
    variables = {variable for _, variable, _, _ in rows()} | NOT_SETTINGS
    assert set(re.findall(r"HOPSIGHT_[A-Z_]+", text)) <= variables
    group: Any = typer.main.get_command(cli.app)
    for words in re.findall(
        r"(?:command|args): \[((?:collect|pipeline|serve|migrate)[^\]]*)\]", text
    ):
        verb, *rest = (word.strip().strip('"') for word in words.split(","))
        options = {each for parameter in group.commands[verb].params for each in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= options


def test_compose_mounts_what_there_is_and_asks_whom_it_starts() -> None:
    told = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
    services = told["services"]
    assert {"kafka", "clickhouse", "collector", "worker1", "worker2", "service", "prometheus",
            "grafana"} <= set(services)  # fmt: skip
    for name, service in services.items():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (DEPLOY / "compose" / source).exists(), volume
            else:
                assert source in told["volumes"], volume
        assert set(service.get("depends_on", {})) <= set(services), name
        if service.get("image") == "hopsight:latest":
            assert service["read_only"], name
            assert service["cap_drop"] == ["ALL"]


def test_prometheus_reaches_whom_it_asks() -> None:
    told = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
    services = told["services"]
    settings = tomllib.loads((DEPLOY / "compose" / "hopsight.toml").read_text())
    counters = settings["process"]["metrics"].rpartition(":")[2]
    # The service on the host's network, the others where their counters are published.
    reached = {f"127.0.0.1:{Settings(**settings).service.port}"}
    for service in services.values():
        for port in service.get("ports", ()):
            if port.endswith(f":{counters}"):
                reached.add(port.removesuffix(f":{counters}"))
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yaml").read_text())
    asked = [target for job in config["scrape_configs"]
             for one in job["static_configs"] for target in one["targets"]]  # fmt: skip
    assert sorted(asked) == sorted(reached)
    assert len(asked) == 4
    for name in ("service", "prometheus", "grafana"):
        assert services[name]["network_mode"] == "host"
        assert "ports" not in services[name]
    assert settings["service"]["host"] == "127.0.0.1"
    assert "--web.listen-address=127.0.0.1:9090" in services["prometheus"]["command"]
    assert services["grafana"]["environment"]["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"
    sources = DEPLOY / "grafana" / "provisioning" / "datasources"
    [store], [counters_of] = (yaml.safe_load(path.read_text())["datasources"]
                              for path in sorted(sources.iterdir()))  # fmt: skip
    assert counters_of["url"] == "http://127.0.0.1:9090"
    reached_at = "{host}:{port}".format(**store["jsonData"])
    assert f"{reached_at}:8123" in services["store-port"]["ports"]
    assert store["type"] in services["grafana"]["environment"]["GF_PLUGINS_PREINSTALL"]
    known = {(each["type"], each["uid"]) for each in (store, counters_of)}
    for path in BOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            assert (panel["datasource"]["type"], panel["datasource"]["uid"]) in known


def test_who_captures_the_host_reaches_the_bus_and_may_capture() -> None:
    services = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())["services"]
    capture, port, kafka = (services[name] for name in ("capture", "bus-port", "kafka"))
    assert capture["network_mode"] == "host"
    assert "ports" not in capture
    assert capture["cap_add"] == ["NET_RAW", "NET_ADMIN"]
    assert capture["security_opt"] == [], "no-new-privileges takes dumpcap's rights away"
    given = capture["environment"]
    assert given["HOPSIGHT_PROCESS__METRICS"].startswith("127.0.0.1:")
    assert (
        f'"{given["HOPSIGHT_PROCESS__METRICS"]}"'
        in (DEPLOY / "prometheus" / "prometheus.yaml").read_text()
    )
    bus = urlsplit(given["HOPSIGHT_BUS__URL"])
    shared = tomllib.loads((DEPLOY / "compose" / "hopsight.toml").read_text())["bus"]["url"]
    assert (bus.path, bus.query) == (urlsplit(shared).path, urlsplit(shared).query)
    assert bus.hostname == "127.0.0.1"
    told = kafka["environment"]
    assert f"HOST://{bus.netloc}" in told["KAFKA_ADVERTISED_LISTENERS"].split(",")
    assert f"HOST://:{bus.port}" in told["KAFKA_LISTENERS"].split(",")
    assert "HOST:PLAINTEXT" in told["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")
    assert port["ports"] == [f"{bus.netloc}:{bus.port}"]
    assert port["command"][1] == f"TCP:kafka:{bus.port}"
    assert capture["profiles"] == port["profiles"], "Kafka is on the host for it alone"
    assert "ports" not in kafka


def test_counters_on_a_nodes_network_are_at_one_address_of_it() -> None:
    """No NetworkPolicy applies there; the probe and Prometheus ask at the pod's address, this."""
    documents = yaml.safe_load_all((DEPLOY / "kubernetes" / "hopsight.yaml").read_text())
    pods = [
        each["spec"]["template"]["spec"] for each in documents if "template" in each.get("spec", {})
    ]
    [collector] = [pod for pod in pods if pod.get("hostNetwork")]
    [container] = collector["containers"]
    names = [each["name"] for each in container["env"]]
    given = {each["name"]: each for each in container["env"]}
    assert given["HOPSIGHT_PROCESS__METRICS"]["value"] == "$(HOST_IP):9470"
    named = given["HOPSIGHT_COLLECTOR__NAME"]
    assert named["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName", "sources told apart"
    assert given["HOST_IP"]["valueFrom"]["fieldRef"]["fieldPath"] == "status.hostIP"
    assert names.index("HOST_IP") < names.index("HOPSIGHT_PROCESS__METRICS"), "named before it"


def test_no_new_worker_begins_beside_an_old_one() -> None:
    """As the page on upgrades has it; a rolling update starts one before another ends."""
    documents = yaml.safe_load_all((DEPLOY / "kubernetes" / "hopsight.yaml").read_text())
    deployed = [each for each in documents if each["kind"] == "Deployment"]
    workers = [each["spec"] for each in deployed if each["metadata"]["name"] == "hopsight-pipeline"]
    assert [each["strategy"] for each in workers] == [{"type": "Recreate"}]
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    [upgrades] = re.findall(r"^## Upgrades$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert "end all of its old workers before a new one begins" in upgrades
    assert "`strategy: {type: Recreate}`" in upgrades


def test_pods_are_not_root_and_write_nowhere_but_where_they_may() -> None:
    path = DEPLOY / "kubernetes" / "hopsight.yaml"
    documents = [*yaml.safe_load_all(path.read_text())]
    pods = [each["spec"]["template"]["spec"] for each in documents
            if each["kind"] in {"Deployment", "DaemonSet", "Job"}]  # fmt: skip
    assert len(pods) == 4
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            bounds = container["securityContext"]
            assert bounds["readOnlyRootFilesystem"]
            assert not bounds["allowPrivilegeEscalation"]
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            ports = {port["name"] for port in container.get("ports", ())}
            asked = re.findall(r"'port': '(\w+)'", str(container))
            assert set(asked) <= ports
            assert container["resources"]["limits"]["memory"]
    for each in documents:
        if each["kind"] in {"Deployment", "DaemonSet"}:
            assert (each["spec"]["selector"]["matchLabels"].items()
                    <= each["spec"]["template"]["metadata"]["labels"].items())  # fmt: skip


def test_the_container_is_not_root_and_copies_what_there_is() -> None:
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("USER ")] == ["USER 10001:10001"]
    copied = [line.split()[1] for line in lines if line.startswith("COPY ") and "--" not in line]
    assert all((ROOT / each).exists() for each in copied)


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_is_one_for_systemd_and_starts_a_command_that_there_is(path: Path) -> None:
    text = path.read_text()
    [started] = re.findall(r"^ExecStart=/opt/hopsight/bin/hopsight (.*)$", text, re.MULTILINE)
    verb, *rest = started.split()
    group: Any = typer.main.get_command(cli.app)
    options = {each for parameter in group.commands[verb].params for each in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= options
    for line in ("User=hopsight", "ProtectSystem=strict", "ProtectHome=yes"):
        assert line in text
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    told = subprocess.run(
        [analyze, "verify", str(path)], capture_output=True, text=True, check=False
    )
    complaints = [
        line for line in told.stderr.splitlines()
        if path.stem.split("@")[0] in line and "not executable" not in line
    ]  # fmt: skip
    assert not complaints
