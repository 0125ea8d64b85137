"""The lifecycle half of the operator: worker Pods for an AIJob, and its phase.

Workers have fixed names (`train-worker-0`), so that a sync that was cut short, or saw an old cache, cannot make one too
many: a second create meets AlreadyExists. Annotations of the job under `k8slab.dev/` go to its workers.

Upstream: none. Spec: the operator pattern; the names follow the training operators' `<job>-worker-<n>`
Simplified: workers that fail are not restarted by the operator; the job has failed with the first of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k8slab.api.ai_jobs import AIJOB, AIJOBS, GPU_RESOURCE, SIGNATURE, job_problems
from k8slab.api.errors import AlreadyExistsError, ConflictError, NotFoundError
from k8slab.api.objects import Object, key_of
from k8slab.api.pods import pod_phase
from k8slab.api.scheme import PODS
from k8slab.api.times import rfc3339
from k8slab.api.transport import MERGE_PATCH
from k8slab.client import WorkQueue, run_workers
from k8slab.controllers.aijob.predictor import features_of, job_signature
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.controller_ref import controller_of, is_controlled_by, new_controller_ref

__all__ = ["Lifecycle", "job_status", "worker_name", "worker_pod"]

_BEHAVIOUR = "k8slab.dev/"


def worker_name(job: Object, number: int) -> str:
    return f"{job['metadata']['name']}-worker-{number}"


def worker_pod(job: Object, number: int) -> dict[str, Any]:
    """The worker's Pod: owned by the job, signed for the scheduler, with as many GPUs as a worker has.

    With both cpu and memory in `spec.resources` it is Guaranteed; GPUs alone leave a Pod BestEffort.
    """
    spec = job["spec"]
    amounts = {**spec.get("resources", {}), GPU_RESOURCE: str(spec["gpu"]["count"])}
    own = job["metadata"].get("annotations") or {}
    behaviour = {name: value for name, value in own.items() if name.startswith(_BEHAVIOUR)}
    pod_spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "worker",
                "image": f"training/{spec['model']}",
                "resources": {"requests": amounts, "limits": amounts},
            }
        ],
    }
    pod_spec |= {name: spec[name] for name in ("priorityClassName", "schedulerName") if name in spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": worker_name(job, number),
            "namespace": job["metadata"]["namespace"],
            "labels": {"ai.k8slab.dev/job": job["metadata"]["name"]},
            "annotations": {**behaviour, SIGNATURE: job_signature(features_of(job))},
            "ownerReferences": [new_controller_ref(job, AIJOB)],
        },
        "spec": pod_spec,
    }


def job_status(job: Object, workers: Sequence[Object], problems: Sequence[str]) -> dict[str, Any]:
    """The status that follows from a job's Pods: Pending, Running, Succeeded or Failed.

    Failed wins; Succeeded and Running need all workers.
    """
    phases = [pod_phase(pod) for pod in workers]
    wanted = 0 if problems else job["spec"]["replicas"]
    if problems or "Failed" in phases:
        phase = "Failed"
    elif len(phases) < wanted or any(p not in ("Running", "Succeeded") for p in phases):
        phase = "Pending"
    else:
        phase = "Succeeded" if all(p == "Succeeded" for p in phases) else "Running"
    return {
        "phase": phase,
        "workers": {
            "wanted": wanted,
            "running": phases.count("Running"),
            "succeeded": phases.count("Succeeded"),
            "failed": phases.count("Failed"),
        },
        "observedGeneration": job["metadata"].get("generation", 1),
        "message": "; ".join(problems),
    }


def _is_over(job: Object) -> bool:
    """Its workers have finished. (One that failed with a message was never begun, and is tried again.)"""
    status = job.get("status") or {}
    return status.get("phase") in ("Succeeded", "Failed") and not status.get("message")


class Lifecycle:
    """The sub-controller. `start` begins one worker."""

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.lane = f"{ctx.component.name}/lifecycle"
        self.queue = WorkQueue(ctx.loop, "lifecycle", lane=self.lane)
        self.jobs = ctx.informers.informer(AIJOBS)
        self.pods = ctx.informers.informer(PODS)
        self.jobs.add_event_handler(
            on_add=lambda job, is_initial: self.queue.add(key_of(job)),
            on_update=lambda old, new: self.queue.add(key_of(new)),
        )
        self.pods.add_event_handler(
            on_add=lambda pod, is_initial: self._pod_changed(pod),
            on_update=lambda old, new: self._pod_changed(new),
            on_delete=self._pod_gone,
        )

    def start(self) -> None:
        """Start the worker."""
        informers = (self.jobs, self.pods)
        run_workers(self.ctx.component, self.queue, self.sync, 1, self.lane, informers=informers)

    def _pod_changed(self, pod: Object) -> None:
        owner = controller_of(pod)
        if owner is not None and owner["kind"] == AIJOB.kind and owner["apiVersion"] == AIJOB.api_version:
            self.queue.add(f"{pod['metadata']['namespace']}/{owner['name']}")

    def _pod_gone(self, pod: Object) -> None:
        """Its name is free, whoever had it."""
        name, _, number = pod["metadata"]["name"].rpartition("-worker-")
        if name and number:
            self.queue.add(f"{pod['metadata']['namespace']}/{name}")

    async def sync(self, key: str) -> None:
        """Create missing workers, delete those too many, write the status. A job that is over is left alone."""
        job = self.jobs.indexer.get(key)
        if job is None or job["metadata"].get("deletionTimestamp"):
            return  # its Pods and its prediction are the garbage collector's
        if _is_over(job):
            return
        problems = job_problems(job.get("spec"))
        mine = [pod for pod in self.pods.indexer.list(job["metadata"]["namespace"]) if is_controlled_by(pod, job)]
        if not problems:
            problems = await self._scale(job, mine)
        await self._write_status(job, job_status(job, mine, problems))

    async def _scale(self, job: Object, mine: Sequence[Object]) -> list[str]:
        """Bring the workers to `spec.replicas`. Returns what stands in the way: Pods of others with a worker's name."""
        there = {pod["metadata"]["name"]: pod for pod in mine}
        wanted = [worker_name(job, number) for number in range(job["spec"]["replicas"])]
        taken = []
        for number, name in enumerate(wanted):
            if name not in there and not await self._create(job, number):
                taken.append(f"pod {name}: exists, and belongs to somebody else")
        for name, pod in there.items():
            if name not in wanted and not pod["metadata"].get("deletionTimestamp"):
                await self._delete(pod)
        return taken

    async def _create(self, job: Object, number: int) -> bool:
        """False: a Pod of that name belongs to somebody else."""
        pod = worker_pod(job, number)
        self.ctx.loop.trace.emit(
            "aijob.worker", self.lane, resource="aijobs", key=key_of(job), pod=pod["metadata"]["name"]
        )
        try:
            await self.ctx.client.create(PODS, pod)
        except AlreadyExistsError:
            found = await self.ctx.client.get(PODS, pod["metadata"]["name"], job["metadata"]["namespace"])
            return is_controlled_by(found, job)
        return True

    async def _delete(self, pod: Object) -> None:
        metadata = pod["metadata"]
        try:
            await self.ctx.client.delete(PODS, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except (NotFoundError, ConflictError):
            return  # it is gone, or another one has its name by now

    async def _write_status(self, job: Object, wanted: dict[str, Any]) -> None:
        """Patch the status if it differs. `startTime`, `completionTime`: when the phase was first seen."""
        old = job.get("status") or {}
        now = rfc3339(self.ctx.loop.clock.now_ms)
        if wanted["phase"] != "Pending":
            wanted["startTime"] = old.get("startTime", now)
        is_terminal = wanted["phase"] in ("Succeeded", "Failed")
        wanted["completionTime"] = old.get("completionTime", now) if is_terminal else None
        if all(old.get(name) == value for name, value in wanted.items()):
            return
        metadata = job["metadata"]
        # With the uid: a job that was deleted and made again meanwhile must not get the old one's status.
        patch = {"metadata": {"uid": metadata["uid"]}, "status": wanted}
        try:
            await self.ctx.client.patch(
                AIJOBS, metadata["name"], patch, metadata["namespace"], patch_type=MERGE_PATCH, subresource="status"
            )
        except NotFoundError:
            return
