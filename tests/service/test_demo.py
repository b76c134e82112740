"""The demo as a user runs it: made, run through everything, held against the truth."""

from pathlib import Path
from typing import Any


def test_the_demo_agrees_with_its_truth(hopsight: Any, tmp_path: Path) -> None:
    place = tmp_path / "demo"
    ran = hopsight.run("demo", "--once", "--directory", str(place))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "INT flows all right" in ran.stdout
    for telemetry in ("int", "csig_compact", "csig_expanded", "aecn"):
        assert f" {telemetry} " in ran.stdout
    kept = {path.name for path in place.iterdir()}
    assert {"capture.pcapng", "topology.yaml", "hopsight.toml", "truth.parquet", "store"} <= kept
    told = hopsight.run(
        "--settings", str(place / "hopsight.toml"), "where", "10.2.0.1:53274", "10.3.0.1:5201"
    )
    assert told.returncode == 0, told.stderr
    assert "leaf3 Ethernet1 (tor, host, 10 Gbit/s) is the bottleneck" in told.stdout or (
        "leaf3 Ethernet1" in told.stdout and "is the bottleneck" in told.stdout
    )
