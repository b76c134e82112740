"""How tables lie on a cluster: replicated, and those that grow with traffic spread over shards.

Without a cluster a table is one table. With one, each sharded table is a replicated `<name>_local`
on every node and a Distributed `<name>` in front of it; rows that merge have one shard. Small
tables that everybody needs whole are replicated to every node.
"""

from dataclasses import dataclass

from pipeline.tables.column import Table

SHARDS = (("flow", "flow"), ("node", "node"), ("src", "cityHash64(src, dst)"),
          ("subject", "cityHash64(subject)"))  # fmt: skip
"""By which a table is spread: the first column that it has, and the expression."""
WHOLE = frozenset({"hops", "hosts", "audit", "alerts", "alerts_told", "silences", "group_log",
                   "group_snapshots", "bus_messages", "captures", "capture_gaps",
                   "readings"})  # fmt: skip
"""Tables of which every node has all rows."""
LOCAL = "_local"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where tables are made: on the nodes of `cluster`, or without one in a single place."""

    database: str = "hopsight"
    cluster: str = ""

    @property
    def clause(self) -> str:
        """What makes a statement one of the whole cluster."""
        return f" ON CLUSTER `{self.cluster}`" if self.cluster else ""

    def sharded(self, table: Table) -> bool:
        """Whether a table lies in parts on several nodes."""
        return bool(self.cluster) and table.name not in WHOLE

    def kept(self, table: Table) -> str:
        """Name of the table that holds the rows."""
        return self.held(table.name)

    def held(self, name: str) -> str:
        """The same by the name that questions use."""
        return f"{name}{LOCAL}" if self.cluster and name not in WHOLE else name

    def engine(self, engine: str, name: str, *, sharded: bool) -> str:
        """The engine of a table that holds rows."""
        if not self.cluster:
            return engine
        kind, _, arguments = engine.partition("(")
        shard = "{shard}/" if sharded else ""
        place = f"'/clickhouse/tables/{shard}{self.database}/{name}', '{{replica}}'"
        more = f", {arguments}" if arguments else ")"
        return f"Replicated{kind}({place}{more}"

    def front(self, table: Table) -> str:
        """The statement that makes the table which questions and inserts name."""
        columns = {column.name for column in table.columns}
        key = next(expression for name, expression in SHARDS if name in columns)
        return (
            f"CREATE TABLE IF NOT EXISTS {table.name}{self.clause} AS {self.kept(table)}\n"
            f"ENGINE = Distributed(`{self.cluster}`, `{self.database}`, {self.kept(table)}, {key})"
        )


ALONE = Layout()
"""One place for everything."""
