"""Conformance: who breaks a rule is found, who keeps to it is not, what is not seen is said."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from collector import CollectorSettings, Decoder, open_capture
from pipeline import Decider, PipelineSettings, Reran, Rerun, Tracker
from replay import Conformance, Judgement, conformance_answer, judged, scenario, simulate
from replay.campaign import KINDS, SCENARIOS
from replay.cast import cast
from replay.conformance import KEPT
from replay.conformance_answer import conduct, standing
from replay.judgement import HIDDEN
from service.conform_text import of_flow
from service.flow_names import FlowNames
from tests.pipeline import test_hpcc_frames as simulator
from tests.pipeline.conftest import observations
from tests.replay import test_rebuilt as rebuilt
from tests.replay.ends import Ends

ROOT = Path(__file__).resolve().parents[3]
ORACLES = ROOT / "shared" / "oracles"
CAPTURES = ROOT / "shared" / "captures"
DATA = Path(__file__).resolve().parents[1] / "data" / "cc"
RECEIVER = ("dctcp_receiver",)
AHEAD = 6
ENOUGH = 100


def rows_of(**how: Any) -> pl.DataFrame:
    """Observations of a flow whose ends behave so."""
    return observations([{**row, "source": "ends"} for row in Ends(**how).run()])


def watched(rows: pl.DataFrame, dialect: str = "auto", parts: int = 1, **more: Any) -> Conformance:
    """What the rows show, cut into so many batches."""
    settings = PipelineSettings(companions=RECEIVER, dctcp_dialect=dialect, **more)
    decider = Decider(settings)
    rerun = Rerun(settings, [decider], ("ends",))
    conformance = Conformance()

    def take(made: Reran) -> None:
        if made.tracked:
            conformance.advance(decider.hints.told(made.rows), made.tracked[0])

    size = max(-(-rows.height // parts), 1)
    for part in rows.iter_slices(size):
        take(rerun.advance(part))
    take(rerun.end("ends"))
    take(rerun.finish())
    return conformance


def found(judgement: Judgement) -> list[str]:
    """What is held against whom."""
    return judgement.findings["finding"].to_list()


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("how", "findings"),
    [
        ({}, []),
        ({"sender": "letter"}, []),
        ({"sender": "ignores"}, ["ece_ignored"]),
        ({"sender": "silent"}, ["cwr_missing"]),
        ({"sender": "twice"}, ["cut_twice"]),
        ({"sender": "late"}, ["reaction_late"]),
        ({"sender": "flag"}, ["cut_missing"]),
        ({"receiver": "never"}, ["never_echoes"]),
        ({"receiver": "always"}, ["echoes_unmarked"]),
        ({"sender": "ignores", "receiver": "always"}, ["cwr_missing", "echoes_unmarked"]),
        ({"sender": "silent", "receiver": "always"}, ["cwr_missing", "echoes_unmarked"]),
        ({"sender": "ignores", "receiver": "classic"}, ["cwr_missing"]),
        ({"receiver": "classic"}, []),
        ({"lose_acks": 50}, ["acks_missing"]),
    ],
    ids=lambda each: "-".join(each.values()) if isinstance(each, dict) and "lose_acks" not in each
    else "",
)  # fmt: skip
def test_each_fault_is_found_and_nothing_else(how: dict[str, Any], findings: list[str]) -> None:
    judgement = judged(watched(rows_of(**how)).finish())
    assert found(judgement) == findings
    for each in judgement.findings.iter_rows(named=True):
        assert each["sure"] > 0.95
        assert each["frames"]


def beside_receiver(
    echo: Callable[[int], bool], slow: int = -1, cwr: int = 0, agreed: int = 64
) -> pl.DataFrame:
    """What a tap beside a receiver sees: 80 segments and their ACKs, `echo` of which have ECE.

    The ACK of `slow` is as late as if its data had waited in a queue behind the tap; each `cwr`-th
    segment has CWR; `agreed` are the flags of the SYN-ACK.
    """
    shake = ((0, False, 194, 0, 0), (2_000, True, 18 | agreed, 0, 1), (90_000, False, 16, 1, 1))
    told = [
        {"time_ns": at, "back": back, "flags": flags, "seq": seq, "ack": ack, "payload_bytes": 0}
        for at, back, flags, seq, ack in shake
    ]
    for number in range(80):
        at, seq = 200_000 + 100_000 * number, 1 + 1000 * number
        flags = 16 | (128 if cwr and number % cwr == cwr - 1 else 0)
        told.append({"time_ns": at, "back": False, "flags": flags, "seq": seq, "ack": 1,
                     "payload_bytes": 1000, "ecn": 2})  # fmt: skip
        late = 60_000 if number == slow else 2_000
        told.append({"time_ns": at + late, "back": True, "flags": 16 | (64 if echo(number) else 0),
                     "seq": 1, "ack": seq + 1000, "payload_bytes": 0})  # fmt: skip
    ends = (("src", "sport", "10.1.0.1", 1000), ("dst", "dport", "10.2.0.1", 2000))
    rows = []
    for each in told:
        one, other = ends[::-1] if each.pop("back") else ends
        rows.append({"source": "ends", "point": "leaf", "src": one[2], "sport": one[3],
                     "dst": other[2], "dport": other[3], "ecn": 0} | each)  # fmt: skip
    return observations(rows)


def test_ece_is_not_to_be_explained_only_while_no_mark_may_have_been_behind_the_tap() -> None:
    cases = {
        "from the first ACK on": ({"echo": lambda _: True}, 80, 1),
        "though CWR asks for an end": ({"echo": lambda _: True, "cwr": 10}, 80, 9),
        "but a queue behind the tap marked": ({"echo": lambda at: at >= 20, "slow": 20}, 0, 0),
        "and CWR ended that": ({"echo": lambda at: at >= 20, "slow": 20, "cwr": 30}, 51, 2),
        "now and then": ({"echo": lambda at: at % 4 > 0}, 60, 20),
        "never": ({"echo": lambda _: False}, 0, 0),
    }  # fmt: skip
    for name, (how, echoes, onsets) in cases.items():
        accounts = watched(beside_receiver(**how)).finish()
        [told] = accounts.senders.filter(pl.col("segments") > 0).to_dicts()
        assert (told["clear_echoes"], told["clear_onsets"]) == (echoes, onsets), name
        assert ("echoes_unmarked" in found(judged(accounts))) == (echoes > 0), name


def test_a_receiver_that_counts_by_accurate_ecn_has_no_ece_to_check() -> None:
    """The three flags are a counter there, and 5 is where it begins."""
    rows = beside_receiver(lambda _: True, agreed=128)
    assert found(judged(watched(rows).finish())) == []


def test_ece_without_marks_names_the_data_that_it_acknowledges() -> None:
    rows = rows_of(sender="ignores", receiver="always")
    judgement = judged(watched(rows).finish())
    [told] = judgement.findings.filter(finding="echoes_unmarked").to_dicts()
    marks = {row["frame"]: row for row in rows.iter_rows(named=True)}
    assert len(told["frames"]) == KEPT
    for each in told["frames"]:
        ack, data = marks[each["frame"]], marks[each["cause_frame"]]
        assert ack["flags"] & 64
        assert data["ecn"] == 2
        assert ack["ack"] == data["seq"] + data["payload_bytes"]
    assert told["sure"] == pytest.approx(1 - HIDDEN)


def test_ece_on_all_is_said_where_the_tap_cannot_tell_why() -> None:
    rows = rows_of(sender="silent", receiver="always")
    alone = judged(watched(rows.filter(point="sender")).finish())
    assert "all_echoed" in alone.undecided["reason"].to_list()
    both = judged(watched(rows).finish())
    assert "all_echoed" not in both.undecided["reason"].to_list()


def test_what_is_surest_comes_first_though_all_are_sure_to_all_digits() -> None:
    faults = [{"sender": "silent", "segments": many} for many in (1600, 2400)]
    findings = judged(watched(several(faults)).finish()).findings
    assert findings["sure"].to_list() == [1.0, 1.0]
    assert findings["cases"].to_list() == sorted(findings["cases"], reverse=True)
    assert findings["chance_log10"].is_sorted()
    assert findings["chance_log10"].n_unique() == len(faults)


def test_a_sender_that_settings_call_dctcp_does_not_fit_a_classic_receiver() -> None:
    judgement = judged(watched(rows_of(receiver="classic"), "linux").finish())
    assert found(judgement) == ["ends_differ"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("sender", "findings"),
    [("conforms", []), ("letter", []), ("flag", ["cut_missing"]), ("silent", ["cwr_missing"]),
     ("ignores", ["ece_ignored"])],
)  # fmt: skip
def test_senders_are_judged_again_where_a_loss_is_mended(sender: str, findings: list[str]) -> None:
    """The first loss comes before anything could be judged."""
    judgement = judged(watched(rows_of(sender=sender, lose_data=1000, segments=6000)).finish())
    assert found(judgement) == findings
    [told] = judgement.senders.filter("reactions_judged").to_dicts()
    assert told["mendings"] == told["resent"] == 6000 // 1000
    assert told["rounds"] > ENOUGH
    assert told["ratio_most"] < 1.5
    assert "resent" in judgement.undecided["reason"].to_list()


def test_what_began_before_it_was_seen_has_no_window() -> None:
    sender = rows_of().filter(pl.col("time_ns") > 300_000, point="sender")
    judgement = judged(watched(sender, near=("10.1.0.0/16",)).finish())
    assert found(judgement) == []
    assert "mid_flow" in judgement.undecided["reason"].to_list()
    assert judgement.senders["rounds"].max() == 0


def test_the_frames_of_a_finding_show_it() -> None:
    rows = rows_of(sender="twice")
    judgement = judged(watched(rows).finish())
    [frames] = judgement.findings["frames"].to_list()
    flags = dict(rows.select("frame", "flags").iter_rows())
    for each in frames:
        assert flags[each["frame"]] & 128
        assert flags[each["cause_frame"]] & 128
        assert each["cause_frame"] < each["frame"]


def test_an_answer_names_the_ack_that_asked() -> None:
    rows = rows_of(sender="ignores")
    accounts = watched(rows).finish()
    names = FlowNames()
    names.know(rows)
    told = conformance_answer(judged(accounts), accounts.sources, names.keys)
    [finding] = told["findings"]
    assert (finding["src"], finding["about"]) == ("10.1.0.1", "sender")
    flags = dict(rows.select("frame", "flags").iter_rows())
    assert all(flags[each["cause_frame"]] & 64 for each in finding["frames"])
    assert {each["source"] for each in finding["frames"]} == {"ends"}
    [flow] = told["flows"]
    assert flow["sender"] == "breaks"
    assert flow["reactions"]["unanswered"] == finding["count"]


@pytest.mark.parametrize("parts", [3, 17])
def test_however_rows_are_cut_the_accounts_are_the_same(parts: int) -> None:
    rows = rows_of(sender="late", segments=800)
    whole, cut = watched(rows).finish(), watched(rows, parts=parts).finish()
    assert whole.senders.equals(cut.senders)
    assert whole.acts.equals(cut.acts)
    assert judged(whole).findings.equals(judged(cut).findings)


def test_what_is_not_seen_is_said_and_not_judged() -> None:
    rows = rows_of(sender="ignores")
    sender = rows.filter(point="sender")
    data, acks = pl.col("payload_bytes") > 0, pl.col("payload_bytes") == 0
    later = sender.filter(pl.col("time_ns") > 300_000)
    cases = {
        "no_acks": sender.filter(data),
        "no_data": sender.filter(acks),
        "no_handshake": later,
        "after_queue": rows.filter(point="receiver"),
    }
    for reason, part in cases.items():
        judgement = judged(watched(part).finish())
        assert found(judgement) == [], reason
        assert reason in judgement.undecided["reason"].to_list()
        assert judgement.undecided["frame"].min() >= part["frame"].min()
    near = judged(watched(later, near=("10.1.0.0/16",)).finish())
    assert found(near) == ["cwr_missing"]


def test_a_hole_hides_a_reaction_and_says_so() -> None:
    rows = rows_of(sender="conforms").filter(point="sender")
    cwr = (pl.col("flags") & 128 > 0) & (pl.col("payload_bytes") > 0)
    judgement = judged(watched(rows.filter(~cwr)).finish())
    assert found(judgement) == []
    assert judgement.undecided["reason"].to_list() == ["holes"]
    assert judgement.senders["unjudged"].max() > 10


def test_decisions_without_their_rows_are_counted_and_stop_nothing() -> None:
    rows = rows_of()
    decider = Decider(PipelineSettings(companions=RECEIVER))
    tracked = decider.decide(rows)
    every = tracked.decisions.filter(pl.int_range(pl.len()) % 7 == 3)
    lost = every.select("source", "point", "frame")
    kept = rows.join(lost, on=lost.columns, how="anti", maintain_order="left")
    watch = Conformance()
    watch.advance(kept, tracked)
    accounts = watch.finish()
    assert accounts.unplaced == every.height > 5
    whole = Conformance()
    whole.advance(rows, tracked)
    assert whole.finish().unplaced == 0
    assert accounts.senders["rounds"].sum() > whole.finish().senders["rounds"].sum() // 2
    told = conformance_answer(judged(accounts), accounts.sources, pl.DataFrame(
        schema={"flow": pl.UInt64}), accounts.unplaced)  # fmt: skip
    assert told["decisions_without_row"] == every.height


def test_a_larger_initial_window_is_no_missing_cut() -> None:
    rows = rows_of()
    conformance = watched(rows)
    assert conformance.finish().senders["beyond_frame"].max() < 0
    settings = PipelineSettings(companions=RECEIVER)
    decider = Decider(settings, None, {"dctcp": {"initial_window": 1}})
    small = Conformance()
    small.advance(rows, decider.decide(rows))
    judgement = judged(small.finish())
    assert found(judgement) == []
    assert "began_larger" in judgement.undecided["reason"].to_list()


def hpcc_frames() -> tuple[pl.DataFrame, pl.DataFrame]:
    """A piece of the HPCC authors' simulation: rows and the decisions on them."""
    seen: list[pl.DataFrame] = []

    class Spy(simulator.Tracker):  # type: ignore[misc, name-defined] # as it is imported there
        def advance(self, frame: pl.DataFrame) -> Any:
            tracked = super().advance(frame)
            seen.extend([frame, tracked.decisions])
            return tracked

    acks, sent = (pl.read_parquet(DATA / f"hpcc_a{part}.parquet").with_columns(
        dst_ip=pl.lit("11.0.2.1"), dport=pl.col("src_ip").rank("dense").cast(pl.Int64) + 99
    ) for part in ("", "_sent"))  # fmt: skip
    acks = acks.with_columns(ack_type=pl.lit("A"), u_hop=pl.lit(0))
    flows = acks.select(simulator.KEY).unique(maintain_order=True).with_columns(
        T_ns=4160, win_bytes=52_000, max_rate_bps=100 * 10**9, eta=0.95, mi_thresh=5,
        rai_bps=50_000_000, min_rate_bps=100_000_000,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulator, "Tracker", Spy)
        simulator.rebuilt(acks, sent, flows)
    return seen[0], seen[1]


