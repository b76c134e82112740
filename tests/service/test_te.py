"""What a TE system is told about links and pairs of ends whose loads are known."""

import asyncio
import csv
import io
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import httpx
import polars as pl
import pytest
from empty_store import empty_store

from pipeline import MOST_WAYS, TABLES, Fabric, Host, Interface, Store, Topology, ranked, taken
from service.app import create_app
from service.settings import Settings
from service.topology_source import store_topology

T0 = 1_760_000_000_000_000_000
S = 10**9
GBPS = 10**9
KINDS = ("paths", "links")


def fabric() -> Topology:
    """Two leaves, two spines, a host on each leaf."""
    ports = []
    for leaf in (1, 2):
        for spine in (1, 2):
            up = (f"leaf{leaf}", f"up{spine}", leaf, spine, 10 * GBPS, "tor", "up")
            down = (f"spine{spine}", f"down{leaf}", 10 + spine, leaf, 10 * GBPS, "spine", "down")
            ports.append(Interface(*up, f"spine{spine}", f"down{leaf}"))
            ports.append(Interface(*down, f"leaf{leaf}", f"up{spine}"))
        own = (f"leaf{leaf}", "h", leaf, 9, 10 * GBPS, "tor", "host")
        ports.append(Interface(*own, f"h{leaf}", ""))
    hosts = tuple(
        Host(f"h{leaf}", (f"10.0.{leaf}.0/24",), f"leaf{leaf}", "h", 10 * GBPS, site=f"site{leaf}")
        for leaf in (1, 2)
    )
    return Topology("t", 0, 20_000, tuple(ports), hosts)


