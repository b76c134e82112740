"""Topology files made from what operators have: one module a description, one draft for all."""

from pipeline.importers.containerlab import containerlab
from pipeline.importers.draft import Draft
from pipeline.importers.netbox import netbox
from pipeline.importers.sonic import sonic

__all__ = ["Draft", "containerlab", "netbox", "sonic"]
