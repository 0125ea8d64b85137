"""Deployments rolled out over the fake API server; sequences and texts as in shared/golden/live/ctl-deployment-*."""

from __future__ import annotations

import re
from typing import Any

import pytest

from k8slab.api.errors import ForbiddenError, NotFoundError
from k8slab.api.objects import Object, thaw
from k8slab.api.scheme import DEPLOYMENTS, PODS, REPLICASETS
from k8slab.controllers.deployment.template_hash import pod_template_hash
from tests.unit.controllers.world import World, deployment

REVISION = "deployment.kubernetes.io/revision"


@pytest.fixture
def world() -> Any:
    world = World()
    yield world
    world.close()


def scaled(world: World) -> list[str]:
    """The messages about scaling, with the images in place of ReplicaSet names."""
    names = {rs["metadata"]["name"]: image for image, rs in world.replica_sets().items()}
    messages = [message for _, reason, message in world.events("Deployment") if reason == "ScalingReplicaSet"]
    return [re.sub(r"web-\w+", lambda m: names[m[0]], message) for message in messages]


def test_a_deployment_makes_one_replica_set_and_becomes_available(world: World) -> None:
    world.transport.put(DEPLOYMENTS, deployment(replicas=3))
    world.run()
    (rs,) = world.transport.of(REPLICASETS)
    d = world.deployment()
    assert d["metadata"]["annotations"] == {REVISION: "1"}
    assert {key: value for key, value in d["status"].items() if key != "conditions"} == {
        "observedGeneration": 1,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "terminatingReplicas": 0,
    }
    name = rs["metadata"]["name"]
    assert world.condition(d, "Progressing") == (
        "True",
        "NewReplicaSetAvailable",
        f'ReplicaSet "{name}" has successfully progressed.',
    )
    assert world.condition(d, "Available") == (
        "True",
        "MinimumReplicasAvailable",
        "Deployment has minimum availability.",
    )
    assert scaled(world) == ["Scaled up replica set web:1 from 0 to 3"]


def test_the_status_goes_through_the_recorded_steps(world: World) -> None:
    """ctl-deployment-delete, revisions 1 to 17."""
    world.transport.put(DEPLOYMENTS, deployment(replicas=2))
    world.run()
    reasons = []
    for change in world.transport.changes:
        if change.gvr == DEPLOYMENTS and change.new is not None:
            found = tuple(c["reason"] for c in (change.new.get("status") or {}).get("conditions") or ())
            if found not in reasons:
                reasons.append(found)
    assert reasons == [
        (),
        ("NewReplicaSetCreated",),
        ("NewReplicaSetCreated", "MinimumReplicasUnavailable"),
        ("MinimumReplicasUnavailable", "ReplicaSetUpdated"),
        ("MinimumReplicasAvailable", "NewReplicaSetAvailable"),
    ]


def test_a_rolling_update_of_ten_takes_the_recorded_sizes(world: World) -> None:
    """ctl-deployment-rolling: the old ReplicaSet has 10, 8, 7, 5, 3, 2, 1, 0 Pods."""
    world.transport.put(DEPLOYMENTS, deployment(replicas=10))
    world.run(1000)
    world.set_image("web:2")
    world.run()
    history = world.sizes_over_time()
    old = list(dict.fromkeys(sizes["web:1"] for sizes in history))
    assert old == [10, 8, 7, 5, 3, 2, 1, 0]
    assert max(sum(sizes.values()) for sizes in history) == 13
    assert history[-1] == {"web:1": 0, "web:2": 10}
    assert scaled(world)[:4] == [
        "Scaled up replica set web:1 from 0 to 10",
        "Scaled up replica set web:2 from 0 to 3",
        "Scaled down replica set web:1 from 10 to 8",
        "Scaled up replica set web:2 from 3 to 5",
    ]


def test_going_back_to_an_old_template_reuses_its_replica_set(world: World) -> None:
    world.transport.put(DEPLOYMENTS, deployment(replicas=2))
    world.run()
    for image in ("web:2", "web:1"):
        world.set_image(image)
        world.run()
    sets = world.replica_sets()
    assert len(sets) == 2
    noted = sets["web:1"]["metadata"]["annotations"]
    assert (noted[REVISION], noted["deployment.kubernetes.io/revision-history"]) == ("3", "1")
    assert world.deployment()["metadata"]["annotations"][REVISION] == "3"
    assert {image: rs["spec"]["replicas"] for image, rs in sets.items()} == {"web:1": 2, "web:2": 0}


