"""A signal ends what goes on; who has to wait then says what for."""

import asyncio
import logging
import os
import signal
import subprocess
import sys

import pytest

from service import stopping


def test_a_long_end_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stopping, "LONG_S", 0.05)

    async def run() -> None:
        told = asyncio.Event()
        stopping.on_ending(told.set, "the store to take what was read")
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(told.wait(), 5)
        assert not caplog.records
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "a second one ends at once"
        await asyncio.sleep(0.12)

    before = signal.getsignal(signal.SIGTERM)
    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    signal.signal(signal.SIGTERM, before)
    assert len(caplog.records) == 2
    assert "waiting for the store to take what was read" in caplog.text


TWICE = """
import asyncio, os, signal, sys
from service.stopping import on_ending

async def run():
    on_ending(lambda: None, "nothing", lambda: print("so far", flush=True))
    for _ in range(2):
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        await asyncio.sleep(0.1)

asyncio.run(run())
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_who_is_ended_again_says_how_far_it_came(name: str) -> None:
    given = [sys.executable, "-c", TWICE, name]
    told = subprocess.run(given, capture_output=True, text=True, check=False, timeout=60)
    assert told.stdout == "so far\n"
    assert told.returncode == -getattr(signal, name)
