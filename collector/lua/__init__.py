"""Wireshark's dissectors: the wire tables told in Lua, and one short engine that reads them."""

from collector.lua.script import dissectors

__all__ = ["dissectors"]
