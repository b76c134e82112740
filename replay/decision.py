"""The decision trace: what congestion control decided at each ACK, and in words why.

`trace` joins decisions with the keys of their flows and says of each by which line it was made
(`step`), in a sentence, and how far its state can be trusted. `lines` gives the machine's shape,
one JSON object a decision. Neither reads anything but its arguments, nor goes row by row.
"""

import json
import re
from collections.abc import Collection, Iterator
from itertools import compress
from typing import Any

import polars as pl
import polars.selectors as cs

from pipeline import FAULTS, NETWORK, companion_fields, fault_names
from replay.heard import HOPS
from replay.standing import standing
from replay.step import STEPS, Step

DIGITS = 5
"""Significant digits of a number in a sentence, of one with more before its point those; objects
carry all of them."""
MARK = re.compile(r"\{(\w+)\}")
KEY = ("src", "sport", "dst", "dport")
UNKNOWN_RECEIVER = " is unknown by none, sure to 0"
"""How the sentence of a receiver ends that nothing is known of, to be said plainly."""
BY_BRANCH = {(step.algorithm, step.branch): step for step in STEPS}
FAMILIES = {step.algorithm for step in STEPS}
"""Algorithms with sentences of their own; the other forms of HPCC++ (hpcc_aecn, …) share its."""

FIELDS = {
    "hpcc": (
        "U_before", "U", "W", "Wc", "R", "incStage", "lastUpdateSeq", "u_max", "u_hop", HOPS,
        "hop_count", "faults",
    ),
    "dctcp": (
        "alpha_before", "alpha", "M", "BytesAcked", "BytesMarked", "WindowEnd", "cwnd", "ssthresh",
        "dialect", "basis",
    ),
}  # fmt: skip
"""The documents' variables in an object, by algorithm."""
COMMON = (
    "time_ns", *KEY, "algorithm", "branch", "ack", "acked_bytes", "marked_bytes", "inflight_bytes",
    "point", "source", "frame", "quality", "why",
)  # fmt: skip
"""What every object starts with: frames are counted within their source, a capture for one."""
TOLD = ("line", "sentence", "standing")
"""What `trace` adds to a decision, and every object ends with."""
LEAST = {"u_hop": 0, "rtt_ns": 1, "N": 1}
"""What is below is not known: null in an object."""


def trace(
    decisions: pl.DataFrame,
    keys: pl.DataFrame,
    eta: float,
    max_stage: int,
    upper: Collection[str] = (),
) -> pl.DataFrame:
    """Decisions of the tracker with the key of their flow, the document's line and a sentence.

    `keys` has one row a flow: flow (u64), src and dst (text), sport, dport, and what of `NETWORK`
    is known. `eta` and `max_stage` are those the tracker was given, `upper` the algorithms whose
    parameter `acts_on` is upper. Rows keep their order; a flow without a key has nulls. `standing`
    says whether the state is exact, estimated or unknown, and why.
    """
    named = keys.select("flow", *KEY, *(name for name in NETWORK if name in keys.columns))
    rows = decisions.join(named, on="flow", how="left", maintain_order="left")
    given = {"eta": f"{eta:g}", "maxStage": str(max_stage)}
    parts = []
    for algorithm, branch, at in branches(rows):
        step = step_of(algorithm, branch)
        if step is None:
            continue
        part = rows.select(*needed(step, rows.columns)).select(pl.all().gather(at))
        said = sentences(step, part, algorithm, given, acts_on_upper=algorithm in upper)
        told = pl.DataFrame({"at": at}).with_columns(pl.lit(step.line).alias("line"), said)
        parts.append(told)
    nothing = pl.DataFrame(schema={"at": pl.UInt32, "line": pl.String, "sentence": pl.String})
    told = pl.concat([nothing, *parts])
    whole = pl.select(pl.int_range(rows.height, dtype=pl.UInt32).alias("at"))
    told = whole.join(told, on="at", how="left", maintain_order="left")
    return rows.with_columns(told["line"], told["sentence"], standing(rows))


def branches(rows: pl.DataFrame) -> Iterator[tuple[str, str, pl.Series]]:
    """Each algorithm and branch that occurs, and the numbers of its rows."""
    named = rows.select(pl.col("algorithm", "branch").cast(pl.String)).with_row_index("at")
    groups = named.group_by("algorithm", "branch", maintain_order=True).agg("at")
    names = groups.select("algorithm", "branch").iter_rows()
    for (algorithm, branch), at in zip(names, groups["at"], strict=True):
        yield algorithm, branch, at


def step_of(algorithm: str, branch: str) -> Step | None:
    """The line of the table for a decision."""
    return BY_BRANCH.get((algorithm if algorithm in FAMILIES else "hpcc", branch))


def needed(step: Step, columns: Collection[str]) -> list[str]:
    """The columns that a sentence is made of, of those that there are."""
    named = {*MARK.findall(step.sentence), "flow", "U_upper", HOPS}
    return [name for name in columns if name in named]


