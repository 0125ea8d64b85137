"""Feature gates: what a release does by default, and what its operator changed.

One table for all components drives `Cluster(release="1.35")` against `"1.36"`. Changes that upstream made without a
gate (BalancedAllocation's score of 1.36) ask `at_least` instead.

>>> from k8slab.api.features import FeatureGates
>>> FeatureGates("1.35").enabled("StaleControllerConsistencyReplicaSet"), FeatureGates().enabled("AtomicFIFO")
(False, True)

Upstream: pkg/features/kube_features.go, apiserver/pkg/features/kube_features.go, client-go/features/known_features.go,
    component-base/featuregate/feature_gate.go, test/compatibility_lifecycle/reference/versioned_feature_list.yaml
Simplified: the gates that decide something here or that the book mentions, not all 250; releases 1.32 to 1.36 (gates
    that upstream removed since keep their last value); AllAlpha, AllBeta and gates' dependencies are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["GATES", "RELEASES", "FeatureGates", "GateSpec"]

RELEASES = ("1.32", "1.33", "1.34", "1.35", "1.36")
LATEST = RELEASES[-1]


class GateSpec(NamedTuple):
    """From `release` on: the stage (Alpha, Beta, GA, Deprecated), the default, and whether it can still be changed."""

    release: str
    stage: str
    default: bool
    locked: bool = False


def _row(*specs: tuple[str, str, bool]) -> tuple[GateSpec, ...]:
    """`GA!` marks a locked stage."""
    return tuple(GateSpec(release, stage.rstrip("!"), on, stage.endswith("!")) for release, stage, on in specs)


_ON, _OFF = True, False

GATES: dict[str, tuple[GateSpec, ...]] = {
    # API server
    "BtreeWatchCache": _row(("1.32", "Beta", _ON), ("1.33", "GA!", _ON)),
    "ConsistentListFromCache": _row(("1.28", "Alpha", _OFF), ("1.31", "Beta", _ON), ("1.34", "GA!", _ON)),
    "DeclarativeValidation": _row(("1.33", "Beta", _ON), ("1.36", "GA!", _ON)),
    "DetectCacheInconsistency": _row(("1.34", "Beta", _ON)),
    "ListFromCacheSnapshot": _row(("1.33", "Alpha", _OFF), ("1.34", "Beta", _ON)),
    "MultiCIDRServiceAllocator": _row(
        ("1.27", "Alpha", _OFF), ("1.31", "Beta", _OFF), ("1.33", "GA", _ON), ("1.34", "GA!", _ON)
    ),
    "MutatingAdmissionPolicy": _row(("1.32", "Alpha", _OFF), ("1.34", "Beta", _OFF), ("1.36", "GA", _ON)),
    "OrderedNamespaceDeletion": _row(("1.30", "Beta", _OFF), ("1.33", "Beta", _ON), ("1.34", "GA!", _ON)),
    "PodTopologyLabelsAdmission": _row(("1.33", "Alpha", _OFF), ("1.35", "Beta", _ON)),
    "RelaxedEnvironmentVariableValidation": _row(("1.30", "Alpha", _OFF), ("1.32", "Beta", _ON), ("1.34", "GA!", _ON)),
    "RelaxedServiceNameValidation": _row(("1.34", "Alpha", _OFF), ("1.36", "Beta", _ON)),
    "ResilientWatchCacheInitialization": _row(("1.31", "Beta", _ON), ("1.34", "GA!", _ON)),
    "RetryGenerateName": _row(("1.30", "Alpha", _OFF), ("1.31", "Beta", _ON), ("1.32", "GA!", _ON)),
    "SeparateCacheWatchRPC": _row(("1.28", "Beta", _ON), ("1.33", "Deprecated", _OFF), ("1.36", "Deprecated!", _OFF)),
    "StrictIPCIDRValidation": _row(("1.33", "Alpha", _OFF), ("1.36", "Beta", _ON)),
    "WatchList": _row(("1.27", "Alpha", _OFF), ("1.32", "Beta", _ON), ("1.33", "Beta", _OFF), ("1.34", "Beta", _ON)),
    # Clients
    "AtomicFIFO": _row(("1.36", "Beta", _ON)),
    "InOrderInformers": _row(("1.33", "Beta", _ON), ("1.36", "GA!", _ON)),
    "InOrderInformersBatchProcess": _row(("1.35", "Beta", _ON)),
    "InformerResourceVersion": _row(("1.30", "Alpha", _OFF), ("1.35", "GA", _ON)),
    "UnlockWhileProcessingFIFO": _row(("1.36", "Beta", _ON)),
    "WatchListClient": _row(("1.30", "Beta", _OFF), ("1.35", "Beta", _ON)),
    # Controllers
    "DeploymentReplicaSetTerminatingReplicas": _row(("1.33", "Alpha", _OFF), ("1.35", "Beta", _ON)),
    "HPAConfigurableTolerance": _row(("1.33", "Alpha", _OFF), ("1.35", "Beta", _ON)),
    "HPAScaleToZero": _row(("1.16", "Alpha", _OFF)),
    "JobManagedBy": _row(("1.30", "Alpha", _OFF), ("1.32", "Beta", _ON), ("1.35", "GA!", _ON)),
    "JobPodReplacementPolicy": _row(("1.28", "Alpha", _OFF), ("1.29", "Beta", _ON), ("1.34", "GA!", _ON)),
    "LogarithmicScaleDown": _row(("1.21", "Alpha", _OFF), ("1.22", "Beta", _ON), ("1.31", "GA!", _ON)),
    "MaxUnavailableStatefulSet": _row(("1.24", "Alpha", _OFF), ("1.35", "Beta", _OFF)),
    "PodDeletionCost": _row(("1.21", "Alpha", _OFF), ("1.22", "Beta", _ON)),
    "PreferSameTrafficDistribution": _row(("1.33", "Alpha", _OFF), ("1.34", "Beta", _ON), ("1.35", "GA!", _ON)),
    "SeparateTaintEvictionController": _row(("1.29", "Beta", _ON), ("1.34", "GA!", _ON)),
    "StaleControllerConsistencyDaemonSet": _row(("1.36", "Beta", _ON)),
    "StaleControllerConsistencyJob": _row(("1.36", "Beta", _ON)),
    "StaleControllerConsistencyReplicaSet": _row(("1.36", "Beta", _ON)),
    "StaleControllerConsistencyStatefulSet": _row(("1.36", "Beta", _ON)),
    # Scheduler
    "ClearingNominatedNodeNameAfterBinding": _row(("1.34", "Alpha", _OFF), ("1.35", "Beta", _ON)),
    "DRADeviceBindingConditions": _row(("1.34", "Alpha", _OFF), ("1.36", "Beta", _ON)),
    "DRAExtendedResource": _row(("1.34", "Alpha", _OFF), ("1.36", "Beta", _ON)),
    "DRAResourceClaimDeviceStatus": _row(("1.32", "Alpha", _OFF), ("1.33", "Beta", _ON)),
    "DRASchedulerFilterTimeout": _row(("1.34", "Beta", _ON)),
    "DynamicResourceAllocation": _row(
        ("1.26", "Alpha", _OFF), ("1.32", "Beta", _OFF), ("1.34", "GA", _ON), ("1.35", "GA!", _ON)
    ),
    "GangScheduling": _row(("1.35", "Alpha", _OFF)),
    "GenericWorkload": _row(("1.35", "Alpha", _OFF)),
    "MatchLabelKeysInPodAffinity": _row(("1.29", "Alpha", _OFF), ("1.31", "Beta", _ON), ("1.33", "GA!", _ON)),
    "MatchLabelKeysInPodTopologySpread": _row(("1.25", "Alpha", _OFF), ("1.27", "Beta", _ON)),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": _row(("1.34", "Beta", _ON)),
    "NodeDeclaredFeatures": _row(("1.35", "Alpha", _OFF), ("1.36", "Beta", _ON)),
    "NodeInclusionPolicyInPodTopologySpread": _row(
        ("1.25", "Alpha", _OFF), ("1.26", "Beta", _ON), ("1.33", "GA!", _ON)
    ),
    "NominatedNodeNameForExpectation": _row(("1.34", "Alpha", _OFF), ("1.35", "Beta", _ON)),
    "OpportunisticBatching": _row(("1.35", "Beta", _ON)),
    "PodSchedulingReadiness": _row(("1.26", "Alpha", _OFF), ("1.27", "Beta", _ON), ("1.30", "GA!", _ON)),
    "SchedulerAsyncAPICalls": _row(("1.34", "Beta", _OFF)),
    "SchedulerAsyncPreemption": _row(("1.32", "Alpha", _OFF), ("1.33", "Beta", _ON)),
    "SchedulerPopFromBackoffQ": _row(("1.33", "Beta", _ON)),
    "SchedulerQueueingHints": _row(("1.28", "Beta", _OFF), ("1.32", "Beta", _ON), ("1.34", "GA!", _ON)),
    "StorageCapacityScoring": _row(("1.33", "Alpha", _OFF)),
    "TaintTolerationComparisonOperators": _row(("1.35", "Alpha", _OFF)),
    # Kubelet and the Pod API
    "ContainerRestartRules": _row(("1.34", "Alpha", _OFF), ("1.35", "Beta", _ON)),
    "GracefulNodeShutdown": _row(("1.20", "Alpha", _OFF), ("1.21", "Beta", _ON)),
    "InPlacePodLevelResourcesVerticalScaling": _row(("1.35", "Alpha", _OFF), ("1.36", "Beta", _ON)),
    "InPlacePodVerticalScaling": _row(("1.27", "Alpha", _OFF), ("1.33", "Beta", _ON), ("1.35", "GA!", _ON)),
    "KubeletCrashLoopBackOffMax": _row(("1.32", "Alpha", _OFF), ("1.35", "Beta", _ON)),
    "NodeSwap": _row(("1.22", "Alpha", _OFF), ("1.28", "Beta", _OFF), ("1.30", "Beta", _ON), ("1.34", "GA!", _ON)),
    "PLEGOnDemandRelist": _row(("1.36", "Beta", _ON)),
    "PodLevelResources": _row(("1.32", "Alpha", _OFF), ("1.34", "Beta", _ON)),
    "PodObservedGenerationTracking": _row(("1.33", "Alpha", _OFF), ("1.34", "Beta", _ON), ("1.35", "GA!", _ON)),
    "PodReadyToStartContainersCondition": _row(("1.28", "Alpha", _OFF), ("1.29", "Beta", _ON)),
    "ReduceDefaultCrashLoopBackOffDecay": _row(("1.33", "Alpha", _OFF)),
    "RestartAllContainersOnContainerExits": _row(("1.35", "Alpha", _OFF), ("1.36", "Beta", _ON)),
    "SidecarContainers": _row(("1.28", "Alpha", _OFF), ("1.29", "Beta", _ON), ("1.33", "GA!", _ON)),
}
"""Gate to its stages, oldest first. Before the first one the gate does not exist."""


def _minor(release: str) -> tuple[int, int]:
    parts = release.removeprefix("v").split(".")
    if len(parts) < 2 or not all(part.isdecimal() for part in parts[:2]):
        raise ValueError(f"release {release!r}: expected a Kubernetes release such as 1.36")
    return int(parts[0]), int(parts[1])


class FeatureGates:
    """The gates of one release; immutable."""

    __slots__ = ("_enabled", "_minor", "overrides", "release")

    def __init__(self, release: str = LATEST, overrides: Mapping[str, bool] | None = None) -> None:
        """`release`: one of RELEASES. `overrides`: what `--feature-gates` would say.

        ValueError for other releases, for gates that the release does not know, and for locked ones set otherwise.
        """
        self._minor = _minor(release)
        self.release = f"{self._minor[0]}.{self._minor[1]}"
        if self.release not in RELEASES:
            raise ValueError(f"release {release!r}: expected one of {', '.join(RELEASES)}")
        self.overrides = dict(overrides or {})
        self._enabled: dict[str, bool] = {}
        for name in GATES:
            spec = self.spec(name)
            self._enabled[name] = spec is not None and spec.default
        for name, on in self.overrides.items():
            self._override(name, on)

    def _override(self, name: str, on: bool) -> None:
        spec = self.spec(name)
        if spec is None:
            raise ValueError(f"feature gate {name!r}: expected a gate that {self.release} has")
        if not isinstance(on, bool):
            raise TypeError(f"feature gate {name!r}: {on!r}: expected True or False")
        if spec.locked and on is not spec.default:
            wanted, locked = str(on).lower(), str(spec.default).lower()
            raise ValueError(f"cannot set feature gate {name} to {wanted}, feature is locked to {locked}")
        self._enabled[name] = on

    def spec(self, name: str) -> GateSpec | None:
        """Stage and default in this release; None when the gate is younger. ValueError for an unknown one."""
        if name not in GATES:
            raise ValueError(f"feature gate {name!r}: expected one of the gates in k8slab.api.features.GATES")
        found = None
        for spec in GATES[name]:
            if _minor(spec.release) <= self._minor:
                found = spec
        return found

    def enabled(self, name: str) -> bool:
        """Whether the feature is on. ValueError for an unknown gate; one younger than the release is off."""
        try:
            return self._enabled[name]
        except KeyError:
            raise ValueError(f"feature gate {name!r}: expected one of the gates in k8slab.api.features.GATES") from None

    def at_least(self, release: str) -> bool:
        """This release is `release` or a later one: for changes that came without a gate."""
        return self._minor >= _minor(release)

    def __repr__(self) -> str:
        extra = f", overrides={self.overrides!r}" if self.overrides else ""
        return f"FeatureGates({self.release!r}{extra})"
