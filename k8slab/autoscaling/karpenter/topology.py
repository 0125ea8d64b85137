"""All rules of spreading, affinity and anti-affinity at once: where may a Pod go, and what does its going change?

Upstream: kubernetes-sigs/karpenter pkg/controllers/provisioning/scheduling/topology.go, topologydomaingroup.go
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from k8slab.api.features import FeatureGates
from k8slab.api.labels import Labels
from k8slab.api.objects import Object
from k8slab.api.pods import is_pod_active
from k8slab.autoscaling.karpenter.instance_types import Catalogue
from k8slab.autoscaling.karpenter.nodepool import NodePool
from k8slab.autoscaling.karpenter.pod_data import PodData
from k8slab.autoscaling.karpenter.requirement import Requirement
from k8slab.autoscaling.karpenter.requirements import HOSTNAME, Requirements, required_alternatives
from k8slab.autoscaling.karpenter.topology_group import NodeFilter, Rule, TopologyGroup, TopologyType
from k8slab.scheduler.framework import AffinityTerm, PodInfo
from k8slab.scheduler.plugins.spread_constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    TopologySpreadConstraint,
    own_constraints,
    parse_constraints,
)

__all__ = ["PlacedPod", "Topology"]

_GATES = FeatureGates()


class PlacedPod:
    """A Pod that runs, with what rules ask of its node."""

    __slots__ = ("info", "labels", "node_name", "taints")

    def __init__(self, info: PodInfo, node_name: str, labels: Mapping[str, str], taints: Sequence[Object]) -> None:
        self.info = info
        self.node_name = node_name
        self.labels = labels
        self.taints = taints

    def domain(self, key: str) -> str | None:
        """Where it is; without a label for it, a node's hostname is its name."""
        return self.labels.get(key) or (self.node_name if key == HOSTNAME else None)


