"""What a TE controller waits for: 10,000 pairs of sites out of a store, and unchanged polls.

The store is generated: 100 x 100 sites in one class, ten seconds, and 2,000 links; histograms
as wide as those of a busy port. Requests go through the whole application in this process, without
a client or a socket (`within.py`). Sizes are compressed bytes on disk after merging, a row of any
source counted.
"""

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np
import polars as pl
import uvloop
from bar import end, met
from within import Application

from pipeline import TABLES, Store
from service.app import create_app
from service.settings import Settings

T0, S = 1_760_000_000_000_000_000, 10**9
SITES, SECONDS, LINKS = 100, 10, 2_000
PULL_MS, POLL_MS, LINK_BYTES = 500.0, 5.0, 200
PATHS = "/api/v1/te/paths"
TURNS = 5
NOT_MODIFIED = 304
WIDTH = {"u": (70, 9), "utilization": (70, 9), "abw": (110, 12), "delay": (60, 14)}
"""First bucket and number of buckets of each generated histogram."""


def measures(rows: int, seed: int) -> dict[str, pl.Series]:
    """Histograms, maxima, bytes and distinct counts of so many rows."""
    random = np.random.default_rng(seed)
    made: dict[str, pl.Series] = {}
    for name, (first, width) in WIDTH.items():
        shift = random.integers(0, 12, (rows, 1))
        buckets = (first + shift + np.arange(width)).astype(np.uint8)
        counts = random.poisson(40 * np.exp(-np.abs(np.linspace(-2, 2, width))), (rows, width))
        parts = {"bucket": buckets, "samples": counts.astype(np.uint64)}
        lists = {key: pl.Series(key, part).arr.to_list() for key, part in parts.items()}
        made[f"{name}_hist"] = pl.DataFrame(lists).to_struct(f"{name}_hist")
    registers = np.sort(random.integers(0, 256, (rows, 24)).astype(np.uint8), axis=1)
    ranks = {"register": registers, "rank": random.geometric(0.5, (rows, 24)).astype(np.uint8)}
    lists = {key: pl.Series(key, part).arr.to_list() for key, part in ranks.items()}
    flows = pl.DataFrame(lists).to_struct("flows")
    return made | {
        "samples": pl.Series([400] * rows), "data_frames": pl.Series([450] * rows), "flows": flows,
        "u_max_n": pl.Series(random.integers(10**8, 2 * 10**9, rows)),
        "utilization_max_n": pl.Series(random.integers(10**8, 10**9, rows)),
        "abw_min_bps": pl.Series(random.integers(10**8, 10**10, rows)),
        "abw_max_bps": pl.Series(random.integers(10**10, 10**11, rows)),
        "delay_max_ns": pl.Series(random.integers(10**3, 10**6, rows)),
        "data_bytes": pl.Series(random.integers(10**5, 10**8, rows)),
    }  # fmt: skip


def fill(store: Store) -> None:
    """Seconds of paths and links."""
    sites = [f"site{n:03}" for n in range(SITES)]
    pairs = pl.DataFrame({"src": sites}).join(pl.DataFrame({"dst": sites}), how="cross")
    links = pl.DataFrame({"node": np.arange(LINKS) // 64, "port": np.arange(LINKS) % 64})
    tables = {"path_seconds": pairs, "link_seconds": links}
    made = {name: rows.with_columns(**measures(rows.height, 1)) for name, rows in tables.items()}
    for second in range(SECONDS):
        for table, generated in made.items():
            time = pl.lit(T0 + second * S).alias("time_ns")
            rows = generated.with_columns(time, pl.lit("int").alias("source"))
            if table == "path_seconds":
                rows = rows.with_columns(pl.lit("site").alias("scope"))
            store.insert(table, rows, f"{table}/{second}")


def bytes_per_row(store: Store, table: str) -> float:
    """Compressed bytes of a row, merged."""
    store._writer.command(f"OPTIMIZE TABLE {table} FINAL")  # noqa: SLF001 - no verb merges
    told = (
        "SELECT sum(data_compressed_bytes) / sum(rows) FROM system.parts"
        " WHERE active AND table = {table:String}"
    )
    return float(store._writer.rows(told, table=table)[0][0])  # noqa: SLF001 - nor tells sizes


async def asked(store: Store) -> None:
    """Requests; the median counts. Each is another time inside the same cell: nothing is kept."""
    client = Application(create_app(Settings(), store))
    for width in ("1s", "1m"):
        for form in ("json", "arrow", "csv"):
            spent, worked, size = [], [], 0
            for turn in range(TURNS):
                given = {"interval": width, "limit": 100_000, "format": form} | {
                    "from": T0 + turn, "to": T0 + S - turn,
                }  # fmt: skip
                begun, work = perf_counter(), process_time()
                answer = await client.get(PATHS, given)
                spent.append((perf_counter() - begun) * 1e3)
                worked.append((process_time() - work) * 1e3)
                size = len(answer.body)
            what = f"{SITES**2:,} pairs at {width} as {form}, {size / 1e6:.1f} MB"
            what += f" ({median(worked):.0f} ms of processors)"
            told(what, median(spent), PULL_MS)
    await polled(client)


async def polled(client: Application) -> None:
    """The same question again, while nothing was stored."""
    given, spent = {"by": "site", "limit": 100_000}, []
    tag = (await client.get(PATHS, given)).headers["etag"]
    for _ in range(TURNS * 5):
        begun = perf_counter()
        answer = await client.get(PATHS, given, {"if-none-match": tag})
        spent.append((perf_counter() - begun) * 1e3)
        if answer.status != NOT_MODIFIED:
            raise SystemExit(f"an unchanged poll was answered {answer.status}")
    told("unchanged poll (304)", median(spent), POLL_MS)


def told(what: str, found: float, most: float, unit: str = "ms") -> None:
    """One figure beside its bar."""
    times = f"{most / found:.1f} times inside"
    print(f"{what}: {found:.1f} {unit}, bar {most:g} {unit}, {times}: {met(found <= most, what)}")


def main() -> None:
    """Fill, measure, print."""
    with tempfile.TemporaryDirectory() as place, Store(f"chdb://{Path(place) / 'db'}") as store:
        store.migrate()
        begun = perf_counter()
        fill(store)
        rows = SECONDS * (SITES**2 + LINKS)
        print(
            f"{rows:,} rows stored and rolled up at {rows / (perf_counter() - begun):,.0f} rows/s"
        )
        uvloop.run(asked(store))
        for table in ("link_seconds", "path_seconds"):
            told(
                f"{table}, a row of {len(TABLES[table].columns)} columns",
                bytes_per_row(store, table),
                LINK_BYTES,
                "bytes",
            )
    end()


if __name__ == "__main__":
    main()
