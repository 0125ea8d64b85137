"""The Deployment controller: informers to queue, queue to sync.

Upstream: pkg/controller/deployment/deployment_controller.go
Simplified: a Deployment that a ReplicaSet or Pod event belongs to is found by owner reference, then by label; the
resync period of the informers is off.
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.api.errors import StatusError
from k8slab.api.labels import selector_from_dict
from k8slab.api.objects import Object, key_of
from k8slab.api.scheme import DEPLOYMENTS, PODS, REPLICASETS
from k8slab.client import WorkQueue, run_workers
from k8slab.client.indexer import OWNER_UID
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.controller_ref import (
    ORPHANS,
    ControllerRefManager,
    Owner,
    controller_of,
    is_controlled_by,
    orphan_index,
)
from k8slab.controllers.deployment.picture import LANE, Picture, Surroundings
from k8slab.controllers.deployment.replica_sets import DEPLOYMENT
from k8slab.controllers.deployment.sync import sync_deployment
from k8slab.controllers.status_cause import has_namespace_terminating_cause

__all__ = ["DeploymentController"]

MAX_RETRIES = 15


class DeploymentController:
    """Rolls Deployments out: creates and scales ReplicaSets. Never touches Pods."""

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.queue = WorkQueue(ctx.loop, "deployment", lane=LANE)
        self.deployments = ctx.informers.informer(DEPLOYMENTS)
        self.replica_sets = ctx.informers.informer(REPLICASETS)
        self.pods = ctx.informers.informer(PODS)
        self.replica_sets.add_index(ORPHANS, orphan_index)
        self.deployments.add_event_handler(
            on_add=lambda obj, is_initial: self.enqueue(obj),
            on_update=lambda old, new: self.enqueue(new),
            on_delete=self.enqueue,
        )
        self.replica_sets.add_event_handler(
            on_add=self._replica_set_added,
            on_update=self._replica_set_updated,
            on_delete=self._enqueue_owner,
        )
        self.pods.add_event_handler(on_delete=self._pod_deleted)
        self.recorder = ctx.recorder("deployment-controller")

    def start(self) -> None:
        run_workers(
            self.ctx.component,
            self.queue,
            self.sync,
            workers=self.ctx.option("concurrent-deployment-syncs", 5),
            max_retries=MAX_RETRIES,
            informers=(self.deployments, self.replica_sets, self.pods),
        )

    # -- events ------------------------------------------------------------------------------------

    def enqueue(self, deployment: Object) -> None:
        self.queue.add(key_of(deployment))

    def _replica_set_added(self, rs: Object, is_initial: bool) -> None:
        if controller_of(rs) is not None:
            self._enqueue_owner(rs)
        else:
            self._enqueue_selecting(rs)

    def _replica_set_updated(self, old: Object, new: Object) -> None:
        if old["metadata"].get("resourceVersion") == new["metadata"].get("resourceVersion"):
            return  # a resync
        owner, old_owner = controller_of(new), controller_of(old)
        if old_owner is not None and owner != old_owner:
            self._enqueue_owner(old)
        if owner is not None:
            self._enqueue_owner(new)
        elif owner != old_owner or new["metadata"].get("labels") != old["metadata"].get("labels"):
            self._enqueue_selecting(new)

    def _enqueue_owner(self, rs: Object) -> None:
        deployment = self._owner_of(rs)
        if deployment is not None:
            self.enqueue(deployment)

    def _enqueue_selecting(self, rs: Object) -> None:
        """An orphan: wake every Deployment that might adopt it."""
        labels = rs["metadata"].get("labels")
        if not labels or rs["metadata"].get("deletionTimestamp") is not None:
            return
        for deployment in self.deployments.indexer.list(rs["metadata"].get("namespace") or ""):
            selector = selector_from_dict(deployment["spec"].get("selector"))
            if not selector.empty and selector.matches(labels):
                self.enqueue(deployment)

    def _owner_of(self, rs: Object) -> Object | None:
        reference = controller_of(rs)
        if reference is None or reference["kind"] != DEPLOYMENT.kind:
            return None
        found = self.deployments.indexer.get(f"{rs['metadata'].get('namespace')}/{reference['name']}")
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None

    def _pod_deleted(self, pod: Object) -> None:
        """A Recreate Deployment goes on when its last Pod is gone."""
        reference = controller_of(pod)
        if reference is None or reference["kind"] != "ReplicaSet":
            return
        rs = self.replica_sets.indexer.get(f"{pod['metadata'].get('namespace')}/{reference['name']}")
        deployment = self._owner_of(rs) if rs is not None and rs["metadata"]["uid"] == reference["uid"] else None
        if deployment is None or (deployment["spec"].get("strategy") or {}).get("type") != "Recreate":
            return
        owned = self.replica_sets.indexer.by_index(OWNER_UID, deployment["metadata"]["uid"])
        if not any(self._pods_of(rs["metadata"]["uid"]) for rs in owned):
            self.enqueue(deployment)

    # -- sync --------------------------------------------------------------------------------------

    async def sync(self, key: str) -> None:
        """One step for the Deployment `key`. A refusal because its namespace is going away ends the matter."""
        deployment = self.deployments.indexer.get(key)
        if deployment is None:
            return
        if not any((deployment["spec"].get("selector") or {}).values()):
            await self._refuse_to_select_all(deployment)
            return
        around = Surroundings(
            loop=self.ctx.loop,
            client=self.ctx.client,
            recorder=self.recorder,
            replica_set=self.replica_sets.indexer.get,
            pods=self._pods_of,
            check_progress=lambda delay_ms: self._check_progress(key, delay_ms),
            terminating=self.ctx.features.enabled("DeploymentReplicaSetTerminatingReplicas"),
        )
        try:
            owned = await self._claim(deployment)
            await sync_deployment(Picture(around, deployment, owned))
        except StatusError as error:
            if not has_namespace_terminating_cause(error):
                raise

    async def _claim(self, deployment: Object) -> list[Object]:
        """The Deployment's ReplicaSets, with orphans that match adopted and those that no longer match released."""
        indexer, metadata = self.replica_sets.indexer, deployment["metadata"]
        candidates = [rs for rs in indexer.by_index(OWNER_UID, metadata["uid"]) if is_controlled_by(rs, deployment)]
        candidates += indexer.by_index(ORPHANS, metadata.get("namespace") or "")
        selector = selector_from_dict(deployment["spec"]["selector"])
        owner = Owner(deployment, DEPLOYMENT, DEPLOYMENTS)
        manager = ControllerRefManager(self.ctx.client, owner, REPLICASETS, "ReplicaSet")
        return await manager.claim(candidates, lambda rs: selector.matches(rs["metadata"].get("labels")))

    def _pods_of(self, uid: str) -> Sequence[Object]:
        return self.pods.indexer.by_index(OWNER_UID, uid)

    def _check_progress(self, key: str, delay_ms: int) -> None:
        if delay_ms == 0:
            self.queue.add_rate_limited(key)
        else:
            self.queue.add_after(key, delay_ms)

    async def _refuse_to_select_all(self, deployment: Object) -> None:
        message = "This deployment is selecting all pods. A non-empty selector is required."
        self.recorder.event(deployment, "Warning", "SelectingAll", message)
        status = deployment.get("status") or {}
        generation = deployment["metadata"].get("generation", 0)
        if status.get("observedGeneration", 0) < generation:
            seen = {**deployment, "status": {**status, "observedGeneration": generation}}
            await self.ctx.client.update_status(DEPLOYMENTS, seen)
