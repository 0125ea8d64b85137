"""Whether a webhook is to be called for a request, and as which version of the object.

Upstream: apiserver/pkg/admission/plugin/webhook/generic/webhook.go (ShouldCallHook),
apiserver/pkg/admission/plugin/webhook/predicates/{namespace,object}/matcher.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from k8slab.api.cel import Composition
from k8slab.api.errors import ForbiddenError, NotFoundError, StatusError
from k8slab.api.labels import Selector
from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, GVR
from k8slab.apiserver.admission.attributes import Attributes, Lister
from k8slab.apiserver.admission.webhook.accessors import Hook
from k8slab.apiserver.admission.webhook.match_conditions import match, variables_of
from k8slab.apiserver.admission.webhook.rules import rule_matches
from k8slab.apiserver.admission.webhook.subject import (
    internal_error,
    namespace_of_request,
    request_kind,
)

__all__ = ["Equivalents", "Invocation", "Selecting", "selected", "should_call"]

Equivalents = Callable[[GVR], Iterable[tuple[GVR, GVK]]]


class Invocation(NamedTuple):
    """A webhook that is to be called. `resource`, `kind`: as the webhook wants to see the request."""

    hook: Hook
    resource: GVR
    kind: GVK


class Selecting(Protocol):
    """What has a namespace selector and an object selector; reading either may raise ValueError."""

    @property
    def namespace_selector(self) -> Selector: ...

    @property
    def object_selector(self) -> Selector: ...


async def should_call(
    hook: Hook, attributes: Attributes, lister: Lister, equivalents: Equivalents
) -> Invocation | None:
    """None when the webhook does not want this request. Raises StatusErrors when that cannot be told."""
    is_selected, problem = await selected(hook, attributes, lister)
    if not is_selected:
        return None
    invocation = _by_rules(hook, attributes, equivalents)
    if invocation is None:
        return None
    if problem is not None:
        raise problem
    if hook.match_conditions:
        scope = Composition().scope(variables_of(attributes, invocation.resource, invocation.kind))
        found = match(hook.match_conditions, scope, ignores_failures=hook.is_ignoring_failures)
        if found.error:
            gvr = attributes.resource
            raise ForbiddenError.of(gvr.resource, attributes.name, found.error, gvr.group)
        if not found.matches:
            return None
    return invocation


async def selected(by: Selecting, attributes: Attributes, lister: Lister) -> tuple[bool, StatusError | None]:
    """(whether both selectors admit the request, what could not be told); the object's applies to the old object too.

    A selector that says no ends the matter whatever became of the other; a problem counts only if the rules are about
    the request.
    """
    problems: list[StatusError] = []
    try:
        if not await _namespace_selected(by, attributes, lister):
            return False, None
    except StatusError as error:
        problems.append(error)
    try:
        if not _object_selected(by, attributes):
            return False, None
    except StatusError as error:
        problems.append(error)
    return True, problems[0] if problems else None


async def _namespace_selected(by: Selecting, attributes: Attributes, lister: Lister) -> bool:
    is_namespace = attributes.resource.resource == "namespaces"
    if not attributes.namespace and not is_namespace:
        return True  # what lives in no namespace cannot be exempted
    try:
        selector = by.namespace_selector
    except ValueError as error:
        raise internal_error(error) from None
    if selector.empty:
        return True
    return selector.matches(await _namespace_labels(attributes, lister, is_namespace))


async def _namespace_labels(attributes: Attributes, lister: Lister, is_namespace: bool) -> Mapping[str, str]:
    if is_namespace and not attributes.subresource and attributes.operation in ("CREATE", "UPDATE"):
        return _labels(attributes.object)
    name = namespace_of_request(attributes)
    namespace = lister.cached("namespaces", "", name)
    if namespace is None and name:
        namespace = await lister.live("namespaces", "", name)
    if namespace is None:
        raise NotFoundError.of("namespaces", name)
    return _labels(namespace)


def _object_selected(by: Selecting, attributes: Attributes) -> bool:
    try:
        selector = by.object_selector
    except ValueError as error:
        raise internal_error(error) from None
    if selector.empty:
        return True
    return any(one is not None and selector.matches(_labels(one)) for one in (attributes.object, attributes.old))


def _labels(obj: Object | None) -> Mapping[str, str]:
    return ((obj or {}).get("metadata") or {}).get("labels") or {}


def _by_rules(hook: Hook, attributes: Attributes, equivalents: Equivalents) -> Invocation | None:
    about = attributes.operation, attributes.subresource, namespace_of_request(attributes)
    resource = attributes.resource
    if any(_matches(rule, resource, about) for rule in hook.rules):
        return Invocation(hook, resource, request_kind(attributes))
    if hook.webhook.get("matchPolicy") != "Equivalent":
        return None
    others = [(gvr, kind) for gvr, kind in equivalents(resource) if gvr != resource]
    for rule in hook.rules:
        for gvr, kind in others:
            if _matches(rule, gvr, about):
                return Invocation(hook, gvr, request_kind(attributes) if attributes.subresource == "scale" else kind)
    return None


def _matches(rule: Object, resource: GVR, about: tuple[str, str, str]) -> bool:
    operation, subresource, namespace = about
    return rule_matches(rule, operation, resource, subresource, namespace)
