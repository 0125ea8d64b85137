"""One sync of one Deployment: reads a picture of the cache, decides, writes.

The picture is taken once. What an earlier write of this sync changed on the server shows only in the next sync,
except for the Deployment's own annotations and status, which `self.deployment` follows. Its resourceVersion stays
that of the cache, so the second status write of a sync ends in a conflict and a retry, as it does upstream.

Upstream: pkg/controller/deployment/sync.go, rolling.go, recreate.go, rollback.go, progress.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from k8slab.api.errors import AlreadyExistsError, NotFoundError, StatusError
from k8slab.api.objects import Object, key_of
from k8slab.api.pods import is_pod_terminal
from k8slab.api.scheme import DEPLOYMENTS, REPLICASETS
from k8slab.client import Client, EventRecorder
from k8slab.controllers.controller_ref import is_controlled_by
from k8slab.controllers.deployment import status as deployment_status
from k8slab.controllers.deployment.fenceposts import fenceposts_of, is_rolling_update
from k8slab.controllers.deployment.proportional import find_active_or_latest, proportional_sizes
from k8slab.controllers.deployment.replica_sets import (
    cleanable,
    find_new_replica_set,
    is_saturated,
    is_scaling_event,
    new_replica_set,
    replicas_of,
    resized,
    rollout_size,
    size_of,
)
from k8slab.controllers.deployment.revisions import (
    REVISION,
    ROLLBACK_TO,
    annotations_of,
    last_revision,
    max_revision,
    revision_of,
    rollback_annotations,
    rollback_to,
    synced_annotations,
)
from k8slab.controllers.deployment.rolling import old_replica_set_sizes
from k8slab.controllers.deployment.status import new_condition, set_deployment_condition
from k8slab.controllers.deployment.template_hash import HASH_LABEL, equal_ignore_hash
from k8slab.controllers.status_cause import has_namespace_terminating_cause
from k8slab.sim.loop import Loop

__all__ = ["LANE", "DeploymentSync", "Surroundings"]

LANE = "kcm/deployment"


class Surroundings(NamedTuple):
    """What a sync needs besides its objects. `replica_set(key)` reads the cache; `check_progress(delay_ms)` asks
    for another sync (0: soon, rate-limited)."""

    loop: Loop
    client: Client
    recorder: EventRecorder
    replica_set: Callable[[str], Object | None]
    check_progress: Callable[[int], None]
    terminating: bool


class DeploymentSync:
    """`replica_sets`: those the Deployment owns, claimed. `pods`: the Pods of these ReplicaSets by their uid."""

    def __init__(
        self,
        around: Surroundings,
        deployment: Object,
        replica_sets: Sequence[Object],
        pods: Callable[[str], Sequence[Object]],
    ) -> None:
        self.around = around
        self.deployment = deployment
        self.replica_sets = list(replica_sets)
        self.pods = pods
        self.new: Object | None = None
        self.old: list[Object] = []

    @property
    def all(self) -> list[Object]:
        return self.old if self.new is None else [*self.old, self.new]

    async def run(self) -> None:
        """Bring the Deployment one step further."""
        if self.deployment["metadata"].get("deletionTimestamp") is not None:
            await self._sync_status_only()
            return
        await self._check_paused()
        if self.deployment["spec"].get("paused"):
            await self._scale_and_report()
        elif rollback_to(self.deployment) is not None:
            await self._roll_back()
        else:
            await self._find_revisions(create=False)
            if is_scaling_event(self.deployment, self.all):
                await self._scale_and_report()
            elif is_rolling_update(self.deployment):
                await self._roll_out()
            else:
                await self._recreate()

    # -- the strategies ----------------------------------------------------------------------------

    async def _roll_out(self) -> None:
        await self._find_revisions(create=True)
        moved = await self._grow_new() or await self._shrink_old()
        if not moved and deployment_status.deployment_complete(self.deployment, self.deployment.get("status") or {}):
            await self._clean_up()
        await self._report_rollout()

    async def _grow_new(self) -> bool:
        assert self.new is not None, "the new ReplicaSet exists or was created"
        size = rollout_size(self.deployment, [size_of(rs) for rs in self.all], size_of(self.new))
        return await self._scale(self.new, size)

    async def _shrink_old(self) -> bool:
        assert self.new is not None, "the new ReplicaSet exists or was created"
        unavailable = fenceposts_of(self.deployment).unavailable
        desired = self.deployment["spec"]["replicas"]
        old = [size_of(rs) for rs in self.old]
        resizes, scaled = old_replica_set_sizes(desired, unavailable, old, size_of(self.new))
        current = {rs["metadata"]["name"]: rs for rs in self.old}
        try:
            for name, replicas in resizes:
                current[name] = await self._write_size(current[name], replicas)
        except (StatusError, TimeoutError):
            return False  # upstream swallows this error: the status is written and the next sync tries again
        return scaled

    async def _recreate(self) -> None:
        await self._find_revisions(create=False)
        stopped = [await self._scale(rs, 0) for rs in self.old if replicas_of(rs) > 0]
        if any(stopped) or self._old_pods_are_running():
            await self._report_rollout()
            return
        if self.new is None:
            await self._find_revisions(create=True)
        assert self.new is not None, "the new ReplicaSet exists or was created"
        await self._scale(self.new, self.deployment["spec"]["replicas"])
        if deployment_status.deployment_complete(self.deployment, self.deployment.get("status") or {}):
            await self._clean_up()
        await self._report_rollout()

    def _old_pods_are_running(self) -> bool:
        """Any Pod of an old ReplicaSet that has not ended, terminating ones included."""
        if any((rs.get("status") or {}).get("replicas") for rs in self.old):
            return True
        return any(not is_pod_terminal(pod) for rs in self.old for pod in self.pods(rs["metadata"]["uid"]))

    async def _roll_back(self) -> None:
        await self._find_revisions(create=True)
        revision = rollback_to(self.deployment) or last_revision(self.all)
        if revision == 0:
            await self._give_up_rollback("DeploymentRollbackRevisionNotFound", "Unable to find last revision.")
            return
        for rs in self.all:
            if revision_of(rs) == revision:
                await self._roll_back_to(rs, revision)
                return
        message = "Unable to find the revision to rollback to."
        await self._give_up_rollback("DeploymentRollbackRevisionNotFound", message)

    async def _roll_back_to(self, rs: Object, revision: int) -> None:
        name = self.deployment["metadata"]["name"]
        template = rs["spec"]["template"]
        if equal_ignore_hash(template, self.deployment["spec"]["template"]):
            message = f'The rollback revision contains the same template as current deployment "{name}"'
            await self._give_up_rollback("DeploymentRollbackTemplateUnchanged", message)
            return
        metadata = template.get("metadata") or {}
        labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
        restored = {**template, "metadata": {**metadata, "labels": labels}}
        self._annotate(rollback_annotations(self.deployment, rs))
        self.deployment = {**self.deployment, "spec": {**self.deployment["spec"], "template": restored}}
        self._emit("deployment.rollback", revision=revision)
        await self._clear_rollback_to()
        self._event("Normal", "DeploymentRollback", f'Rolled back deployment "{name}" to revision {revision}')

    async def _give_up_rollback(self, reason: str, message: str) -> None:
        self._event("Warning", reason, message)
        await self._clear_rollback_to()

    async def _clear_rollback_to(self) -> None:
        kept = {key: value for key, value in annotations_of(self.deployment).items() if key != ROLLBACK_TO}
        self._annotate(kept)
        await self.around.client.update(DEPLOYMENTS, self.deployment)

    # -- scaling -----------------------------------------------------------------------------------

    async def _scale_and_report(self) -> None:
        """For a change of spec.replicas, and while paused: no rolling, only proportional scaling."""
        await self._find_revisions(create=False)
        await self._scale_proportionally()
        if self.deployment["spec"].get("paused") and rollback_to(self.deployment) is None:
            await self._clean_up()
        await self._write_status(self._calculate_status())

    async def _scale_proportionally(self) -> None:
        desired = self.deployment["spec"]["replicas"]
        new = size_of(self.new) if self.new is not None else None
        single = find_active_or_latest(new, [size_of(rs) for rs in self.old])
        by_name = {rs["metadata"]["name"]: rs for rs in self.all}
        if single is not None:
            await self._scale(by_name[single.name], desired)
        elif is_saturated(self.deployment, self.new):
            for rs in self.old:
                if replicas_of(rs) > 0:
                    await self._scale(rs, 0)
        elif is_rolling_update(self.deployment):
            surge = fenceposts_of(self.deployment).surge
            total = (self.deployment.get("status") or {}).get("replicas") or 0
            for name, size in proportional_sizes(desired, surge, total, [size_of(rs) for rs in self.all]):
                await self._write_size(by_name[name], size)

    async def _scale(self, rs: Object, replicas: int) -> bool:
        """Whether a new size was written."""
        if replicas_of(rs) == replicas:
            return False
        await self._write_size(rs, replicas)
        return True

    async def _write_size(self, rs: Object, replicas: int) -> Object:
        """Write the size and the annotations about the Deployment's size, if either differs."""
        changed = resized(self.deployment, rs, replicas)
        if changed is None:
            return rs
        name, before = rs["metadata"]["name"], replicas_of(rs)
        if before != replicas:
            self._emit("deployment.scale", replica_set=name, before=before, after=replicas)
        written = await self.around.client.update(REPLICASETS, changed)
        if before != replicas:
            self._scaled_event(name, before, replicas)
        return written

    def _scaled_event(self, name: str, before: int, after: int) -> None:
        direction = "up" if after > before else "down"
        message = f"Scaled {direction} replica set {name} from {before} to {after}"
        self._event("Normal", "ScalingReplicaSet", message)

    async def _clean_up(self) -> None:
        for rs in cleanable(self.deployment, self.old):
            metadata = rs["metadata"]
            self._emit("deployment.cleanup", replica_set=metadata["name"])
            try:
                await self.around.client.delete(REPLICASETS, metadata["name"], metadata["namespace"])
            except NotFoundError:
                continue

    # -- revisions and the new ReplicaSet ----------------------------------------------------------

    async def _find_revisions(self, *, create: bool) -> None:
        """Set `new` and `old`, with the new one's revision above all others; make it if asked to and missing."""
        existing = find_new_replica_set(self.deployment, self.replica_sets)
        uid = existing["metadata"]["uid"] if existing is not None else None
        self.old = [rs for rs in self.replica_sets if rs["metadata"]["uid"] != uid]
        revision = max_revision(self.old) + 1
        self.new = None
        if existing is not None:
            self.new = await self._sync_existing(existing, revision)
        elif create:
            self.new = await self._create(revision)

    async def _sync_existing(self, rs: Object, revision: int) -> Object:
        annotations = synced_annotations(self.deployment, rs, revision)
        ready_seconds = self.deployment["spec"].get("minReadySeconds") or 0
        if annotations != annotations_of(rs) or (rs["spec"].get("minReadySeconds") or 0) != ready_seconds:
            if annotations.get(REVISION) != annotations_of(rs).get(REVISION):
                self._emit("deployment.adopt", replica_set=rs["metadata"]["name"], revision=revision)
            metadata = {**rs["metadata"], "annotations": annotations}
            spec = {**rs["spec"], "minReadySeconds": ready_seconds}
            return await self.around.client.update(REPLICASETS, {**rs, "metadata": metadata, "spec": spec})
        changed = self._set_revision(annotations_of(rs).get(REVISION, ""))
        status = self.deployment.get("status") or {}
        if deployment_status.has_progress_deadline(self.deployment) and (
            deployment_status.condition_of(status, "Progressing") is None
        ):
            self._set_progressing("True", "FoundNewReplicaSet", f'Found new replica set "{rs["metadata"]["name"]}"')
            changed = True
        if changed:
            await self.around.client.update_status(DEPLOYMENTS, self.deployment)
        return rs

    async def _create(self, revision: int) -> Object:
        made = new_replica_set(self.deployment, self.old, revision)
        name, replicas = made["metadata"]["name"], made["spec"]["replicas"]
        self._emit("deployment.create", replica_set=name, replicas=replicas)
        try:
            created = await self.around.client.create(REPLICASETS, made)
        except AlreadyExistsError as error:
            created = await self._existing_or_collision(made, error)
            if self._set_revision(str(revision)):
                await self.around.client.update_status(DEPLOYMENTS, self.deployment)
            return created
        except (StatusError, TimeoutError) as error:
            await self._report_failed_create(name, error)
            raise
        if replicas > 0:
            self._scaled_event(name, 0, replicas)
        changed = self._set_revision(str(revision))
        if deployment_status.has_progress_deadline(self.deployment):
            self._set_progressing("True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
            changed = True
        if changed:
            await self.around.client.update_status(DEPLOYMENTS, self.deployment)
        return created

    async def _existing_or_collision(self, made: Object, error: AlreadyExistsError) -> Object:
        """The ReplicaSet of this name if it is ours with our template (the cache was behind); otherwise two
        templates have one hash: count that, so that the next sync makes another name, and raise."""
        existing = self.around.replica_set(key_of(made))
        if existing is None:
            raise NotFoundError.of("replicasets", made["metadata"]["name"], "apps")
        same = equal_ignore_hash(existing["spec"]["template"], self.deployment["spec"]["template"])
        if is_controlled_by(existing, self.deployment) and same:
            return existing
        status = self.deployment.get("status") or {}
        count = (status.get("collisionCount") or 0) + 1
        self._emit("deployment.collision", replica_set=made["metadata"]["name"], count=count)
        self._set_status({**status, "collisionCount": count})
        await self._ignoring_failure_update_status()
        raise error

    async def _report_failed_create(self, name: str, error: StatusError | TimeoutError) -> None:
        if has_namespace_terminating_cause(error):
            return
        message = f'Failed to create new replica set "{name}": {error}'
        if deployment_status.has_progress_deadline(self.deployment):
            self._set_progressing("False", "ReplicaSetCreateError", message)
            await self._ignoring_failure_update_status()
        self._event("Warning", "ReplicaSetCreateError", message)

    async def _ignoring_failure_update_status(self) -> None:
        """There is a bigger failure to report than that this one could not be written."""
        try:
            await self.around.client.update_status(DEPLOYMENTS, self.deployment)
        except (StatusError, TimeoutError):
            return

    # -- status ------------------------------------------------------------------------------------

    async def _sync_status_only(self) -> None:
        await self._find_revisions(create=False)
        await self._write_status(self._calculate_status())

    def _calculate_status(self) -> dict[str, Any]:
        now_ms, terminating = self.around.loop.clock.now_ms, self.around.terminating
        return deployment_status.calculate_status(self.deployment, self.all, self.new, now_ms, terminating=terminating)

    async def _check_paused(self) -> None:
        status = deployment_status.paused_status(self.deployment, self.around.loop.clock.now_ms)
        if status is not None:
            self._set_status(status)
            await self.around.client.update_status(DEPLOYMENTS, self.deployment)

    async def _report_rollout(self) -> None:
        now_ms, terminating = self.around.loop.clock.now_ms, self.around.terminating
        status = deployment_status.rollout_status(self.deployment, self.all, self.new, now_ms, terminating=terminating)
        if not await self._write_status(status):
            delay_ms = deployment_status.progress_check_ms(self.deployment, status, now_ms)
            if delay_ms is not None:
                self.around.check_progress(delay_ms)

    async def _write_status(self, status: dict[str, Any]) -> bool:
        """False: nothing new to say."""
        if status == (self.deployment.get("status") or {}):
            return False
        self._emit(
            "deployment.status", ready=status.get("readyReplicas", 0), desired=self.deployment["spec"]["replicas"]
        )
        self._set_status(status)
        await self.around.client.update_status(DEPLOYMENTS, self.deployment)
        return True

    # -- small change ------------------------------------------------------------------------------

    def _set_status(self, status: Object) -> None:
        self.deployment = {**self.deployment, "status": status}

    def _set_progressing(self, value: str, reason: str, message: str) -> None:
        condition = new_condition("Progressing", value, reason, message, self.around.loop.clock.now_ms)
        self._set_status(set_deployment_condition(self.deployment.get("status") or {}, condition))

    def _annotate(self, annotations: Object) -> None:
        self.deployment = {**self.deployment, "metadata": {**self.deployment["metadata"], "annotations": annotations}}

    def _set_revision(self, revision: str) -> bool:
        before = annotations_of(self.deployment)
        if before.get(REVISION, "") == revision:
            return False
        self._annotate({**before, REVISION: revision})
        return True

    def _emit(self, kind: str, **data: str | int) -> None:
        key = key_of(self.deployment)
        self.around.loop.trace.emit(kind, LANE, also=(), resource=DEPLOYMENTS.group_resource, key=key, **data)

    def _event(self, event_type: str, reason: str, message: str) -> None:
        self.around.recorder.event(self.deployment, event_type, reason, message)
