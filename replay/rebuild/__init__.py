"""A fabric rebuilt from captured frames and topology: inferred, played again, changed, compared."""

from replay.rebuild.change import SETTINGS, Change, changed, fabric_value
from replay.rebuild.outcome import Outcome, told
from replay.rebuild.rebuilding import Rebuilt, rebuilt
from replay.rebuild.scene import ALGORITHMS, Scene
from replay.rebuild.sighting import KEY, READ, Sightings, from_one_point, is_hop, sightings
from replay.rebuild.staging import Played, TooLargeError, played
from replay.rebuild.trust import EXACT, POINTS, Measure, trust
from replay.rebuild.witness import measured

__all__ = [
    "ALGORITHMS",
    "EXACT",
    "KEY",
    "POINTS",
    "READ",
    "SETTINGS",
    "Change",
    "Measure",
    "Outcome",
    "Played",
    "Rebuilt",
    "Scene",
    "Sightings",
    "TooLargeError",
    "changed",
    "fabric_value",
    "from_one_point",
    "is_hop",
    "measured",
    "played",
    "rebuilt",
    "sightings",
    "told",
    "trust",
]