def annotate(world: World, **annotations: str) -> None:
    def edit(obj: dict[str, Any]) -> None:
        obj["metadata"]["annotations"] = {**obj["metadata"].get("annotations", {}), **annotations}

    world.change(DEPLOYMENTS, "default/web", edit)


@pytest.mark.parametrize(
    ("revision", "image", "reason", "message"),
    [
        pytest.param(
            "1", "web:1", "DeploymentRollback", 'Rolled back deployment "web" to revision 1', id="to a revision"
        ),
        pytest.param(
            "0", "web:1", "DeploymentRollback", 'Rolled back deployment "web" to revision 1', id="to the last one"
        ),
        pytest.param(
            "2",
            "web:2",
            "DeploymentRollbackTemplateUnchanged",
            'The rollback revision contains the same template as current deployment "web"',
            id="to what runs already",
        ),
        pytest.param(
            "9",
            "web:2",
            "DeploymentRollbackRevisionNotFound",
            "Unable to find the revision to rollback to.",
            id="to one that does not exist",
        ),
    ],
)
def test_rollback_by_annotation(world: World, revision: str, image: str, reason: str, message: str) -> None:
    world.transport.put(DEPLOYMENTS, deployment(replicas=2))
    world.run()
    world.set_image("web:2")
    world.run()
    annotate(world, **{"deprecated.deployment.rollback.to": revision})
    world.run()
    assert "deprecated.deployment.rollback.to" not in world.deployment()["metadata"]["annotations"]
    assert (reason, message) in [event[1:] for event in world.events("Deployment")]
    sizes = {image: rs["spec"]["replicas"] for image, rs in world.replica_sets().items()}
    assert sizes == {"web:1": 0, "web:2": 0, image: 2}


def test_the_history_is_trimmed_to_its_limit(world: World) -> None:
    world.transport.put(DEPLOYMENTS, deployment(replicas=2, revisionHistoryLimit=1))
    world.run()
    for image in ("web:2", "web:3"):
        world.set_image(image)
        world.run()
    assert sorted(world.replica_sets()) == ["web:2", "web:3"]


def test_a_paused_deployment_scales_but_does_not_roll(world: World) -> None:
    world.transport.put(DEPLOYMENTS, deployment(replicas=4))
    world.run()

    def pause(obj: dict[str, Any]) -> None:
        obj["spec"]["paused"] = True

    world.change(DEPLOYMENTS, "default/web", pause)
    world.run()
    assert world.condition(world.deployment(), "Progressing") == ("Unknown", "DeploymentPaused", "Deployment is paused")
    world.set_image("web:2")
    world.change(DEPLOYMENTS, "default/web", lambda obj: obj["spec"].update(replicas=6))
    world.run()
    assert {image: rs["spec"]["replicas"] for image, rs in world.replica_sets().items()} == {"web:1": 6}
    world.change(DEPLOYMENTS, "default/web", lambda obj: obj["spec"].update(paused=False))
    world.run()
    assert {image: rs["spec"]["replicas"] for image, rs in world.replica_sets().items()} == {"web:1": 0, "web:2": 6}
    reasons = [
        condition["reason"]
        for change in world.transport.changes
        if change.gvr == DEPLOYMENTS and change.new is not None
        for condition in (change.new.get("status") or {}).get("conditions") or ()
    ]
    assert "DeploymentResumed" in reasons


def test_a_rollout_that_does_not_progress_is_reported_after_its_deadline() -> None:
    world = World()
    world.transport.put(DEPLOYMENTS, deployment(replicas=4, progressDeadlineSeconds=4))
    world.run()
    world.set_image("broken:1")
    world.run(4000)
    assert (world.condition(world.deployment(), "Progressing") or ("",))[0] == "True"
    world.run(3000)
    status, reason, message = world.condition(world.deployment(), "Progressing") or ("", "", "")
    assert (status, reason) == ("False", "ProgressDeadlineExceeded")
    assert message.endswith("has timed out progressing.")
    # ctl-deployment-deadline-recreate-limits: of 4 one may be missing and one too many
    assert {image: rs["spec"]["replicas"] for image, rs in world.replica_sets().items()} == {"web:1": 3, "broken:1": 2}
    world.set_image("web:1")
    world.run()
    assert {image: rs["spec"]["replicas"] for image, rs in world.replica_sets().items()} == {"web:1": 4, "broken:1": 0}
    world.close()


