"""Topology spread, Pod by Pod: where each goes, how many every domain has then, and who finds no place.

>>> from k8slab.scheduler import SpreadStory
>>> nodes = [{"metadata": {"name": f"node-{zone}", "labels": {"zone": zone}},
...           "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}}} for zone in "ab"]
>>> spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
...           "labelSelector": {"matchLabels": {"app": "web"}}}
>>> pods = [{"metadata": {"name": f"web-{n}", "labels": {"app": "web"}},
...          "spec": {"containers": [], "topologySpreadConstraints": [spread]}} for n in range(2)]
>>> story = SpreadStory(nodes, [*pods, "delete web-1"], seed=0)
>>> while story.step():
...     pass
>>> for event in story.trace:
...     print(event.message)
Pod web-0 goes to node-a: a has 1 now, a skew of 1
Pod web-1 goes to node-b: b has 1 now, a skew of 0
Pod web-1 is gone, nobody moves: b has 0 now

Upstream: none (the numbers are those of pkg/scheduler/framework/plugins/podtopologyspread)
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from k8slab.api.node_affinity import required_node_affinity
from k8slab.api.objects import Object
from k8slab.api.times import rfc3339
from k8slab.scheduler.diagnosis import FitError
from k8slab.scheduler.framework import SUCCESS, NodeInfo, PodInfo, labels_of, namespace_of, placed_on
from k8slab.scheduler.plugins.spread_constraints import (
    DO_NOT_SCHEDULE,
    InclusionPolicies,
    TopologySpreadConstraint,
    count_matching,
    has_all_keys,
    own_constraints,
    parse_constraints,
)
from k8slab.scheduler.profile import Profile
from k8slab.scheduler.runtime import Framework
from k8slab.scheduler.snapshot import Snapshot
from k8slab.sim import Clock, Kind, Trace, add_kinds
from k8slab.sim.kinds import cut

__all__ = ["SpreadOperation", "SpreadStory"]

SpreadOperation: TypeAlias = Object | str
"""A Pod to be placed, or `delete NAME`, or `terminate NAME` (it is being deleted, and still runs)."""

LANE = "scheduler"
WORDS = "a Pod, 'delete NAME' or 'terminate NAME'"

add_kinds(
    {
        "spread.place": Kind(
            "work",
            1,
            ("pod", "node", "domain", "count", "skew"),
            "{pod} to {domain}",
            "Pod {pod} goes to {node}: {domain} has {count} now, a skew of {skew}",
        ),
        "spread.place-anywhere": Kind(
            "work",
            1,
            ("pod", "node"),
            "{pod} to {node}",
            "Pod {pod} goes to {node}, which is in none of the domains that count",
        ),
        "spread.refuse": Kind("wait", 1, ("pod", "why"), "{pod} waits", "no node for Pod {pod}: {why}"),
        "spread.delete": Kind(
            "state",
            1,
            ("pod", "domain", "count"),
            "{pod} is gone",
            "Pod {pod} is gone, nobody moves: {domain} has {count} now",
        ),
        "spread.terminate": Kind(
            "state",
            1,
            ("pod", "domain", "count"),
            "{pod} terminates",
            "Pod {pod} is being deleted: it still runs and does not count, {domain} has {count} now",
        ),
    }
)


class SpreadStory:
    """A steppable: carries `operations` out on `nodes` and `pods`, one a step, with the scheduler's own framework.

    `Stepper(SpreadStory(nodes, operations))` shows the first constraint of the first Pod among the operations as a
    histogram. `pods`: those that are there at the start, each with `spec.nodeName`. `profile`: other plugins. `seed`
    breaks ties among the best Nodes.

    ValueError: an operation that cannot be understood, no Pod with a constraint, a Pod that is not there.
    """

    views = ("spread",)
    title = "Spread, Pod by Pod"

    def __init__(
        self,
        nodes: Iterable[Object],
        operations: Iterable[SpreadOperation],
        *,
        pods: Iterable[Object] = (),
        profile: Profile | Object | None = None,
        seed: int = 0,
    ) -> None:
        self.trace = Trace(Clock())
        self.nodes = list(nodes)
        self.pods: dict[str, Object] = {pod["metadata"]["name"]: pod for pod in pods}
        self._framework = Framework.from_profile(profile, rng=random.Random(f"spread/{seed}"), memo=False)
        self._todo = deque(_checked(operation) for operation in operations)
        self._pod = next((pod for pod in self._todo if not isinstance(pod, str) and own_constraints(pod)), None)
        if self._pod is None:
            raise ValueError("operations: no Pod has spec.topologySpreadConstraints, expected one that has")
        self._last: dict[str, str] = {}

    def step(self) -> bool:
        """The next operation; False when there was none left."""
        if not self._todo:
            return False
        operation = self._todo.popleft()
        self.trace.current = None
        if isinstance(operation, str):
            verb, name = operation.split()
            (self._delete if verb == "delete" else self._terminate)(name)
        else:
            self._place(operation)
        return True

    # -- operations --------------------------------------------------------------------------------

    def _place(self, pod: Object) -> None:
        name = pod["metadata"]["name"]
        if name in self.pods:
            raise ValueError(f"operation: Pod {name} is there already, expected another name")
        if own_constraints(pod):
            self._pod = pod
        snapshot = Snapshot.of(self.nodes, self.pods.values())
        result = self._framework.schedule(pod, snapshot)
        if result.status is not SUCCESS:
            self._last = {"pod": name}
            result.diagnosis.post_filter_message = ""
            why = str(FitError(len(snapshot), result.diagnosis)).partition(": ")[2].rstrip(".")
            self.trace.emit("spread.refuse", LANE, pod=name, why=cut(why, 90))
            return
        self.pods[name] = placed_on(pod, result.node)
        domains, least = self._domains()
        domain = self._domain_of(result.node)
        self._last = {"pod": name, "domain": domain}
        if domains.get(domain, {}).get("counts"):
            count = domains[domain]["count"]
            self.trace.emit(
                "spread.place", LANE, pod=name, node=result.node, domain=domain, count=count, skew=count - least
            )
        else:
            self.trace.emit("spread.place-anywhere", LANE, pod=name, node=result.node)

    def _delete(self, name: str) -> None:
        domain = self._domain_of(self._found(name)["spec"]["nodeName"])
        del self.pods[name]
        self._tell("spread.delete", name, domain)

    def _terminate(self, name: str) -> None:
        pod = self._found(name)
        self.pods[name] = {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": rfc3339(0)}}
        self._tell("spread.terminate", name, self._domain_of(pod["spec"]["nodeName"]))

    def _tell(self, kind: str, name: str, domain: str) -> None:
        self._last = {"pod": name, "domain": domain}
        count = self._domains()[0].get(domain, {}).get("count", 0)
        self.trace.emit(kind, LANE, pod=name, domain=domain or "a node without the label", count=count)

    def _found(self, name: str) -> Object:
        if name not in self.pods:
            raise ValueError(f"operation: Pod {name} is not there, expected one of {', '.join(self.pods) or 'none'}")
        return self.pods[name]

    # -- what the picture shows --------------------------------------------------------------------

    def _domain_of(self, node_name: str) -> str:
        labels = next(labels_of(node) for node in self.nodes if node["metadata"]["name"] == node_name)
        return labels.get(self._constraint()[0].topology_key, "")

    def _constraint(self) -> tuple[TopologySpreadConstraint, Sequence[TopologySpreadConstraint], bool]:
        """The first one, all with its `whenUnsatisfiable`, and whether that is DoNotSchedule."""
        assert self._pod is not None
        raw = own_constraints(self._pod)
        action = str(raw[0].get("whenUnsatisfiable"))
        same = parse_constraints(raw, labels_of(self._pod), action, self._framework.features)
        return same[0], same, action == DO_NOT_SCHEDULE

    def _domains(self) -> tuple[dict[str, dict[str, Any]], int]:
        """Domains by name, and how many Pods the emptiest of those that count has."""
        assert self._pod is not None
        shown, same, _ = self._constraint()
        affinity = required_node_affinity(self._pod)
        policies = InclusionPolicies(self._pod, affinity, self._framework.features)
        namespace = namespace_of(self._pod)
        domains: dict[str, dict[str, Any]] = {}
        for node in Snapshot.of(self.nodes, self.pods.values()).nodes:
            if shown.topology_key not in node.labels:
                continue
            domain = domains.setdefault(
                node.labels[shown.topology_key], {"count": 0, "counts": False, "nodes": {}, "pods": {}}
            )
            counts = has_all_keys(node.labels, same) and policies.include(shown, node)
            domain["nodes"][node.name] = counts
            domain["pods"].update(_states(node, shown, namespace, counts=counts))
            if counts:
                domain["counts"] = True
                domain["count"] += count_matching(node.pods.values(), shown.selector, namespace)
        found = [domain["count"] for domain in domains.values() if domain["counts"]]
        return domains, 0 if len(found) < shown.min_domains else min(found, default=0)

    def view(self) -> Mapping[str, Any]:
        """`spread`: the topology `key`, `max` (maxSkew), `least` (Pods in the emptiest domain), `hard` (DoNotSchedule),
        `few` (fewer domains than minDomains), the `last` Pod with its domain (none: it found no place), and `domains`
        by name: `count`, whether it `counts`, its `nodes`, and `pods` by name: counted, terminating or other."""
        shown, _, hard = self._constraint()
        domains, least = self._domains()
        few = sum(domain["counts"] for domain in domains.values()) < shown.min_domains
        spread: dict[str, Any] = {
            "key": shown.topology_key,
            "max": shown.max_skew,
            "hard": hard,
            "least": least,
            "few": few,
            "domains": domains,
            "last": dict(self._last),
        }
        return {"spread": spread}


def _states(node: NodeInfo, constraint: TopologySpreadConstraint, namespace: str, *, counts: bool) -> dict[str, str]:
    """Pods by name: counted, terminating (it would count if it stayed), or other (nobody counts it)."""

    def state(info: PodInfo) -> str:
        alive = info.with_pod({**info.pod, "metadata": {**info.pod["metadata"], "deletionTimestamp": None}})
        if not counts or not count_matching((alive,), constraint.selector, namespace):
            return "other"
        return "terminating" if info.is_terminating else "counted"

    return {info.pod["metadata"]["name"]: state(info) for info in node.pods.values()}


def _checked(operation: SpreadOperation) -> SpreadOperation:
    """The operation itself. ValueError for what is none."""
    if isinstance(operation, str):
        words = operation.split()
        if len(words) != 2 or words[0] not in ("delete", "terminate"):
            raise ValueError(f"operation {operation!r}: expected {WORDS}")
        return operation
    if not isinstance(operation, Mapping) or "name" not in (operation.get("metadata") or {}):
        raise ValueError(f"operation {cut(repr(operation), 60)}: expected {WORDS}")
    return operation
