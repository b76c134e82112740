"""Filters: what they keep of a stored world, where they are wrong, and no text gets through."""

import subprocess
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from asked import Asked, opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline import SUBJECTS, FilterError, Store, condition
from pipeline.filter.field import CONTROLS
from pipeline.memory import Algorithm

NASTY = "a\"b'c\\\\d\\te%_*{x:String};--/*"
ROUTES = {
    "flows": "/api/v1/flows",
    "links": "/api/v1/links",
    "link_cells": "/api/v1/te/links",
    "path_cells": "/api/v1/te/paths",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, world: ModuleType) -> Iterator[Store]:
    with opened(tmp_path_factory.mktemp("filter")) as made:
        for table, rows in world.frames().items():
            frame = rows
            if table == "flows":
                named = pl.when(pl.col("sport") == 40002).then(pl.lit(NASTY))
                frame = rows.with_columns(named.otherwise("vrf").alias("vrf"))
            made.insert(table, frame, "world")
        cells = [
            {"time_ns": world.START_NS, "node": 1, "port": 9, "dscp": dscp, "source": "int",
             "samples": 10, "u_hist": {"bucket": [80], "samples": [10]}, "u_max_n": 10**9 * dscp,
             "data_frames": 20}
            for dscp in (1, 2)
        ]  # fmt: skip
        made.insert("link_seconds", pl.DataFrame(cells), "cells")
        ends = [
            {"time_ns": world.START_NS, "scope": "site", "src": src, "dst": "b", "dscp": 0,
             "source": "traffic", "data_bytes": 5000, "data_frames": 1} for src in ("a", "c")
        ]  # fmt: skip
        ends += [
            {**ends[0], "scope": "prefix", "src": src} for src in ("10.1.0.0/24", "10.2.0.0/24",
             "2001:db8:1::/64", "leaf1")
        ]  # fmt: skip
        made.insert("path_seconds", pl.DataFrame(ends), "ends")
        yield made


@pytest.fixture(scope="module")
def asked(store: Store) -> Iterator[Asked]:
    with Asked(store) as client:
        yield client


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ('src in 10.0.0.0/8 and stage = "tor" and u.p99 > 0.95', "123"),
        ("src = 10.0.1.2 or sport = 40003", "23"),
        ("not src = 10.0.1.2", "134"),
        ("host in (10.0.1.1, 10.0.1.4/32)", "14"),
        ("host = 10.0.2.1", "1234"),
        ("src in ::ffff:10.0.1.0/127", "1"),
        ("src in 2001:db8::/32", ""),
        ("src in ::/0", ""),
        ("src in ::/80 or host = ::/16", ""),
        ("src in ::ffff:0:0/96", "1234"),
        ("port = 5001 and protocol = TCP", "1234"),
        ("protocol != 6", ""),
        ("kind = sender_limited", "4"),
        ("kind = 'Sender limited'", "4"),
        ("kind ~ 'sender l*'", "4"),
        ("cc == HPCC and sport == 40003", "3"),
        ("cc = dctcp", ""),
        ("kind not in (incast, sender_limited)", "123"),
        ("device ~ 'leaf?' and interface ~ E*48", "1234"),
        ("capacity >= 10Gbps and confidence >= 90%", "1234"),
        ("capacity > 10 and queue.mean < 100MB and u.max > 1.5", "123"),
        ("u.mean < 0.3 or u.p50 > 100", "4"),
        ("vni is known", ""),
        ("vni != 3 or vni not in (3, 4)", ""),
        ("not vni != 3", "1234"),
        ("vrf is known", "2"),
        ("vrf != a or vrf !~ a*", "2"),
        ("cc != dctcp", "1234"),
        ("vni is not known AND NOT vni = 3", "1234"),
        ("samples = 200", "1234"),
        (f"vrf = '{NASTY.replace(chr(92), chr(92) * 2).replace(chr(39), chr(92) + chr(39))}'", "2"),
        ("vrf ~ '*%_*'", "2"),
        ("vrf = ''", "134"),
    ],
)
def test_flows_that_a_filter_keeps(asked: Asked, told: str, kept: str) -> None:
    answer = asked.get("/api/v1/flows", filter=told)
    assert answer.status_code == 200, answer.text
    assert "".join(sorted(row["src"][-1] for row in answer.json()["flows"])) == kept
    held = asked.get("/api/v1/bottlenecks", filter=told).json()["bottlenecks"]
    assert {row["flow"]["src"][-1] for row in held} == set(kept) - {"4"}


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("u.p99 > 1", ["leaf1", "leaf2"]),
        ("stage = spine", ["spine1"]),
        ("orientation = host and flows >= 4 and queue.max > 1kB", ["leaf2"]),
        ("orientation ~ d*", ["spine1"]),
        ("orientation = ''", []),
        ("node = 1 and port = 9", ["leaf1"]),
        ("u.mean < 0.7 and u.p50 < u", None),
        ("capacity is not known", []),
    ],
)
def test_links_that_a_filter_keeps(asked: Asked, told: str, kept: list[str] | None) -> None:
    answer = asked.get("/api/v1/links", filter=told)
    if kept is None:
        assert answer.status_code == 400
    else:
        assert [link["device"] for link in answer.json()["links"]] == kept


