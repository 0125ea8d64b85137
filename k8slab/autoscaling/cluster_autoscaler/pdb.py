"""What the disruption budgets still allow, while Nodes are planned away one after the other.

Upstream: cluster-autoscaler/core/scaledown/pdb/basic.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from k8slab.api.labels import Selector, selector_from_dict
from k8slab.api.objects import Object
from k8slab.scheduler import PodInfo

__all__ = ["RemainingPdbTracker"]


class _Budget:
    """One budget, and how many disruptions are left of it."""

    __slots__ = ("allowed", "name", "namespace", "selector")

    def __init__(self, pdb: Object) -> None:
        self.name: str = pdb["metadata"]["name"]
        self.namespace: str = pdb["metadata"].get("namespace") or "default"
        self.selector: Selector = selector_from_dict((pdb.get("spec") or {}).get("selector"))
        self.allowed: int = (pdb.get("status") or {}).get("disruptionsAllowed") or 0

    def matches(self, pod: PodInfo) -> bool:
        return pod.namespace == self.namespace and self.selector.matches(pod.labels)


class RemainingPdbTracker:
    """Budgets as they were read (`status.disruptionsAllowed`), less what `remove_pods` was told."""

    def __init__(self, pdbs: Iterable[Object] = ()) -> None:
        self._budgets = [_Budget(pdb) for pdb in pdbs]

    def matching(self, pod: PodInfo) -> list[str]:
        """The names of the budgets that the Pod counts in."""
        return [budget.name for budget in self._budgets if budget.matches(pod)]

    def blocks(self, pod: PodInfo) -> bool:
        """Whether a budget that the Pod counts in allows no disruption."""
        return any(budget.allowed < 1 and budget.matches(pod) for budget in self._budgets)

    def can_remove_in_parallel(self, pods: Sequence[PodInfo]) -> bool:
        """Whether all could be evicted at once: no budget has fewer disruptions left than Pods among them."""
        return all(
            budget.allowed >= sum(budget.matches(pod) for pod in pods)
            for budget in self._budgets
            if any(budget.matches(pod) for pod in pods)
        )

    def remove_pods(self, pods: Sequence[PodInfo]) -> None:
        """These will be evicted."""
        for budget in self._budgets:
            budget.allowed -= sum(budget.matches(pod) for pod in pods)
