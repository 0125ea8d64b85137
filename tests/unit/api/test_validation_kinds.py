"""Validation of Jobs, CronJobs, autoscalers, NetworkPolicies and Ingresses beyond the vectors."""

import base64
import copy
from typing import Any

import pytest

from k8slab.api.defaults import apply_defaults
from k8slab.api.validation import validate_create, validate_status_update, validate_update
from k8slab.api.validation.cron import check_schedule, is_time_zone


def texts(causes: Any) -> list[str]:
    return [f"{c.field}: {c.message}" for c in causes]


def make(api_version: str, kind: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "x", "namespace": "ns", "uid": "u", "resourceVersion": "1"}
    return apply_defaults({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})


def job(pod: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    labels = {
        "controller-uid": "u",
        "job-name": "x",
        "batch.kubernetes.io/controller-uid": "u",
        "batch.kubernetes.io/job-name": "x",
    }
    containers = [{"name": "c", "image": "i"}]
    template = {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": containers}}
    template["spec"] |= pod or {}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    return make("batch/v1", "Job", **{"template": template, "selector": selector, **spec})


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("*/5 0-12/2 1,15 jan-MAR sun", None),
        ("@every 1h30m", None),
        ("@hourly", None),
        ("? ? ? ? ?", None),
        ("@reboot", "unrecognized descriptor: @reboot"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        ("@every 3", 'failed to parse duration @every 3: time: missing unit in duration "3"'),
        ("@every 1d", 'failed to parse duration @every 1d: time: unknown unit "d" in duration "1d"'),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("TZ=No/Where 0 * * * *", "provided bad location No/Where: unknown time zone No/Where"),
    ],
)
def test_schedules(schedule: str, message: str | None) -> None:
    if message is None:
        check_schedule(schedule)
        return
    with pytest.raises(ValueError) as caught:
        check_schedule(schedule)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("config", "why"),
    [
        pytest.param(b'{"auths": {}}', "", id="an object"),
        pytest.param(b"null", "", id="null leaves Go's map empty"),
        pytest.param(b"", "unexpected end of JSON input", id="nothing"),
        pytest.param(b'{"a" 1}', "invalid character '1' after object key", id="a forgotten colon"),
        pytest.param(b"\xff", "invalid character '\u00ff' looking for beginning of value", id="bytes of no text"),
        pytest.param(b"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}", id="a list"),
    ],
)
def test_a_docker_configuration_is_a_json_object(config: bytes, why: str) -> None:
    data = {".dockerconfigjson": base64.b64encode(config).decode()}
    secret = {**make("v1", "Secret"), "type": "kubernetes.io/dockerconfigjson", "data": data}
    path = "data[.dockerconfigjson]"
    expected = [f'{path}: Invalid value: "<secret contents redacted>": {why}'] if why else []
    assert texts(validate_create(secret)) == expected


def test_time_zones() -> None:
    assert [is_time_zone(z) for z in ("UTC", "Etc/UTC", "Mars/X", "../x")] == [True, True, False, False]


@pytest.mark.parametrize(
    ("indexes", "message"),
    [
        ("0,2-4", None),
        ("", None),
        ("3,1", "non-increasing order, previous: 3, current: 1"),
        ("3-3", "non-increasing order, previous: 3, current: 3"),
        ("1-2-3", None),
        ("x", 'cannot convert string to integer for index: "x"'),
    ],
)
def test_succeeded_indexes(indexes: str, message: str | None) -> None:
    spec = {"completionMode": "Indexed", "completions": 5, "successPolicy": {"rules": [{"succeededIndexes": indexes}]}}
    found = texts(validate_create(job(**spec)))
    if indexes.count("-") > 1:
        assert len(found) == 1 and "at most two parts separated by '-'" in found[0]
        return
    path = "spec.successPolicy.rules[0].succeededIndexes"
    expected = [f'{path}: Invalid value: "{indexes}": error parsing succeededIndexes: {message}'] if message else []
    assert found == expected