def test_cells_that_a_filter_keeps(asked: Asked) -> None:
    links = asked.get("/api/v1/te/links", filter="u.max > 1.5 and device = leaf1").json()
    assert [row["dscp"] for row in links["links"]] == [2]
    assert asked.get("/api/v1/te/links", filter="u.p90 is not known").json()["total"] == 0
    paths = asked.get("/api/v1/te/paths", filter="src = a and data >= 5kB").json()
    assert [row["src"] for row in paths["paths"]] == ["a"]


@pytest.mark.parametrize(
    ("told", "column", "said"),
    [
        ("u.p99 >", 8, "the filter ends where one of these is expected"),
        ("u.p99 > 1 and", 14, "expected"),
        ("u.p98 > 1", 1, "did you mean u.p99?"),
        ("stage = tor and u.p99 > much", 25, "is compared with a number"),
        ("queue.mean > 3Gbps", 14, "B, kB, MB"),
        ("capacity > 10 Gbps", 15, "a unit is written without a blank: 10Gbps"),
        ("vni = 1 or confidence in (0.5, 90\n% )", 35, "without a blank: 90%"),
        ("u.p99 > 1.5 much", 13, "'much' stands where"),
        ("stage = tor s", 13, "'s' stands where"),
        ("queue.mean > 3kB B", 18, "'B' stands where"),
        ("src < 10.0.0.1", 5, "src has no order; use =, != or in"),
        ("stage < tor", 7, "stage has no order; use =, !=, in or ~"),
        ("u.max ~ 1*", 7, "is no text; use =, !=, <, <=, >, >= or in"),
        ("kind = nosuch", 8, "kind is one of sender_host, "),
        ("kind not in (uplink, incst)", 22, "did you mean incast?"),
        ("reroute_helps = maybe", 17, "reroute_helps is one of no, yes, unknown"),
        ("orientation = upp", 15, 'is one of up, down, side, host, ""; did you mean up?'),
        ("vni = 1 or cc in (hpcc, cubic)", 25, "cc is one of hpcc, dctcp"),
        ("src in 10.0.0.300", 8, "is no address or prefix"),
        ("src ~ 10.*", 5, "is no text"),
        ("stage tor", 7, "'tor' stands where"),
        ("(stage = tor", 13, ")"),
        ("stage = 'tor", 9, "begins nothing"),
        ("stage =\n tor\n)", 14, "stands where"),
        ("protocol = tcpp", 12, "tcp, udp"),
        ("port = 1e400", 8, "too large"),
        ("port = 99e99999", 8, "a number"),
        ("(" * 60 + "port = 1" + ")" * 60, None, "deep"),
        ("not " * 60 + "port = 1", None, "deep"),
        (" or ".join(["vni=1"] * 110), None, "up to 100 comparisons"),
        ("port in (" + ",".join(["1"] * 101) + ")", None, "up to 100 values"),
        ('stage = "\u0007"', 9, "printable"),
    ],
)
def test_a_wrong_filter_points_at_its_column(
    asked: Asked, told: str, column: int | None, said: str
) -> None:
    answer = asked.get("/api/v1/flows", filter=told)
    assert answer.status_code == 400, answer.text
    found = answer.json()
    assert found["field"] == "filter"
    assert said in found["detail"]
    assert column is None or found["column"] == column, found["detail"]
    assert asked.get("/api/v1/flows", filter="x" * 1001).status_code == 422


def test_every_congestion_control_can_be_asked_for() -> None:
    assert [each.name.lower() for each in Algorithm] == list(CONTROLS)


BOUNDED = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
WORDS = st.sampled_from(
    [
        *(field.name for fields in SUBJECTS.values() for field in fields),
        *("and", "or", "not", "in", "is", "known", "(", ")", ",", "=", "!=", "<", "<=", "~", "!~"),
        *("10.0.0.0/8", "::1", "1", "-3.5e3", "9Gbps", "50%", "tor", "'x'", '"', "'", "\\", ";"),
        *("{a:String}", "{filter_0:UInt64}", "--", "/*", "%", "NULL", "1=1", "\x00", "𝕊", "\n"),
    ]
)
TEXTS = st.one_of(
    st.text(max_size=60), st.lists(WORDS, max_size=14).map(" ".join), st.lists(WORDS).map("".join)
)


