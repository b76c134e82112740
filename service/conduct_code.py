"""The code that watches senders and receivers, made ahead of its first frames.

`python -m service.conduct_code` runs it over two flows that are made up, of which nothing was
decided: so it needs no other code, which others make beside it.
"""

from pipeline import DECISIONS, PipelineSettings, Tracked, two_flows, warm_companions
from replay import Conformance
from service.watched import watching


def warm() -> None:
    """Compile what is needed, and keep it."""
    warm_companions(watching(PipelineSettings()))
    conformance = Conformance()
    conformance.advance(two_flows(), Tracked(DECISIONS.to_frame(), DECISIONS.to_frame()))
    conformance.finish()


if __name__ == "__main__":
    warm()
