"""Conformance: rows and what was decided on them in, the conduct of senders and receivers out.

`Conformance.advance` takes what a rerun gives; `finish` gives the accounts that `judgement` judges.
However the rows are cut into batches, the accounts are the same.
"""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import TCP, arrow, directed
from pipeline import Tracked
from replay.conduct import BINS, EVENT, PER_WINDOW, SENDER, grown, senders
from replay.receiver_account import Receivers
from replay.sighting import Seen, Told
from replay.witness import observe

KEY = ("flow", "point")
KEPT = 5
"""Frames that are named of each act of a sender."""
ROOM = 1 << 16
SKIPPED = ("histogram", "data_ends", "data_times", "data_frames", "data_sources")
QUANTILES = {"p50": 0.5, "p95": 0.95}
NOTHING = pl.DataFrame(
    schema={"sender": pl.UInt32, "act": pl.Int32, "time_ns": pl.Int64, "frame": pl.Int64,
            "source": pl.Int32, "cause_frame": pl.Int64, "cause_source": pl.Int32}
)  # fmt: skip


class Accounts(NamedTuple):
    """`senders` has a row a flow and point, `acts` the first frames of each act, `receivers` too.

    Sources are numbers in `sources`; `unplaced` decisions came without the row that drove them, and
    are not judged.
    """

    senders: pl.DataFrame
    acts: pl.DataFrame
    receivers: pl.DataFrame
    sources: tuple[str, ...]
    unplaced: int = 0

    def seen_from(self, point: str) -> "Accounts":
        """Only what one point saw."""
        here = pl.col("point") == point
        senders, acts = self.senders.filter(here), self.acts.filter(here)
        return Accounts(
            senders, acts, self.receivers.filter(here), self.sources, self.unplaced
        )  # fmt: skip


