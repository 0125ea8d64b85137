"""Topology spread constraints parsed, and the default ones for Pods that have none.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/common.go, pkg/scheduler/framework/plugins/helper/spread.go
(DefaultSelector), pkg/scheduler/apis/config/validation/validation_pluginargs.go (ValidatePodTopologySpreadArgs)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.labels import Labels, Selector, selector_from_dict, selector_from_set
from k8slab.api.node_affinity import RequiredNodeAffinity
from k8slab.api.objects import Object
from k8slab.api.scheme import GVR, REPLICASETS, REPLICATIONCONTROLLERS, SERVICES, STATEFULSETS
from k8slab.api.tolerations import find_matching_untolerated_taint, is_scheduling_taint
from k8slab.scheduler.framework import Gates, Lister, NodeInfo, PodInfo, labels_of, namespace_of
from k8slab.scheduler.framework.spec_part import decoded_part

__all__ = [
    "DO_NOT_SCHEDULE",
    "SCHEDULE_ANYWAY",
    "SYSTEM_DEFAULT_CONSTRAINTS",
    "InclusionPolicies",
    "TopologySpreadConstraint",
    "count_matching",
    "default_selector",
    "has_all_keys",
    "own_constraints",
    "parse_constraints",
]

DO_NOT_SCHEDULE = "DoNotSchedule"
SCHEDULE_ANYWAY = "ScheduleAnyway"
_ACTIONS = (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)
_HONOR = "Honor"
_IGNORE = "Ignore"

SYSTEM_DEFAULT_CONSTRAINTS: tuple[Mapping[str, Any], ...] = (
    {"topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": SCHEDULE_ANYWAY, "maxSkew": 3},
    {"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": SCHEDULE_ANYWAY, "maxSkew": 5},
)
"""What Pods without constraints get unless the plugin's arguments say otherwise."""


class TopologySpreadConstraint(NamedTuple):
    """One constraint. `honors_affinity`, `honors_taints`: which Nodes count as domains at all."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


def own_constraints(pod: Object) -> Sequence[Mapping[str, Any]]:
    """`spec.topologySpreadConstraints`. ValueError that names the path for what the API server would have refused."""
    given = pod["spec"].get("topologySpreadConstraints")
    constraints: Sequence[Mapping[str, Any]] = decoded_part("topologySpreadConstraints", given) if given else ()
    for index, constraint in enumerate(constraints):
        where = f"spec.topologySpreadConstraints[{index}]"
        if constraint["maxSkew"] <= 0:
            raise ValueError(f"{where}.maxSkew: {constraint['maxSkew']}: expected a number greater than zero")
        if not constraint["topologyKey"]:
            raise ValueError(f"{where}.topologyKey: '': expected the key of a label of Nodes")
        if constraint["whenUnsatisfiable"] not in _ACTIONS:
            raise ValueError(
                f"{where}.whenUnsatisfiable: {constraint['whenUnsatisfiable']!r}: expected one of {', '.join(_ACTIONS)}"
            )
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(policy) not in (None, _HONOR, _IGNORE):
                raise ValueError(f"{where}.{policy}: {constraint[policy]!r}: expected one of {_HONOR}, {_IGNORE}")
    return constraints


def parse_constraints(
    raw: Iterable[Mapping[str, Any]], labels: Labels, action: str, features: Gates
) -> list[TopologySpreadConstraint]:
    """The constraints whose `whenUnsatisfiable` is `action`. `labels`: the Pod's, for matchLabelKeys.

    `raw`: `own_constraints`, or checked default ones. ValueError for a selector that does not parse.
    """
    policies = features.enabled("NodeInclusionPolicyInPodTopologySpread")
    return [
        TopologySpreadConstraint(
            constraint["maxSkew"],
            constraint["topologyKey"],
            _selector(constraint, labels, features),
            constraint["minDomains"] if constraint.get("minDomains") is not None else 1,
            not policies or (constraint.get("nodeAffinityPolicy") or _HONOR) == _HONOR,
            policies and (constraint.get("nodeTaintsPolicy") or _IGNORE) == _HONOR,
        )
        for constraint in raw
        if constraint.get("whenUnsatisfiable") == action
    ]


def _selector(constraint: Mapping[str, Any], labels: Labels, features: Gates) -> Selector:
    """The constraint's selector, and equality with the Pod's own values of matchLabelKeys.

    A constraint without any labelSelector selects nothing, with or without matchLabelKeys.
    """
    selector = selector_from_dict(constraint.get("labelSelector"))
    keys = constraint.get("matchLabelKeys") or ()
    if not selector.selectable or not features.enabled("MatchLabelKeysInPodTopologySpread"):
        return selector
    own = {key: labels[key] for key in keys if key in labels}
    if not own:
        return selector
    return Selector((*selector_from_set(own).requirements, *selector.requirements))


def has_all_keys(labels: Labels, constraints: Iterable[TopologySpreadConstraint]) -> bool:
    """Whether a Node with these labels has a place in every constraint's topology."""
    for constraint in constraints:  # noqa: SIM110  (it runs once a Node and cycle, and all() takes twice as long)
        if constraint.topology_key not in labels:
            return False
    return True


