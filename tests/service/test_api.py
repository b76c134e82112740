"""What the API answers about a stored world whose answers are known."""

from types import ModuleType
from typing import Any

import httpx
import pytest

FLOW = {"src": "10.0.1.1:40001", "dst": "10.0.2.1:5001"}
IDLE = {"src": "10.0.1.4:40004", "dst": "10.0.2.1:5001"}


def test_health_and_readiness(served: Any) -> None:
    assert served.get("/healthz").json()["status"] == "ok"
    assert served.get("/readyz").json() == {"status": "ready", "verdicts": 80}


def test_an_empty_store_says_so(served: Any) -> None:
    assert served.when_empty["/readyz"]["verdicts"] == 0
    assert served.when_empty["/api/v1/bottlenecks"]["interval"] is None
    assert served.when_empty["/api/v1/links"]["links"] == []
    assert served.when_empty["/api/v1/flows"]["flows"] == []


def test_bottlenecks_name_flow_hop_kind_and_load(served: Any, world: ModuleType) -> None:
    answer = served.get("/api/v1/bottlenecks").json()
    assert answer["interval"]["from_ns"] == world.START_NS
    assert answer["interval"]["to_ns"] == world.START_NS + world.INTERVALS * world.INTERVAL_NS
    assert answer["flows_seen"] == world.FLOWS
    rows = answer["bottlenecks"]
    assert [row["flow"]["src"] for row in rows] == ["10.0.1.1", "10.0.1.2", "10.0.1.3"]
    assert {(row["hop"]["device"], row["kind"]) for row in rows} == {("leaf1", "uplink")}
    assert rows[0]["u_mean"] == pytest.approx(1.4)
    assert rows[0]["flow"]["flow"] == str(world.flow_hash(1))


def test_bottlenecks_of_an_earlier_range(served: Any, world: ModuleType) -> None:
    half = world.START_NS + world.INTERVALS // 2 * world.INTERVAL_NS
    answer = served.get("/api/v1/bottlenecks", **{"from": world.START_NS, "to": half}).json()
    assert {row["hop"]["interface"] for row in answer["bottlenecks"]} == {"Ethernet4"}
    assert {row["kind"] for row in answer["bottlenecks"]} == {"incast"}
    limited = served.get("/api/v1/bottlenecks", limit=1).json()
    assert (len(limited["bottlenecks"]), limited["more"]) == (1, True)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"src": "10.0.1.9:40001"}, "src"),
        ({"interval": "77ms"}, "interval"),
        ({"at": "1760000000", "window": "1ms"}, "at"),
    ],
)
@pytest.mark.parametrize("of", ["bottleneck", "contributors"])
def test_what_there_is_no_verdict_of_is_named(
    served: Any, of: str, asked: dict[str, str], field: str
) -> None:
    answer = served.get(f"/api/v1/flows/{of}", **(FLOW | asked))
    assert (answer.status_code, answer.json()["field"]) == (404, field), answer.text


