"""Admission policies and their bindings: what is refused."""

from __future__ import annotations

import builtins
from copy import deepcopy
from typing import Any

import pytest

from k8slab.api.cel import compile_expression, program
from k8slab.api.defaults import apply_defaults
from k8slab.api.validation import validate_create, validate_update

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
MATCH = {"resourceRules": [RULE]}
VALID = {"matchConstraints": MATCH, "validations": [{"expression": "true"}]}
APPLY = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
MUTATE = {"matchConstraints": MATCH, "mutations": [APPLY], "reinvocationPolicy": "Never"}
V, M = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"
VB, MB = f"{V}Binding", f"{M}Binding"


def made(kind: str, spec: Any) -> Any:
    body = {"metadata": {"name": "p"}, "spec": spec}
    return apply_defaults({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, **deepcopy(body)})


def problems(kind: str, spec: Any) -> list[str]:
    return [f"{cause.field}: {cause.message}".partition("\n")[0] for cause in validate_create(made(kind, spec))]


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        (V, VALID, []),
        (M, MUTATE, []),
        (VB, {"policyName": "p", "validationActions": ["Deny", "Audit"]}, []),
        (MB, {"policyName": "p"}, []),
        (
            V,
            {},
            [
                "spec.matchConstraints: Required value",
                "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
                "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
            ],
        ),
        (
            M,
            {},
            [
                "spec.matchConstraints: Required value",
                "spec.mutations: Required value: mutations must contain at least one item",
                "spec.reinvocationPolicy: Required value",
            ],
        ),
        (
            V,
            {**VALID, "failurePolicy": "Maybe", "matchConstraints": {}},
            [
                'spec.failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"',
                "spec.matchConstraints.resourceRules: Required value",
            ],
        ),
        (
            V,
            {**VALID, "paramKind": {"apiVersion": "a/b/c", "kind": "X_"}},
            [
                'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                'spec.paramKind.kind: Invalid value: "X_": may have mixed case, but should otherwise match: a DNS-1035 '
                "label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
                "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
                "'[a-z]([-a-z0-9]*[a-z0-9])?')",
            ],
        ),
        (
            V,
            {**VALID, "validations": [{"expression": "params.x == 1", "reason": "Why", "message": "a\nb"}]},
            [
                'spec.validations[0].expression: Invalid value: "params.x == 1": compilation failed: ERROR: '
                "<input>:1:1: undeclared reference to 'params' (in container '')",
                'spec.validations[0].message: Invalid value: "a\\nb": message must not contain line breaks',
                'spec.validations[0].reason: Unsupported value: "Why": '
                'supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
            ],
        ),
        (
            V,
            {**VALID, "validations": [{"expression": "variables.later", "messageExpression": "1"}]},
            [
                'spec.validations[0].expression: Invalid value: "variables.later": compilation failed: ERROR: '
                "<input>:1:10: undefined field 'later'",
                'spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int',
            ],
        ),
        (
            V,
            {**VALID, "variables": [{"name": "a", "expression": "variables.b"}, {"name": "in", "expression": " "}]},
            [
                'spec.variables[0].expression: Invalid value: "variables.b": compilation failed: ERROR: '
                "<input>:1:10: undefined field 'b'",
                'spec.variables[1].name: Invalid value: "in": name is not a valid CEL identifier',
                "spec.variables[1].expression: Required value: expression is not specified",
            ],
        ),
        (
            V,
            {
                "matchConstraints": MATCH,
                "auditAnnotations": [
                    {"key": "k", "valueExpression": "1"},
                    {"key": "k", "valueExpression": ""},
                ],
            },
            [
                'spec.auditAnnotations[0].valueExpression: Invalid value: "1": '
                "must evaluate to one of [string null_type] but got int",
                "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
                'spec.auditAnnotations[1].key: Duplicate value: "k"',
            ],
        ),
        (
            M,
            {**MUTATE, "matchConstraints": {"resourceRules": [{**RULE, "operations": ["DELETE"]}]}},
            [
                'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": '
                'supported values: "*", "CONNECT", "CREATE", "UPDATE"'
            ],
        ),
        (
            M,
            {**MUTATE, "mutations": [{**APPLY, "patchType": "JSONPatch"}, {"patchType": "Merge"}, {}]},
            [
                'spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": '
                "must not be specified when patchType is JSONPatch",
                "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
                'spec.mutations[1].patchType: Unsupported value: "Merge": '
                'supported values: "ApplyConfiguration", "JSONPatch"',
                "spec.mutations[2].patchType: Required value",
            ],
        ),
        (
            VB,
            {"policyName": "", "validationActions": ["Deny", "Warn", "Warn", "Shout"]},
            [
                "spec.policyName: Required value",
                'spec.validationActions[2]: Duplicate value: "Warn"',
                'spec.validationActions[3]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"',
                'spec.validationActions: Invalid value: ["Deny","Warn","Warn","Shout"]: must not contain both Deny and '
                "Warn (repeating the same validation failure information in the API response and headers serves no "
                "purpose)",
            ],
        ),
        (
            VB,
            {"policyName": "p", "paramRef": {"name": "a", "selector": {}}},
            [
                "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
                "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
                "spec.paramRef.parameterNotFoundAction: Required value",
                "spec.validationActions: Required value: at least one validation action is required",
            ],
        ),
        (
            MB,
            {"policyName": "p", "paramRef": {"parameterNotFoundAction": "Deny"}, "matchResources": {}},
            ["spec.paramRef: Required value: one of name or selector must be specified"],
        ),
    ],
    ids=[
        "a validating policy",
        "a mutating policy",
        "a binding with actions",
        "a binding of a mutating policy has no actions",
        "an empty validating policy",
        "an empty mutating policy",
        "failure policies are two, and rules are needed",
        "a kind of parameters is a kind",
        "no parameters without their kind; reasons and messages",
        "variables must be declared, messages are texts",
        "variables read those before them",
        "annotations are texts or null, with keys of their own",
        "a deletion cannot be mutated",
        "a mutation is one of two",
        "actions come once, and Deny with Warn is too much",
        "parameters by name or by selector",
        "parameters by name or by selector, one of them",
    ],
)
def test_what_is_refused(kind: str, spec: Any, expected: list[str]) -> None:
    assert problems(kind, spec) == expected


def test_an_update_does_not_judge_stored_expressions_again() -> None:
    spec = {**VALID, "validations": [{"expression": "authorizer.stored"}]}
    before, after = made(V, spec), made(V, {**spec, "failurePolicy": "Ignore"})
    for one in (before, after):
        one["metadata"] |= {"uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    assert validate_create(before)
    assert validate_update(after, before) == []


def test_without_the_library_a_policy_is_refused_with_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name.startswith("cel_expr_python"):
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    program._library.cache_clear()
    compile_expression.cache_clear()
    try:
        assert problems(V, VALID) == [
            "spec.validations[0].expression: Internal error: expressions of this kind need the library "
            'cel-expr-python: pip install "k8slab[cel]"'
        ]
    finally:
        monkeypatch.undo()
        program._library.cache_clear()
