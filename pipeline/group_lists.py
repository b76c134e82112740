"""Columns of lists: rows that are sorted by their group as one row a group."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from collector import arrow
from pipeline.groups import Ints


def lists(name: str, group: Ints, groups: int, fields: Mapping[str, NDArray[Any]]) -> pl.Series:
    """A struct of lists, one of each field; `group` of each row rises, from 0 to below `groups`."""
    ends = arrow.array(np.searchsorted(group, np.arange(groups + 1)))
    told = [pa.LargeListArray.from_arrays(ends, arrow.array(values)) for values in fields.values()]
    return pl.Series(name, pa.StructArray.from_arrays(told, names=list(fields)))
