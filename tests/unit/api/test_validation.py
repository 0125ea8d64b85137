"""Validation beyond the vectors: recorded answers of the API server (invalid-pods, invalid-workloads)."""

from typing import Any

import pytest

from k8slab.api.defaults import apply_defaults
from k8slab.api.validation import (
    validate_create,
    validate_delete_options,
    validate_request_options,
    validate_status_update,
    validate_update,
)

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def texts(causes: Any) -> list[str]:
    return [f"{c.field}: {c.message}" for c in causes]


def pod(container: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", **(container or {})}]
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns", **(metadata or {})},
        "spec": {"containers": containers, **spec},
    }
    return apply_defaults(manifest)


def deployment(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "ns", "resourceVersion": "1", "uid": "u"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template, **spec},
    }
    return apply_defaults(manifest)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(
            pod({"ports": [{"containerPort": 80, "name": "UPPER"}, {"containerPort": 70000, "protocol": "XXX"}]}),
            [
                'spec.containers[0].ports[0].name: Invalid value: "UPPER": must contain only alpha-numeric characters '
                "(a-z, 0-9), and hyphens (-)",
                'spec.containers[0].ports[0].name: Invalid value: "UPPER": must contain at least one letter (a-z)',
                "spec.containers[0].ports[1].containerPort: Invalid value: 70000: "
                "must be between 1 and 65535, inclusive",
                'spec.containers[0].ports[1].protocol: Unsupported value: "XXX": '
                'supported values: "SCTP", "TCP", "UDP"',
            ],
            id="ports",
        ),
        pytest.param(
            pod({"env": [{"name": ""}, {"name": "a=b"}, {"name": "y", "valueFrom": {}}]}),
            [
                "spec.containers[0].env[0].name: Required value",
                'spec.containers[0].env[1].name: Invalid value: "a=b": a valid environment variable name must consist '
                "only of printable ASCII characters other than '='",
                'spec.containers[0].env[2].valueFrom: Invalid value: "": must specify one of: `fieldRef`, '
                "`resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
            ],
            id="environment",
        ),
        pytest.param(
            pod({"volumeMounts": [{"name": "v", "mountPath": "/x"}, {"name": "", "mountPath": "/x"}]}),
            [
                'spec.containers[0].volumeMounts[0].name: Not found: "v"',
                "spec.containers[0].volumeMounts[1].name: Required value",
                'spec.containers[0].volumeMounts[1].name: Not found: ""',
                'spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/x": must be unique',
            ],
            id="mounts",
        ),
        pytest.param(
            pod(volumes=[{"name": "v"}, {"name": "v"}, {"name": "Bad_", "emptyDir": {}, "hostPath": {"path": "/x"}}]),
            [
                'spec.volumes[1].name: Duplicate value: "v"',
                "spec.volumes[2].hostPath: Forbidden: may not specify more than 1 volume type",
                f'spec.volumes[2].name: Invalid value: "Bad_": {LABEL}',
            ],
            id="volumes",
        ),
        pytest.param(
            pod({"resources": {"requests": {"cpu": "-1"}}}),
            ['spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
            id="negative quantities",
        ),
        pytest.param(
            pod({"livenessProbe": {"periodSeconds": -1}}),
            [
                "spec.containers[0].livenessProbe: Required value: must specify a handler type",
                "spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
            ],
            id="probes",
        ),
        pytest.param(
            pod(
                initContainers=[
                    {"name": "c", "image": "i"},
                    {"name": "i", "image": "i", "readinessProbe": {"exec": {}}},
                ]
            ),
            [
                'spec.initContainers[0].name: Duplicate value: "c"',
                "spec.initContainers[1].readinessProbe: Forbidden: may not be set for init containers without "
                "restartPolicy=Always",
            ],
            id="init containers",
        ),
        pytest.param(
            pod(schedulingGates=[{"name": "a"}, {"name": "a"}], nodeName="n"),
            [
                'spec.schedulingGates[1]: Duplicate value: "a"',
                "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
            ],
            id="gates",
        ),
        pytest.param(
            pod({"image": " x "}),
            ['spec.containers[0].image: Invalid value: " x ": must not have leading or trailing whitespace'],
            id="spaces around an image",
        ),
        pytest.param(
            pod(metadata={"finalizers": ["nodomain", "a/b"]}),
            [
                'metadata.finalizers[0]: Invalid value: "nodomain": name is neither a standard finalizer name '
                "nor is it fully qualified"
            ],
            id="finalizers",
        ),
        pytest.param(
            pod(metadata={"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]}),
            [
                'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
                'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
                'metadata.ownerReferences.name: Invalid value: "": must not be empty',
                'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
            ],
            id="owners",
        ),
        pytest.param(
            pod(metadata={"annotations": {"a": "x" * 262144}}),
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
            id="large annotations",
        ),
        pytest.param(
            pod(ephemeralContainers=[{"name": "e", "image": "i"}]),
            ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
            id="ephemeral containers",
        ),
    ],
)
def test_pods(obj: dict[str, Any], expected: list[str]) -> None:
    assert texts(validate_create(obj)) == expected


def test_two_controllers_are_one_too_many() -> None:
    owners = [
        {"apiVersion": "v1", "kind": "X", "name": name, "uid": uid, "controller": True}
        for name, uid in (("a", "u"), ("b", "u2"))
    ]
    (text,) = texts(validate_create(pod(metadata={"ownerReferences": owners})))
    assert text == (
        "metadata.ownerReferences: Invalid value: "
        '[{"apiVersion":"v1","kind":"X","name":"a","uid":"u","controller":true}'
        ',{"apiVersion":"v1","kind":"X","name":"b","uid":"u2","controller":true}]: '
        'Only one reference can have Controller set to true. Found "true" in references for X/a and X/b'
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
            ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
            id="recreate has no rolling update",
        ),
        pytest.param(
            {"strategy": {"rollingUpdate": {"maxSurge": "abc", "maxUnavailable": "150%"}}},
            [
                'spec.strategy.rollingUpdate.maxSurge: Invalid value: "abc": a valid percent string must be a numeric '
                "string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
                'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "150%": must not be greater than 100%',
            ],
            id="percentages",
        ),
        pytest.param(
            {"minReadySeconds": 100, "progressDeadlineSeconds": 10},
            ["spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds"],
            id="deadline after readiness",
        ),
        pytest.param(
            {"selector": {"matchLabels": {"x": "y"}}},
            ['spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match template `labels`'],
            id="selector and labels",
        ),
        pytest.param({"replicas": 10**9}, [], id="a thousand million replicas are valid"),
    ],
)
def test_deployments(spec: dict[str, Any], expected: list[str]) -> None:
    assert texts(validate_create(deployment(**spec))) == expected


