"""Conformance for people: what breaks a rule, what could not be decided, and who is in order."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from pipeline import end_text
from service.sureness import odds, sureness
from service.text import NONE, Heading, printable, table

HEADINGS = (
    Heading("sure", numeric=True),
    Heading("by chance", numeric=True),
    Heading("finding"),
    Heading("about"),
    Heading("flow"),
    Heading("at"),
    Heading("rests on", numeric=True),
    Heading("frames"),
)
MOST_FLOWS, MOST_UNDECIDED, MOST_FRAMES = 20, 10, 3
SAID = {
    "breaks": ("breaks the rules", "break the rules"),
    "conforms": ("does as it should", "do as they should"),
    "unasked": ("was asked for no reaction", "were asked for no reaction"),
    "undecided": ("cannot be decided", "cannot be decided"),
}
"""What is said of one sender, and of several."""
OPEN_RATIO = 2.5
"""From here on in-flight bytes over a window are counted together."""


def lines(answer: Mapping[str, Any]) -> Iterator[str | Table]:
    """The answer from top to bottom."""
    findings = answer["findings"]
    if findings:
        yield table(HEADINGS, ([*row(each)] for each in findings))
        yield from (f"  {meaning}" for meaning in meanings(findings))
        yield ""
    yield totals(answer)
    for each in answer["flows"][:MOST_FLOWS]:
        yield from of_flow(each)
    if len(answer["flows"]) > MOST_FLOWS:
        yield f"  {len(answer['flows']) - MOST_FLOWS:,} more senders; --json has all"
    yield from of_undecided(answer["undecided"])
    if answer["decisions_without_row"]:
        yield f"  {answer['decisions_without_row']:,} decisions are of frames that are missing here"


def meanings(findings: Sequence[Mapping[str, Any]]) -> list[str]:
    """What each finding means that there is, once."""
    return list(dict.fromkeys(
        f"{each['finding'].replace('_', ' ')}: {each['meaning']} ({each['document']})"
        for each in findings
    ))  # fmt: skip


def totals(answer: Mapping[str, Any]) -> str:
    """How many senders there are, and how many of them stand how."""
    counted = Counter(each["sender"] for each in answer["flows"])
    count = len(answer["flows"])
    total = f"{count:,} sender{'s' * (count != 1)}: " if count else "no sender can be judged"
    return total + ", ".join(f"{counted[name]:,} {said[counted[name] > 1]}"
                             for name, said in SAID.items() if counted[name])  # fmt: skip


def name_of(each: Mapping[str, Any]) -> str:
    """Who sends to whom."""
    return " → ".join(end_text(each[end], each[f"{end[0]}port"]) for end in ("src", "dst"))


def sentence(each: Mapping[str, Any]) -> str:
    """One finding in a line: who, what, on how many cases, and how little chance explains it."""
    return (
        f"{name_of(each)}: {each['about']}, {each['finding'].replace('_', ' ')}, {rests_on(each)},"
        f" {odds(each['chance_log10'])} by chance"
    )


def rests_on(each: Mapping[str, Any]) -> str:
    """How many of the cases went against the rule."""
    return f"{each['count']:,} of {each['cases']:,} {each['unit']}"


def row(each: Mapping[str, Any]) -> Iterator[str]:
    """One finding."""
    yield sureness(each["sure"])
    yield odds(each["chance_log10"])
    yield each["finding"].replace("_", " ")
    yield each["about"]
    yield name_of(each)
    yield each["point"]
    yield rests_on(each)
    yield "; ".join(frame_text(frame) for frame in each["frames"][:MOST_FRAMES]) or NONE


def frame_text(frame: Mapping[str, Any]) -> str:
    """A frame, and the one that asked for it."""
    said = f"{printable(str(frame['source']))} {frame['frame']}"
    return said if frame["cause_frame"] is None else f"{said} after {frame['cause_frame']}"


def of_flow(each: Mapping[str, Any]) -> Iterator[str]:
    """One sender with its receiver."""
    yield f"  {name_of(each)} at {printable(each['point'])}: {SAID[each['sender']][0]}"
    told = each["reactions"]
    if told and told["due"]:
        still = told["due"] - told["answered"] - told["unanswered"]
        left = f", {still:,} open at the end" * (still > 0)
        late = f", {told['late']:,} late" * bool(told["late"])
        twice = f", {told['twice']:,} cuts too many" * bool(told["twice"])
        yield (
            f"    reactions  {told['due']:,} due: {told['answered']:,} made,"
            f" {told['unanswered']:,} not{left}{late}{twice}"
        )
    window = each["window"]
    if window["ratio_p50"] is not None:
        name = "W" if window["sends"] else "cwnd"
        ratios = [ratio(window[f"ratio_{name}"]) for name in ("p50", "p95", "most")]
        mending = f"; not judged while {window['mendings']:,} losses were mended"
        yield (
            f"    in flight  up to {ratios[0]} of {name} in half of all"
            f" {'sends' if window['sends'] else 'round trips'}, {ratios[1]} in 95 %,"
            f" {ratios[2]} at most{mending * bool(window['mendings'])}"
        )
    receiver = each["receiver"]
    if receiver["sure"] is not None:
        yield (
            f"    receiver   {receiver['verdict']}, by {receiver['evidence']}, sure to"
            f" {sureness(receiver['sure'])}"
        )


def ratio(value: float) -> str:
    """In-flight bytes over a window."""
    return f"more than {OPEN_RATIO:g}" if value > OPEN_RATIO else f"{value:.2f}"


def not_decided(each: Mapping[str, Any]) -> str:
    """One thing that is not decided: of whom, from which frame on, and why."""
    known = each["frame"] is not None
    where = f" from {printable(each['source'])} frame {each['frame']} on" if known else ""
    return f"{name_of(each)} at {printable(each['point'])}{where}: {each['why']}"


def of_undecided(undecided: list[Mapping[str, Any]]) -> Iterator[str]:
    """What could not be decided, and from where on."""
    for each in undecided[:MOST_UNDECIDED]:
        yield f"  not decided: {not_decided(each)}"
    if len(undecided) > MOST_UNDECIDED:
        yield f"  {len(undecided) - MOST_UNDECIDED:,} more things are not decided; --json has all"
