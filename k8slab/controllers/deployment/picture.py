"""What one sync of one Deployment sees, and what it may write about the Deployment itself.

The picture is taken from the caches once. What an earlier write of this sync changed on the server shows only in the
next sync, except for the Deployment's own annotations, template and status, which `Picture.deployment` follows. Its
resourceVersion stays that of the cache, so the second status write of a sync ends in a conflict and a retry, as it
does upstream.

Upstream: pkg/controller/deployment/sync.go (syncDeploymentStatus, checkPausedConditions), progress.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from k8slab.api.objects import Object, key_of
from k8slab.api.scheme import DEPLOYMENTS
from k8slab.client import Client, EventRecorder
from k8slab.controllers.deployment.revisions import REVISION, annotations_of
from k8slab.controllers.deployment.status import (
    calculate_status,
    deployment_complete,
    new_condition,
    paused_status,
    progress_check_ms,
    rollout_status,
    set_deployment_condition,
)
from k8slab.sim.loop import Loop

__all__ = ["LANE", "Picture", "Surroundings"]

LANE = "kcm/deployment"


class Surroundings(NamedTuple):
    """What a sync needs besides its objects. `replica_set(key)` reads the cache, `pods(uid)` the Pods that a
    ReplicaSet owns; `check_progress(delay_ms)` asks for another sync (0: soon, rate-limited). `terminating`: report
    terminatingReplicas."""

    loop: Loop
    client: Client
    recorder: EventRecorder
    replica_set: Callable[[str], Object | None]
    pods: Callable[[str], Sequence[Object]]
    check_progress: Callable[[int], None]
    terminating: bool


class Picture:
    """`replica_sets`: those the Deployment owns. `new` (the one with its template, None: missing) and `old` are set
    by `new_replica_set.find_revisions`."""

    def __init__(self, around: Surroundings, deployment: Object, replica_sets: Sequence[Object]) -> None:
        self.around = around
        self.deployment = deployment
        self.replica_sets = list(replica_sets)
        self.new: Object | None = None
        self.old: list[Object] = []

    @property
    def all(self) -> list[Object]:
        return self.old if self.new is None else [*self.old, self.new]

    @property
    def status(self) -> Object:
        found: Object = self.deployment.get("status") or {}
        return found

    @property
    def is_complete(self) -> bool:
        return deployment_complete(self.deployment, self.status)

    # -- changing the Deployment (here; `update_status` or an update sends it) ----------------------

    def set_status(self, status: Object) -> None:
        self.deployment = {**self.deployment, "status": status}

    def set_progressing(self, value: str, reason: str, message: str) -> None:
        condition = new_condition("Progressing", value, reason, message, self.around.loop.clock.now_ms)
        self.set_status(set_deployment_condition(self.status, condition))

    def annotate(self, annotations: Object) -> None:
        self.deployment = {**self.deployment, "metadata": {**self.deployment["metadata"], "annotations": annotations}}

    def set_revision(self, revision: str) -> bool:
        """False: it has that revision already."""
        before = annotations_of(self.deployment)
        if before.get(REVISION, "") == revision:
            return False
        self.annotate({**before, REVISION: revision})
        return True

    # -- telling -----------------------------------------------------------------------------------

    async def update_status(self) -> None:
        """Send the status, and with it the annotations."""
        await self.around.client.update_status(DEPLOYMENTS, self.deployment)

    async def check_paused(self) -> None:
        """Let Progressing say that the Deployment was paused or resumed."""
        status = paused_status(self.deployment, self.around.loop.clock.now_ms)
        if status is not None:
            self.set_status(status)
            await self.update_status()

    async def report(self) -> None:
        """Write the status outside of a rollout: no estimate of progress."""
        now_ms, terminating = self.around.loop.clock.now_ms, self.around.terminating
        status = calculate_status(self.deployment, self.all, self.new, now_ms, terminating=terminating)
        await self._write_status(status)

    async def report_rollout(self) -> None:
        """Write the status in a rollout; with nothing new to say, see that a stuck rollout is noticed."""
        now_ms, terminating = self.around.loop.clock.now_ms, self.around.terminating
        status = rollout_status(self.deployment, self.all, self.new, now_ms, terminating=terminating)
        if not await self._write_status(status):
            delay_ms = progress_check_ms(self.deployment, status, now_ms)
            if delay_ms is not None:
                self.around.check_progress(delay_ms)

    async def _write_status(self, status: dict[str, Any]) -> bool:
        """False: nothing new to say."""
        if status == self.status:
            return False
        ready, desired = status.get("readyReplicas", 0), self.deployment["spec"]["replicas"]
        self.emit("deployment.status", ready=ready, desired=desired)
        self.set_status(status)
        await self.update_status()
        return True

    def emit(self, kind: str, **data: str | int) -> None:
        key = key_of(self.deployment)
        self.around.loop.trace.emit(kind, LANE, also=(), resource=DEPLOYMENTS.group_resource, key=key, **data)

    def event(self, event_type: str, reason: str, message: str) -> None:
        self.around.recorder.event(self.deployment, event_type, reason, message)
