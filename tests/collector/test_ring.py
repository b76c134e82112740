"""Files of a ring are one stream; what gave way unread is counted; a dead owner leaves no mess."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from octets import ethernet, frames_of, ipv4, tcp

from collector import CaptureError, Follow, open_interface, write_pcapng
from collector.live import _ring
from collector.ring import FILES, NUMBERS, Ring, RingWindow

QUICK = Follow(0.01)
SETTLE_S = 1.0
"""What waits in the kernel when dumpcap is told to end, it neither reads nor counts."""


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[Ring]:
    """A ring that no dumpcap writes."""
    made = Ring(tmp_path / "rings" / "eth0", 8)
    yield made
    made.close()


def named(ring: Ring, number: int) -> Path:
    """How dumpcap names a file of a ring."""
    path = Path(ring.words[1])
    return path.with_name(f"{path.stem}_{number:05}_20261125120000{path.suffix}")


def taken(window: RingWindow) -> bytes:
    """What a window shows now and has not shown before."""
    window.more()
    told = window.data[window.position :].tobytes()
    window.position = len(window.data)
    return told


def test_files_are_one_stream_and_the_last_ends_it(ring: Ring) -> None:
    over: list[bool] = []
    window = RingWindow(ring, QUICK, lambda: bool(over))
    assert not window.more()
    with named(ring, 1).open("wb", buffering=0) as first:
        first.write(b"one ")
        assert taken(window) == b"one "
        first.write(b"two ")
        assert taken(window) == b"two "
        first.write(b"three ")
    named(ring, 2).write_bytes(b"four ")
    named(ring, 3).write_bytes(b"five")
    assert taken(window) == b"three four five"
    assert not window.ended
    over.append(True)
    assert not window.more()
    assert (window.ended, window.missed) == (True, 0)
    window.close()


def test_a_file_that_gave_way_while_it_was_read_is_read_to_its_end(ring: Ring) -> None:
    window = RingWindow(ring, QUICK, lambda: False)
    with named(ring, 1).open("wb", buffering=0) as first:
        first.write(b"begun ")
        assert taken(window) == b"begun "
        first.write(b"and ended ")
    named(ring, 1).unlink()
    for number in (4, 5):
        named(ring, number).write_bytes(b"%d" % number)
    assert taken(window) == b"and ended 45"
    assert window.missed == 2
    window.close()


def test_a_window_says_how_much_of_the_ring_waits(ring: Ring) -> None:
    window = RingWindow(ring, QUICK, lambda: False)
    assert window.backlog == 0
    for number in range(1, FILES + 1):
        named(ring, number).touch()
    assert window.backlog == 1
    taken(window)
    assert window.backlog == 0
    for number in range(FILES + 1, FILES + 4):
        named(ring, number - FILES).unlink()
        named(ring, number).touch()
    assert window.backlog == 3 / (FILES - 1)
    window.close()


def test_numbers_begin_again(ring: Ring) -> None:
    for number in (NUMBERS - 2, NUMBERS - 1, 0, 1):
        named(ring, number).touch()
    found = [ring.after(each) for each in (NUMBERS - 2, NUMBERS - 1, 0, 1)]
    assert [each and (each[0], each[1].name.split("_")[1]) for each in found] == [
        (1, "99999"), (1, "00000"), (1, "00001"), None,
    ]  # fmt: skip


def test_one_process_has_a_ring_and_takes_out_what_another_left(tmp_path: Path) -> None:
    place = tmp_path / "rings" / "eth0"
    left = place / f"{time.time_ns()}_00001_20261125120000.pcapng"
    other = place / "monday.pcapng"
    place.mkdir(parents=True)
    left.write_bytes(b"of a process that is dead")
    other.write_bytes(b"of somebody")
    ring = Ring(place, 8)
    assert not left.exists()
    with pytest.raises(CaptureError, match=f"eth0: another process has its ring in {place}"):
        _ring("eth0", place.parent, 8)
    named(ring, 1).touch()
    ring.close()
    assert [*place.iterdir()] == [other]
    assert other.read_bytes() == b"of somebody"
    (tmp_path / "file").touch()
    with pytest.raises(CaptureError, match=r"eth0: no ring can be kept in .*: not a directory"):
        _ring("eth0", tmp_path / "file", 8)


def test_a_ring_is_where_nobody_else_can_put_anything(tmp_path: Path) -> None:
    place = tmp_path / "rings" / "eth0"
    place.mkdir(parents=True)
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (place / "lock").symlink_to(victim)
    with pytest.raises(CaptureError, match="eth0: no ring can be kept in"):
        _ring("eth0", place.parent, 8)
    assert victim.read_bytes() == b"precious"
    (place / "lock").unlink()
    for changed, mode in ((place, 0o770), (place.parent, 0o777)):
        before = changed.stat().st_mode
        changed.chmod(mode)
        with pytest.raises(CaptureError, match=r"yours alone|other people can change"):
            _ring("eth0", place.parent, 8)
        changed.chmod(before)
    (tmp_path / "linked").symlink_to(place.parent / "eth0")
    with pytest.raises(CaptureError, match="yours alone"):
        _ring("linked", tmp_path, 8)
    place.parent.chmod(0o1777)
    _ring("eth0", place.parent, 8).close()


def test_a_ring_that_has_no_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"MiB are free and 1000000000 wanted"):
        _ring("eth0", tmp_path / "rings", 10**9)
    assert not (tmp_path / "rings").exists()


OWNER = """
import sys
from pathlib import Path
import chdb  # which blocks SIGPIPE
from collector import Follow, open_interface

