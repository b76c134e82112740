"""Records of the arrays that the compiled walk reads: one a table row."""

import numpy as np

NONE = -1
FIELD = np.dtype(
    [("first", "i8"), ("shift", "u8"), ("mask", "u8"), ("plus", "u8"), ("column", "i8"),
     ("little", "i8"), ("rule", "i8"), ("kept", "i8")]
)  # fmt: skip
"""A field of the word that starts at octet `first`; a rule decides what else is read."""
HANDED_ON = 2
"""A field that is kept for the rows that begin behind; 1 is kept for its own row, 0 is not kept."""
SIZE = np.dtype(
    [("field", FIELD), ("column", "i8"), ("unit", "i8"), ("add", "i8"), ("flags", "u8"),
     ("open", "u8")]
)  # fmt: skip
"""A length rule; without a unit a constant, with a column its value instead of the field's."""
CHECK = np.dtype([("field", FIELD), ("low", "u8"), ("high", "u8"), ("reason", "i8")])
BRANCH = np.dtype(
    [("column", "i8"), ("mask", "u8"), ("value", "u8"), ("to", "i8"), ("select", "i8"),
     ("space", "i8"), ("divides", "i8")]
)  # fmt: skip
MARK = np.dtype([("column", "i8"), ("value", "u8"), ("kept", "i8")])
PART = np.dtype(
    [("mask", "u8"), ("octets", "i8"), ("field0", "i8"), ("field1", "i8"), ("counts", "i8"),
     ("words", FIELD)]
)  # fmt: skip
RECORDS = np.dtype(
    [("bitmap0", "i8"), ("bitmap1", "i8"), ("width", "i8"), ("keyed", "i8"), ("key", FIELD),
     ("part0", "i8"), ("part1", "i8"), ("stride", "i8"), ("total", "i8"), ("skip", "i8"),
     ("count", "i8"), ("unit", "i8"), ("add", "i8"), ("slots", "i8"), ("start", "i8"),
     ("bottom", "i8"), ("bottom_part", "i8"), ("tail", "i8"), ("tail_mask", "u8"),
     ("newest_first", "i8"), ("per_hop", "i8"), ("reason", "i8"), ("whole", "i8"), ("exact", "i8"),
     ("mismatch", "i8")]
)  # fmt: skip
NODE = np.dtype(
    [("octets", "i8"), ("peek", "i8"), ("length", SIZE), ("extent", SIZE), ("trailer", SIZE),
     ("options_at", SIZE), ("extends", "i8"), ("next", FIELD), ("space", "i8"), ("to", "i8"),
     ("otherwise", "i8"), ("again", "i8"), ("field0", "i8"), ("field1", "i8"), ("check0", "i8"),
     ("check1", "i8"), ("branch0", "i8"), ("branch1", "i8"), ("mark0", "i8"), ("mark1", "i8"),
     ("options", "i8"), ("style", "i8"), ("records", "i8"), ("envelope", "i8"), ("layer", "u8"),
     ("flow", "i8"), ("remainder", "i8"), ("remaining", "i8"), ("short", "i8")]
)  # fmt: skip
STYLE = np.dtype(
    [("kind", "i8"), ("length", "i8"), ("mask", "u8"), ("unit", "i8"), ("add", "i8"),
     ("end", "i8"), ("single", "i8"), ("shortest", "i8")]
)  # fmt: skip
