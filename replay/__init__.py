"""Decisions replayed and explained; synthetic fabrics with known bottlenecks."""

from replay import rebuild, scenario
from replay.conformance import Accounts, Conformance
from replay.conformance_answer import answer as conformance_answer
from replay.conformance_rule import RULES
from replay.decision import COMMON, TOLD, known, lines, objects, trace, variables
from replay.difference import WINDOW_BYTES, Difference, difference, kept, steered
from replay.emit import frames_of
from replay.fabric import Run, simulate
from replay.heard import HOPS, Heard
from replay.judgement import Judgement, judged
from replay.pseudocode import Line, pseudocode
from replay.score import Score, score
from replay.standing import reason, reason_names
from replay.truth import Truth, truth_of
from replay.vantage import from_best, vantage
from replay.wiring import points, topology
from replay.world import FlowScript, Phase, World

__all__ = [
    "COMMON",
    "HOPS",
    "RULES",
    "TOLD",
    "WINDOW_BYTES",
    "Accounts",
    "Conformance",
    "Difference",
    "FlowScript",
    "Heard",
    "Judgement",
    "Line",
    "Phase",
    "Run",
    "Score",
    "Truth",
    "World",
    "conformance_answer",
    "difference",
    "frames_of",
    "from_best",
    "judged",
    "kept",
    "known",
    "lines",
    "objects",
    "points",
    "pseudocode",
    "reason",
    "reason_names",
    "rebuild",
    "scenario",
    "score",
    "simulate",
    "steered",
    "topology",
    "trace",
    "truth_of",
    "vantage",
    "variables",
]
