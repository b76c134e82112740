"""Log buckets and distinct counts are as exact as they say."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.histogram import (
    LAST,
    METRICS,
    REGISTERS,
    Metric,
    bucket,
    distinct,
    middle,
    registers,
)


@given(st.integers(0, 2), st.floats(0, 1))
def test_a_value_is_told_to_4_4_percent(metric: int, share: float) -> None:
    told = METRICS[metric]
    value = round(2 ** (told.first + share * (LAST - 1) / 8))
    number = bucket(value, told.first)
    if number:
        assert abs(middle(number, told) / value - 1) < 0.0443
    else:
        assert value < 2**told.first


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_buckets_are_ordered_and_whatever_is_beyond_is_in_the_first_or_last(metric: Metric) -> None:
    values = [-5, 0, 1, *(2**n for n in range(63)), 2**63 - 1]
    numbers = [bucket(value, metric.first) for value in values]
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[-1]) == (0, LAST)


@pytest.mark.parametrize("number", [1, 3, 20, 200, 2_000, 50_000])
def test_flows_are_counted_to_what_the_registers_allow(number: int) -> None:
    errors = []
    for start in range(0, 20 * number, number):
        told = registers(pl.Series(range(start, start + number), dtype=pl.UInt64))
        ranks = told.group_by("register").agg(pl.col("rank").max())["rank"].to_list()
        errors.append(distinct(ranks) / number - 1)
    assert abs(np.mean(errors)) < 0.05
    assert float(np.std(errors)) < 1.5 * 1.04 / math.sqrt(REGISTERS)


def test_a_flow_counts_once_in_whatever_order() -> None:
    flows = pl.Series([5, 9, 5, 9, 9], dtype=pl.UInt64)
    told = registers(flows)
    assert told.unique().height == 2
    assert told.equals(pl.concat([registers(flows[:2]), registers(flows[2:])]))
