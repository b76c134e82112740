"""Long windows of one flow are told by rollups, which say the same as the intervals."""

from collections.abc import Iterator
from types import ModuleType

import pytest
from asked import Asked, opened

from service.routes.signals import rolled

FLOW = {"src": "10.0.1.1:40001", "dst": "10.0.2.1:5001"}
S = 10**9


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, world: ModuleType) -> Iterator[Asked]:
    with opened(tmp_path_factory.mktemp("long")) as store:
        for table, rows in world.frames().items():
            store.insert(table, rows, "world")
        with Asked(store) as client:
            yield client


@pytest.mark.parametrize(("window", "step_ns"), [("1h", S), ("2h", 60 * S), ("4d", 3600 * S)])
def test_a_long_window_says_what_the_intervals_say(asked: Asked, window: str, step_ns: int) -> None:
    short = asked.get("/api/v1/flows/signals", **FLOW, window="10s", interval="1s").json()
    long = asked.get("/api/v1/flows/signals", **FLOW, window=window).json()
    # How wide cells are has no say in what was judged.
    whole = asked.get("/api/v1/flows/signals", **FLOW, window="10s", interval="2s").json()
    assert whole["interval"]["covered"] > 0
    for name in ("captured", "completeness"):
        assert short[name] == whole[name], name
    assert short["interval"]["covered"] == whole["interval"]["covered"]
    assert [time_ns % step_ns for time_ns in long["times_ns"]] == [0]
    for name in ("decisions", "mark_share", "ce_share"):
        assert long["signals"][name] == short["signals"][name], name
    for name in ("U", "W"):  # rollups have seven digits of them
        assert long["signals"][name] == pytest.approx(short["signals"][name], rel=1e-7), name
    assert [hop["device"] for hop in long["hops"]] == [hop["device"] for hop in short["hops"]]
    # What rollups tell is the mean over whole cells, and that is the time they tell of.
    assert long["lengths_ns"] == [step_ns]
    assert [long["interval"]["from_ns"]] == long["times_ns"]
    assert long["interval"]["to_ns"] == long["times_ns"][0] + step_ns
    sent = [told["signals"]["rate_bps"][0] * told["lengths_ns"][0] for told in (long, short)]
    assert sent[0] == pytest.approx(sent[1])


def test_rollups_tell_what_is_kept_no_longer(asked: Asked) -> None:
    store = asked.app.state.reader.store
    before = asked.get("/api/v1/flows/signals", **FLOW, window="1h").json()["signals"]
    store._writer.command("TRUNCATE TABLE flow_intervals")
    after = asked.get("/api/v1/flows/signals", **FLOW, window="10s").json()["signals"]
    assert after == before
    assert after["decisions"][0] > 0


def test_a_window_of_rollups_is_widened_to_all_that_they_hold(
    asked: Asked, world: ModuleType
) -> None:
    """A second has all of its bytes, also where the window ends or begins inside of it."""
    whole = asked.get("/api/v1/flows/signals", **FLOW, window="1h").json()
    inside_ns = world.START_NS + 5 * world.INTERVAL_NS
    for at_ns, interval in ((inside_ns, "1s"), (inside_ns + S, "4s"), (inside_ns + 660 * S, "1m")):
        given = {"at": str(at_ns), "window": "11m", "interval": interval}
        told = asked.get("/api/v1/flows/signals", **FLOW, **given).json()
        [length_ns] = told["lengths_ns"]
        assert told["interval"]["from_ns"] <= told["times_ns"][0]
        assert told["times_ns"][0] + length_ns <= told["interval"]["to_ns"]
        assert told["signals"]["decisions"] == whole["signals"]["decisions"]
        assert told["hops"][0]["samples"] == whole["hops"][0]["samples"]


def test_the_finest_rollup_that_suits_is_asked() -> None:
    assert rolled(3600 * S, 0) == ("flow_seconds", S)
    assert rolled(86_400 * S, 0) == ("flow_minutes", 60 * S)
    assert rolled(365 * 86_400 * S, 0) == ("flow_hours", 3600 * S)
    assert rolled(3600 * S, 120 * S) == ("flow_minutes", 120 * S)
    assert rolled(3600 * S, 10**6) == (None, 10**6)
    # One that is shorter than the intervals would tell ten times the rate of a tenth of the time.
    assert rolled(3600 * S, 0, 10 * S) == ("flow_minutes", 60 * S)
    assert rolled(3600 * S, 5 * S, 10 * S) == (None, 5 * S)
