"""Stages of a fabric by the words that operators use for them."""

import re
from functools import lru_cache

RANKS = {"tor": 0, "spine": 1, "core": 2}
"""Stages from the racks up."""
HOST = "host"
"""Stage of an end host that tells of its own port."""
WORDS = (
    ("core", re.compile(r"super-?_?spine|(?<![a-z])(core|t2|ss)(?![a-z])|spinerouter")),
    ("tor", re.compile(r"torrouter|leaf(?!router)|(?<![a-z])(tor|t0|access)(?![a-z])")),
    ("spine", re.compile(r"spine|leafrouter|(?<![a-z])(agg|aggregation|fabric|t1)(?![a-z])")),
)
"""What names, roles and types hold, by stage; the first match counts. A LeafRouter of SONiC is the
stage above its ToRRouters, a SpineRouter the one above that.
"""


def stage_of(*words: object) -> str:
    """The stage that the first of these words tells, empty where none does."""
    for word in words:
        said = str(word or "").lower()
        for stage, pattern in WORDS:
            if pattern.search(said):
                return stage
    return ""


@lru_cache(1 << 12)
def stage_named(word: str) -> str:
    """The stage that a topology's word means; a word that means none stays as it was told."""
    return word if word == HOST else stage_of(word) or word


def is_known(stage: str) -> bool:
    """Whether kinds of bottlenecks are told apart by a stage."""
    return stage_named(stage) in {*RANKS, HOST}


def facing(own: str, peer: str) -> str:
    """What a port faces, by the stages of both ends; empty where one of them is not known."""
    if own not in RANKS or peer not in RANKS:
        return ""
    step = RANKS[peer] - RANKS[own]
    return "up" if step > 0 else "down" if step < 0 else "side"
