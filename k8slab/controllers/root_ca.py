"""Publishes the cluster's CA bundle as ConfigMap `kube-root-ca.crt` in every namespace.

Upstream: pkg/controller/certificates/rootcacertpublisher/publisher.go
Simplified: the bundle is the text given as option `root-ca` (upstream reads the file --root-ca-file); without it the
published bundle is empty.
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.api.scheme import CONFIGMAPS, NAMESPACES
from k8slab.client import WorkQueue, run_workers
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.namespace_children import create_in_namespace, is_active

__all__ = ["DESCRIPTION", "NAME", "RootCACertificatePublisher"]

LANE = "kcm/root-ca"
NAME = "kube-root-ca.crt"
ANNOTATION = "kubernetes.io/description"
DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class RootCACertificatePublisher:
    """Option `root-ca`: the bundle, PEM text."""

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.client = ctx.client
        self.root_ca = str(ctx.options.get("root-ca", ""))
        self.queue = WorkQueue(ctx.loop, "root-ca", lane=LANE)
        self.config_maps = ctx.informers.informer(CONFIGMAPS)
        self.namespaces = ctx.informers.informer(NAMESPACES)
        self.config_maps.add_event_handler(
            on_update=lambda old, new: self._config_map_changed(new), on_delete=self._config_map_changed
        )
        self.namespaces.add_event_handler(
            on_add=lambda namespace, is_initial: self.queue.add(namespace["metadata"]["name"]),
            on_update=self._namespace_updated,
        )

    def start(self) -> None:
        """Start the worker."""
        run_workers(self.ctx.component, self.queue, self.sync, 1, LANE, informers=(self.config_maps, self.namespaces))

    def _config_map_changed(self, config_map: Object) -> None:
        if config_map["metadata"]["name"] == NAME:
            self.queue.add(config_map["metadata"]["namespace"])

    def _namespace_updated(self, old: Object, new: Object) -> None:
        if is_active(new):
            self.queue.add(new["metadata"]["name"])

    async def sync(self, namespace: str) -> None:
        """Create the ConfigMap, or set right its data and description."""
        data = {"ca.crt": self.root_ca}
        found = self.config_maps.indexer.get(f"{namespace}/{NAME}")
        if found is None:
            metadata = {"name": NAME, "annotations": {ANNOTATION: DESCRIPTION}}
            new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            await create_in_namespace(self.client, CONFIGMAPS, new, namespace)
            return
        annotations = found["metadata"].get("annotations") or {}
        if found.get("data") == data and annotations.get(ANNOTATION):
            return
        metadata = {**found["metadata"], "annotations": {**annotations, ANNOTATION: DESCRIPTION}}
        await self.client.update(CONFIGMAPS, {**found, "metadata": metadata, "data": data})
