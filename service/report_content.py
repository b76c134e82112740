"""What a report of a replay says: verdicts, courses of flows, what mattered, provenance."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from replay import variables
from service.endpoint import time_text
from service.flow_names import name_of
from service.report import Chart, Code, Part, Report, Section, Table
from service.report_chart import sparkline, svg
from service.report_output import Course
from service.text import NONE, load, share, signed

MOST_FLOWS = 12
"""Flows that are told whole; the others are lines of a table."""
MOST_LINES = 500
MOST_MATTERED = 40
QUANTILES = (0.0, 0.5, 0.9, 0.99, 1.0)
Names = Mapping[int, str]


def names_of(keys: pl.DataFrame) -> dict[int, str]:
    """Flows by their hash, as they are typed."""
    return {row["flow"]: name_of(row) for row in keys.iter_rows(named=True)}


def report_of(
    courses: Sequence[Course],
    names: Names,
    verdicts: Sequence[Mapping[str, Any]],
    limits: Mapping[str, tuple[str, float]],
    conduct: Sequence[Section],
    last: Sequence[Section],
    *,
    archived: bool = False,
) -> Report:
    """The report: verdicts and conduct first, then flow by flow, then what it was made of.

    Of observations that were `archived` there are no verdicts.
    """
    total = sum(sum(course.branches.values()) for course in courses)
    flows = len({course.flow for course in courses})
    lead = f"{total:,} decisions of {counted(flows)}."
    sections = [
        Section("Summary", [lead, summary(courses, names)]),
        verdict_section(verdicts, archived=archived),
        *conduct,
    ]
    for course in courses[:MOST_FLOWS]:
        sections += course_sections(course, names, limits)
    title = names.get(courses[0].flow, "replay") if flows == 1 else counted(flows)
    return Report(f"Replay of {title}", [*sections, *last])


def counted(flows: int) -> str:
    """How many flows."""
    return f"{flows:,} flow{'s' * (flows != 1)}"


def summary(courses: Sequence[Course], names: Names) -> Table:
    """One line a flow and algorithm."""
    rows = []
    for course in courses[:MOST_LINES]:
        first, end = times(course.series)
        rows.append(
            [
                names.get(course.flow, str(course.flow)), course.algorithm,
                f"{sum(course.branches.values()):,}", first, end,
                number(course.series["level"].mean(), course.unit(course.level)),
                number(course.series["window"].mean(), course.unit(course.window)),
            ]
        )  # fmt: skip
    heads = (
        "flow",
        "algorithm",
        "decisions",
        "from",
        "to",
        "U, alpha or delay, mean",
        "window, mean",
    )
    return Table(heads, rows)


def verdict_section(verdicts: Sequence[Mapping[str, Any]], *, archived: bool) -> Section:
    """Where each flow was held back."""
    if not verdicts:
        why = "the frames carry no telemetry that names hops, or none were judged"
        if archived:
            why = "files of observations are not judged; the store, or a capture, has verdicts"
        return Section("Verdicts", [f"No verdict: {why}."])
    rows = [
        [
            each["name"],
            each["sentence"],
            load(each["u_mean"]),
            share(each["confidence"]),
            share(each["completeness"]),
        ]
        for each in verdicts[:MOST_LINES]
    ]
    return Section(
        "Verdicts", [Table(("flow", "verdict", "load u", "confidence", "completeness"), rows)]
    )


def course_sections(
    course: Course, names: Names, limits: Mapping[str, tuple[str, float]]
) -> list[Section]:
    """One flow under one algorithm."""
    title = f"{names.get(course.flow, str(course.flow))}, {course.algorithm}"
    return [
        Section(title, charts(course, limits)),
        Section("How its decisions were made", [branches(course), quantiles(course)], 3),
        Section("The decisions that mattered", [mattered(course), *left_out(course)], 3),
    ]


def charts(course: Course, limits: Mapping[str, tuple[str, float]]) -> list[Part]:
    """What steers the sender, and its window."""
    shown: list[Part] = []
    for column, name in (("level", course.level), ("window", course.window)):
        values = course.series[column]
        if name and values.count():
            unit = course.with_unit(name)
            picture = svg(unit, course.series["time_ns"], values, limits.get(name))
            shown.append(Chart(unit, picture, sparkline(values)))
    return shown


def branches(course: Course) -> Table:
    """How often each branch ran."""
    total = sum(course.branches.values())
    rows = [
        [name.replace("_", " "), f"{count:,}", share(count / total)]
        for name, count in course.branches.items()
    ]
    return Table(("branch", "decisions", "share"), rows)


def quantiles(course: Course) -> Table:
    """How the numbers were spread."""
    rows = []
    for column, name in (("level", course.level), ("window", course.window)):
        values = course.series[column].drop_nulls()
        if name and values.len():
            named = course.with_unit(name)
            rows.append([named, *(number(values.quantile(q, "nearest")) for q in QUANTILES)])
    return Table(("", "least", "median", "90 %", "99 %", "most"), rows)


def mattered(course: Course) -> Table:
    """First of each branch, the largest changes, and turns of what is known."""
    seen: set[str] = set()
    rows = []
    start = int(course.series["time_ns"][0])
    for row in most(course.mattered).iter_rows(named=True):
        why = []
        if row["branch"] not in seen:
            why.append(f"first {row['branch'].replace('_', ' ')}")
            seen.add(row["branch"])
        if row["turned"]:
            why.append(f"the state becomes {row['standing'] or row['quality']}")
        if row["change"]:
            why.append(changed(course, row["before"], row["window"]))
        rows.append(
            [f"+{(row['time_ns'] - start) / 1e6:.6f} ms", f"{row['frame']}", row["line"] or NONE,
             row["sentence"] or NONE, "; ".join(why)]
        )  # fmt: skip
    return Table(("time", "frame", "line", "what was decided", "why it is told"), rows)


def changed(course: Course, before: float, after: float) -> str:
    """What a decision made of the window, in its unit and as a share of what it was."""
    unit = course.unit(course.window)
    plain = ",.0f" if unit == "bytes" else ",.4g"
    part = f" ({signed(100 * (after / before - 1), '.3g', '%')})" if before else ""
    return f"{course.window} {before:{plain}} → {after:{plain}} {unit}{part}"


def most(rows: pl.DataFrame) -> pl.DataFrame:
    """So many rows as are told, in order: the first of each branch, then the largest changes."""
    if rows.height <= MOST_MATTERED:
        return rows
    numbered = rows.with_row_index("row")
    first = numbered.unique("branch", keep="first", maintain_order=True)
    others = numbered.join(first, on="row", how="anti", maintain_order="left")
    size = pl.col("change").abs()
    largest = others.sort(size, descending=True, nulls_last=True, maintain_order=True)
    return pl.concat([first, largest]).head(MOST_MATTERED).sort("row").drop("row")


def left_out(course: Course) -> list[Part]:
    """How many of the decisions that mattered are not told."""
    total = course.mattered.height
    if total <= MOST_MATTERED:
        return []
    chosen = "the first of each branch, then those that changed the window most"
    return [f"{MOST_MATTERED} of {total:,} are told: {chosen}."]


def provenance(
    command: str, inputs: Sequence[Sequence[str]], versions: Mapping[str, str],
    settings: Mapping[str, Any], notes: Sequence[str],
) -> list[Section]:  # fmt: skip
    """What the report was made of, and how it is made again."""
    made = Section("Made of", [Table(("input", "bytes", "SHA-256"), [*inputs])])
    made.parts.append(Table(("program", "version"), [*versions.items()]))
    if settings:
        told = [[name, str(value)] for name, value in settings.items()]
        made.parts.append(Table(("setting that is not the usual one", "value"), told))
    doubts = (
        Section("What could not be decided, or was taken for granted", [*notes]) if notes else None
    )
    again = Section("Made again by", [Code(command)])
    return [section for section in (doubts, made, again) if section]


def parameter_section(parameters: Mapping[str, Mapping[str, tuple[Any, bool]]]) -> Section:
    """Parameters in force, those that were told marked."""
    rows = [
        [algorithm, name, str(value), "told" if told else "default"]
        for algorithm, values in parameters.items()
        for name, (value, told) in values.items()
    ]
    variables_of = [f"{name}: {', '.join(variables(name))}" for name in parameters]
    return Section(
        "Parameters",
        [
            Table(("algorithm", "parameter", "value", ""), rows),
            "Variables: " + "; ".join(variables_of) + ".",
        ],
    )


def times(series: pl.DataFrame) -> tuple[str, str]:
    """First and last time."""
    return time_text(int(series["time_ns"][0])), time_text(int(series["time_ns"][-1]))


def number(value: Any, unit: str = "") -> str:
    """A number with five digits, and its unit."""
    return NONE if value is None else f"{float(value):.5g} {unit}".rstrip()