def test_nothing_at_all_in_a_deployment() -> None:
    obj = apply_defaults({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "ns"}})
    assert texts(validate_create(obj)) == [
        "spec.selector: Required value",
        "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
        "spec.template.spec.containers: Required value",
    ]


def test_a_deployments_selector_is_immutable() -> None:
    old, new = deployment(), deployment(selector={"matchLabels": {"app": "x"}, "matchExpressions": []})
    assert validate_update(new, old) == []
    changed = deployment(
        selector={"matchLabels": {"app": "y"}},
        template={"metadata": {"labels": {"app": "y"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    )
    assert texts(validate_update(changed, old)) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"y"}}: field is immutable'
    ]


def with_meta(obj: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": "1", "uid": "u", **metadata}}


def test_metadata_updates_are_checked_by_the_registry_and_by_the_kind() -> None:
    old, new = with_meta(pod()), with_meta(pod(), name="other", uid="w")
    expected = [
        'metadata.name: Invalid value: "other": field is immutable',
        'metadata.uid: Invalid value: "w": field is immutable',
    ]
    assert texts(validate_update(new, old)) == expected * 2


def test_an_object_being_deleted_takes_no_new_finalizers() -> None:
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    old = with_meta(pod(), finalizers=["a/b"], **deleted)
    new = with_meta(pod(), finalizers=["a/b", "c/d"], **deleted)
    assert texts(validate_update(new, old))[0] == (
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new "
        'finalizers []string{"c/d"}'
    )
    assert validate_update(with_meta(pod(), **deleted), old) == []


def test_a_pod_keeps_its_spec() -> None:
    old = with_meta(pod())
    (text,) = texts(validate_update(with_meta(pod(restartPolicy="Never")), old))
    assert text.startswith(
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
        "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
    )
    assert validate_update(with_meta(pod({"image": "j"})), old) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({"activeDeadlineSeconds": 9}, {"activeDeadlineSeconds": 5}, [], id="a deadline may be shortened"),
        pytest.param(
            {"activeDeadlineSeconds": 5},
            {"activeDeadlineSeconds": 9},
            ["spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value"],
            id="a deadline may not be prolonged",
        ),
        pytest.param(
            {"tolerations": [{"key": "a", "operator": "Exists"}]},
            {"tolerations": [{"key": "b", "operator": "Exists"}]},
            [
                "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
            ],
            id="tolerations may only be added",
        ),
        pytest.param(
            {"schedulingGates": [{"name": "g"}], "nodeSelector": {"a": "b"}},
            {"schedulingGates": [{"name": "g"}], "nodeSelector": {"a": "b", "c": "d"}},
            [],
            id="a gated Pod may be narrowed down",
        ),
        pytest.param({"terminationGracePeriodSeconds": -1}, {"terminationGracePeriodSeconds": 1}, [], id="minus one"),
    ],
)
def test_what_a_pod_may_change(before: dict[str, Any], after: dict[str, Any], expected: list[str]) -> None:
    assert texts(validate_update(with_meta(pod(**after)), with_meta(pod(**before)))) == expected


