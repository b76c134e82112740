"""CSIG samples as terms of hop load."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from pipeline import Csig, Topology
from pipeline.reserved import LOCATOR, UNTOLD
from pipeline.signals import TERMS, csig_terms, placed_tags

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
RTT_NS = 10_000


def tag(kind: int, low: float, lm: int, variant: int = 2, **more: Any) -> dict[str, Any]:
    """A row with a CSIG tag whose value is known to be just `low`."""
    values = {"variant": variant, "t": kind, "s": 5, "lm": lm, "low": low, "high": low}
    return {f"csig_{name}": value for name, value in (values | more).items()}


def echo(row: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The acknowledgment that reflects what `row` carried."""
    told = {name.replace("csig_", "csig_echo_"): value for name, value in row.items()}
    ends = {"src": "10.2.0.1", "dst": "10.1.0.1", "sport": 2000, "dport": 1000}
    return told | ends | {"payload_bytes": 0} | more


def terms_of(rows: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """The terms of all signals of which one is known, at the times of which they tell."""
    signals = placed_tags(rows, topology)
    if signals is None:
        return pl.DataFrame(schema=TERMS)
    terms = csig_terms(signals.said, topology, RTT_NS)
    return signals.each(terms).drop_nulls("u").with_columns(pl.col("time_ns") - pl.col("ago_ns"))


def test_each_signal_is_a_term_of_its_kind(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    rows = observed([tag(0, 2.5e9, 257), tag(1, 0.25, 259), tag(2, 5_000.0, 513)])
    terms = terms_of(rows, chain_of("leaf1", "spine1", "leaf2"))
    assert terms.select(*TERMS).schema == pl.Schema(TERMS)
    assert terms["source"].to_list() == ["csig_abw", "csig_utilization", "csig_delay"]
    assert terms["u"].to_list() == [0.75, 0.75, 0.5]
    assert terms.select("node", "port").rows() == [(1, 1), (1, 3), (2, 1)]
    # 5 us at 10 Gbit/s
    assert terms["queue_bytes"].to_list() == [None, None, pytest.approx(6_250)]


def test_a_signal_tells_of_the_time_over_which_it_was_measured(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    signals = tuple(
        replace(signal, delta_t_ns=delta)
        for signal, delta in zip(Csig().signals, (256, 128, None, None), strict=True)
    )
    known = replace(chain_of("leaf1", "spine1", "leaf2"), csig=Csig(signals=signals), devices=())
    assert known.slowest_ns == {"abw": 256, "utilization": 128, "delay": 0, "queue": 0}
    rows = observed([tag(0, 2.5e9, 257), tag(1, 0.25, 259), tag(2, 5_000.0, 513)])
    ago = rows["time_ns"] - terms_of(rows, known)["time_ns"]
    assert ago.to_list() == [256, 128, 0]
    assert not any(chain_of("leaf1", "spine1", "leaf2").slowest_ns.values())


def test_a_bucket_counts_by_its_middle_and_an_open_one_by_its_low_end(observed: Observed) -> None:
    rows = observed([tag(1, 0.2, 257, high=0.4), tag(1, 0.2, 257, high=None)])
    assert terms_of(rows, None)["u"].to_list() == pytest.approx([0.7, 0.8])


def test_a_device_with_a_scale_of_its_own_is_read_by_it(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    def scaled(**more: Any) -> Csig:
        signals = [replace(signal, quantum=0.1, buckets=(0.0, 0.5)) for signal in Csig().signals]
        signals[1] = replace(signals[1], **more)
        return Csig(signals=tuple(signals))

    plain = chain_of("leaf1", "spine1", "leaf2")
    own = scaled(quantum=0.04, base=0.02, buckets=(0.0, 0.2, 0.6, 1.0), bounded=True)
    devices = tuple(
        replace(device, csig=own if device.name == "leaf1" else scaled())
        for device in plain.devices
    )
    known = replace(plain, csig=scaled(), devices=devices)
    rows = observed(
        [
            tag(1, 0.5, 257),  # leaf1's: 0.02 + 5.5 * 0.04
            tag(1, 0.5, 513),  # spine1's, which is as the file tells
            tag(1, 0.5, 1, variant=1, s=1),  # leaf1's bucket from 0.2 to 0.6
            tag(1, 0.5, 1, variant=1, s=7),  # a bucket that leaf1 does not have
        ]
    )
    told, by_the_file = (placed_tags(rows, topology) for topology in (known, plain))
    assert told is not None
    assert told.each(told.said)["value"].to_list() == pytest.approx([0.24, 0.5, 0.4, 0.5])
    assert by_the_file is not None
    assert by_the_file.each(by_the_file.said)["value"].to_list() == [0.5] * 4


def test_tag_and_reflection_belong_to_one_flow(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    data = tag(1, 0.25, 513)
    rows = observed([data, echo(data)])
    terms = terms_of(rows, chain_of("leaf1", "spine1", "leaf2"))
    assert terms["flow"].to_list() == [rows["flow"][0]] * 2
    assert terms["source"].to_list() == ["csig_utilization", "csig_echo_utilization"]


def test_compact_and_expanded_locators_are_two_spaces(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    made = chain_of("leaf1", "spine1", "leaf2")
    rows = observed([tag(1, 0.5, 5, variant=1), tag(1, 0.5, 513, variant=2)])
    terms = terms_of(rows, made)
    assert terms.select("node", "port").rows() == [(2, 1), (2, 1)]


def test_an_unknown_locator_is_kept_raw(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    rows = observed([tag(1, 0.5, 4_000), tag(2, 100.0, 4_000), tag(0, 1e9, 4_000)])
    terms = terms_of(rows, chain_of("leaf1", "leaf2"))
    assert terms.select("node", "port").unique().rows() == [(LOCATOR, 4_000)]
    assert terms["source"].to_list() == ["csig_utilization", "csig_delay"], "ABW needs a capacity"


@pytest.mark.parametrize(("kind", "variant", "s"), [(0, 1, 31), (1, 2, 0xFFFFF), (2, 1, 0)])
def test_a_value_that_no_hop_replaced_loads_no_hop(
    observed: Observed, chain_of: Callable[..., Topology], kind: int, variant: int, s: int
) -> None:
    rows = observed([tag(kind, 3.0, 1, variant=variant, s=s)])
    for topology in (None, chain_of("leaf1", "leaf2")):
        terms = terms_of(rows, topology)
        assert terms.select("node", "port", "u").rows() == [(LOCATOR, UNTOLD, 0.0)]


def test_a_locator_that_ports_share_names_the_one_on_the_way(
    observed: Observed, chain_of: Callable[..., Topology]
) -> None:
    # One locator for all ports that face on, one for all that face back, one for both hosts'.
    made = chain_of("leaf1", "spine1", "leaf2", lm=100)
    compact = [tag(1, 0.5, 100 + port, variant=1) for port in (1, 2, 3)]
    there = terms_of(observed(compact), made)
    # h1 to h2 crosses two ports that face on, which stay untold, and one host's port.
    assert there.select("node", "port").rows() == [(LOCATOR, 101), (LOCATOR, 102), (3, 3)]
    back = terms_of(observed([echo(row) for row in compact]), made)
    assert back.select("node", "port").rows() == there.select("node", "port").rows()
    strangers = [{**row, "src": "192.0.2.1"} for row in compact]
    nowhere = terms_of(observed(strangers), made)
    assert set(nowhere["node"]) == {LOCATOR}


def test_rows_without_csig_give_no_terms(observed: Observed) -> None:
    for rows in (observed([{}]), observed([{}, tag(7, 1.0, 1)]), observed([tag(1, 0.5, 1)])[:0]):
        terms = terms_of(rows, None)
        assert terms.is_empty()
        assert terms.schema == pl.Schema(TERMS)


def test_columns_that_are_null_everywhere_may_be_left_out(observed: Observed) -> None:
    rows = observed([tag(1, 0.5, 9, high=None)])
    assert "csig_high" not in rows.columns
    assert terms_of(rows, None)["u"].to_list() == [0.5]
    assert terms_of(observed([tag(1, 0.5, 9)]).drop("csig_low"), None).is_empty()
