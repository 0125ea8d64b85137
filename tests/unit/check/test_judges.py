"""Every judge finds what it is for, and nothing in a run that is well."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.objects import freeze
from k8slab.check import ALL, Convergence, NoLostUpdate, Ownership, RolloutBounds, WatchOrder, judge, timeline
from k8slab.sim import Clock, Trace


class History:
    """Builds a trace: every `put` is a commit."""

    def __init__(self) -> None:
        self.trace = Trace(Clock())
        self.revision = 0

    def put(self, resource: str, key: str, obj: dict[str, Any] | None, base: int | None = None) -> int:
        self.revision += 1
        op = "delete" if obj is None else "put"
        seq = self.trace.emit(
            "etcd.commit", "etcd", resource=resource, key=key, revision=self.revision, op=op, base=base
        )
        self.trace.commit(self.revision, seq)
        self.trace.record_object(resource, key, self.revision, None if obj is None else freeze(obj))
        return self.revision

    def watch(self, kind: str, key: str, revision: int, stream: int = 1) -> None:
        self.trace.emit("watch.event", "kcm", type=kind, resource="pods", key=key, revision=revision, stream=stream)


def pod(name: str, owner: str = "", **metadata: Any) -> dict[str, Any]:
    refs = [{"kind": "ReplicaSet", "name": "rs", "uid": owner, "controller": True}] if owner else []
    return {"metadata": {"name": name, "uid": f"uid-{name}", "ownerReferences": refs, **metadata}}


def replica_set(replicas: int, uid: str = "rs-uid", deployment: str = "") -> dict[str, Any]:
    refs = [{"kind": "Deployment", "name": "web", "uid": deployment, "controller": True}] if deployment else []
    return {"metadata": {"name": "rs", "uid": uid, "ownerReferences": refs}, "spec": {"replicas": replicas}}


def deployment(replicas: int, surge: Any = 1, status: int | None = None, observed: int = 1) -> dict[str, Any]:
    state = {} if status is None else dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), status)
    return {
        "metadata": {"name": "web", "uid": "dep-uid", "generation": 1},
        "spec": {"replicas": replicas, "strategy": {"rollingUpdate": {"maxSurge": surge}}},
        "status": {"observedGeneration": observed, **state},
    }


def test_a_run_that_is_well_has_no_violation() -> None:
    h = History()
    h.put("deployments.apps", "d/web", deployment(2, status=2))
    h.put("replicasets.apps", "d/rs", replica_set(2, deployment="dep-uid"))
    for name in ("a", "b"):
        revision = h.put("pods", f"d/{name}", pod(name, "rs-uid"))
        h.watch("ADDED", f"d/{name}", revision)
    assert judge(h.trace, ALL) == []


def test_timeline_gives_every_change_by_revision() -> None:
    h = History()
    h.put("pods", "d/a", pod("a"))
    h.put("pods", "d/b", pod("b"))
    h.put("pods", "d/a", None)
    assert [(c.revision, c.key, c.obj is None) for c in timeline(h.trace)] == [
        (1, "d/a", False),
        (2, "d/b", False),
        (3, "d/a", True),
    ]


def test_a_watch_that_goes_back_is_found() -> None:
    h = History()
    first = h.put("pods", "d/a", pod("a"))
    second = h.put("pods", "d/a", pod("a"))
    h.watch("ADDED", "d/a", second)
    h.watch("MODIFIED", "d/a", first)
    [violation] = judge(h.trace, [WatchOrder()])
    assert violation.message == "stream 1 of kcm delivers revision 1 after 2"


@pytest.mark.parametrize(
    ("kinds", "text"),
    [
        (("ADDED", "ADDED"), "delivers ADDED of d/a after ADDED"),
        (("ADDED", "DELETED", "MODIFIED"), "delivers MODIFIED of d/a after DELETED"),
        (("ADDED", "DELETED", "DELETED"), "delivers DELETED of d/a after DELETED"),
    ],
    ids=["added twice", "modified after it was deleted", "deleted twice"],
)
def test_a_life_that_makes_no_sense_is_found(kinds: tuple[str, ...], text: str) -> None:
    h = History()
    for kind in kinds:
        h.watch(kind, "d/a", h.put("pods", "d/a", pod("a")))
    assert any(text in v.message for v in judge(h.trace, [WatchOrder()]))


def test_a_delivered_revision_that_never_was_is_found() -> None:
    h = History()
    h.put("pods", "d/a", pod("a"))
    h.watch("ADDED", "d/a", 77)
    assert "which never was" in judge(h.trace, [WatchOrder()])[0].message


def test_a_cache_that_goes_back_in_time_is_found() -> None:
    h = History()
    for revision in (5, 3):
        h.trace.emit("cache.update", "kcm/informers", resource="pods", key="d/a", revision=revision, delta="Replaced")
    assert "takes d/a back to revision 3" in judge(h.trace, [WatchOrder()])[0].message


def test_a_lost_update_is_found_and_a_new_life_is_none() -> None:
    h = History()
    first = h.put("pods", "d/a", pod("a"), base=0)
    second = h.put("pods", "d/a", pod("a"), base=first)
    h.put("pods", "d/a", None, base=second)
    h.put("pods", "d/a", pod("a"), base=0)
    assert judge(h.trace, [NoLostUpdate()]) == []
    h.put("pods", "d/a", pod("a"), base=first)
    assert len(judge(h.trace, [NoLostUpdate()])) == 1


def test_more_active_pods_than_were_ever_asked_for_are_found_once_per_new_high() -> None:
    h = History()
    h.put("replicasets.apps", "d/rs", replica_set(1))
    for name in ("a", "b", "c"):
        h.put("pods", f"d/{name}", pod(name, "rs-uid"))
    found = judge(h.trace, [Ownership()])
    assert [v.message for v in found] == [
        f"ReplicaSet d/rs has {n} active Pods, and never asked for more than 1" for n in (2, 3)
    ]


def test_pods_that_are_being_deleted_or_have_ended_do_not_count_as_active() -> None:
    h = History()
    h.put("replicasets.apps", "d/rs", replica_set(1))
    h.put("pods", "d/a", pod("a", "rs-uid", deletionTimestamp="2026-01-01T00:00:00Z"))
    h.put("pods", "d/b", {**pod("b", "rs-uid"), "status": {"phase": "Failed"}})
    h.put("pods", "d/c", pod("c", "rs-uid"))
    assert judge(h.trace, [Ownership()]) == []


def test_two_controllers_of_one_object_are_found() -> None:
    h = History()
    both = pod("a", "rs-uid")
    both["metadata"]["ownerReferences"].append({"kind": "Job", "name": "j", "uid": "j", "controller": True})
    h.put("pods", "d/a", both)
    assert judge(h.trace, [Ownership()])[0].message == "pods d/a has 2 controllers"


@pytest.mark.parametrize(("surge", "bad"), [(1, True), (2, False), ("25%", False), ("0%", True)], ids=str)
def test_replicasets_that_ask_for_more_than_replicas_plus_surge_are_found(surge: Any, bad: bool) -> None:
    h = History()
    h.put("deployments.apps", "d/web", deployment(5, surge))
    h.put("replicasets.apps", "d/old", replica_set(4, "old", "dep-uid"))
    h.put("replicasets.apps", "d/new", replica_set(3, "new", "dep-uid"))
    assert bool(judge(h.trace, [RolloutBounds()])) is bad


def test_convergence_names_what_is_left_over() -> None:
    h = History()
    h.put("replicasets.apps", "d/rs", replica_set(2, deployment="gone"))
    h.put("pods", "d/a", pod("a", "rs-uid"))
    h.put("deployments.apps", "d/web", deployment(3, status=2))
    texts = [v.message for v in judge(h.trace, [Convergence()])]
    assert texts == [
        "replicasets.apps d/rs has outlived its owner Deployment web",
        "replicasets.apps d/rs has 1 active Pods and wants 2",
        "deployments.apps d/web has replicas 2 and wants 3",
        "deployments.apps d/web has updatedReplicas 2 and wants 3",
        "deployments.apps d/web has availableReplicas 2 and wants 3",
    ]


def test_convergence_does_not_mind_what_was_deleted() -> None:
    h = History()
    h.put("deployments.apps", "d/web", deployment(3, status=0))
    h.put("deployments.apps", "d/web", None)
    assert judge(h.trace, [Convergence()]) == []
