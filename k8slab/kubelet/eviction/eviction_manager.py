"""The eviction manager: one look at the node, one decision.

`synchronize` compares what was measured with the thresholds, keeps the node's conditions, and returns what is to be
done now. At most one Pod is evicted for want of a resource; then the node is measured again.

Upstream: pkg/kubelet/eviction/eviction_manager.go
Simplified: no notification by the kernel (kernelMemcgNotification: off by default, and without effect on cgroup v2):
the caller's clock says when to look. Who waits for an evicted Pod, and for how long, is the caller's business (see
`kubelet`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.qos import BEST_EFFORT, is_critical_pod, qos_class
from k8slab.api.tolerations import any_tolerates
from k8slab.kubelet.eviction.config import EvictionConfig
from k8slab.kubelet.eviction.local_storage import exceeded_limit
from k8slab.kubelet.eviction.messages import eviction_message
from k8slab.kubelet.eviction.rank import RankedPod, rank, rank_criteria
from k8slab.kubelet.eviction.reclaim import reclaim_deeds
from k8slab.kubelet.eviction.signals import NODE_CONDITIONS, Observations, signal_observations
from k8slab.kubelet.eviction.stats import Summary, pod_id
from k8slab.kubelet.eviction.thresholds import (
    Threshold,
    by_eviction_priority,
    first_observed_at,
    grace_period_met,
    merge_thresholds,
    node_conditions,
    observed_since,
    thresholds_met,
    update_container_fs_thresholds,
    updated_stats,
)

__all__ = ["REASON", "Decision", "EvictPod", "EvictionManager", "NodeEvent", "Reclaim", "reason_of"]

REASON = "Evicted"
IMMEDIATE_GRACE_SECONDS = 1
_MEMORY_TAINT = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """Say it about the Node, in an Event."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Do the `deeds` in order, measure again, and hand the summary to `EvictionManager.after_reclaim`."""

    resource: str
    deeds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EvictPod:
    """Record a Warning Event with `REASON`, `message` and `annotations` about the Pod; stop it within the grace
    period; its status becomes Failed with `REASON` and `message`. `condition` (or None) is added to its conditions.
    `signal`: what for."""

    pod: Object
    grace_period_seconds: int
    message: str
    signal: str
    annotations: Mapping[str, str] = field(default_factory=dict)
    condition: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """`effects` in the order to carry them out. The rest tells why: what is crossed (`met`), what of it has lasted for
    its grace period (`starved`), which threshold is acted on, the Pods in their order, the critical ones passed over.
    """

    effects: tuple[NodeEvent | Reclaim | EvictPod, ...] = ()
    met: tuple[Threshold, ...] = ()
    starved: tuple[Threshold, ...] = ()
    threshold: Threshold | None = None
    ranking: tuple[RankedPod, ...] = ()
    passed_over: tuple[str, ...] = ()

    @property
    def evicted(self) -> list[EvictPod]:
        return [effect for effect in self.effects if isinstance(effect, EvictPod)]