def test_recreate_stops_everything_before_it_starts_anything() -> None:
    world = World(graceful_pods=True)
    world.transport.put(DEPLOYMENTS, deployment(replicas=3, strategy={"type": "Recreate"}))
    world.run()
    for pod in world.pods():
        world.transport.put(PODS, {**thaw(pod), "spec": {**thaw(pod["spec"]), "nodeName": "n"}})
    world.set_image("web:2")
    world.run()
    assert len(world.pods()) == 3  # they are told to end, and until they did nothing starts
    assert sorted(world.replica_sets()) == ["web:1"]
    for pod in world.pods():
        world.transport.remove(PODS, f"default/{pod['metadata']['name']}")
    world.run()
    assert {image: rs["spec"]["replicas"] for image, rs in world.replica_sets().items()} == {"web:1": 0, "web:2": 3}
    assert len(world.pods()) == 3


def orphan(spec: Any, **more: Any) -> dict[str, Any]:
    """A ReplicaSet without owner, whose template is that of `spec`."""
    labels = {"app": "web", "pod-template-hash": "old"}
    template = {**spec["template"], "metadata": {"labels": labels}}
    metadata = {"name": "web-old", "namespace": "default", "labels": labels, **more}
    return {
        "metadata": metadata,
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
        "status": {"replicas": 0},
    }


def test_an_orphan_with_the_same_template_is_adopted(world: World) -> None:
    """ctl-deployment-delete, revisions 89 to 92."""
    noted = {
        REVISION: "1",
        "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
    }
    wanted = deployment(replicas=2)
    world.transport.put(REPLICASETS, orphan(wanted["spec"], annotations=noted))
    world.run()
    world.transport.put(DEPLOYMENTS, wanted)
    world.run()
    (rs,) = world.transport.of(REPLICASETS)
    assert rs["metadata"]["ownerReferences"][0]["uid"] == world.deployment()["metadata"]["uid"]
    messages = [
        condition["message"]
        for change in world.transport.changes
        if change.gvr == DEPLOYMENTS and change.new is not None
        for condition in (change.new.get("status") or {}).get("conditions") or ()
    ]
    assert 'Found new replica set "web-old"' in messages
    assert scaled(world) == []


def test_a_replica_set_that_no_longer_matches_is_released(world: World) -> None:
    world.transport.put(DEPLOYMENTS, deployment(replicas=2))
    world.run()
    (rs,) = world.transport.of(REPLICASETS)
    key = f"default/{rs['metadata']['name']}"
    world.change(REPLICASETS, key, lambda obj: obj["metadata"].update(labels={"app": "other"}))
    world.run(50)
    (patch,) = [r.body for r in world.transport.requests if r.verb == "patch" and r.resource == REPLICASETS][:1]
    assert isinstance(patch, dict)
    uid = world.deployment()["metadata"]["uid"]
    assert patch["metadata"] == {"uid": rs["metadata"]["uid"], "ownerReferences": [{"$patch": "delete", "uid": uid}]}


def test_a_hash_collision_is_counted_and_another_name_tried(world: World) -> None:
    wanted = deployment(replicas=2)
    name = f"web-{pod_template_hash(wanted['spec']['template'])}"
    foreign = orphan(wanted["spec"], name=name)
    foreign["metadata"]["labels"] = {"app": "somebody-else"}
    world.transport.put(REPLICASETS, foreign)
    world.run(50)
    world.transport.put(DEPLOYMENTS, wanted)
    world.run()
    d = world.deployment()
    assert d["status"]["collisionCount"] == 1
    assert d["status"]["availableReplicas"] == 2
    names = sorted(rs["metadata"]["name"] for rs in world.transport.of(REPLICASETS))
    assert f"web-{pod_template_hash(wanted['spec']['template'], 1)}" in names


def test_a_refused_creation_is_reported_and_tried_again(world: World) -> None:
    error = ForbiddenError.of("replicasets", "web-x", "exceeded quota", "apps")
    world.transport.fail_next("create", REPLICASETS, error)
    world.transport.put(DEPLOYMENTS, deployment(replicas=1))
    world.run()
    failed = [event for event in world.events("Deployment") if event[1] == "ReplicaSetCreateError"]
    ((kind, _, message),) = failed
    assert kind == "Warning"
    assert message.endswith('replicasets.apps "web-x" is forbidden: exceeded quota')
    assert world.deployment()["status"]["availableReplicas"] == 1


