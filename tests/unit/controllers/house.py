"""A controller manager over a fake API server that also knows strategic patches, propagation policies and the
deletion of namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.errors import ConflictError
from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object, key_of, thaw
from k8slab.api.patch.strategic import strategic_merge_patch
from k8slab.api.scheme import EVENTS, GVR, NAMESPACES, PODS, SCHEME
from k8slab.api.times import rfc3339
from k8slab.api.transport import STRATEGIC_MERGE_PATCH, Request
from k8slab.client import Client, SharedInformerFactory
from k8slab.controllers import REGISTRY, ControllerContext
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop
from k8slab.sim.order import Order
from tests.fakes import FakeTransport

FINALIZER_OF = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}


class HouseTransport(FakeTransport):
    """`FakeTransport` with what the housekeeping controllers need of a server."""

    def _patch(self, request: Request, cause: int | None) -> Object:
        if request.patch_type != STRATEGIC_MERGE_PATCH:
            return super()._patch(request, cause)
        old = self._find(request)
        patch: Any = thaw(request.body)
        metadata = patch.get("metadata", {})
        for name in ("uid", "resourceVersion"):
            if metadata.pop(name, old["metadata"][name]) != old["metadata"][name]:
                raise ConflictError.of(request.resource.resource, request.name, f"{name} differs")
        kind = SCHEME.kind_of(request.resource)
        return self._write(request, old, strategic_merge_patch(thaw(old), patch, kind), cause)

    def _write(self, request: Request, old: Object, new: dict[str, Any], cause: int | None) -> Object:
        if request.resource == NAMESPACES and request.subresource == "status":  # its finalizers are in its spec
            return self._commit(NAMESPACES, old, {**thaw(old), "status": new["status"]}, cause)
        return super()._write(request, old, new, cause)

    def _update(self, request: Request, cause: int | None) -> Object:
        if request.subresource != "finalize":
            return super()._update(request, cause)
        old = self._find(request)
        new = thaw(request.body)
        if new["metadata"].get("deletionTimestamp") and not new["spec"].get("finalizers"):
            return self._commit(request.resource, old, None, cause)
        return self._commit(request.resource, old, new, cause)

    def _delete(self, request: Request, cause: int | None) -> Object:
        if request.resource == NAMESPACES:
            return self._delete_namespace(request, cause)
        options: Any = request.body or {}
        finalizer = FINALIZER_OF.get(options.get("propagationPolicy", ""))
        old = self._find(request)
        if finalizer is None or finalizer in (old["metadata"].get("finalizers") or ()):
            return super()._delete(request, cause)
        wanted = options.get("preconditions") or {}
        for name in ("uid", "resourceVersion"):
            if wanted.get(name) not in (None, old["metadata"][name]):
                return super()._delete(request, cause)
        return self.start_deletion(request.resource, key_of(old), finalizer, cause)

    def _delete_namespace(self, request: Request, cause: int | None) -> Object:
        new = thaw(self._find(request))
        new["metadata"]["deletionTimestamp"] = rfc3339(self.loop.clock.now_ms)
        new["status"] = {**new.get("status", {}), "phase": "Terminating"}
        return self._commit(NAMESPACES, self._find(request), new, cause)

    def start_deletion(self, gvr: GVR, key: str, finalizer: str, cause: int | None = None) -> Object:
        """Another client deletes with propagationPolicy Foreground or Orphan."""
        old = self.objects[(gvr, key)]
        new = thaw(old)
        finalizers = new["metadata"].get("finalizers") or []
        if finalizer not in finalizers:
            new["metadata"]["finalizers"] = [*finalizers, finalizer]
        new["metadata"].setdefault("deletionTimestamp", rfc3339(self.loop.clock.now_ms))
        return self._commit(gvr, old, new, cause)


class House:
    """The controllers named, started over an empty server."""

    def __init__(
        self,
        *controllers: str,
        seed: int = 7,
        latency_ms: int = 1,
        order: Order | None = None,
        options: Mapping[str, Any] | None = None,
        release: str = "1.36",
        graceful_pods: bool = False,
        transport: type[HouseTransport] = HouseTransport,
    ) -> None:
        self.loop = Loop(seed, order=order)
        self.server = transport(self.loop, latency_ms=latency_ms, graceful_pods=graceful_pods)
        self.names = controllers
        self.options = options or {}
        self.release = release
        self.start()

    def start(self) -> None:
        """Start the controller manager (again)."""
        self.component = Component(self.loop, "kcm")
        client = Client(self.server)
        informers = SharedInformerFactory(self.loop, self.component, client)
        gates = FeatureGates(self.release)
        self.ctx = ControllerContext(self.loop, self.component, client, informers, gates, self.options)
        self.controllers: dict[str, Any] = {name: REGISTRY[name](self.ctx) for name in self.names}
        informers.start()
        for controller in self.controllers.values():
            controller.start()

    def crash(self) -> None:
        self.component.kill()

    def run(self, ms: int) -> None:
        self.loop.run(for_ms=ms)

    def close(self) -> None:
        self.component.kill()
        self.loop.close()

    def keys(self, gvr: GVR) -> list[str]:
        return [key_of(obj) for obj in self.server.of(gvr)]

    def writes(self) -> list[str]:
        """The controllers' writes so far, without those of Events."""
        return [
            f"{verb} {resource} {name}"
            for verb, resource, name in self.server.verbs()
            if verb != "get" and not resource.startswith("events")
        ]

    def events(self) -> list[str]:
        return [f"{event['reason']}: {event['message']}" for event in self.server.of(EVENTS)]

    def told(self, *kinds: str) -> list[str]:
        """The sentences of the trace events of these kinds (none given: of level 1)."""
        from k8slab.sim.kinds import KINDS

        return [
            event.message
            for event in self.loop.trace
            if (event.kind in kinds if kinds else KINDS[event.kind].level == 1 and event.actor.startswith("kcm/"))
        ]


def pod(name: str, node: str = "", **spec: Any) -> dict[str, Any]:
    """A running, ready Pod."""
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": rfc3339(0)}
    bound = {"nodeName": node} if node else {}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "web:1"}], **bound, **spec},
        "status": {"phase": "Running", "conditions": [ready]},
    }


def owned(obj: dict[str, Any], *owners: Object, block: bool = True) -> dict[str, Any]:
    """`obj` with references to `owners`."""
    references = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
        for owner in owners
    ]
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": references}}


def named(name: str, namespace: str = "default", **fields: Any) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"metadata": {"name": name, **place}, **fields}


__all__ = ["PODS", "House", "HouseTransport", "named", "owned", "pod"]