class InclusionPolicies:
    """Whether a Node counts for a constraint, as far as the Pod's node affinity and tolerations decide it."""

    __slots__ = ("_affinity", "_compare", "_pod", "_tolerations")

    def __init__(self, pod: Object, affinity: RequiredNodeAffinity, features: Gates) -> None:
        self._affinity = affinity
        self._pod = pod
        self._tolerations = pod["spec"].get("tolerations") or ()
        self._compare = features.enabled("TaintTolerationComparisonOperators")

    def signature(self, constraints: Iterable[TopologySpreadConstraint]) -> str:
        """Equal text: `include` says the same of these constraints and any Node."""
        spec, asked = self._pod["spec"], []
        if any(constraint.honors_affinity for constraint in constraints) and not self._affinity.empty:
            asked += [spec.get("nodeSelector"), (spec.get("affinity") or {}).get("nodeAffinity")]
        if any(constraint.honors_taints for constraint in constraints):
            asked.append(self._tolerations)
        return json.dumps(asked, sort_keys=True) if asked else ""

    def include(self, constraint: TopologySpreadConstraint, node: NodeInfo) -> bool:
        """Terms that do not parse match no Node."""
        if constraint.honors_affinity and not self._affinity.empty and not self._matches(node):
            return False
        return not (constraint.honors_taints and node.taints and self._is_repelled(node))

    def _matches(self, node: NodeInfo) -> bool:
        if node.node is None:
            raise ValueError(f"node {node.name}: no Node object is known")
        try:
            return self._affinity.matches(node.node)
        except ValueError:
            return False

    def _is_repelled(self, node: NodeInfo) -> bool:
        untolerated = find_matching_untolerated_taint(
            node.taints, self._tolerations, is_scheduling_taint, comparison_operators=self._compare
        )
        return untolerated is not None


def count_matching(pods: Iterable[PodInfo], selector: Selector, namespace: str) -> int:
    """How many of these Pods the selector selects in `namespace`; Pods that are being deleted do not count.

    A selector without requirements counts nobody here, though it matches everybody.
    """
    if selector.empty:
        return 0
    count = 0
    for info in pods:
        if info.namespace == namespace and not info.is_terminating and selector.matches(info.labels):
            count += 1
    return count


# -- default constraints -------------------------------------------------------------------------------


def default_selector(pod: Object, lister: Lister) -> Selector:
    """Who a Pod's siblings are: selected by its Services and by the controller that owns it."""
    metadata = pod["metadata"]
    namespace, labels = namespace_of(pod), labels_of(pod)
    merged: dict[str, str] = {}
    for service in lister.list(SERVICES, namespace):
        wanted = (service.get("spec") or {}).get("selector")
        if wanted is not None and selector_from_set(wanted).matches(labels):
            merged.update(wanted)
    owner = next((ref for ref in metadata.get("ownerReferences") or () if ref.get("controller")), None)
    resource = _OWNERS.get((owner.get("apiVersion"), owner.get("kind"))) if owner is not None else None
    found = lister.get(resource, owner["name"], namespace) if owner is not None and resource is not None else None
    if found is None:
        return selector_from_set(merged)
    of_owner = (found.get("spec") or {}).get("selector")
    if resource == REPLICATIONCONTROLLERS:
        return selector_from_set({**merged, **(of_owner or {})})
    return Selector((*selector_from_set(merged).requirements, *_requirements_of(of_owner)))


_OWNERS: dict[tuple[str | None, str | None], GVR] = {
    ("v1", "ReplicationController"): REPLICATIONCONTROLLERS,
    ("apps/v1", "ReplicaSet"): REPLICASETS,
    ("apps/v1", "StatefulSet"): STATEFULSETS,
}


def _requirements_of(label_selector: Mapping[str, Any] | None) -> Sequence[Any]:
    """Those of an owner's selector; none when it does not parse (upstream leaves such an owner out, too)."""
    try:
        return selector_from_dict(label_selector).requirements
    except ValueError:
        return ()
