"""Erasure: an address is taken out of every table, and what went is told.

Rows that name the address go, and so do those of its flows in tables that know flows by number. It
is a rewrite of the files (a mutation), not a mark.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address

from pipeline.question import address_words
from pipeline.store import Store
from pipeline.tables import TABLES, Table
from pipeline.tables.layout import Layout

OTHER = "%([0157-9a-f][0-9a-f]|[46][07-9a-f]|2[0-9a-d]|3[b-f])"
"""A letter as URLs write it with which no address goes on: no digit, colon, full stop or slash."""
NAMES = ("flows", "verdicts", "observations")
"""Tables that know flows by their addresses."""
ENDS = "(src_hi = {hi} AND src_lo = {lo}) OR (dst_hi = {hi} AND dst_lo = {lo})"
TEXTS = (
    "subject",
    "evidence",
    "prefix",
    "src",
    "dst",
    "labels",
    "matchers",
    "address",
    "path",
    "body",
    "comment",
)
"""Columns of other tables in which an address may stand as text."""
MOST_FLOWS = 5_000
"""Flows that one statement names: the engine reads no longer ones than 256 KiB."""
OLD = "SELECT count() FROM system.parts WHERE database = currentDatabase() AND NOT active"
STATE = "group_snapshots"
"""State of workers: not readable here. It is replaced whole while they work."""


def erase(store: Store, address: IPv4Address | IPv6Address) -> dict[str, int]:
    """Rows that went, by table. Raises StoreError, after which it may be repeated.

    An IPv4 address in the form of IPv6 is that address. The state of workers is told as it is
    (`STATE`), and not changed: a flow leaves it when it ends.
    """
    address = getattr(address, "ipv4_mapped", None) or address
    hi, lo = address_words(address)
    layout = Layout(store.address.database, store.limits.cluster or "")
    made: dict[str, int] = {}
    with store.alone() as connection:
        told: set[int] = set()
        for name in NAMES:
            where = ENDS.format(hi=hi, lo=lo)
            rows = connection.rows(f"SELECT DISTINCT flow FROM {name} WHERE {where}")  # noqa: S608 - numbers
            told |= {int(flow) for (flow,) in rows}
        # What tells the flows goes last, so that a repeat still finds them.
        for table in sorted(TABLES.values(), key=lambda each: each.name in NAMES):
            for where in conditions(table, hi, lo, str(address), sorted(told)):
                [(count,)] = connection.rows(f"SELECT count() FROM {table.name} WHERE {where}")  # noqa: S608 - numbers
                made[table.name] = made.get(table.name, 0) + int(count)
                if count:
                    kept = f"{layout.kept(table)}{layout.clause}"
                    connection.command(
                        f"ALTER TABLE {kept} DELETE WHERE {where} SETTINGS mutations_sync = 2"
                    )
        [(left,)] = connection.rows(f"SELECT uniqExact(place, number) FROM {STATE}")  # noqa: S608 - our own name
        made[STATE] = int(left)
    return made


def files_of_before(store: Store) -> int:
    """Parts that were rewritten and whose files are still on the disk, with all that was in them.

    The engine removes them by itself while the store is open.
    """
    with store.alone() as connection:
        return int(connection.rows(OLD)[0][0])


def conditions(table: Table, hi: int, lo: int, text: str, flows: list[int]) -> Iterator[str]:
    """Which rows of a table go, in turns; none where no row can."""
    columns = {column.name for column in table.columns}
    if "src_hi" in columns:
        yield ENDS.format(hi=hi, lo=lo)
    elif "flow" in columns:
        for at in range(0, len(flows), MOST_FLOWS):
            yield f"flow IN ({', '.join(map(str, flows[at : at + MOST_FLOWS]))})"
    elif parts := [has(name, text) for name in TEXTS if name in columns]:
        yield " OR ".join(parts)


def has(column: str, text: str) -> str:
    """Whether a text names an address, and not a longer one that begins or ends like it.

    Letters of either case, and the form with all zeros, name it too, and an IPv4 address that of
    IPv6; a sentence may end behind it, and a letter before it be written as its number, as URLs and
    JSON do.
    """
    address = ip_address(text)
    forms = dict.fromkeys((text, address.exploded))
    if isinstance(address, IPv4Address):
        mapped, (high, low) = IPv6Address(f"::ffff:{text}"), divmod(int(address), 1 << 16)
        forms |= dict.fromkeys((f"::ffff:{text}", f"::ffff:{high:x}:{low:x}", mapped.exploded))
    plain = "|".join(each.replace(".", r"\\.").replace(":", "(:|%3a)") for each in forms)
    before = rf"^|[^0-9a-f:.%]|{OTHER}|%2f|\\\\u[0-9a-f]{{4}}"
    ends = rf"$|[^0-9a-f:./%]|{OTHER}|%($|[^0-9a-f]|[0-9a-f]($|[^0-9a-f]))|\\.($|[^0-9])"
    more = "((/|%2f)(32|128)|(:|%3a)[0-9]+)?"
    return f"match({column}, '(?i)({before})({plain}){more}({ends})')"
