"""CSIG's samples as algorithms that go by delay read them."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import inlined
from pipeline.book import Book
from pipeline.cc.csig_load import Signal
from pipeline.cc.parameter import Parameter, Record, state_dtype
from pipeline.memory import Ints

TABLE = (
    Parameter("hold_rtt", 1.0, "RTT", 0.0, 1e6,
              "How long a CSIG sample stands for the path, in round trips of the ACK.", "open"),
)  # fmt: skip

STATE = state_dtype(
    ("f8", "pd_ns", "abw_bps"), ("i8", "pd_seen_ns", "abw_seen_ns"), ("i4", "repeats")
)
"""The last samples that a sender got back, and `repeats` as in `event`."""


@inlined
def begin(m: Record) -> None:
    """Nothing got back yet."""
    m.pd_ns, m.abw_bps = np.nan, np.nan
    m.pd_seen_ns, m.abw_seen_ns, m.repeats = 0, 0, 0


@inlined
def take(m: Record, pd_ns: float, abw_bps: float, now_ns: int) -> None:
    """What an ACK reflects."""
    if not np.isnan(pd_ns):
        m.pd_ns, m.pd_seen_ns = pd_ns, now_ns
    if not np.isnan(abw_bps):
        m.abw_bps, m.abw_seen_ns = abw_bps, now_ns


@inlined
def held(value: float, seen_ns: int, now_ns: int, most_ns: float) -> float:
    """A sample while it stands for the path."""
    return value if now_ns - seen_ns <= most_ns else np.nan


class Senders(NamedTuple):
    """The senders of a companion that reads samples."""

    book: NDArray[Any]
    used: Ints
    states: NDArray[Any]
    samples: NDArray[Any]


def senders_of(book: Book) -> Senders:
    """Those of a book with the arrays `states` and `samples`."""
    return Senders(book.book, book.used, book["states"], book["samples"])


class Echoes(NamedTuple):
    """What each row reflects of CSIG, the middle of a bucket; NaN where it does not."""

    pd_ns: NDArray[np.float64]
    abw_bps: NDArray[np.float64]


def echoes(frame: pl.DataFrame) -> Echoes:
    """The reflections of observations."""
    if "csig_echo_t" not in frame.columns:
        nothing = np.full(frame.height, np.nan)
        return Echoes(nothing, nothing)
    low = pl.col("csig_echo_low")
    middle = (low + pl.col("csig_echo_high").fill_null(low)) * 0.5
    signals = (Signal.PD.value, Signal.ABW.value)
    told = frame.select(
        pl.when(pl.col("csig_echo_t") == signal).then(middle).fill_null(np.nan).alias(str(signal))
        for signal in signals
    )
    return Echoes(*(np.ascontiguousarray(told[str(signal)].to_numpy()) for signal in signals))


def hops_back(told: pl.DataFrame) -> Ints:
    """Hops of the forward path that each row with telemetry reflects; -1 where it reflects none."""
    if "int_reflected" not in told.columns:
        return np.full(told.height, -1, np.int64)
    back = pl.when(pl.col("int_reflected")).then(pl.col("hop_count").cast(pl.Int64)).otherwise(-1)
    reflected: Any = told.select(back.fill_null(-1).alias("hops"))["hops"].to_numpy()
    return np.ascontiguousarray(reflected)
