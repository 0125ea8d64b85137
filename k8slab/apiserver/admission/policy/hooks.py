"""Policies with their bindings, and which of them a request has to pass.

Upstream: apiserver/pkg/admission/plugin/policy/generic/{policy_source,policy_matcher}.go,
apiserver/pkg/admission/plugin/policy/matching/matching.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from k8slab.api.cel import Composition
from k8slab.api.labels import Selector, selector_from_dict
from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, GVR
from k8slab.apiserver.admission.attributes import Attributes, Lister
from k8slab.apiserver.admission.webhook.matching import Equivalents, selected
from k8slab.apiserver.admission.webhook.rules import rule_matches
from k8slab.apiserver.admission.webhook.subject import namespace_of_request, request_kind

__all__ = [
    "ConfigurationError",
    "Matched",
    "PolicyHook",
    "binding_matches",
    "definition_matches",
    "policies_with_bindings",
]


class ConfigurationError(Exception):
    """A policy or a binding cannot be applied as it is; the policy's failurePolicy decides what follows."""


@dataclass(frozen=True)
class PolicyHook:
    """A policy, and the bindings that name it."""

    policy: Object
    bindings: tuple[Object, ...]

    @property
    def name(self) -> str:
        return str(self.policy["metadata"]["name"])

    @property
    def spec(self) -> Object:
        return self.policy.get("spec") or {}

    @property
    def is_ignoring_failures(self) -> bool:
        return self.spec.get("failurePolicy") == "Ignore"

    @cached_property
    def composition(self) -> Composition:
        variables = self.spec.get("variables") or ()
        return Composition([(one.get("name") or "", one.get("expression") or "") for one in variables])


def policies_with_bindings(policies: Iterable[Object], bindings: Sequence[Object]) -> list[PolicyHook]:
    """By name, each with its bindings by name; policies that nothing binds are left out."""
    found = []
    for policy in sorted(policies, key=_name):
        mine = [one for one in bindings if (one.get("spec") or {}).get("policyName") == _name(policy)]
        if mine:
            found.append(PolicyHook(policy, tuple(sorted(mine, key=_name))))
    return found


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


class Matched(NamedTuple):
    """As what the policy sees the request."""

    resource: GVR
    kind: GVK


class _Criteria:
    """`matchConstraints` of a policy, or `matchResources` of a binding."""

    def __init__(self, resources: Object) -> None:
        self.resources = resources
        for field, name in (("namespaceSelector", "namespace"), ("objectSelector", "object")):
            if resources.get(field) is None:
                text = f"a nil {name} selector was passed, please ensure selectors are initialized properly"
                raise ConfigurationError(text)

    @property
    def namespace_selector(self) -> Selector:
        return selector_from_dict(self.resources["namespaceSelector"])

    @property
    def object_selector(self) -> Selector:
        return selector_from_dict(self.resources["objectSelector"])


async def definition_matches(
    hook: PolicyHook, attributes: Attributes, lister: Lister, equivalents: Equivalents
) -> Matched | None:
    """None when the policy is not about the request. Raises ConfigurationError when that cannot be told."""
    constraints = hook.spec.get("matchConstraints")
    if constraints is None:
        raise ConfigurationError("policy contained no match constraints, a required field")
    return await _matches(constraints, attributes, lister, equivalents)


async def binding_matches(
    binding: Object, attributes: Attributes, lister: Lister, equivalents: Equivalents
) -> Matched | None:
    """As `definition_matches`; a binding without matchResources is about all that its policy is about."""
    resources = (binding.get("spec") or {}).get("matchResources")
    if resources is None:
        return Matched(attributes.resource, request_kind(attributes))
    return await _matches(resources, attributes, lister, equivalents)


async def _matches(
    resources: Object, attributes: Attributes, lister: Lister, equivalents: Equivalents
) -> Matched | None:
    criteria = _Criteria(resources)
    is_selected, problem = await selected(criteria, attributes, lister)
    if not is_selected:
        return None
    others = equivalents if resources.get("matchPolicy") == "Equivalent" else _none
    if _by_rules(resources.get("excludeResourceRules") or (), attributes, others) is not None:
        return None
    rules = resources.get("resourceRules") or ()
    found = _by_rules(rules, attributes, others) if rules else Matched(attributes.resource, request_kind(attributes))
    if found is not None and problem is not None:
        raise ConfigurationError(problem.message)
    return found


def _none(_: GVR) -> Iterable[tuple[GVR, GVK]]:
    return ()


def _by_rules(rules: Iterable[Object], attributes: Attributes, equivalents: Equivalents) -> Matched | None:
    rules = list(rules)
    sent_as, resource = request_kind(attributes), attributes.resource
    others = [one for one in equivalents(resource) if one[0] != resource]
    matches = _matcher(attributes)
    for rule in rules:
        if matches(rule, resource):
            return Matched(resource, sent_as)
    for rule in rules:
        for other, kind in others:
            if matches(rule, other):
                return Matched(other, sent_as if attributes.subresource == "scale" else kind)
    return None


def _matcher(attributes: Attributes) -> Callable[[Object, GVR], bool]:
    operation, subresource = attributes.operation, attributes.subresource
    namespace, name = namespace_of_request(attributes), attributes.name

    def matches(rule: Object, resource: GVR) -> bool:
        names = rule.get("resourceNames") or ()
        return rule_matches(rule, operation, resource, subresource, namespace) and (not names or name in names)

    return matches
