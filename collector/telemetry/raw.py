"""The raw columns of a batch, as the walk leaves them, for the expressions that give them units."""

import polars as pl


class Raw:
    """Columns by the names of the wire tables, null where no header wrote them; hops as `h0_...`.

    A column that no frame of the batch wrote is not there.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        """Hold the batch; `hop_count` and `payload_bytes` are always there."""
        self.frame = frame
        self.hops = int(frame["hop_count"].max() or 0) if frame.height else 0  # type: ignore[arg-type]  # an unsigned column

    def has(self, *names: str) -> bool:
        """Whether all of these columns are there."""
        return all(name in self.frame.columns for name in names)

    def available(self, name: str, bits: int) -> pl.Expr:
        """A column of `bits` bits; all ones mean that the sender could not tell, which is null."""
        ones = (1 << bits) - 1
        if self.frame[name].max() != ones:
            return pl.col(name)
        return pl.when(pl.col(name) != pl.lit(ones, self.frame.schema[name])).then(pl.col(name))

    def each_hop(self, name: str) -> list[tuple[int, str]]:
        """(hop, raw name) of a hop column, where it is there."""
        named = ((hop, f"h{hop}_{name}") for hop in range(self.hops))
        return [(hop, each) for hop, each in named if each in self.frame.columns]
