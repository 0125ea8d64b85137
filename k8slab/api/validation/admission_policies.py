"""ValidatingAdmissionPolicies, MutatingAdmissionPolicies and their bindings.

Upstream: pkg/apis/admissionregistration/validation/validation.go
Simplified: `status` is checked as it is typed; a policy's stored expressions are not judged again in an update.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.cel import ANY, undefined
from k8slab.api.errors import Cause
from k8slab.api.names import is_dns1035_label, is_dns1123_subdomain, is_path_segment_name, is_qualified_name
from k8slab.api.scheme import parse_group_version
from k8slab.api.validation.admission_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    Expressions,
    validate_match_conditions,
    validate_rule,
)
from k8slab.api.validation.field import (
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    one_of,
    required,
)
from k8slab.api.validation.metadata import dns_subdomain, validate_metadata, validate_metadata_update
from k8slab.api.validation.selectors import validate_label_selector

__all__ = [
    "validate_mutating_binding_create",
    "validate_mutating_policy_create",
    "validate_mutating_policy_update",
    "validate_validating_binding_create",
    "validate_validating_policy_create",
    "validate_validating_policy_update",
]

_ACTIONS = ("Audit", "Deny", "Warn")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")
_PATCHES = {"ApplyConfiguration": ("applyConfiguration", "object"), "JSONPatch": ("jsonPatch", "list")}
_MOST_ANNOTATIONS = 20
_LONGEST_ANNOTATION = 5 * 1024
_RESERVED = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
Object = Mapping[str, Any]


def validate_validating_policy_create(policy: Object) -> list[Cause]:
    return _validate_validating(policy, Expressions())


def validate_validating_policy_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    return errors + _validate_validating(new, Expressions(known=tuple(_expressions(old.get("spec") or {}))))


def validate_mutating_policy_create(policy: Object) -> list[Cause]:
    return _validate_mutating(policy, Expressions())


def validate_mutating_policy_update(new: Object, old: Object) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    return errors + _validate_mutating(new, Expressions(known=tuple(_expressions(old.get("spec") or {}))))


def _expressions(spec: Object) -> list[str]:
    """All expressions of a policy."""
    parts = [*(spec.get("matchConditions") or ()), *(spec.get("variables") or ()), *(spec.get("validations") or ())]
    for mutation in spec.get("mutations") or ():
        parts += [mutation[field] for field, _ in _PATCHES.values() if mutation.get(field)]
    found = [part.get(name) for part in parts for name in ("expression", "messageExpression")]
    found += [one.get("valueExpression") for one in spec.get("auditAnnotations") or ()]
    return [text for text in found if text]


# -- policies ----------------------------------------------------------------------------------------


def _validate_validating(policy: Object, expressions: Expressions) -> list[Cause]:
    spec, metadata = policy.get("spec") or {}, policy["metadata"]
    errors, expressions = _validate_common(policy, spec, expressions, operations=None)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        detail = "validations or auditAnnotations must contain at least one item"
        return [*errors, required("spec.validations", detail), required("spec.auditAnnotations", detail)]
    names = [one.get("name") for one in spec.get("variables") or ()]
    for index, validation in enumerate(validations):
        errors += _validate_validation(f"spec.validations[{index}]", validation, expressions, names)
    if len(annotations) > _MOST_ANNOTATIONS:
        detail = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        errors.append(invalid("spec.auditAnnotations", list(annotations), detail))
    seen: list[str] = []
    for index, annotation in enumerate(annotations):
        where, key = f"spec.auditAnnotations[{index}]", annotation.get("key") or ""
        errors += _validate_annotation(where, metadata.get("name") or "", annotation, expressions, names)
        if key in seen:
            errors.append(duplicate(f"{where}.key", key))
        seen.append(key)
    return errors


def _validate_mutating(policy: Object, expressions: Expressions) -> list[Cause]:
    spec = policy.get("spec") or {}
    errors, expressions = _validate_common(policy, spec, expressions, operations=_MUTABLE)
    names = [one.get("name") for one in spec.get("variables") or ()]
    mutations = spec.get("mutations") or ()
    if not mutations:
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for index, mutation in enumerate(mutations):
        errors += _validate_mutation(f"spec.mutations[{index}]", mutation, expressions, names)
    return errors + one_of("spec.reinvocationPolicy", spec.get("reinvocationPolicy") or "", REINVOCATION_POLICIES)


def _validate_common(
    policy: Object, spec: Object, expressions: Expressions, *, operations: Sequence[str] | None
) -> tuple[list[Cause], Expressions]:
    """What both kinds have; and the expressions with the variables they may name."""
    errors = validate_metadata(policy["metadata"], False, dns_subdomain)
    failure = spec.get("failurePolicy")
    errors += (
        [required("spec.failurePolicy")] if failure is None else one_of("spec.failurePolicy", failure, FAILURE_POLICIES)
    )
    kind = spec.get("paramKind")
    if kind is not None:
        errors += _validate_param_kind("spec.paramKind", kind)
        expressions = expressions._replace(variables=(*expressions.variables, "params"))
    expressions = expressions._replace(variables=tuple(sorted((*expressions.variables, "variables"))))
    constraints = spec.get("matchConstraints")
    if constraints is None:
        errors.append(required("spec.matchConstraints"))
    else:
        errors += _validate_match_resources("spec.matchConstraints", constraints)
        if not constraints.get("resourceRules"):
            errors.append(required("spec.matchConstraints.resourceRules"))
        errors += _validate_operations("spec.matchConstraints", constraints, operations)
    conditions = spec.get("matchConditions") or ()
    errors += validate_match_conditions("spec.matchConditions", conditions, expressions)
    known: list[str] = []
    for index, variable in enumerate(spec.get("variables") or ()):
        errors += _validate_variable(f"spec.variables[{index}]", variable, expressions, known)
        known.append(variable.get("name") or "")
    return errors, expressions


def _validate_operations(path: str, resources: Object, allowed: Sequence[str] | None) -> list[Cause]:
    """A mutating policy has nothing to change in a deletion."""
    if allowed is None:
        return []
    given = [one for rule in resources.get("resourceRules") or () for one in rule.get("operations") or ()]
    return [not_supported(f"{path}.resourceRules.operations", one, allowed) for one in given if one not in allowed]


def _validate_param_kind(path: str, kind: Object) -> list[Cause]:
    api_version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    errors = []
    if not api_version:
        errors.append(required(f"{path}.apiVersion"))
    else:
        try:
            group, version = parse_group_version(api_version)
        except ValueError as error:
            errors.append(invalid(f"{path}.apiVersion", api_version, str(error)))
        else:
            errors += _parts(f"{path}.apiVersion", group, is_dns1123_subdomain(group) if group else [])
            if version:
                errors += _parts(f"{path}.apiVersion", version, is_dns1035_label(version))
            else:
                errors.append(invalid(f"{path}.apiVersion", api_version, "version must be specified"))
    if not name:
        errors.append(required(f"{path}.kind"))
    elif problems := is_dns1035_label(name.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        errors.append(invalid(f"{path}.kind", name, detail))
    return errors


def _parts(path: str, value: str, problems: list[str]) -> list[Cause]:
    return [invalid(path, value, ",".join(problems))] if problems else []


def _validate_match_resources(path: str, resources: Object) -> list[Cause]:
    policy = resources.get("matchPolicy")
    errors = (
        [required(f"{path}.matchPolicy")] if policy is None else one_of(f"{path}.matchPolicy", policy, MATCH_POLICIES)
    )
    for field in ("namespaceSelector", "objectSelector"):
        selector = resources.get(field)
        if selector is None:
            errors.append(required(f"{path}.{field}"))
        else:
            errors += validate_label_selector(f"{path}.{field}", selector)
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(resources.get(field) or ()):
            errors += _validate_named_rule(f"{path}.{field}[{index}]", rule)
    return errors


def _validate_named_rule(path: str, rule: Object) -> list[Cause]:
    errors: list[Cause] = []
    names = rule.get("resourceNames") or ()
    for index, name in enumerate(names):
        where = f"{path}.resourceNames[{index}]"
        errors += each(where, name, is_path_segment_name(name))
        if name in names[:index]:
            errors.append(duplicate(where, name))
    return errors + validate_rule(path, rule)


# -- expressions -------------------------------------------------------------------------------------


def _judge(
    path: str, expression: str, expressions: Expressions, names: Sequence[str], returns: tuple[str, ...]
) -> list[Cause]:
    wrong = undefined(expression, names)
    return [invalid(path, expression, wrong)] if wrong else expressions.validate(path, expression, returns)


def _validate_variable(path: str, variable: Object, expressions: Expressions, known: Sequence[str]) -> list[Cause]:
    name, expression = (variable.get("name") or "").strip(), variable.get("expression") or ""
    errors = []
    if not name:
        errors.append(required(f"{path}.name", "name is not specified"))
    elif not variable["name"].isidentifier() or not name.isascii() or name in _RESERVED:
        errors.append(invalid(f"{path}.name", variable["name"], "name is not a valid CEL identifier"))
    if not expression.strip():
        return [*errors, required(f"{path}.expression", "expression is not specified")]
    return errors + _judge(f"{path}.expression", expression, expressions, known, ANY)


def _validate_validation(path: str, validation: Object, expressions: Expressions, names: Sequence[str]) -> list[Cause]:
    expression, message = validation.get("expression") or "", validation.get("message") or ""
    spoken = validation.get("messageExpression") or ""
    if expression.strip():
        errors = _judge(f"{path}.expression", expression, expressions, names, ("bool",))
    else:
        errors = [required(f"{path}.expression", "expression is not specified")]
    if spoken and not spoken.strip():
        errors.append(invalid(f"{path}.messageExpression", spoken, "must be non-empty if specified"))
    elif spoken:
        errors += _judge(f"{path}.messageExpression", spoken, expressions, names, ("string",))
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "message must be non-empty if specified"))
    elif any(character in message.strip() for character in "\n\r"):
        errors.append(invalid(f"{path}.message", message, "message must not contain line breaks"))
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    return errors


def _validate_annotation(
    path: str, policy: str, annotation: Object, expressions: Expressions, names: Sequence[str]
) -> list[Cause]:
    key, expression = annotation.get("key") or "", (annotation.get("valueExpression") or "").strip()
    if policy:
        full = f"{policy}/{key}"
        errors = each(f"{path}.key", full, is_qualified_name(full))
    else:
        errors = [invalid(f"{path}.key", key, "requires metadata.name be non-empty")]
    where = f"{path}.valueExpression"
    if not expression:
        return [*errors, required(where, "valueExpression is not specified")]
    if len(expression.encode()) > _LONGEST_ANNOTATION:
        return [*errors, required(where, f"must not exceed {_LONGEST_ANNOTATION} bytes in length")]
    return errors + _judge(where, expression, expressions, names, ("string", "null_type"))


def _validate_mutation(path: str, mutation: Object, expressions: Expressions, names: Sequence[str]) -> list[Cause]:
    kind = mutation.get("patchType") or ""
    if not kind:
        return [required(f"{path}.patchType")]
    if kind not in _PATCHES:
        return [not_supported(f"{path}.patchType", kind, tuple(_PATCHES))]
    errors = [
        invalid(f"{path}.{other}", f"{{{other}}}", f"must not be specified when patchType is {kind}")
        for name, (other, _) in _PATCHES.items()
        if name != kind and mutation.get(other) is not None
    ]
    field, returns = _PATCHES[kind]
    patch = mutation.get(field)
    if patch is None:
        return [*errors, required(f"{path}.{field}", f"must be specified when patchType is {kind}")]
    expression = patch.get("expression") or ""
    if not expression.strip():
        return [*errors, required(f"{path}.{field}.expression", "expression is not specified")]
    return errors + _judge(f"{path}.{field}.expression", expression, expressions, names, (returns,))


# -- bindings ----------------------------------------------------------------------------------------


def validate_validating_binding_create(binding: Object) -> list[Cause]:
    return _validate_binding(binding) + _validate_actions(
        "spec.validationActions", (binding.get("spec") or {}).get("validationActions") or []
    )


def validate_mutating_binding_create(binding: Object) -> list[Cause]:
    resources = (binding.get("spec") or {}).get("matchResources") or {}
    return _validate_binding(binding) + _validate_operations("spec.matchResources", resources, _MUTABLE)


def _validate_binding(binding: Object) -> list[Cause]:
    spec = binding.get("spec") or {}
    errors = validate_metadata(binding["metadata"], False, dns_subdomain)
    name = spec.get("policyName") or ""
    errors += each("spec.policyName", name, is_dns1123_subdomain(name)) if name else [required("spec.policyName")]
    if spec.get("paramRef") is not None:
        errors += _validate_param_ref("spec.paramRef", spec["paramRef"])
    if spec.get("matchResources") is not None:
        errors += _validate_match_resources("spec.matchResources", spec["matchResources"])
    return errors


def _validate_param_ref(path: str, reference: Object) -> list[Cause]:
    name, selector = reference.get("name") or "", reference.get("selector")
    both = "name and selector are mutually exclusive"
    errors: list[Cause] = []
    if name:
        errors += each(f"{path}.name", name, is_path_segment_name(name))
        errors += [forbidden(f"{path}.name", both)] if selector is not None else []
    if selector is not None:
        errors += validate_label_selector(f"{path}.selector", selector)
        errors += [forbidden(f"{path}.selector", both)] if name else []
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    action = reference.get("parameterNotFoundAction") or ""
    return errors + one_of(f"{path}.parameterNotFoundAction", action, ("Deny", "Allow"))


def _validate_actions(path: str, actions: list[str]) -> list[Cause]:
    errors = []
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(f"{path}[{index}]", action, _ACTIONS))
        if action in actions[:index]:
            errors.append(duplicate(f"{path}[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        detail = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        errors.append(invalid(path, actions, detail))
    if not actions:
        errors.append(required(path, "at least one validation action is required"))
    return errors