def hpcc_judged(rows: pl.DataFrame, decisions: pl.DataFrame) -> Judgement:
    """What the window that decisions give says of the sender."""
    conformance = Conformance()
    tracked: Any = SimpleNamespace(decisions=decisions, companions={})
    conformance.advance(rows, tracked)
    return judged(conformance.finish())


def test_hpcc_is_judged_by_what_is_in_flight_and_by_its_rate() -> None:
    rows, decisions = hpcc_frames()
    clean = hpcc_judged(rows, decisions)
    assert found(clean) == []
    assert clean.senders["sends"].sum() > ENOUGH
    assert clean.senders["ratio_most"].max() < 1.2
    less = decisions.with_columns(pl.col("W", "R") / 2)
    assert set(found(hpcc_judged(rows, less))) == {"window_exceeded", "rate_exceeded"}
    unsure = less.with_columns(pl.lit("estimated").cast(decisions["quality"].dtype)
                               .alias("quality"))  # fmt: skip
    judgement = hpcc_judged(rows, unsure)
    assert found(judgement) == []
    assert judgement.undecided["reason"].unique().to_list() == ["hpcc"]


def fabric(**hpcc: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """An incast of HPCC++ senders with such parameters, and what is decided by the usual ones."""
    usual = scenario.alone("int", senders=4, duration_ns=2_000_000)
    world = replace(usual, hpcc={**usual.hpcc, **hpcc})
    rows = rebuilt.seen(simulate(world, rebuilt.SETTINGS), world)
    return rows, Tracker(usual.hpcc, usual.dctcp).advance(rows).decisions


@pytest.mark.parametrize(
    ("reason", "told", "step_known"),
    [("hpcc_step", {}, False), ("hpcc_base", {"base_rtt_ns": 3_000}, True),
     ("hpcc_line", {"src_nic_bps": 10**9, "dst_nic_bps": 10**9}, True)],
)  # fmt: skip
def test_nobody_is_accused_by_a_window_that_rests_on_what_is_not_so(
    reason: str, told: dict[str, int], step_known: bool
) -> None:
    """Senders keep to HPCC++ with their own N, on a path and a NIC that are told wrong."""
    usual = scenario.alone("int", senders=4, duration_ns=2_000_000)
    rows = rebuilt.seen(simulate(usual, rebuilt.SETTINGS), usual)
    rows = rows.with_columns(pl.lit(value, pl.Int64).alias(name) for name, value in told.items())
    parameters = usual.hpcc if step_known else {}
    decisions = Tracker(parameters, usual.dctcp).advance(rows).decisions
    conformance = Conformance()
    tracked: Any = SimpleNamespace(decisions=decisions, companions={})
    conformance.advance(rows, tracked)
    accounts, names = conformance.finish(), FlowNames()
    assert step_known or found(judged(accounts)) == ["window_exceeded"] * 4
    judgement = judged(accounts, step_known=step_known)
    assert found(judgement) == []
    assert reason in judgement.undecided["reason"].to_list()
    names.know(rows)
    answer = conformance_answer(judgement, accounts.sources, names.keys)
    assert {each["sender"] for each in answer["flows"]} == {"undecided"}


@pytest.mark.parametrize("name", ["incast", "shallow buffers", "broken link"])
def test_nobody_of_the_fabric_is_accused_though_it_loses(name: str) -> None:
    world = cast(SCENARIOS[name](KINDS, 6_000_000), 3)
    rows = rebuilt.seen(simulate(world, rebuilt.SETTINGS), world)
    judgement = judged(watched(rows).finish())
    told = judgement.senders.filter("reactions_judged", pl.col("due") > 0)
    senders = judgement.findings.filter(pl.col("about") == "sender")
    assert senders["finding"].to_list() == []
    assert told["answered"].sum() > 20
    assert (told["mendings"].sum() > 0) == (name != "incast")


def test_senders_whose_window_is_the_smallest_say_each_cut() -> None:
    """A threshold cannot fall any more, and CWR is set all the same, as stacks do."""
    world = replace(scenario.alone("ecn", senders=9, duration_ns=6_000_000), mark_bytes=3_000)
    rows = rebuilt.seen(simulate(world, rebuilt.SETTINGS), world)
    judgement = judged(watched(rows).finish())
    assert found(judgement) == []
    told = judgement.senders.filter("reactions_judged")
    assert told["echoes"].min() > ENOUGH
    assert told["answered"].min() > 0
    assert told["unanswered"].sum() == 0


def test_hpcc_that_keeps_to_the_window_of_a_round_trip_ago_is_late() -> None:
    rows, decisions = fabric()
    assert found(hpcc_judged(rows, decisions)) == []
    early = decisions.with_columns(
        pl.col("W").shift(-AHEAD).over("flow", "point").fill_null(strategy="forward")
    )
    assert set(found(hpcc_judged(rows, early))) == {"window_late"}


def test_a_handshake_without_ecn_is_told() -> None:
    """ECE comes all the same: nothing is asked for, and that is said with its frame."""
    rows = rows_of(sender="silent")
    syn = (pl.col("flags") & 2) > 0
    plain = rows.with_columns(
        pl.when(syn).then(pl.col("flags") & 18).otherwise(pl.col("flags")).alias("flags")
    )
    judgement = judged(watched(plain).finish())
    assert found(judgement) == []
    told = judgement.undecided.filter(reason="not_agreed").to_dicts()
    assert told
    assert all(each["frame"] is not None for each in told)


def test_a_window_below_a_segment_lets_one_go() -> None:
    rows, decisions = fabric()
    segment = float(rows["payload_bytes"].cast(pl.Float64).max() or 0)  # type: ignore[arg-type] # a number
    told = [
        hpcc_judged(rows, decisions.with_columns(pl.col("W").clip(upper_bound=most))).senders
        for most in (1.0, segment)
    ]
    ratios = [each.select("ratio_p50", "ratio_p95", "ratio_most") for each in told]
    assert ratios[0].equals(ratios[1])
    assert ratios[0]["ratio_p50"].count() > 0


def test_senders_with_a_larger_window_than_their_path_has_exceed_it() -> None:
    rows, decisions = fabric(window_bytes=300_000)
    judgement = hpcc_judged(rows, decisions)
    assert set(found(judgement)) == {"window_exceeded"}
    assert judgement.findings["flow"].n_unique() == judgement.findings.height


ORACLE_NAMES = (
    "dctcp/a1", "dctcp/a1_swin", "dctcp/a1_switch", "dctcp/a_ppp", "dctcp/b", "dctcp/e2",
    "dctcp/f2", "linux/A_h1", "linux/A_h2", "linux/A_mid", "linux/B_h1", "linux/B_tx",
    "linux/C_h1", "linux/C_h2", "linux/E_h1",
)  # fmt: skip


def capture_rows(path: Path) -> pl.DataFrame:
    """A capture's observations in order."""
    decoder = Decoder(CollectorSettings())
    with open_capture(path) as capture:
        parts = [decoder.decode(frames, capture.points or ["tap"], "ends")
                 for frames in capture.chunks(65_536)]  # fmt: skip
    return pl.concat(parts, how="diagonal").sort("time_ns", "frame")


@pytest.mark.parametrize("name", [DATA / "dctcp_a1.pcap.zst", DATA / "linux_A_h2.pcap.zst"],
                         ids=lambda path: path.name)  # fmt: skip
def test_pieces_of_traces_of_others_are_clean(name: Path) -> None:
    judgement = judged(watched(capture_rows(name)).finish())
    assert found(judgement) == []
    assert judgement.senders["answered"].sum() > 5


@pytest.mark.sampled(6)
@pytest.mark.skipif(not ORACLES.exists(), reason="the traces are not part of a clone")
@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        *((name, "auto") for name in ORACLE_NAMES),
        *(("dctcp/a1", "ns3"), ("linux/A_h1", "linux"), ("linux/E_h1", "classic")),
    ],
)
def test_nobody_is_accused_who_conforms(name: str, dialect: str) -> None:
    rows = capture_rows(ORACLES / f"{name}.pcap.zst")
    judgement = judged(watched(rows, dialect).finish())
    assert found(judgement) == []
    if name not in ("dctcp/a1_switch", "linux/A_mid"):
        assert judgement.senders.filter("reactions_judged")["answered"].sum() > ENOUGH // 2


