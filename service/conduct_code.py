"""The code that watches senders and receivers, made ahead of its first frames.

`python -m service.conduct_code` runs it over two flows that are made up, once another process has
made what decisions need: both go on beside one another from there, each for its own kernels.
"""

import sys
import time

from pipeline import Decider, PipelineSettings, Rerun, is_warm, two_devices, two_flows
from replay import Conformance
from service.watched import watching

WAIT_S, LOOK_S = 600.0, 0.1


def warm() -> None:
    """Compile what is needed, and keep it."""
    settings = watching(PipelineSettings())
    rerun = Rerun(settings, [Decider(settings, two_devices())], ("warming",))
    conformance = Conformance()
    for made in (rerun.advance(two_flows()), rerun.finish()):
        if made.tracked:
            conformance.advance(made.rows, made.tracked[0])
    conformance.finish()


def main() -> int:
    """Wait for the code of decisions, as long as somebody may be making it."""
    begun = time.monotonic()
    while not is_warm("decide") and time.monotonic() - begun < WAIT_S:
        time.sleep(LOOK_S)
    warm()
    return 0


if __name__ == "__main__":
    sys.exit(main())
