"""Threads of the store give way to those where Python runs."""

import json
import subprocess
import sys
from pathlib import Path

ASKED = """
import json, os, sys, threading
from pathlib import Path
import polars as pl
from pipeline import Store
from service.way import give_way
def nice():
    own = {each.native_id for each in threading.enumerate()}
    told = {"python": set(), "polars": set(), "store": set(), "merges": set()}
    for task in Path("/proc/self/task").iterdir():
        name = (task / "comm").read_text()
        kind = ("python" if int(task.name) in own else "polars" if "polars" in name
                else "merges" if name.startswith("MergeMutate") else "store")
        told[kind].add(os.getpriority(os.PRIO_PROCESS, int(task.name)))
    return {kind: sorted(values) for kind, values in told.items()}
waits = threading.Event()
threading.Thread(target=waits.wait).start()
with Store("chdb://" + sys.argv[1]) as store:
    store.migrate()
    pl.DataFrame({"a": range(1000)}).lazy().group_by("a").len().collect()
    before = nice()
    give_way()
    print(json.dumps([before, nice()]))
    waits.set()
    sys.stdout.flush()
    os._exit(0)
"""


def test_only_threads_where_no_python_runs_give_way(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", ASKED, str(tmp_path / "db")], capture_output=True, check=True
    )
    before, after = json.loads(made.stdout)
    assert before["python"] == before["polars"] == after["python"] == after["polars"] == [0]
    # Where it may, the engine gives some of its threads more weight than any other has.
    assert 0 in before["store"]
    assert [value for value in after["store"] if value >= 0] == [5]
    assert after["merges"] == [15]  # nobody waits for them