class Topology:
    """The groups of one packing. `placed`: Pods that run and are not to be moved; `nodes`: labels and taints of the
    nodes that Pods may go to; `namespaces`: labels by name, for rules that select namespaces."""

    def __init__(
        self,
        pools: Sequence[NodePool],
        catalogue: Catalogue,
        nodes: Iterable[tuple[Mapping[str, str], Sequence[Object]]] = (),
        placed: Iterable[PlacedPod] = (),
        namespaces: Mapping[str, Labels] | None = None,
    ) -> None:
        self._pools = pools
        self._catalogue = catalogue
        self._nodes = list(nodes)
        self._placed = [one for one in placed if is_pod_active(one.info.pod)]
        self._namespaces = namespaces or {}
        self._universe: dict[str, dict[str, list[Sequence[Object]]]] = {}
        self._groups: dict[Rule, TopologyGroup] = {}
        self._inverse: dict[Rule, TopologyGroup] = {}
        self._of_pod: dict[str, list[TopologyGroup]] = {}
        self._selecting: dict[str, tuple[int, list[TopologyGroup], list[TopologyGroup]]] = {}
        self._hostnames: dict[str, None] = {}
        for one in self._placed:
            for term in one.info.affinity.required_anti:
                group = self._inverse_group(one.info, term)
                domain = one.labels.get(term.topology_key)
                if domain is not None:
                    group.record((domain,))

    # -- domains ------------------------------------------------------------------------------------

    def _domains(self, key: str) -> Mapping[str, list[Sequence[Object]]]:
        """The domains that new nodes could be in, each with the taints of the pools that can make them."""
        found = self._universe.get(key)
        if found is None:
            found = {}
            for pool in self._pools:
                for domain in sorted(self._pool_domains(pool, key)):
                    known = found.get(domain)
                    if known is None or not pool.taints:
                        found[domain] = [pool.taints]
                    elif known[0]:
                        known.append(pool.taints)
            self._universe[key] = found
        return found

    def _pool_domains(self, pool: NodePool, key: str) -> set[str]:
        asked = pool.requirements.find(key)
        values: set[str] = set()
        for own in self._catalogue.requirements:
            offered = own.find(key)
            if offered is not None:
                both = offered if asked is None else offered.intersection(asked)
                values |= both.values if not both.complement else frozenset()
        if asked is not None and not asked.complement and not values:
            values |= asked.values
        return values

    # -- groups -------------------------------------------------------------------------------------

    def update(self, data: PodData) -> None:
        """Read a Pod's rules (again, after it dropped one)."""
        for group in self._of_pod.pop(data.uid, ()):
            group.owners.discard(data.uid)
        groups: dict[Rule, TopologyGroup] = {}
        affinity = data.info.affinity
        for term in affinity.required_anti:
            self._inverse_group(data.info, term)
        for constraint in self._constraints(data):
            group = self._spread_group(data, constraint)
            groups[group.rule] = group
        near = (*affinity.required, *(one.term for one in affinity.preferred))
        far = (*affinity.required_anti, *(one.term for one in affinity.preferred_anti))
        for kind, terms in ((TopologyType.AFFINITY, near), (TopologyType.ANTI_AFFINITY, far)):
            for term in terms:
                group = self._group(self._rule(kind, term), data)
                groups[group.rule] = group
        for group in groups.values():
            group.owners.add(data.uid)
        if groups:
            self._of_pod[data.uid] = list(groups.values())

    @staticmethod
    def _constraints(data: PodData) -> list[TopologySpreadConstraint]:
        raw = own_constraints(data.pod)
        if not raw:
            return []
        kinds = (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)
        return [one for kind in kinds for one in parse_constraints(raw, data.info.labels, kind, _GATES)]

    def _rule(self, kind: TopologyType, term: AffinityTerm) -> Rule:
        chosen = {name for name, labels in self._namespaces.items() if term.namespace_selector.matches(labels)}
        return Rule(kind, term.topology_key, term.namespaces | chosen, term.selector)

    def _inverse_group(self, info: PodInfo, term: AffinityTerm) -> TopologyGroup:
        """Anti-affinity works both ways: where a Pod that does not want others is, these may not go."""
        rule = self._rule(TopologyType.ANTI_AFFINITY, term)
        group = self._inverse.get(rule)
        if group is None:
            group = TopologyGroup(rule, (*self._domains(rule.key), *self._registered(rule.key)))
            self._inverse[rule] = group
        group.owners.add(info.uid)
        return group

    def _spread_group(self, data: PodData, constraint: TopologySpreadConstraint) -> TopologyGroup:
        spec = data.pod["spec"]
        asked: list[object] = []
        alternatives: tuple[Requirements, ...] = ()
        if constraint.honors_affinity:
            alternatives = tuple(one for one in required_alternatives(data.pod) if len(one))
            asked += [str(one) for one in alternatives]
        tolerations = spec.get("tolerations") or ()
        if constraint.honors_taints:
            asked.append(tolerations)
        key = json.dumps(asked, sort_keys=True) if asked else ""
        node_filter = NodeFilter(alternatives, tolerations, constraint.honors_taints, key)
        rule = Rule(
            TopologyType.SPREAD,
            constraint.topology_key,
            frozenset((data.info.namespace,)),
            constraint.selector,
            constraint.max_skew,
            key,
        )
        return self._group(rule, data, node_filter, constraint.min_domains)

    def _group(
        self, rule: Rule, data: PodData, node_filter: NodeFilter | None = None, min_domains: int | None = None
    ) -> TopologyGroup:
        group = self._groups.get(rule)
        if group is None:
            honors = node_filter is not None and node_filter.honors_taints
            domains = [
                domain
                for domain, taint_sets in self._domains(rule.key).items()
                if not honors or any(_tolerated(data, taints) for taints in taint_sets)
            ]
            group = TopologyGroup(rule, (*domains, *self._registered(rule.key)), node_filter, min_domains)
            self._count(group)
            self._groups[rule] = group
        return group

    def _registered(self, key: str) -> Iterable[str]:
        return self._hostnames if key == HOSTNAME else ()

    def _count(self, group: TopologyGroup) -> None:
        key = group.rule.key
        for labels, taints in self._nodes:
            if key in labels and group.node_filter.matches(taints, Requirements.of_labels(labels)):
                group.register(labels[key])
        for one in self._placed:
            domain = one.domain(key)
            if (
                domain is not None
                and group.selects(one.info.namespace, one.info.labels)
                and group.node_filter.matches(one.taints, Requirements.of_labels(one.labels))
            ):
                group.record((domain,))

    # -- placing ------------------------------------------------------------------------------------

    def register_hostname(self, hostname: str) -> None:
        """A node that there is, or will be."""
        self._hostnames[hostname] = None
        for group in (*self._groups.values(), *self._inverse.values()):
            if group.rule.key == HOSTNAME:
                group.register(hostname)

    def _that_select(self, data: PodData) -> tuple[list[TopologyGroup], list[TopologyGroup]]:
        """The groups, and the inverse ones, whose selectors the Pod satisfies."""
        size = len(self._groups) + len(self._inverse)
        known = self._selecting.get(data.uid)
        if known is None or known[0] != size:
            info = data.info

            def chosen(groups: Mapping[Rule, TopologyGroup]) -> list[TopologyGroup]:
                return [group for group in groups.values() if group.selects(info.namespace, info.labels)]

            known = (size, chosen(self._groups), chosen(self._inverse))
            self._selecting[data.uid] = known
        return known[1], known[2]

    def add_requirements(
        self, data: PodData, node: Requirements, explain: Callable[[str], None] | None = None
    ) -> Requirements | None:
        """The node's requirements, tightened to the domains where the Pod may go; None when there is none.

        `explain` is called with the reason then.
        """
        if not self._groups and not self._inverse:
            return node
        inverse = self._that_select(data)[1]
        owned = self._of_pod.get(data.uid, ())
        if not owned and not inverse:
            return node
        tightened = node.copy()
        for group in (*owned, *inverse):
            key = group.rule.key
            wanted, possible = data.strict.get(key), node.get(key)
            domains = group.next_domains(group.selects(data.info.namespace, data.info.labels), wanted, possible)
            if not domains.values:
                if explain is not None:
                    explain(_unsatisfiable(group, wanted, possible))
                return None
            tightened.add(domains)
        return tightened

    def hostname_bounds(self, data: PodData) -> list[tuple[Mapping[str, int], int, int]]:
        """Counts by hostname with the least and the most for which a node may take the Pod: a quick look beforehand."""
        if (not self._groups and not self._inverse) or HOSTNAME in data.strict:
            return []
        groups = (*self._of_pod.get(data.uid, ()), *self._that_select(data)[1])
        info = data.info
        return [
            (group.domains, *group.hostname_bounds(group.selects(info.namespace, info.labels)))
            for group in groups
            if group.rule.key == HOSTNAME
        ]

    def record(self, data: PodData, taints: Sequence[Object], requirements: Requirements) -> None:
        """The Pod goes to a node of these requirements. Anti-affinity closes every domain that the node may be in."""
        if not self._groups and not self._inverse:
            return
        for group in self._that_select(data)[0]:
            if group.node_filter.matches(taints, requirements):
                domains = requirements.get(group.rule.key)
                if group.rule.type is TopologyType.ANTI_AFFINITY or domains.only is not None:
                    group.record(domains.listed())
        for group in self._inverse.values():
            if data.uid in group.owners:
                group.record(requirements.get(group.rule.key).listed())


def _tolerated(data: PodData, taints: Sequence[Object]) -> bool:
    return NodeFilter(tolerations=data.tolerations, honors_taints=True).matches(taints, Requirements())


def _unsatisfiable(group: TopologyGroup, pod: Requirement, node: Requirement) -> str:
    counts = " ".join(f"{domain}:{count}" for domain, count in sorted(group.domains.items())[:25])
    return (
        f"unsatisfiable topology constraint for {group.rule.type}, key={group.rule.key} (counts = {{{counts}}}, "
        f"podDomains = {pod}, nodeDomains = {node})"
    )
