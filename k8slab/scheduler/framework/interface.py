"""The extension points: one narrow Protocol each. A plugin implements those it needs.

Order in a Pod's life: PreEnqueue, QueueSort | PreFilter, Filter, PostFilter, PreScore, Score, NormalizeScore,
Reserve, Permit | PreBind, Bind, PostBind. No plugin waits in anything up to Permit; PreBind and Bind are coroutines and
may call the API. With extenders the scheduler itself waits after Filter, after Score and after PostFilter: the cluster
moves on meanwhile, and `Handle.snapshot` stays that of the cycle.

Plugins are given the Pod as its API object and Nodes as `NodeInfo`. Both are read-only.

Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go
Simplified: no extension points for pod groups and placements; PreBind has no parallel groups; `score` answers with
an int and raises PluginError where Go returns (score, Status); `sign_pod` returns fragments or None for "refuses".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from k8slab.api.objects import Object
from k8slab.api.scheme import GVR
from k8slab.scheduler.framework.cycle_state import CycleState
from k8slab.scheduler.framework.events import ClusterEventWithHint
from k8slab.scheduler.framework.node_info import NodeInfo, PodInfo
from k8slab.scheduler.framework.status import Status

__all__ = [
    "MAX_NODE_SCORE",
    "MIN_NODE_SCORE",
    "BindPlugin",
    "Contribution",
    "EnqueueExtensions",
    "FilterPlugin",
    "Gates",
    "Handle",
    "Lister",
    "NodeStatuses",
    "PermitPlugin",
    "Plugin",
    "PodListener",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterExtensions",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "QueueSortKey",
    "QueueSortPlugin",
    "QueuedPod",
    "ReservePlugin",
    "ScoreExtensions",
    "ScorePlugin",
    "SignPlugin",
    "SnapshotView",
]

_Key = TypeVar("_Key", bound=Hashable)
Contribution = Callable[[NodeInfo], Mapping[_Key, int]]
"""What one Node adds to sums over all Nodes, by key."""

MAX_NODE_SCORE = 100
MIN_NODE_SCORE = 0


class PreFilterResult(NamedTuple):
    """The only Nodes worth looking at; `node_names` None: all of them."""

    node_names: frozenset[str] | None = None


class PostFilterResult(NamedTuple):
    """The Node to write to `status.nominatedNodeName` ("" clears it).

    `preemption`: whom to evict there for it, a `preemption.Candidate`; the scheduler carries it out. `candidates`: all
    that it was chosen from; where extenders have a say in preemption they are asked, and the choice is made again.
    """

    nominated_node_name: str = ""
    preemption: Any = None
    candidates: Sequence[Any] = ()


class QueuedPod(Protocol):
    """What QueueSort compares."""

    @property
    def pod(self) -> Object: ...
    @property
    def key(self) -> str:
        """`namespace/name`."""

    @property
    def priority(self) -> int: ...
    @property
    def timestamp_ms(self) -> int:
        """When it was queued last."""

    @property
    def initial_attempt_ms(self) -> int | None:
        """When it became active for the first time."""


class SnapshotView(Protocol):
    """The Nodes as they were when the cycle began."""

    @property
    def nodes(self) -> Sequence[NodeInfo]: ...
    @property
    def nodes_with_affinity(self) -> Sequence[NodeInfo]:
        """Those with Pods that have terms of Pod affinity or anti-affinity."""

    @property
    def image_nodes(self) -> Mapping[str, int]:
        """By image name: how many Nodes have it."""

    def get(self, name: str) -> NodeInfo | None: ...


class NodeStatuses(Protocol):
    """Which Node was rejected by whom (PostFilter reads it)."""

    def get(self, node_name: str) -> Status: ...


class Gates(Protocol):
    """Feature gates of a release."""

    def enabled(self, name: str) -> bool: ...

    def at_least(self, release: str) -> bool: ...


class Lister(Protocol):
    """What is known of other resources: an informer's cache, or manifests in a what-if."""

    def list(self, resource: GVR, namespace: str = "") -> Sequence[Object]:
        """All objects of a resource, or those of one namespace."""

    def get(self, resource: GVR, name: str, namespace: str = "") -> Object | None:
        """One object, or None. `namespace` is "" for what has none."""


