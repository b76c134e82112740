"""The parameter `filter` of routes: a text of the filter language; a wrong one is a 400."""

from typing import Annotated

from pydantic import Field

from pipeline import MOST_CHARACTERS, FilterError, condition
from service.problem import Problem

FilterText = Annotated[
    str,
    Field(
        max_length=MOST_CHARACTERS,
        description="Only what this filter keeps (docs/reference/filters.md); an error points at"
        " its column.",
        examples=['stage = "tor" and u.p99 > 0.95'],
    ),
]


def filtered(subject: str, text: str) -> dict[str, str]:
    """The parameter of a query, none for an empty filter. Raises Problem."""
    if not text.strip():
        return {}
    try:
        condition(subject, text)
    except FilterError as error:
        raise Problem(400, f"filter: {error}", field="filter", column=error.column) from None
    return {"filter": text}
