"""State goes on in another process, which has compiled and made nothing of it before."""

import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from collector import Repeats
from pipeline import PipelineSettings, Worker, group_state
from pipeline.cc.parameter import as_made, state_dtype
from pipeline.group_state import Kept
from pipeline.state_codec import StateWriter, npy, read_octets

Observed = Callable[[Iterable[Mapping[str, Any]]], pl.DataFrame]
MS = 1_000_000
GOES_ON = """
import sys
from pathlib import Path
import polars as pl
from collector import Repeats
from pipeline import PipelineSettings, Versions, Worker, group_state
from pipeline.group_state import Kept
from pipeline.state_codec import StateReader
place = Path(sys.argv[1])
kept = Kept(Worker(PipelineSettings()), Repeats())
group_state.restore(kept, StateReader(Versions()), (place / "state").read_bytes())
kept.worker.advance(pl.read_parquet(place / "rows.parquet"))
kept.worker.finish().tables["verdicts"].write_parquet(place / "verdicts.parquet")
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("points", [1, 2])
def test_state_goes_on_in_another_process(observed: Observed, tmp_path: Path, points: int) -> None:
    rows = observed(
        {
            "time_ns": 10**18 + number * MS // 2 + at * 1000, "source": f"tap{at}",
            "point": f"tap{at}", "sport": 1000 + number % 5, "frame": number + 1,
            "seq": number * 1000, "payload_bytes": 1000, "ip_id": number, "ecn": 2,
        }
        for number in range(400)
        for at in range(points)
    )  # fmt: skip
    first, rest = rows.head(200 * points), rows.slice(200 * points)
    kept = Kept(Worker(PipelineSettings()), Repeats())
    kept.worker.advance(first)
    octets = group_state.octets_of(kept, StateWriter(group_state.SKIPPED), full=True)
    (tmp_path / "state").write_bytes(octets)
    rest.write_parquet(tmp_path / "rows.parquet")
    kept.worker.advance(rest)
    done = subprocess.run(
        [sys.executable, "-c", GOES_ON, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    verdicts = pl.read_parquet(tmp_path / "verdicts.parquet")
    assert verdicts.equals(kept.worker.finish().tables["verdicts"])


def test_records_of_a_state_are_those_that_code_is_compiled_for() -> None:
    kind = state_dtype(("u8", "mark"), ("i4", "point"), (("i8", 3), "held"))
    made = np.zeros(5, kind)
    made["held"] = np.arange(15).reshape(5, 3)
    back = read_octets("array", npy(made))
    assert (back.dtype, back.dtype.isalignedstruct, back.dtype.type) == (kind, True, np.record)
    assert back.dtype.fields == kind.fields
    assert np.array_equal(back, made)
    assert as_made(np.arange(3)).dtype == np.int64
