"""Ids of hops that telemetry does not name by node and port; no device may have them."""

LOCATOR = 0xFFFF_FFFF
"""Node of a hop that only a CSIG locator names, and that locator is in no topology: its port is the
locator."""
PLACE = 0xFFFF_FFFE
"""Node of a hop whose node is not told: its port is its place on the path, 0 nearest the sender."""
UNTOLD = 0xFFFF_FFFF
"""Port that is not told. With `LOCATOR`: no hop has replaced the sender's value, none is loaded."""
MOST_ID = 0xFFFF_FFFD
"""Largest id that a node or a port of a topology may have."""
