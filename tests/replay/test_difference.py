"""Two runs beside each other: where they part is found, and nothing where they are the same."""

from pathlib import Path

import polars as pl
import pytest

from collector import CollectorSettings, Decoder, open_capture
from pipeline import Decider, PipelineSettings, Rerun
from replay import difference, kept, steered

CAPTURE = str(Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst")


def runs(*parameters: dict[str, dict[str, object]]) -> list[pl.DataFrame]:
    """Decisions of the capture under each set of parameters, all from one rerun."""
    settings = PipelineSettings()
    deciders = [Decider(settings, None, each) for each in parameters]  # type: ignore[arg-type]
    rerun = Rerun(settings, deciders)
    made = []
    with open_capture(CAPTURE) as capture:
        decoder = Decoder(CollectorSettings())
        for frames in capture.chunks(1_500):
            rows = decoder.decode(frames, capture.points, capture.source)
            made += [rerun.advance(rows)]
    made.append(rerun.finish())
    return [
        pl.concat([kept(each.tracked[at].decisions) for each in made if each.tracked])
        for at in range(len(parameters))
    ]


@pytest.fixture(scope="module")
def three() -> list[pl.DataFrame]:
    return runs({}, {"dctcp": {"g": 0.25}}, {"dctcp": {"dialect": "rfc8257"}})


def test_a_run_beside_itself_differs_nowhere(three: list[pl.DataFrame]) -> None:
    made = difference(three[0], three[0])
    assert made.flows["differ"].to_list() == [0] * made.flows.height
    assert made.flows["first_frame"].null_count() == made.flows.height
    assert made.rows.height == three[0].height
    assert made.spread["farthest"].abs().max() == 0


def test_another_gain_parts_at_the_first_window_that_ends(three: list[pl.DataFrame]) -> None:
    base, other, _ = three
    made = difference(base, other)
    for row in made.flows.iter_rows(named=True):
        mine = (pl.col("flow") == row["flow"]) & pl.col("branch").str.starts_with("window_end")
        first = base.filter(mine).row(0, named=True)
        assert (row["first_time_ns"], row["first_frame"]) == (first["time_ns"], first["frame"])
        assert row["first_branch"] == row["first_branch_other"] == first["branch"]
    spread = made.spread.filter(pl.col("variable") == "alpha")
    beside = base.join(other, on=["frame", "flow", "ack"], suffix="_other")
    share = beside.filter(flow=spread["flow"][0]).select(
        (pl.col("alpha_other") - pl.col("alpha")) / pl.col("alpha")
    ).to_series()  # fmt: skip
    share = share.filter(share.is_finite())
    assert spread["known"][0] == share.len()
    assert spread["p50"][0] == pytest.approx(share.median())
    assert spread["mean"][0] == pytest.approx(share.mean())
    assert spread["farthest"].abs()[0] == pytest.approx(share.abs().max())


def test_another_dialect_ends_windows_elsewhere(three: list[pl.DataFrame]) -> None:
    made = difference(three[0], three[2])
    assert (made.flows["other_branch"] > 0).all()
    assert (made.flows["differ"] >= made.flows["other_branch"]).all()


def test_what_only_one_run_decided_is_counted(three: list[pl.DataFrame]) -> None:
    base = three[0]
    made = difference(base, base.filter(pl.col("frame") % 10 != 0))
    lacking = base.filter(pl.col("frame") % 10 == 0).height
    assert made.flows["only_base"].sum() == lacking
    assert made.flows["decisions"].sum() == base.height - lacking
    assert made.flows["only_other"].sum() == 0


def of_two(base: list[float | None], other: list[float | None], name: str) -> pl.DataFrame:
    """Decisions of swift beside those of another algorithm, on the same ACKs; null: none."""

    def run(algorithm: str, values: list[float | None]) -> pl.DataFrame:
        rows = [
            {"time_ns": at, "source": "s", "point": "p", "frame": at, "flow": 7, "ack": at,
             "algorithm": algorithm, "branch": "count", "quality": "exact", "cwnd": value}
            for at, value in enumerate(values) if value is not None
        ]  # fmt: skip
        return pl.DataFrame(rows)

    return difference(run("dctcp", base), run(name, other)).rows


def test_of_two_algorithms_those_acks_differ_where_one_grows_and_the_other_shrinks() -> None:
    rows = of_two([10.0, 11.0, 12.0, 13.0], [20.0, 21.0, 19.0, 22.0], "swift")
    assert rows["differs"].to_list() == [False, False, True, False]
    assert "turn" not in rows.columns


def test_a_window_moves_between_decisions_of_its_own_run() -> None:
    rows = of_two([10.0, 11.0, 12.0, 13.0], [20.0, None, 15.0, 14.0], "swift")
    assert rows["differs"].to_list() == [False, False, True, True]


def test_an_algorithm_without_a_window_differs_nowhere() -> None:
    rows = of_two([10.0, 5.0, 12.0], [0.0, 0.0, 0.0], "dctcp_receiver")
    assert rows["differs"].to_list() == [False, False, False]
    assert steered("dctcp_receiver") is None
    assert steered("dctcp") == "cwnd"
