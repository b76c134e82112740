"""Frames that are stored already, from a file of another name: stored twice they count twice.

What another point saw of the same flows is no such frame, but belongs into one reading with them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from pipeline import Asked, Output, Sink, StoreError

KEY = ("point", "flow", "time_ns")
"""What tells a frame from others: two points do not see one in the same nanosecond."""
NEAR_NS = 500_000_000
"""How long from a frame on another point's frames of its flow are looked for; not before it, where
an earlier file of the same tap ends."""
APART = (
    "saw its first flow at that time, and is stored: read in one command they make one verdict, and"
    " links and paths count a byte once; read one after the other each is judged alone"
)


def noticing(
    kept: Sink,
    store: Asked | None,
    say: Callable[[Sequence[str]], None],
    begin: Callable[[set[str]], None] = lambda _: None,
) -> Sink:
    """Keeps as `kept` does; says before of each source whether others have its first frame.

    Others are those that came with it and those in the store, if there is one. `begin` is told,
    before rows of another source are kept, of all that have been met.
    """
    met: set[str] = set()

    def keep(output: Output, token: str) -> None:
        rows = output.tables.get("observations")
        if rows is not None:
            before = len(met)
            say([*copies(rows, store, met)])
            if len(met) > before:
                begin(met)
        kept(output, token)

    return keep


def all_of_one(sources: pl.Series, met: set[str]) -> bool:
    """Whether rows are of one source that is `met`, as those of a large file nearly always are."""
    return sources.is_empty() or (sources[0] in met and not (sources != sources[0]).any())


def copies(
    rows: pl.DataFrame, store: Asked | None, met: set[str], *, judged: bool = True
) -> Iterator[str]:
    """A sentence for each source not `met` whose first frame others have; all are `met` then.

    `judged` rows have verdicts.
    """
    if all_of_one(rows["source"], met):
        return
    named: set[str] = set()
    rows = rows.filter(~pl.col("source").is_in([*met]))  # others add to it meanwhile
    firsts = rows.unique("source", keep="first", maintain_order=True)
    for first in firsts.reverse().iter_rows(named=True):
        met.add(first["source"])
        same = pl.all_horizontal(pl.col(name).eq_missing(first[name]) for name in KEY)
        # Of those that came together the later ones are told of.
        fresh = first["source"] not in named
        beside = rows.filter(same, pl.col("source") != first["source"], fresh)["source"]
        try:
            held = near(store, first) if store else ()
        except StoreError:
            continue  # what does not answer now is told of where rows are stored
        here = first["point"] or ""
        stored = {source for source, point, same in held if same and point == here}
        if first["source"] not in stored:  # else it was read before, and those beside it too
            came = {*firsts["source"]} | met
            apart = {source for source, point, _ in held if point != here} - came
            yield from (f"{first['source']}: {source} {APART}" for source in sorted(apart))
        if others := sorted({*beside, *stored} - {first["source"]}):
            named |= {*others}
            last = ", and of verdicts on the same time those are told that were stored last"
            yield (
                f"{first['source']}: its first frame came from {', '.join(others)} too, by the"
                f" same point at the same time; what both hold counts twice{last if judged else ''}"
            )


def near(store: Asked, first: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """Source, point and whether at the same time, of what is stored of a frame's flow from it."""
    asked = {"flow": first["flow"], "time_ns": first["time_ns"]}
    told = store.query("frame_sources", **asked, to_ns=first["time_ns"] + NEAR_NS)
    return [(source, point, bool(same)) for source, point, same in told.iter_rows()]
