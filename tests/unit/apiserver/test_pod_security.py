"""Pod Security on a server: modes, versions, exemptions, workloads, namespaces. The checks themselves are golden."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8slab.api.errors import StatusError
from k8slab.api.scheme import DEPLOYMENTS, NAMESPACES, PODS
from k8slab.apiserver.admission import Chain, Objects
from k8slab.apiserver.admission.pod_security import (
    LEVELS,
    Evaluator,
    Exemptions,
    LevelVersion,
    PodSecurity,
    Policy,
    policy_of,
)
from k8slab.apiserver.admission.pod_security.baseline import BASELINE_CHECKS
from k8slab.apiserver.admission.pod_security.levels import PREFIX
from k8slab.apiserver.admission.pod_security.restricted import RESTRICTED_CHECKS
from tests.unit.apiserver.conftest import MERGE, Bench
from tests.unit.apiserver.test_admission import refused

Json = Any
BAD = {"containers": [{"name": "c", "image": "i:1"}], "hostPID": True}
GOOD = {"containers": [{"name": "c", "image": "i:1"}]}


def labels(**modes: str) -> dict[str, str]:
    return {f"{PREFIX}{mode.replace('_', '-')}": value for mode, value in modes.items()}


def world(exemptions: Exemptions = Exemptions(), **modes: str) -> tuple[Objects, Chain]:  # noqa: B008
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "labels": labels(**modes)}}
    objects = Objects([namespace])
    return objects, Chain([PodSecurity(exemptions=exemptions)], objects)


def judge(objects: Objects, chain: Chain, spec: Json, resource: str = "pods", **more: Any) -> tuple[str, Json, Json]:
    """(error, warnings, audit annotations without the prefix) of a create."""
    obj = {"metadata": {"name": "p"}, "spec": spec}
    attributes = objects.attributes(resource, obj, namespace="ns", **more)
    error = ""
    try:
        objects.run(chain.validate(attributes))
    except StatusError as raised:
        error = f"{raised.code} {raised.message}"
    audit = {key.removeprefix(PREFIX): value for key, value in attributes.context.audit.items()}
    return error, attributes.context.warnings, audit


def test_enforce_refuses_audit_annotates_warn_warns() -> None:
    why = "host namespaces (hostPID=true)"
    error, warnings, audit = judge(*world(enforce="baseline"), BAD)
    assert error == f'403 pods "p" is forbidden: violates PodSecurity "baseline:latest": {why}'
    assert (warnings, audit) == ([], {"enforce-policy": "baseline:latest"}), "no warning with a refusal"
    error, warnings, audit = judge(*world(audit="baseline"), BAD)
    assert (error, warnings) == ("", [])
    assert audit["audit-violations"] == f'would violate PodSecurity "baseline:latest": {why}'
    error, warnings, audit = judge(*world(warn="baseline", warn_version="v1.30"), BAD)
    assert (error, warnings) == ("", [f'would violate PodSecurity "baseline:v1.30": {why}'])


def test_without_labels_everything_goes() -> None:
    assert judge(*world(), BAD) == ("", [], {"enforce-policy": "privileged:latest"})


def test_workloads_are_warned_about_and_never_refused() -> None:
    error, warnings, audit = judge(*world(enforce="baseline"), {"template": {"spec": BAD}}, "deployments.apps")
    assert (error, len(warnings), audit) == ("", 1, {}), "warn is as strict as enforce unless it is named"
    error, warnings, audit = judge(
        *world(enforce="baseline", audit="restricted"),
        {"jobTemplate": {"spec": {"template": {"spec": BAD}}}},
        "cronjobs.batch",
    )
    assert (error, len(warnings), list(audit)) == ("", 1, ["audit-violations"])


@pytest.mark.parametrize(
    ("exemptions", "spec", "why"),
    [
        (Exemptions(namespaces=["ns"]), BAD, "namespace"),
        (Exemptions(usernames=["root"]), BAD, "user"),
        (Exemptions(runtime_classes=["gvisor"]), {**BAD, "runtimeClassName": "gvisor"}, "runtimeClass"),
    ],
)
def test_exemptions(exemptions: Exemptions, spec: Json, why: str) -> None:
    assert judge(*world(exemptions, enforce="restricted"), spec, user="root") == ("", [], {"exempt": why})


def test_labels_that_cannot_be_read_are_restricted_for_enforce_and_nothing_for_the_rest() -> None:
    error, warnings, audit = judge(*world(enforce="tight", audit="tight", warn="tight"), BAD)
    assert error.startswith('403 pods "p" is forbidden: violates PodSecurity "restricted:latest"')
    assert warnings == [] and audit["error"].startswith("Failed to parse policy: [metadata.labels[")


def test_only_a_change_of_images_is_looked_at_in_an_update(bench: Bench) -> None:
    bench.call("create", NAMESPACES, ns="", body={"metadata": {"name": "ns"}})
    pod = bench.pod("p", hostPID=True)
    bench.call(
        "patch", NAMESPACES, "default", {"metadata": {"labels": labels(enforce="baseline")}}, ns="", patch_type=MERGE
    )
    bench.call("patch", PODS, "p", {"metadata": {"labels": {"a": "b"}}}, patch_type=MERGE)
    patch = {"spec": {"containers": [{**pod["spec"]["containers"][0], "image": "i:2"}]}}
    assert 'violates PodSecurity "baseline:latest"' in refused(
        bench, "patch", PODS, "p", patch, patch_type="application/strategic-merge-patch+json"
    )


def test_a_warning_travels_in_a_header(bench: Bench) -> None:
    body = {"metadata": {"name": "ns", "labels": labels(warn="baseline")}}
    bench.call("create", NAMESPACES, ns="", body=body)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": BAD}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    path = "/apis/apps/v1/namespaces/ns/deployments"
    status, _, headers = bench.http("POST", path, {"metadata": {"name": "d"}, "spec": spec})
    assert status == 201
    told = [value for key, value in headers.items() if key.lower() == "warning"]
    assert told and "would violate PodSecurity" in str(told)
    assert bench.call("get", DEPLOYMENTS, "d", ns="ns")["metadata"]["name"] == "d"


def test_a_namespace_must_name_levels_and_versions_that_there_are(bench: Bench) -> None:
    body = {"metadata": {"name": "ns", "labels": labels(enforce="tight", warn_version="1.2")}}
    text = refused(bench, "create", NAMESPACES, ns="", body=body)
    assert text.startswith('422 Namespace "ns" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: ')
    assert 'Invalid value: "1.2": must be "latest" or "v1.x"' in text


@pytest.mark.parametrize(
    ("before", "after", "warns"),
    [
        pytest.param({}, {"enforce": "baseline"}, True, id="a stricter level warns of the Pods that are there"),
        pytest.param({"enforce": "restricted"}, {"enforce": "baseline"}, False, id="a laxer one does not"),
        pytest.param({"enforce": "baseline"}, {"enforce": "privileged"}, False, id="privileged never does"),
        pytest.param(
            {"enforce": "baseline"},
            {"enforce": "baseline", "enforce_version": "v1.20"},
            True,
            id="another version does",
        ),
    ],
)
def test_a_namespace_that_becomes_stricter_warns(before: Json, after: Json, warns: bool) -> None:
    objects, chain = world(**before)
    for number in range(3):
        owner = {"controller": True, "uid": "u"}
        metadata = {"name": f"p{number}", "namespace": "ns", "ownerReferences": [owner]}
        objects.put({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": BAD})
    old = objects.cached("namespaces", "", "ns")
    new = {"metadata": {"name": "ns", "labels": labels(**after)}}
    attributes = objects.attributes("namespaces", new, operation="UPDATE", old=old)
    objects.run(chain.validate(attributes))
    level = LevelVersion("baseline", after.get("enforce_version", "latest"))
    expected = [
        f'existing pods in namespace "ns" violate the new PodSecurity enforce level "{level}"',
        "p0 (and 2 other pods): host namespaces",
    ]
    assert attributes.context.warnings == (expected if warns else [])


def test_labels_of_an_exempt_namespace_are_for_nothing_and_it_says_so() -> None:
    objects, chain = world(Exemptions(namespaces=["sys"]))
    new = {"metadata": {"name": "sys", "labels": labels(enforce="baseline", warn="restricted")}}
    attributes = objects.attributes("namespaces", new)
    objects.run(chain.validate(attributes))
    assert attributes.context.warnings == [
        'namespace "sys" is exempt from Pod Security, and the policy (enforce=baseline:latest, '
        "warn=restricted:latest) will be ignored"
    ]


@given(
    st.fixed_dictionaries({}, optional={mode: st.sampled_from([*LEVELS, "x"]) for mode in Policy._fields}),
    st.fixed_dictionaries({}, optional={mode: st.sampled_from(["latest", "v1.30", "1"]) for mode in Policy._fields}),
)
def test_a_policy_from_labels_has_always_three_levels(levels: Json, versions: Json) -> None:
    """The twin: mode by mode, as the documentation words it."""
    given_labels = labels(**levels, **{f"{mode}_version": value for mode, value in versions.items()})
    policy, causes = policy_of(given_labels)
    assert len(causes) == [*levels.values()].count("x") + [*versions.values()].count("1")
    assert policy.enforce.level == {"x": "restricted", None: "privileged"}.get(
        levels.get("enforce"), levels.get("enforce")
    )
    assert policy.audit.level == {"x": "privileged", None: "privileged"}.get(levels.get("audit"), levels.get("audit"))
    if "warn" not in levels and levels.get("enforce") != "x":
        assert LEVELS.index(policy.warn.level) >= LEVELS.index(policy.enforce.level)
    for mode, one in zip(Policy._fields, policy, strict=True):
        if mode != "warn" or "warn_version" in versions:
            assert one.version == (versions.get(mode) if versions.get(mode) == "v1.30" else "latest")


def test_checks_are_in_the_order_of_their_ids_and_replace_only_checks_that_there_are() -> None:
    for checks in (BASELINE_CHECKS, RESTRICTED_CHECKS):
        assert [check.id for check in checks] == sorted(check.id for check in checks)
        for check in checks:
            minors = [minor for minor, _ in check.versions]
            assert minors == sorted(set(minors))
    assert {check.overrides for check in RESTRICTED_CHECKS} - {""} <= {check.id for check in BASELINE_CHECKS}


def test_a_release_does_not_know_the_checks_of_later_ones() -> None:
    """Hosts of probes are checked since v1.34; `latest` of an older server is the newest it knows."""
    probe = {"livenessProbe": {"httpGet": {"host": "10.0.0.1", "port": 80}}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", **probe}]}}
    verdicts = {
        (release, version): Evaluator(release).evaluate(LevelVersion("baseline", version), pod).allowed
        for release in ("1.32", "1.36")
        for version in ("latest", "v1.33", "v1.34", "v1.99")
    }
    assert [key for key, allowed in verdicts.items() if not allowed] == [
        ("1.36", "latest"),
        ("1.36", "v1.34"),
        ("1.36", "v1.99"),
    ]


@pytest.mark.parametrize(
    ("version", "is_right"), [(f"v1.{(1 << 63) - 1}", True), (f"v1.{1 << 63}", False), ("v1.036", False)]
)
def test_a_version_is_a_number_that_go_can_hold(version: str, is_right: bool) -> None:
    policy, causes = policy_of({"pod-security.kubernetes.io/enforce-version": version})
    assert (policy.enforce.version, not causes) == (version if is_right else "latest", is_right)
