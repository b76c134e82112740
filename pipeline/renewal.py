"""The topology and the settings that a place works by, when others come while it is served."""

import logging

from pipeline.group_part import Part
from pipeline.settings import PipelineSettings
from pipeline.versions import Versions

logger = logging.getLogger("hopsight.pipeline")


def renewed(part: Part, versions: Versions | None, settings: PipelineSettings | None) -> None:
    """Give a place what came since, between two cuts; None: nothing did."""
    worker = part.kept.worker
    if versions is not None and worker.versions is not versions:
        worker.renew(versions)
    if settings is not None and part.tuned is not settings:
        part.tuned = settings
        if left := sorted(worker.tune(settings)):
            logger.warning("%s: %s need a restart", part.place, ", ".join(left))
