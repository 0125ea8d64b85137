"""The terms of Pod affinity and anti-affinity with their selectors parsed: whom a Pod wants near, and whom not.

>>> from k8slab.scheduler.framework.affinity_terms import pod_affinity_terms
>>> near = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}
>>> pod = {"metadata": {"name": "web"},
...        "spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}}}
>>> term = pod_affinity_terms(pod).required[0]
>>> term.matches("default", {"app": "db"}), term.matches("other", {"app": "db"})
(True, False)

Upstream: staging/src/k8s.io/kube-scheduler/framework/types.go (AffinityTerm), pkg/scheduler/framework/types.go
(GetAffinityTerms, PodInfo.Update)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from k8slab.api.labels import AggregateError, Labels, Selector, selector_from_dict
from k8slab.api.objects import Object
from k8slab.scheduler.framework.spec_part import decoded_part

__all__ = [
    "NO_AFFINITY",
    "AffinityTerm",
    "PodAffinityTerms",
    "WeightedAffinityTerm",
    "matches_all_terms",
    "matches_any_term",
    "pod_affinity_terms",
]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_SIDES = ("podAffinity", "podAntiAffinity")

_Term = TypeVar("_Term")


class AffinityTerm(NamedTuple):
    """One term: Pods in these namespaces that `selector` selects; `topology_key` says what "near" means.

    `namespace_selector` adds the namespaces whose labels it selects (`NOTHING` when the term has none).
    """

    namespaces: frozenset[str]
    selector: Selector
    topology_key: str
    namespace_selector: Selector

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels | None = None) -> bool:
        """Whether the term is about a Pod with these labels in `namespace`, which has `namespace_labels`."""
        return (
            namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(labels)


class WeightedAffinityTerm(NamedTuple):
    """A preferred term."""

    weight: int
    term: AffinityTerm


class PodAffinityTerms(NamedTuple):
    """All terms of a Pod. `error`: why some of them could not be parsed (those are left out), "" mostly."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[WeightedAffinityTerm, ...] = ()
    preferred_anti: tuple[WeightedAffinityTerm, ...] = ()
    error: str = ""


NO_AFFINITY = PodAffinityTerms()
"""What most Pods have; one shared object."""


def matches_all_terms(terms: Sequence[AffinityTerm], namespace: str, labels: Labels) -> bool:
    """Required affinity looks for one Pod that satisfies all terms. No terms match nobody."""
    return bool(terms) and all(term.matches(namespace, labels) for term in terms)


def matches_any_term(terms: Sequence[AffinityTerm], namespace: str, labels: Labels) -> bool:
    """Anti-affinity is violated by a Pod that satisfies one term."""
    return any(term.matches(namespace, labels) for term in terms)


def _term(raw: Mapping[str, Any], own_namespace: str) -> AffinityTerm:
    namespaces = raw.get("namespaces") or ()
    if not namespaces and raw.get("namespaceSelector") is None:
        namespaces = (own_namespace,)
    return AffinityTerm(
        frozenset(namespaces),
        selector_from_dict(raw.get("labelSelector")),
        raw.get("topologyKey") or "",
        selector_from_dict(raw.get("namespaceSelector")),
    )


def _weighted(raw: Mapping[str, Any], own_namespace: str) -> WeightedAffinityTerm:
    return WeightedAffinityTerm(raw.get("weight") or 0, _term(raw.get("podAffinityTerm") or {}, own_namespace))


def _sides(affinity: Any) -> Mapping[str, Any]:
    """podAffinity and podAntiAffinity, as far as they are there. ValueError that names the path."""
    named = isinstance(affinity, Mapping)
    sides = {name: affinity[name] for name in _SIDES if affinity.get(name)} if named else affinity
    decoded: Mapping[str, Any] = decoded_part("affinity", sides) if sides else {}
    for side, kinds in decoded.items():
        for kind, terms in kinds.items():
            for index, term in enumerate(terms):
                inner = ".podAffinityTerm" if kind == _PREFERRED else ""
                if not (term["podAffinityTerm"] if inner else term)["topologyKey"]:
                    where = f"spec.affinity.{side}.{kind}[{index}]{inner}.topologyKey"
                    raise ValueError(f"{where}: '': expected the key of a label of Nodes")
    return decoded


def pod_affinity_terms(pod: Object) -> PodAffinityTerms:
    """The parsed terms of a Pod; `NO_AFFINITY` itself when it has none."""
    affinity = (pod.get("spec") or {}).get("affinity")
    if not affinity:
        return NO_AFFINITY
    try:
        sides = _sides(affinity)
    except ValueError as error:
        return NO_AFFINITY._replace(error=str(error))
    if not sides:
        return NO_AFFINITY
    near, far = sides.get("podAffinity") or {}, sides.get("podAntiAffinity") or {}
    namespace = pod["metadata"].get("namespace") or "default"
    errors: list[str] = []

    def parsed(name: str, raw: Any, parse: Callable[[Any, str], _Term]) -> tuple[_Term, ...]:
        try:
            return tuple(parse(term, namespace) for term in raw or ())
        except ValueError as error:
            errors.append(f"{name}: {error}")
            return ()

    terms = PodAffinityTerms(
        parsed("requiredAffinityTerms", near.get(_REQUIRED), _term),
        parsed("requiredAntiAffinityTerms", far.get(_REQUIRED), _term),
        parsed("preferredAffinityTerms", near.get(_PREFERRED), _weighted),
        parsed("preferredAntiAffinityTerms", far.get(_PREFERRED), _weighted),
    )
    return terms._replace(error=str(AggregateError(errors))) if errors else terms
