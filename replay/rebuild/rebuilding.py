"""Rebuilding: from sightings and topology to a scene, and to what was seen of it."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from collector import TCP
from pipeline import Topology, Value
from replay.rebuild import link
from replay.rebuild.demand import offers, totals
from replay.rebuild.outcome import Outcome
from replay.rebuild.round_trip import samples, waits
from replay.rebuild.route import Routes, flows_of, routes
from replay.rebuild.scene import DCTCP, HPCC, UNTOLD, Scene
from replay.rebuild.sighting import Sightings
from replay.rebuild.witness import witnessed

FLOW = pl.int_range(pl.len(), dtype=pl.Int64).alias("flow")
FIRST_WINDOW = 10
FASTEST_BPS = 400_000_000_000
"""A host's rate where its frames show none: beyond every line."""
PERCENT = 100
UNITS = 100
"""Different values that tell a unit."""
CLASSIC, AUTO = "classic", "auto"


class Rebuilt(NamedTuple):
    """The scene, what was seen of it, and the mode of its queue: by stacks or by round trips."""

    scene: Scene
    seen: Outcome


class Lines(NamedTuple):
    """What links and frames are, as found: ports, hosts, flows with octets; sentences."""

    ports: pl.DataFrame
    hosts: pl.DataFrame
    flows: pl.DataFrame
    notes: tuple[str, ...]


def rebuilt(
    seen: Sightings,
    topology: Topology | None,
    parameters: Mapping[str, Mapping[str, Value]],
    t_ns: int = 0,
) -> Rebuilt:
    """Infer the scene. ValueError says why nothing can be rebuilt.

    `t_ns` is HPCC++'s T where settings or topology know it.
    """
    if seen.flows.is_empty() and seen.roce:
        raise ValueError(
            f"{seen.roce:,} frames are RoCE, whose queue pairs the simulator cannot play"
        )
    if seen.flows.is_empty() or seen.acks.is_empty():
        raise ValueError(
            "no data whose acknowledgments were seen as well: there is no loop to close"
        )
    ways = routes(seen, topology)
    last = pl.Series("last", ways.flows["forward"].list.last())
    flows = pl.concat([seen.flows, ways.flows], how="horizontal").with_columns(last)
    whole_trips = samples(seen.sends, seen.acks)
    if whole_trips.is_empty():
        raise ValueError("no round trip was seen whole: there is no loop to close")
    sampled = waits(whole_trips, flows)
    flows = with_bases(flows, sampled, seen)
    lines = lined(seen, ways, flows, sampled)
    times = pl.concat([seen.flows["started_ns"], seen.sends["time_ns"], seen.acks["time_ns"]])
    start_ns, end_ns = int(times.to_numpy().min()), int(times.to_numpy().max())
    base = flows.select(FLOW, "base_ns")
    first = int(parameters.get(DCTCP, {}).get("initial_window", FIRST_WINDOW))
    offered = offers(seen, base, first).with_columns(pl.col("at_ns") - start_ns)
    whole = totals(seen).select("flow", total=pl.when("complete").then("total"))
    told = described(lines.flows, parameters, t_ns, start_ns).join(
        whole, on="flow", how="left", maintain_order="left"
    )
    chosen, said = controlled(flows, parameters)
    marked, more = marking(seen, sampled, lines)
    scene = Scene(
        start_ns, end_ns - start_ns + 1, lines.hosts, marked, told.drop("flow"), offered, chosen,
        units=units_of(seen),
        notes=(*ways.notes, *lines.notes, *said, *more, *warned(flows, seen.roce)),
    )  # fmt: skip
    return Rebuilt(scene, witnessed(seen, scene, sampled))


def with_bases(flows: pl.DataFrame, sampled: pl.DataFrame, seen: Sightings) -> pl.DataFrame:
    """Flows with their base round trip; where a flow has no sample, the least of all.

    A tap away from its senders misses the way back to them, which the handshake tells.
    """
    own = sampled.group_by("flow").agg(pl.col("base_ns").first())
    least = int(sampled["base_ns"].to_numpy().min())
    behind = seen.flows["behind_ns"].fill_null(0)
    return flows.with_columns(FLOW).join(own, on="flow", how="left", maintain_order="left").drop(
        "flow"
    ).with_columns(base_ns=pl.col("base_ns").fill_null(least) + behind)  # fmt: skip


