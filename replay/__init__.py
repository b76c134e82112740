"""Decisions replayed and explained; synthetic fabrics with known bottlenecks."""

from replay import rebuild, scenario
from replay.decision import COMMON, TOLD, known, lines, objects, trace, variables
from replay.difference import Difference, compared, difference, kept
from replay.emit import frames_of
from replay.fabric import Run, simulate
from replay.heard import HOPS, Heard
from replay.pseudocode import Line, pseudocode
from replay.score import Score, score
from replay.step import WHY
from replay.truth import Truth, truth_of
from replay.vantage import from_best, vantage
from replay.wiring import points, topology
from replay.world import FlowScript, Phase, World

__all__ = [
    "COMMON",
    "HOPS",
    "TOLD",
    "WHY",
    "Difference",
    "FlowScript",
    "Heard",
    "Line",
    "Phase",
    "Run",
    "Score",
    "Truth",
    "World",
    "compared",
    "difference",
    "frames_of",
    "from_best",
    "kept",
    "known",
    "lines",
    "objects",
    "points",
    "pseudocode",
    "rebuild",
    "scenario",
    "score",
    "simulate",
    "topology",
    "trace",
    "truth_of",
    "vantage",
    "variables",
]