@pytest.mark.skipif(not CAPTURES.exists(), reason="the captures are not part of a clone")
def test_captures_of_others_accuse_nobody() -> None:
    for path in sorted(CAPTURES.glob("*.pcap")):
        assert found(judged(watched(capture_rows(path)).finish())) == [], path.name


def test_several_faults_are_ranked_and_their_flows_come_first() -> None:
    faults: list[dict[str, Any]] = [
        {}, {"sender": "late", "lose_acks": 20, "segments": 800}, {"sender": "silent"},
        {"receiver": "never"}, {"lose_acks": 50}, {},
    ]  # fmt: skip
    rows = several(faults)
    accounts, names = watched(rows).finish(), FlowNames()
    names.know(rows)
    told = conformance_answer(judged(accounts), accounts.sources, names.keys)
    found = [(each["src"], each["finding"]) for each in told["findings"]]
    assert sorted(found) == [
        ("10.1.1.1", "acks_missing"), ("10.1.1.1", "reaction_late"), ("10.1.2.1", "cwr_missing"),
        ("10.1.3.1", "never_echoes"), ("10.1.4.1", "acks_missing"),
    ]  # fmt: skip
    sure = [each["sure"] for each in told["findings"]]
    assert sure == sorted(sure, reverse=True)
    blamed = list(dict.fromkeys(source for source, _ in found))
    assert [each["src"] for each in told["flows"]][: len(blamed)] == blamed
    assert {each["sender"] for each in told["flows"][len(blamed) :]} == {"conforms"}


