"""Decisions as packet comments: the captures once more, as one pcapng that Wireshark shows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import polars as pl

from collector import CaptureError, Frames, write_commented
from service.captures import open_all
from service.decision_output import Output, Told
from service.decision_text import texts
from service.failure import ExitCode, Failure

CHUNK = 65_536
STDIN = "-"


class Comments(Output):
    """Keeps what is said of each frame, and at the end writes the captures with it."""

    def __init__(self, told: Told, path: Path, captures: Sequence[Path]) -> None:
        """Failure for captures that cannot be read twice."""
        super().__init__(told)
        for capture in captures:
            if str(capture) == STDIN or not capture.is_file():
                raise Failure(
                    ExitCode.USAGE, f"--pcapng: {capture} is no file, which is read twice"
                )
        self.path, self.captures = path, captures
        self.said: list[pl.DataFrame] = []

    def show(self, traced: pl.DataFrame) -> None:
        """Take decisions with their reasons."""
        text = texts(traced, explain=True).alias("text")
        self.said.append(traced.select("source", "frame").with_columns(text))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self.said:
            self.write()

    def write(self) -> None:
        """Write the captures."""
        said = pl.concat(self.said).group_by("source", "frame", maintain_order=True)
        lines = said.agg(pl.col("text").str.join("\n"))
        opened = open_all(self.captures)
        try:
            write_commented(
                self.path,
                (
                    (
                        capture.points,
                        runs(capture.chunks(CHUNK), lines.filter(source=capture.source)),
                    )
                    for capture in opened
                ),
            )
        except CaptureError as failed:
            raise Failure(ExitCode.UNAVAILABLE, str(failed)) from None
        except ValueError as failed:
            raise Failure(ExitCode.INPUT, f"--pcapng {self.path}: {failed}") from None
        finally:
            for capture in opened:
                capture.close()


def runs(chunks: Iterator[Frames], lines: pl.DataFrame) -> Iterator[tuple[Frames, pl.Series]]:
    """Frames with the comment of each, by their numbers."""
    for frames in chunks:
        numbers = np.arange(frames.first, frames.first + len(frames), dtype=np.uint64)
        rows = pl.DataFrame({"frame": numbers})
        yield frames, rows.join(lines, on="frame", how="left", maintain_order="left")["text"]
