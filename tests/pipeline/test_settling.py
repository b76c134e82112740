"""What waits is stored beside, and state is kept, where nobody has to wait for the last of it."""

import pytest

from pipeline.settling import SETTLE_S, SEVERAL_SETTLE_S, Settling, rest_s


def test_what_waits_is_stored_when_it_is_time_and_the_last_is_stored() -> None:
    settling = Settling(2.0, 20.0, 0.0, 0.0)
    calm = {"full": False, "busy": False, "promised": False}
    assert settling.due(1.9, **calm) == (False, False)
    assert settling.due(2.0, **calm) == (True, False)
    assert settling.due(9.0, **calm | {"busy": True}) == (False, False)
    settling.done(9.0, whole=True, kept=False)
    assert settling.due(10.9, **calm) == (False, False)
    assert settling.due(11.0, **calm) == (True, False)


def test_where_there_is_room_for_no_more_it_is_waited_for() -> None:
    settling = Settling(2.0, 20.0, 0.0, 0.0)
    full = {"full": True, "busy": True, "promised": False}
    assert settling.due(0.1, **full) == (True, False)
    assert settling.due(20.0, **full) == (True, True)


def test_state_is_kept_behind_nothing_that_is_decided_or_being_stored() -> None:
    settling = Settling(2.0, 20.0, 0.0, 0.0)
    settling.done(19.5, whole=True, kept=False)
    calm = {"full": False, "busy": False, "promised": False}
    assert settling.due(20.0, **calm | {"busy": True}) == (False, False)
    assert settling.due(20.0, **calm | {"promised": True}) == (False, False)
    assert settling.due(20.0, **calm) == (True, True)
    settling.done(20.0, whole=True, kept=True)
    assert settling.due(39.9, **calm) == (True, False)
    assert settling.due(40.0, **calm) == (True, True)


def test_places_of_a_worker_are_settled_one_after_the_other() -> None:
    calm = {"full": False, "busy": False, "promised": False}
    places = [Settling.begun(100.0, 20.0, at / 4, several=True) for at in range(4)]
    for at, settling in enumerate(places):
        due_s = 100.0 + SEVERAL_SETTLE_S * (1 - at / 4)
        assert settling.due(due_s - 0.1, **calm) == (False, False)
        assert settling.due(due_s, **calm) == (True, False)
    assert Settling.begun(100.0, 20.0, 0.0, several=False).due(100.0 + SETTLE_S, **calm)[0]


def test_places_that_are_judged_together_are_cut_together() -> None:
    assert rest_s(0.5, 0.125, None) == pytest.approx(0.375)
    assert rest_s(0.5, 0.75, None) < 0
    for since_s in (0.0, 0.125, 0.75):
        assert rest_s(0.5, since_s, 1000.25) == pytest.approx(0.25)
    assert rest_s(0.5, 0.0, 1000.5) == pytest.approx(0.5)
    assert rest_s(0.0, 0.0, 1000.25) == 0
