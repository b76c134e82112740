"""Files that a command writes: whole, or as they were before, where a disk has no room for more."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from service.column_file import ColumnFile
from service.commands import token
from service.failure import ExitCode, Failure
from service.results import POINT, Results
from service.whole_file import write_text

ROOM = 4096
"""Octets that a file may have; more is refused as by a full disk."""
ROWS = pl.DataFrame({"value": pl.int_range(1_000_000, eager=True).hash()})
BEFORE = b"what was there before"


@contextmanager
def little_room() -> Iterator[None]:
    """No file grows beyond `ROOM`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def columns(path: Path) -> None:
    table = ROWS.to_arrow()
    file = ColumnFile(path, table.schema, parquet=path.suffix == ".parquet")
    file.write(table)
    file.close()


def results(path: Path) -> None:
    made = Results(None)
    made.path = path
    made.add("p", ROWS.head(10_000).to_dicts())
    made.keep()


def text(path: Path) -> None:
    write_text(path, "x" * (ROOM + 1))


WRITES = {"a.parquet": columns, "a.arrow": columns, "r.parquet": results, "r.csv": results,
          "t.html": text}  # fmt: skip


@pytest.mark.parametrize(("name", "write"), WRITES.items(), ids=WRITES)
@pytest.mark.parametrize("before", [None, BEFORE])
def test_without_room_a_file_is_as_it_was(
    tmp_path: Path, name: str, write: Callable[[Path], None], before: bytes | None
) -> None:
    path = tmp_path / name
    if before is not None:
        path.write_bytes(before)
    with little_room(), pytest.raises(Failure, match=f"{name}: file too large") as told:
        write(path)
    assert told.value.code is ExitCode.UNAVAILABLE
    assert [each.name for each in tmp_path.iterdir()] == ([name] if before else [])
    assert before is None or path.read_bytes() == before
    write(path)
    assert path.stat().st_size > ROOM
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("lines", [0, 40])
def test_without_room_no_part_of_a_token_is_kept(tmp_path: Path, lines: int) -> None:
    file, line = tmp_path / "tokens", "x" * 100
    for _ in range(lines):
        token.append(file, line)
    before = file.read_bytes() if lines else b""
    wanted = line if lines else "x" * (ROOM + 1)
    with little_room(), pytest.raises(Failure, match=r"--file .*tokens: File too large"):
        token.append(file, wanted)
    assert file.exists() == bool(lines)
    assert not lines or file.read_bytes() == before


def test_links_and_rights_stay_and_what_is_no_file_is_written_itself(tmp_path: Path) -> None:
    path, link, missing = (tmp_path / name for name in ("page.html", "link.html", "no/page.html"))
    write_text(path, "one")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "two")
    assert link.is_symlink()
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("two", 0o640)
    write_text(Path("/dev/null"), "three")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(Failure, match=r"no/page\.html: no such file or directory"):
        write_text(missing, "four")


def test_results_begin_where_a_file_has_some(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    made = Results(path)
    made.add("p", [{"value": 1}])
    made.keep()
    assert Results(path).frame(["p"]).to_dicts() == [{POINT: "p", "value": 1}]