class Handle(Protocol):
    """What the framework offers to its plugins."""

    @property
    def features(self) -> Gates: ...
    @property
    def client(self) -> Any: ...
    @property
    def lister(self) -> Lister: ...
    @property
    def now_ms(self) -> int:
        """The time. One cycle may take some: who needs the same moment throughout keeps it in the CycleState."""

    def snapshot(self) -> SnapshotView:
        """The snapshot of the running cycle; not for PreBind, Bind and queueing hints."""

    def tally(self, key: Hashable, contribute: Contribution[_Key]) -> dict[_Key, int]:
        """The sums over the Nodes of the snapshot. `contribute` may depend on `key` and on the Node and its Pods, and
        on nothing else: then only Nodes that changed are asked again."""

    def waiting_pods(self) -> list[Any]:
        """Pods that wait in Permit, oldest first: `WaitingPod`s, to `allow(plugin)` or `reject(plugin, message)`."""

    def waiting_pod(self, uid: str) -> Any:
        """One of them, or None."""

    def reject_waiting_pod(self, uid: str) -> bool:
        """Reject it as "removed". False: it does not wait."""

    def activate(self, pods: Sequence[Object], *, after_backoff: bool = False) -> None:
        """Bring Pods back to the active queue, those in flight as soon as they come back.

        `after_backoff`: each when its back-off is over. Upstream knows only "at once".
        """

    @property
    def pod_groups(self) -> Any:
        """The `PodGroupManager`: which Pods belong to which PodGroup of `scheduling.k8s.io`."""

    # For preemption:

    @property
    def metrics(self) -> Any:
        """The scheduler's metrics, a `SchedulerMetrics`."""

    @property
    def rng(self) -> random.Random: ...
    def pdbs(self) -> Sequence[Object]:
        """The PodDisruptionBudgets."""

    def is_preempting(self, uid: str) -> bool:
        """Whether victims of this Pod are being evicted just now."""

    def filter_signature(self, state: CycleState, pod: Object) -> str | None:
        """Equal text: Filter says the same of Nodes that are equal. None: it may look at more than the Node."""

    def nominated_pods(self, pod: Object, node_name: str) -> Sequence[PodInfo]:
        """The Pods that this one has to leave room for on a Node."""

    def run_filter_with_nominated(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        """Filter, with the Pods nominated for the Node counted."""

    def run_add_pod(self, state: CycleState, pod: Object, to_add: PodInfo, node: NodeInfo) -> Status:
        """Tell what PreFilter worked out that another Pod came to the Node."""

    def run_remove_pod(self, state: CycleState, pod: Object, to_remove: PodInfo, node: NodeInfo) -> Status:
        """Tell what PreFilter worked out that another Pod left the Node."""


@runtime_checkable
class Plugin(Protocol):
    """`name` is the key in the registry and in configurations."""

    name: str


@runtime_checkable
class PreEnqueuePlugin(Protocol):
    """Keeps a Pod out of the active queue (a gate) until it says Success."""

    def pre_enqueue(self, pod: Object) -> Status: ...


@runtime_checkable
class QueueSortPlugin(Protocol):
    """Orders the active queue. Exactly one per profile."""

    def less(self, a: QueuedPod, b: QueuedPod) -> bool: ...


@runtime_checkable
class QueueSortKey(Protocol):
    """For a QueueSort whose order depends on more than the Pod: the key is worked out once, when the Pod is queued.

    A heap compares what it holds again and again. Keys that changed meanwhile would leave it out of order, and the
    wrong Pod would come out. `less` must say what a comparison of keys says. When an object of `sorts_by` changes,
    every Pod in the queue gets a new key.
    """

    sorts_by: Sequence[GVR]

    def sort_key(self, info: QueuedPod) -> Any: ...


@runtime_checkable
class EnqueueExtensions(Protocol):
    """Which cluster events may make Pods schedulable that this plugin rejected."""

    def events_to_register(self) -> list[ClusterEventWithHint]: ...


@runtime_checkable
class PodListener(Protocol):
    """Keeps a record of its own of the Pods: told of each change in the same action as the scheduler's cache.

    `pod_deleted` also comes for Pods that finished. (Upstream plugins register with the informers of their handle.)
    """

    def pod_added(self, pod: Object, is_initial: bool) -> None: ...

    def pod_updated(self, old: Object, new: Object) -> None: ...

    def pod_deleted(self, pod: Object) -> None: ...


@runtime_checkable
class PreFilterExtensions(Protocol):
    """Adjust what PreFilter worked out, as if a Pod came to or left a Node (dry runs of preemption)."""

    def add_pod(self, state: CycleState, pod: Object, to_add: PodInfo, node: NodeInfo) -> Status: ...

    def remove_pod(self, state: CycleState, pod: Object, to_remove: PodInfo, node: NodeInfo) -> Status: ...


@runtime_checkable
class PreFilterPlugin(Protocol):
    """Works out once per Pod what Filter needs; may narrow the Nodes; Skip leaves the plugin's Filter out."""

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]: ...


