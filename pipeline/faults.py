"""What the bits of `faults` say, by algorithm: names for people, documents and objects."""

from enum import IntEnum
from functools import cache

from pipeline.cc import dre, hop_load, hpcc, hpcc_probe, hpcc_receiver, poseidon, qos, swift
from pipeline.companions import load_loop

LOADS = (hpcc.Fault, qos.Fault, load_loop.Fault, hop_load.Fault)
"""Of companions that run HPCC++ on loads."""
FAULTS: dict[str, tuple[type[IntEnum], ...]] = {
    "hpcc": (hpcc.Fault,),
    "hpcc_receiver": (hpcc.Fault, hpcc_receiver.Fault),
    "hpcc_probe": (hpcc.Fault, hpcc_probe.Fault),
    **dict.fromkeys(("hpcc_aecn", "hpcc_csig", "hpcc_latency", "hpcc_reported"), LOADS),
    "hpcc_qos": LOADS,
    "dre": (dre.Fault,),
    "swift": (swift.Fault,),
    "poseidon": (poseidon.Fault,),
}


@cache
def fault_names(algorithm: str, faults: int) -> tuple[str, ...]:
    """The names of the bits that are set, the lowest first; a bit without a name as its number."""
    known = {fault.value: fault.name.lower() for kind in FAULTS[algorithm] for fault in kind}
    bits = [1 << place for place in range(faults.bit_length()) if faults >> place & 1]
    return tuple(known.get(bit, str(bit)) for bit in bits)
