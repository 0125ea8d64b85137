"""MutatingWebhookConfigurations and ValidatingWebhookConfigurations.

An update may keep what was allowed in the past: unknown review versions, side effects, names that come twice, invalid
values in selectors.

Upstream: pkg/apis/admissionregistration/validation/validation.go, apiserver/pkg/util/webhook/validation.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1035_label, is_dns1123_subdomain, is_valid_port_num
from k8slab.api.validation.admission_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    Expressions,
    supported,
    validate_fully_qualified_name,
    validate_match_conditions,
    validate_rule,
)
from k8slab.api.validation.field import duplicate, invalid, not_supported, required
from k8slab.api.validation.metadata import dns_subdomain, validate_metadata
from k8slab.api.validation.selectors import validate_label_selector

__all__ = [
    "validate_mutating_create",
    "validate_mutating_update",
    "validate_validating_create",
    "validate_validating_update",
]

_VERSIONS = ("v1", "v1beta1")
_ANY_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_FORM = "; desired format: https://host[/path]"
Object = Mapping[str, Any]


class _Options(NamedTuple):
    """What is asked of a new configuration; an update relaxes what the old one did not keep."""

    judges_conditions: bool = True
    no_side_effects: bool = True
    known_version: bool = True
    unique_names: bool = True
    invalid_selectors: bool = False
    expressions: Expressions = Expressions()


def validate_mutating_create(configuration: Object) -> list[Cause]:
    return _validate(configuration, _Options(), is_mutating=True)


def validate_validating_create(configuration: Object) -> list[Cause]:
    return _validate(configuration, _Options(), is_mutating=False)


def validate_mutating_update(new: Object, old: Object) -> list[Cause]:
    return _validate(new, _relaxed(new, old), is_mutating=True)


def validate_validating_update(new: Object, old: Object) -> list[Cause]:
    return _validate(new, _relaxed(new, old), is_mutating=False)


def _relaxed(new: Object, old: Object) -> _Options:
    before, after = old.get("webhooks") or (), new.get("webhooks") or ()
    conditions = [[one.get("matchConditions") or [] for one in hooks] for hooks in (before, after)]
    names = [one.get("name") for one in before]
    versions = [one.get("admissionReviewVersions") or () for one in before]
    known = [condition.get("expression") for hook in conditions[0] for condition in hook]
    return _Options(
        judges_conditions=conditions[0] != conditions[1],
        no_side_effects=all(one.get("sideEffects") in _NO_SIDE_EFFECTS for one in before),
        known_version=all(not given or any(one in _VERSIONS for one in given) for given in versions),
        unique_names=len(names) == len(set(names)),
        invalid_selectors=any(_validate_selectors("", one, allow_invalid_values=False) for one in before),
        expressions=Expressions(known=tuple(known)),
    )


def _validate(configuration: Object, options: _Options, *, is_mutating: bool) -> list[Cause]:
    errors = validate_metadata(configuration["metadata"], False, dns_subdomain)
    seen: list[str] = []
    for index, webhook in enumerate(configuration.get("webhooks") or ()):
        where, name = f"webhooks[{index}]", webhook.get("name") or ""
        errors += _validate_webhook(where, webhook, options, is_mutating=is_mutating)
        versions = webhook.get("admissionReviewVersions") or []
        errors += _validate_versions(f"{where}.admissionReviewVersions", versions, options.known_version)
        if options.unique_names and name:
            if name in seen:
                errors.append(duplicate(f"{where}.name", name))
            seen.append(name)
    return errors


def _validate_webhook(path: str, webhook: Object, options: _Options, *, is_mutating: bool) -> list[Cause]:
    errors = validate_fully_qualified_name(f"{path}.name", webhook.get("name") or "")
    for index, rule in enumerate(webhook.get("rules") or ()):
        errors += validate_rule(f"{path}.rules[{index}]", rule)
    errors += supported(f"{path}.failurePolicy", webhook.get("failurePolicy"), FAILURE_POLICIES)
    errors += supported(f"{path}.matchPolicy", webhook.get("matchPolicy"), MATCH_POLICIES)
    errors += _validate_side_effects(f"{path}.sideEffects", webhook.get("sideEffects"), options)
    timeout = webhook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= 30:
        errors.append(invalid(f"{path}.timeoutSeconds", timeout, "the timeout value must be between 1 and 30 seconds"))
    errors += _validate_selectors(path, webhook, allow_invalid_values=options.invalid_selectors)
    if is_mutating:
        errors += supported(f"{path}.reinvocationPolicy", webhook.get("reinvocationPolicy"), REINVOCATION_POLICIES)
    errors += _validate_client_config(f"{path}.clientConfig", webhook.get("clientConfig") or {})
    if options.judges_conditions:
        conditions = webhook.get("matchConditions") or ()
        errors += validate_match_conditions(f"{path}.matchConditions", conditions, options.expressions)
    return errors


def _validate_side_effects(path: str, value: str | None, options: _Options) -> list[Cause]:
    allowed = _NO_SIDE_EFFECTS if options.no_side_effects else _ANY_SIDE_EFFECTS
    if value is None:
        return [required(path, f"must specify one of {', '.join(allowed)}")]
    return [] if value in allowed else [not_supported(path, value, allowed)]


def _validate_selectors(path: str, webhook: Object, *, allow_invalid_values: bool) -> list[Cause]:
    return [
        cause
        for name in ("namespaceSelector", "objectSelector")
        for cause in validate_label_selector(
            f"{path}.{name}", webhook.get(name), allow_invalid_values=allow_invalid_values
        )
    ]


def _validate_versions(path: str, versions: list[str], known_version: bool) -> list[Cause]:
    names = ", ".join(_VERSIONS)
    if not versions:
        return [required(path, f"must specify one of {names}")]
    errors = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(invalid(f"{path}[{index}]", version, "duplicate version"))
            continue
        errors += [invalid(f"{path}[{index}]", version, error) for error in is_dns1035_label(version)]
    if known_version and not any(version in _VERSIONS for version in versions):
        errors.append(invalid(path, versions, f"must include at least one of {names}"))
    return errors


# -- where it is -------------------------------------------------------------------------------------


def _validate_client_config(path: str, config: Object) -> list[Cause]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        return _validate_url(f"{path}.url", url)
    return _validate_service(f"{path}.service", service or {})


def _validate_url(path: str, url: str) -> list[Cause]:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        return [required(path, f"url must be a valid URL: {error}{_FORM}")]
    errors = []
    if parts.scheme != "https":
        errors.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    user, _, host = parts.netloc.rpartition("@")
    if not host:
        errors.append(invalid(path, "", f"host must be specified{_FORM}"))
    if user:
        errors.append(invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def _validate_service(path: str, service: Object) -> list[Cause]:
    """Upstream hands over namespace and name in the wrong order, so that each error names the other field."""
    errors = [
        required(f"{path}.{field}")
        for field, value in (("name", service.get("namespace")), ("namespace", service.get("name")))
        if not value
    ]
    port = service.get("port") or 0
    if problems := is_valid_port_num(port):
        errors.append(invalid(f"{path}.port", port, f"port is not valid: {', '.join(problems)}"))
    return errors + _validate_path(f"{path}.path", service.get("path"))


def _validate_path(path: str, url_path: str | None) -> list[Cause]:
    if not url_path or url_path == "/":
        return []
    if url_path == "//":
        return [invalid(path, url_path, "segment[0] may not be empty")]
    errors = [] if url_path.startswith("/") else [invalid(path, url_path, "must start with a '/'")]
    for index, step in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not step:
            errors.append(invalid(path, url_path, f"segment[{index}] may not be empty"))
        else:
            problems = is_dns1123_subdomain(step)
            errors += [invalid(path, url_path, f"segment[{index}]: {problem}") for problem in problems]
    return errors