def test_without_a_key_nothing_is_exported(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOPSIGHT_EXPORT_KEY", raising=False)
    answer = served.get("/api/v1/te/export")
    assert (answer.status_code, "field" in answer.json()) == (409, False)
    assert "there is no key: set HOPSIGHT_EXPORT_KEY" in answer.json()["detail"]


def test_hot_links_over_time(served: Any, world: ModuleType) -> None:
    answer = served.get("/api/v1/links").json()
    assert answer["interval"]["step_ns"] == world.INTERVAL_NS
    assert len(answer["times_ns"]) == world.INTERVALS
    names = [f"{link['device']} {link['interface']}" for link in answer["links"]]
    assert names == ["leaf1 Ethernet48", "leaf2 Ethernet4", "spine1 Ethernet8"]
    hot = answer["links"][1]
    expected = [sum(world.load(2, i, flow) for flow in range(1, 5)) / 4 for i in (0, 19)]
    assert [hot["u_mean"][0], hot["u_mean"][-1]] == pytest.approx(expected)


def test_one_link_and_its_flows(served: Any) -> None:
    place = {"device": "leaf2", "interface": "Ethernet4"}
    [link] = served.get("/api/v1/links", **place).json()["links"]
    assert (link["stage"], link["orientation"], link["capacity_bps"]) == ("tor", "host", 10**10)
    flows = served.get("/api/v1/links/flows", **place).json()["flows"]
    assert {flow["src"] for flow in flows} == {f"10.0.1.{n}" for n in range(1, 5)}


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("", 4),
        ("10.0.1.1", 1),
        ("10.0.2.1", 4),
        (":5001", 4),
        ("40002", 1),
        ("10.0.1.3:40003", 1),
        ("10.0.2.1:5001 10.0.1.3", 1),
        ("10.0.1.3:40003 > 10.0.2.1:5001", 1),
        ("10.0.1.3 10.0.1.1", 0),
        ("2001:db8::1", 0),
        ("[2001:db8::1]:80", 0),
        ("ESTAB 0 0 10.0.1.3:40003 10.0.2.1:5001 users:((iperf3,pid=7,fd=3))", 1),
        ("ESTAB 0 0 [::ffff:10.0.1.3]:40003 [::ffff:10.0.2.1]:5001", 1),
        ("ESTAB 0 0 [::ffff:10.0.1.3]%eth0:40003 [::ffff:10.0.2.1%eth1]:5001", 1),
        ("[  5] local 10.0.1.3 port 40003 connected to 10.0.2.1 port 5001", 1),
        ("[ 12] local 10.0.1.3 port 40003 connected with 10.0.2.1 port 5001", 1),
        ("[  5] local 10.0.1.3 port 40009 connected to 10.0.2.1 port 5001", 0),
        ("12:00:00.123456 IP 10.0.1.3.40003 > 10.0.2.1.5001: Flags [S], seq 1, length 0", 1),
        ("12:00:00.1 eth0  In  IP 10.0.1.3.40003 > 10.0.2.1.5001: Flags [.], ack 1", 1),
        ("IP (tos 0x0, ttl 64, proto TCP (6), length 52)\n  10.0.1.3.40003 > 10.0.2.1.5001: F", 1),
        ("0:00 a:b:c:d:e:1 > a:b:c:d:e:2, ethertype IPv4: 10.0.1.3.40003 > 10.0.2.1.5001: F", 1),
        ("10.0.1.3\t10.0.2.1", 1),
        ("tcp6 0 0 ::ffff:10.0.1.3:40003 ::ffff:10.0.2.1:5001 ESTABLISHED", 1),
        ("tcp6 0 0 fd00:0:0:2::4:53354 fd00:0:0:3::1:5202 ESTABLISHED", 0),
        ("tcp 10.0.1.3 40003 10.0.2.1 5001", 1),
        ("10.0.1.3,10.0.2.1,40003,5001,6", 1),
        ("10.0.1.3,40003,10.0.2.1,5001,6", 1),
        ("tcp 6 9 ESTABLISHED src=10.0.1.3 dst=10.0.2.1 sport=40003 dport=5001 src=10.0.2.1", 1),
        ("10.0.1.3:40003->10.0.2.1:5001", 1),
        ("[::ffff:10.0.1.3]:40003→10.0.2.1:5001", 1),
        ("iperf3 7 root 5u IPv4 99 0t0 TCP 10.0.1.3:40003->10.0.2.1:5001 (ESTABLISHED)", 1),
        ("leaf1-h3->10.0.2.1", 1),
        ("leaf1-h3", 1),
        ("LEAF1-H3:40003 10.0.2.1", 1),
        ("rack2:5001", 4),
    ],
)
def test_flows_are_found_by_what_people_paste(served: Any, q: str, found: int) -> None:
    assert len(served.get("/api/v1/flows", q=q).json()["flows"]) == found


