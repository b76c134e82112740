"""Wireshark's dissectors: the wire tables told in Lua, and one short engine that reads them."""

from collector.lua.script import script

__all__ = ["script"]
