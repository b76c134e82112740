"""Observations as text: flows as people write them, and what each frame says as `name=value`."""

from ipaddress import IPv6Address

import polars as pl

from collector import LAYERS, STATUS
from pipeline import protocol_name

HALF = 64
DIGITS = 1_000_000
"""From here on six digits are not enough for what stands before the point."""
TIME = "%Y-%m-%dT%H:%M:%S%.9fZ"
SHOWN = ("source", "point", "frame", "time", "flow", "layers", "observation")
"""Columns of the text form."""
ELSEWHERE = frozenset(
    (
        "time_ns", "source", "point", "frame", "length", "layers", "status", "tenant", "vrf",
        "flow", "conversation", "direction", "src", "dst", "sport", "dport", "protocol",
        "payload_bytes",
    )
)  # fmt: skip
"""Columns that stand elsewhere in the line, or that tell a reader nothing."""
ENDS = ("src", "dst")
AGENT = "mirror_agent"
"""The device that sampled a frame, where one did."""
HASHES = ("flow", "conversation")
STEERING, REPLACED = r"\p{C}", "\N{REPLACEMENT CHARACTER}"
"""Characters that steer a terminal or break a line; files and interfaces are named by strangers."""


def addressed(frame: pl.DataFrame) -> pl.DataFrame:
    """The two words of each address as one text, none where there is none; hashes as decimals."""
    for end in ENDS:
        frame = _named(frame, (f"{end}_hi", f"{end}_lo"), end)
    if f"{AGENT}_lo" in frame.columns:
        frame = _named(_whole(frame), (f"{AGENT}_hi", f"{AGENT}_lo"), AGENT)
    return frame.with_columns(pl.col(HASHES).cast(pl.String))


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    """An agent's address in both words; an IPv4 address came in one."""
    low, high = pl.col(f"{AGENT}_lo"), pl.lit(None, pl.UInt64)
    if f"{AGENT}_hi" in frame.columns:
        high = pl.col(f"{AGENT}_hi")
    known = pl.when(low.is_not_null()).then(high.fill_null(0))
    return frame.with_columns(known.alias(f"{AGENT}_hi"))


def _named(frame: pl.DataFrame, words: tuple[str, str], end: str) -> pl.DataFrame:
    """One address as text, in the place of its first word."""
    high, low = words
    halves = frame.select(words).drop_nulls().unique()
    texts = [str(_address(*row)) for row in halves.iter_rows()]
    named = halves.with_columns(pl.Series(end, texts, pl.String))
    text = frame.select(words).join(named, on=list(words), how="left", maintain_order="left")[end]
    return frame.with_columns(text.alias(high)).rename({high: end}).drop(low)


def _address(high: int, low: int) -> object:
    address = IPv6Address(high << HALF | low)
    return address.ipv4_mapped or address


def shown(frame: pl.DataFrame) -> pl.DataFrame:
    """The text form, a row an observation; see `SHOWN`."""
    frame = addressed(frame).with_columns(pl.col("hop_count").replace(0, None))
    said = [name for name in frame.columns if name not in ELSEWHERE]
    names = [name for name, _ in STATUS]
    named = pl.col("status").replace_strict(range(len(names)), names, return_dtype=pl.String)
    ending = pl.when(pl.col("status") > 0).then(pl.concat_str(pl.lit("status="), named))
    values = (pl.concat_str(pl.lit(f"{name}="), _plain(frame, name)) for name in said)
    return frame.select(
        *(pl.col(name).str.replace_all(STEERING, REPLACED) for name in ("source", "point")),
        "frame",
        pl.from_epoch("time_ns", time_unit="ns")
        .dt.strftime("%Y-%m-%dT%H:%M:%S%.9fZ")
        .alias("time"),
        _flow(frame).alias("flow"),
        _layers(frame).alias("layers"),
        pl.concat_str(*values, ending, separator=" ", ignore_nulls=True).alias("observation"),
    )


def _plain(frame: pl.DataFrame, name: str) -> pl.Expr:
    """A value as text: fractions of six digits, whole ones from a million on."""
    value = pl.col(name)
    if frame.schema[name] == pl.Float64:
        whole = value.abs() >= DIGITS
        value = pl.when(whole).then(value.round()).otherwise(value.round_sig_figs(6))
    return value.cast(pl.String)


def _flow(frame: pl.DataFrame) -> pl.Expr:
    """`10.0.0.1:40000 → 10.0.1.1:5001 tcp`."""
    ends = (
        pl.when(pl.col(end).str.contains(":", literal=True))
        .then(pl.format("[{}]:{}", end, port))
        .otherwise(pl.format("{}:{}", end, port))
        for end, port in zip(ENDS, ("sport", "dport"), strict=True)
    )
    numbers = frame["protocol"].unique().to_list()
    names = [protocol_name(number) for number in numbers]
    protocol = pl.col("protocol").replace_strict(numbers, names, return_dtype=pl.String)
    return pl.format("{} → {} {}", *ends, protocol)


def _layers(frame: pl.DataFrame) -> pl.Expr:
    """Names of the layers, lowest bit first."""
    numbers = frame["layers"].unique().to_list()
    names = [
        " ".join(name for bit, name in enumerate(LAYERS) if number >> bit & 1) for number in numbers
    ]
    return pl.col("layers").replace_strict(numbers, names, return_dtype=pl.String)