live = open_interface("lo", Follow(0.05), ring=(Path(sys.argv[1]) / "rings", 8))
print(live._process.pid, flush=True)
input()
"""


def test_dumpcap_ends_when_nobody_hears_it_any_more(
    tmp_path: Path, tool: Callable[..., str]
) -> None:
    tool("dumpcap")
    words = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        said = owner.stdout.readline()
        if not said:
            pytest.skip("nobody may capture here")
        owner.send_signal(signal.SIGKILL)
    captor = Path(f"/proc/{int(said)}/stat")
    assert captor.exists(), "it goes on until its next file"
    until = time.monotonic() + 30
    while captor.exists() and captor.read_text().split()[2] != "Z":
        assert time.monotonic() < until
        time.sleep(0.2)


def test_frames_that_gave_way_unread_are_counted_and_told_as_a_gap(
    tmp_path: Path, tool: Callable[..., str]
) -> None:
    tool("dumpcap")
    replay = [tool("tcpreplay"), "--quiet", "--topspeed", "--loop=40", "-i", "lo"]
    packets = [ethernet(ipv4(tcp(payload=bytes(1300)))) for _ in range(1000)]
    path = tmp_path / "sent.pcapng"
    write_pcapng(path, ["tap"], [frames_of(packets)])
    try:
        live = open_interface("lo", Follow(0.05), expression="tcp", ring=(tmp_path / "rings", 8))
    except CaptureError as error:
        pytest.skip(f"nobody may capture here: {error}")
    began = time.time_ns()
    with live:
        subprocess.run([*replay, str(path)], check=True, capture_output=True)
        time.sleep(SETTLE_S)
        found, gaps = 0, []
        for tries, frames in enumerate(live.chunks(5000, wait=False)):
            found += len(frames)
            gaps += [loss for loss in live.losses if loss.from_ns is None and loss.to_ns > began]
            del live.losses[:]
            if tries > 100 or not len(frames):
                live.stop()
        over = live.reasons["ring_overwritten"]
        dropped = sum(live.reasons.values()) - over
        assert over > 0
        assert found > 0
        assert found + over + dropped == live.seen
        assert len(gaps) == 1
        assert len(packets) * 40 <= found + over + dropped
        assert len([*(tmp_path / "rings" / "lo").glob("*.pcapng")]) <= FILES
    assert not (tmp_path / "rings" / "lo").exists()
    assert not [*(tmp_path / "rings").iterdir()]
