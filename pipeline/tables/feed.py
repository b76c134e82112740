"""Where rows of a table come from that the engine itself fills: what one insert elsewhere adds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Feed:
    """Whatever is inserted into the table `source` adds rows here.

    A column is that of the same name, or what `made` says it is computed as; `where` leaves rows
    out.
    """

    source: str
    made: Mapping[str, str] = field(default_factory=dict)
    where: str = ""

    def view(self, table: str) -> str:
        """Name of the view that fills a table."""
        return f"{table}_of_{self.source}"

    def text(self, names: Iterable[str], source: str, also: str = "") -> str:
        """The question whose answer is added; `source` is the name under which it is read.

        `also` leaves out further rows.
        """
        told = ", ".join(
            f"{self.made[name]} AS {name}" if name in self.made else name for name in names
        )
        kept = " AND ".join(filter(None, (self.where, also)))
        where = f" WHERE {kept}" if kept else ""
        return f"SELECT {told} FROM {source}{where}"  # noqa: S608 - our own names