@runtime_checkable
class FilterPlugin(Protocol):
    """Can the Pod run on this Node?"""

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status: ...


@runtime_checkable
class PostFilterPlugin(Protocol):
    """No Node was feasible: make room, or say why not."""

    def post_filter(
        self, state: CycleState, pod: Object, statuses: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]: ...


@runtime_checkable
class PreScorePlugin(Protocol):
    """Works out once per Pod what Score needs; Skip leaves the plugin's Score out."""

    def pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status: ...


@runtime_checkable
class ScorePlugin(Protocol):
    """How good is this feasible Node? Any int; after normalising 0 to 100."""

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int: ...


@runtime_checkable
class ScoreExtensions(Protocol):
    """Brings raw scores of all feasible Nodes (same order) into 0 to 100; returns a list, and leaves `scores` alone."""

    def normalize_score(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo], scores: list[int]
    ) -> list[int]: ...


@runtime_checkable
class ReservePlugin(Protocol):
    """Told that the Pod is assumed on a Node; `unreserve` must be idempotent."""

    def reserve(self, state: CycleState, pod: Object, node_name: str) -> Status: ...

    def unreserve(self, state: CycleState, pod: Object, node_name: str) -> None: ...


@runtime_checkable
class PermitPlugin(Protocol):
    """Success, a rejection, or Wait with a timeout in ms."""

    def permit(self, state: CycleState, pod: Object, node_name: str) -> tuple[Status, int]: ...


@runtime_checkable
class PreBindPlugin(Protocol):
    """Before binding. `pre_bind_pre_flight` says Skip when there is nothing to do for this Pod."""

    def pre_bind_pre_flight(self, state: CycleState, pod: Object, node_name: str) -> Status: ...

    async def pre_bind(self, state: CycleState, pod: Object, node_name: str) -> Status: ...


@runtime_checkable
class BindPlugin(Protocol):
    """Writes the binding, or says Skip for the next bind plugin to do it."""

    async def bind(self, state: CycleState, pod: Object, node_name: str) -> Status: ...


@runtime_checkable
class PostBindPlugin(Protocol):
    """Told that the Pod was bound."""

    def post_bind(self, state: CycleState, pod: Object, node_name: str) -> None: ...


@runtime_checkable
class SignPlugin(Protocol):
    """Says which parts of a Pod its verdicts depend on, so that equal Pods can share them.

    `node_local` True promises: filter and score depend only on these parts and on the NodeInfo.
    """

    node_local: bool

    def sign_pod(self, pod: Object) -> Mapping[str, Any] | None:
        """Fragments by name, JSON values; None: this Pod cannot share verdicts."""
