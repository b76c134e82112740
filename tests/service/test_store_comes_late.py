"""A worker that starts while its store does not answer waits for it, and for so long only."""

import threading
import time
from pathlib import Path

import pytest
from store_server import StoreEndpoint

from service.commands.serve import open_store
from service.failure import ExitCode, Failure
from service.settings import Settings

LATE_S = 2.0


def settings_of(endpoint: StoreEndpoint) -> Settings:
    return Settings.model_validate({"store": {"dsn": f"{endpoint.url}/late"}})


def test_a_store_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    endpoint = StoreEndpoint(tmp_path / "store")
    began = time.monotonic()
    comes = threading.Timer(LATE_S, endpoint.start)
    comes.start()
    try:
        with open_store(settings_of(endpoint), patience_s=120) as store, store.alone() as found:
            assert found.rows("SELECT count() FROM observations") == [(0,)]
        assert time.monotonic() - began > LATE_S
    finally:
        comes.join()
        endpoint.kill()


def test_a_store_that_never_comes_is_a_sentence(tmp_path: Path) -> None:
    settings = settings_of(StoreEndpoint(tmp_path / "store"))
    with pytest.raises(Failure, match=r"127\.0\.0\.1") as failed:
        open_store(settings, patience_s=0.5)
    assert failed.value.code == ExitCode.STORE
