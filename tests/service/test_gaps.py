"""A capture that is killed leaves a gap, which the store has and answers tell."""

import re
import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).resolve().parents[2] / "benchmarks" / "soak_gaps.py"
KILLS = 2
"""`make soak` takes more, and an interface too."""


def test_what_was_not_captured_is_told() -> None:
    told = subprocess.run(
        [sys.executable, str(SOAK), str(KILLS)], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert f"after {KILLS} kills" in told.stdout
    assert re.search(r"of \d+\.\d s \d+% was captured, and \d+% is told", told.stdout)
