"""Rows of links and paths from flows whose loads are known, added up in a store."""

from collections.abc import Iterator

import polars as pl
import pytest

from pipeline.histogram import METRICS, middle
from pipeline.interface import Host, Interface
from pipeline.rolled import newest
from pipeline.rolled import rows_of as rolled_up
from pipeline.rollup_rows import Closed, crossing, sent
from pipeline.settings import PipelineSettings
from pipeline.store import Store
from pipeline.tables import TABLES
from pipeline.topology import Topology
from pipeline.worker import Output, Worker
from tests.pipeline.conftest import observations

T0 = 1_760_000_000_000_000_000
MS, US = 1_000_000, 1_000
B_BPS, T_NS = 10_000_000_000, 20_000
BUSY = 0.6
"""Share of the capacity that the hop sends in the frames of `frames`."""
RESULTS = ("link_seconds", "path_seconds")


def frames(flow: int, start_ns: int, count: int, **more: object) -> list[dict[str, object]]:
    """Data frames of one flow, 10 us apart, each with a stack of one hop."""
    sent = round(BUSY * B_BPS * 10 * US / 8e9)
    return [
        {
            "time_ns": start_ns + at * 10 * US,
            "src": f"10.1.{flow}.1",
            "dst": "10.2.0.1",
            "sport": 1000 + flow,
            "seq": at * 1000,
            "dscp": 0,
            "hop_count": 1,
            "h0_node": 7,
            "h0_port": 3,
            "h0_qlen_bytes": 0,
            "h0_tx_bytes": at * sent,
            "h0_ts_ns": start_ns + at * 10 * US,
            "h0_b_bps": B_BPS,
            **more,
        }
        for at in range(count)
    ]


