"""The topology and the settings of a place, when others come while it is served. Pure."""

from pipeline.group_part import Part
from pipeline.settings import PipelineSettings
from pipeline.tuning import needed
from pipeline.versions import Versions


def renewed(part: Part, versions: Versions | None, settings: PipelineSettings | None) -> list[str]:
    """Give a place what came since, between two cuts; what settings that are not taken need.

    In sentences. None: nothing came.
    """
    worker = part.kept.worker
    if versions is not None and worker.versions is not versions:
        worker.renew(versions)
    if settings is None or part.tuned is settings:
        return []
    part.tuned = settings
    return [*needed(worker.tune(settings))]
