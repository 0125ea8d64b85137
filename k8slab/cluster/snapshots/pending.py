"""Why the pending Pods of a snapshot are pending: verdicts, the scheduler's own sentence, who would be evicted, and
the smallest change that helps.

>>> from k8slab.cluster.snapshots import ClusterSnapshot, Pending
>>> node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
...         "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}}}
>>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big"},
...        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}}
>>> finding = Pending(ClusterSnapshot.of([node, pod])).explain("default/big")
>>> finding.message.split(" no new")[0], finding.remedies[0].text
('0/1 nodes are available: 1 Insufficient cpu.', 'lower the cpu request of container c from 3 to 2')

Upstream: none (kube-scheduler-simulator answers a part of it)
Simplified: one cycle each: what earlier attempts of the real scheduler remembered (back-off, the place where its sample
of the Nodes ended) is not in a snapshot.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pods import get_condition
from k8slab.cluster.snapshots.search import Remedy, smallest_changes
from k8slab.cluster.snapshots.snapshot import ClusterSnapshot
from k8slab.cluster.snapshots.stream import SnapshotError
from k8slab.cluster.snapshots.world import World
from k8slab.scheduler import (
    SUCCESS,
    Explanation,
    Framework,
    KubeSchedulerConfiguration,
    ScheduleResult,
    Snapshot,
)
from k8slab.scheduler.config_extender import resources_ignored_by_scheduler
from k8slab.scheduler.framework import namespace_of, pod_key, scheduler_name
from k8slab.scheduler.nominator import Nominator, nominated_node_name

__all__ = ["Eviction", "Finding", "Pending", "PodState", "frameworks_for"]


class PodState(StrEnum):
    """What a Pod of a snapshot is to the scheduler."""

    UNSCHEDULABLE = "unschedulable"
    """It fits nowhere."""
    FITS = "fits"
    """It would be placed now."""
    ERROR = "error"
    """A plugin could not answer: mostly a Pod that an API server would not have taken."""
    GATED = "gated"
    """It has scheduling gates: the scheduler does not try."""
    DELETING = "deleting"
    """It is being deleted: the scheduler skips it."""
    OTHER_SCHEDULER = "other scheduler"
    """No profile has its `spec.schedulerName`."""
    BOUND = "bound"
    """It has a Node: whatever it waits for, it is not the scheduler."""


class Eviction(NamedTuple):
    """What preemption would do: these Pods leave that Node; so many of them break a disruption budget."""

    node: str
    victims: tuple[str, ...]
    pdb_violations: int


@dataclass
class Finding:
    """What is to be said about one Pod. `same_as`: keys of Pods that ask for the same and get the same answer.

    `message`: what the scheduler would write; `recorded`: what the cluster's scheduler wrote last, "" nothing;
    `silent`: plugins that reject it and that no change of ours answers (when there is no remedy).
    """

    pod: str
    state: PodState
    reason: str = ""
    message: str = ""
    recorded: str = ""
    owner: str = ""
    node: str = ""
    explanation: Explanation | None = None
    eviction: Eviction | None = None
    remedies: list[Remedy] = field(default_factory=list)
    searched_all: bool = True
    silent: tuple[str, ...] = ()
    same_as: list[str] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        """How many Nodes each verdict has: the plugin that the scheduler stops at, and its reasons."""
        found: dict[str, int] = {}
        for row in self.explanation.nodes if self.explanation is not None else ():
            first = next((s for s in row.filters.values() if not s.is_success), None)
            label = "fits" if first is None else f"{first.plugin or 'PreFilter'}: {first.message}"
            found[label] = found.get(label, 0) + 1
        return found


def frameworks_for(
    snapshot: ClusterSnapshot, config: KubeSchedulerConfiguration | None = None, *, seed: int | str = 7
) -> dict[str, Framework]:
    """One framework for each profile (None: the default one), with what the snapshot knows to look up.

    Extenders are not asked, but what they take off the scheduler's hands is left to them.
    """
    config = config if config is not None else KubeSchedulerConfiguration()
    nominator, lister = Nominator(), snapshot.lister()
    made: dict[str, Framework] = {}
    for profile in config.profiles:
        rng = random.Random(f"{seed}/{profile.scheduler_name}")
        framework = Framework.from_profile(
            profile,
            lister=lister,
            nominator=nominator,
            rng=rng,
            ignored_resources=resources_ignored_by_scheduler(config.extenders),
            percentage_of_nodes_to_score=config.percentage_of_nodes_to_score,
        )
        framework.pdbs = lambda: snapshot.pdbs
        made[framework.profile_name] = framework
    for pod in snapshot.pending:
        if scheduler_name(pod) in made and nominated_node_name(pod):
            with suppress(SnapshotError):  # of an unknown class: it is told where the Pod is explained
                nominator.add(snapshot.with_priority(pod))
    return made


class Pending:
    """Answers about the Pods of a snapshot. `most`: how many remedies are looked for."""

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        config: KubeSchedulerConfiguration | None = None,
        *,
        most: int = 5,
    ) -> None:
        self.snapshot = snapshot
        self.frameworks = frameworks_for(snapshot, config)
        self._most = most
        self._nodes: Snapshot = snapshot.for_scheduling()
        self._answers: dict[str, Finding] = {}

    def all(self) -> list[Finding]:
        """All pending Pods, in the order of the snapshot; Pods that ask for the same are told of together."""
        found: dict[str, Finding] = {}
        for pod in self.snapshot.pending:
            question = self._question(pod)
            if question in found:
                found[question].same_as.append(pod_key(pod))
            else:
                found[question] = self._explain(pod)
        return list(found.values())

    def explain(self, key: str) -> Finding:
        """One Pod, by `namespace/name`. SnapshotError when there is none, with the closest names."""
        pod = self.snapshot.pod(key)
        if pod is None:
            names = [pod_key(other) for other in self.snapshot.pods]
            close = get_close_matches(key if "/" in key else f"default/{key}", names, n=3)
            hint = f"; close to it: {', '.join(close)}" if close else ""
            raise SnapshotError(f"pod {key!r}: not in the snapshot (Pods that ended are not looked at){hint}")
        return self._explain(pod)

    # -- inside ------------------------------------------------------------------------------------

    def _question(self, pod: Object) -> str:
        """Equal for Pods that cannot be told apart by the scheduler."""
        metadata, status = pod["metadata"], pod.get("status") or {}
        asked = [namespace_of(pod), metadata.get("labels"), pod["spec"], metadata.get("deletionTimestamp")]
        owners = [owner.get("uid") for owner in metadata.get("ownerReferences") or ()]
        return json.dumps([*asked, owners, status.get("nominatedNodeName"), _recorded(pod)], sort_keys=True)

    def _explain(self, pod: Object) -> Finding:
        finding = Finding(pod_key(pod), PodState.FITS, recorded=_recorded(pod), owner=_owner(pod))
        name = scheduler_name(pod)
        if pod["spec"].get("nodeName"):
            finding.state, finding.node = PodState.BOUND, pod["spec"]["nodeName"]
            finding.reason = f"it has node {finding.node}: what it waits for happens there (images, volumes, probes)"
        elif name not in self.frameworks:
            finding.state = PodState.OTHER_SCHEDULER
            ours = ", ".join(self.frameworks)
            finding.reason = f"spec.schedulerName is {name}, not among {ours}: another scheduler decides"
        elif pod["metadata"].get("deletionTimestamp"):
            finding.state, finding.reason = PodState.DELETING, "it is being deleted: the scheduler skips it"
        else:
            try:
                known = self.snapshot.with_priority(pod)
            except SnapshotError as error:
                finding.state, finding.reason = PodState.ERROR, str(error)
            else:
                self._try(known, self.frameworks[name], finding)
        return finding

    def _try(self, pod: Object, framework: Framework, finding: Finding) -> None:
        for plugin in framework.pre_enqueue_plugins:
            status = plugin.pre_enqueue(pod)
            if not status.is_success:
                finding.state, finding.reason = PodState.GATED, status.message
                break
        result = framework.schedule(pod, self._nodes, explain=True)
        finding.explanation = result.explanation
        if finding.state is PodState.GATED:
            fits = [row.node for row in finding.explanation.nodes if row.feasible] if finding.explanation else []
            finding.reason += f"; without them {len(fits)} of {len(self._nodes)} nodes would take it"
        elif result.status is SUCCESS:
            self._fits(result, finding)
        else:
            self._fits_not(pod, framework, result, finding)

    def _fits(self, result: ScheduleResult, finding: Finding) -> None:
        finding.node = result.node
        number = sum(row.feasible for row in finding.explanation.nodes) if finding.explanation else 0
        finding.reason = (
            f"{number} of {len(self._nodes)} nodes would take it now, {result.node} before others: the scheduler has "
            "not tried since (back-off lasts up to 10 s; a Pod no event moves waits 5 to 5½ min), or it does not run"
        )

    def _fits_not(self, pod: Object, framework: Framework, result: ScheduleResult, finding: Finding) -> None:
        finding.message = result.message
        finding.state = PodState.UNSCHEDULABLE if result.status.is_rejected else PodState.ERROR
        post_filter = result.post_filter
        if post_filter is not None and post_filter.preemption is not None:
            choice = post_filter.preemption
            victims = tuple(info.key for info in choice.victims)
            finding.eviction = Eviction(choice.node, victims, choice.pdb_violations)
        if result.explanation is not None and finding.state is PodState.UNSCHEDULABLE:
            world = World(pod, tuple(self._nodes.nodes))
            found = smallest_changes(framework, world, result.explanation, self._most)
            finding.remedies, finding.searched_all, finding.silent = found


def _recorded(pod: Object) -> str:
    condition: Mapping[str, Any] = get_condition(pod, "PodScheduled") or {}
    return condition.get("message") or "" if condition.get("status") == "False" else ""


def _owner(pod: Object) -> str:
    owners: Iterable[Mapping[str, Any]] = pod["metadata"].get("ownerReferences") or ()
    return next((f"{owner.get('kind')} {owner.get('name')}" for owner in owners if owner.get("controller")), "")
