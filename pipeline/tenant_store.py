"""The store as the people of some tenants see it: nothing of a flow that another one owns."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from pipeline.question_text import parameters_of
from pipeline.remote import OwnerClient
from pipeline.store import Store
from pipeline.store_error import StoreError

TOGETHER = frozenset({"bus_used", "capture_gaps", "hops", "hot_links", "intervals_kept",
                      "link_others", "link_timeline", "links_kept", "links_length", "old_links",
                      "te_extent", "te_links"})  # fmt: skip
"""Queries that tell of all flows together, by link or time, and of no flow by itself."""
CONVERSATIONS = frozenset({"flow_observations"})
"""Queries about the flows of one conversation, which has the same owner in both directions."""
INSTEAD = {"extent": "extent_tenants"}
"""Queries that have another form for some tenants."""


class NotTheirs(StoreError):  # noqa: N818 - what somebody asks for that is not theirs
    """The question is about flows of others, or about the whole fabric."""


class TenantStore:
    """Queries for the flows that some tenants own; whatever is not known to be theirs is refused.

    A query that takes `tenants` is given them, one about a `flow` is asked when that flow is
    theirs, one about the `flows` of a conversation when the first of them is, and of the others
    only those that tell of all flows together.
    """

    def __init__(self, store: Store | OwnerClient, tenants: Sequence[str]) -> None:
        self.store = store
        self.tenants = [name for name in tenants if name != "*"]

    @property
    def revision(self) -> int | None:
        """See `Store.revision`."""
        return self.store.revision

    def query(self, name: str, **parameters: Any) -> pl.DataFrame:
        """See `Store.query`. Raises NotTheirs."""
        own = INSTEAD.get(name, name)
        takes = parameters_of(own)
        if "tenants" in takes:
            return self.store.query(own, **{**parameters, "tenants": self.tenants})
        if "flow" in takes:
            self._own(int(parameters["flow"]))
        elif own in CONVERSATIONS:
            self._own(int(parameters["flows"][0]))
        elif own not in TOGETHER:
            raise NotTheirs(f"{name} tells of all tenants")
        return self.store.query(own, **parameters)

    def _own(self, flow: int) -> None:
        """Raises NotTheirs for a flow of others."""
        if self.store.query("flow_of_hash", flow=flow, tenants=self.tenants).is_empty():
            raise NotTheirs("there is no such flow")
