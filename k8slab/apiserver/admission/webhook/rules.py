"""Whether a rule of a webhook or a policy is about a request.

>>> rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/*"], "scope": "*"}
>>> rule_matches(rule, "CREATE", GVR("", "v1", "pods"), "binding", "default")
True
>>> rule_matches(rule, "DELETE", GVR("", "v1", "pods"), "binding", "default")
False

Upstream: apiserver/pkg/admission/plugin/webhook/predicates/rules/rules.go
"""

from __future__ import annotations

from collections.abc import Iterable

from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, GVR, NAMESPACES

__all__ = ["is_exempt", "rule_matches"]

_GROUP = "admissionregistration.k8s.io"
_EXEMPT = (
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
)


def is_exempt(kind: GVK) -> bool:
    """What configures webhooks and policies passes neither: nobody can be locked out of repairing them."""
    return kind.group == _GROUP and kind.kind in _EXEMPT


def rule_matches(rule: Object, operation: str, resource: GVR, subresource: str, namespace: str) -> bool:
    """`namespace`: of the request; requests about a Namespace itself have its name there."""
    return (
        _scope(rule.get("scope"), resource, namespace)
        and _named(rule.get("operations") or (), operation)
        and _named(rule.get("apiGroups") or (), resource.group)
        and _named(rule.get("apiVersions") or (), resource.version)
        and any(_resource(name, resource.resource, subresource) for name in rule.get("resources") or ())
    )


def _scope(scope: str | None, resource: GVR, namespace: str) -> bool:
    if scope is None or scope == "*":
        return True
    is_cluster_wide = resource == NAMESPACES or not namespace
    return is_cluster_wide if scope == "Cluster" else scope == "Namespaced" and not is_cluster_wide


def _named(names: Iterable[str], asked: str) -> bool:
    return any(name in ("*", asked) for name in names)


def _resource(name: str, resource: str, subresource: str) -> bool:
    """`pods`, `pods/status`, `pods/*`, `*/scale`, `*/*`; `*` stands for every resource without its subresources."""
    main, _, part = name.partition("/")
    return main in ("*", resource) and part in ("*", subresource)
