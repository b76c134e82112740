"""What the headers of an overlay say of the packet that they carry (RFC 6040)."""

import polars as pl

from pipeline.sender import CE


def met(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the ECN field that each packet has behind its tunnel, in place of its own.

    A mark on an outer header is one of the packet, if that is ECN-capable (section 4.2). Rows that
    have it are left as they are.
    """
    if "outer_ecn" not in rows.columns or "ecn" not in rows.columns:
        return rows
    marked = (rows["outer_ecn"] == CE) & (rows["ecn"] > 0)
    if not marked.any():
        return rows
    ce = pl.lit(CE, rows.schema["ecn"])
    return rows.with_columns(ecn=pl.when(marked).then(ce).otherwise("ecn"))
