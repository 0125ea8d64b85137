"""The evaluator's verdict on a Pod."""

from __future__ import annotations

from typing import Any

from k8slab.apiserver.admission.pod_security import Evaluator, LevelVersion

Json = Any
EVALUATOR = Evaluator("1.36")


def run(given: Json) -> Json:
    verdict = EVALUATOR.evaluate(LevelVersion(given["level"], given["version"]), given["pod"])
    return {
        "allowed": verdict.allowed,
        "reasons": [finding.reason for finding in verdict.findings],
        "details": [finding.detail for finding in verdict.findings],
        "reason": verdict.reason,
        "message": str(verdict),
    }
