"""Decisions replayed and explained; synthetic fabrics with known bottlenecks."""
