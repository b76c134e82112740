"""What nobody knows of a store that was put back without its tokens: which inserts it has.

Of a place it is what was decided after its last snapshot, and of a file what was stored of it when
its command did not end. Whoever repeated that would store again what is there already.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from pipeline.group_log import RESTORED, GroupLog
from pipeline.several_names import some_of
from pipeline.store import Store

NAMED = 4
"""Places, or files, that are named."""
MARK = {"restored": "not known to be stored whole"}
"""What such a file is read by from then on: nothing reads it so."""


def logs_of(store: Store) -> Mapping[str, tuple[int, bool]]:
    """Where the log of each place ends, and whether it has steps behind its last snapshot."""
    told = store.query("group_unsettled")
    return {place: (last, steps > 0) for place, last, steps in told.iter_rows()}


def unsettled(
    before: Mapping[str, tuple[int, bool]], after: Mapping[str, tuple[int, bool]]
) -> list[str]:
    """Places with such steps, or whose workers went on between two looks at their logs."""
    moved = {place for place, (last, _) in after.items() if before.get(place, (0, True))[0] != last}
    return sorted(moved | {place for place, (_, steps) in before.items() if steps})


def halt(store: Store, places: Iterable[str]) -> list[str]:
    """Have no worker go on with places of a store that was put back; those that it has."""
    known = logs_of(store)
    halted = sorted({*places} & known.keys() | {each for each in known if known[each][1]})
    for place in halted:
        log = GroupLog(store, place)
        last = log.read()[-1]
        log.number, log.epoch = last.number, last.epoch
        log.append(RESTORED)
    return halted


def close(store: Store) -> list[str]:
    """Have no command store a file again of which it is not known that all is stored; those."""
    files = store.query("readings_unsettled")
    if files.is_empty():
        return []
    texts = [json.dumps({**json.loads(text), **MARK}, sort_keys=True) for text in files["read_by"]]
    rows = files.with_columns(pl.Series("read_by", texts))
    store.insert("readings", rows, f"restored/{rows.height}-{rows.hash_rows().sum():x}")
    return sorted(set(files["source"]))


def named(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    return some_of(names, NAMED)
