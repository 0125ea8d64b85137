"""Which checks a level has in a release, and what they say of a Pod.

Upstream: pod-security-admission/policy/{registry,checks}.go
"""

from __future__ import annotations

from typing import NamedTuple

from k8slab.api.features import LATEST
from k8slab.api.objects import Object
from k8slab.apiserver.admission.pod_security.baseline import BASELINE_CHECKS
from k8slab.apiserver.admission.pod_security.checks import Finding, Test
from k8slab.apiserver.admission.pod_security.levels import BASELINE, PRIVILEGED, LevelVersion
from k8slab.apiserver.admission.pod_security.restricted import RESTRICTED_CHECKS

__all__ = ["Evaluator", "Verdict"]


class Verdict(NamedTuple):
    """What the checks of a level found; as a text it is what a refusal says."""

    findings: tuple[Finding, ...]

    @property
    def allowed(self) -> bool:
        return not self.findings

    @property
    def reason(self) -> str:
        """The short form: what, but not where."""
        return ", ".join(finding.reason for finding in self.findings)

    def __str__(self) -> str:
        return ", ".join(f"{f.reason} ({f.detail})" if f.detail else f.reason for f in self.findings)


class Evaluator:
    """The checks as a release (`1.36`) knows them. Versions it does not know yet count as its newest."""

    def __init__(self, release: str = LATEST) -> None:
        self._newest = int(release.partition(".")[2])
        self._tests: dict[LevelVersion, list[Test]] = {}

    def evaluate(self, level: LevelVersion, pod: Object) -> Verdict:
        """`pod`: a Pod, or a template: `metadata` and `spec`. Any level but privileged and baseline is restricted."""
        if level.level == PRIVILEGED:
            return Verdict(())
        found = (test(pod) for test in self._tests_of(level))
        return Verdict(tuple(finding for finding in found if finding is not None))

    def _tests_of(self, level: LevelVersion) -> list[Test]:
        if level not in self._tests:
            minor = self._newest if level.minor is None else min(level.minor, self._newest)
            checks = list(BASELINE_CHECKS)
            if level.level != BASELINE:
                stricter = [check for check in RESTRICTED_CHECKS if check.at(minor) is not None]
                overridden = {check.overrides for check in stricter}
                checks = [check for check in checks if check.id not in overridden] + stricter
            tests = (check.at(minor) for check in checks)
            self._tests[level] = [test for test in tests if test is not None]
        return self._tests[level]
