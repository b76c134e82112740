"""Ctrl-C between two turns."""

import os
import signal
import threading
import time

import pytest

from service.pausing import pausing


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)  # the handler runs


def test_a_turn_is_done_before_the_end() -> None:
    with pausing() as pause:
        assert pause(0)
        interrupt()
        assert not pause(60)
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_a_wait_ends_at_once() -> None:
    begun = time.monotonic()
    with pausing() as pause:
        threading.Timer(0.1, interrupt).start()
        assert not pause(60)
    assert time.monotonic() - begun < 30


def test_the_second_time_it_is_thrown() -> None:
    with pausing():
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
