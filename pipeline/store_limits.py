"""How long the store keeps rows, and what one query may cost."""

from pydantic import BaseModel, ConfigDict, Field, field_validator

from pipeline.tables import TABLES

MOST_DAYS = 10_000
"""Days that rows can be told to be kept: the engine's times end in 2106, and begin anew there."""


class StoreLimits(BaseModel):
    """Bounds of a store; the defaults suit one machine."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    retention_days: dict[str, int] = Field(
        default_factory=dict,
        description="Days that rows are kept once stored, by table; 0 keeps them forever.",
    )
    retention_bytes: int | None = Field(
        None,
        ge=1 << 20,
        description="Most bytes on disk of all tables: of more the oldest days go first, of those"
        " with most bytes; none: by age alone.",
    )
    cluster: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_.-]{1,64}$",
        description="Cluster of a ClickHouse server: tables are replicated on its nodes and spread"
        " over its shards; none: one place.",
    )
    readers: int = Field(
        2,
        ge=1,
        le=64,
        description="Queries that run at once, beside as many (at least 3) of those that flows are"
        " looked up by; the rest wait.",
    )
    wait_s: float = Field(1.0, gt=0, description="How long a query waits for its turn, seconds.")
    query_s: float = Field(10.0, gt=0, description="Longest run of one query, seconds.")
    query_rows: int = Field(1_000_000, ge=1, description="Most rows that one query gives.")
    query_memory_bytes: int = Field(
        2 << 30, ge=1 << 20, description="Most memory of a query, bytes."
    )
    insert_memory_bytes: int = Field(
        2 << 30, ge=1 << 20, description="Most memory of an insert, bytes."
    )
    cache_bytes: int = Field(
        256 << 20, ge=1 << 20, description="Size of each index cache of the embedded engine, bytes."
    )

    @field_validator("retention_days")
    @classmethod
    def known_tables(cls, days: dict[str, int]) -> dict[str, int]:
        """Refuse names that are no table, and negative days."""
        for table, kept in days.items():
            if table not in TABLES:
                raise ValueError(f"there is no table {table!r}; accepted: {', '.join(TABLES)}")
            if not 0 <= kept <= MOST_DAYS:
                raise ValueError(f"{table}: {kept} is no number of days; accepted: 0 (for ever) to"
                                 f" {MOST_DAYS:,}")  # fmt: skip
        return days

    def retention(self, table: str) -> int:
        """Days that a table's rows are kept."""
        own = TABLES[table]
        days = self.retention(own.kept_as) if own.kept_as else own.retention_days
        return self.retention_days.get(table, days)