def test_job_update_keeps_what_is_immutable() -> None:
    old = job(completions=2)
    new = copy.deepcopy(old)
    new["spec"]["completions"] = 3
    new["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
    fields = [c.field for c in validate_update(new, old)]
    assert fields == ["spec.completions", "spec.template"]
    old["spec"]["suspend"] = new["spec"]["suspend"] = True
    assert [c.field for c in validate_update(new, old)] == ["spec.completions"]


def test_an_indexed_job_scales_when_both_numbers_change() -> None:
    old = job(completionMode="Indexed", completions=2, parallelism=2)
    new = copy.deepcopy(old)
    new["spec"]["completions"] = 4
    assert texts(validate_update(new, old)) == [
        "spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism"
    ]
    new["spec"]["parallelism"] = 4
    assert not validate_update(new, old)


def test_job_status_counts() -> None:
    old = job()
    new = {**old, "status": {"active": -1}}
    assert texts(validate_status_update(new, old)) == [
        "status.active: Invalid value: -1: must be greater than or equal to 0"
    ]


def autoscaler(api_version: str = "apps/v1", kind: str = "Deployment") -> dict[str, Any]:
    reference = {"apiVersion": api_version, "kind": kind, "name": "d"}
    return make("autoscaling/v2", "HorizontalPodAutoscaler", maxReplicas=3, scaleTargetRef=reference)


def test_only_a_replication_controller_scales_without_group() -> None:
    path = "spec.scaleTargetRef.apiVersion"
    assert texts(validate_create(autoscaler("v1"))) == [
        f'{path}: Invalid value: "v1": apiVersion must specify API group'
    ]
    assert texts(validate_create(autoscaler("a/b/c"))) == [
        f'{path}: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'
    ]
    assert not validate_create(autoscaler("v1", "ReplicationController"))
    assert not validate_update(autoscaler("v1"), autoscaler("v1"))


def test_no_policies_are_defaulted_and_an_empty_list_of_them_is_refused() -> None:
    for half in ("scaleUp", "scaleDown"):
        given = autoscaler()
        given["spec"]["behavior"] = {half: {"policies": []}}
        assert texts(validate_create(apply_defaults(given))) == [
            f"spec.behavior.{half}.policies: Required value: must specify at least one Policy"
        ]
        for rules in (None, {}, {"policies": None}):
            given["spec"]["behavior"] = {half: rules}
            assert not validate_create(apply_defaults(given))


def test_an_old_autoscaler_is_checked_in_its_stored_version() -> None:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 3, "targetCPUUtilizationPercentage": 0, "scaleTargetRef": reference}
    (cause,) = validate_create(make("autoscaling/v1", "HorizontalPodAutoscaler", **spec))
    assert cause.message.endswith("must be greater than 0")


def test_network_policy_blocks() -> None:
    block = {"cidr": "2001:db8::/32", "except": ["2001:db8:1::/48", "2001:db8::/32", "10.0.0.0/8"]}
    policy = make("networking.k8s.io/v1", "NetworkPolicy", podSelector={}, egress=[{"to": [{"ipBlock": block}]}])
    path, detail = "spec.egress[0].to[0].ipBlock.except", "must be a strict subset of `cidr`"
    assert texts(validate_create(policy)) == [
        f'{path}[1]: Invalid value: "2001:db8::/32": {detail}',
        f'{path}[2]: Invalid value: "10.0.0.0/8": {detail}',
    ]


def test_ingress_backends() -> None:
    resource = {"apiGroup": "A_", "kind": "", "name": "a/b"}
    found = texts(validate_create(make("networking.k8s.io/v1", "Ingress", defaultBackend={"resource": resource})))
    assert [text.partition(": ")[0] for text in found] == [
        "spec.defaultBackend.resource.apiGroup",
        "spec.defaultBackend.resource.kind",
        "spec.defaultBackend.resource.name",
    ]
    assert texts(validate_create(make("networking.k8s.io/v1", "Ingress"))) == [
        "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"
    ]


def test_ingress_classes() -> None:
    spec = {"controller": "no-domain", "parameters": {"kind": "K", "name": "n", "scope": "Namespace"}}
    ingress_class = make("networking.k8s.io/v1", "IngressClass", **spec)
    del ingress_class["metadata"]["namespace"]
    assert texts(validate_create(ingress_class)) == [
        'spec.controller: Invalid value: "no-domain": must be a domain-prefixed path (such as "acme.io/foo")',
        "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
    ]
