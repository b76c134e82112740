"""Flows without locators, placed by comparison with others; one headline out of all signals."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
import pytest

from pipeline import Topology
from pipeline.comparison import KNOWN, LOAD, TOLD, compared
from pipeline.headline import headline, joined
from pipeline.intervals import SLICES
from pipeline.sharing import counts, crossing
from pipeline.throughput import utilisation
from pipeline.ways import paths

Rows = Iterable[Mapping[str, Any]]
FlowsOf = Callable[[Rows], pl.DataFrame]
LAST = (3, 3)
NONE_KNOWN = pl.DataFrame(schema=KNOWN)


@pytest.fixture
def line(chain_of: Callable[..., Topology]) -> Topology:
    return chain_of("leaf1", "spine1", "leaf2")


def told(*loads: tuple[int, float], most: int | None = None) -> pl.DataFrame:
    rows = [(0, flow, load, load, 0.1, most, True) for flow, load in loads]
    return pl.DataFrame(rows, schema=TOLD, orient="row")


def test_a_path_is_matched_with_what_others_saw_of_its_links(
    flows_of: FlowsOf, line: Topology
) -> None:
    flows = flows_of([{}])
    seen = [(0, 1, 1, 0.4, 0.4, 0.1), (0, 2, 1, 1.5, 1.5, 0.1), (0, 9, 9, 1.6, 1.6, 0.1)]
    known = pl.DataFrame(seen, schema=KNOWN, orient="row")
    found = compared(told((flows["flow"][0], 1.6)), known, paths(flows, line), LOAD)
    best = found.sort("probability", descending=True).row(0, named=True)
    assert (best["node"], best["port"]) == (2, 1)
    assert best["probability"] > 0.8
    assert found["probability"].sum() == pytest.approx(1.0)


def test_intervals_know_nothing_of_each_other(flows_of: FlowsOf, line: Topology) -> None:
    flows = flows_of([{}, {"src": "10.2.0.1", "dst": "10.1.0.1"}])
    first, second = flows["flow"]
    rows = told((first, 1.6), (second, 0.3))
    later = rows.with_columns(pl.lit(100, pl.Int64).alias("time_ns"))
    ways = paths(flows, line)
    alone = compared(rows, NONE_KNOWN, ways, LOAD)
    both = compared(pl.concat([rows, later]), NONE_KNOWN, ways, LOAD)
    assert both.filter(time_ns=0).equals(alone)


def test_a_full_port_is_known_by_what_crosses_it(flows_of: FlowsOf, line: Topology) -> None:
    flows = flows_of([{}])
    sent = flows.select(
        "flow", pl.lit(0, pl.Int64).alias("time_ns"), pl.lit(1_000_000).alias("interval_ns"),
        pl.lit(1_000_000).alias("data_bytes"), pl.lit(1_050_000).alias("bytes"),
        pl.lit(None, pl.Int64).alias("acked_bytes"), pl.lit(1).alias("points"),
        pl.lit((1 << SLICES) - 1, pl.UInt32).alias("slices"), pl.lit(1_000).alias("data_frames"),
    )  # fmt: skip
    ways = paths(flows, line).with_columns(pl.lit(0, pl.Int64).alias("time_ns"))
    found = utilisation(sent, ways, line)
    assert found.select("node", "port").rows() == [(1, 1), (2, 1), LAST]
    assert found["least"].to_list() == pytest.approx([0.84] * 3)
    assert found["least"].equals(found["most"].rename("least"))
    assert not found["whole"].any()
    sampled = sent.with_columns(
        pl.col("data_bytes", "bytes") / 100, acked_bytes=1_000_000, points=2
    )
    again = utilisation(sampled, ways, line)
    assert again["least"].to_list() == pytest.approx([0.84] * 3)
    assert again["whole"].all()
    burst = sent.with_columns(pl.lit((1 << SLICES // 4) - 1, pl.UInt32).alias("slices"))
    assert utilisation(burst, ways, line)["active"].to_list() == pytest.approx([0.25] * 3, abs=0.01)


def pointing(signal: str, *hops: tuple[int, float], flow: int = 1) -> list[dict[str, Any]]:
    return [
        {"time_ns": 0, "flow": flow, "node": node, "port": 1, "signal": signal, "share": 1.0,
         "probability": probability, "u_mean": probability, "hop_index": node}
        for node, probability in hops
    ]  # fmt: skip


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    kinds = {"flow": pl.UInt64, "node": pl.UInt32, "port": pl.UInt32}
    return pl.DataFrame(rows, schema_overrides=kinds)


def test_signals_that_agree_make_each_other_surer() -> None:
    one = joined(frame(pointing("aecn", (1, 0.6), (2, 0.4))))
    both = joined(frame(pointing("aecn", (1, 0.6), (2, 0.4)) + pointing("ecn", (1, 0.6), (2, 0.4))))
    assert both["probability"][0] > one["probability"][0] > 0.55


def test_a_sure_signal_outweighs_two_that_guess() -> None:
    rows = pointing("csig", (2, 0.98), (1, 0.02)) + pointing("ecn", (1, 0.7), (2, 0.3))
    best = headline(joined(frame(rows))).row(0, named=True)
    assert (best["node"], best["signal"]) == (2, "csig")
    assert best["probability"] > 0.9


def test_a_path_without_hop_keeps_its_row() -> None:
    rows = frame(pointing("aecn", (1, 1.0))).with_columns(
        pl.lit(None, pl.UInt32).alias("node"), pl.lit(None, pl.Float64).alias("probability")
    )
    assert headline(joined(rows)).height == 1


def test_contributors_send_and_victims_wait(flows_of: FlowsOf, line: Topology) -> None:
    flows = flows_of([{"sport": port} for port in range(1, 5)])
    sizes = dict(zip(flows["flow"], (1_000_000, 900_000, 20_000, 1), strict=True))
    sent = frame(
        [
            {
                "time_ns": 0,
                "flow": flow,
                "bytes": size + 9,
                "data_bytes": size,
                "data_frames": 100,
                "slices": 0xFFFF,
            }
            for flow, size in sizes.items()
        ]
    )
    held = frame([row for f in sizes for row in pointing("aecn", (3, 1.0), flow=f)]).with_columns(
        pl.lit(3, pl.UInt32).alias("port")
    )
    rows = crossing(sent, held, held, paths(flows, line))
    here = rows.filter((pl.col("node") == LAST[0]) & (pl.col("port") == LAST[1]))
    assert here["contribution"].sum() == pytest.approx(1.0)
    found = counts(rows).filter(pl.col("node") == LAST[0]).row(0, named=True)
    assert (found["contributors"], found["victims"]) == (3, 2)
    assert found["duty"] == pytest.approx(0.5, abs=0.01), "they sent in half of the interval"
    elsewhere = counts(rows).filter(pl.col("node") == 1).row(0, named=True)
    assert (elsewhere["contributors"], elsewhere["victims"]) == (3, 0)
