"""The ReplicaSet controller: as many Pods as asked for, no more, no less.

Its cache is always a little behind. Two guards keep it from acting twice on one fact: expectations (what it asked
for and has not seen yet), and since 1.36 the consistency store (how far its caches must have read before the next
sync of a ReplicaSet that it wrote for).

Upstream: pkg/controller/replicaset/replica_set.go
Simplified: Pods of a ReplicaSet are found by owner reference, and orphans by namespace, through indexes; the related
Pods that rank a scale-down are those owned by the sibling ReplicaSets (upstream: those their selectors match).
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.labels import selector_from_dict
from k8slab.api.objects import Object, key_of
from k8slab.api.pods import is_pod_active, is_pod_ready
from k8slab.api.scheme import GVK, PODS, REPLICASETS
from k8slab.client import (
    ConsistencyError,
    ConsistencyStore,
    NoopConsistencyStore,
    UIDTrackingExpectations,
    WorkQueue,
    run_workers,
)
from k8slab.client.indexer import OWNER_UID
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.controller_ref import (
    ORPHANS,
    ControllerRefManager,
    Owner,
    controller_of,
    orphan_index,
)
from k8slab.controllers.parallel import APIFailure, call_all, slow_start
from k8slab.controllers.replicaset.pod_control import PodControl
from k8slab.controllers.replicaset.scale_down import pods_to_delete
from k8slab.controllers.replicaset.status import (
    PodFacts,
    calculate_status,
    facts_of,
    next_availability_check_ms,
    status_differs,
)
from k8slab.controllers.status_cause import has_namespace_terminating_cause

__all__ = ["BURST_REPLICAS", "REPLICA_SET", "ReplicaSetController"]

REPLICA_SET = GVK("apps", "v1", "ReplicaSet")
BURST_REPLICAS = 500
"""The most Pods that one sync creates or deletes."""

LANE = "kcm/replicaset"


class ReplicaSetController:
    """Creates and deletes Pods so that every ReplicaSet has as many active ones as its spec says."""

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.queue = WorkQueue(ctx.loop, "replicaset", lane=LANE)
        self.expectations = UIDTrackingExpectations(ctx.loop.clock)
        self.replica_sets = ctx.informers.informer(REPLICASETS)
        self.pods = ctx.informers.informer(PODS)
        self.pods.add_index(ORPHANS, orphan_index)
        self.consistency = self._consistency_store()
        self.pod_control = PodControl(ctx.client, ctx.recorder("replicaset-controller"), self._pod_written)
        self.report_terminating = ctx.features.enabled("DeploymentReplicaSetTerminatingReplicas")
        self._known: dict[str, PodFacts] = {}
        self.replica_sets.add_event_handler(
            on_add=lambda obj, is_initial: self.queue.add(key_of(obj)),
            on_update=self._replica_set_updated,
            on_delete=self._replica_set_deleted,
        )
        self.pods.add_event_handler(
            on_add=lambda pod, is_initial: self._pod_added(pod),
            on_update=self._pod_updated,
            on_delete=self._pod_gone,
        )

    def start(self) -> None:
        run_workers(
            self.ctx.component,
            self.queue,
            self.sync,
            workers=self.ctx.option("concurrent-replicaset-syncs", 5),
            informers=(self.replica_sets, self.pods),
        )

    def _consistency_store(self) -> ConsistencyStore | NoopConsistencyStore:
        if not self.ctx.features.enabled("StaleControllerConsistencyReplicaSet"):
            return NoopConsistencyStore()
        return ConsistencyStore({PODS: self.pods.indexer, REPLICASETS: self.replica_sets.indexer})

    def _pod_written(self, owner: Object, pod: Object) -> None:
        metadata = owner["metadata"]
        self.consistency.wrote_at(key_of(owner), metadata["uid"], PODS, pod["metadata"]["resourceVersion"])

    # -- events ------------------------------------------------------------------------------------

    def _replica_set_updated(self, old: Object, new: Object) -> None:
        if old["metadata"]["uid"] != new["metadata"]["uid"]:
            self._replica_set_deleted(old)
        self.queue.add(key_of(new))

    def _replica_set_deleted(self, rs: Object) -> None:
        key = key_of(rs)
        self.consistency.clear(key, rs["metadata"]["uid"])
        self.expectations.delete_expectations(key)
        self.queue.add(key)

    def _pod_added(self, pod: Object) -> None:
        if pod["metadata"].get("deletionTimestamp") is not None:
            self._pod_deleted(pod)  # after a restart a Pod may first be seen when it is on its way out
            return
        if controller_of(pod) is None:
            self._enqueue_selecting(pod)
            return
        rs = self._owner_of(pod)
        if rs is not None:
            self.expectations.creation_observed(key_of(rs))
            self.queue.add(key_of(rs))

    def _pod_updated(self, old: Object, new: Object) -> None:
        if old["metadata"].get("resourceVersion") == new["metadata"].get("resourceVersion"):
            return  # a resync
        labels_changed = old["metadata"].get("labels") != new["metadata"].get("labels")
        if new["metadata"].get("deletionTimestamp") is not None:
            # counts as the deletion: what was asked for has happened, the Pod only takes its time to end
            self._pod_deleted(new)
            if labels_changed:
                self._pod_deleted(old)
            return
        owner, old_owner = controller_of(new), controller_of(old)
        if old_owner is not None and owner != old_owner:
            former = self._owner_of(old)
            if former is not None:
                self.queue.add(key_of(former))
        if owner is None:
            if labels_changed or owner != old_owner:
                self._enqueue_selecting(new)
            return
        rs = self._owner_of(new)
        if rs is not None:
            self.queue.add(key_of(rs))
            min_ready_seconds = rs["spec"].get("minReadySeconds") or 0
            if min_ready_seconds > 0 and is_pod_ready(new) and not is_pod_ready(old):
                self.queue.add_after(key_of(rs), 1000 * min_ready_seconds)

    def _pod_gone(self, pod: Object) -> None:
        self._known.pop(pod["metadata"]["uid"], None)
        self._pod_deleted(pod)

    def _pod_deleted(self, pod: Object) -> None:
        rs = self._owner_of(pod)
        if rs is not None:
            self.expectations.deletion_observed(key_of(rs), pod["metadata"]["uid"])
            self.queue.add(key_of(rs))

    def _owner_of(self, pod: Object) -> Object | None:
        reference = controller_of(pod)
        if reference is None or reference["kind"] != REPLICA_SET.kind:
            return None
        found = self.replica_sets.indexer.get(f"{pod['metadata'].get('namespace')}/{reference['name']}")
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None

    def _enqueue_selecting(self, pod: Object) -> None:
        """An orphan: wake every ReplicaSet that might adopt it."""
        labels = pod["metadata"].get("labels")
        if not labels:
            return
        for rs in self.replica_sets.indexer.list(pod["metadata"].get("namespace") or ""):
            selector = selector_from_dict(rs["spec"].get("selector"))
            if not selector.empty and selector.matches(labels):
                self.queue.add(key_of(rs))

    # -- sync --------------------------------------------------------------------------------------

    async def sync(self, key: str) -> None:
        """Create or delete Pods of the ReplicaSet `key` if nothing is outstanding, then report its status."""
        try:
            self.consistency.ensure_ready(key)
        except ConsistencyError as error:
            self._emit("replicaset.wait", key, why=f"its cache of {error.group_resource} is behind its writes")
            raise
        rs = self.replica_sets.indexer.get(key)
        if rs is None:
            self.consistency.clear(key)
            self.expectations.delete_expectations(key)
            return
        satisfied = self.expectations.satisfied_expectations(key)
        uid = rs["metadata"]["uid"]
        facts_of_all = map(self._facts, self.pods.indexer.by_index(OWNER_UID, uid))
        owned = [facts for facts in facts_of_all if facts.owner == uid]
        active, terminating = await self._claim(rs, owned)
        failure: APIFailure | None = None
        if not satisfied:
            self._emit("replicaset.wait", key, why="it expects Pods that its cache does not show yet")
        elif rs["metadata"].get("deletionTimestamp") is None:
            failure = await self._manage_replicas(key, rs, active)
        await self._report(key, rs, active, terminating if self.report_terminating else None, failure)
        if failure is not None:
            raise failure

    async def _claim(self, rs: Object, owned: Sequence[PodFacts]) -> tuple[list[PodFacts], int]:
        """The active Pods of the ReplicaSet, orphans that match adopted, those that no longer match released; and
        how many of its Pods are terminating."""
        selector = selector_from_dict(rs["spec"]["selector"])
        verdicts: dict[tuple[tuple[str, str], ...], bool] = {}
        kept, strangers, terminating = [], [], 0
        for facts in owned:
            matches = verdicts.get(facts.labels)
            if matches is None:  # nearly all have the same labels
                matches = verdicts[facts.labels] = selector.matches(dict(facts.labels))
            if facts.active and matches:
                kept.append(facts)
            elif facts.active:
                strangers.append(facts.pod)
            terminating += facts.terminating and matches
        orphans = self.pods.indexer.by_index(ORPHANS, rs["metadata"].get("namespace") or "")
        manager = ControllerRefManager(
            self.ctx.client,
            Owner(rs, REPLICA_SET, REPLICASETS),
            PODS,
            "Pod",
            on_write=lambda pod: self._pod_written(rs, pod),
        )
        candidates = [*strangers, *(pod for pod in orphans if is_pod_active(pod))]
        adopted = await manager.claim(candidates, lambda pod: selector.matches(pod["metadata"].get("labels")))
        return kept + [self._facts(pod) for pod in adopted], terminating

    async def _manage_replicas(self, key: str, rs: Object, active: Sequence[PodFacts]) -> APIFailure | None:
        """Create or delete what is missing or too much, at most `BURST_REPLICAS`. Returns the first failure."""
        have, want = len(active), rs["spec"]["replicas"]
        count = min(abs(have - want), BURST_REPLICAS)
        if have < want:
            self._emit("replicaset.create", key, have=have, want=want, count=count)
            return await self._create_pods(key, rs, count)
        if have > want:
            self._emit("replicaset.delete", key, have=have, want=want, count=count)
            return await self._delete_pods(key, rs, [facts.pod for facts in active], count)
        return None

    async def _create_pods(self, key: str, rs: Object, count: int) -> APIFailure | None:
        self.expectations.expect_creations(key, count)

        async def create(number: int) -> None:
            try:
                await self.pod_control.create(rs["spec"]["template"], rs, REPLICA_SET)
            except StatusError as error:
                if not has_namespace_terminating_cause(error):  # no creation can succeed any more: not a failure
                    raise

        batch = await slow_start(self.ctx.component, f"replicaset/create/{key}", create, count)
        for _ in range(count - batch.successes):
            self.expectations.creation_observed(key)  # the informer will not see these
        return batch.failure

    async def _delete_pods(self, key: str, rs: Object, active: Sequence[Object], count: int) -> APIFailure | None:
        doomed = pods_to_delete(active, self._related_pods(rs), count, self.ctx.loop.clock.now_ms)
        self.expectations.expect_deletions(key, [pod["metadata"]["uid"] for pod in doomed])

        async def delete(pod: Object) -> None:
            try:
                await self.pod_control.delete(pod, rs)
            except (StatusError, TimeoutError) as error:
                self.expectations.deletion_observed(key, pod["metadata"]["uid"])
                if not isinstance(error, NotFoundError):
                    raise

        failures = await call_all(self.ctx.component, f"replicaset/delete/{key}", delete, doomed)
        return next((failure for failure in failures if failure is not None), None)

    def _related_pods(self, rs: Object) -> list[Object]:
        """The Pods of all ReplicaSets with the same owner, this one's among them."""
        owner = controller_of(rs)
        siblings = self.replica_sets.indexer.by_index(OWNER_UID, owner["uid"]) if owner is not None else []
        indexer = self.pods.indexer
        return [pod for sibling in siblings for pod in indexer.by_index(OWNER_UID, sibling["metadata"]["uid"])]

    async def _report(
        self, key: str, rs: Object, active: Sequence[PodFacts], terminating: int | None, failure: APIFailure | None
    ) -> None:
        now_ms = self.ctx.loop.clock.now_ms
        text = None if failure is None else str(failure)
        status = calculate_status(rs, active, terminating, text, now_ms)
        if status_differs(rs, status):
            self._emit("replicaset.status", key, ready=status.get("readyReplicas", 0), replicas=status["replicas"])
            await self._write_status(key, rs, status)
        min_ready_seconds = rs["spec"].get("minReadySeconds") or 0
        waiting = status.get("readyReplicas", 0) != status.get("availableReplicas", 0)
        if failure is None and min_ready_seconds > 0 and waiting:
            delay_ms = next_availability_check_ms(active, min_ready_seconds, now_ms)
            self.queue.add_after(key, 1000 * min_ready_seconds if delay_ms is None else delay_ms)

    async def _write_status(self, key: str, rs: Object, status: Object) -> None:
        """Write it; after a failure read the ReplicaSet and try once more, with the generation this sync acted on."""
        try:
            written = await self.ctx.client.update_status(REPLICASETS, {**rs, "status": status})
        except (StatusError, TimeoutError):
            metadata = rs["metadata"]
            fresh = await self.ctx.client.get(REPLICASETS, metadata["name"], metadata.get("namespace") or "")
            written = await self.ctx.client.update_status(REPLICASETS, {**fresh, "status": status})
        uid, version = rs["metadata"]["uid"], written["metadata"]["resourceVersion"]
        self.consistency.wrote_at(key, uid, REPLICASETS, version)

    def _facts(self, pod: Object) -> PodFacts:
        """`facts_of`, remembered for as long as the cached Pod is the same object."""
        uid = pod["metadata"]["uid"]
        known = self._known.get(uid)
        if known is None or known.pod is not pod:
            known = self._known[uid] = facts_of(pod)
        return known

    def _emit(self, kind: str, key: str, **data: str | int) -> None:
        self.ctx.loop.trace.emit(kind, LANE, also=(), resource=REPLICASETS.group_resource, key=key, **data)