class Conformance:
    """Writes down what senders and receivers do; see the module."""

    def __init__(self) -> None:
        self.keys = pl.DataFrame(
            schema={"flow": pl.UInt64, "point": pl.String, "sender": pl.UInt32}
        )
        self.reverse = pl.DataFrame(schema={"sender": pl.UInt32, "other": pl.UInt32})
        self.known = senders(0)
        self.sources: dict[str, int] = {}
        self.acts = NOTHING
        self.events = np.zeros(ROOM, EVENT)
        self.receivers = Receivers()
        self.unplaced = 0

    def advance(self, rows: pl.DataFrame, tracked: Tracked) -> None:
        """Take rows in order, with `hints` where settings say some, and their decisions."""
        if rows.is_empty():
            return
        ends = pl.concat([rows.select(KEY), tracked.decisions.select(KEY)])
        other = reverse_of(rows)
        self.number(pl.concat([ends, rows.select(other, "point")]))
        own, acked = self.numbers(rows.select(KEY)), self.numbers(rows.select(other, "point"))
        pairs = pl.DataFrame({"sender": own, "other": acked}).unique()
        self.reverse = pl.concat([self.reverse, pairs]).unique("sender", keep="first")
        seen = self.seen(rows, own, acked)
        told = self.told(tracked.decisions)
        places = np.zeros(4, np.int64)
        while places[0] < rows.height:
            observe(seen, told, self.known, self.events, places)
            self.keep(int(places[2]))
            places[2] = 0
        self.unplaced += int(places[3]) + told.frame.size - int(places[1])
        if "dctcp_receiver" in tracked.companions:
            self.receivers.advance(tracked.companions["dctcp_receiver"], self.source_numbers)

    def number(self, keys: pl.DataFrame) -> None:
        """Number the senders that are new."""
        new = keys.unique(maintain_order=True).join(self.keys, on=KEY, how="anti")
        first = self.keys.height
        numbered = new.with_row_index("sender", first).select(self.keys.columns)
        self.keys = pl.concat([self.keys, numbered])
        self.known = grown(self.known, self.keys.height)

    def numbers(self, keys: pl.DataFrame) -> pl.Series:
        """The numbers of senders."""
        return keys.join(self.keys, on=KEY, how="left", maintain_order="left")["sender"]

    def source_numbers(self, sources: pl.Series) -> pl.Series:
        """The numbers of sources."""
        for name in sources.unique().sort():
            self.sources.setdefault(name, len(self.sources))
        return sources.replace_strict(self.sources, return_dtype=pl.Int64)

    def seen(self, rows: pl.DataFrame, own: pl.Series, acked: pl.Series) -> Seen:
        """What the kernel reads of rows."""
        tcp = (rows["protocol"] == TCP) & column(rows, "flags").is_not_null()
        flags = column(rows, "flags").cast(pl.Int64).zip_with(tcp, pl.Series([-1]))
        seq, ack, payload, ecn = (
            integers(column(rows, name)) for name in ("seq", "ack", "payload_bytes", "ecn")
        )
        return Seen(
            integers(rows["time_ns"]), integers(rows["frame"]),
            integers(self.source_numbers(rows["source"])), integers(own), integers(acked),
            integers(flags), seq, ack, payload, ecn, integers(column(rows, "ip_id"), -1),
            integers(column(rows, "hints")), column(rows, "roce_psn").is_not_null().to_numpy(),
        )  # fmt: skip

    def told(self, decisions: pl.DataFrame) -> Told:
        """What the kernel reads of decisions."""
        algorithm = decisions["algorithm"].to_physical()
        classic = (decisions["dialect"] == "classic").fill_null(value=False)
        stated = (decisions["basis"] == "set").fill_null(value=False) & ~classic
        window = decisions["W"].fill_null(decisions["cwnd"]).fill_null(0.0)
        threshold = decisions["ssthresh"].fill_null(0.0)
        threshold = threshold.set(threshold.is_infinite(), 0.0)
        acked, marked, inflight = (
            integers(decisions[f"{name}_bytes"]) for name in ("acked", "marked", "inflight")
        )
        told = (
            integers(decisions["time_ns"]), integers(decisions["frame"]),
            integers(self.source_numbers(decisions["source"])),
            integers(self.numbers(decisions.select(KEY))), integers(algorithm),
            (decisions["quality"] == "exact").to_numpy(), stated.to_numpy(), classic.to_numpy(),
            integers(decisions["why"].to_physical()), integers(decisions["ack"]), acked, marked,
            inflight, window.to_numpy(), threshold.to_numpy(),
            decisions["alpha_before"].fill_null(0.0).to_numpy(),
            decisions["R"].fill_null(0.0).to_numpy(),
        )  # fmt: skip
        return Told(*map(arrow.fixed, told))

    def keep(self, made: int) -> None:
        """The first acts of each kind of each sender."""
        if not made:
            return
        given = self.events[:made]
        new = pl.DataFrame({name: given[name] for name in EVENT.names or ()}).cast(
            {"sender": pl.UInt32}
        )
        every = pl.concat([self.acts, new.select(NOTHING.columns)])
        self.acts = every.group_by("sender", "act", maintain_order=True).head(KEPT)

    def finish(self) -> Accounts:
        """The accounts of all that was taken."""
        known = self.known[: self.keys.height]
        told = {name: known[name] for name in SENDER.names or () if name not in SKIPPED}
        whole = self.keys.hstack(pl.DataFrame(told)).hstack(ratios(known["histogram"]))
        ids = ("id_next", "id_missing", "id_odd", "lag_ns")
        back = whole.select(
            pl.col("sender").alias("other"), *(pl.col(name).alias(f"back_{name}") for name in ids)
        )
        joined = whole.drop(ids[:3]).join(self.reverse, on="sender", how="left")
        joined = joined.join(back, on="other", how="left").sort(KEY).drop("sender", "other")
        acts = self.acts.join(self.keys, on="sender", how="left", maintain_order="left")
        acts = acts.sort(*KEY, "act", maintain_order=True).drop("sender")
        return Accounts(
            joined, acts, self.receivers.finish(), tuple(self.sources), self.unplaced
        )  # fmt: skip


def reverse_of(rows: pl.DataFrame) -> pl.Series:
    """The flows whose data rows acknowledge."""
    flow = np.empty(rows.height, np.uint64)
    other = (1 - rows["direction"].to_numpy().astype(np.int8)).astype(np.uint8)
    directed(rows["conversation"].to_numpy(), other, flow)
    return pl.Series("flow", flow)


def column(rows: pl.DataFrame, name: str) -> pl.Series:
    """A column, null where rows have none."""
    if name in rows.columns:
        return rows[name]
    return pl.repeat(None, rows.height, dtype=pl.Int64, eager=True).alias(name)


def integers(values: pl.Series, absent: int = 0) -> NDArray[np.int64]:
    """A column as the kernel reads it."""
    return values.cast(pl.Int64).fill_null(absent).to_numpy()


def ratios(histogram: NDArray[Any]) -> pl.DataFrame:
    """Quantiles of in-flight bytes over W by their bins' upper ends, and the highest bin's."""
    total = histogram.sum(axis=1)
    summed = np.cumsum(histogram, axis=1)
    made = {}
    for name, share in QUANTILES.items():
        made[name] = (summed < (total * share)[:, None]).sum(axis=1)
    made["most"] = BINS - 1 - (histogram[:, ::-1] > 0).argmax(axis=1)
    known = pl.Series("known", total > 0)
    columns = [pl.Series(name, (at + 1) / PER_WINDOW) for name, at in made.items()]
    return pl.DataFrame(columns).select(
        pl.when(known).then(pl.col(name)).alias(f"ratio_{name}") for name in made
    )
