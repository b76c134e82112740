"""What the tracker gives, as frames.

`decisions` has one row for each ACK and algorithm. time_ns, source, point, frame and conversation
are those of the ACK; flow is the data's flow, whose sender decided. Sequence numbers (ack,
lastUpdateSeq, WindowEnd) are modulo 2**32, as on the wire; branch is the name of a `hpcc.Branch` or
`dctcp.Branch`. Where a window ended, BytesAcked and BytesMarked are those of the window that ended,
else of the open one. U_before and alpha_before are U and alpha as the ACK found them. quality (and
why it is not exact) speaks of W, Wc, R or of alpha; U is as good as its telemetry (faults). cwnd
and ssthresh are always estimates: what the application wrote is not on the wire. Columns of the
other algorithm are null. echo says how the ACK told marked_bytes (`memory.Echo`); again is 1 where
the other algorithm decides on the ACK, too, and has done so before, or on the row that brought it.

`hop_loads` has one row for each row with telemetry: time_ns, source, point, frame, conversation,
flow (the data's), reflected (read from an ACK: the data's whole path, half a round trip late),
hop_count, faults (`hpcc.Fault`), fell and anew (a bit for each hop whose bytes sent fell, and of
these for each whose count began anew), u0..u{n-1} (u' of each hop between this record and the
flow's one before at this point; null where it cannot be known, so on the first) and the
observation's h{i}_* columns; n is the most hops of the batch.
"""

import re
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import arrow, directed, repeated
from pipeline.batch import DECISION_FIELDS
from pipeline.cc import dctcp, hpcc
from pipeline.decision_block import Decisions
from pipeline.memory import Algorithm, Basis, Echo, Quality, Why
from pipeline.queue_pairs import DATA_FLOW

HOP_COLUMN = re.compile(r"h\d+_\w+")
EVERY = object()
"""Stands for a validity bitmap of rows that all are valid."""


def names(kind: type[Any]) -> pl.Enum:
    """The names of an IntEnum that counts from 0 or 1, in the order of its values."""
    members = {member.value: member.name.lower() for member in kind}
    return pl.Enum([members.get(value, "none") for value in range(max(members) + 1)])


BRANCH = pl.Enum(["none", *(b.name.lower() for b in (*hpcc.Branch, *dctcp.Branch))])
"""Branches of both algorithms; their codes here are those of HPCC++, then those of DCTCP."""
DIALECT = pl.Enum(["none", *dctcp.DIALECTS])
ECHOES = names(Echo)
_I32, _I64, _F64 = pl.Int32(), pl.Int64(), pl.Float64()
_U32, _U64 = pl.UInt32(), pl.UInt64()
OF_HPCC: dict[str, pl.DataType] = {
    **dict.fromkeys(("U_before", "U", "W", "Wc", "R"), _F64),
    "incStage": _I32, "lastUpdateSeq": _U32, "u_max": _F64, "u_hop": pl.Int8(),
    "hop_count": _I32, "faults": _I32,
}  # fmt: skip
OF_DCTCP: dict[str, pl.DataType] = {
    "alpha_before": _F64, "alpha": _F64, "M": _F64, "BytesAcked": _I64, "BytesMarked": _I64,
    "WindowEnd": _U32, "cwnd": _F64, "ssthresh": _F64, "dialect": DIALECT, "basis": names(Basis),
}  # fmt: skip
OWN = dict.fromkeys(OF_HPCC, int(Algorithm.HPCC)) | dict.fromkeys(OF_DCTCP, int(Algorithm.DCTCP))
"""Whose a field is that only one has."""
DECISIONS = pl.Schema(
    {
        "time_ns": _I64, "source": pl.String(), "point": pl.String(), "frame": _U64,
        "conversation": _U64, "flow": _U64, "algorithm": names(Algorithm), "branch": BRANCH,
        "quality": names(Quality), "why": names(Why), "ack": _U32,
        **dict.fromkeys(("acked_bytes", "marked_bytes", "inflight_bytes"), _I64),
        **OF_HPCC, **OF_DCTCP, "echo": ECHOES, "again": pl.UInt8(),
    }
)  # fmt: skip
"""Columns of `decisions`."""


def decisions_of(frame: pl.DataFrame, out: Decisions, count: int) -> pl.DataFrame:
    """The decisions of a batch, in the order of its rows."""
    if not count:
        return DECISIONS.to_frame()
    made = made_of(out, count)
    rows = made.pop("row")
    context = frame[["time_ns", "source", "point", "frame", "conversation"]]
    each_row = count == frame.height and bool((rows[1:] > rows[:-1]).all())
    columns = {each.name: each for each in (context if each_row else context[rows])}
    columns["flow"] = flow_of(columns["conversation"], made.pop("direction"))
    if DATA_FLOW in frame.columns:
        columns["flow"] = either(frame[DATA_FLOW][rows], columns["flow"])
    made["U_before"] = made["alpha_before"] = made.pop("before")
    columns |= fields_of(made, lacking(out))
    return pl.DataFrame([columns[name] for name in DECISIONS])