def ran(rows: list[dict[str, object]], cuts: int = 1) -> list[Output]:
    """What a worker makes of observations in so many batches."""
    worker = Worker(PipelineSettings(base_rtt_us=T_NS / US, interval_ms=10), None, ("a",))
    told = observations(sorted(rows, key=lambda row: int(str(row["time_ns"]))))
    size = -(-told.height // cuts)
    made = [worker.advance(told[at : at + size]) for at in range(0, told.height, size)]
    return [*made, worker.finish()]


def rows_of(made: list[Output], table: str) -> pl.DataFrame:
    """The rows of one table, partial ones joined as the store joins them."""
    parts = [output.whole[table] for output in made if table in output.whole]
    return pl.concat(parts).sort(TABLES[table].order)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(f"chdb://{tmp_path_factory.mktemp('rollups') / 'db'}") as opened:
        opened.migrate()
        yield opened


def asked(store: Store, name: str, width: str, **more: object) -> pl.DataFrame:
    given = {"from_ns": T0 - 3600 * 10**9, "to_ns": T0 + 3600 * 10**9, "dscp": -1, "rows": 1000}
    ends = {"scope": "prefix", "src": "", "dst": ""} if name == "te_paths" else {}
    table = f"{'path' if name == 'te_paths' else 'link'}_{width}"
    return store.query(name, rollup=table, **given, **ends, **more)


def test_a_known_load_is_what_the_rows_say() -> None:
    link = rows_of(ran(frames(1, T0, 50)), "link_seconds")
    told = link.row(by_predicate=pl.col("source") == "int", named=True)
    assert (told["node"], told["port"], told["dscp"], told["samples"]) == (7, 3, 0, 50)
    for metric, value in zip(METRICS, (BUSY * 1e9, BUSY * 1e9, (1 - BUSY) * B_BPS), strict=False):
        [number] = told[f"{metric.name}_hist"]["bucket"]
        assert middle(number, metric) == pytest.approx(value, rel=0.045)
    assert told["delay_max_ns"] == 0
    counted = link.row(by_predicate=pl.col("source") == "traffic", named=True)
    assert (counted["data_bytes"], counted["affected_bytes"], counted["data_frames"]) == (
        50_000,
        0,
        50,
    )


def test_a_link_has_the_flows_that_it_held_back_without_being_named() -> None:
    """Advanced ECN and marks name no hop; what verdicts place there is the link's traffic too."""
    made = [one.whole for one in ran([*frames(1, T0, 20), *frames(2, T0, 30)])]
    (tables,) = [each for each in made if "verdicts" in each]
    flows = tables["flows"].with_columns(unseen=pl.lit(value=False))
    verdicts = tables["verdicts"]
    first, second = flows.sort("sport")["flow"].to_list()
    named = tables["hop_intervals"].filter(pl.col("flow") == first)
    none = pl.DataFrame({"flow": []}, {"flow": pl.UInt64})
    affected = []
    for kind in ("downlink", "sender_limited"):
        told = verdicts.with_columns(
            pl.when(pl.col("flow") == second).then(pl.lit(kind)).otherwise("kind").alias("kind"),
            pl.lit(7, pl.UInt32).alias("node"), pl.lit(3, pl.UInt32).alias("port"),
        )  # fmt: skip
        closed = Closed(flows, tables["flow_intervals"], named, told, none, none)
        rows = crossing(closed, sent(closed))
        affected.append(
            dict(rows.filter("affected").group_by("flow").agg(pl.col("data_bytes").sum()).rows())
        )
        held = {second} if kind == "downlink" else set()
        assert set(rows["flow"]) == {first} | held
        assert set(rows.select("node", "port").rows()) == {(7, 3)}
    assert affected == [{second: 30_000}, {}]


@pytest.mark.parametrize(
    ("kind", "path", "link"),
    [("downlink", True, True), ("congested_path", True, True), ("sender_host", False, True),
     ("receiver_host", False, False), ("sender_limited", False, False)],
)  # fmt: skip
def test_what_an_end_holds_back_is_not_affected_by_the_network(
    kind: str, path: bool, link: bool
) -> None:
    made = [one.whole for one in ran(frames(1, T0, 20))]
    (tables,) = [each for each in made if "verdicts" in each]
    here = {"kind": pl.lit(kind), "node": pl.lit(7, pl.UInt32), "port": pl.lit(3, pl.UInt32)}
    told = tables["verdicts"].with_columns(**here)
    flows = tables["flows"].with_columns(unseen=pl.lit(value=False))
    none = pl.DataFrame({"flow": []}, {"flow": pl.UInt64})
    closed = Closed(flows, tables["flow_intervals"], tables["hop_intervals"], told, none, none)
    assert sent(closed)["affected"].all() is path
    assert crossing(closed, sent(closed))["affected"].all() is link


def test_what_comes_late_is_told_besides_when_it_is_stored_together() -> None:
    """A second tap's frames of the same packets, and of some that the first one missed."""
    early = [row | {"ip_id": at} for at, row in enumerate(frames(1, T0, 800))]
    early = [row for at, row in enumerate(early) if at % 4]
    other = {"source": "b", "point": "leaf2:Ethernet1"}
    late = [row | other | {"ip_id": at} for at, row in enumerate(frames(1, T0, 800))]
    worker = Worker(PipelineSettings(base_rtt_us=T_NS / US, interval_ms=1, copies_us=0), None, ())
    made = [worker.advance(observations(early)), worker.end("a")]
    made += [worker.advance(observations(late)), worker.end("b"), worker.finish()]
    assert worker.counters["late"]
    rolled = [each for one in made for each in one.rolled]
    assert len(rolled) > 1
    for table in RESULTS:
        rows = rolled_up(rolled)[table].filter(source="traffic")
        assert rows.select("data_bytes", "data_frames").unique().rows() == [(800_000, 800)]


@pytest.mark.parametrize("order", [[True, False], [False, True]])
def test_a_verdict_of_late_rows_alone_yields_to_any(order: list[bool]) -> None:
    said = pl.concat(
        pl.DataFrame({"time_ns": [T0], "interval_ns": [MS], "flow": [1], "alone": [alone],
                      "kind": ["sender_limited" if alone else "downlink"]})
        for alone in order
    )  # fmt: skip
    assert newest(said)["kind"].to_list() == ["downlink"]
    assert newest(said.drop("alone"))["kind"].to_list() == said["kind"].tail(1).to_list()


def test_classes_are_kept_apart_and_an_end_is_its_prefix() -> None:
    path = rows_of(ran([*frames(1, T0, 20), *frames(2, T0, 20, dscp=46)]), "path_seconds")
    traffic = path.filter((pl.col("source") == "traffic") & (pl.col("scope") == "prefix"))
    assert traffic.select("src", "dst", "dscp", "data_bytes").rows() == [
        ("10.1.1.0/24", "10.2.0.0/24", 0, 20_000),
        ("10.1.2.0/24", "10.2.0.0/24", 46, 20_000),
    ]


def test_the_same_rows_however_the_input_is_cut() -> None:
    rows = [row for flow in range(4) for row in frames(flow, T0 + flow * 7 * US, 60)]
    whole, cut = ran(rows), ran(rows, cuts=13)
    for table in RESULTS:
        keys = [c.name for c in TABLES[table].columns if not c.merge]
        counts = [f"{metric.name}_hist" for metric in METRICS]
        added = [
            rows_of(made, table)
            .group_by(keys)
            .agg(
                pl.col("samples", "data_bytes", "data_frames").sum(),
                pl.col("u_max_n", "delay_max_ns").max(),
                *(
                    pl.col(name).struct.field("samples").list.sum().sum().alias(name)
                    for name in counts
                ),
            )
            .sort(keys)
            for made in (whole, cut)
        ]
        assert added[0].equals(added[1])


def test_minutes_and_hours_follow_late_rows_and_repeats_count_once(store: Store) -> None:
    """Two halves and a repeat of each give the sums, in every width, and quantiles of all."""
    calm, full = frames(1, T0, 30), frames(1, T0 + 70 * 10**9, 90)
    for number, part in enumerate((calm, full)):
        for _ in range(2):
            for at, output in enumerate(ran(part)):
                for table in RESULTS:
                    if table in output.whole:
                        store.insert(table, output.whole[table], f"{table}/{number}/{at}")
    for width, cells in (("seconds", [30_000, 90_000]), ("minutes", [30_000, 90_000]),
                         ("hours", [120_000])):  # fmt: skip
        for name in ("te_links", "te_paths"):
            told = asked(store, name, width).sort("time_ns")
            assert told["data_bytes"].to_list() == cells, (name, width)
            assert told["samples"].sum() == 30 + 90
            assert told["flows"].to_list() == [1] * len(cells)
            assert told["u_p50"].to_list() == pytest.approx([BUSY] * len(cells), rel=0.045)
            assert told["headroom_bps"].to_list() == pytest.approx(
                [(1 - BUSY) * B_BPS] * len(cells), rel=0.045
            )


def test_a_store_of_before_gets_the_tables_and_what_feeds_them(store: Store) -> None:
    store._writer.command("DROP TABLE link_hours_feed")
    store._writer.command("DROP TABLE link_hours")
    store._writer.command("ALTER TABLE flows DROP COLUMN dscp")
    store.migrate()
    store.migrate()
    [output] = [made for made in ran(frames(3, T0, 30)) if "link_seconds" in made.whole]
    store.insert("link_seconds", output.whole["link_seconds"], "after")
    assert asked(store, "te_links", "hours")["data_bytes"].sum() == 30_000


def test_views_of_old_that_grouped_their_rows_pass_them_on(store: Store) -> None:
    view, columns = "link_minutes_feed", "node, port, dscp, source, time_ns"
    grouped = f"SELECT {columns}, sum(samples) AS samples FROM link_seconds GROUP BY {columns}"  # noqa: S608 - our own names
    store._writer.command(f"DROP TABLE {view}")
    store._writer.command(f"CREATE MATERIALIZED VIEW {view} TO link_minutes AS {grouped}")
    store.migrate()
    told = "SELECT as_select FROM system.tables WHERE name = {view:String}"
    [(text,)] = store._writer.rows(told, view=view)
    assert "GROUP BY" not in text
    assert "u_hist" in text


def test_sites_and_devices_are_the_topologys() -> None:
    port = Interface("leaf1", "e3", 7, 3, B_BPS, "tor", "host", "h1", "")
    host = Host("h1", ("10.1.0.0/16",), "leaf1", "e3", B_BPS)
    topology = Topology("t", 0, T_NS, (port,), (host,))
    worker = Worker(PipelineSettings(interval_ms=10), topology, ("a",))
    made = [worker.advance(observations(frames(1, T0, 20))), worker.finish()]
    path = rows_of(made, "path_seconds").filter(pl.col("source") == "traffic")
    ends = {row["scope"]: (row["src"], row["dst"]) for row in path.iter_rows(named=True)}
    assert ends["device"] == ("leaf1", "10.2.0.0/24")
    assert ends["prefix"] == ("10.1.0.0/16", "10.2.0.0/24")


def options(count: int, **more: object) -> list[dict[str, object]]:
    """Data frames that carry an AECN option and no stack."""
    none = {name: None for name in frames(1, T0, 1)[0] if name.startswith("h")}
    return [{**row, **none, "hop_count": 0, **more} for row in frames(1, T0, count)]


def test_a_path_is_told_by_the_point_that_is_furthest_along_it() -> None:
    """A tap before the first router sees options that nobody has written to yet, or not all."""
    near = options(40, point="near", aecn_u=0.25, aecn_dre_ratio=0.2)
    far = options(20, point="far", aecn_u=2.0, aecn_dre_ratio=0.9)
    path = rows_of(ran([*near, *far], cuts=3), "path_seconds")
    told = path.filter(scope="prefix", source="aecn").row(0, named=True)
    assert told["samples"] == 20
    assert (told["u_max_n"], told["utilization_max_n"]) == (2_000_000_000, 900_000_000)
    [number] = told["u_hist"]["bucket"]
    assert middle(number, METRICS[0]) == pytest.approx(2e9, rel=0.045)


def test_options_that_no_router_has_written_to_say_nothing() -> None:
    made = ran(options(20, point="near", aecn_u=0.0, aecn_congested_hops=0))
    assert rows_of(made, "path_seconds").filter(source="aecn").is_empty()
    assert rows_of(made, "path_seconds")["told_frames"].sum() == 0
    [verdict] = pl.concat(one.tables["verdicts"] for one in made if one.tables).to_dicts()
    assert (verdict["u_mean"], verdict["telemetry"]) == (None, 0.0)


def test_what_is_acknowledged_in_another_interval_is_not_sent_again() -> None:
    late, back = T0 + 25 * MS, {"src": "10.2.0.1", "dst": "10.1.1.1", "sport": 2000}
    ack = {"time_ns": late, **back, "dport": 1001, "payload_bytes": 0, "ack": 20_000, "flags": 16}
    path = rows_of(ran([*frames(1, T0, 20), ack]), "path_seconds")
    told = path.filter(scope="prefix", source="traffic").select("data_bytes", "data_frames")
    assert told.sum().row(0) == (20_000, 20)


@pytest.mark.parametrize(
    ("told", "sent_frames"),
    [
        ({"sampling_rate": 100}, 3_000),
        ({"shed_from": 4}, 120),
        ({"sampling_rate": 100, "shed_from": 4}, 12_000),
        ({"sampling_rate": (1 << 32) - 1, "shed_from": (1 << 32) - 1}, (1 << 53) + 30),
        ({}, 30),
    ],
)
def test_what_came_is_told_beside_what_was_sent(told: dict[str, int], sent_frames: int) -> None:
    """By rates that frames tell themselves: what a mirror left out, and what a collector shed."""
    path = rows_of(ran(frames(3, T0, 30, **told)), "path_seconds")
    [row] = path.filter(scope="prefix", source="traffic").to_dicts()
    assert (row["data_frames"], row["missed_frames"]) == (30, sent_frames - 30)
    assert row["told_frames"] == 29  # the first stack of a hop has nothing to be compared with


def test_what_a_capture_missed_was_sent_as_well() -> None:
    rows = frames(3, T0, 40)
    path = rows_of(ran([*rows[:10], *rows[30:]]), "path_seconds")
    [row] = path.filter(scope="prefix", source="traffic").to_dicts()
    assert (row["data_frames"], row["missed_frames"]) == (20, 20)


def test_frames_of_which_telemetry_speaks_are_counted_once() -> None:
    """Several kinds speak of the frames of some flows, and none of those of others."""
    both = frames(3, T0, 30, aecn_u=0.5)
    silent = [row | {"hop_count": 0, "src": "10.1.3.2"} for row in frames(4, T0, 10)]
    none = {name: None for name in silent[0] if name.startswith("h0")}
    path = rows_of(ran([*both, *(row | none for row in silent)]), "path_seconds")
    told = path.filter(scope="prefix", source="traffic").select("data_frames", "told_frames")
    assert told.sum().row(0) == (40, 30)
