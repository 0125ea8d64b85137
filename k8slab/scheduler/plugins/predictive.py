"""Placing the workers of AIJobs by what is predicted of them: QueueSort, PreFilter, Filter, Score and Reserve.

The operator predicts, beside the scheduler; here is only read what it wrote. PreFilter looks everything up once and
writes it to the CycleState; Filter and Score read that and nothing else, so all Nodes of a cycle are judged by the same
prediction, the same profiles and the same ledger.

    QueueSort   priority (high first), the tenant's QAD (low first), predicted runtime (short first), time of queueing
    PreFilter   the prediction of the Pod's job, found by its uid; without one a conservative stand-in
    Filter      no profile of the Node's GPUs and a Guaranteed Pod: no; predicted retention below the minimum: no
    Score       5 x retention + 2 x GPU utilization + 3 x topology, brought into 0 to 100
    Reserve     enters the Pod into the ledger of who stands where; Unreserve takes it out

A cold start is the rule, not the exception: workers and prediction are made at the same time, and the scheduler is
often the faster. The stand-in takes a job for long and easily disturbed, so it goes where nobody disturbs it; when the
prediction arrives, an event brings a rejected Pod back.

The keys of QueueSort change while Pods are queued, so the queue keeps them (`sort_key`) and works them out anew when a
PredictionResult or a Namespace changes. One QueueSort serves all profiles of a scheduler.

Each profile has a plugin and so a ledger of its own; it learns of another profile's Pods when they are bound.

Out of tree: hand it to `registry=`, enable it at multiPoint, and disable PrioritySort at queueSort.

Upstream: none. Spec: the source's design of a predictive scheduler; the order of QueueSort is its
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.ai_jobs import (
    GPU_RESOURCE,
    NODEGPUPROFILES,
    PREDICTIONRESULTS,
    QAD,
    UNKNOWN,
    GpuProfile,
    Prediction,
    job_uid,
    read_gpu_profile,
    read_prediction,
    signature_of,
)
from k8slab.api.objects import Object
from k8slab.api.pod_requests import pod_requests
from k8slab.api.qos import GUARANTEED, compute_qos_class
from k8slab.api.scheme import NAMESPACES
from k8slab.scheduler.colocation_ledger import Colocation, ColocationLedger
from k8slab.scheduler.framework import (
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    SKIP,
    SUCCESS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    CycleState,
    Handle,
    NodeInfo,
    PodInfo,
    PreFilterResult,
    QueuedPod,
    QueueingHint,
    Status,
    custom_resource,
    namespace_of,
    uid_of,
)

__all__ = ["PodPrediction", "PredictivePlugin"]

_STATE, _BESIDE, _PROFILES = (f"PreFilterPredictive/{part}" for part in ("prediction", "ledger", "profiles"))

_DEFAULTS: Mapping[str, int] = {
    "interferenceWeight": 5,
    "binPackWeight": 2,
    "topologyWeight": 3,
    "fallbackRuntimeSeconds": 86_400,
    "fallbackMinRetentionPercent": 90,
    "fallbackRetentionPercent": 50,
}
_MOST = {"fallbackMinRetentionPercent": 100, "fallbackRetentionPercent": 100}


class PodPrediction(NamedTuple):
    """What the cycle knows of the Pod. `retention_unknown`: percent beside a job that its profile does not name."""

    runtime_seconds: int
    job_signature: str
    min_retention: int
    interference_profile: Mapping[str, int]
    retention_unknown: int
    is_guaranteed: bool
    gpus: int


def min_predicted_retention(state: PodPrediction, beside: Sequence[str]) -> int:
    """The percent of its speed that the Pod keeps beside these signatures: that of the worst; 100 when alone.

    >>> pod = PodPrediction(60, "vision-small", 80, {"language-small": 82, "vision-small": 90}, 50, False, 1)
    >>> [min_predicted_retention(pod, who) for who in ((), ("vision-small", "language-small"), ("brand-new",))]
    [100, 82, 50]
    """
    kept = (state.interference_profile.get(signature, state.retention_unknown) for signature in beside)
    return min(kept, default=100)


class PredictivePlugin:
    """Only Pods that an AIJob owns are looked at; others go anywhere, and are sorted as jobs without prediction.

    Args: `interferenceWeight` (5), `binPackWeight` (2), `topologyWeight` (3); `fallbackRuntimeSeconds` (86400),
    `fallbackMinRetentionPercent` (90), `fallbackRetentionPercent` (50: beside anybody). ValueError for others.
    """

    name = "PredictivePlugin"
    sorts_by = (PREDICTIONRESULTS, NAMESPACES)

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        _check(args)
        self._args: dict[str, int] = {**_DEFAULTS, **args}
        self._handle = handle
        self.ledger = ColocationLedger()

    # -- the queue ---------------------------------------------------------------------------------

    def sort_key(self, info: QueuedPod) -> tuple[int, int, int, int]:
        """Smaller comes first. What cannot be read counts as if nobody had said it: a queue cannot refuse Pods."""
        pod = info.pod
        try:
            found = self._prediction(pod)
        except ValueError:
            found = None
        runtime = self._args["fallbackRuntimeSeconds"] if found is None else found.runtime_seconds
        return -info.priority, self._qad(namespace_of(pod)), runtime, info.timestamp_ms

    def less(self, a: QueuedPod, b: QueuedPod) -> bool:
        return self.sort_key(a) < self.sort_key(b)

    def _qad(self, namespace: str) -> int:
        found = self._handle.lister.get(NAMESPACES, namespace) or {}
        text = (found.get("metadata", {}).get("annotations") or {}).get(QAD, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0

    # -- the cycle ---------------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        """Look up everything once. Error when an object of the operator or of an agent cannot be read."""
        if job_uid(pod) is None:
            return None, SKIP
        try:
            state.write(_STATE, self._pod_prediction(pod))
            state.write(_PROFILES, self._gpu_profiles())
        except ValueError as error:
            return None, Status(Code.ERROR, str(error))
        state.write(_BESIDE, self.ledger.snapshot())
        return None, SUCCESS

    def add_pod(self, state: CycleState, pod: Object, to_add: PodInfo, node: NodeInfo) -> Status:
        if job_uid(to_add.pod) is not None:
            beside: Colocation = state.read(_BESIDE)
            beside.add(node.name, to_add.uid, signature_of(to_add.pod))
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Object, to_remove: PodInfo, node: NodeInfo) -> Status:
        beside: Colocation = state.read(_BESIDE)
        beside.remove(node.name, to_remove.uid)
        return SUCCESS

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        mine: PodPrediction = state.read(_STATE)
        profile: GpuProfile | None = state.read(_PROFILES).get(node.name)
        if profile is None and mine.is_guaranteed:
            return Status(Code.UNSCHEDULABLE, "missing NodeGpuProfile")
        kept = self._retention(state, pod, node.name)
        if kept < mine.min_retention:
            text = f"predicted retention {_share(kept)} below threshold {_share(mine.min_retention)}"
            return Status(Code.UNSCHEDULABLE, text)
        return SUCCESS

    def pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status:
        return SKIP if job_uid(pod) is None else SUCCESS

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        """The weighted sum of three percents. Without a profile of the Node two of them are 0."""
        mine: PodPrediction = state.read(_STATE)
        profile: GpuProfile | None = state.read(_PROFILES).get(node.name)
        bin_pack = 0 if profile is None else profile.utilization
        topology = 0 if profile is None else _topology(profile, mine.gpus)
        return (
            self._retention(state, pod, node.name) * self._args["interferenceWeight"]
            + bin_pack * self._args["binPackWeight"]
            + topology * self._args["topologyWeight"]
        )

    def normalize_score(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo], scores: list[int]
    ) -> list[int]:
        """Divide by the sum of the weights: a percent again, and the same for a Node whoever stands beside it."""
        weights = sum(self._args[name] for name in ("interferenceWeight", "binPackWeight", "topologyWeight"))
        return [score // weights for score in scores]

    # -- the ledger --------------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: Object, node_name: str) -> Status:
        if job_uid(pod) is not None:
            mine: PodPrediction = state.read(_STATE)
            self.ledger.add(node_name, uid_of(pod), mine.job_signature)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Object, node_name: str) -> None:
        self.ledger.remove(node_name, uid_of(pod))

    def pod_added(self, pod: Object, is_initial: bool) -> None:
        """Seen on a Node: after a restart this is how the ledger comes back."""
        node = (pod.get("spec") or {}).get("nodeName")
        if node and job_uid(pod) is not None:
            self.ledger.add(node, uid_of(pod), signature_of(pod))

    def pod_updated(self, old: Object, new: Object) -> None:
        if uid_of(old) != uid_of(new):
            self.pod_deleted(old)
        self.pod_added(new, False)

    def pod_deleted(self, pod: Object) -> None:
        """Gone, or finished."""
        self.ledger.forget(uid_of(pod))

    # -- coming back -------------------------------------------------------------------------------

    def events_to_register(self) -> list[ClusterEventWithHint]:
        written = ActionType.ADD | ActionType.UPDATE
        profiles = ClusterEvent(custom_resource(NODEGPUPROFILES), written)
        predictions = ClusterEvent(custom_resource(PREDICTIONRESULTS), written)
        return [
            ClusterEventWithHint(ASSIGNED_POD_DELETE, self._after_deletion),
            ClusterEventWithHint(NODE_ADD),
            ClusterEventWithHint(profiles),
            ClusterEventWithHint(predictions, self._after_prediction),
        ]

    def _after_deletion(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        was_a_worker = old is not None and job_uid(old) is not None
        return QueueingHint.of(was_a_worker)

    def _after_prediction(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        mine = new is not None and (new.get("spec") or {}).get("jobUID") == job_uid(pod)
        return QueueingHint.of(mine)

    # -- inside ------------------------------------------------------------------------------------

    def _prediction(self, pod: Object) -> Prediction | None:
        """The prediction of the Pod's job. One of an earlier job of that name does not count, nor does half a one."""
        uid = job_uid(pod)
        if uid is None:
            return None
        owner = next(ref for ref in pod["metadata"]["ownerReferences"] if ref["uid"] == uid)
        found = self._handle.lister.get(PREDICTIONRESULTS, owner["name"], namespace_of(pod))
        if found is None or (found.get("spec") or {}).get("jobUID") != uid or not found.get("status"):
            return None
        try:
            return read_prediction(found)
        except ValueError as error:
            raise ValueError(f"predictionresult {owner['name']}: {error}") from None

    def _pod_prediction(self, pod: Object) -> PodPrediction:
        found, args = self._prediction(pod), self._args
        gpus = pod_requests(pod).get(GPU_RESOURCE)
        rest = compute_qos_class(pod) == GUARANTEED, gpus.value() if gpus is not None else 0
        if found is None:
            runtime, least = args["fallbackRuntimeSeconds"], args["fallbackMinRetentionPercent"]
            return PodPrediction(runtime, signature_of(pod), least, {}, args["fallbackRetentionPercent"], *rest)
        own = signature_of(pod)
        signature = found.signature if own == UNKNOWN else own
        worst = min(found.interference.values(), default=args["fallbackRetentionPercent"])
        return PodPrediction(found.runtime_seconds, signature, found.min_retention, found.interference, worst, *rest)

    def _gpu_profiles(self) -> dict[str, GpuProfile]:
        read = {}
        for profile in self._handle.lister.list(NODEGPUPROFILES):
            name = profile["metadata"]["name"]
            try:
                read[name] = read_gpu_profile(profile)
            except ValueError as error:
                raise ValueError(f"nodegpuprofile {name}: {error}") from None
        return read

    def _retention(self, state: CycleState, pod: Object, node_name: str) -> int:
        """Beside whom the ledger names, and whom the Node's agent has seen."""
        beside: Colocation = state.read(_BESIDE)
        profile: GpuProfile | None = state.read(_PROFILES).get(node_name)
        seen = () if profile is None else profile.colocated
        return min_predicted_retention(state.read(_STATE), (*beside.beside(node_name, uid_of(pod)), *seen))


def _topology(profile: GpuProfile, gpus: int) -> int:
    """100 when the Pod's GPUs fit into one island of fast links, else the share of them that does."""
    return 100 if gpus <= profile.island else 100 * profile.island // gpus


def _share(percent: int) -> str:
    return f"{percent // 100}.{percent % 100:02d}"


def _check(args: Mapping[str, Any]) -> None:
    for field, value in args.items():
        if field not in _DEFAULTS:
            raise ValueError(f"args.{field}: unknown, expected {', '.join(_DEFAULTS)}")
        most = _MOST.get(field, 1_000_000_000)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise ValueError(f"args.{field}: {value!r}, expected an integer from 0 to {most}")
    if not any({**_DEFAULTS, **args}[name] for name in ("interferenceWeight", "binPackWeight", "topologyWeight")):
        raise ValueError("args.interferenceWeight, args.binPackWeight, args.topologyWeight: all 0, expected one above")
