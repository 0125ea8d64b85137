"""Defaults of role bindings, priority classes, webhook configurations, admission policies and APIServices.

Upstream: pkg/apis/{rbac,scheduling,admissionregistration}/v1/defaults.go, kube-aggregator/pkg/apis/apiregistration/v1
"""

from __future__ import annotations

from typing import Any

from k8slab.api.priority_classes import PREEMPT_LOWER_PRIORITY

__all__ = [
    "set_admission_binding_defaults",
    "set_admission_policy_defaults",
    "set_api_service_defaults",
    "set_mutating_webhook_defaults",
    "set_priority_class_defaults",
    "set_role_binding_defaults",
    "set_validating_webhook_defaults",
]

_RBAC_GROUP = "rbac.authorization.k8s.io"


def set_role_binding_defaults(binding: dict[str, Any]) -> None:
    reference = binding["roleRef"]
    reference["apiGroup"] = reference.get("apiGroup") or _RBAC_GROUP
    for subject in binding.get("subjects", ()):
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _RBAC_GROUP)


def set_api_service_defaults(registered: dict[str, Any]) -> None:
    service = (registered.get("spec") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def set_priority_class_defaults(priority_class: dict[str, Any]) -> None:
    priority_class.setdefault("preemptionPolicy", PREEMPT_LOWER_PRIORITY)


def set_validating_webhook_defaults(configuration: dict[str, Any]) -> None:
    for webhook in configuration.get("webhooks", ()):
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("matchPolicy", "Equivalent")
        webhook.setdefault("namespaceSelector", {})
        webhook.setdefault("objectSelector", {})
        webhook.setdefault("timeoutSeconds", 10)
        for rule in webhook.get("rules", ()):
            rule.setdefault("scope", "*")
        service = webhook["clientConfig"].get("service")
        if service:
            service.setdefault("port", 443)


def set_mutating_webhook_defaults(configuration: dict[str, Any]) -> None:
    set_validating_webhook_defaults(configuration)
    for webhook in configuration.get("webhooks", ()):
        webhook.setdefault("reinvocationPolicy", "Never")


def set_admission_policy_defaults(policy: dict[str, Any]) -> None:
    """Of both kinds; a mutating policy must name its reinvocationPolicy itself."""
    spec = policy.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    _set_match_resources_defaults(spec.get("matchConstraints"))


def set_admission_binding_defaults(binding: dict[str, Any]) -> None:
    _set_match_resources_defaults((binding.get("spec") or {}).get("matchResources"))


def _set_match_resources_defaults(resources: dict[str, Any] | None) -> None:
    if resources is None:
        return
    resources.setdefault("matchPolicy", "Equivalent")
    resources.setdefault("namespaceSelector", {})
    resources.setdefault("objectSelector", {})
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in resources.get(name) or ():
            rule.setdefault("scope", "*")
