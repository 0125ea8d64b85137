"""Why a Pod did not fit: verdict by Node, and the one sentence made of them.

Upstream: pkg/scheduler/framework/types.go (Diagnosis, FitError, NodeToStatus)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from k8slab.scheduler.framework import Code, Status

__all__ = ["NO_NODES_MESSAGE", "Diagnosis", "FitError", "NodeToStatus"]

NO_NODES_MESSAGE = "no nodes available to schedule pods"


class NodeToStatus:
    """Verdicts by Node name. Nodes that were never looked at share the `absent` verdict."""

    __slots__ = ("_statuses", "absent")

    def __init__(self) -> None:
        self._statuses: dict[str, Status] = {}
        self.absent = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    def set(self, node_name: str, status: Status) -> None:
        self._statuses[node_name] = status

    def get(self, node_name: str) -> Status:
        return self._statuses.get(node_name, self.absent)

    def __len__(self) -> int:
        """How many Nodes have a verdict of their own."""
        return len(self._statuses)

    def __iter__(self) -> Iterator[str]:
        return iter(self._statuses)

    def explicit(self) -> dict[str, Status]:
        return dict(self._statuses)


@dataclass(slots=True)
class Diagnosis:
    """What a failed cycle found out. The plugin names decide which cluster events bring the Pod back."""

    node_to_status: NodeToStatus = field(default_factory=NodeToStatus)
    unschedulable_plugins: dict[str, None] = field(default_factory=dict)
    pending_plugins: dict[str, None] = field(default_factory=dict)
    pre_filter_message: str = ""
    post_filter_message: str = ""

    def add_plugin_status(self, status: Status) -> None:
        """Remember who rejected: Pending plugins let the Pod come back without back-off."""
        if not status.plugin:
            return
        if status.code is Code.PENDING:
            self.pending_plugins[status.plugin] = None
        else:
            self.unschedulable_plugins[status.plugin] = None


@dataclass(slots=True)
class FitError:
    """A Pod that fits nowhere. `str()` is the text of the FailedScheduling event and of the Pod's condition."""

    num_all_nodes: int
    diagnosis: Diagnosis

    def __str__(self) -> str:
        text = f"0/{self.num_all_nodes} nodes are available:"
        found = self.diagnosis
        if found.pre_filter_message:
            text += f" {found.pre_filter_message}."
        elif reasons := self.reasons():
            # Sorted as strings: "10 Insufficient cpu" comes before "2 Too many pods".
            text += f" {', '.join(sorted(f'{count} {reason}' for reason, count in reasons.items()))}."
        if found.post_filter_message:
            text += f" {found.post_filter_message}"
        return text

    def reasons(self) -> dict[str, int]:
        """How many Nodes gave each reason. A Node with two reasons counts for both."""
        statuses = self.diagnosis.node_to_status
        counts: dict[str, int] = {}
        for reasons, nodes in Counter(status.reasons for status in statuses.explicit().values()).items():
            for reason in reasons:
                counts[reason] = counts.get(reason, 0) + nodes
        absent = self.num_all_nodes - len(statuses)
        if absent > 0:
            for reason in statuses.absent.reasons:
                counts[reason] = counts.get(reason, 0) + absent
        return counts
