"""The AIJob operator: workers and a status for each AIJob, and a prediction for the scheduler to read.

>>> from k8slab.cluster import Cluster
>>> from k8slab.controllers.aijob import AIJobOperator
>>> cluster = Cluster(nodes=1, operators={"aijob-operator": AIJobOperator})
>>> job = {"model": "resnet50", "batchSize": 256, "gpu": {"type": "a100", "count": 1}, "replicas": 2}
>>> _ = cluster.apply({"apiVersion": "ai.k8slab.dev/v1", "kind": "AIJob", "metadata": {"name": "train"}, "spec": job})
>>> _ = cluster.run(for_ms=1_000)
>>> cluster.object("predictionresult/train")["status"]["runtimeSeconds"], len(cluster.objects("pods"))
(4293, 2)
>>> cluster.close()

Two sub-controllers with a queue each, in one process: a slow predictor delays no worker. It is not one of the
controller manager's: run it with `Cluster(operators=...)`, which serves its `definitions` from the start.

Upstream: none. Spec: the operator pattern
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import k8slab.controllers.aijob.kinds  # noqa: F401
from k8slab.api.ai_jobs import DEFINITIONS
from k8slab.controllers.aijob.lifecycle import Lifecycle
from k8slab.controllers.aijob.prediction import PredictionController
from k8slab.controllers.context import ControllerContext

__all__ = ["AIJobOperator"]


class AIJobOperator:
    """Both sub-controllers. `predict_ms`: how long the predictor takes."""

    definitions: Sequence[dict[str, Any]] = DEFINITIONS

    def __init__(self, ctx: ControllerContext, *, predict_ms: int = 50) -> None:
        self.lifecycle = Lifecycle(ctx)
        self.prediction = PredictionController(ctx, predict_ms=predict_ms)

    def start(self) -> None:
        """Start both."""
        self.lifecycle.start()
        self.prediction.start()
