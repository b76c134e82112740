"""What is compiled ahead is what the worker needs."""

import subprocess
import sys
from pathlib import Path

import pytest

from collector import CollectorSettings, Decoder, open_capture
from pipeline import PipelineSettings, Worker
from pipeline.follow import follow
from pipeline.warming import DECIDE, JUDGE, is_warm, two_devices, two_flows, warm

CAPTURE = Path(__file__).resolve().parent.parent / "data" / "cc" / "dctcp_a1.pcap.zst"


@pytest.mark.parametrize("what", [DECIDE, JUDGE])
def test_a_capture_needs_no_other_code_than_what_was_made_ahead(what: str) -> None:
    warm(what)
    assert is_warm(what)
    known = list(follow.signatures)  # type: ignore[attr-defined] # of Numba's dispatcher
    worker, decoder = (
        Worker(PipelineSettings(), None, (str(CAPTURE),)),
        Decoder(CollectorSettings()),
    )
    with open_capture(CAPTURE) as capture:
        frames = next(iter(capture.chunks(2000)))
        made = worker.advance(decoder.decode(frames, capture.points, str(CAPTURE)))
    assert made.tracked is not None
    assert made.tracked.decisions.height
    assert known == list(follow.signatures) != []  # type: ignore[attr-defined] # the same


def test_the_frames_that_are_made_up_are_decided_judged_and_located() -> None:
    worker = Worker(PipelineSettings(), two_devices(), ("warming",))
    worker.advance(two_flows())
    last = worker.finish()
    tracked = last.tracked
    assert tracked is not None
    assert set(tracked.decisions["algorithm"]) >= {"hpcc", "dctcp"}
    assert last.tables["verdicts"].height
    assert set(last.tables["hop_intervals"]["source"]) == {"int", "csig_utilization"}


NEW = """
import sys
from collector.kernel import Kernel
from pipeline.warming import DECIDE, JUDGE, REST, warm

def known():
    found = [each for module in list(sys.modules.values()) for each in vars(module).values()]
    return {(id(each), str(form)) for each in found if isinstance(each, Kernel)
            for form in each.signatures}

warm(REST)
made = known()
warm(DECIDE)
print(len(made), len(known() - made), end=" ")
made = known()
warm(JUDGE)
print(len(known() - made))
"""


def test_decisions_and_the_rest_are_together_all_that_judging_needs() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", NEW], capture_output=True, text=True, check=True, timeout=300
    )
    rest, decisions, more = map(int, ran.stdout.split())
    assert rest > 10
    assert decisions > 0
    assert more == 0
