"""Keeps a ServiceAccount `default` in every namespace.

Upstream: pkg/controller/serviceaccount/serviceaccounts_controller.go
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.api.scheme import NAMESPACES, SERVICEACCOUNTS
from k8slab.client import WorkQueue, run_workers
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.namespace_children import create_in_namespace, is_active

__all__ = ["ServiceAccountController"]

LANE = "kcm/serviceaccount"


class ServiceAccountController:
    """`names`: the ServiceAccounts to keep. Option `concurrent-serviceaccount-syncs` (1)."""

    names = ("default",)

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.client = ctx.client
        self.queue = WorkQueue(ctx.loop, "serviceaccount", lane=LANE)
        self.accounts = ctx.informers.informer(SERVICEACCOUNTS)
        self.namespaces = ctx.informers.informer(NAMESPACES)
        self.accounts.add_event_handler(on_delete=self._account_deleted)
        self.namespaces.add_event_handler(
            on_add=lambda namespace, is_initial: self.queue.add(namespace["metadata"]["name"]),
            on_update=lambda old, new: self.queue.add(new["metadata"]["name"]),
        )

    def start(self) -> None:
        """Start the workers."""
        workers = self.ctx.option("concurrent-serviceaccount-syncs", 1)
        informers = (self.accounts, self.namespaces)
        run_workers(self.ctx.component, self.queue, self.sync, workers, LANE, informers=informers)

    def _account_deleted(self, account: Object) -> None:
        if account["metadata"]["name"] in self.names:
            self.queue.add(account["metadata"]["namespace"])

    async def sync(self, namespace: str) -> None:
        """Create what is missing in an active namespace."""
        found = self.namespaces.indexer.get(namespace)
        if found is None or not is_active(found):
            return
        for name in self.names:
            if self.accounts.indexer.get(f"{namespace}/{name}") is None:
                account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
                await create_in_namespace(self.client, SERVICEACCOUNTS, account, namespace)