def lined(seen: Sightings, ways: Routes, flows: pl.DataFrame, sampled: pl.DataFrame) -> Lines:
    """Rates that the topology does not know, and octets on the wire."""
    acks = seen.acks.join(flows.select(FLOW, "last", "src"), on="flow", maintain_order="left")
    ports, octets, notes = ways.ports, flows["data_octets"].to_list(), []
    bps = ports["bps"].to_list()
    for (number,), part in acks.group_by("last", maintain_order=True):
        port = int(number)
        rate = link.delivered_bps(part)
        own = [row for row, last in enumerate(flows["last"]) if last == port]
        if not bps[port]:
            full = max(octets[row] / flows["payload"][row] for row in own)
            bps[port] = round(rate * full) or FASTEST_BPS
            notes.append(
                f"the rate of the port {ports['name'][port]} is taken from the fastest that"
                f" data was acknowledged: {bps[port] / 1e9:.4g} Gb/s"
            )
        waits_ns = sampled.filter(last=port)["wait_ns"].to_numpy()
        waited = float(np.median(waits_ns)) if waits_ns.size else 0.0
        for row in own if link.is_full(waited, octets[own[0]], bps[port]) else []:
            octets[row] = link.wire_octets(octets[row], flows["payload"][row], rate, bps[port])
    sends = seen.sends.join(flows.select(FLOW, "src"), on="flow", maintain_order="left")
    nics = ways.hosts["nic_bps"].to_list()
    for (number,), part in sends.group_by("src", maintain_order=True):
        nics[int(number)] = nics[int(number)] or link.nic_bps(part)
    most = max([each for each in (*bps, *nics) if each], default=FASTEST_BPS)
    nics = [min(each, FASTEST_BPS) or most for each in nics]
    bps = [each or most for each in bps]
    wire = pl.Series("octets", octets, dtype=pl.Int64)
    lines = dict.fromkeys((*bps, *nics), 0)
    sends = sends.drop("octets").with_columns(octets=wire.gather(sends["flow"]))
    for (number,), part in sends.group_by("src", maintain_order=True):
        nominal = nics[int(number)]
        lines[nominal] = lines[nominal] or link.line_bps(part, nominal)
    line = {nominal: told or nominal for nominal, told in lines.items()}
    return Lines(
        ports.with_columns(
            bps=pl.Series(bps, dtype=pl.Int64), line_bps=pl.Series([line[each] for each in bps])
        ),
        ways.hosts.with_columns(
            nic_bps=pl.Series(nics, dtype=pl.Int64),
            line_bps=pl.Series([line[each] for each in nics]),
        ),
        flows.with_columns(data_octets=pl.Series(octets, dtype=pl.Int64)),
        tuple(notes),
    )


def described(
    flows: pl.DataFrame, parameters: Mapping[str, Mapping[str, Value]], t_ns: int, start_ns: int
) -> pl.DataFrame:
    """The flows of the scene; T is HPCC++'s as told, or the base round trip."""
    given = int(parameters.get(HPCC, {}).get("T_ns", 0)) or t_ns
    hpcc = pl.col("algorithm").cast(pl.String) == HPCC
    ecn = pl.col("ecn")
    algorithm = pl.when(hpcc).then(pl.lit(HPCC)).when(ecn).then(pl.lit(DCTCP)).otherwise(
        pl.lit(UNTOLD)
    )  # fmt: skip
    return flows.select(
        FLOW,
        *(name for name in ("src_hi", "src_lo", "sport", "dst_hi", "dst_lo", "dport")),
        "src", "dst", "forward", "back", "handshake", "payload", "data_octets",
        pl.col("ack_octets").fill_null(pl.col("data_octets") - pl.col("payload")),
        "window", pl.col("each").fill_null(1), "base_ns",
        algorithm=algorithm,
        start_ns=pl.col("started_ns") - start_ns,
        t_ns=pl.lit(given, pl.Int64) if given else pl.col("base_ns"),
    )  # fmt: skip


