"""Tenants see their own: whatever is asked, nothing of another tenant's flows is in the answer."""

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import httpx
import polars as pl
import pytest
from asked import Asked, opened, strict

from pipeline import NotTheirs, Store, TenantStore
from service.access import ROUTES
from service.tokens import line_of, made

TOKENS = {name: made() for name in ("blue", "red", "nobody", "all")}
LINES = ";".join(
    line_of(name, "admin", tenants, TOKENS[name])
    for name, tenants in (("blue", "blue"), ("red", "red"), ("nobody", "grey"), ("all", "*"))
)
RED = re.compile(r"10\.0\.1\.[12]\b|4000[12]\b")
"""Ends of flows 1 and 2, which are red; 3 and 4 are blue."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, world: ModuleType) -> Iterator[Asked]:
    with opened(tmp_path_factory.mktemp("tenants")) as store:
        for table, frame in world.frames().items():
            rows = frame
            if table == "flows":
                owner = pl.when(pl.col("sport") <= 40002).then(pl.lit("red"))
                rows = frame.with_columns(owner.otherwise(pl.lit("blue")).alias("owner"))
            if table == "hops":
                rows = pl.concat([frame, *(towards(frame.head(1), n) for n in (1, 3))])
            store.insert(table, rows, "world")
        store.insert("hosts", hosts(), "hosts")
        store.insert("path_seconds", paths(world.START_NS), "paths")
        with Asked(store, *strict(LINES)) as client:
            yield client


def towards(hop: pl.DataFrame, number: int) -> pl.DataFrame:
    """A hop of the first device that a host hangs on."""
    return hop.with_columns(
        pl.lit(40 + number).cast(hop.schema["port"]).alias("port"),
        interface=pl.lit(f"Ethernet{40 + number}"),
        peer_device=pl.lit(f"host{number}"), peer_interface=pl.lit("eth0"),
    )  # fmt: skip


def hosts() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"prefix": f"10.0.1.{n}/32", "valid_from_ns": 0, "topology": "v1", "host": f"host{n}",
             "device": "leaf1", "interface": "Ethernet1", "site": "", "tenant": tenant}
            for n, tenant in enumerate(("red", "red", "blue", "blue"), 1)
        ]
    )  # fmt: skip


def paths(time_ns: int) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"time_ns": time_ns, "scope": "site", "tenant": tenant, "src": f"{tenant}-site",
             "dst": "d", "dscp": 0, "source": "traffic", "data_bytes": 5, "data_frames": 1}
            for tenant in ("red", "blue")
        ]
    )  # fmt: skip


FLOW = {"src": "10.0.1.{}:4000{}", "dst": "10.0.2.1:5001"}


def flow(number: int) -> dict[str, str]:
    return {name: value.format(number, number) for name, value in FLOW.items()}


ASKED: dict[str, list[dict[str, Any]]] = {
    "/api/v1/bottlenecks": [{}],
    "/api/v1/flows": [{}, {"q": ":5001"}, {"q": "10.0.2.1"}],
    "/api/v1/flows/bottleneck": [flow(3), flow(1), {"src": "10.0.1.1:9", "dst": "10.0.2.1:5001"}],
    "/api/v1/flows/signals": [flow(3), flow(1)],
    "/api/v1/flows/spans": [flow(3), flow(1)],
    "/api/v1/flows/contributors": [flow(3), flow(1)],
    "/api/v1/links": [{}, {"device": "leaf2", "interface": "Ethernet4"}],
    "/api/v1/links/flows": [{"device": "leaf2", "interface": "Ethernet4"}],
    "/api/v1/te/paths": [{}],
    "/api/v1/topology": [{}],
    "/api/v1/replay/decisions": [flow(3), flow(1)],
    "/api/v1/replay/algorithms": [{"name": "dctcp"}],
    "/api/v1/te/links": [{}],
    "/api/v1/te/alternatives": [
        {"src": "10.0.1.1", "dst": "10.0.1.3"}, {"src": "host1", "dst": "leaf2"}
    ],
}  # fmt: skip
"""Requests to every route that the people of a tenant may ask."""


def without_echo(answer: httpx.Response, parameters: dict[str, Any]) -> str:
    """The answer's text, less what was asked for."""
    text = answer.text
    for value in parameters.values():
        text = text.replace(str(value), "")
        text = text.replace(str(value).partition(":")[0], "")
    return text


def test_every_route_of_tenants_is_asked_here() -> None:
    own = {
        line.split()[1]
        for line, access in ROUTES.items()
        if access.scope is not None and not access.fabric and line.startswith("GET /api")
    } - {"/api/v1/events"}  # a stream, which test_events hears
    elsewhere = ("/api/v1/captures", "/api/v1/jobs")  # files of their own, which test_jobs asks
    assert {path for path in own if not path.startswith(elsewhere)} == set(ASKED)


@pytest.mark.parametrize("path", ASKED)
def test_nothing_of_another_tenant_is_answered(asked: Asked, path: str) -> None:
    for parameters in ASKED[path]:
        for who in ("blue", "nobody"):
            answer = asked.get(path, TOKENS[who], **parameters)
            assert answer.status_code in {200, 404}, answer.text
            assert not RED.search(without_echo(answer, parameters)), answer.text
            assert "host1" not in without_echo(answer, parameters)
            assert "red" not in re.findall(r"\w+", answer.text)
            assert "tells of all tenants" not in answer.text, "it asks for no more than it may"


