"""The reference page of findings about telemetry."""

from collections.abc import Iterator

from markdown_text import code, table, title

from pipeline import FINDINGS


def findings() -> Iterator[str]:
    """What can be found out about telemetry."""
    yield title(
        "Findings",
        "What can be found out about telemetry: rows of the store's table `telemetry_health`. The "
        "verdict is `yes` or `cannot_tell`; then the last column says what would tell.",
    )
    yield table(
        ("finding", "class", "meaning", "rule", "evidence", "what else would tell"),
        (
            (code(row.name), row.kind, row.meaning, row.rule, row.evidence, row.tells)
            for row in FINDINGS
        ),
    )
