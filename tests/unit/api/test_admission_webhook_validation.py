"""Webhook configurations: what is refused, and what an update may keep."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from k8slab.api.defaults import apply_defaults
from k8slab.api.validation import validate_create, validate_update
from tests.webhooks import configuration, webhook

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


def made(kind: str, *webhooks: Any) -> Any:
    body = configuration("c", *webhooks)
    return apply_defaults({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, **body})


def problems(**fields: Any) -> list[str]:
    return [
        f"{cause.field}: {cause.message}"
        for cause in validate_create(made("MutatingWebhookConfiguration", webhook("a", **fields)))
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"name": ""}, ["webhooks[0].name: Required value"]),
        (
            {"name": "a.b"},
            [
                'webhooks[0].name: Invalid value: "a.b": '
                "should be a domain with at least three segments separated by dots"
            ],
        ),
        ({"sideEffects": None}, ["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"]),
        (
            {"reinvocationPolicy": "Always"},
            ['webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"'],
        ),
        (
            {"timeoutSeconds": 31},
            ["webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"],
        ),
        (
            {"rules": [{**RULE, "operations": ["*", "CREATE"]}]},
            [
                'webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: '
                "if '*' is present, must not specify other operations"
            ],
        ),
        (
            {"rules": [{**RULE, "resources": ["pods/*", "pods/status"]}]},
            [
                'webhooks[0].rules[0].resources[1]: Invalid value: "pods/status": '
                "if 'pods/*' is present, must not specify pods/status"
            ],
        ),
        (
            {"rules": [{**RULE, "resources": ["*", "pods"]}]},
            [
                'webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: '
                "if '*' is present, must not specify other resources without subresources"
            ],
        ),
        (
            {"rules": [{**RULE, "scope": "Galaxy"}]},
            ['webhooks[0].rules[0].scope: Unsupported value: "Galaxy": supported values: "*", "Cluster", "Namespaced"'],
        ),
        (
            {"admissionReviewVersions": ["v2", "v2"]},
            [
                'webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
                'webhooks[0].admissionReviewVersions: Invalid value: ["v2","v2"]: '
                "must include at least one of v1, v1beta1",
            ],
        ),
        (
            {"clientConfig": {"url": "http://u@h/p?q=1#f"}},
            [
                "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; "
                "desired format: https://host[/path]",
                'webhooks[0].clientConfig.url: Invalid value: "u": user information is not permitted in the URL',
                'webhooks[0].clientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
                'webhooks[0].clientConfig.url: Invalid value: "q=1": query parameters are not permitted in the URL',
            ],
        ),
        (
            {"clientConfig": {"url": "https://h", "service": {"name": "s", "namespace": "n"}}},
            ["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
        ),
        (
            {"clientConfig": {"service": {"name": "", "namespace": "n", "path": "/a//B", "port": 70_000}}},
            [
                "webhooks[0].clientConfig.service.namespace: Required value",
                "webhooks[0].clientConfig.service.port: Invalid value: 70000: port is not valid: "
                "must be between 1 and 65535, inclusive",
                'webhooks[0].clientConfig.service.path: Invalid value: "/a//B": segment[1] may not be empty',
                'webhooks[0].clientConfig.service.path: Invalid value: "/a//B": segment[2]: a lowercase RFC 1123 '
                "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
                "an alphanumeric character (e.g. 'example.com', regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ],
        ),
        (
            {"matchConditions": [{"name": "x", "expression": "object.a"}, {"name": "x", "expression": " "}]},
            [
                'webhooks[0].matchConditions[0].expression: Invalid value: "object.a": '
                "must evaluate to bool but got dyn",
                "webhooks[0].matchConditions[1].expression: Required value",
                'webhooks[0].matchConditions[1].name: Duplicate value: "x"',
            ],
        ),
    ],
    ids=[
        "a webhook with defaults only is fine",
        "a name is required",
        "a name has three segments",
        "side effects must be declared",
        "there is no policy Always",
        "a timeout is at most 30 s",
        "a star stands alone among operations",
        "a star covers all subresources",
        "a star covers all resources",
        "scopes are three",
        "one known version, none twice",
        "a URL is https, without user, query and fragment",
        "URL or Service",
        "a Service has a name, a port and a clean path; upstream swaps the fields",
        "match conditions compile to bool and have names of their own",
    ],
)
def test_what_is_refused(fields: dict[str, Any], expected: list[str]) -> None:
    assert problems(**fields) == expected


def test_names_are_unique_within_a_configuration() -> None:
    causes = validate_create(made("MutatingWebhookConfiguration", webhook("a"), webhook("a")))
    assert [(cause.field, cause.message) for cause in causes] == [
        ("webhooks[1].name", 'Duplicate value: "a.example.com"')
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"sideEffects": "Some"}, {"sideEffects": "Unknown"}),
        ({"admissionReviewVersions": ["v0"]}, {"admissionReviewVersions": ["v00"]}),
        (
            {"matchConditions": [{"name": "x", "expression": "object.a"}]},
            {"matchConditions": [{"name": "x", "expression": "object.a"}], "timeoutSeconds": 3},
        ),
        (
            {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}},
            {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["--"]}]}},
        ),
    ],
    ids=[
        "side effects, if the old one had some",
        "unknown versions, if the old one had none that is known",
        "match conditions that were stored are not judged again",
        "invalid values in selectors, if the old one had some",
    ],
)
def test_an_update_may_keep_what_was_allowed_once(old: dict[str, Any], new: dict[str, Any]) -> None:
    before, after = (made("ValidatingWebhookConfiguration", webhook("a", **fields)) for fields in (old, new))
    for one in (before, after):
        one["metadata"] |= {"uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    assert validate_create(deepcopy(after))
    assert validate_update(after, before) == []