@given(TEXTS, st.sampled_from(sorted(SUBJECTS)))
@settings(
    max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
def test_any_text_is_a_condition_or_an_error_with_a_column(text: str, subject: str) -> None:
    made, column = None, 1
    try:
        made = condition(subject, text)
    except FilterError as error:
        column = error.column
    assert 1 <= column <= len(text) + 2
    if made is None:
        return
    # Nothing of the text is in the SQL: it is our own words and numbered parameters.
    words = set(made.sql.replace("(", " ").replace(")", " ").replace(",", " ").split())
    own = {"AND", "OR", "NOT", "LIKE", "=", "<", "<=", ">", ">=", "0", "ifNull", "isNotNull"}
    columns = {
        f"here.{column}{end}"
        for field in SUBJECTS[subject] for column in field.columns for end in ("", "_hi", "_lo")
    }  # fmt: skip
    left = {word for word in words - own - columns if not word.startswith("{filter_")}
    assert left == set(), made.sql


COMPARISONS = st.builds(
    "{} {} {}".format,
    st.sampled_from(["src", "host", "port", "stage", "u.p99", "vrf", "cc", "capacity"]),
    st.sampled_from(["=", "!=", "<", ">=", "~", "in", "not in"]),
    st.one_of(
        st.sampled_from(["10.0.0.0/8", "1", "-1e300", "50%", "tor", "9Gbps", "::/0"]),
        st.text(max_size=12).map(
            lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        ),
    ),
)


@given(st.lists(COMPARISONS, min_size=1, max_size=4).map(" or not ".join))
@settings(BOUNDED, max_examples=15)
def test_the_engine_takes_whatever_a_filter_says(asked: Asked, text: str) -> None:
    for subject, path in ROUTES.items():
        answer = asked.get(path, filter=text)
        assert answer.status_code in {200, 400}, (subject, text, answer.text)


def test_pages_of_flows_and_links_hold_everything_once(asked: Asked) -> None:
    def pages(path: str, name: str, key: Callable[[dict[str, Any]], Any], **more: Any) -> list[Any]:
        found, cursor = [], None
        for _ in range(9):
            given_cursor = {"cursor": cursor} if cursor else {}
            answer = asked.get(path, limit=1, **more, **given_cursor).json()
            found += [key(row) for row in answer[name]]
            if (cursor := answer["cursor"]) is None:
                return found
        raise AssertionError(found)

    place = {"device": "leaf2", "interface": "Ethernet4"}
    sources = {f"10.0.1.{n}" for n in range(1, 5)}
    flows = pages("/api/v1/flows", "flows", lambda row: row["src"])
    crossing = pages("/api/v1/links/flows", "flows", lambda row: row["src"], **place)
    held = pages("/api/v1/bottlenecks", "bottlenecks", lambda row: row["flow"]["src"])
    links = pages("/api/v1/links", "links", lambda row: row["device"])
    assert (sorted(flows), set(flows)) == (sorted(sources), sources)
    assert sorted(crossing) == sorted(sources)
    assert sorted(held) == sorted(sources - {"10.0.1.4"})
    assert sorted(links) == ["leaf1", "leaf2", "spine1"]
    for path in ("/api/v1/flows", "/api/v1/links", "/api/v1/bottlenecks", "/api/v1/te/links"):
        for cursor in ("x", "WzFd", "W10", "W1tdXQ", "WzEuNSwxLDFd", "é"):
            answer = asked.get(path, cursor=cursor)
            assert (answer.status_code, answer.json()["field"]) == (422, "cursor")


def test_top_takes_a_filter(hopsight: Any, served: Any) -> None:
    def top(told: str) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = hopsight.here(
            "top", "--store", served.dsn, "--filter", told
        )
        return done

    kept = top("src = 10.0.1.2")
    assert "10.0.1.2:40002" in kept.stdout
    assert "10.0.1.3:40003" not in kept.stdout
    wrong = top("src = 10.0.1.2 and")
    assert wrong.returncode == 2
    assert "--filter: column 19: the filter ends" in wrong.stderr


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("src in 10.0.0.0/8", ["10.1.0.0/24", "10.2.0.0/24"]),
        ("src in (10.1.0.0/16, leaf1)", ["10.1.0.0/24", "leaf1"]),
        ("src = 10.2.0.7", ["10.2.0.0/24"]),
        ("src = 10.2.0.0/24", ["10.2.0.0/24"]),
        ("src in 10.2.0.0/28", []),
        ("src in 2001:db8::/32 or src = 2001:db8:2::1", ["2001:db8:1::/64"]),
        ("src = fe80::1%eth0 or src in (10.2.0.0/24, fe80::1%1)", ["10.2.0.0/24"]),
        ("not src in 0.0.0.0/0", ["2001:db8:1::/64", "leaf1"]),
        ("src ~ 'leaf*' or src ~ '10.2.*'", ["10.2.0.0/24", "leaf1"]),
    ],
)
def test_paths_between_prefixes_are_kept_by_prefix_and_address(
    asked: Asked, told: str, kept: list[str]
) -> None:
    answer = asked.get("/api/v1/te/paths", by="prefix", interval="1s", filter=told)
    assert answer.status_code == 200, answer.text
    assert sorted(each["src"] for each in answer.json()["paths"]) == kept