def test_flows_are_those_seen_in_the_range(served: Any) -> None:
    def told(**asked: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = served.get("/api/v1/flows", **asked).json()["flows"]
        return rows

    flows = told()
    first_ns, last_ns = min(row["first_ns"] for row in flows), flows[0]["last_ns"]
    assert told(**{"from": last_ns}) == [row for row in flows if row["last_ns"] == last_ns]
    assert told(**{"from": last_ns + 1}) == []
    assert told(to=first_ns + 1) == [row for row in flows if row["first_ns"] == first_ns]
    assert told(to=first_ns) == []
    assert told(**{"from": first_ns, "to": last_ns + 1}) == flows


def test_the_topology_names_hops_and_hosts(served: Any) -> None:
    answer = served.get("/api/v1/topology")
    tree = answer.json()
    assert tree["version"] == "v1"
    assert {(hop["device"], hop["peer_device"]) for hop in tree["hops"]} == {
        ("leaf1", "spine1"), ("spine1", "leaf2"), ("leaf2", "leaf2-h1"),
    }  # fmt: skip
    assert [host["site"] for host in tree["hosts"] if host["host"] == "leaf1-h3"] == ["east"]
    tag = {"If-None-Match": answer.headers["etag"]}
    assert httpx.get(f"{served.url}/api/v1/topology", headers=tag).status_code == 304


def test_bottlenecks_tell_the_sites_of_their_ends(served: Any) -> None:
    rows = served.get("/api/v1/bottlenecks").json()["bottlenecks"]
    assert {(row["src_site"], row["dst_site"]) for row in rows} == {("east", "leaf2")}


def test_the_bottleneck_of_a_flow(served: Any, world: ModuleType) -> None:
    answer = served.get("/api/v1/flows/bottleneck", **FLOW).json()
    verdict = answer["verdict"]
    assert (verdict["kind"], verdict["hop"]["name"]) == ("uplink", "leaf1 Ethernet48")
    assert verdict["since_ns"] == world.START_NS + world.INTERVALS // 2 * world.INTERVAL_NS
    assert [stretch["hop"]["name"] for stretch in answer["history"]] == [
        "leaf2 Ethernet4",
        "leaf1 Ethernet48",
    ]
    assert {each["frames"] is None for each in answer["evidence"]} == {True}
    opened = served.get("/api/v1/flows/bottleneck", **FLOW, frames=True).json()
    assert {type(each["frames"]) for each in opened["evidence"]} == {list}
    early = world.START_NS + 50_000_000
    before = served.get("/api/v1/flows/bottleneck", **FLOW, at=early, window="20ms").json()
    assert before["verdict"]["hop"]["name"] == "leaf2 Ethernet4"
    idle = served.get("/api/v1/flows/bottleneck", **IDLE).json()["verdict"]
    assert (idle["kind"], idle["hop"]) == ("sender_limited", None)


def test_signals_share_one_time_axis(served: Any, world: ModuleType) -> None:
    answer = served.get("/api/v1/flows/signals", **FLOW).json()
    assert len(answer["times_ns"]) == world.INTERVALS
    assert all(len(values) == world.INTERVALS for values in answer["signals"].values())
    assert answer["signals"]["U"][0] == pytest.approx(1.3)
    assert answer["signals"]["mark_share"][0] == pytest.approx(0.1)
    assert answer["eta"] == 0.95
    hops = answer["hops"]
    assert [hop["device"] for hop in hops] == ["leaf1", "spine1", "leaf2"]
    assert hops[0]["u_mean"][-1] == pytest.approx(1.4)
    assert hops[0]["delay_ns"][-1] == pytest.approx(50_000 * 1.4 * 8 / 10)
    assert hops[0]["abw_bps"] == [None] * world.INTERVALS


def test_metrics_count_by_route_and_not_by_path(served: Any) -> None:
    served.get("/secret-path-of-a-stranger")
    served.get("/api/v1/links")
    text = served.get("/metrics").text
    assert 'hopsight_http_requests_total{method="GET",route="/api/v1/links",status="200"}' in text
    assert 'hopsight_inserted_rows_total{table="verdicts"} 80.0' in text
    assert 'query="hot_links"' in text
    assert "stranger" not in text


def test_the_openapi_document_lists_the_public_routes(served: Any) -> None:
    paths = served.get("/api/v1/openapi.json").json()["paths"]
    assert "/api/v1/flows/bottleneck" in paths
    assert not [path for path in paths if path.startswith("/internal")]


def test_every_answer_carries_the_security_headers(served: Any) -> None:
    for path in ("/", "/console/main.js", "/api/v1/links", "/nowhere"):
        headers = served.get(path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "default-src 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("path", ["/", "/console/main.js", "/console/plotly.min.js"])
def test_files_are_sent_whole_whatever_part_is_asked_for(served: Any, path: str) -> None:
    whole = httpx.get(f"{served.url}{path}")
    for told in ("bytes=5-1", "bytes=abc", "items=0-1", "bytes=999999999-", "bytes=0-1,4-5"):
        part = httpx.get(f"{served.url}{path}", headers={"range": told})
        assert (part.status_code, part.content) == (200, whole.content), told


def test_the_chart_library_comes_from_its_package(served: Any) -> None:
    answer = httpx.get(f"{served.url}/console/plotly.min.js", timeout=30)
    assert answer.headers["content-type"].startswith("text/javascript")
    assert len(answer.content) > 1_000_000
