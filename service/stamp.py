"""Whether a file has changed since it was read."""

from pathlib import Path


def stamp(file: Path) -> tuple[int, ...]:
    """What is another one once a file was written, replaced or taken away; empty: it is not there.

    By its times, its size and its number, since a clock may tell two writes the same time.
    """
    try:
        state = file.stat()
    except OSError:
        return ()
    return (state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino)
