"""Try Pods on the Nodes of a snapshot, first on the Node that was found for each the last time.

Upstream: cluster-autoscaler/simulator/scheduling/hinting_simulator.go, hints.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from k8slab.autoscaling.cluster_autoscaler.cluster_snapshot import ClusterSnapshot
from k8slab.autoscaling.cluster_autoscaler.equivalence import SimilarPods
from k8slab.scheduler import NodeInfo, PodInfo

__all__ = ["HintingSimulator"]


class HintingSimulator:
    """Remembers, by Pod, where it fitted: `drop_old_hints` forgets what was not asked since the last call."""

    def __init__(self) -> None:
        self._current: dict[str, str] = {}
        self._old: dict[str, str] = {}

    def try_schedule_pods(
        self,
        snapshot: ClusterSnapshot,
        pods: Iterable[PodInfo],
        *,
        break_on_failure: bool = False,
        accept: Callable[[NodeInfo], bool] | None = None,
    ) -> dict[str, str]:
        """The Node of each Pod that was placed, by `uid`. The snapshot is changed; forking it is the caller's duty.

        `break_on_failure`: stop at the first that finds no place, since all are needed.
        """
        similar = SimilarPods()
        placed: dict[str, str] = {}
        for pod in pods:
            node = self._by_hint(snapshot, pod, accept) or self._anywhere(snapshot, pod, similar, accept)
            if node:
                self._current[pod.uid] = node
                placed[pod.uid] = node
            elif break_on_failure:
                break
        return placed

    def _by_hint(self, snapshot: ClusterSnapshot, pod: PodInfo, accept: Callable[[NodeInfo], bool] | None) -> str:
        name = self._current.get(pod.uid) or self._old.get(pod.uid)
        info = snapshot.get(name) if name else None
        if info is None or (accept is not None and not accept(info)):
            return ""
        return info.name if snapshot.schedule_pod(pod, info.name) is None else ""

    def _anywhere(
        self,
        snapshot: ClusterSnapshot,
        pod: PodInfo,
        similar: SimilarPods,
        accept: Callable[[NodeInfo], bool] | None,
    ) -> str:
        if similar.is_similar_unschedulable(pod.pod):
            return ""
        name = snapshot.schedule_on_any(pod, accept)
        if not name:
            similar.set_unschedulable(pod.pod)
        return name

    def drop_old_hints(self) -> None:
        self._old, self._current = self._current, {}
