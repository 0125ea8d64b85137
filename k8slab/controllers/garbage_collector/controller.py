"""The garbage collector: deletes what has lost all its owners.

    informers ──changes──> GraphBuilder ──> attempt_to_delete ──> workers: read, decide, delete or patch
                                        └─> attempt_to_orphan ──> workers: cut references, drop the finalizer

Upstream: pkg/controller/garbagecollector/garbagecollector.go, operations.go
Simplified: watches whole objects, not their metadata alone, of a fixed list of resources and of those given to
`monitor` (upstream asks discovery every 30 s); workers wait for the first lists of all of them (upstream goes on
after 30 s); dependents are orphaned one after the other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import k8slab.controllers.lifecycle_kinds  # noqa: F401
from k8slab.api.errors import ConflictError, NotFoundError
from k8slab.api.objects import Object
from k8slab.api.scheme import (
    CONFIGMAPS,
    CONTROLLERREVISIONS,
    CRONJOBS,
    DAEMONSETS,
    DEPLOYMENTS,
    ENDPOINTSLICES,
    GVR,
    HORIZONTALPODAUTOSCALERS,
    INGRESSES,
    JOBS,
    LEASES,
    NETWORKPOLICIES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    SECRETS,
    SERVICEACCOUNTS,
    SERVICES,
    STATEFULSETS,
    ResourceInfo,
)
from k8slab.client import DEFAULT_BACKOFF, SharedInformer, WorkQueue, is_retriable, retry_on_conflict
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.garbage_collector.decision import (
    DeleteItem,
    Examination,
    PatchItem,
    References,
    classify,
    collect,
    delete_owner_references_patch,
    examine,
    remove_finalizer_patch,
)
from k8slab.controllers.garbage_collector.graph import FOREGROUND, ORPHAN, Node, ObjectReference, owner_coordinates
from k8slab.controllers.garbage_collector.graph_builder import EventType, GraphBuilder, GraphEffects
from k8slab.controllers.garbage_collector.rest_mapping import RestMapper, RestMappingError

__all__ = ["DEFAULT_RESOURCES", "GarbageCollectorController"]

LANE = "kcm/garbage-collector"

DEFAULT_RESOURCES: tuple[GVR, ...] = (
    PODS,
    REPLICASETS,
    DEPLOYMENTS,
    STATEFULSETS,
    DAEMONSETS,
    CONTROLLERREVISIONS,
    JOBS,
    CRONJOBS,
    REPLICATIONCONTROLLERS,
    SERVICES,
    ENDPOINTSLICES,
    CONFIGMAPS,
    SECRETS,
    SERVICEACCOUNTS,
    PERSISTENTVOLUMECLAIMS,
    HORIZONTALPODAUTOSCALERS,
    PODDISRUPTIONBUDGETS,
    INGRESSES,
    NETWORKPOLICIES,
    NODES,
    LEASES,
)
"""What is watched unless the option `garbage-collector-resources` says otherwise. Events never are."""


class GarbageCollectorController:
    """Options: `concurrent-gc-syncs` (20), workers of each of the two queues; `garbage-collector-resources`, a list of
    GVR; `custom-resources`, a list of ResourceInfo of kinds that are not built in, as `monitor` takes them."""

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.loop = ctx.loop
        self.client = ctx.client
        self.recorder = ctx.recorder("garbage-collector-controller")
        self.mapper = RestMapper()
        self.graph = GraphBuilder()
        self.attempt_to_delete = WorkQueue(ctx.loop, "garbage-collector", lane=LANE)
        self.attempt_to_orphan = WorkQueue(ctx.loop, "garbage-collector-orphan", lane=LANE)
        self.workers = ctx.option("concurrent-gc-syncs", 20)
        self._monitors: dict[GVR, SharedInformer] = {}
        for gvr in ctx.options.get("garbage-collector-resources", DEFAULT_RESOURCES):
            self._watch(gvr)
        for info in ctx.options.get("custom-resources", ()):
            self.mapper.register(info)
            self._watch(info.gvr)

    def start(self) -> None:
        """Start the workers."""
        for queue, attempt in (
            (self.attempt_to_delete, self._attempt_to_delete),
            (self.attempt_to_orphan, self._attempt_to_orphan),
        ):
            self.ctx.component.on_close(queue.shut_down)
            for number in range(self.workers):
                role = f"{queue.name}/worker-{number}"
                self.ctx.component.spawn(role, self._work(queue, attempt))

    def monitor(self, info: ResourceInfo) -> None:
        """Watch one more resource, such as a custom one; its objects can be owners and dependents from then on."""
        self.mapper.register(info)
        if info.gvr not in self._monitors:
            self._watch(info.gvr).start()

    # -- the graph ---------------------------------------------------------------------------------

    def _watch(self, gvr: GVR) -> SharedInformer:
        gvk = self.mapper.kind_of(gvr)
        informer = self._monitors[gvr] = self.ctx.informers.informer(gvr)
        informer.add_event_handler(
            on_add=lambda obj, is_initial: self._carry_out(self.graph.changed(EventType.ADD, obj, gvk)),
            on_update=lambda old, new: self._carry_out(self.graph.changed(EventType.UPDATE, new, gvk, old)),
            on_delete=lambda obj: self._carry_out(self.graph.deleted(obj, gvk)),
        )
        return informer

    def _carry_out(self, effects: GraphEffects) -> None:
        for invalid in effects.invalid_owners:
            about = _object_of(invalid.dependent)
            named = f"[{invalid.owner.api_version}/{invalid.owner.kind}, namespace: {invalid.owner.namespace}, "
            named += f"name: {invalid.owner.name}, uid: {invalid.owner.uid}]"
            message = f'ownerRef {named} does not exist in namespace "{invalid.dependent.namespace}"'
            self.recorder.event(about, "Warning", "OwnerRefInvalidNamespace", message)
        for identity in effects.attempt_to_delete:
            self.attempt_to_delete.add(identity)
        for identity in effects.attempt_to_delete_later:
            self.attempt_to_delete.add_rate_limited(identity)
        for identity in effects.attempt_to_orphan:
            self.attempt_to_orphan.add(identity)

    # -- workers -----------------------------------------------------------------------------------

    async def _work(self, queue: WorkQueue, attempt: Callable[[Node], Awaitable[bool]]) -> None:
        """Take items for ever. `attempt` returns whether the item is done with; if not it is tried again later."""
        for informer in self._monitors.values():
            await informer.wait_synced()
        while (identity := await queue.get()) is not None:
            try:
                await self._process(queue, attempt, identity)
            finally:
                queue.done(identity)

    async def _process(
        self, queue: WorkQueue, attempt: Callable[[Node], Awaitable[bool]], identity: ObjectReference
    ) -> None:
        node = self.graph.nodes.get(identity.uid)
        if node is None:
            queue.forget(identity)
            return
        tries, key = queue.num_requeues(identity) + 1, str(node.identity)
        trace = self.loop.trace
        trace.emit("sync", LANE, also=queue.take_merged(), queue=queue.name, key=key, attempt=tries)
        try:
            is_done = await attempt(node)
        except Exception as error:
            if not (is_retriable(error) or isinstance(error, RestMappingError)):
                raise
            delay_ms = queue.rate_limiter.when(identity)
            trace.emit("sync.error", LANE, queue=queue.name, key=key, error=str(error)[:80], retry_ms=delay_ms)
            # A kind that is not served now may never be: a loop that only waits for that is idle.
            queue.add_after(identity, delay_ms, periodic=isinstance(error, RestMappingError))
            return
        if is_done:
            queue.forget(identity)
        else:
            queue.add_after(identity, queue.rate_limiter.when(identity), periodic=True)

    async def _attempt_to_delete(self, item: Node) -> bool:
        """Upstream's attemptToDeleteItem."""
        if item.being_deleted and not item.deleting_dependents:
            return True
        latest = await self._read(item.identity)
        step = examine(item, latest)
        if step is Examination.VIRTUAL_DELETE or latest is None:
            self._virtually_deleted(item.identity)
            return True
        if step is Examination.DELETING_DEPENDENTS:
            await self._process_deleting_dependents(item)
        elif step is Examination.CLASSIFY:
            references = await self._classify(item, latest["metadata"]["ownerReferences"])
            if references is None:
                return True
            for write in collect(item, latest, references):
                if not await self._write(item, write, latest, references):
                    return True
        # A virtual node stays in the queue until an informer has seen the object: it may vanish unseen.
        return item.is_observed

    async def _process_deleting_dependents(self, item: Node) -> None:
        blocking = item.blocking_dependents()
        for dependent in blocking:
            if not dependent.deleting_dependents:
                self.attempt_to_delete.add(dependent.identity)
        if not blocking:
            await self._remove_finalizer(item.identity, FOREGROUND)

    async def _classify(self, item: Node, owner_references: list[Object]) -> References | None:
        """Look up every owner. None: the item is cluster-scoped and names a namespaced owner, which is an error
        that trying again will not mend."""
        references = References()
        for reference in owner_references:
            anywhere = owner_coordinates(reference)
            here = owner_coordinates(reference, item.identity.namespace)
            owner: Object | None = None
            if anywhere not in self.graph.absent_owner_cache and here not in self.graph.absent_owner_cache:
                is_namespaced = self.mapper.resource_of(anywhere).namespaced
                if is_namespaced and not item.identity.namespace:
                    return None
                coordinates = here if is_namespaced else anywhere
                owner = await self._read(coordinates)
                if owner is None or owner["metadata"].get("uid") != reference["uid"]:
                    self.graph.absent_owner_cache.add(coordinates)
            references.add(reference, classify(reference, owner))
        return references

    async def _attempt_to_orphan(self, owner: Node) -> bool:
        """Cut the dependents' references to `owner`, then let it go."""
        dependents = list(owner.dependents.values())
        self._tell("gc.orphan", owner.identity, count=len(dependents))
        for dependent in dependents:
            try:
                await self._patch(dependent.identity, delete_owner_references_patch(dependent.uid, [owner.uid]))
            except NotFoundError:
                continue
        await self._remove_finalizer(owner.identity, ORPHAN)
        return True

    # -- API calls ---------------------------------------------------------------------------------

    async def _read(self, identity: ObjectReference) -> Object | None:
        info = self.mapper.resource_of(identity)
        try:
            return await self.client.get(info.gvr, identity.name, identity.namespace if info.namespaced else "")
        except NotFoundError:
            return None

    async def _write(self, item: Node, write: DeleteItem | PatchItem, latest: Object, references: References) -> bool:
        """Carry out one effect. False: the item turned out to be gone."""
        if isinstance(write, PatchItem):
            self._tell("gc.unown", item.identity, count=len(references.dangling) + len(references.waiting))
            await self._patch(item.identity, write)
            return True
        why = "its owner waits for it" if references.waiting else "its owners are gone"
        self._tell("gc.delete", item.identity, policy=write.policy, why=why)
        try:
            await self._delete(item.identity, write, latest["metadata"].get("ownerReferences"))
        except NotFoundError:
            self._virtually_deleted(item.identity)
            return False
        return True

    async def _delete(self, identity: ObjectReference, write: DeleteItem, owners: Object | None) -> None:
        """Delete unless the object changed; if only something other than its owners did, delete all the same."""
        info = self.mapper.resource_of(identity)
        namespace = identity.namespace if info.namespaced else ""
        options = {"propagation_policy": write.policy}
        try:
            await self.client.delete(
                info.gvr, identity.name, namespace, uid=write.uid, resource_version=write.resource_version, **options
            )
        except ConflictError:
            live = await self._read(identity)
            if (
                live is None
                or live["metadata"]["uid"] != write.uid
                or live["metadata"].get("ownerReferences") != owners
            ):
                raise
            await self.client.delete(info.gvr, identity.name, namespace, uid=write.uid, **options)

    async def _patch(self, identity: ObjectReference, patch: PatchItem) -> None:
        info = self.mapper.resource_of(identity)
        namespace = identity.namespace if info.namespaced else ""
        await self.client.patch(info.gvr, identity.name, patch.body, namespace, patch_type=patch.patch_type)

    async def _remove_finalizer(self, identity: ObjectReference, finalizer: str) -> None:
        async def attempt() -> None:
            latest = await self._read(identity)
            patch = None if latest is None else remove_finalizer_patch(latest, finalizer)
            if patch is not None:
                self._tell("gc.finalize", identity, finalizer=finalizer)
                await self._patch(identity, patch)

        await retry_on_conflict(self.loop, attempt, DEFAULT_BACKOFF)

    def _virtually_deleted(self, identity: ObjectReference) -> None:
        self._tell("gc.absent", identity)
        self._carry_out(self.graph.virtually_deleted(identity))

    def _tell(self, event: str, identity: ObjectReference, **data: Any) -> None:
        resource = self.mapper.resource_of(identity).gvr.group_resource
        self.loop.trace.emit(event, LANE, resource=resource, key=identity.key, what=identity.kind, **data)

    def view(self) -> dict[str, Any]:
        """The graph and the two queues."""
        queues = {queue.name: queue.view() for queue in (self.attempt_to_delete, self.attempt_to_orphan)}
        return {"graph": self.graph.view(), "queues": queues}

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        self.graph.check_invariants()
        self.attempt_to_delete.check_invariants()
        self.attempt_to_orphan.check_invariants()


def _object_of(identity: ObjectReference) -> dict[str, object]:
    metadata = {"name": identity.name, "namespace": identity.namespace, "uid": identity.uid}
    return {"apiVersion": identity.api_version, "kind": identity.kind, "metadata": metadata}
