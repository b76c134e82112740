"""Decisions as lines for people: time, flow, branch, the documents' variables, and why."""

import polars as pl

from pipeline import FAULTS, NETWORK, companion_fields, fault_names
from replay import COMMON, TOLD, known
from replay import variables as variables_of
from service.flow_names import end_texts
from service.text import NONE

DIGITS = 6
STATE = {
    "hpcc": ("U", "W", "Wc", "R", "incStage", "lastUpdateSeq"),
    "dctcp": ("alpha", "BytesAcked", "BytesMarked", "WindowEnd"),
}
"""What a line shows of each algorithm."""
TIME = "%Y-%m-%dT%H:%M:%S%.6fZ"


def texts(traced: pl.DataFrame, *, explain: bool) -> pl.Series:
    """One line a decision, in order."""
    numbered = traced.with_columns(pl.col("algorithm", "branch").cast(pl.String))
    numbered = numbered.with_row_index("at")
    parts = [pl.DataFrame(schema={"at": pl.UInt32, "text": pl.String})]
    for (algorithm,), part in numbered.group_by("algorithm", maintain_order=True):
        names = (*COMMON, *variables_of(str(algorithm)))
        network = [name for name in NETWORK if name in part.columns and part[name].count()]
        beside = (part[name] for name in (*TOLD, *network))
        told = known(part, names).with_columns(part["at"], *beside)
        words = [
            pl.from_epoch("time_ns", time_unit="ns").dt.strftime(TIME),
            pl.format("{} → {}", end_texts("src"), end_texts("dst")),
            *(pl.format(f"{name}={{}}", name) for name in network),
            pl.format("{} {}", "algorithm", "branch"),
            pl.format("ack={}", "ack"),
            *variables(told, str(algorithm)),
            qualities(),
        ]
        if explain:
            words += [pl.format("[{}] {}", "line", "sentence"), reasons()]
        text = pl.concat_str(words, separator="  ", ignore_nulls=True)
        parts.append(told.select("at", text.alias("text")))
    return pl.concat(parts).sort("at")["text"]


def variables(rows: pl.DataFrame, algorithm: str) -> list[pl.Expr]:
    """`name=value` of each variable of an algorithm; - is not known."""
    names = STATE.get(algorithm) or companion_fields(algorithm)
    return [pl.concat_str(pl.lit(f"{name}="), value_of(rows, algorithm, name)) for name in names]


def value_of(rows: pl.DataFrame, algorithm: str, name: str) -> pl.Expr:
    """One variable as text."""
    value = pl.col(name)
    if name == "faults" and algorithm in FAULTS:
        seen = rows["faults"].drop_nulls().unique().to_list()
        said = [",".join(fault_names(algorithm, bits)) or NONE for bits in seen]
        value = value.replace_strict(seen, said, default=NONE, return_dtype=pl.String)
    elif rows.schema[name].is_float():
        finite = pl.when(value.is_finite()).then(value.round_sig_figs(DIGITS))
        value = finite.cast(pl.String).str.strip_suffix(".0")
    return value.cast(pl.String).fill_null(NONE)


def qualities() -> pl.Expr:
    """How well the sender's state is known, and why not better."""
    why = pl.col("why").cast(pl.String)
    reason = pl.when(why != "none").then(pl.format(" ({})", why)).otherwise(pl.lit(""))
    return pl.concat_str(pl.col("quality").cast(pl.String), reason)


def reasons() -> pl.Expr:
    """The same in words, where there is a reason."""
    told = pl.col("standing").str.contains(":", literal=True)
    return pl.when(told).then(pl.format("({})", "standing"))
