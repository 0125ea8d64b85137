"""What the autoscaler is shown of the cluster each time round, and what it wants done.

Upstream: cluster-autoscaler/utils/kubernetes/listers.go (ListerRegistry); the effects are its API calls and events
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from k8slab.api.objects import Object

__all__ = ["ClusterView", "Effect", "RecordEvent", "SetSoftTaint", "StartDeletion", "WriteStatus"]


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The objects as caches have them. `controllers`: ReplicaSets, ReplicationControllers, Jobs, StatefulSets and
    DaemonSets by kind, namespace and name; None: nobody knows of any, and nothing is concluded from that.

    `priority_config_map`: the priority expander's.
    """

    nodes: Sequence[Object]
    pods: Sequence[Object] = ()
    pdbs: Sequence[Object] = ()
    daemon_sets: Sequence[Object] = ()
    controllers: Mapping[tuple[str, str, str], Object] | None = None
    priority_config_map: Object | None = None


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """Say something. `about`: a Pod or a Node, or one of the ConfigMaps `status` and `priority`."""

    about: Object | str
    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class SetSoftTaint:
    """Mark a Node as one that will probably go (PreferNoSchedule), or take the mark off."""

    node: str
    add: bool


@dataclass(frozen=True, slots=True)
class StartDeletion:
    """Remove these Nodes of a group: taint all of them, wait, drain (or just check that they are empty), delete.

    The caller reports each with `StaticAutoscaler.deletion_ended`.
    """

    group: str
    nodes: tuple[str, ...]
    drain: bool


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """The text for the key `status` of the status ConfigMap."""

    text: str
    last_updated: str


Effect: TypeAlias = RecordEvent | SetSoftTaint | StartDeletion | WriteStatus


@dataclass(slots=True)
class Effects:
    """What is to be done, in order."""

    list: list[Effect] = field(default_factory=list)

    def event(self, about: Object | str, type: str, reason: str, message: str) -> None:
        self.list.append(RecordEvent(about, type, reason, message))

    def status_event(self, type: str, reason: str, message: str) -> None:
        """About the status ConfigMap: what concerns the whole cluster."""
        self.event("status", type, reason, message)
