"""The filter language: a short text over the fields of flows or links, as parameterised SQL."""

from pipeline.filter.condition import Condition, condition
from pipeline.filter.field import FIELDS, SUBJECTS, Field
from pipeline.filter.filter_error import FilterError
from pipeline.filter.grammar import MOST_CHARACTERS

__all__ = [
    "FIELDS",
    "MOST_CHARACTERS",
    "SUBJECTS",
    "Condition",
    "Field",
    "FilterError",
    "condition",
]
