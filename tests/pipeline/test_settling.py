"""What waits is stored beside, and state is kept, where nobody has to wait for the last of it."""

from pipeline.settling import Settling


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
