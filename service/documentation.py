"""The documentation as pages of the console, at the version that runs: Markdown of `docs/`."""

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from posixpath import dirname, normpath

from markdown_it import MarkdownIt
from markdown_it.token import Token

HERE = Path(__file__).resolve().parent
PREFIX = "/docs/"
ORDER = ("index", "tutorial", "how-to", "reference", "explanation", "benchmarks")
TITLES = {
    "": "Documentation",
    "tutorial": "Tutorial",
    "how-to": "How-to",
    "reference": "Reference",
    "reference/wire": "Wire formats",
    "explanation": "Explanation",
}
"""Headings of the list of pages, by folder."""
FOLDED = "reference/wire"
"""The folder whose list is long."""


def folder() -> Path:
    """Where the pages are: beside the rooms in a clone, in the package where it is installed."""
    inside = HERE / "docs"
    return inside if inside.is_dir() else HERE.parent / "docs"


@lru_cache(1)
def titles() -> dict[str, str]:
    """Title of every page by its name, such as `how-to/where`, in the order of reading."""
    top = folder()
    found = {path.relative_to(top).with_suffix("").as_posix(): path for path in top.rglob("*.md")}
    return {name: title_of(found[name]) for name in sorted(found, key=place)}


def place(name: str) -> tuple[int, str, bool, str]:
    """Where a page stands in the list."""
    first = name.partition("/")[0]
    rank = ORDER.index(first) if first in ORDER else len(ORDER)
    return rank, dirname(name), not name.endswith("index"), name


def title_of(path: Path) -> str:
    """The first heading of a page."""
    with path.open(encoding="utf-8") as lines:
        heads = (line[2:].strip() for line in lines if line.startswith("# "))
        return next(heads, path.stem).replace("`", "")


@lru_cache(128)
def rendered(name: str) -> str | None:
    """A page as HTML; None where there is none. Markup in the text stays text."""
    if name not in titles():
        return None
    text = (folder() / f"{name}.md").read_text(encoding="utf-8")
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", slug(tokens[number + 1].content))
        for child in token.children or ():
            lead(child, name)
    html: str = markdown.renderer.render(tokens, markdown.options, {})
    boxed = html.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    boxed = boxed.replace("</table>", "</table></div>")
    return boxed.replace("<pre>", '<pre tabindex="0">')


def lead(token: Token, name: str) -> None:
    """Make a link between files one between pages; what is not served is no link."""
    if token.type != "link_open":
        return
    target = str(token.attrGet("href") or "")
    if re.match(r"https?:|#", target):
        return
    file, _, part = target.partition("#")
    page = normpath(f"{dirname(name)}/{file}".lstrip("/")).removesuffix(".md")
    if page in titles():
        token.attrSet("href", f"{PREFIX}{page}{'#' if part else ''}{part}")
    else:
        token.tag = "span"
        token.attrs = {}


def slug(heading: str) -> str:
    """The name by which a heading is led to."""
    words = re.sub(r"[^\w\- ]", "", heading.lower())
    return words.strip().replace(" ", "-")


def page(shell: str, name: str, version: str) -> str | None:
    """A whole page: the console's frame around the text and the list of all pages."""
    text = rendered(name)
    if text is None:
        return None
    main = (
        '<main id="view" tabindex="-1" class="docs" aria-busy="false">'
        f'<nav class="pages" aria-label="Pages">{listed(name)}</nav>'
        f"<article>{text}</article></main>"
    )
    shell = re.sub(r"<main .*</main>", lambda _: main, shell, flags=re.DOTALL)
    shell = re.sub(r"<script [^>]*></script>\n", "", shell)
    shell = shell.replace('href="/docs/">', 'href="/docs/" aria-current="page">')
    shell = shell.replace('id="version">', f'id="version">hopsight {escape(version)}')
    title = escape(titles()[name])
    return shell.replace("<title>hopsight</title>", f"<title>{title} · hopsight</title>")


def listed(current: str) -> str:
    """The list of pages, folder by folder."""
    groups: dict[str, list[str]] = {}
    for name in titles():
        groups.setdefault(dirname(name), []).append(name)
    return "".join(group(TITLES.get(each, each), names, current) for each, names in groups.items())


def group(title: str, names: Sequence[str], current: str) -> str:
    """One folder of the list; wire formats are folded unless one of them is read."""
    items = "".join(
        f'<li><a href="{PREFIX}{name}"{mark(name, current)}>{escape(titles()[name])}</a></li>'
        for name in names
    )
    shown = " open" if title != TITLES[FOLDED] or current in names else ""
    return f"<details{shown}><summary>{escape(title)}</summary><ul>{items}</ul></details>"


def mark(name: str, current: str) -> str:
    """Says of the page that is read that it is."""
    return ' aria-current="page"' if name == current else ""
