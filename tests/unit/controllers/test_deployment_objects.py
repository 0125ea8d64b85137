"""Decisions over Deployment and ReplicaSet objects: hash, revisions, history, status."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.times import rfc3339
from k8slab.controllers.deployment import replica_sets, revisions, status
from k8slab.controllers.deployment.template_hash import compute_hash, equal_ignore_hash, pod_template_hash
from tests.unit.controllers.world import deployment

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}}


def owned(name: str, image: str = "web:1", replicas: int = 0, created_ms: int = 0, **more: Any) -> dict[str, Any]:
    annotations = {f"deployment.kubernetes.io/{key}": str(value) for key, value in more.pop("noted", {}).items()}
    template = {
        "metadata": {"labels": {"app": "web", "pod-template-hash": name}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }
    metadata = {"name": name, "uid": name, "creationTimestamp": rfc3339(created_ms), "annotations": annotations}
    return {"metadata": metadata, "spec": {"replicas": replicas, "template": template}, "status": more}


# -- template hash ---------------------------------------------------------------------------------


def test_the_hash_does_not_depend_on_the_order_of_keys() -> None:
    turned = {"spec": {"containers": [{"image": "web:1", "name": "c"}]}, "metadata": {"labels": {"app": "web"}}}
    assert pod_template_hash(TEMPLATE) == pod_template_hash(turned)


def test_a_collision_count_changes_the_hash_and_zero_is_not_absent() -> None:
    hashes = {pod_template_hash(TEMPLATE, count) for count in (None, 0, 1, 2)}
    assert len(hashes) == 4


def test_the_encoding_is_upstreams() -> None:
    """vectors/deployment.json, hash-0-0."""
    assert compute_hash(4130463924, 0) == "777dfcd544"


def test_a_collision_count_goes_in_as_32_bits() -> None:
    assert compute_hash(4130463924, -1) == compute_hash(4130463924, 0xFFFFFFFF)


@pytest.mark.parametrize(
    ("change", "equal"),
    [
        pytest.param(lambda t: t["metadata"]["labels"].update({"pod-template-hash": "x"}), True, id="the hash label"),
        pytest.param(lambda t: t["metadata"].update(annotations={}), True, id="an empty map for an absent one"),
        pytest.param(lambda t: t["spec"].update(volumes=None), True, id="null for absent"),
        pytest.param(lambda t: t["metadata"]["labels"].update(tier="x"), False, id="another label"),
        pytest.param(lambda t: t["spec"]["containers"][0].update(image="web:2"), False, id="another image"),
        pytest.param(lambda t: t["spec"]["containers"].append({"name": "d"}), False, id="another container"),
    ],
)
def test_templates_are_compared_without_hash_label(change: Any, equal: bool) -> None:
    other: dict[str, Any] = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "web:1"}]},
    }
    change(other)
    assert equal_ignore_hash(TEMPLATE, other) is equal


def test_quantities_of_equal_value_make_equal_templates() -> None:
    def with_cpu(cpu: str) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}

    assert equal_ignore_hash(with_cpu("0.1"), with_cpu("100m"))
    assert not equal_ignore_hash(with_cpu("0.1"), with_cpu("200m"))


# -- which ReplicaSet ------------------------------------------------------------------------------


def test_of_two_replica_sets_with_the_template_the_oldest_is_the_new_one() -> None:
    young, old = owned("a", created_ms=5000), owned("b", created_ms=1000)
    found = replica_sets.find_new_replica_set(deployment(), [young, old])
    assert found is not None and found["metadata"]["name"] == "b"


def test_the_replica_set_made_carries_hash_labels_owner_and_sizes() -> None:
    made = replica_sets.new_replica_set(
        {**deployment(replicas=10), "metadata": {"name": "web", "namespace": "default", "uid": "u"}}, [], 1
    )
    value = made["metadata"]["labels"]["pod-template-hash"]
    assert made["metadata"]["name"] == f"web-{value}"
    assert made["spec"]["selector"] == {"matchLabels": {"app": "web", "pod-template-hash": value}}
    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "web", "pod-template-hash": value}
    assert made["spec"]["replicas"] == 10
    assert made["metadata"]["annotations"] == {
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/desired-replicas": "10",
        "deployment.kubernetes.io/max-replicas": "13",
    }
    assert made["metadata"]["ownerReferences"][0]["controller"] is True


def test_a_new_replica_set_beside_a_full_old_one_starts_with_the_surge() -> None:
    made = replica_sets.new_replica_set(
        {**deployment(replicas=10, image="web:2"), "metadata": {"name": "web", "uid": "u"}},
        [owned("a", replicas=10)],
        2,
    )
    assert made["spec"]["replicas"] == 3


# -- revisions -------------------------------------------------------------------------------------


def test_a_reused_replica_set_keeps_its_old_revision_in_its_history() -> None:
    rs = owned("a", noted={"revision": 1})
    annotations = revisions.synced_annotations(deployment(), rs, 3)
    assert annotations["deployment.kubernetes.io/revision"] == "3"
    assert annotations["deployment.kubernetes.io/revision-history"] == "1"
    again = revisions.synced_annotations(deployment(), {"metadata": {"annotations": annotations}}, 5)
    assert again["deployment.kubernetes.io/revision-history"] == "1,3"


def test_a_higher_revision_than_the_new_one_stays() -> None:
    rs = owned("a", noted={"revision": 7})
    assert revisions.synced_annotations(deployment(), rs, 3) == rs["metadata"]["annotations"]


def test_the_history_is_cut_at_two_thousand_characters_from_its_old_end() -> None:
    history = ",".join(["1234567"] * 250)  # 1999 characters
    rs = owned("a", noted={"revision": 9, "revision-history": history})
    after = revisions.synced_annotations(deployment(), rs, 10)["deployment.kubernetes.io/revision-history"]
    assert len(after) <= 2000 and after.endswith(",1234567,9") and after.count("1234567") == 249


def test_annotations_of_the_deployment_are_copied_but_not_its_own_bookkeeping() -> None:
    annotations = {
        "team": "blue",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "deprecated.deployment.rollback.to": "1",
        "deployment.kubernetes.io/revision": "4",
    }
    noted = {**deployment(), "metadata": {"name": "web", "annotations": annotations}}
    copied = revisions.synced_annotations(noted, {"metadata": {}}, 2)
    assert copied == {"team": "blue", "deployment.kubernetes.io/revision": "2"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param([], 0, id="no ReplicaSet"),
        pytest.param([4], 0, id="only one"),
        pytest.param([4, 1, 3], 3, id="the second highest"),
        pytest.param([4, 4], 4, id="two with the highest"),
        pytest.param([4, "x"], 0, id="one that is no number is skipped"),
    ],
)
def test_last_revision(found: list[Any], expected: int) -> None:
    sets = [owned(str(index), noted={"revision": value}) for index, value in enumerate(found)]
    assert revisions.last_revision(sets) == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(None, [], id="no limit"),
        pytest.param(2**31 - 1, [], id="the largest limit means all"),
        pytest.param(3, [], id="below the limit"),
        pytest.param(1, ["r1"], id="of the two lowest one is in use"),
        pytest.param(0, ["r1", "r3"], id="nothing is kept but what is in use"),
    ],
)
def test_history_limit(limit: int | None, expected: list[str]) -> None:
    old = [
        owned("r3", noted={"revision": 3}),
        owned("r1", noted={"revision": 1}),
        owned("r2", noted={"revision": 2}, replicas=1),
    ]
    found = replica_sets.cleanable(deployment(revisionHistoryLimit=limit), old)
    assert [rs["metadata"]["name"] for rs in found] == expected


def test_a_replica_set_that_was_scaled_down_but_not_seen_is_not_deleted() -> None:
    rs = owned("r1", noted={"revision": 1}, observedGeneration=1)
    rs["metadata"]["generation"] = 2
    assert replica_sets.cleanable(deployment(revisionHistoryLimit=0), [rs]) == []


def test_scaling_is_told_from_rolling_out_by_the_annotation_of_active_replica_sets() -> None:
    remembers = owned("a", replicas=3, noted={"desired-replicas": 3})
    idle = owned("b", replicas=0, noted={"desired-replicas": 9})
    assert not replica_sets.is_scaling_event(deployment(replicas=3), [remembers, idle])
    assert replica_sets.is_scaling_event(deployment(replicas=5), [remembers, idle])


# -- status ----------------------------------------------------------------------------------------


def calculate(
    d: dict[str, Any], sets: list[dict[str, Any]], new: dict[str, Any] | None, **kwargs: Any
) -> dict[str, Any]:
    return status.calculate_status(d, sets, new, kwargs.get("now_ms", 0), terminating=kwargs.get("terminating", True))


def test_status_counts() -> None:
    old = owned("a", replicas=2, availableReplicas=2, readyReplicas=2, terminatingReplicas=1)
    old["status"]["replicas"] = 2
    new = owned("b", image="web:2", replicas=2, terminatingReplicas=0)
    new["status"]["replicas"] = 2
    found = calculate(deployment(replicas=3), [old, new], new)
    counts = {key: value for key, value in found.items() if key != "conditions"}
    assert counts == {
        "replicas": 4,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "unavailableReplicas": 2,
        "terminatingReplicas": 1,
    }
    # 3 replicas, 25 % unavailable rounds down to 0: two available ones are too few
    assert found["conditions"][0]["reason"] == "MinimumReplicasUnavailable"


def test_terminating_replicas_are_unknown_when_a_synced_replica_set_does_not_say() -> None:
    assert "terminatingReplicas" not in calculate(deployment(), [owned("a", observedGeneration=1)], None)
    assert calculate(deployment(), [owned("a")], None)["terminatingReplicas"] == 0
    assert "terminatingReplicas" not in calculate(deployment(), [], None, terminating=False)


def test_a_condition_keeps_its_place_and_times_while_status_and_reason_stay() -> None:
    first = status.new_condition("Available", "True", "A", "a", 0)
    other = status.new_condition("Progressing", "True", "P", "p", 0)
    have = {"conditions": [first, other]}
    same = status.set_deployment_condition(have, status.new_condition("Available", "True", "A", "b", 9000))
    assert same == have
    renewed = status.set_deployment_condition(have, status.new_condition("Available", "True", "B", "b", 9000))
    assert [c["type"] for c in renewed["conditions"]] == ["Progressing", "Available"]
    assert renewed["conditions"][1]["lastTransitionTime"] == rfc3339(0)
    assert renewed["conditions"][1]["lastUpdateTime"] == rfc3339(9000)
    flipped = status.set_deployment_condition(have, status.new_condition("Available", "False", "B", "b", 9000))
    assert flipped["conditions"][1]["lastTransitionTime"] == rfc3339(9000)


def progressing(reason: str, updated_ms: int, value: str = "True") -> dict[str, Any]:
    return {"conditions": [status.new_condition("Progressing", value, reason, "", updated_ms)]}


def rollout(d: dict[str, Any], now_ms: int, *sets: dict[str, Any]) -> dict[str, Any]:
    found = status.rollout_status(d, list(sets), sets[-1] if sets else None, now_ms, terminating=True)
    condition = status.condition_of(found, "Progressing")
    return dict(condition) if condition is not None else {}


def test_a_rollout_without_progress_times_out_after_its_deadline() -> None:
    d = {**deployment(progressDeadlineSeconds=10), "status": progressing("ReplicaSetUpdated", 1000)}
    stuck = owned("web-x", replicas=3)
    assert rollout(d, 11_000, stuck)["reason"] == "ReplicaSetUpdated"
    late = rollout(d, 11_001, stuck)
    assert (late["status"], late["reason"]) == ("False", "ProgressDeadlineExceeded")
    assert late["message"] == 'ReplicaSet "web-x" has timed out progressing.'


def test_progress_renews_the_time_from_which_the_deadline_counts() -> None:
    d = {**deployment(progressDeadlineSeconds=10), "status": progressing("ReplicaSetUpdated", 1000)}
    rs = owned("web-x", replicas=3, readyReplicas=1)
    moved = rollout(d, 50_000, rs)
    assert moved["reason"] == "ReplicaSetUpdated"
    assert (moved["lastTransitionTime"], moved["lastUpdateTime"]) == (rfc3339(1000), rfc3339(50_000))


def test_a_finished_rollout_stays_finished_when_pods_fail_later() -> None:
    done = {**progressing("NewReplicaSetAvailable", 0), "replicas": 3, "updatedReplicas": 3}
    d = {**deployment(progressDeadlineSeconds=10), "status": done}
    rs = owned("web-x", replicas=3, readyReplicas=1)
    rs["status"]["replicas"] = 3
    assert rollout(d, 99_000, rs)["reason"] == "NewReplicaSetAvailable"


def test_without_a_deadline_there_is_no_progressing_condition() -> None:
    d = {**deployment(progressDeadlineSeconds=None), "status": progressing("ReplicaSetUpdated", 0)}
    assert rollout(d, 0, owned("a", replicas=3)) == {}


def test_failures_of_the_new_replica_set_come_before_those_of_others() -> None:
    def failing(name: str) -> dict[str, Any]:
        condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": name}
        return owned(name, conditions=[{**condition, "lastTransitionTime": rfc3339(0)}])

    sets = [failing("old"), failing("new")]
    found = status.rollout_status(deployment(), sets, sets[1], 0, terminating=True)
    condition = status.condition_of(found, "ReplicaFailure")
    assert condition is not None and condition["message"] == "new"


@pytest.mark.parametrize(
    ("paused", "reason", "expected"),
    [
        pytest.param(True, "ReplicaSetUpdated", "DeploymentPaused", id="just paused"),
        pytest.param(True, "DeploymentPaused", None, id="paused before"),
        pytest.param(False, "DeploymentPaused", "DeploymentResumed", id="just resumed"),
        pytest.param(False, "ReplicaSetUpdated", None, id="never paused"),
        pytest.param(True, "ProgressDeadlineExceeded", None, id="lack of progress is not hidden"),
    ],
)
def test_pausing_and_resuming_show_in_progressing(paused: bool, reason: str, expected: str | None) -> None:
    d = {**deployment(paused=paused), "status": progressing(reason, 0)}
    found = status.paused_status(d, 5000)
    condition = status.condition_of(found, "Progressing") if found is not None else None
    assert (condition["reason"] if condition is not None else None) == expected


@pytest.mark.parametrize(
    ("reason", "now_ms", "expected"),
    [
        pytest.param("ReplicaSetUpdated", 3000, 8000, id="at the deadline, and a second more"),
        pytest.param("ReplicaSetUpdated", 9500, 0, id="less than a second is left: soon"),
        pytest.param("ProgressDeadlineExceeded", 3000, None, id="timed out already"),
    ],
)
def test_a_stuck_rollout_is_looked_at_again(reason: str, now_ms: int, expected: int | None) -> None:
    d = {**deployment(progressDeadlineSeconds=10), "status": progressing(reason, 0)}
    assert status.progress_check_ms(d, {}, now_ms) == expected
