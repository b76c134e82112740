"""Work beside: one piece at a time, and what goes wrong is told to who asks next."""

from threading import Event, Thread

import pytest

from pipeline.storing import Storing


class Panic(BaseException):
    """What is no Exception."""


def test_what_goes_wrong_is_told_once() -> None:
    storing = Storing()

    def work() -> None:
        raise ValueError("no room")

    storing.begin(work)
    with pytest.raises(ValueError, match="no room"):
        storing.wait()
    storing.wait()


def test_a_panic_is_told_to_those_who_handle_errors() -> None:
    storing = Storing()

    def work() -> None:
        raise Panic("index out of bounds")

    storing.begin(work)
    with pytest.raises(RuntimeError, match="index out of bounds"):
        storing.wait()


def waited(go: Event) -> None:
    """Work that goes on until it may end."""
    assert go.wait(10)


def test_it_is_busy_while_others_wait_for_it() -> None:
    storing, go = Storing(), Event()
    storing.begin(lambda: waited(go))
    waiting = Thread(target=storing.wait)
    waiting.start()
    waiting.join(0.1)
    assert storing.busy
    begun: list[bool] = []
    second = Thread(target=lambda: storing.begin(lambda: begun.append(go.is_set())))
    second.start()
    second.join(0.1)
    assert not begun
    go.set()
    waiting.join()
    second.join()
    storing.wait()
    assert begun == [True]
    assert not storing.busy