def rows(table: str, made: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(made, schema={n: TABLES[table].schema[n] for n in made[0]})


def counts(*buckets: int) -> dict[str, list[int]]:
    return {"bucket": list(buckets), "samples": [10] * len(buckets)}


def link(node: int, port: int, u: int, at: int = 0, dscp: int = 0) -> dict[str, Any]:
    """A link whose u' is that of a bucket; 80 is about 1."""
    return {
        "time_ns": T0 + at * S, "node": node, "port": port, "dscp": dscp, "source": "int",
        "samples": 10, "u_hist": counts(u), "u_max_n": 10**13, "data_frames": 20,
    }  # fmt: skip


def path(number: int, at: int = 0, dscp: int = 0) -> dict[str, Any]:
    return {
        "time_ns": T0 + at * S, "scope": "site", "src": f"s{number}", "dst": "d", "dscp": dscp,
        "source": "int", "samples": 10, "u_hist": counts(40 + number), "u_max_n": 10**13,
        "abw_hist": counts(100), "abw_min_bps": 1000, "abw_max_bps": 10**12,
    }  # fmt: skip


class Client:
    """The application in this process, asked without a socket."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.runner = asyncio.Runner()
        transport = httpx.ASGITransport(create_app(Settings(), store))
        self.empty: dict[str, httpx.Response] = {}
        """What was answered before anything was stored."""
        self.http = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def get(self, path: str, **given: Any) -> httpx.Response:
        """One answer."""
        return self.runner.run(self.http.get(f"/api/v1/te/{path}", **given))

    def close(self) -> None:
        self.runner.run(self.http.aclose())
        self.runner.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    place = tmp_path_factory.mktemp("te") / "db"
    with empty_store(place) as store:
        told = Client(store)
        told.empty = {
            asked: told.get(asked) for kind in KINDS for asked in (kind, f"{kind}?format=csv")
        }
        store_topology(store, fabric())
        # The way by spine 1 is full at its second link, that by spine 2 is calm.
        loads = [link(1, 1, 60), link(11, 2, 84), link(1, 2, 62), link(12, 2, 61), link(2, 9, 70)]
        store.insert("link_seconds", rows("link_seconds", loads), "links")
        pairs = [path(n) for n in range(7)] + [path(3, dscp=46), path(1, at=1)]
        store.insert("path_seconds", rows("path_seconds", pairs), "paths")
        yield told
        told.close()


def test_paths_are_told_worst_first_with_units_and_completeness(client: Client) -> None:
    told = client.get("paths", params={"from": T0, "to": T0 + S}).json()
    assert [row["src"] for row in told["paths"]] == ["s6", "s5", "s4", "s3", "s3", "s2", "s1", "s0"]
    assert told["interval"]["step_ns"] == S
    assert (told["cells"], told["cells_with_rows"], told["cursor"]) == (1, 1, None)
    worst = told["paths"][0]
    assert worst["u_p90"] == pytest.approx(2 ** (20 + 45.5 / 8) * 1e-9)
    assert worst["abw_p10_bps"] == worst["headroom_bps"] == pytest.approx(2 ** (17 + 99.5 / 8))
    assert (worst["u_source"], worst["utilization_p50"], worst["delay_p50_ns"]) == (
        "int",
        None,
        None,
    )


def test_what_was_sent_and_did_not_come_is_not_complete(client: Client) -> None:
    """A path that a mirror sampled, one that it did not, and cells of before this was counted."""
    kept = {"samples": 0, "source": "traffic", "told_frames": 20, "data_frames": 20}
    missed = {1: 1_980, 2: 0}
    made = [path(one, -9_999) | kept | {"missed_frames": frames} for one, frames in missed.items()]
    client.store.insert("path_seconds", rows("path_seconds", made), "of mirrors")
    of_before = [path(one, -9_999) | kept for one in (1, 3)]
    client.store.insert("path_seconds", rows("path_seconds", of_before), "of before")
    began = T0 - 9_999 * S
    told = client.get("paths", params={"from": began, "to": began + S}).json()
    found = {row["src"]: (row["sent_frames"], row["completeness"]) for row in told["paths"]}
    assert found == {"s1": (2_020, 40 / 2_020), "s2": (20, 1.0), "s3": (20, 1.0)}
    assert told["completeness"] == pytest.approx(80 / 2_060)


def test_the_latest_cell_is_told_and_classes_are_kept_apart(
    client: Client,
) -> None:
    told = client.get("paths").json()
    assert [row["time_ns"] for row in told["paths"]] == [T0 + S]
    marked = client.get("paths", params={"from": T0, "class": 46}).json()
    assert [(row["src"], row["dscp"]) for row in marked["paths"]] == [("s3", 46)]
    hour = client.get("paths", params={"interval": "1h", "src": "s1"}).json()
    assert [row["samples"] for row in hour["paths"]] == [20]
    assert hour["interval"]["step_ns"] == 3600 * S


def test_a_time_that_ends_before_it_begins_is_refused(client: Client) -> None:
    told = {"from": "1760000000.3", "to": "1760000000.1"}
    for route in ("paths", "links"):
        answer = client.get(route, params=told)
        assert (answer.status_code, answer.json()["field"]) == (422, "to"), route


@pytest.mark.parametrize("end", ["10.0.0.1/24", "10.0.0.0/33", "leaf1"])
def test_what_is_no_prefix_is_refused_where_paths_are_between_prefixes(
    client: Client, end: str
) -> None:
    answer = client.get("paths", params={"by": "prefix", "dst": end})
    assert (answer.status_code, answer.json()["field"]) == (422, "dst")
    assert client.get("paths", params={"by": "device", "dst": end}).status_code == 200
    wide = client.get("paths", params={"by": "prefix", "dst": "2001:db8:0::/64"})
    assert wide.status_code == 200


def test_all_pages_are_of_one_moment_whatever_is_stored_since(client: Client) -> None:
    asked: dict[str, Any] = {"from": T0 - 200 * S, "to": T0 - 199 * S, "limit": 2}
    first = [path(number, at=-200) for number in range(4)]
    client.store.insert("path_seconds", rows("path_seconds", first), "one moment")
    told = client.get("paths", params=asked).json()
    fuller = [path(number, at=-200) for number in (20, 21)]
    client.store.insert("path_seconds", rows("path_seconds", fuller), "another moment")
    more = client.get("paths", params=asked | {"cursor": told["cursor"]}).json()
    assert [row["src"] for row in told["paths"] + more["paths"]] == ["s3", "s2", "s1", "s0"]
    anew = client.get("paths", params=asked | {"limit": 3}).json()
    assert [row["src"] for row in anew["paths"]] == ["s21", "s20", "s3"]


def test_pages_join_to_the_whole(client: Client) -> None:
    asked: dict[str, Any] = {"from": T0, "limit": 4}
    whole = client.get("paths", params={"from": T0}).json()["paths"]
    found: list[Any] = []
    while True:
        told = client.get("paths", params=asked).json()
        found += told["paths"]
        if told["cursor"] is None:
            break
        asked["cursor"] = told["cursor"]
    assert found == whole
    other = client.get("paths", params={"cursor": asked["cursor"], "interval": "1m"})
    assert other.status_code == 422
    assert "another question" in other.json()["detail"]
    moved = client.get("paths", params={"cursor": asked["cursor"], "from": T0 + 60 * S})
    assert (moved.status_code, moved.json()["field"]) == (422, "cursor")
    assert "another time" in moved.json()["detail"]
    whole_time = {"from": T0, "to": told["interval"]["to_ns"]}
    own = client.get("paths", params={"cursor": asked["cursor"], **whole_time})
    assert own.status_code == 200, "that is the time of the first page"
    untold = client.get("paths", params={"cursor": asked["cursor"], "limit": 4}).json()["paths"]
    assert untold
    assert untold == found[-len(untold) :]
    for name, wrong in (("from", "2100-01-01T00:00:00Z"), ("to", "0")):
        refused = client.get("paths", params={name: wrong})
        assert (refused.status_code, refused.json()["field"]) == (422, name)
    refused = client.get("paths", params={"cursor": "nonsense"})
    assert (refused.status_code, refused.json()["field"]) == (422, "cursor")


def test_csv_and_arrow_say_the_same(client: Client) -> None:
    params = {"from": T0}
    told = client.get("paths", params=params).json()
    text = client.get("paths", params=params, headers={"accept": "text/csv"})
    arrow = client.get("paths", params=params | {"format": "arrow"})
    lines = list(csv.DictReader(io.StringIO(text.text)))
    frame = pl.read_ipc_stream(arrow.content)
    assert [line["src"] for line in lines] == frame["src"].to_list()
    assert frame["u_p90"].to_list() == [row["u_p90"] for row in told["paths"]]
    assert text.headers["hopsight-interval-from-ns"] == str(told["interval"]["from_ns"])
    assert arrow.headers["content-type"] == "application/vnd.apache.arrow.stream"


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("text/csv;q=0", "application/json"),
        ("text/csv;q=0.0, */*", "application/json"),
        ("application/json;q=0.1, text/csv", "text/csv"),
        ("text/csv;q=0.5, */*", "application/json"),
        ("*/*, application/json;q=0, text/csv;q=0.5", "application/vnd.apache.arrow.stream"),
        ("text/*, application/json;q=0.9", "text/csv"),
        ("text/csv, application/json", "text/csv"),
        ("text/html, application/xhtml+xml, */*;q=0.8", "application/json"),
        ("Text/CSV; charset=utf-8; Q=1.000", "text/csv"),
        ("text/csv;q=2", "text/csv"),
        ("", "application/json"),
    ],
)
def test_what_is_accepted_most_is_answered(client: Client, accept: str, media: str) -> None:
    told = client.get("links", headers={"accept": accept}).headers["content-type"]
    assert told.partition(";")[0] == media


def test_an_unchanged_answer_is_not_sent_again_and_a_changed_one_is(client: Client) -> None:
    first = client.get("links")
    tag = {"if-none-match": first.headers["etag"]}
    again = client.get("links", headers=tag)
    assert (again.status_code, again.content) == (304, b"")
    client.store.insert("link_seconds", rows("link_seconds", [link(1, 1, 60)]), "late")
    changed = client.get("links", headers=tag)
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag["if-none-match"]
    samples = {(r["device"], r["interface"]): r["samples"] for r in changed.json()["links"]}
    assert (samples["leaf1", "up1"], samples["leaf1", "up2"]) == (20, 10)


def test_alternatives_are_ranked_by_their_worst_link(client: Client) -> None:
    told = client.get("alternatives", params={"src": "10.0.1.5", "dst": "h2"}).json()
    assert (told["ways"], told["more"]) == (2, False)
    assert (told["src"]["site"], told["dst"]["device"]) == ("site1", "leaf2")
    of_device = client.get("alternatives", params={"src": "leaf1", "dst": "h2"}).json()["src"]
    assert (of_device.keys(), of_device["device"]) == (told["src"].keys(), "leaf1")
    names = [[row["device"] for row in way["links"]] for way in told["alternatives"]]
    assert names == [["leaf1", "spine2", "leaf2"], ["leaf1", "spine1", "leaf2"]]
    best, worst = told["alternatives"]
    assert best["u_p90"] < 1 < worst["u_p90"]
    assert best["links_measured"] == 3
    # 10 samples of 20 frames on every link of both ways.
    assert best["completeness"] == worst["completeness"] == told["completeness"] == 0.5
    assert (told["cells"], told["cells_with_rows"], told["class"]) == (1, 1, None)


def test_alternatives_are_ranked_by_each_class_too(client: Client) -> None:
    """One class fills the way that another finds empty: each has its own best."""
    loads = [link(1, 2, 90, at=-5, dscp=46), link(1, 1, 50, at=-5, dscp=46), link(1, 1, 88, at=-5)]
    client.store.insert("link_seconds", rows("link_seconds", loads), "by class")
    asked = {"src": "leaf1", "dst": "leaf2", "from": T0 - 5 * S, "to": T0 - 4 * S}
    told = client.get("alternatives", params=asked).json()
    ways = {way["rank"]: way["links"][0]["interface"] for way in told["alternatives"]}
    best = {each["dscp"]: ways[each["alternatives"][0]["way"]] for each in told["classes"]}
    assert best[46] == "up1"
    assert told["classes"][0]["alternatives"][-1]["u_p90"] is None  # class 0 saw one way alone
    own = client.get("alternatives", params={**asked, "class": 46}).json()
    assert own["alternatives"][0]["links"][0]["interface"] == "up1"
    assert own["class"] == 46


def test_unchanged_alternatives_are_not_sent_again(client: Client) -> None:
    asked = {"src": "leaf1", "dst": "leaf2", "from": T0 - 9 * S, "to": T0 - 8 * S}
    client.store.insert("link_seconds", rows("link_seconds", [link(1, 1, 60, at=-9)]), "first")
    tag = {"if-none-match": client.get("alternatives", params=asked).headers["etag"]}
    for _ in range(2):
        assert client.get("alternatives", params=asked, headers=tag).status_code == 304
    client.store.insert("link_seconds", rows("link_seconds", [link(1, 1, 99, at=-9)]), "changed")
    changed = client.get("alternatives", params=asked, headers=tag)
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag["if-none-match"]


def test_the_best_of_more_ways_than_are_told_is_among_those_told() -> None:
    """512 ways by three tiers of eight: the calm one is neither the first nor among the first."""
    tiers = [["a"], *([f"{tier}{n}" for n in range(8)] for tier in "bcd"), ["e"]]
    hops = pl.DataFrame(
        [
            {"node": number * 100 + at, "port": to, "device": device, "interface": f"p{to:02}",
             "peer_device": peer, "peer_interface": "in", "capacity_bps": 10 * GBPS}
            for number, (here, there) in enumerate(pairwise(tiers))
            for at, device in enumerate(here)
            for to, peer in enumerate(there)
        ]
    )  # fmt: skip
    calm = {("a", "b6"), ("b6", "c5"), ("c5", "d7")}
    loads = {
        (row["node"], row["port"]): {
            "u_p90": 0.1 if (row["device"], row["peer_device"]) in calm else 1 + row["port"] / 100,
            "abw_p10_bps": None, "delay_p99_ns": None, "completeness": None,
        }
        for row in hops.iter_rows(named=True) if row["peer_device"] != "e"
    }  # fmt: skip
    ways, count = Fabric(hops).ways("a", "e", loads)
    assert (count, len(ways)) == (512, MOST_WAYS)
    best = [row["peer_device"] for row in ranked(ways, loads)[0]["links"]]
    assert best == ["b6", "c5", "d7", "e"]
    told = [way["u_p90"] for way in ranked(ways, loads)]
    assert told == sorted(told)
    assert told[-1] < 1.07


@pytest.mark.parametrize("src", ["192.0.2.1", "nobody"])
def test_an_end_that_no_topology_has_is_told(client: Client, src: str) -> None:
    told = client.get("alternatives", params={"src": src, "dst": "leaf2"})
    assert (told.status_code, told.json()["field"]) == (404, "src")


def test_ends_that_no_packet_has_both_are_refused(client: Client) -> None:
    for src, dst in (("10.0.1.5", "fd00:2::4"), ("fd00:2::4", "10.0.1.5")):
        told = client.get("alternatives", params={"src": src, "dst": dst})
        assert (told.status_code, told.json()["field"]) == (422, "dst"), told.text
    mapped = {"src": "10.0.1.5", "dst": "::ffff:10.0.2.5"}  # an IPv4 address, as IPv6 writes it
    assert client.get("alternatives", params=mapped).status_code == 200


def test_flows_of_two_addresses_are_found_on_the_way_that_they_take(client: Client) -> None:
    words = {"src_hi": 0, "src_lo": 0xFFFF_0A00_0101, "dst_hi": 0, "dst_lo": 0xFFFF_0A00_0201}
    flows = [{"flow": n, "sport": n, **words} for n in (1, 2)]
    client.store.insert("flows", rows("flows", flows), "flows")
    crossed = [
        {"time_ns": T0, "interval_ns": S, "flow": n, "node": node, "port": port,
         "source": {1: "int", 2: "int_bound"}[n]}
        for n, way in ((1, ((1, 1), (11, 2))), (2, ((1, 2), (12, 2))))
        for node, port in way
    ]  # fmt: skip
    client.store.insert("hop_intervals", rows("hop_intervals", crossed), "hops")
    ends = {"src": "10.0.1.1", "dst": "10.0.2.1", "from": T0}
    told = client.get("alternatives", params=ends).json()
    assert [[flow["sport"] for flow in way["flows"]] for way in told["alternatives"]] == [[2], [1]]
    assert told["siblings"] == 2
    # Later the first one moves; in the interval between both ways carried it.
    part = S // 10
    moved = [
        {"time_ns": T0 + at * part, "interval_ns": part, "flow": 1, "node": node, "port": port,
         "source": "int"}
        for at, ways in ((1, (((1, 1), (11, 2)), ((1, 2), (12, 2)))), (2, (((1, 2), (12, 2)),)))
        for way in ways for node, port in way
    ]  # fmt: skip
    client.store.insert("hop_intervals", rows("hop_intervals", moved), "moved")
    told = client.get("alternatives", params=ends).json()
    seen = [[(flow["sport"], flow["from_ns"] - T0, flow["to_ns"] - T0, flow["seen_ns"])
             for flow in way["flows"]] for way in told["alternatives"]]  # fmt: skip
    assert seen == [[(1, part, 3 * part, 2 * part), (2, 0, S, S)], [(1, 0, S, S + part)]]
    assert told["siblings"] == 2


def test_a_flow_stands_at_no_way_of_which_only_the_shared_end_was_seen(client: Client) -> None:
    words = {"src_hi": 0, "src_lo": 0xFFFF_0A00_0103, "dst_hi": 0, "dst_lo": 0xFFFF_0A00_0203}
    client.store.insert("flows", rows("flows", [{"flow": 7, "sport": 1, **words}]), "one flow")
    crossed = [
        {"time_ns": T0, "interval_ns": S, "flow": 7, "node": node, "port": port, "source": "int"}
        for node, port in ((1, 1), (11, 2), (2, 9))
    ]
    client.store.insert("hop_intervals", rows("hop_intervals", crossed), "one way")
    ends = {"src": "10.0.1.3", "dst": "10.0.2.3", "from": T0}
    told = client.get("alternatives", params=ends).json()["alternatives"]
    assert [way["links"][-1]["port"] for way in told] == [9, 9]
    assert {way["links"][0]["port"]: len(way["flows"]) for way in told} == {1: 1, 2: 0}
    limited = client.get("alternatives", params={**ends, "limit": 1}).json()["alternatives"]
    assert [len(way["flows"]) for way in limited] == [len(told[0]["flows"])]


UP, UP2, DOWN, DOWN2, END, AWAY = range(1, 7)
WAYS = ((UP, DOWN, END), (UP2, DOWN2, END))


@pytest.mark.parametrize(
    ("seen", "others", "took"),
    [
        ((UP, DOWN, END), (), (0,)),
        ((UP, DOWN, END), ((UP2, DOWN2, END),), (0,)),
        ((END,), (), (0, 1)),  # what is seen of it lies on both
        ((UP, DOWN, UP2, DOWN2, END), (), (0, 1)),  # it changed its path
        ((UP, DOWN, UP2, END), (), (0, 1)),  # and one of the switches tells nothing
        ((UP, DOWN, UP2, END), ((UP2, DOWN2, END),), (0,)),  # it does tell, and was not crossed
        ((UP, DOWN, END, AWAY), (), ()),  # somewhere else as well
        ((AWAY, END), (), ()),
        ((), (), ()),
    ],
)
def test_what_was_seen_of_a_flow_tells_its_way(
    seen: tuple[int, ...], others: tuple[tuple[int, ...], ...], took: tuple[int, ...]
) -> None:
    found = taken(WAYS, [frozenset(hops) for hops in (seen, *others)])
    assert tuple(at for at, hops in enumerate(found) if frozenset(seen) in hops) == took


def test_a_time_without_rows_is_told_as_such(client: Client) -> None:
    told = client.get(
        "paths", params={"interval": "1m", "by": "device"} | {"from": T0, "to": T0 + S}
    )
    assert told.json()["paths"] == []
    assert told.json()["cells_with_rows"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_store_answers_in_the_same_shape(client: Client, kind: str) -> None:
    empty, held = client.empty[kind].json(), client.get(kind).json()
    assert empty.keys() == held.keys()
    assert (empty["interval"], empty["cells"], empty["total"], empty[kind]) == (None, 0, 0, [])
    head = client.empty[f"{kind}?format=csv"].text.splitlines()
    assert head == client.get(kind, params={"format": "csv"}).text.splitlines()[:1]
