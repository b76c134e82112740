"""Judgement: accounts of senders and receivers in, findings ranked by how sure they are out.

Nobody is accused on what a conforming end may do, or a capture may miss: of n cases in which k went
against a rule, `chance_log10` bounds how probable so many are if each did so with the rule's share
of error (Chernoff), and `sure` is one less that, which soon is 1 to all digits: findings are ranked
by the former. What cannot be decided is said with the frame from which on.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from pipeline import DECISIONS
from replay.conduct import MENDED_LARGER, MENDING, MID_FLOW, Act
from replay.conformance import Accounts
from replay.conformance_rule import BY_NAME, UNDECIDED
from replay.step import WHY

SURE = 0.95
"""From here on a finding is an accusation."""
NEARLY_ALL = 0.95
"""Share of ACKs with ECE from which on it is asked whether the path marks so much."""
FAR, NEAR = 2, 10
"""The tap is near enough to a sender within half a round trip, to a receiver within a tenth."""
HIDDEN = 0.02
"""Share of error of one CE behind the tap that no queue delayed: all ECE until CWR may be of it."""
FULL, ENOUGH_FASTER = 2, 3
"""Times T of the fastest ACK, and rounds faster than the line rate, from which on W is in doubt."""
ENOUGH_IDS, MOST_ODD = 20, 0.02
"""Packets whose identifications follow each other before a jump means something."""
FRAME = pl.List(pl.Struct({"source": pl.Int64, "frame": pl.Int64, "cause_source": pl.Int64,
                           "cause_frame": pl.Int64}))  # fmt: skip
KEY = ("flow", "point")
NEVER = pl.lit(None, FRAME)


class Judgement(NamedTuple):
    """A row a sender and point in `senders`; `findings` ranked; `undecided` with frames."""

    senders: pl.DataFrame
    findings: pl.DataFrame
    undecided: pl.DataFrame


def judged(accounts: Accounts, *, step_known: bool = True) -> Judgement:
    """Judge the accounts of a run; of HPCC++ W only where the step W_ai of senders is known."""
    senders = placed(accounts.senders, step_known).filter(
        (pl.col("segments") > 0) | (pl.col("acks") > 0)
    )
    if not accounts.receivers.is_empty() and accounts.receivers.width > len(KEY):
        senders = senders.join(accounts.receivers, on=KEY, how="left")
    else:
        senders = senders.with_columns(pl.lit(None, pl.String).alias("verdict"))
    parts = [
        *of_senders(senders, accounts.acts),
        *of_receivers(senders, accounts.acts),
        of_path(senders, accounts),
    ]
    rows = pl.concat([part for part in parts if part.height] or parts[:1])
    ranked = rows.sort("chance_log10", "count", "flow", descending=[False, True, False])
    findings = ranked.unique(["flow", "finding"], keep="first", maintain_order=True)
    return Judgement(senders, findings, undecided(senders))


def placed(senders: pl.DataFrame, step_known: bool) -> pl.DataFrame:
    """Whether reactions of a sender can be judged from where the tap stands, and W of HPCC++."""
    known = (pl.col("shaken") == 1) & (pl.col("lag_ns") >= 0)
    beside = (pl.col("near") == 1) | (known & (pl.col("lag_ns") * FAR <= pl.col("rtt_ns")))
    back = (pl.col("back_lag_ns") >= 0) & (pl.col("back_lag_ns") * NEAR <= pl.col("rtt_ns"))
    both = (pl.col("segments") > 0) & (pl.col("acks") > 0)
    base = pl.col("fastest_ns") > pl.col("base_ns") * FULL
    line = pl.col("faster") >= ENOUGH_FASTER
    doubt = pl.when(not step_known).then(1).when(base).then(2).when(line).then(3).otherwise(0)
    return senders.with_columns(
        pl.when(hpcc=1).then(doubt).otherwise(0).alias("w_doubt"),
        beside.alias("beside"),
        (known & back).fill_null(value=False).alias("at_receiver"),
        (both & beside & (pl.col("ce") == 0) & (pl.col("refused") == 0) & (pl.col("hpcc") == 0))
        .fill_null(value=False)
        .alias("reactions_judged"),
        both.alias("both"),
    )


def finding(
    rows: pl.DataFrame, name: str, count: pl.Expr, cases: pl.Expr, frames: pl.Expr = NEVER,
    least_chance: pl.Expr | None = None,
) -> pl.DataFrame:  # fmt: skip
    """The rows of one rule: `count` of `cases` went against it.

    Where cases are not independent, log10 of the chance is not below `least_chance`.
    """
    rule = BY_NAME[name]
    told = rows.select(
        *KEY, pl.lit(name).alias("finding"), pl.lit(rule.about).alias("about"),
        count.cast(pl.Int64).alias("count"), cases.cast(pl.Int64).alias("cases"),
        frames.cast(FRAME).alias("frames"),
        (pl.lit(-math.inf) if least_chance is None else least_chance).alias("floor"),
    )  # fmt: skip
    told = told.filter(pl.col("count") >= rule.least)
    bound = pl.max_horizontal(chance_log10(rule.error), "floor").alias("chance_log10")
    return told.with_columns(bound).drop("floor").with_columns(sure()).filter(
        pl.col("sure") >= SURE
    )  # fmt: skip


def sure() -> pl.Expr:
    """1 less the chance."""
    return (1 - pl.lit(10.0).pow(pl.col("chance_log10"))).alias("sure")


def chance_log10(error: float) -> pl.Expr:
    """log10 of the bound of how probable so many are if that share is an error."""
    cases = pl.col("cases")
    share = pl.col("count") / cases
    against = share * (share / error).log()
    rest = pl.when(share < 1).then((1 - share) * ((1 - share) / (1 - error)).log()).otherwise(0.0)
    bound = -(cases * (against + rest)) / math.log(10)
    return pl.when(share > error).then(bound).otherwise(0.0)


def with_frames(rows: pl.DataFrame, acts: pl.DataFrame, act: Act) -> pl.DataFrame:
    """The rows with the frames of an act."""
    own = acts.filter(pl.col("act") == act.value).group_by(KEY, maintain_order=True)
    names = ("source", "frame", "cause_source", "cause_frame")
    listed = own.agg(pl.struct(pl.col(name).cast(pl.Int64) for name in names).alias("frames"))
    return rows.drop("frames", strict=False).join(listed, on=KEY, how="left")


def of_senders(senders: pl.DataFrame, acts: pl.DataFrame) -> Sequence[pl.DataFrame]:
    """What senders are found to do."""
    rows = senders.filter("reactions_judged")
    missed, kept = with_frames(rows, acts, Act.UNANSWERED), pl.col("cuts_kept")
    owed = pl.col("unanswered") + pl.col("answered")
    dctcp = (pl.col("stated") == 1) | (pl.col("verdict") == "dctcp").fill_null(value=False)
    dctcp &= pl.col("classic") == 0
    stays = dctcp & (kept >= BY_NAME["ece_ignored"].least) & (kept * 2 > pl.col("cuts"))
    ignored = (pl.col("unanswered") * 2 > owed) & stays
    frames = pl.col("frames")
    unanswered = pl.col("unanswered")
    reacting = rows.filter(dctcp & (pl.col("answered") > unanswered))
    paced = senders.filter(hpcc=1, w_doubt=0)
    sends, over, late = pl.col("sends"), pl.col("sends_over"), pl.col("sends_late")
    tardy = late * 2 > over
    beyond = with_frames(paced, acts, Act.OVER_WINDOW)
    return (
        finding(missed.filter(ignored), "ece_ignored", unanswered, owed, frames),
        finding(missed.filter(~ignored), "cwr_missing", unanswered, owed, frames),
        finding(with_frames(rows, acts, Act.LATE), "reaction_late", pl.col("late"),
                pl.col("late") + pl.col("prompt"), frames),
        finding(with_frames(rows, acts, Act.TWICE), "cut_twice", pl.col("twice"),
                pl.col("twice") + pl.col("answered"), frames),
        finding(with_frames(reacting, acts, Act.CUT_KEPT), "cut_missing", kept, pl.col("cuts"),
                frames),
        finding(beyond.filter(~tardy), "window_exceeded", over, sends, frames),
        finding(beyond.filter(tardy), "window_late", late, pl.col("sends_less"), frames),
        finding(with_frames(paced, acts, Act.OVER_RATE), "rate_exceeded", pl.col("paced_over"),
                pl.col("paced"), frames),
    )  # fmt: skip


def of_receivers(senders: pl.DataFrame, acts: pl.DataFrame) -> Sequence[pl.DataFrame]:
    """What receivers are found to do."""
    if "judged" not in senders.columns:
        return ()
    rows = senders.with_columns(named_frames("ece_missing_frames"))
    marks = (pl.col("evidence") == "marks") & pl.col("both")
    silent = rows.filter((pl.col("verdict") == "not_ecn") & marks)
    against = rows.filter((pl.col("verdict") == "contradicts") & marks)
    classic = (pl.col("verdict") == "classic").fill_null(value=False)
    beside = rows.filter("at_receiver")
    quick, echoes = pl.col("quick"), pl.col("quick_echoes")
    unmarked, free = pl.col("clear_echoes"), pl.col("clear_acks")
    agreed = with_frames(beside.filter(refused=0), acts, Act.ECHO_UNMARKED)
    onsets = pl.col("clear_onsets") * math.log10(HIDDEN)
    echo = pl.concat_list(
        pl.struct(
            pl.col("echo_source").alias("source"), pl.col("echo_frame").alias("frame"),
            pl.lit(-1, pl.Int64).alias("cause_source"), pl.lit(-1, pl.Int64).alias("cause_frame"),
        )
    )  # fmt: skip
    judged_acks, missing = pl.col("judged"), pl.col("ece_missing")
    latched = classic & marks & (unmarked * 2 <= free)
    differ = beside.filter(latched & (pl.col("stated") == 1))
    frames = pl.col("ece_missing_frames")
    return (
        finding(silent, "never_echoes", missing, judged_acks, frames),
        finding(agreed, "echoes_unmarked", unmarked, free, pl.col("frames"), onsets),
        finding(against, "contradicts", missing, judged_acks, frames),
        finding(differ, "ends_differ", echoes, quick, echo),
    )


def named_frames(name: str) -> pl.Expr:
    """A list of frames without a cause."""
    frame = pl.element().struct
    return pl.col(name).list.eval(
        pl.struct(
            frame.field("source").cast(pl.Int64), frame.field("frame").cast(pl.Int64),
            pl.lit(-1, pl.Int64).alias("cause_source"), pl.lit(-1, pl.Int64).alias("cause_frame"),
        )
    )  # fmt: skip


def of_path(senders: pl.DataFrame, accounts: Accounts) -> pl.DataFrame:
    """Acknowledgments that are missing."""
    following, odd = pl.col("back_id_next"), pl.col("back_id_odd")
    rows = senders.filter(
        (pl.col("segments") > 0) & (following >= ENOUGH_IDS) & (odd <= following * MOST_ODD)
    )
    missing = pl.col("back_id_missing")
    listed = with_frames(rows, accounts.acts, Act.ACK_MISSING)
    found = finding(listed, "acks_missing", missing, missing + following, pl.col("frames"))
    chance = ((odd + 1) / (odd + following + 2)).log(10)  # the rule of succession
    told = found.drop("chance_log10").join(
        rows.select(*KEY, chance_log10=chance), on=KEY, how="left"
    )
    return told.with_columns(sure()).select(found.columns)


def undecided(senders: pl.DataFrame) -> pl.DataFrame:
    """What could not be decided of each sender, why, and from which frame on.

    Something that another point decided is decided.
    """
    enough = pl.col("clear_acks") >= BY_NAME["echoes_unmarked"].least
    beside = (pl.col("at_receiver") & enough).any().over("flow")
    elsewhere_judged = (pl.col("sends") > 0).any().over("flow")
    asked = (pl.col("echoes") > 0) & (pl.col("refused") == 0) & (pl.col("hpcc") == 0)
    known = (pl.col("shaken") == 1) | (pl.col("near") == 1)
    reasons = (
        ("all", "no_acks", (pl.col("acks") == 0) & (pl.col("segments") > 0) & (pl.col("tcp") == 1),
         "first"),
        ("all", "no_data", (pl.col("segments") == 0) & asked, "first"),
        ("reactions", "not_agreed", (pl.col("echoes") > 0) & (pl.col("refused") == 1)
         & (pl.col("hpcc") == 0), "echo"),
        ("reactions", "no_handshake", asked & ~known & pl.col("both"), "echo"),
        ("reactions", "after_queue", asked & (pl.col("ce") > 0) & pl.col("both"), "echo"),
        ("reactions", "far", asked & known & ~pl.col("beside") & (pl.col("ce") == 0)
         & pl.col("both"), "echo"),
        ("receiver", "marks_behind", (pl.col("verdict") == "contradicts").fill_null(value=False)
         & (pl.col("quick_echoes") * 2 <= pl.col("quick")), "echo"),
        ("receiver", "all_echoed", asked & pl.col("both") & ~beside
         & (pl.col("echoes") >= pl.col("acks") * NEARLY_ALL), "echo"),
        ("holes", "holes", asked & (pl.col("holes") > 0) & pl.col("reactions_judged"), "hole"),
        ("window", "mid_flow", asked & (pl.col("untrue") == MID_FLOW)
         & pl.col("reactions_judged"), "first"),
        ("window", "mended_larger", asked & (pl.col("untrue") == MENDED_LARGER)
         & pl.col("reactions_judged"), "resending"),
        ("window", "resent", asked & (pl.col("untrue") <= MENDING) & (pl.col("resent") > 0)
         & pl.col("reactions_judged"), "resending"),
        ("window", "began_larger", asked & (pl.col("beyond_frame") >= 0)
         & pl.col("reactions_judged"), "beyond"),
        *(("window", f"hpcc_{name}", (pl.col("w_doubt") == number) & (pl.col("sends") > 0), "first")
          for number, name in enumerate(("step", "base", "line"), 1)),
        ("window", "hpcc", (pl.col("hpcc") == 1) & (pl.col("inexact_frame") >= 0)
         & ((pl.col("sends") > 0) | ~elsewhere_judged), "inexact"),
    )  # fmt: skip
    parts = [
        senders.filter(where).select(
            *KEY, pl.lit(what).alias("what"), pl.lit(reason).alias("reason"), "why",
            pl.col(f"{frame}_source").alias("source"), pl.col(f"{frame}_frame").alias("frame"),
        )
        for what, reason, where, frame in reasons
    ]  # fmt: skip
    rows = pl.concat(parts)
    decided = senders.filter("reactions_judged").select("flow").unique()
    placed_rows = pl.col("what").is_in(["all", "reactions"])
    elsewhere = rows.filter(placed_rows).join(decided, on="flow", how="anti")
    rows = pl.concat([elsewhere, rows.filter(~placed_rows)])
    return worded(rows).sort("flow", "what", "frame", "point")


def worded(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with their reasons in words."""
    kind = DECISIONS["why"]
    names = kind.categories if isinstance(kind, pl.Enum) else ()
    known = {number: WHY[name] for number, name in enumerate(names) if name in WHY}
    hpcc = pl.col("why").replace_strict(
        known, default="the state is not exact", return_dtype=pl.String
    )
    words = pl.col("reason").replace_strict(UNDECIDED, default=None, return_dtype=pl.String)
    said = pl.when(pl.col("reason") == "hpcc").then(hpcc).otherwise(words)
    return rows.with_columns(said.alias("sentence")).drop("why")
