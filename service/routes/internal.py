"""What other processes of the same user ask the owner of an embedded store, by its socket only."""

import io
import json
from typing import Any

import anyio.to_thread
import polars as pl
from fastapi import APIRouter, Depends, Request, Response

from pipeline import TABLES, FilterError, StoreBusy, StoreError, UnknownIds, Versions, to_arrow
from service.guard import over_unix_socket
from service.problem import Problem
from service.topology_source import TopologySource

ARROW = "application/vnd.apache.arrow.stream"


async def socket_only(request: Request) -> None:
    """Hide these routes from every request that did not come over the Unix socket."""
    if not over_unix_socket(request.scope):
        raise Problem(404, "there is no such page")


router = APIRouter(
    prefix="/internal/v1", include_in_schema=False, dependencies=[Depends(socket_only)]
)


@router.post("/insert/{table}")
async def insert(request: Request, table: str, token: str) -> dict[str, int]:
    """Insert the rows of an Arrow IPC stream, once for each token."""
    if table not in TABLES:
        raise Problem(404, f"there is no table {table!r}; accepted: {', '.join(TABLES)}")
    body = await request.body()
    state = request.app.state

    def work() -> tuple[int, int]:
        try:
            frame = pl.read_ipc_stream(io.BytesIO(body))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise Problem(422, "the body is no Arrow IPC stream", field="body") from error
        rows: int = state.reader.store.insert(table, frame, token)
        return rows, unknown(frame, state.source) if table == "hop_intervals" else 0

    inserted, lacking = await _in_thread(work)
    state.metrics.count("hopsight_inserted_rows_total", inserted, table=table)
    state.metrics.count("hopsight_unknown_hop_samples_total", lacking)
    return {"rows": inserted}


def unknown(rows: pl.DataFrame, source: TopologySource | None) -> int:
    """Samples of hops whose ids the topology in force then lacks."""
    ids = UnknownIds()
    for topology, part in (source.versions if source else Versions()).split(rows):
        ids.count(part, topology)
    return ids.total


@router.get("/query/{name}")
async def query(request: Request, name: str, parameters: str = "{}") -> Response:
    """The answer to a query by its name, as an Arrow IPC stream; `parameters` is a JSON object."""
    try:
        given = json.loads(parameters)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise Problem(422, "parameters is no JSON object", field="parameters")
    store = request.app.state.reader.store
    body = await _in_thread(lambda: to_arrow(store.query(name, **given)))
    return Response(body, media_type=ARROW)


async def _in_thread(work: Any) -> Any:
    """Run in a thread; the store's own sentence becomes the problem's."""
    try:
        return await anyio.to_thread.run_sync(work)
    except StoreBusy as error:
        raise Problem(503, str(error)) from error
    except (StoreError, FilterError) as error:
        raise Problem(422, str(error)) from error
