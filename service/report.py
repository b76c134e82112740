"""A report of a replay as one file: Markdown, or HTML that needs nothing else. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

Rows = Sequence[Sequence[str]]
STYLE = """
:root { color-scheme: light dark; --ink: #16202b; --soft: #56657a; --page: #fff; }
:root { --edge: #dfe4ea; --line: #0072b2; --hot: #d55e00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7edf4; --soft: #93a3b5; --page: #10161f; --edge: #2a3644; --line: #4d9fd6; }
}
body { font: 15px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--page); }
body { max-width: 1000px; margin: 32px auto; padding: 0 20px; }
h1 { font-size: 26px; } h2 { font-size: 20px; margin-top: 36px; }
h3 { font-size: 15px; margin-bottom: 4px; }
table { border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; }
td, th { padding: 4px 14px 4px 0; border-bottom: 1px solid var(--edge); vertical-align: top; }
th { text-align: left; color: var(--soft); font-weight: 600; }
pre { font: 13px/1.5 ui-monospace, monospace; padding: 10px 14px; overflow-x: auto; }
pre { border: 1px solid var(--edge); border-radius: 8px; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--soft); } svg .title { fill: var(--ink); font-weight: 600; }
svg polyline { fill: none; stroke: var(--line); stroke-width: 1.5; }
svg .rule { stroke: var(--edge); } svg .limit { stroke: var(--hot); stroke-dasharray: 5 4; }
.box { overflow-x: auto; }
"""


@dataclass(frozen=True)
class Table:
    """A table with its headings."""

    headings: Sequence[str]
    rows: Rows


@dataclass(frozen=True)
class Chart:
    """A chart in both forms."""

    title: str
    svg: str
    text: str


@dataclass(frozen=True)
class Code:
    """What is typed."""

    text: str


Part = str | Table | Chart | Code


@dataclass
class Section:
    """A heading and what is under it; a section below another has a smaller one."""

    title: str
    parts: list[Part] = field(default_factory=list)
    level: int = 2


@dataclass(frozen=True)
class Report:
    """A title and its sections."""

    title: str
    sections: Sequence[Section]


def as_markdown(report: Report) -> str:
    """The report as Markdown; charts are lines of text."""
    told = [f"# {plain(report.title)}"]
    for section in report.sections:
        told.append(f"{'#' * section.level} {plain(section.title)}")
        told += ["\n".join(marked(part)) for part in section.parts]
    return "\n\n".join(told) + "\n"


def marked(part: Part) -> Iterator[str]:
    """One part in Markdown."""
    if isinstance(part, Table):
        yield f"| {' | '.join(map(plain, part.headings))} |"
        yield f"|{'---|' * len(part.headings)}"
        yield from (f"| {' | '.join(map(plain, row))} |" for row in part.rows)
    elif isinstance(part, Chart):
        yield f"`{part.text}` {plain(part.title)}"
    elif isinstance(part, Code):
        yield from ("```", part.text, "```")
    else:
        yield plain(part)


def plain(text: str) -> str:
    """Text in which nothing is markup."""
    for sign in "\\`*_<>|[]":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def as_html(report: Report) -> str:
    """The report as one HTML file without scripts, that asks no other."""
    told = [f"<h1>{escape(report.title)}</h1>"]
    for section in report.sections:
        told.append(f"<h{section.level}>{escape(section.title)}</h{section.level}>")
        told += map(boxed, section.parts)
    title, body = escape(report.title), "\n".join(told)
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def boxed(part: Part) -> str:
    """One part in HTML."""
    if isinstance(part, Table):
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in part.headings)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in part.rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f'<div class="box">{table}</div>'
    if isinstance(part, Chart):
        return part.svg
    if isinstance(part, Code):
        return f"<pre>{escape(part.text)}</pre>"
    return f"<p>{escape(part)}</p>"
