"""`hopsight archive`: keep the observations of flows past their retention, as a trace."""

import json as json_format
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from service.commands.settings import chosen
from service.failure import ExitCode, Failure
from service.observation_output import File
from service.stored_trace import StoredTrace
from service.text import several
from service.trace_file import ENDINGS


def run(
    *,
    flows: Sequence[str],
    output: Path,
    from_: str | None,
    to: str | None,
    network: Mapping[str, Any],
    store: str | None,
    json: bool,
) -> None:
    """Write what the store holds of the flows; `hopsight replay` reads it again.

    Of several flows with the same ends all are kept; `network` (tenant, vrf, vni) leaves out some.
    """
    if output.suffix not in ENDINGS:
        accepted = " or ".join(ENDINGS)
        raise Failure(ExitCode.USAGE, f"--output {output}: the name must end in {accepted}")
    settings = chosen(store={"dsn": store})
    trace = StoredTrace(settings.store.dsn, settings.store, flows, from_, to, network, every=True)
    parquet = output.suffix == ENDINGS[0]
    with trace.parts() as rows, File((), output, parquet=parquet) as file:
        file.put(rows)
    first, last = rows["time_ns"][0], rows["time_ns"][-1]
    conversations = rows["conversation"].n_unique()  # both directions of a flow count once
    if json:
        kept = {"file": str(output), "observations": rows.height, "from_ns": first, "to_ns": last,
                "flows": conversations}  # fmt: skip
        typer.echo(json_format.dumps(kept))
        return
    span = (last - first) / 1e9
    count = f"{rows.height:,} observations over {span:.6f} s, of {several(conversations, 'flow')}"
    typer.echo(f"{output}: {count}", err=True)
