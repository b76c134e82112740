"""Decisions replayed and explained; synthetic fabrics with known bottlenecks."""

from replay import scenario
from replay.emit import frames_of
from replay.fabric import Run, simulate
from replay.truth import Truth, truth_of
from replay.wiring import points, topology
from replay.world import FlowScript, Phase, World

__all__ = [
    "FlowScript",
    "Phase",
    "Run",
    "Truth",
    "World",
    "frames_of",
    "points",
    "scenario",
    "simulate",
    "topology",
    "truth_of",
]
