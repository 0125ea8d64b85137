"""Counts of matching Pods by domain, for one rule of spreading, affinity or anti-affinity.

Upstream: kubernetes-sigs/karpenter pkg/controllers/provisioning/scheduling/topologygroup.go, topologynodefilter.go
Simplified: of several domains that will do, the one that sorts first is taken instead of a random one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from k8slab.api.labels import Labels, Selector
from k8slab.api.objects import Object
from k8slab.api.tolerations import find_matching_untolerated_taint
from k8slab.autoscaling.karpenter.requirement import Requirement
from k8slab.autoscaling.karpenter.requirements import HOSTNAME, Requirements

__all__ = ["NodeFilter", "Rule", "TopologyGroup", "TopologyType"]

_MOST = (1 << 31) - 1


class TopologyType(StrEnum):
    """What the rule wants."""

    SPREAD = "topology spread"
    AFFINITY = "pod affinity"
    ANTI_AFFINITY = "pod anti-affinity"


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Which nodes count: those that the owner's node affinity allows (`alternatives`, one must hold), and whose taints
    it tolerates, as far as the policies honor these. The default counts every node."""

    alternatives: tuple[Requirements, ...] = ()
    tolerations: Sequence[Object] = ()
    honors_taints: bool = False
    key: str = ""

    def matches(self, taints: Iterable[Object], requirements: Requirements) -> bool:
        if self.alternatives and not any(requirements.compatible(one) for one in self.alternatives):
            return False
        return not self.honors_taints or find_matching_untolerated_taint(taints, self.tolerations) is None


@dataclass(frozen=True, slots=True)
class Rule:
    """What makes two rules the same, for whomever they are: Pods with equal rules share a group."""

    type: TopologyType
    key: str
    namespaces: frozenset[str]
    selector: Selector
    max_skew: int = _MOST
    filter_key: str = ""


class TopologyGroup:
    """The counts of one rule. `domains` has every domain that is known, with 0 for the empty ones."""

    __slots__ = ("domains", "min_domains", "node_filter", "owners", "rule", "total")

    def __init__(
        self, rule: Rule, domains: Iterable[str], node_filter: NodeFilter | None = None, min_domains: int | None = None
    ) -> None:
        self.rule = rule
        self.node_filter = node_filter or NodeFilter()
        self.min_domains = min_domains
        self.owners: set[str] = set()
        self.total = 0
        self.domains: dict[str, int] = dict.fromkeys(sorted(domains), 0)

    def selects(self, namespace: str, labels: Labels) -> bool:
        return namespace in self.rule.namespaces and self.rule.selector.matches(labels)

    def record(self, domains: Iterable[str]) -> None:
        """One Pod more in (each of) these."""
        for domain in domains:
            self.domains[domain] = self.domains.get(domain, 0) + 1
            self.total += 1

    def register(self, domain: str) -> None:
        """A domain that there is, so far without a Pod."""
        self.domains.setdefault(domain, 0)

    def next_domains(self, selects_itself: bool, pod: Requirement, node: Requirement) -> Requirement:
        """The domains where a Pod may go, DoesNotExist when there is none.

        `selects_itself`: the rule counts the Pod, too. `pod` and `node`: the domains that the Pod asks for, and those
        that the node may still be in.
        """
        if self.rule.type is TopologyType.SPREAD:
            found = self._spread(selects_itself, pod, node)
        elif self.rule.type is TopologyType.AFFINITY:
            found = self._affinity(selects_itself, pod, node)
        else:
            found = self._anti_affinity(pod, node)
        return Requirement(self.rule.key, False, frozenset(found))

    def hostname_bounds(self, selects_itself: bool) -> tuple[int, int]:
        """For a rule on hostnames: how many of its Pods a node must have at least and at most to take one more."""
        if self.rule.type is TopologyType.SPREAD:
            return 0, self.rule.max_skew - selects_itself
        if self.rule.type is TopologyType.ANTI_AFFINITY:
            return 0, 0
        return (1 if self.total else 0), _MOST

    def _known(self, node: Requirement) -> list[str]:
        """The known domains that the node may be in, sorted."""
        if not node.complement:
            return [domain for domain in node.listed() if domain in self.domains]
        return sorted(domain for domain in self.domains if node.has(domain))

    def _hostname(self, node: Requirement) -> str | None:
        """A node that is not there yet is no known domain; its only hostname counts all the same."""
        return node.only if self.rule.key == HOSTNAME else None

    def _spread(self, selects_itself: bool, pod: Requirement, node: Requirement) -> list[str]:
        own = 1 if selects_itself else 0
        hostname = self._hostname(node)
        if hostname is not None:  # a new node is always possible: the least count is 0
            return [hostname] if self.domains.get(hostname, 0) + own <= self.rule.max_skew else []
        least = self._least(pod)
        counts = [(self.domains[domain] + own, domain) for domain in self._known(node)]
        valid = [(count, domain) for count, domain in counts if count - least <= self.rule.max_skew]
        return [min(valid)[1]] if valid else []

    def _least(self, pod: Requirement) -> int:
        if self.rule.key == HOSTNAME:
            return 0
        counts = [count for domain, count in self.domains.items() if pod.has(domain)]
        if self.min_domains is not None and len(counts) < self.min_domains:
            return 0
        return min(counts, default=_MOST)

    def _affinity(self, selects_itself: bool, pod: Requirement, node: Requirement) -> list[str]:
        hostname = self._hostname(node)
        if hostname is not None:
            if not pod.has(hostname):
                return []
            there = self.domains.get(hostname, 0) > 0
            return [hostname] if there or self._may_begin(selects_itself, pod) else []
        found = [domain for domain in self._known(node) if pod.has(domain) and self.domains[domain] > 0]
        if found or not self._may_begin(selects_itself, pod):
            return found
        both = pod.intersection(node)
        begin = [domain for domain in sorted(self.domains) if both.has(domain)][:1]
        return begin + [domain for domain in sorted(self.domains) if pod.has(domain)][:1]

    def _may_begin(self, selects_itself: bool, pod: Requirement) -> bool:
        """The first Pod of a group that wants its like near: nobody is anywhere that it may go to."""
        if not selects_itself or not self.total:
            return selects_itself
        return not any(count > 0 and pod.has(domain) for domain, count in self.domains.items())

    def _anti_affinity(self, pod: Requirement, node: Requirement) -> list[str]:
        hostname = self._hostname(node)
        if hostname is not None:
            return [hostname] if self.domains.get(hostname, 0) == 0 else []
        return [domain for domain in self._known(node) if self.domains[domain] == 0 and pod.has(domain)]
