"""Decisions replayed and explained; synthetic fabrics with known bottlenecks."""

from replay import scenario
from replay.decision import objects, trace
from replay.emit import frames_of
from replay.fabric import Run, simulate
from replay.score import Score, score
from replay.truth import Truth, truth_of
from replay.vantage import from_best, vantage
from replay.wiring import points, topology
from replay.world import FlowScript, Phase, World

__all__ = [
    "FlowScript",
    "Phase",
    "Run",
    "Score",
    "Truth",
    "World",
    "frames_of",
    "from_best",
    "objects",
    "points",
    "scenario",
    "score",
    "simulate",
    "topology",
    "trace",
    "truth_of",
    "vantage",
]
