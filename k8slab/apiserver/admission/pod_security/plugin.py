"""The admission plugin: a namespace's policy applied to Pods, to templates, and to the namespace's own labels.

Upstream: pod-security-admission/admission/admission.go, plugin/pkg/admission/security/podsecurity/admission.go
Simplified: no metrics; Pods that exist are checked without the time limit of a second (but at most 3,000 of them).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from k8slab.api.errors import Cause, InvalidError
from k8slab.api.objects import Object
from k8slab.apiserver.admission.attributes import Attributes, Lister, forbidden, internal
from k8slab.apiserver.admission.pod_security.evaluator import Evaluator
from k8slab.apiserver.admission.pod_security.levels import (
    LEVELS,
    PREFIX,
    PRIVILEGED,
    UNRESTRICTED,
    LevelVersion,
    Policy,
    policy_of,
)

__all__ = ["Exemptions", "PodSecurity"]

MAX_PODS = 3_000
_TEMPLATES = {
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec", "template"),
    "replicasets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
_IGNORED = ("exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status")


class Exemptions(NamedTuple):
    """Who is not looked at (the plugin's configuration file)."""

    usernames: Sequence[str] = ()
    namespaces: Sequence[str] = ()
    runtime_classes: Sequence[str] = ()


_NOBODY = Exemptions()


class PodSecurity:
    """`defaults`: the policy of namespaces without labels."""

    name = "PodSecurity"

    def __init__(self, defaults: Policy = UNRESTRICTED, exemptions: Exemptions = _NOBODY) -> None:
        self._defaults = defaults
        self._exempt = exemptions
        self._evaluators: dict[str, Evaluator] = {}

    async def validate(self, attributes: Attributes, lister: Lister) -> None:
        """403 for Pods that violate what is enforced, 422 for labels of a namespace that name no level."""
        if attributes.operation not in ("CREATE", "UPDATE") or attributes.object is None:
            return
        resource = attributes.resource.group_resource
        if resource == "namespaces":
            if not attributes.subresource:
                self._validate_namespace(attributes, attributes.object, lister)
        elif resource == "pods":
            await self._validate_pod(attributes, attributes.object, lister)
        elif resource in _TEMPLATES and not attributes.subresource:
            await self._validate_template(attributes, attributes.object, lister)

    def evaluator(self, release: str) -> Evaluator:
        """The checks as a release knows them."""
        return self._evaluators.setdefault(release, Evaluator(release))

    # -- Pods and templates ------------------------------------------------------------------------

    async def _validate_pod(self, attributes: Attributes, pod: Object, lister: Lister) -> None:
        if attributes.subresource in _IGNORED or self._is_exempt(attributes):
            return
        namespace = await _namespace(attributes.namespace, lister)
        if namespace is None:
            raise internal(f'failed to lookup namespace "{attributes.namespace}"')
        policy, causes = policy_of(_labels(namespace), self._defaults)
        if not causes and policy.is_fully_privileged:
            attributes.annotate(f"{PREFIX}enforce-policy", str(LevelVersion(PRIVILEGED)))
            return
        if attributes.operation == "UPDATE" and attributes.old is not None and not _matters(pod, attributes.old):
            return
        self._evaluate(attributes, pod, policy, causes, enforce=True)

    async def _validate_template(self, attributes: Attributes, obj: Object, lister: Lister) -> None:
        """Workloads are warned about and audited; their Pods are refused later."""
        if self._is_exempt(attributes):
            return
        namespace = await _namespace(attributes.namespace, lister)
        if namespace is None:
            attributes.annotate(f"{PREFIX}error", f'failed to lookup namespace "{attributes.namespace}"')
            return
        policy, causes = policy_of(_labels(namespace), self._defaults)
        if not causes and policy.warn.level == policy.audit.level == PRIVILEGED:
            return
        template: Any = obj
        for field in _TEMPLATES[attributes.resource.group_resource]:
            template = (template or {}).get(field)
        if template is not None:
            self._evaluate(attributes, template, policy, causes, enforce=False)

    def _evaluate(
        self, attributes: Attributes, pod: Object, policy: Policy, causes: list[Cause], *, enforce: bool
    ) -> None:
        runtime_class = (pod.get("spec") or {}).get("runtimeClassName")
        if runtime_class and runtime_class in self._exempt.runtime_classes:
            attributes.annotate(f"{PREFIX}exempt", "runtimeClass")
            return
        evaluator = self.evaluator(attributes.context.env.features.release)
        if causes:
            shown = ", ".join(f"{cause.field}: {cause.message}" for cause in causes)
            shown = f"[{shown}]" if len(causes) > 1 else shown
            attributes.annotate(f"{PREFIX}error", f"Failed to parse policy: {shown}")
        refusal = None
        if enforce:
            attributes.annotate(f"{PREFIX}enforce-policy", str(policy.enforce))
            verdict = evaluator.evaluate(policy.enforce, pod)
            if not verdict.allowed:
                refusal = forbidden(attributes, f'violates PodSecurity "{policy.enforce}": {verdict}')
        verdict = evaluator.evaluate(policy.audit, pod)
        if not verdict.allowed:
            attributes.annotate(f"{PREFIX}audit-violations", f'would violate PodSecurity "{policy.audit}": {verdict}')
        if refusal is not None:
            raise refusal
        verdict = evaluator.evaluate(policy.warn, pod)
        if not verdict.allowed:
            attributes.warn(f'would violate PodSecurity "{policy.warn}": {verdict}')

    def _is_exempt(self, attributes: Attributes) -> bool:
        if attributes.namespace and attributes.namespace in self._exempt.namespaces:
            attributes.annotate(f"{PREFIX}exempt", "namespace")
            return True
        if attributes.user and attributes.user in self._exempt.usernames:
            attributes.annotate(f"{PREFIX}exempt", "user")
            return True
        return False

    # -- namespaces --------------------------------------------------------------------------------

    def _validate_namespace(self, attributes: Attributes, namespace: Object, lister: Lister) -> None:
        """Labels have to be right when they are new. A stricter level warns of the Pods that are there."""
        policy, causes = policy_of(_labels(namespace), self._defaults)
        old, old_causes = policy_of(_labels(attributes.old or {}), self._defaults)
        if causes and (attributes.operation == "CREATE" or causes != old_causes):
            raise InvalidError.of("Namespace", attributes.name, causes)
        if attributes.operation == "CREATE":
            self._warn_exempt(attributes, namespace, policy)
            return
        if policy.enforce == old.enforce or policy.enforce.level == PRIVILEGED:
            return
        is_stricter = LEVELS.index(policy.enforce.level) > LEVELS.index(old.enforce.level)
        if policy.enforce.version == old.enforce.version and not is_stricter:
            return
        if self._warn_exempt(attributes, namespace, policy):
            return
        release = attributes.context.env.features.release
        for text in self._existing(attributes.name, policy.enforce, release, lister):
            attributes.warn(text)

    def _warn_exempt(self, attributes: Attributes, namespace: Object, policy: Policy) -> bool:
        """Whether the namespace is exempt; a warning when it has labels for nothing."""
        name = attributes.name
        if name not in self._exempt.namespaces:
            return False
        if not policy.is_fully_privileged and not policy.is_equivalent(self._defaults):
            labels = _labels(namespace)
            shown = [
                f"{mode}={one}"
                for mode, one in zip(Policy._fields, policy, strict=True)
                if one.level != PRIVILEGED and (f"{PREFIX}{mode}" in labels or f"{PREFIX}{mode}-version" in labels)
            ]
            attributes.warn(
                f'namespace "{name}" is exempt from Pod Security, and the policy ({", ".join(shown)}) will be ignored'
            )
        return True

    def _existing(self, namespace: str, enforce: LevelVersion, release: str, lister: Lister) -> list[str]:
        """Warnings about the Pods in a namespace, equal ones together."""
        pods = self._in_order([p for p in lister.cached_all("pods") if p["metadata"].get("namespace") == namespace])
        found: dict[str, list[str]] = {}
        for pod in pods[:MAX_PODS]:
            verdict = self.evaluator(release).evaluate(enforce, pod)
            if not verdict.allowed:
                found.setdefault(verdict.reason, []).append(pod["metadata"]["name"])
        warnings: list[str] = []
        if len(pods) > MAX_PODS:
            warnings.append(
                f"new PodSecurity enforce level only checked against the first {MAX_PODS} of {len(pods)} existing pods"
            )
        if found:
            warnings.append(
                f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{enforce}"'
            )
        return warnings + sorted(f"{_named(names)}: {reason}" for reason, names in found.items())

    def _in_order(self, pods: list[Any]) -> list[Any]:
        """One Pod of each controller first; without those of exempt runtime classes."""
        first: list[Any] = []
        more: list[Any] = []
        seen: set[str] = set()
        for pod in pods:
            runtime_class = pod["spec"].get("runtimeClassName")
            if runtime_class and runtime_class in self._exempt.runtime_classes:
                continue
            owners = pod["metadata"].get("ownerReferences") or ()
            uid = next((owner.get("uid", "") for owner in owners if owner.get("controller")), None)
            (more if uid in seen else first).append(pod)
            if uid is not None:
                seen.add(uid)
        return first + more


def _named(names: list[str]) -> str:
    """The first Pod by name, and how many more."""
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'})"


def _labels(obj: Object) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


async def _namespace(name: str, lister: Lister) -> Object | None:
    return lister.cached("namespaces", "", name) or await lister.live("namespaces", "", name)


def _matters(pod: Object, old: Object) -> bool:
    """Whether an update changes what the checks look at: only images can, and new containers."""
    spec, before = pod.get("spec") or {}, old.get("spec") or {}
    for field in ("containers", "initContainers"):
        new_ones, old_ones = spec.get(field) or (), before.get(field) or ()
        if len(new_ones) != len(old_ones):
            return True
        if any(a.get("image") != b.get("image") for a, b in zip(new_ones, old_ones, strict=True)):
            return True
    known = {one["name"]: one for one in before.get("ephemeralContainers") or ()}
    return any(
        one["name"] not in known or one.get("image") != known[one["name"]].get("image")
        for one in spec.get("ephemeralContainers") or ()
    )
