"""Versions of the topology: each row, interval and verdict is read by the one in force then."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline import PipelineSettings, Topology, Versions, Worker
from pipeline.path import Paths
from pipeline.reserved import LOCATOR, PLACE, UNTOLD
from pipeline.unknown_ids import MOST_IDS, UnknownIds
from pipeline.ways import ways
from tests.pipeline.test_topology_file import EXAMPLE
from tests.pipeline.test_worker import MS, SETTINGS, cut, played

STEP_NS = MS


def renamed(known: Topology, version: str, since_ns: int) -> Topology:
    """The same fabric in which each device has a name of that version."""
    ports = tuple(
        replace(
            port,
            device=f"{version}-{port.device}",
            peer_device=f"{version}-{port.peer_device}" if port.peer_interface else "h",
        )
        for port in known.interfaces
    )
    hosts = tuple(replace(host, device=f"{version}-{host.device}") for host in known.hosts)
    return Topology(version, since_ns, known.base_rtt_ns, ports, hosts)


def changing(known: Topology, rows: pl.DataFrame) -> tuple[Versions, int]:
    """The fabric under another name from the middle of a capture on, and that time."""
    begun = int(rows["time_ns"].to_numpy().min())
    change = begun - begun % STEP_NS + 2 * STEP_NS
    return Versions.of([renamed(known, "new", change), renamed(known, "old", 0)]), change


def ran(known: Versions | Topology, batches: list[pl.DataFrame]) -> tuple[Worker, pl.DataFrame]:
    worker = Worker(SETTINGS, known, ("fabric",))
    outputs = [*map(worker.advance, batches), worker.finish()]
    return worker, pl.concat(o.tables["verdicts"] for o in outputs if "verdicts" in o.tables)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("telemetry", ["int", "csig_compact"])
def test_a_verdict_before_and_after_a_change_names_its_hop_by_its_own_version(
    telemetry: str,
) -> None:
    rows, known = played(telemetry)
    versions, change = changing(known, rows)
    worker, judged = ran(versions, [rows])
    before, after = judged.filter(pl.col("time_ns") < change), judged.filter(
        pl.col("time_ns") >= change
    )  # fmt: skip
    for part, version in ((before, "old"), (after, "new")):
        assert set(part["topology"]) == {version}
        assert set(part["device"]) == {f"{version}-leaf1"}
        assert part["candidates"].str.contains(f'"{version}-').all()
    # The fabric did not change but for names: neither do the numbers.
    names = ["device", "topology", "candidates"]
    alone = [ran(version, [rows])[1] for version in versions.topologies[:1]]
    assert_frame_equal(judged.drop(names), alone[0].drop(names))
    assert worker.counters["unknown_hops"] == 0
    # However the input is cut.
    assert_frame_equal(judged, ran(versions, cut(rows, [701] * (rows.height // 701)))[1])


def test_before_the_first_version_ids_are_shown_raw() -> None:
    rows, known = played("int")
    _, change = changing(known, rows)
    _, judged = ran(replace(known, valid_from_ns=change), [rows])
    early = judged.filter(pl.col("time_ns") < change)
    assert set(early["topology"]) == {""}
    assert early["device"].str.starts_with("node ").all()
    assert set(judged.filter(pl.col("time_ns") >= change)["device"]) == {"leaf1"}


def test_a_port_that_a_version_lacks_is_kept_shown_raw_and_counted() -> None:
    rows, known = played("int")
    versions, change = changing(known, rows)
    old, new = versions.topologies
    lacking = replace(new, interfaces=tuple(i for i in new.interfaces if i.hop != (1, 1)))
    worker, judged = ran(Versions.of([old, lacking]), [rows])
    held = judged.filter((pl.col("time_ns") >= change) & (pl.col("port") == 1))
    assert set(held["device"]) == {"node 1"}
    assert held["plausibility"].list.contains("hop_not_in_topology").all()
    assert list(worker.unknown_ids.counters) == ["node 1 port 1"]
    assert worker.counters["unknown_hops"] == worker.unknown_ids.counters["node 1 port 1"] > 100


def test_a_worker_takes_another_topology_while_it_runs() -> None:
    rows, known = played("csig_compact")
    versions, change = changing(known, rows)
    old, new = versions.topologies
    early = rows.filter(pl.col("time_ns") < change)
    worker = Worker(SETTINGS, old, ("fabric",))
    made = [worker.advance(early)]
    worker.renew(new)
    made += [worker.advance(rows.filter(pl.col("time_ns") >= change)), worker.finish()]
    judged = pl.concat(o.tables["verdicts"] for o in made if "verdicts" in o.tables)
    after = judged.filter((pl.col("time_ns") >= change) & (pl.col("kind") == "incast"))
    assert set(after["device"]) == {"new-leaf1"}


def test_an_interval_that_begins_before_all_versions_is_read_by_the_first() -> None:
    versions = Versions.of([Topology("b", 30, 0, ()), Topology("a", 15, 0, ())])
    intervals = pl.DataFrame({"time_ns": [0, 10, 20, 30], "interval_ns": 10})
    told = {
        topology and topology.version: part["time_ns"].to_list()
        for topology, part in versions.split(intervals)
    }
    assert told == {None: [0], "a": [10, 20], "b": [30]}
    at = [versions.at(time) for time in (14, 15, 29, 30, 10**18)]
    assert [one and one.version for one in at] == [None, "a", "a", "b", "b"]
    assert versions.newest is versions.topologies[1]
    assert Versions().newest is None


def test_rows_keep_their_order_across_versions() -> None:
    versions = Versions.of([Topology("b", 30, 0, ()), Topology("a", 0, 0, ())])
    rows = pl.DataFrame({"time_ns": [40, 10, 30, 29, 31]})

    def told(topology: Topology | None, part: pl.DataFrame) -> pl.DataFrame:
        return part.with_columns(version=pl.lit(topology.version if topology else ""))

    made = versions.across(rows, told)
    assert made["time_ns"].to_list() == rows["time_ns"].to_list()
    assert made["version"].to_list() == ["b", "a", "b", "a", "b"]


def words(high: int) -> Mapping[str, list[int]]:
    """Ends of a row: web1 of the shipped example, and an address of its other site."""
    return {"src_hi": [0], "src_lo": [0xFFFF_0A00_0101], "dst_hi": [0], "dst_lo": [high]}


def test_a_pair_of_sites_has_its_round_trip_in_its_version() -> None:
    west = replace(Topology.from_yaml(EXAMPLE), valid_from_ns=10)
    hosts = tuple(replace(host, tenant="") for host in west.hosts)
    versions = Versions.of([replace(west, hosts=hosts), Topology("old", 0, 7000, ())])
    paths = Paths(PipelineSettings(), versions)
    kinds = {"time_ns": pl.Int64} | dict.fromkeys(words(0), pl.UInt64)
    rows = pl.concat(
        pl.DataFrame({"time_ns": [time], **words(0xFFFF_0A00_0200 + last)}, schema=kinds)
        for time, last in ((5, 1), (15, 1), (16, 0x10000))
    )
    assert paths.along(rows)["base_rtt_ns"].to_list() == [7000, 900_000, 12_000]
    told = Paths(PipelineSettings(base_rtt_us=3), versions)
    assert set(told.along(rows)["base_rtt_ns"]) == {3000}


def test_queues_are_read_in_the_unit_of_their_device() -> None:
    known = replace(Topology.from_yaml(EXAMPLE), valid_from_ns=0)
    kinds = {"time_ns": pl.Int64, "h0_node": pl.UInt32, "h0_port": pl.UInt32,
             "h0_qlen_bytes": pl.UInt64, "h1_qlen_bytes": pl.UInt64}  # fmt: skip
    told = [(1, 101, 1, 3, 3), (2, 1, 1, 3, 3), (3, 101, 1, None, None), (4, None, None, 3, 3),
            (5, 101, 1, 1 << 39, 3)]  # fmt: skip
    rows = pl.DataFrame(told, schema=kinds, orient="row").with_columns(
        pl.lit(0, pl.UInt64).alias(name) for name in words(0)
    )
    made = Paths(PipelineSettings(), Versions.of(known)).along(rows)
    assert made["h0_qlen_bytes"].to_list() == [240, 3, None, 3, 1 << 40]
    assert made["h1_qlen_bytes"].to_list() == [3, 3, None, 3, 3], "that hop names no node"


def test_overlapping_addresses_are_told_apart_by_the_tenant_of_their_flow() -> None:
    text = EXAMPLE.replace("points:", "  blue1: {prefixes: [10.0.1.1/32], attached: "
                           '"leaf2:Ethernet1", tenant: blue, nic_gbps: 10}\npoints:')  # fmt: skip
    known = replace(Topology.from_yaml(text), valid_from_ns=0)
    kinds = {"time_ns": pl.Int64, "tenant": pl.String, "vrf": pl.String, "vni": pl.UInt32}
    rows = pl.DataFrame([(1, "", "", None), (2, "", "", 5010), (3, "", "blue", None)],
                        schema=kinds, orient="row")  # fmt: skip
    ends = [pl.lit(value[0], pl.UInt64).alias(name) for name, value in words(1).items()]
    made = Paths(PipelineSettings(), Versions.of(known)).along(rows.with_columns(ends))
    assert made["src_nic_bps"].to_list() == [25 * 10**9, 10**10, 10**10]
    to_db = pl.lit(0xFFFF_0A00_0201, pl.UInt64).alias("dst_lo")
    flows = rows.with_columns(*ends, flow=pl.col("time_ns").cast(pl.UInt64)).with_columns(to_db)
    crossed = ways(flows, known).group_by("flow", maintain_order=True).agg("node")
    assert crossed["node"].to_list() == [[1, 2, 101], [2], [2]], "blue1 and db hang on one device"


def test_ids_are_counted_one_by_one_up_to_a_bound() -> None:
    known = Topology.from_yaml(EXAMPLE)
    counted = UnknownIds()
    nobody = [(LOCATOR, UNTOLD), (PLACE, 0), (1, 1)]
    lacking = [(LOCATOR, 77), (9, UNTOLD), (9, 4), (9, 4)]
    many = [(1000, port) for port in range(MOST_IDS)]
    for hops in (nobody + lacking, many):
        rows = [(*hop, 2) for hop in hops]
        frame = pl.DataFrame(rows, schema={"node": pl.UInt32, "port": pl.UInt32,
                                           "samples": pl.UInt64}, orient="row")  # fmt: skip
        counted.count(frame, None)
        counted.count(frame, known)
    told = counted.counters
    assert (told["locator 77"], told["node 9 port not told"], told["node 9 port 4"]) == (2, 2, 4)
    assert len(counted.samples) == MOST_IDS
    assert told["others"] == 2 * 3
    assert counted.total == 2 * (len(lacking) + MOST_IDS)
