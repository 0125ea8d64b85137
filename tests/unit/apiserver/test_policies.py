"""Admission policies through the server: who is judged, by what, and what follows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.scheme import CONFIGMAPS, DEPLOYMENTS, GVK, GVR, NAMESPACES
from k8slab.apiserver.admission.policy.merging import MergeError, apply_configuration
from tests.unit.apiserver.conftest import MERGE, Bench

Json = Any
_GROUP = "admissionregistration.k8s.io"
VAP = GVR(_GROUP, "v1", "validatingadmissionpolicies")
VAPB = GVR(_GROUP, "v1", "validatingadmissionpolicybindings")
MAP = GVR(_GROUP, "v1", "mutatingadmissionpolicies")
MAPB = GVR(_GROUP, "v1", "mutatingadmissionpolicybindings")
MAPS = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
CHANGES = {**MAPS, "operations": ["CREATE", "UPDATE"]}
DEPLOYS = {"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}


def constraints(*rules: Json, **more: Any) -> Json:
    return {"resourceRules": list(rules), **more}


def validating(bench: Bench, *validations: Json, actions: Any = ("Deny",), binding: Json = None, **spec: Any) -> None:
    """The policy `few` and its binding `few-binding`."""
    spec = {"matchConstraints": constraints(MAPS), "validations": list(validations), **spec}
    bench.call("create", VAP, ns="", body={"metadata": {"name": "few"}, "spec": spec})
    bound = {"policyName": "few", "validationActions": list(actions), **(binding or {})}
    bench.call("create", VAPB, ns="", body={"metadata": {"name": "few-binding"}, "spec": bound})


def mutating(bench: Bench, name: str, *mutations: Json, binding: Json = None, **spec: Any) -> None:
    spec = {
        "matchConstraints": constraints(CHANGES),
        "mutations": list(mutations),
        "reinvocationPolicy": "Never",
        **spec,
    }
    bench.call("create", MAP, ns="", body={"metadata": {"name": name}, "spec": spec})
    bound = {"policyName": name, **(binding or {})}
    bench.call("create", MAPB, ns="", body={"metadata": {"name": f"{name}-binding"}, "spec": bound})


def applying(expression: str) -> Json:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patching(expression: str) -> Json:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def config(bench: Bench, name: str = "c", data: Json = None, **more: Any) -> Any:
    body = {"metadata": {"name": name, "labels": more.pop("labels", None)}, "data": data or {}}
    return bench.call("create", CONFIGMAPS, body=body, **more)


def refusal(bench: Bench, *args: Any, **more: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        config(bench, *args, **more)
    return caught.value


DENIED = "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'few' with binding 'few-binding' denied request: "
SMALL = {"expression": "size(object.data) < 2"}
BIG = {"a": "1", "b": "2"}


# -- validating --------------------------------------------------------------------------------------


def test_a_policy_that_nothing_binds_does_nothing(bench: Bench) -> None:
    spec = {"matchConstraints": constraints(MAPS), "validations": [{"expression": "false"}]}
    bench.call("create", VAP, ns="", body={"metadata": {"name": "p"}, "spec": spec})
    assert config(bench)
    assert bench.call("get", VAP, "p", ns="")["spec"]["failurePolicy"] == "Fail"


@pytest.mark.parametrize(
    ("validation", "code", "reason", "message"),
    [
        (SMALL, 422, "Invalid", "failed expression: size(object.data) < 2"),
        ({**SMALL, "message": " too big "}, 422, "Invalid", "too big"),
        ({**SMALL, "reason": "Forbidden"}, 403, "Forbidden", "failed expression: size(object.data) < 2"),
        ({**SMALL, "reason": "RequestEntityTooLarge"}, 413, "RequestEntityTooLarge", "failed expression: size"),
        ({**SMALL, "messageExpression": "string(size(object.data)) + ' keys'"}, 422, "Invalid", "2 keys"),
        ({**SMALL, "message": "m", "messageExpression": "object.nope + ''"}, 422, "Invalid", "m"),
        ({**SMALL, "message": "m", "messageExpression": "'a\\nb'"}, 422, "Invalid", "m"),
        (
            {"expression": "object.nope.x == 1"},
            422,
            "Invalid",
            "expression 'object.nope.x == 1' resulted in error: no such",
        ),
    ],
    ids=[
        "without a message the expression is the message",
        "the message, trimmed",
        "reason Forbidden is 403",
        "reason RequestEntityTooLarge is 413",
        "messageExpression speaks first",
        "messageExpression that fails leaves the message",
        "messageExpression with a line break leaves the message",
        "an expression without a value is a violation too",
    ],
)
def test_deny(bench: Bench, validation: Json, code: int, reason: str, message: str) -> None:
    validating(bench, validation)
    error = refusal(bench, data=BIG)
    assert (error.code, error.reason) == (code, reason)
    assert error.message.startswith(DENIED + message)
    assert error.details == {
        "name": "c",
        "kind": "configmaps",
        "causes": [{"message": error.message.removeprefix('configmaps "c" is forbidden: ')}],
    }


def test_the_client_hears_of_the_first_violation_only(bench: Bench) -> None:
    validating(bench, {"expression": "true"}, {"expression": "false", "message": "one"}, {"expression": "1 == 2"})
    assert refusal(bench).message == DENIED + "one"


def test_warn_and_audit_let_the_request_pass(bench: Bench) -> None:
    validating(bench, {**SMALL, "message": "too big"}, actions=("Warn", "Audit"))
    body = json.dumps({"metadata": {"name": "c"}, "data": BIG}).encode()
    response = bench.run(bench.server.handle("POST", "/api/v1/namespaces/default/configmaps", {}, {}, body))
    text = "Validation failed for ValidatingAdmissionPolicy 'few' with binding 'few-binding': too big"
    assert (response.status, response.headers["warning"]) == (201, [f'299 - "{text}"'])


def test_failure_policy_ignore_passes_what_cannot_be_told_but_not_what_is_violated(bench: Bench) -> None:
    validating(bench, {"expression": "object.nope.x == 1"}, SMALL, failurePolicy="Ignore")
    assert config(bench)
    assert refusal(bench, "d", data=BIG).code == 422


def test_variables_are_read_by_name_and_only_when_needed(bench: Bench) -> None:
    variables = [
        {"name": "keys", "expression": "size(object.data)"},
        {"name": "twice", "expression": "variables.keys * 2"},
        {"name": "broken", "expression": "object.nope.x"},
    ]
    validation = {
        "expression": "variables.twice < 4 || variables.broken == 1",
        "messageExpression": "'n=' + string(variables.keys)",
    }
    validating(bench, validation, variables=variables)
    assert config(bench, data={"a": "1"})
    error = refusal(bench, "c2", data=BIG)
    assert error.message.endswith(
        'resulted in error: composited variable "broken" fails to evaluate: no such key: nope'
    )


@pytest.mark.parametrize(
    ("spec", "passes"),
    [
        ({"matchConstraints": constraints({**MAPS, "resourceNames": ["d"]})}, True),
        ({"matchConstraints": constraints({**MAPS, "resourceNames": ["c"]})}, False),
        ({"matchConstraints": constraints(MAPS, excludeResourceRules=[MAPS])}, True),
        ({"matchConstraints": constraints(MAPS, objectSelector={"matchLabels": {"a": "b"}})}, True),
        ({"matchConstraints": constraints(MAPS, namespaceSelector={"matchLabels": {"a": "b"}})}, True),
        ({"matchConditions": [{"name": "x", "expression": "object.metadata.name != 'c'"}]}, True),
        ({"matchConditions": [{"name": "x", "expression": "object.nope == 'c'"}]}, False),
        ({"matchConditions": [{"name": "x", "expression": "object.nope == 'c'"}], "failurePolicy": "Ignore"}, True),
    ],
    ids=[
        "another name",
        "this name",
        "excluded again",
        "labels of the object",
        "labels of the namespace",
        "a match condition that is false",
        "a match condition that cannot be told",
        "a match condition that cannot be told, and failures ignored",
    ],
)
def test_who_is_judged(bench: Bench, spec: Json, passes: bool) -> None:
    validating(bench, {"expression": "false"}, **spec)
    if passes:
        assert config(bench)
    else:
        assert refusal(bench).code == 422


def test_a_binding_narrows_what_its_policy_is_about(bench: Bench) -> None:
    bound = {"matchResources": {"objectSelector": {"matchLabels": {"judge": "me"}}}}
    validating(bench, {"expression": "false"}, binding=bound)
    assert config(bench)
    assert refusal(bench, "d", labels={"judge": "me"}).code == 422


def test_the_namespace_and_the_user_can_be_asked(bench: Bench) -> None:
    bench.call("create", NAMESPACES, ns="", body={"metadata": {"name": "prod", "labels": {"env": "prod"}}})
    expression = "!('env' in namespaceObject.metadata.?labels.orValue({})) || request.userInfo.username == 'you'"
    validating(bench, {"expression": expression})
    assert config(bench)
    assert refusal(bench, ns="prod").code == 422


def test_a_deletion_is_judged_by_the_old_object(bench: Bench) -> None:
    validating(bench, {"expression": "request.operation != 'DELETE' || !has(oldObject.data)"})
    config(bench, data={"keep": "1"})
    config(bench, "d")
    bench.call("delete", CONFIGMAPS, "d")
    with pytest.raises(StatusError, match="failed expression"):
        bench.call("delete", CONFIGMAPS, "c")


def test_a_policy_for_deployments_is_evaded_through_scale_unless_it_names_scale(bench: Bench) -> None:
    validating(bench, {"expression": "object.spec.replicas <= 5"}, matchConstraints=constraints(DEPLOYS))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    bench.call("create", DEPLOYMENTS, body={"metadata": {"name": "d"}, "spec": spec})
    with pytest.raises(StatusError, match="failed expression"):
        bench.call("patch", DEPLOYMENTS, "d", {"spec": {"replicas": 9}}, patch_type=MERGE)
    scale = {"patch_type": MERGE, "subresource": "scale"}
    bench.call("patch", DEPLOYMENTS, "d", {"spec": {"replicas": 9}}, **scale)
    both = {**DEPLOYS, "resources": ["deployments", "deployments/scale"]}
    rules = {"spec": {"matchConstraints": {"resourceRules": [both]}}}
    bench.call("patch", VAP, "few", rules, ns="", patch_type=MERGE)
    with pytest.raises(StatusError, match="failed expression"):
        bench.call("patch", DEPLOYMENTS, "d", {"spec": {"replicas": 10}}, **scale)


def test_policies_cannot_lock_themselves_in(bench: Bench) -> None:
    everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    validating(bench, {"expression": "false"}, matchConstraints=constraints(everything))
    assert refusal(bench).code == 422
    bench.call("delete", VAPB, "few-binding", ns="")
    bench.call("delete", VAP, "few", ns="")
    assert config(bench)


# -- parameters --------------------------------------------------------------------------------------

KIND = {"apiVersion": "v1", "kind": "ConfigMap"}
LIMIT = {"expression": "object.metadata.name.startsWith('limit') || size(object.data) <= int(params.data.most)"}


def test_parameters_by_name_are_taken_from_the_namespace_of_the_request(bench: Bench) -> None:
    reference = {"paramRef": {"name": "limit", "parameterNotFoundAction": "Deny"}}
    config(bench, "limit", data={"most": "1"})
    validating(bench, LIMIT, paramKind=KIND, binding=reference)
    assert config(bench, "c", data={"a": "1"})
    assert refusal(bench, "c2", data=BIG).code == 422
    bench.call("patch", CONFIGMAPS, "limit", {"data": {"most": "2"}}, patch_type=MERGE)
    assert config(bench, "c2", data=BIG)


def test_with_several_parameters_every_one_must_agree(bench: Bench) -> None:
    config(bench, "limit-1", data={"most": "9"}, labels={"limit": "y"})
    selector = {"selector": {"matchLabels": {"limit": "y"}}, "parameterNotFoundAction": "Deny"}
    validating(bench, LIMIT, paramKind=KIND, binding={"paramRef": selector})
    assert config(bench, data=BIG)
    config(bench, "limit-2", data={"most": "1"}, labels={"limit": "y"})
    assert refusal(bench, "d", data=BIG).code == 422


@pytest.mark.parametrize(
    ("reference", "spec", "text"),
    [
        (
            {"name": "nope", "parameterNotFoundAction": "Deny"},
            {},
            "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
        ),
        ({"name": "nope", "parameterNotFoundAction": "Allow"}, {}, ""),
        ({"name": "nope", "parameterNotFoundAction": "Deny"}, {"failurePolicy": "Ignore"}, ""),
        (
            {"name": "n", "namespace": "x", "parameterNotFoundAction": "Deny"},
            {"paramKind": {"apiVersion": "v1", "kind": "Node"}},
            "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
        ),
        (
            {"name": "n", "parameterNotFoundAction": "Allow"},
            {"paramKind": {"apiVersion": "example.com/v1", "kind": "Limit"}},
            "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'",
        ),
    ],
    ids=[
        "missing, and Deny",
        "missing, and Allow",
        "missing, and failures are ignored",
        "a namespace for what has none",
        "a kind that is not served",
    ],
)
def test_parameters_that_are_missing(bench: Bench, reference: Json, spec: Json, text: str) -> None:
    spec = {"paramKind": KIND, **spec}
    validating(bench, {"expression": "params != null"}, binding={"paramRef": reference}, **spec)
    if text:
        error = refusal(bench)
        assert error.code == 422 and error.message.endswith(text)
    else:
        assert config(bench)


def test_a_binding_without_reference_gives_null(bench: Bench) -> None:
    validating(bench, {"expression": "params == null"}, paramKind=KIND)
    assert config(bench)


# -- mutating ----------------------------------------------------------------------------------------


def test_an_apply_configuration_is_merged_into_the_object(bench: Bench) -> None:
    mutating(bench, "p", applying("Object{metadata: Object.metadata{labels: {'team': object.metadata.name}}}"))
    assert config(bench, labels={"a": "b"})["metadata"]["labels"] == {"a": "b", "team": "c"}


def test_a_json_patch_is_applied_and_a_test_that_fails_leaves_the_object(bench: Bench) -> None:
    operations = (
        "[JSONPatch{op: 'test', path: '/data/a', value: '1'}, "
        "JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('x'), value: object.metadata.name}]"
    )
    mutating(bench, "p", patching(operations))
    assert config(bench, data={"a": "1"})["data"] == {"a": "1", "x": "c"}
    assert config(bench, "d", data={"a": "2"})["data"] == {"a": "2"}


def test_mutations_are_applied_in_order_each_on_what_the_one_before_made(bench: Bench) -> None:
    add = "[JSONPatch{op: 'add', path: '/data/n', value: string(int(object.data.n) + 1)}]"
    mutating(bench, "p", patching(add), patching(add))
    assert config(bench, data={"n": "1"})["data"] == {"n": "3"}


def test_a_sidecar_is_merged_by_name_and_gets_its_defaults(bench: Bench) -> None:
    pods = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    expression = (
        "Object{spec: Object.spec{initContainers: "
        "[Object.spec.initContainers{name: 'mesh', image: 'mesh:1', restartPolicy: 'Always'}]}}"
    )
    mutating(bench, "p", applying(expression), matchConstraints=constraints(pods))
    (sidecar,) = bench.pod("p")["spec"]["initContainers"]
    assert (sidecar["name"], sidecar["restartPolicy"], sidecar["imagePullPolicy"]) == ("mesh", "Always", "IfNotPresent")


@pytest.mark.parametrize(
    ("mutation", "message"),
    [
        (
            applying("Object{data: Object.data{a: object.nope}}"),
            "expression 'Object{data: Object.data{a: object.nope}}' resulted in error: no such key: nope",
        ),
        (
            applying("Object{metadata: Object.spec{name: 'x'}}"),
            'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", '
            "which matches field name path from root Object type",
        ),
        (
            applying("Object{spec: Object.spec{x: 1}}"),
            "error applying patch: failed to convert patch object to typed object: .spec: field not declared in schema",
        ),
        (
            patching("[JSONPatch{op: 'remove', path: '/nope'}]"),
            "JSON Patch: error in remove for path: '/nope': Unable to remove nonexistent key: nope: missing value",
        ),
    ],
    ids=["no value", "a type in the wrong place", "an unknown field", "a patch that does not apply"],
)
def test_a_mutation_that_fails_refuses_the_request_or_is_passed_over(
    bench: Bench, mutation: Json, message: str
) -> None:
    mutating(bench, "p", mutation)
    error = refusal(bench)
    assert (error.code, error.reason) == (403, "Invalid")
    assert error.message == f"policy 'p' with binding 'p-binding' denied request: {message}"
    assert error.details == {"name": "c", "kind": "configmaps", "causes": [{"message": error.message}]}
    bench.call("patch", MAP, "p", {"spec": {"failurePolicy": "Ignore"}}, ns="", patch_type=MERGE)
    assert config(bench)


def test_policies_by_name_and_a_second_round_for_those_that_want_it(bench: Bench) -> None:
    def count(key: str) -> Json:
        seen = f"int(object.metadata.?labels[?'{key}'].orValue('0')) + 1"
        return applying(f"Object{{metadata: Object.metadata{{labels: {{'{key}': string({seen})}}}}}}")

    mutating(bench, "a", count("a"), reinvocationPolicy="IfNeeded")
    mutating(bench, "b", count("b"))
    mutating(bench, "c", count("c"), reinvocationPolicy="IfNeeded")
    assert config(bench)["metadata"]["labels"] == {"a": "2", "b": "1", "c": "2"}


def test_mutating_policies_leave_deletions_alone_and_match_conditions_hold_for_them(bench: Bench) -> None:
    condition = {"name": "x", "expression": "object.metadata.name == 'c'"}
    label = applying("Object{metadata: Object.metadata{labels: {'x': 'y'}}}")
    mutating(bench, "p", label, matchConditions=[condition])
    assert "labels" not in config(bench, "d")["metadata"]
    assert config(bench)["metadata"]["labels"] == {"x": "y"}
    bench.call("delete", CONFIGMAPS, "c")


def test_parameters_of_mutations(bench: Bench) -> None:
    config(bench, "limit", data={"team": "blue"})
    label = applying("Object{metadata: Object.metadata{labels: {'team': params.data.team}}}")
    reference = {"paramRef": {"name": "limit", "parameterNotFoundAction": "Deny"}}
    mutating(bench, "p", label, paramKind=KIND, binding=reference)
    assert config(bench)["metadata"]["labels"] == {"team": "blue"}


@pytest.mark.parametrize(
    ("kind", "live", "patch", "expected"),
    [
        ("Pod", {"spec": {"tolerations": [{"key": "a"}]}}, {"spec": {"tolerations": [{"key": "b"}]}}, "atomic"),
        ("Service", {"spec": {"selector": {"a": "b"}}}, {"spec": {"selector": {"c": "d"}}}, "atomic"),
        (
            "Service",
            {"spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "x"}]}},
            {"spec": {"ports": [{"port": 80, "nodePort": 1}, {"port": 80, "protocol": "UDP"}]}},
            {
                "spec": {
                    "ports": [
                        {"port": 80, "protocol": "TCP", "name": "x", "nodePort": 1},
                        {"port": 80, "protocol": "UDP"},
                    ]
                }
            },
        ),
        (
            "ConfigMap",
            {"metadata": {"finalizers": ["a"]}},
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"finalizers": ["a", "b"]}},
        ),
    ],
    ids=[
        "a list without keys would be replaced",
        "a map that is one value would be replaced",
        "keys with defaults find their item",
        "a set is joined",
    ],
)
def test_merging(kind: str, live: Json, patch: Json, expected: Any) -> None:
    if expected == "atomic":
        with pytest.raises(MergeError, match="may not mutate atomic arrays, maps or structs"):
            apply_configuration(live, patch, GVK("", "v1", kind))
    else:
        assert apply_configuration(live, patch, GVK("", "v1", kind)) == expected


def test_policies_come_before_webhooks_and_tell_the_trace(bench: Bench) -> None:
    names = [plugin.name for plugin in bench.server.chain.plugins]
    outward = [name for name in names if "Mutating" in name or "Validating" in name]
    assert outward == [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionWebhook",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionWebhook",
    ]
    mutating(bench, "p", applying("Object{metadata: Object.metadata{labels: {'x': 'y'}}}"))
    validating(bench, {"expression": "!has(object.metadata.labels)"})
    assert refusal(bench).code == 422
    told = [(event.kind, event.data["policy"]) for event in bench.loop.trace if event.kind.startswith("policy.")]
    assert told == [("policy.mutated", "p"), ("policy.violated", "few")]
