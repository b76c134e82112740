"""Rows that are alike are in one group, and tallies of them say what Polars' group_by says."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.groups import FEW, among, hop, hops, numbered, words
from pipeline.histogram import METRICS, bucket
from pipeline.path_samples import PATH_KEY, SOURCE
from pipeline.tallies import LINK_KEY, Open, Tallies, furthest, joined

MS = 1_000_000
HOP = {"node": pl.UInt32, "port": pl.UInt32}


@pytest.mark.parametrize("kinds", [1, 7, FEW, FEW + 1, 5 * FEW])
def test_groups_are_numbered_as_they_come_however_many_there_are(kinds: int) -> None:
    told = np.random.default_rng(kinds).integers(0, kinds, 20_000).astype(np.uint64)
    key = np.stack([told // np.uint64(3), told % np.uint64(3)])
    group, first = numbered(key)
    found = pl.DataFrame({"told": told, "group": group}).group_by("told", maintain_order=True)
    assert found.agg(pl.col("group").n_unique())["group"].to_list() == [1] * len(first)
    assert group[first].tolist() == list(range(len(first)))
    assert (told[first][group] == told).all()


def test_numbers_with_a_point_and_without_one_are_told_apart() -> None:
    told = pl.DataFrame({"value": [0.25, 0.5, None, 0.25, 0.0, None]})
    assert numbered(words(told, ["value"]))[0].tolist() == [0, 1, 2, 0, 3, 2]


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["", "a", "b"])])
def test_texts_are_told_apart_and_none_is_one_of_them(kind: pl.DataType) -> None:
    texts = pl.Series("text", ["a", None, "b", "a", "", None, "b"], kind)
    told = pl.DataFrame(
        [texts, pl.Series("same", ["x"] * 7), pl.Series("flag", [True] * 6 + [None])]
    )
    assert numbered(words(told, ["text"]))[0].tolist() == [0, 1, 2, 0, 3, 1, 2]
    assert numbered(words(told[3:], ["text"]))[0].tolist() == [0, 1, 2, 3]
    assert numbered(words(told, ["same"]))[0].tolist() == [0] * 7
    assert numbered(words(told, ["same", "text", "flag"]))[0].tolist() == [0, 1, 2, 0, 3, 1, 4]


def test_hops_of_which_something_is_not_told_are_hops_of_their_own() -> None:
    told = {"node": [7, 7, None, 7, 0, 0, None], "port": [None, 0, 0, None, 0, None, 0]}
    rows = pl.DataFrame(told, schema_overrides=HOP)
    assert numbered(words(rows, hops(rows)))[0].tolist() == [0, 1, 2, 0, 3, 4, 2]
    assert len(hops(rows.drop_nulls())) == 1


def test_a_hop_is_one_word_and_values_are_found_among_others() -> None:
    rows = pl.DataFrame({"node": [1, 0, (1 << 32) - 1], "port": [0, 1, 5]}, schema_overrides=HOP)
    assert hop(rows).tolist() == [1 << 32, 1, ((1 << 32) - 1) * (1 << 32) + 5]
    flows = pl.Series([5, (1 << 64) - 1, 7], dtype=pl.UInt64)
    assert among(flows, pl.Series([7, 7, (1 << 64) - 1], dtype=pl.UInt64)).tolist() == [
        False, True, True,
    ]  # fmt: skip
    assert among(flows, flows[:0]).tolist() == [False] * 3


def test_no_rows_are_in_no_group() -> None:
    group, first = numbered(np.zeros((2, 0), np.uint64))
    assert (len(group), len(first)) == (0, 0)


@settings(deadline=None)
@given(st.integers(0, 1 << 32), st.integers(1, 300), st.integers(1, 4))
def test_a_tally_counts_each_metric_by_bucket_however_it_is_cut(
    seed: int, rows: int, parts: int
) -> None:
    samples = drawn(seed, rows)
    tallies, links = Tallies(MS), Open(LINK_KEY)
    for part in np.array_split(np.arange(rows), parts):
        links.add(tallies._counted([samples[part]], LINK_KEY))
    assert set(links.flows) <= set(samples["flow"])
    found = links.close(None).sort(pl.all())
    assert found.equals(plain(samples).select(found.columns).sort(pl.all()))
    again = joined([found, found], LINK_KEY)
    assert again["samples"].sum() == 2 * found["samples"].sum()


def test_tallies_of_paths_from_before_points_were_told_apart_go_on() -> None:
    samples = drawn(1, 200).drop("node", "port").with_columns(point=pl.lit("tap"))
    tallies, paths = Tallies(MS), Open(PATH_KEY)
    counted = tallies._counted([samples], PATH_KEY)
    paths.add(counted)
    paths.parts = {start: [each.drop("point") for each in kept]
                   for start, kept in paths.parts.items()}  # fmt: skip
    paths.add(counted)
    found = furthest(paths.close(None))
    assert found.columns == counted.drop("point").columns
    assert found["samples"].sum() == counted["samples"].sum()


def drawn(seed: int, rows: int) -> pl.DataFrame:
    """Samples of a few links, in order of time."""
    chance = np.random.default_rng(seed)
    values = {
        metric.name: pl.Series(chance.integers(-1 << 18, 1 << 22, rows)) for metric in METRICS
    }
    return pl.DataFrame(
        {
            "time_ns": np.sort(chance.integers(0, 3 * MS, rows)),
            "flow": chance.integers(0, 3, rows).astype(np.uint64),
            "source": pl.Series(chance.choice(SOURCE.categories, rows), dtype=SOURCE),
            "node": chance.integers(0, 2, rows).astype(np.uint32),
            "port": chance.integers(0, 2, rows).astype(np.uint32),
            **values,
        }
    ).with_columns(pl.when(pl.col(m.name) >= 0).then(m.name) for m in METRICS)


def plain(samples: pl.DataFrame) -> pl.DataFrame:
    """The same, sample by sample and bucket by bucket."""
    start = pl.col("time_ns") - pl.col("time_ns") % MS
    found = [
        samples.select(
            start,
            *LINK_KEY[1:],
            pl.lit(number, pl.UInt8).alias("metric"),
            pl.Series("bucket", [bucket(v or 0, m.first) for v in samples[m.name]], pl.UInt8),
            pl.col(m.name).alias("value"),
        ).drop_nulls()
        for number, m in enumerate(METRICS)
    ]
    value = pl.col("value")
    return pl.concat(found).group_by(*LINK_KEY, "metric", "bucket").agg(
        pl.len().cast(pl.UInt64).alias("samples"),
        value.min().alias("least"), value.max().alias("most"),
    )  # fmt: skip
