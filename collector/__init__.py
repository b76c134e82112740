"""Frames in, observations on a bus out. The room furthest upstream: it imports no other room."""

from collector.kernel import kernel

__all__ = ["kernel"]