def test_each_sees_its_own(asked: Asked) -> None:
    def sources(who: str) -> set[str]:
        found = asked.get("/api/v1/flows", TOKENS[who]).json()["flows"]
        return {row["src"] for row in found}

    assert sources("red") == {"10.0.1.1", "10.0.1.2"}
    assert sources("blue") == {"10.0.1.3", "10.0.1.4"}
    assert sources("nobody") == set()
    assert len(sources("all")) == 4
    assert asked.get("/api/v1/flows/bottleneck", TOKENS["blue"], **flow(3)).status_code == 200
    assert asked.get("/api/v1/flows/bottleneck", TOKENS["blue"], **flow(1)).status_code == 404
    told = asked.get("/api/v1/bottlenecks", TOKENS["red"]).json()
    assert told["flows_seen"] == 2
    assert len(told["bottlenecks"]) == 2


def test_loads_of_links_are_told_to_whoever_owns_no_flow(asked: Asked, world: ModuleType) -> None:
    everyone = asked.get("/api/v1/links", TOKENS["all"]).json()
    assert len(everyone["links"]) == 3
    assert asked.get("/api/v1/links", TOKENS["nobody"]).json() == everyone
    place = {"device": "leaf2", "interface": "Ethernet4"}
    told = asked.get("/api/v1/links/flows", TOKENS["nobody"], **place).json()
    assert told["interval"]["from_ns"] == world.START_NS
    assert (told["flows"], told["others"]["flows"]) == ([], 4)
    own = asked.get("/api/v1/bottlenecks", TOKENS["nobody"], interval="3ms")
    assert (own.status_code, own.json()["interval"]) == (200, None)
    length = {"interval": "3ms", "from": world.START_NS, "to": world.START_NS + 10**8}
    for who, status in (("nobody", 200), ("blue", 404)):
        assert asked.get("/api/v1/bottlenecks", TOKENS[who], **length).status_code == status


def test_other_tenants_on_a_link_are_one_sum(asked: Asked) -> None:
    place = {"device": "leaf2", "interface": "Ethernet4"}
    blue = asked.get("/api/v1/links/flows", TOKENS["blue"], **place).json()
    everyone = asked.get("/api/v1/links/flows", TOKENS["all"], **place).json()
    assert {row["src"] for row in blue["flows"]} == {"10.0.1.3", "10.0.1.4"}
    assert blue["others"] == {"flows": 2, "data_bytes": 2 * 20 * 140_000}
    assert everyone["others"] == {"flows": 0, "data_bytes": 0}
    assert len(everyone["flows"]) == 4
    shares = {row["src"]: (row["share"], row["role"]) for row in everyone["flows"]}
    assert {row["src"]: (row["share"], row["role"]) for row in blue["flows"]} == {
        src: told for src, told in shares.items() if src in {"10.0.1.3", "10.0.1.4"}
    }


def test_hosts_are_named_to_whose_they_are(asked: Asked) -> None:
    def peers(who: str) -> dict[str, str]:
        hops = asked.get("/api/v1/topology", TOKENS[who]).json()["hops"]
        return {hop["peer_device"]: hop["peer_interface"] for hop in hops}

    assert peers("all")["host1"] == peers("all")["host3"] == "eth0"
    assert peers("blue")["host3"] == peers("red")["host1"] == "eth0"
    assert not {"host1"} & peers("blue").keys()
    assert not {"host3"} & peers("red").keys()
    assert peers("blue").keys() - {"", "host3"} == peers("red").keys() - {"", "host1"}


def test_the_whole_fabric_is_not_for_one_tenant(asked: Asked) -> None:
    for line, access in ROUTES.items():
        method, path = line.split()
        if access.fabric and method == "GET":
            answer = asked.get(path, TOKENS["blue"])
            assert answer.status_code == 403, line
            assert "tells of all tenants" in answer.json()["detail"]


def test_an_unchanged_answer_is_not_anothers(asked: Asked) -> None:
    tag = asked.get("/api/v1/te/paths", TOKENS["red"]).headers["etag"]
    other = asked.get("/api/v1/te/paths", TOKENS["blue"], headers={"If-None-Match": tag})
    assert other.status_code == 200
    assert other.json()["paths"][0]["src"] == "blue-site"
    assert other.headers["cache-control"].startswith("private")


def test_what_is_not_known_to_be_theirs_is_refused(asked: Asked, world: ModuleType) -> None:
    store: Store = asked.app.state.reader.store
    blue = TenantStore(store, ["blue", "*"])
    with pytest.raises(NotTheirs, match="no such flow"):
        blue.query("flow_lengths", flow=world.flow_hash(1), from_ns=0, to_ns=1)
    assert blue.query("flow_lengths", flow=world.flow_hash(3), from_ns=0, to_ns=1).height == 0
    whole = {"from_ns": 0, "to_ns": 1, "rows": 1, "skip": 0}
    with pytest.raises(NotTheirs, match="no such flow"):
        blue.query("flow_observations", flows=[world.flow_hash(1), world.flow_hash(3)], **whole)
    assert blue.query("flow_observations", flows=[world.flow_hash(3)], **whole).is_empty()
    with pytest.raises(NotTheirs, match="flows_told tells of all tenants"):
        blue.query("flows_told", flows=[world.flow_hash(3)], slices=[0], from_ns=0, to_ns=1, rows=1)
    with pytest.raises(NotTheirs, match="audit tells of all tenants"):
        blue.query("audit", before_ns=1, rows=1)
    given = {"tenants": ["red"], "flow": world.flow_hash(1)}
    assert blue.query("flow_of_hash", **given).is_empty()