def fields_of(made: dict[str, NDArray[Any]], unsure: set[str]) -> dict[str, pl.Series]:
    """The fields of decisions as columns, null where one has none; `unsure` have NaN for that."""
    algorithm = made["algorithm"]
    here = {
        **dict.fromkeys(OF_HPCC, algorithm == Algorithm.HPCC),
        **dict.fromkeys(OF_DCTCP, algorithm == Algorithm.DCTCP),
        "why": made["quality"] != Quality.EXACT,
    }
    whole = {id(rows): valid(rows) for rows in here.values()}
    told: dict[str, Any] = {}
    alike: dict[str, str | None] = {}
    for name, values in made.items():
        dtype = DECISIONS[name]
        validity = whole[id(here[name])] if name in here else EVERY
        if validity is not None and name in unsure:
            validity = valid(here[name] & ~np.isnan(values))
        if validity is None:
            alike[name] = None
        elif isinstance(dtype, pl.Enum) and validity is EVERY and values.min() == values.max():
            alike[name] = dtype.categories[int(values[0])]
        else:
            told[name] = arrow.array(values, None if validity is EVERY else validity)
    columns = {each.name: each for each in arrow.table(told)}
    for name, each in columns.items():
        if isinstance(dtype := DECISIONS[name], pl.Enum):
            columns[name] = each.cat.to(dtype)
    for name, value in alike.items():
        columns[name] = repeated(name, value, len(algorithm), DECISIONS[name])
    return columns


def lacking(out: Decisions) -> set[str]:
    """Fields that some decision does not know."""
    found = {name for name, lacks in zip(DECISION_FIELDS["f8"], out.unknown, strict=True) if lacks}
    return found | {"U_before", "alpha_before"} if "before" in found else found


def reflected_by(
    drove: NDArray[np.int64], telemetry: NDArray[np.int32], known: NDArray[Any]
) -> NDArray[np.int32]:
    """For each decision of a batch the row with telemetry that its ACK reflects, or -1.

    `drove` is the row of each, `telemetry` and `known` are `Rows.telemetry` and `Batch.loads`.
    """
    there = telemetry[drove]
    if not known.size:
        return there
    reflected = np.ascontiguousarray(known["reflected"])
    if reflected.all():
        return there
    return np.where(reflected[there] != 0, there, np.int32(-1))


def made_of(out: Decisions, count: int) -> dict[str, NDArray[Any]]:
    """The fields of so many decisions."""
    made: dict[str, NDArray[Any]] = {}
    for kind, named in DECISION_FIELDS.items():
        fields = getattr(out, kind)[:, :count]
        made |= {name: fields[place] for place, name in enumerate(named)}
    codes = set(DECISION_FIELDS["i1"]) - {"u_hop"}
    return {name: each.view(np.uint8) if name in codes else each for name, each in made.items()}


def valid(rows: NDArray[np.bool_]) -> Any:
    """A validity bitmap; `EVERY` where all are valid, None where none is."""
    if rows.all():
        return EVERY
    return arrow.bitmap(rows) if rows.any() else None


def flow_of(conversation: pl.Series, direction: NDArray[Any]) -> pl.Series:
    """The flow of each conversation in the given direction."""
    flow = np.empty(len(conversation), np.uint64)
    directed(conversation.to_numpy(), direction.astype(np.uint8), flow)
    return pl.Series("flow", flow)


def either(told: pl.Series, otherwise: pl.Series) -> pl.Series:
    """The flow that is told, where one is."""
    return told.zip_with(told.is_not_null(), otherwise).alias("flow")


def hop_loads_of(rows: pl.DataFrame, known: NDArray[Any], u: NDArray[np.float64]) -> pl.DataFrame:
    """The rows with telemetry, u' of their hops, and what their hops carried.

    `known` and `u` are `Batch.loads` and `Batch.u`.
    """
    reflected = known["reflected"] != 0
    flow = flow_of(rows["conversation"], rows["direction"].to_numpy() ^ reflected)
    if DATA_FLOW in rows.columns:
        told = rows[DATA_FLOW].zip_with(
            pl.Series(reflected) | rows[DATA_FLOW].is_null(), rows["flow"]
        )
        flow = either(told, flow)
    given = [name for name in rows.columns if HOP_COLUMN.fullmatch(name)]
    return rows[["time_ns", "source", "point", "frame", "conversation"]].with_columns(
        flow,
        pl.Series("reflected", reflected),
        rows["hop_count"],
        *(
            pl.Series(name, np.ascontiguousarray(known[name]))
            for name in ("faults", "fell", "anew")
        ),
        *(pl.Series(f"u{hop}", each).fill_nan(None) for hop, each in enumerate(u)),
        *(rows[name] for name in given),
    )
