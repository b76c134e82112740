"""Of possible paths those that fit what was named are chosen, as joins over all of them would."""

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.groups import HOP
from pipeline.locate import KEY
from pipeline.way_choice import common, crossed, fitting
from pipeline.ways import PATHS


def possible(chance: np.random.Generator) -> pl.DataFrame:
    """Paths of a few flows; some have none, and two hops of one path may be alike."""
    rows = [
        (flow, path, place, *chance.integers(0, 3, 2).tolist(), None, None)
        for flow in range(4)
        for path in range(int(chance.integers(0, 4)))
        for place in range(3)
    ]
    return pl.DataFrame(rows, schema=PATHS, orient="row")


@settings(deadline=None)
@given(st.integers(0, 1 << 32))
def test_paths_with_most_of_the_named_hops_are_left(seed: int) -> None:
    chance = np.random.default_rng(seed)
    ways = possible(chance)
    sent = pl.DataFrame({"time_ns": [7, 7, 7, 9], "flow": [0, 1, 3, 0]}).cast({"flow": pl.UInt64})
    flow, node, port = chance.integers(0, 3, (3, 6)).tolist()
    named = pl.DataFrame({"time_ns": [7] * 6, "flow": flow, "node": node, "port": port}).cast(
        {"flow": pl.UInt64, "node": pl.UInt32, "port": pl.UInt32}
    )
    every = sent.join(ways, on="flow", how="inner", maintain_order="left_right").join(
        named.with_columns(one=1), on=[*KEY, *HOP], how="left", maintain_order="left"
    )
    fits = every.with_columns(fits=pl.col("one").sum().over(*KEY, "path"))
    wanted = fits.filter(pl.col("fits") == pl.col("fits").max().over(KEY)).drop("one", "fits")
    assert fitting(sent, named, ways).equals(wanted)


@settings(deadline=None)
@given(st.integers(0, 1 << 32))
def test_hops_on_all_paths_are_common(seed: int) -> None:
    ways = possible(np.random.default_rng(seed)).unique(
        ["flow", "path", *HOP], keep="first", maintain_order=True
    )
    paths = pl.col("path").n_unique()
    wanted = ways.filter(paths.over("flow", *HOP) == paths.over("flow")).select("flow", *HOP)
    assert common(ways).equals(wanted.unique(maintain_order=True))


@settings(deadline=None)
@given(st.integers(0, 1 << 32))
def test_hops_of_an_interval_stand_once(seed: int) -> None:
    ways = possible(np.random.default_rng(seed))
    sent = pl.DataFrame({"time_ns": [7, 7, 9, 9], "flow": [0, 1, 0, 3]}).cast({"flow": pl.UInt64})
    timed = sent.join(ways, on="flow", how="inner", maintain_order="left_right")
    paths = pl.col("path").n_unique()
    sure = (paths.over(*KEY, *HOP) == paths.over(KEY)).alias("sure")
    wanted = timed.select(*KEY, *HOP, sure).unique([*KEY, *HOP], keep="first", maintain_order=True)
    assert crossed(timed).equals(wanted)
