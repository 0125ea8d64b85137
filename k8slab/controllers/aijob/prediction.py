"""The prediction half of the operator: a PredictionResult for each AIJob, kept as its description says.

Everything slow happens here, beside the scheduler: the predictor takes `predict_ms`, and a scheduling cycle only reads
what was written. An upsert is two writes. The object itself is created with its owner; its status goes through the
status subresource, which takes nothing but the status, and only of objects that exist: `Status().Update` alone never
creates anything, and drops the owner reference that was set on the object in memory.

Deleting the AIJob is enough: the owner reference lets the garbage collector take the PredictionResult.

Upstream: none. Spec: controller-runtime's CreateOrUpdate, and the status subresource of custom resources
"""

from __future__ import annotations

from typing import Any

from k8slab.api.ai_jobs import AIJOB, AIJOBS, PREDICTION_RESULT, PREDICTIONRESULTS, job_problems
from k8slab.api.errors import AlreadyExistsError, ConflictError, NotFoundError
from k8slab.api.objects import Object, key_of
from k8slab.api.transport import MERGE_PATCH
from k8slab.client import WorkQueue, run_workers
from k8slab.controllers.aijob.predictor import Features, features_of, predict
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.controller_ref import controller_of, is_controlled_by, new_controller_ref
from k8slab.sim.loop import sleep

__all__ = ["PredictionController", "result_for"]


def result_for(job: Object, features: Features) -> dict[str, Any]:
    """The PredictionResult of an AIJob, without its status: whose it is, and what it is predicted from."""
    return {
        "apiVersion": PREDICTION_RESULT.api_version,
        "kind": PREDICTION_RESULT.kind,
        "metadata": {
            "name": job["metadata"]["name"],
            "namespace": job["metadata"]["namespace"],
            "ownerReferences": [new_controller_ref(job, AIJOB)],
        },
        "spec": {
            "jobUID": job["metadata"]["uid"],
            "features": {
                "model": features.model,
                "batchSize": features.batch_size,
                "gpuType": features.gpu_type,
                "gpus": features.gpus,
                "replicas": features.replicas,
                "checkpointSeconds": features.checkpoint_seconds,
            },
        },
    }


class PredictionController:
    """The sub-controller. `predict_ms`: how long the predictor takes."""

    def __init__(self, ctx: ControllerContext, *, predict_ms: int = 50) -> None:
        self.ctx = ctx
        self.client = ctx.client
        self.predict_ms = predict_ms
        self.lane = f"{ctx.component.name}/prediction"
        self.queue = WorkQueue(ctx.loop, "prediction", lane=self.lane)
        self.jobs = ctx.informers.informer(AIJOBS)
        self.results = ctx.informers.informer(PREDICTIONRESULTS)
        self.jobs.add_event_handler(
            on_add=lambda job, is_initial: self.queue.add(key_of(job)),
            on_update=lambda old, new: self.queue.add(key_of(new)),
        )
        # Somebody changed or deleted a result: put it right.
        self.results.add_event_handler(
            on_update=lambda old, new: self.queue.add(key_of(new)), on_delete=lambda gone: self.queue.add(key_of(gone))
        )

    def start(self) -> None:
        """Start the worker."""
        informers = (self.jobs, self.results)
        run_workers(self.ctx.component, self.queue, self.sync, 1, self.lane, informers=informers)

    async def sync(self, key: str) -> None:
        """Make the PredictionResult what the job's description says. Writes nothing when it is."""
        job = self.jobs.indexer.get(key)
        if job is None or job["metadata"].get("deletionTimestamp") or job_problems(job.get("spec")):
            return
        features = features_of(job)
        wanted = result_for(job, features)
        there = self.results.indexer.get(key)
        if there is not None and _is_current(there, wanted, job):
            return
        await sleep(self.predict_ms)
        there = await self._upsert(job, wanted)
        status = _status(job, features)
        if there.get("status") != status:
            self.ctx.loop.trace.emit(
                "aijob.predict",
                self.lane,
                resource="aijobs",
                key=key,
                signature=status["jobSignature"],
                seconds=status["runtimeSeconds"],
            )
            await self._patch(there, {"status": status}, subresource="status")

    async def _upsert(self, job: Object, wanted: dict[str, Any]) -> Object:
        """The object with its owner and spec as wanted, read from the server: caches may be old."""
        metadata = wanted["metadata"]
        try:
            return await self.client.create(PREDICTIONRESULTS, wanted)
        except AlreadyExistsError:
            there = await self.client.get(PREDICTIONRESULTS, metadata["name"], metadata["namespace"])
        if not is_controlled_by(there, job) and controller_of(there) is not None:
            # Left by a job of the same name that is gone. The garbage collector will come; this is quicker.
            await self._delete(there)
            return await self.client.create(PREDICTIONRESULTS, wanted)
        if there.get("spec") != wanted["spec"] or not is_controlled_by(there, job):
            patch = {"metadata": {"ownerReferences": metadata["ownerReferences"]}, "spec": wanted["spec"]}
            return await self._patch(there, patch)
        return there

    async def _patch(self, there: Object, patch: dict[str, Any], subresource: str = "") -> Object:
        """A merge patch of this very object: with its uid, so never of a successor with its name."""
        metadata = there["metadata"]
        body = {**patch, "metadata": {**patch.get("metadata", {}), "uid": metadata["uid"]}}
        return await self.client.patch(
            PREDICTIONRESULTS,
            metadata["name"],
            body,
            metadata["namespace"],
            patch_type=MERGE_PATCH,
            subresource=subresource,
        )

    async def _delete(self, there: Object) -> None:
        metadata = there["metadata"]
        try:
            await self.client.delete(PREDICTIONRESULTS, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except (NotFoundError, ConflictError):
            return  # gone, or replaced by now: the create that follows will tell


def _status(job: Object, features: Features) -> dict[str, Any]:
    found = predict(features, job["spec"].get("minRetentionPercent", 80))
    return {
        "runtimeSeconds": found.runtime_seconds,
        "jobSignature": found.signature,
        "minRetentionPercent": found.min_retention,
        "interferenceProfile": dict(found.interference),
    }


def _is_current(there: Object, wanted: dict[str, Any], job: Object) -> bool:
    return (
        is_controlled_by(there, job)
        and there.get("spec") == wanted["spec"]
        and there.get("status") == _status(job, features_of(job))
    )