def sentences(
    step: Step, rows: pl.DataFrame, algorithm: str, given: dict[str, str], *, acts_on_upper: bool
) -> pl.Series:
    """The sentence of each row of one branch; null where its numbers are not among the columns."""
    sentence = MARK.sub(lambda mark: given.get(mark[1], mark[0]), step.sentence)
    if not set(MARK.findall(sentence)) <= set(rows.columns):
        return pl.repeat(None, rows.height, dtype=pl.String, eager=True).alias("sentence")
    if acts_on_upper and "U_upper" in rows.columns:
        rows = rows.with_columns(pl.coalesce("U_upper", "U").alias("U"))
    if "{faults}" in sentence:
        rows = rows.with_columns(named_faults(rows["faults"], algorithm).alias("faults"))
    said = worded(sentence, rows.schema)
    if algorithm == "hpcc" and HOPS in rows.columns and rows[HOPS].count():
        hops = pl.col(HOPS).list.eval(
            pl.element().round_sig_figs(DIGITS).cast(pl.String).fill_null("unknown")
        )
        loads = pl.lit("; u' by hop: ") + hops.list.join(", ")
        said = pl.concat_str(said, loads.fill_null(""))
    if algorithm == "dctcp_receiver":
        said = said.str.replace(UNKNOWN_RECEIVER, " is not known yet", literal=True)
    return rows.with_columns(said.alias("sentence"))["sentence"]  # also of one without numbers


def named_faults(faults: pl.Series, algorithm: str) -> pl.Series:
    """Faults as their names, "none" where there is none."""
    seen = faults.drop_nulls().unique().to_list()
    texts = [", ".join(fault_names(algorithm, bits)) or "none" for bits in seen]
    return faults.replace_strict(seen, texts, default=None, return_dtype=pl.String)


def worded(sentence: str, schema: pl.Schema) -> pl.Expr:
    """A sentence with its {names} replaced by what the row holds; a null reads "unknown"."""
    texts = []
    for name in MARK.findall(sentence):
        value = pl.col(name)
        if schema[name].is_float():
            few = value.abs() < 10**DIGITS
            value = pl.when(few).then(value.round_sig_figs(DIGITS)).otherwise(value.round())
        texts.append(value.cast(pl.String).str.strip_suffix(".0").fill_null("unknown"))
    return pl.format(MARK.sub("{}", sentence), *texts) if texts else pl.lit(sentence)


def lines(traced: pl.DataFrame, told: Collection[str] = TOLD) -> pl.Series:
    """One JSON object a decision as text, in order: `COMMON`, its algorithm's variables, `told`.

    What is not null of `NETWORK` stands behind `COMMON`.
    """
    numbered = traced.with_columns(pl.col("algorithm").cast(pl.String)).with_row_index("at")
    parts = [pl.DataFrame(schema={"at": pl.UInt32, "text": pl.String})]
    there = [name for name in NETWORK if name in traced.columns]
    kinds = (pl.col(name).is_not_null().alias(f"has_{name}") for name in there)
    for (algorithm, *has), part in numbered.group_by("algorithm", *kinds, maintain_order=True):
        network = compress(there, has)
        fields = known(part, (*COMMON, *network, *variables(str(algorithm))))
        if algorithm in FAULTS:
            fields = fields.with_columns(fault_lists(fields["faults"], str(algorithm)))
        fields = fields.with_columns(part[name] for name in TOLD if name in told)
        text = pl.struct(pl.all()).struct.json_encode().alias("text")
        parts.append(fields.select(part["at"], text))
    return pl.concat(parts).sort("at")["text"]


def objects(traced: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The same as objects."""
    return map(json.loads, lines(traced))


def variables(algorithm: str) -> tuple[str, ...]:
    """The documents' variables that a decision of an algorithm has."""
    return FIELDS.get(algorithm) or companion_fields(algorithm)


def known(rows: pl.DataFrame, names: Collection[str]) -> pl.DataFrame:
    """Columns, those that are absent as null, with null for numbers of what is not known."""
    absent = [pl.lit(None).alias(name) for name in names if name not in rows.columns]
    fields = rows.with_columns(absent).select(names)
    for name in LEAST.keys() & set(names):
        here = pl.col(name)
        fields = fields.with_columns(pl.when(here >= LEAST[name]).then(here).alias(name))
    if "expected_bytes" in names:
        sighted = pl.col("branch").cast(pl.String) != "unsighted"
        sighted_bytes = pl.when(sighted).then("expected_bytes")
        fields = fields.with_columns(sighted_bytes.alias("expected_bytes"))
    if "verdict" in names and "sure" in names:
        sure = pl.col("verdict").cast(pl.String) != "unknown"
        fields = fields.with_columns(pl.when(sure).then("sure").alias("sure"))
    finite = pl.when(cs.float().is_finite()).then(cs.float())
    return fields.with_columns(finite)


def fault_lists(faults: pl.Series, algorithm: str) -> pl.Series:
    """Faults as lists of their names."""
    bits = faults.fill_null(0)
    seen = bits.unique().to_list()
    lists = [list(fault_names(algorithm, each)) for each in seen]
    names = pl.Series("fault_names", lists, pl.List(pl.String))
    told = pl.DataFrame([pl.Series("bits", seen, bits.dtype), names])
    rows = pl.DataFrame({"bits": bits})
    return rows.join(told, on="bits", how="left", maintain_order="left")["fault_names"]
