"""Settings read again while a command runs: what it does not take is named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collector import CollectorSettings, Decoder
from pipeline import PipelineSettings
from service.commands import collect, pipeline
from service.settings import FILE_VARIABLE

BEFORE = """
[bus]
url = "kafka://127.0.0.1:1/x"
"""
AFTER = """
[bus]
url = "kafka://127.0.0.1:1/y"
retry_s = 7.0
[store]
readers = 3
[process]
log = "json"
[service]
max_rows = 7
[collector]
ring_mib = 64
tenant = "blue"
csig_bases = { 1 = 2.0 }
[pipeline]
congested_u = 0.5
"""

BUS, RESTART = "bus.url, bus.retry_s", ": need a restart of this command"
Said = list[str]


@pytest.fixture
def said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Callable[[Callable[[], Any], Callable[[Any], None]], Said]:
    """What is said when settings are read again that have changed, after those that have not."""
    path = tmp_path / "hopsight.toml"
    monkeypatch.setenv(FILE_VARIABLE, str(path))

    def heard(read: Callable[[], Any], renew: Callable[[Any], None]) -> Said:
        path.write_text(BEFORE)
        began = read()
        with caplog.at_level("INFO", "hopsight.service"):
            renew(began)
            assert caplog.messages == ["settings were read again"]
            path.write_text(AFTER)
            renew(began)
        return caplog.messages[2:]

    return heard


def test_a_worker_names_what_needs_a_restart(said: Any) -> None:
    request, tuned = pipeline.Request(), list[PipelineSettings]()
    named = said(
        lambda: pipeline.told(request)[0],
        lambda began: pipeline.renew(request, began, tuned.append),
    )
    assert [each.congested_u for each in tuned] == [1.0, 0.5]
    (left,) = named
    assert left == f"collector.csig_bases, {BUS}, store.readers, process.log{RESTART}"


@pytest.mark.parametrize("store", [None, "chdb:///nowhere"])
def test_a_collector_names_what_needs_a_restart(said: Any, store: str | None) -> None:
    request = collect.Request((), store=store)
    decoder = Decoder(CollectorSettings())
    named = said(
        lambda: collect.settings_of(request), lambda began: collect.renew(request, began, decoder)
    )
    stored = "store.readers, " if store else ""
    assert named == [f"collector.ring_mib, {BUS}, {stored}process.log{RESTART}"]
    assert decoder._next is not None
    assert decoder._next[0].tenant == "blue"