def controlled(
    flows: pl.DataFrame, parameters: Mapping[str, Mapping[str, Value]]
) -> tuple[dict[str, dict[str, Value]], tuple[str, ...]]:
    """Parameters of the senders: as told, and the dialect that their packets show if none is."""
    told = {name: dict(values) for name, values in parameters.items()}
    dialects = flows["dialect"].cast(pl.String).drop_nulls()
    seen = str(dialects.mode().sort().first() or "none")
    asked = str(told.get(DCTCP, {}).get("dialect", AUTO))
    played = seen if asked == AUTO else asked
    told.setdefault(DCTCP, {})["dialect"] = "linux" if played in ("none", CLASSIC) else played
    notes: tuple[str, ...] = ()
    if CLASSIC in (seen, asked):
        notes = ("senders answer marks as classic ECN does: they are played as DCTCP",)
    elif asked not in (AUTO, seen) and seen != "none":
        notes = (f"senders are played as {asked}, as told; their frames were read as {seen}",)
    return told, notes


def marking(
    seen: Sightings, sampled: pl.DataFrame, lines: Lines
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Ports with K and the buffer, as marks and losses show them."""
    ports = lines.ports.with_columns(
        mark_bytes=pl.lit(None, pl.Int64), room_bytes=pl.lit(None, pl.Int64)
    )
    flows = lines.flows.select(FLOW, "last", "data_octets", "each", "ecn")
    told = sampled.drop("last").join(flows, on="flow", maintain_order="left", suffix="_wire")
    marks, rooms, notes = {}, {}, []
    for (number,), part in told.group_by("last", maintain_order=True):
        port = int(number)
        bps, name = int(ports["bps"][port]), ports["name"][port]
        capable = part.filter("ecn")
        found = link.threshold(
            capable["wait_ns"].to_numpy(), capable["ece"].to_numpy().astype(np.bool_)
        )
        if found is not None:
            frame = float(part["data_octets"].to_numpy().max())
            marks[port] = max(round(link.bytes_of(found.wait_ns, bps) - frame / 2), 0)
            unsure = f", unsure by {PERCENT * found.wrong:.0f} % of its marks"
            notes.append(
                f"the port {name} marks above {marks[port]:,} bytes"
                + unsure * (found.wrong > link.MOST_WRONG)
            )
        own = flows.filter(last=port)["flow"]
        sends = seen.sends.filter(pl.col("flow").is_in(own.implode()))
        lost, wait = link.buffer_wait(sends, part)
        if wait is not None:
            rooms[port] = round(link.bytes_of(wait, bps))
            notes.append(f"the port {name} drops what is beyond {rooms[port]:,} bytes")
        elif lost:
            notes.append(
                f"{lost:,} segments were sent again towards {name} where no full buffer shows:"
                " these losses are not played"
            )
    known = pl.int_range(pl.len(), dtype=pl.Int64)
    return ports.with_columns(
        mark_bytes=known.replace_strict(marks, default=None, return_dtype=pl.Int64),
        room_bytes=known.replace_strict(rooms, default=None, return_dtype=pl.Int64),
    ), tuple(notes)


def units_of(seen: Sightings) -> tuple[int, int]:
    """Units of qlen and txBytes in stacks: what divides all that they tell."""
    made = []
    for name in ("qlen_bytes", "tx_bytes"):
        columns = [each for each in seen.acks.columns if each.endswith(name)]
        told = [seen.acks[each].drop_nulls().unique().to_numpy() for each in columns]
        values = np.concatenate([np.zeros(1, np.uint64), *told]).astype(np.int64)
        made.append(max(int(np.gcd.reduce(values)), 1) if values.size > UNITS else 1)
    return made[0], made[1]


def warned(flows: pl.DataFrame, roce: int) -> tuple[str, ...]:
    """What the tap cannot show."""
    behind = int(flows["marked_seen"].fill_null(value=False).sum())
    middle = flows.filter(~pl.col("handshake"), pl.col("protocol") == TCP).height
    said = []
    if behind:
        said.append(
            f"of {flows_of(behind)} the tap stands behind a queue that marks: how long that was is"
            " not in their round trips"
        )
    if middle:
        said.append(f"{flows_of(middle)} began before the capture, played from the first window on")
    if roce:
        said.append(
            f"{roce:,} frames of RoCE are not played: what they took of links is missing there"
        )
    return tuple(said)
