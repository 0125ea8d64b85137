"""Parameters of a policy: the objects that a binding names, of the kind that the policy asks for.

Upstream: apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go (CollectParams)
"""

from __future__ import annotations

from k8slab.api.labels import selector_from_dict
from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, ResourceInfo, parse_group_version
from k8slab.apiserver.admission.attributes import Attributes, Lister
from k8slab.apiserver.admission.policy.hooks import ConfigurationError, PolicyHook
from k8slab.apiserver.admission.webhook.outside import Outside
from k8slab.apiserver.admission.webhook.subject import namespace_of_request

__all__ = ["collect_params", "param_resource"]

_CLUSTER = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
_MISSING = "no params found for policy binding with `Deny` parameterNotFoundAction"


def param_resource(hook: PolicyHook, outside: Outside) -> ResourceInfo | None:
    """Where the policy's parameters are served; None for a policy without any. Raises ConfigurationError."""
    wanted = hook.spec.get("paramKind")
    if wanted is None:
        return None
    group, version = parse_group_version(wanted.get("apiVersion") or "")
    kind = GVK(group, version, wanted.get("kind") or "")
    found = outside.resource_of(kind)
    if found is None:
        shown = f"{group}/{version}, Kind={kind.kind}"
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{shown}'")
    return found


async def collect_params(
    info: ResourceInfo | None, binding: Object, attributes: Attributes, lister: Lister
) -> list[Object | None]:
    """The policy is evaluated once with each. [None]: once, without parameters; []: not at all.

    Raises ConfigurationError.
    """
    reference = (binding.get("spec") or {}).get("paramRef")
    if info is None or reference is None:
        return [None]
    namespace = _namespace(info, reference, attributes)
    resource = info.gvr.group_resource
    found: list[Object | None] = []
    if name := reference.get("name"):
        one = lister.cached(resource, namespace, name)
        one = await lister.live(resource, namespace, name) if one is None else one
        found = [] if one is None else [one]
    elif reference.get("selector") is not None:
        try:
            selector = selector_from_dict(reference["selector"])
        except ValueError as error:
            raise ConfigurationError(str(error)) from None
        for one in lister.cached_all(resource):
            metadata = one["metadata"]
            if (not namespace or metadata.get("namespace") == namespace) and selector.matches(metadata.get("labels")):
                found.append(one)
    else:
        raise ConfigurationError("one of name or selector must be provided")
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError(_MISSING)
    return found


def _namespace(info: ResourceInfo, reference: Object, attributes: Attributes) -> str:
    given = reference.get("namespace") or ""
    if not info.namespaced:
        if given:
            raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    namespace = given or namespace_of_request(attributes)
    if not namespace:
        raise ConfigurationError(_CLUSTER)
    return namespace