class EvictionManager:
    """One node's. `dedicated_image_fs`: images lie on another disk than the kubelet's data; `split_container_image_fs`:
    and the containers' writable layers not with the images."""

    def __init__(
        self,
        config: EvictionConfig | Mapping[str, Any] | None = None,
        *,
        dedicated_image_fs: bool = False,
        split_container_image_fs: bool = False,
    ) -> None:
        if split_container_image_fs and not dedicated_image_fs:
            raise ValueError("split_container_image_fs: expected False where images have no disk of their own")
        config = config if isinstance(config, EvictionConfig) else EvictionConfig.from_dict(config or {})
        layout = {"image_fs": dedicated_image_fs, "separate_container_image_fs": split_container_image_fs}
        thresholds = update_container_fs_thresholds(config.thresholds, **layout)
        self.config = replace(config, thresholds=tuple(thresholds))
        self.dedicated_image_fs = dedicated_image_fs
        self.node_conditions: list[str] = []
        self.criteria = rank_criteria(**layout)
        self._deeds = reclaim_deeds(**layout)
        self._first_observed: dict[Threshold, int] = {}
        self._condition_observed: dict[str, int] = {}
        self._met: list[Threshold] = []
        self._last: Observations = {}
        self._pending: tuple[Sequence[Object], Summary, Decision] | None = None

    # -- one look ----------------------------------------------------------------------------------

    def synchronize(self, pods: Sequence[Object], summary: Summary, now_ms: int) -> Decision:
        """What to do now. `pods`: those that are active on the node, in any order that is the same every time."""
        observations = signal_observations(summary)
        crossed = thresholds_met(self.config.thresholds, observations, enforce_min_reclaim=False)
        not_resolved = thresholds_met(self._met, observations, enforce_min_reclaim=True)
        met = merge_thresholds(crossed, not_resolved)
        self._first_observed = first_observed_at(met, self._first_observed, now_ms)
        self._condition_observed |= dict.fromkeys(node_conditions(met), now_ms)
        period = self.config.pressure_transition_ms
        self.node_conditions = observed_since(self._condition_observed, period, now_ms)
        self._met = grace_period_met(self._first_observed, now_ms)
        starved = by_eviction_priority(updated_stats(self._met, observations, self._last))
        self._last, self._pending = observations, None
        decision = Decision(met=tuple(met), starved=tuple(starved))
        if self.config.local_storage_capacity_isolation:
            over = self._over_limits(pods, summary)
            if over.evicted:
                return replace(decision, effects=over.effects, passed_over=over.passed_over)
        if not starved:
            return decision
        return self._reclaim(pods, summary, replace(decision, threshold=starved[0]))

    def _reclaim(self, pods: Sequence[Object], summary: Summary, decision: Decision) -> Decision:
        assert decision.threshold is not None
        resource = decision.threshold.resource
        event = NodeEvent("Warning", "EvictionThresholdMet", f"Attempting to reclaim {resource}")
        deeds = self._deeds.get(decision.threshold.signal, ())
        if deeds:
            self._pending = pods, summary, decision
            return replace(decision, effects=(event, Reclaim(resource, deeds)))
        chosen = self._choose(pods, summary, decision)
        return replace(chosen, effects=(event, *chosen.effects))

    def after_reclaim(self, summary: Summary) -> Decision:
        """Go on after a `Reclaim` was carried out: nothing more if no threshold (with its minimum to reclaim) is
        crossed any more, else a Pod. ValueError when nothing was to be reclaimed."""
        if self._pending is None:
            raise ValueError("after_reclaim: expected after a decision that asks to reclaim")
        (pods, before, decision), self._pending = self._pending, None
        left = thresholds_met(self.config.thresholds, signal_observations(summary), enforce_min_reclaim=True)
        return self._choose(pods, before, decision) if left else decision

    def _choose(self, pods: Sequence[Object], summary: Summary, decision: Decision) -> Decision:
        """Rank the Pods and evict the first that is not critical."""
        threshold = decision.threshold
        assert threshold is not None
        ranking = rank(pods, summary.pods, self.criteria[threshold.signal])
        decision = replace(decision, ranking=tuple(ranking))
        passed_over = []
        for one in ranking:
            if is_critical_pod(one.pod):
                passed_over.append(one.name)
                continue
            seen = signal_observations(summary)
            words = eviction_message(threshold.resource, one.pod, one.stats, decision.starved, seen)
            effect = self._evict(one.pod, threshold, *words)
            return replace(decision, effects=(effect,), passed_over=tuple(passed_over))
        return replace(decision, passed_over=tuple(passed_over))

    def _evict(self, pod: Object, threshold: Threshold, message: str, annotations: Mapping[str, str]) -> EvictPod:
        grace = IMMEDIATE_GRACE_SECONDS
        if not threshold.is_hard:
            own = (pod.get("spec") or {}).get("terminationGracePeriodSeconds")
            most = self.config.max_pod_grace_period_seconds
            grace = most if own is None else min(most, own)
        kind = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": message}
        return EvictPod(pod, grace, message, threshold.signal, annotations, kind)

    def _over_limits(self, pods: Sequence[Object], summary: Summary) -> Decision:
        """Every Pod that exceeds a limit of local storage goes, not only one."""
        effects, passed_over = [], []
        for pod in pods:
            stats = summary.pods.get(pod_id(pod))
            if stats is None:
                continue
            found = exceeded_limit(pod, stats, dedicated_image_fs=self.dedicated_image_fs)
            if found is None:
                continue
            if is_critical_pod(pod):
                passed_over.append(str(pod["metadata"]["name"]))
                continue
            signal, message = found
            effects.append(EvictPod(pod, IMMEDIATE_GRACE_SECONDS, message, signal))
        return Decision(tuple(effects), passed_over=tuple(passed_over))

    # -- between two looks -------------------------------------------------------------------------

    def admit(self, pod: Object) -> tuple[str, str] | None:
        """(reason, message) for turning a new Pod away while the node is under pressure; None: it may come.

        Memory pressure alone turns away only BestEffort Pods that do not tolerate it; critical Pods always come.
        """
        conditions = self.node_conditions
        if not conditions or is_critical_pod(pod):
            return None
        if conditions == ["MemoryPressure"]:
            tolerations = (pod.get("spec") or {}).get("tolerations") or ()
            if qos_class(pod) != BEST_EFFORT or any_tolerates(tolerations, _MEMORY_TAINT):
                return None
        return REASON, f"The node had condition: [{' '.join(conditions)}]. "

    def waits_until_ms(self) -> int | None:
        """When the next grace period of a threshold that is crossed now ends; None: none is waiting."""
        waiting = [t for t in self._first_observed if t not in self._met]
        return min((self._first_observed[t] - -t.grace_period_ns // 1_000_000 for t in waiting), default=None)

    def view(self) -> dict[str, Any]:
        """What it remembers, by stable ids."""
        return {
            "conditions": {name: name in self.node_conditions for name in NODE_CONDITIONS},
            "since": {str(threshold): since for threshold, since in self._first_observed.items()},
        }

    def check_invariants(self) -> None:
        """AssertionError when what is acted on was not observed, or a condition is told that nothing caused."""
        assert all(threshold in self._first_observed for threshold in self._met), "acted on, and never observed"
        assert all(name in self._condition_observed for name in self.node_conditions), "a condition without a cause"


def reason_of(effect: EvictPod, ranking: Sequence[RankedPod]) -> str:
    """Why this Pod and not the next: the comparison; where there was none, the message."""
    me = next((one for one in ranking if one.pod is effect.pod), None)
    following = next((one for one in ranking if me is not None and one is not me and one.keys >= me.keys), None)
    return effect.message.strip() if me is None or following is None else me.before(following)