def several(faults: list[dict[str, Any]]) -> pl.DataFrame:
    """Observations of flows that behave so, of senders 10.1.0.1, 10.1.1.1 and so on."""
    rows: list[dict[str, Any]] = []
    for number, how in enumerate(faults):
        own = {"10.1.0.1": f"10.1.{number}.1"}
        for row in Ends(**how).run():
            ends = {end: own.get(row[end], row[end]) for end in ("src", "dst")}
            rows.append({**row, **ends, "source": "ends"})
    ordered = sorted(rows, key=lambda row: int(row["time_ns"]))
    return observations([{**row, "frame": at} for at, row in enumerate(ordered, 1)])


@pytest.mark.parametrize(
    ("due", "answered", "unanswered", "sender", "said"),
    [
        (0, 0, 0, "unasked", None),
        (1, 0, 0, "undecided", "1 due: 0 made, 0 not, 1 open at the end"),
        (9, 7, 1, "conforms", "9 due: 7 made, 1 not, 1 open at the end"),
        (9, 8, 1, "conforms", "9 due: 8 made, 1 not"),
    ],
)
def test_what_was_due_at_the_end_decides_nothing(
    due: int, answered: int, unanswered: int, sender: str, said: str | None
) -> None:
    judgement = judged(watched(rows_of()).finish())
    asked = pl.col("reactions_judged") & (pl.col("due") > 0)
    row = next(judgement.senders.filter(asked).iter_rows(named=True))
    row |= {"due": due, "answered": answered, "unanswered": unanswered}
    assert standing(row, judgement) == sender
    names = {"src": "10.1.0.1", "sport": 1, "dst": "10.2.0.1", "dport": 2, "protocol": 6}
    lines = [*of_flow(names | conduct(row, judgement))]
    assert [line.split("reactions  ")[1] for line in lines if "reactions" in line] == (
        [said] if said else []
    )
