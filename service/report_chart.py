"""Charts of a report as SVG that needs nothing else, and as a line of text."""

from collections.abc import Sequence
from html import escape

import polars as pl

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 900, 150, 66, 22, 22
POINTS = 600
BARS = "▁▂▃▄▅▆▇█"
TEXT_CELLS = 60
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def short(value: float) -> str:
    """A number with three digits and a prefix."""
    size, prefix = next(((s, p) for s, p in PREFIXES if abs(value) >= s), (1.0, ""))
    return f"{value / size:.3g}{prefix}"


def svg(title: str, times: pl.Series, values: pl.Series, limit: tuple[str, float] | None) -> str:
    """A line over time, with the limit that its algorithm has."""
    shown = thin(pl.DataFrame({"time_ns": times, "value": values}))
    if shown.is_empty():
        return ""
    start, stop = int(shown["time_ns"][0]), int(shown["time_ns"][-1])
    most = max(float(shown["value"].max() or 0), limit[1] if limit else 0.0, 1e-12)  # type: ignore[arg-type] # numbers
    across = (WIDTH - LEFT - 10) / max(1, stop - start)
    down = HEIGHT - TOP - BOTTOM

    def y(value: float) -> float:
        return TOP + down * (1 - value / most)

    points = " ".join(f"{LEFT + (t - start) * across:.1f},{y(v):.1f}" for t, v in shown.iter_rows())
    rules = "".join(
        f'<line class="rule" x1="{LEFT}" x2="{WIDTH - 10}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y(v) + 4:.1f}" text-anchor="end">{short(v)}</text>'
        for v in (0.0, most / 2, most)
    )
    mark = ""
    if limit:
        name, at = limit
        mark = (
            f'<line class="limit" x1="{LEFT}" x2="{WIDTH - 10}" y1="{y(at):.1f}" y2="{y(at):.1f}"/>'
            f'<text x="{WIDTH - 12}" y="{y(at) - 5:.1f}" text-anchor="end">{escape(name)}</text>'
        )
    span = f"+{(stop - start) / 1e6:.6g} ms"
    ends = (
        f'<text x="{LEFT}" y="{HEIGHT - 4}">0</text>'
        f'<text x="{WIDTH - 10}" y="{HEIGHT - 4}" text-anchor="end">{span}</text>'
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f'<text class="title" x="{LEFT}" y="13">{escape(title)}</text>{rules}{mark}'
        f'<polyline points="{points}"/>{ends}</svg>'
    )


def thin(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that have values; of many the least and the largest of each stretch."""
    held = rows.drop_nulls().filter(pl.col("value").is_finite())
    if held.height <= POINTS:
        return held
    part = (pl.int_range(pl.len()) * (POINTS // 2) // pl.len()).alias("part")
    groups = held.with_columns(part).group_by("part", maintain_order=True)
    ends = pl.concat(
        [
            groups.agg(pl.all().sort_by("value").first()),
            groups.agg(pl.all().sort_by("value").last()),
        ]
    )
    return ends.drop("part").unique(maintain_order=True).sort("time_ns", maintain_order=True)


def sparkline(values: pl.Series) -> str:
    """The means of equal stretches as bars of text."""
    held = values.drop_nulls()
    held = held.filter(held.is_finite())
    if held.is_empty():
        return ""
    part = (pl.int_range(pl.len()) * min(TEXT_CELLS, held.len()) // pl.len()).alias("part")
    means: Sequence[float] = (
        held.to_frame("v")
        .with_columns(part)
        .group_by("part", maintain_order=True)
        .mean()["v"]
        .to_list()
    )
    most = max(*means, 1e-12) if len(means) > 1 else max(means[0], 1e-12)
    return "".join(BARS[min(7, int(8 * max(0.0, mean) / most))] for mean in means)
