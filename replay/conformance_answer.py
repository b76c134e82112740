"""The answer to "did the ends do what they should": a judgement as plain data."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from replay.conformance_rule import BY_NAME
from replay.judgement import Judgement

ENDS = ("src", "sport", "dst", "dport")
REACTIONS = ("due", "answered", "unanswered", "prompt", "late", "twice", "unjudged")
WINDOWS = ("rounds", "rounds_over", "mendings", "cuts", "cuts_kept", "sends", "sends_over",
           "sends_late")  # fmt: skip
RATIOS = ("ratio_p50", "ratio_p95", "ratio_most")
RECEIVER = ("verdict", "evidence", "sure", "judged", "wrong", "ece_missing", "ece_unexpected")
ORDER = ("breaks", "undecided", "conforms", "unasked")
"""How senders stand, those first that ask for a look."""
IDS = {"id_following": "back_id_next", "id_missing": "back_id_missing", "id_odd": "back_id_odd"}


def answer(
    judgement: Judgement, sources: Sequence[str], keys: pl.DataFrame, unplaced: int = 0
) -> dict[str, Any]:
    """`flows`, `findings` and `undecided` of the flows that `keys` names, in plain data.

    Flows come as their findings do, then by `ORDER`. `unplaced` decisions could not be judged,
    since the rows that drove them are missing.
    """
    named = {row["flow"]: {end: row[end] for end in ENDS} for row in keys.iter_rows(named=True)}
    findings = [
        {**named[row["flow"]], **told(row, sources)}
        for row in judgement.findings.iter_rows(named=True)
        if row["flow"] in named
    ]
    undecided = [
        {**named[row["flow"]], "point": row["point"], "what": row["what"], "why": row["sentence"],
         "reason": row["reason"], **place(row["source"], row["frame"], sources)}
        for row in judgement.undecided.iter_rows(named=True)
        if row["flow"] in named
    ]  # fmt: skip
    flows = [
        {**named[row["flow"]], **conduct(row, judgement)}
        for row in seen_best(judgement.senders).iter_rows(named=True)
        if row["flow"] in named
    ]
    held = list(dict.fromkeys(tuple(each[end] for end in ENDS) for each in findings))
    place_of = {ends: at for at, ends in enumerate(held)}
    flows.sort(
        key=lambda each: (
            place_of.get(tuple(each[end] for end in ENDS), len(held)), ORDER.index(each["sender"]),
        )
    )  # fmt: skip
    return {
        "flows": flows, "findings": findings, "undecided": undecided,
        "decisions_without_row": unplaced,
    }  # fmt: skip


def seen_best(senders: pl.DataFrame) -> pl.DataFrame:
    """Each sender from the point that tells most of it, those that were asked for something."""
    asked = (pl.col("due") > 0) | (pl.col("sends") > 0) | (pl.col("ect") > 0)
    rows = senders.filter((pl.col("segments") > 0) & asked)
    order = ("flow", "reactions_judged", "sends", "segments", "point")
    ranked = rows.sort(order, descending=[False, True, True, True, False])
    return ranked.unique("flow", keep="first", maintain_order=True)


def told(row: Mapping[str, Any], sources: Sequence[str]) -> dict[str, Any]:
    """One finding."""
    rule = BY_NAME[row["finding"]]
    frames = [
        place(each["source"], each["frame"], sources)
        | cause(each["cause_source"], each["cause_frame"], sources)
        for each in row["frames"] or ()
    ]
    return {
        "point": row["point"], "finding": rule.name, "about": rule.about, "sure": row["sure"],
        "chance_log10": row["chance_log10"], "count": row["count"], "cases": row["cases"],
        "unit": rule.unit, "meaning": rule.meaning,
        "document": rule.document, "frames": frames,
    }  # fmt: skip


def place(source: int, frame: int, sources: Sequence[str]) -> dict[str, Any]:
    """A frame of a source, null where none is known."""
    known = 0 <= source < len(sources) and frame >= 0
    return {"source": sources[source] if known else None, "frame": frame if known else None}


def cause(source: int, frame: int, sources: Sequence[str]) -> dict[str, Any]:
    """The frame that asked for what another shows."""
    found = place(source, frame, sources)
    return {"cause_source": found["source"], "cause_frame": found["frame"]}


def conduct(row: Mapping[str, Any], judgement: Judgement) -> dict[str, Any]:
    """What is known of one sender, its receiver and the way back."""
    receiver = {name: row.get(name) for name in RECEIVER}
    if receiver["verdict"] in (None, "unknown"):
        receiver["sure"] = None
    return {
        "point": row["point"],
        "sender": standing(row, judgement),
        "segments": row["segments"],
        "acks": row["acks"],
        "reactions": {name: row[name] for name in REACTIONS} if row["reactions_judged"] else None,
        "window": {name: row[name] for name in (*WINDOWS, *RATIOS)},
        "rate": {"rounds": row["paced"], "rounds_over": row["paced_over"]},
        "receiver": receiver,
        "acknowledgments": {name: row[column] for name, column in IDS.items()},
    }


def standing(row: Mapping[str, Any], judgement: Judgement) -> str:
    """breaks, undecided (also: what was due was open at the end), unasked or conforms.

    Of one that is unasked nothing asked for a reaction.
    """
    mine = pl.col("flow") == row["flow"]
    about = judgement.findings.filter(mine & (pl.col("about") == "sender"))
    if about.height:
        return "breaks"
    if row["hpcc"]:
        return "conforms" if row["sends"] and not row["w_doubt"] else "undecided"
    if not row["reactions_judged"]:
        return "undecided" if row["echoes"] or not row["both"] else "unasked"
    if not row["due"]:
        return "unasked"
    return "conforms" if row["answered"] + row["unanswered"] else "undecided"