def test_status_updates() -> None:
    old = with_meta(pod(restartPolicy="Never"))
    ended = {"name": "c", "state": {"terminated": {"exitCode": 0}}}
    old = {**old, "status": {"qosClass": "BestEffort", "containerStatuses": [ended]}}
    running = {"name": "c", "state": {"running": {}}}
    new = {**old, "status": {"qosClass": "Burstable", "containerStatuses": [running]}}
    assert texts(validate_status_update(new, old)) == [
        'status.qosClass: Invalid value: "Burstable": field is immutable',
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
    ]
    scaled = deployment()
    bad = {**scaled, "status": {"replicas": 1, "readyReplicas": 2}}
    assert texts(validate_status_update(bad, scaled)) == [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"propagationPolicy": "Foreground", "dryRun": ["All"]}, []),
        (
            {"propagationPolicy": "Nope"},
            [
                'propagationPolicy: Unsupported value: "Nope": supported values: "Foreground", "Background", "Orphan", '
                '"nil"'
            ],
        ),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            ['propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set'],
        ),
        ({"dryRun": ["Some"]}, ['dryRun: Unsupported value: ["Some"]: supported values: "All"']),
    ],
)
def test_delete_options(options: dict[str, Any], expected: list[str]) -> None:
    assert texts(validate_delete_options(options)) == expected


def test_request_options() -> None:
    assert texts(validate_request_options({"fieldValidation": "Bogus"})) == [
        'fieldValidation: Unsupported value: "Bogus": supported values: "", "Ignore", "Strict", "Warn"'
    ]
    assert texts(validate_request_options({"force": "true"}, is_patch=True)) == [
        "force: Forbidden: may not be specified for non-apply patch"
    ]
    assert validate_request_options({"fieldManager": "me", "dryRun": "All"}) == []


def test_foreign_kinds_are_checked_for_metadata() -> None:
    widget = {"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "Bad_", "namespace": "ns"}}
    assert [c.field for c in validate_create(widget)] == ["metadata.name"]


def test_names_of_roles_only_need_to_fit_into_a_path() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a:b", "namespace": "n"}}
    assert validate_create(role) == []
    assert texts(validate_create({**role, "metadata": {"name": "a/b", "namespace": "n"}})) == [
        "metadata.name: Invalid value: \"a/b\": may not contain '/'"
    ]