def test_in_a_namespace_that_is_going_away_it_gives_up_at_once(world: World) -> None:
    error = ForbiddenError(
        "namespace is being terminated", details={"causes": [{"reason": "NamespaceTerminating", "message": ""}]}
    )
    world.transport.fail_next("create", REPLICASETS, error)
    world.transport.put(DEPLOYMENTS, deployment(replicas=1))
    world.run()
    assert world.transport.of(REPLICASETS) == []
    assert world.events("Deployment") == []


def test_an_empty_selector_is_refused_with_an_event(world: World) -> None:
    world.transport.put(DEPLOYMENTS, deployment(selector={}))
    world.run()
    message = "This deployment is selecting all pods. A non-empty selector is required."
    assert world.events("Deployment") == [("Warning", "SelectingAll", message)]
    assert world.deployment()["status"] == {"observedGeneration": 1}


def test_a_deployment_being_deleted_only_reports(world: World) -> None:
    world.transport.put(DEPLOYMENTS, deployment(replicas=2))
    world.run()

    def delete(obj: dict[str, Any]) -> None:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2"
        obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:02Z"
        obj["metadata"]["finalizers"] = ["orphan"]

    world.change(DEPLOYMENTS, "default/web", delete)
    world.run()
    assert sorted(world.replica_sets()) == ["web:1"]
    assert world.deployment()["status"]["observedGeneration"] == 2


def test_scaling_in_mid_rollout_is_proportional() -> None:
    world = World()
    world.transport.put(DEPLOYMENTS, deployment(replicas=10))
    world.run()
    world.set_image("broken:1")
    world.run()
    assert {image: rs["spec"]["replicas"] for image, rs in world.replica_sets().items()} == {"web:1": 8, "broken:1": 5}
    world.change(DEPLOYMENTS, "default/web", lambda obj: obj["spec"].update(replicas=20))
    world.run(200)
    # 25 in place of 13: 8 and 5 become 15.4 and 9.6
    history = world.sizes_over_time()
    assert {"web:1": 15, "broken:1": 10} in history
    world.close()


def test_losing_every_answer_once_does_not_make_two_of_anything() -> None:
    world = World()
    for verb, gvr in (("create", REPLICASETS), ("update", DEPLOYMENTS), ("create", PODS), ("update", REPLICASETS)):
        world.transport.lose_reply(verb, gvr)
    world.transport.put(DEPLOYMENTS, deployment(replicas=3))
    world.run(5000)
    assert len(world.transport.of(REPLICASETS)) == 1
    # the lost Pod was made: the expectation was lowered for it, its addition lowered it again, and the count is right
    assert world.deployment()["status"]["availableReplicas"] == 3
    assert len(world.pods()) == 3
    world.close()


def test_it_stores_no_status_twice(world: World) -> None:
    world.transport.put(DEPLOYMENTS, deployment(replicas=3))
    world.run()
    writes = len(world.transport.changes)
    for controller in world.controllers.values():
        for key in ("default/web", *(f"default/{rs['metadata']['name']}" for rs in world.transport.of(REPLICASETS))):
            controller.queue.add(key)
    world.run()
    assert len(world.transport.changes) == writes


def seen(world: World) -> list[tuple[str, Object | None]]:
    return [(change.gvr.resource, change.new) for change in world.transport.changes]


def test_two_runs_with_one_seed_are_equal() -> None:
    runs = []
    for _ in range(2):
        world = World(seed=11)
        world.transport.put(DEPLOYMENTS, deployment(replicas=5))
        world.run(500)
        world.set_image("web:2")
        world.run()
        runs.append((seen(world), world.loop.trace.to_jsonl()))
        world.close()
    assert runs[0] == runs[1]


def test_a_missing_replica_set_after_already_exists_is_tried_again(world: World) -> None:
    """The cache does not show what the server says exists: an error, and the next sync finds it."""
    world.transport.lose_reply("create", REPLICASETS)
    world.transport.fail_next("get", REPLICASETS, NotFoundError("gone"))
    world.transport.put(DEPLOYMENTS, deployment(replicas=1))
    world.run()
    assert len(world.transport.of(REPLICASETS)) == 1
    assert world.deployment()["status"]["availableReplicas"] == 1
