"""What matchLabelKeys and mismatchLabelKeys of a new Pod mean is written into its selectors, for all readers to come.

>>> from k8slab.apiserver.registry.label_keys import with_label_keys
>>> term = {"labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["hash"]}
>>> with_label_keys(term, {"app": "web", "hash": "1"})["labelSelector"]["matchExpressions"]
[{'key': 'hash', 'operator': 'In', 'values': ['1']}]

Upstream: pkg/registry/core/pod/strategy.go (mutatePodAffinity, mutateTopologySpreadConstraints)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object

__all__ = ["apply_label_keys", "with_label_keys"]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Json = Mapping[str, Any]


def with_label_keys(term: Json, labels: Mapping[str, str]) -> Json:
    """A term or constraint whose selector asks for the Pod's own values of matchLabelKeys, and not for those of
    mismatchLabelKeys. Without a selector, which selects nobody, it stays as it is."""
    selector = term.get("labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(name) or ()
        if key in labels
    ]
    if selector is None or not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}


def apply_label_keys(spec: Object, labels: Mapping[str, str], features: FeatureGates) -> Object:
    """The spec of a new Pod with this done in its Pod affinity and its topology spread constraints."""
    affinity = spec.get("affinity")
    if affinity and features.enabled("MatchLabelKeysInPodAffinity"):
        named = [name for name in ("podAffinity", "podAntiAffinity") if affinity.get(name)]
        sides = {name: _of_side(affinity[name], labels) for name in named}
        spec = {**spec, "affinity": {**affinity, **sides}}
    merges = ("MatchLabelKeysInPodTopologySpread", "MatchLabelKeysInPodTopologySpreadSelectorMerge")
    constraints = spec.get("topologySpreadConstraints")
    if constraints and all(map(features.enabled, merges)):
        spec = {**spec, "topologySpreadConstraints": [with_label_keys(c, labels) for c in constraints]}
    return spec


def _of_side(side: Json, labels: Mapping[str, str]) -> Json:
    changed = dict(side)
    if side.get(_REQUIRED):
        changed[_REQUIRED] = [with_label_keys(term, labels) for term in side[_REQUIRED]]
    if side.get(_PREFERRED):
        changed[_PREFERRED] = [
            {**weighted, "podAffinityTerm": with_label_keys(weighted.get("podAffinityTerm") or {}, labels)}
            for weighted in side[_PREFERRED]
        ]
    return changed
