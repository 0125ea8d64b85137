"""Wrong variants of the parts that keep a cluster right: the same judges that find nothing in a right run find each.

Spec: DESIGN.md's list of what goes wrong when a rule is left out; client-go and pkg/controller for the rules.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from k8slab.apiserver import SingleMember, watchcache
from k8slab.apiserver.registry import Store as RegistryStore
from k8slab.check import ALL, Judge, NoLostUpdate, Violation, WatchOrder, timeline
from k8slab.client import UIDTrackingExpectations, run_workers, shared_informer
from k8slab.cluster import Cluster, control_plane
from k8slab.controllers.deployment import Fenceposts, sync
from k8slab.controllers.deployment.fenceposts import fenceposts_of
from k8slab.controllers.replicaset import ReplicaSetController
from k8slab.etcd import Store
from k8slab.sim import Hold, Trace, find_holds, minimise_holds, pause
from tests.deployments import created_pods, deployment, new_image, settle, verdict

LONG_MS = 120_000
OLD_RELEASE = {"StaleControllerConsistencyReplicaSet": False}
"""Without the second guard of 1.36, as all releases before it."""


class NoExpectations(UIDTrackingExpectations):
    def satisfied_expectations(self, key: str) -> bool:
        return True


class Forgetful(ReplicaSetController):
    """Does not remember what it asked for and has not seen yet."""

    def __init__(self, ctx: Any) -> None:
        super().__init__(ctx)
        self.expectations = NoExpectations(ctx.loop.clock)


class Impatient(ReplicaSetController):
    """Starts to work before its caches hold the first list."""

    def start(self) -> None:
        run_workers(self.ctx.component, self.queue, self.sync, workers=5)


def create_and_run(cluster: Cluster, replicas: int = 3) -> list[str]:
    """What the judges find when a Deployment was created."""
    try:
        cluster.apply(deployment(replicas))
        cluster.run(until=cluster.all_ready, for_ms=LONG_MS)
        cluster.run(for_ms=5_000)
        return verdict(cluster)
    finally:
        cluster.close()


# -- expectations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("gates", [OLD_RELEASE, {}], ids=["expectations alone", "with the stale-read guard of 1.36"])
def test_expectations_keep_a_replicaset_from_creating_twice(gates: Mapping[str, bool]) -> None:
    assert create_and_run(Cluster(latency="slow-watch", gates=gates)) == []


def test_a_replicaset_controller_without_expectations_creates_too_many_pods() -> None:
    cluster = Cluster(latency="slow-watch", gates=OLD_RELEASE, controllers={"replicaset-controller": Forgetful})
    found = create_and_run(cluster)
    assert len(created_pods(cluster)) > 3
    assert any(text.startswith("ownership: ReplicaSet default/web-") and "never asked for more than 3" in text
               for text in found)  # fmt: skip


def test_the_schedule_that_shows_missing_expectations_is_one_readable_sentence() -> None:
    """Nothing is late here and nobody is shuffled: only who is held matters."""

    def fails(holds: Sequence[Hold]) -> bool:
        cluster = Cluster(
            latency="none", gates=OLD_RELEASE, controllers={"replicaset-controller": Forgetful}, order="holds",
            holds=holds,
        )  # fmt: skip
        return any(text.startswith("ownership") for text in create_and_run(cluster))

    assert not fails([]), "the fault shows without any hold: the search would explain nothing"
    actors = ("kcm/pods", "kcm/replicaset", "kcm/deployment", "scheduler", "kubelet/node-1")
    holds = find_holds(actors, fails, random.Random(1), span=1_200, tries=60)
    assert holds is not None
    assert len(holds) == 1
    assert fails(holds)
    assert str(holds[0]).startswith("kcm/pods held from action ")
    assert holds[0].length <= 60


# -- waiting for the first list --------------------------------------------------------------------


def restart_and_run(controllers: Mapping[str, Any], holds: Sequence[Hold]) -> tuple[int, list[str]]:
    """The controller manager is started anew while three Pods run: the action it dies at, what the judges find."""
    cluster = Cluster(latency="none", controllers=controllers, order="holds", holds=holds)
    try:
        cluster.apply(deployment(3))
        cluster.run(until=cluster.all_ready, for_ms=LONG_MS)
        cluster.run(for_ms=5_000)
        died_at = cluster.loop.actions
        cluster.crash("kcm")
        cluster.run(for_ms=10_000)
        return died_at, verdict(cluster)
    finally:
        cluster.close()


def test_workers_that_do_not_wait_for_the_first_list_create_every_pod_again() -> None:
    wrong = {"replicaset-controller": Impatient}

    def after_its_death(controllers: Mapping[str, Any]) -> list[Hold]:
        died_at, _ = restart_and_run(controllers, [])
        return [Hold(actor, died_at + 1, 300) for actor in ("scheduler", "kcm/pods", "kcm/deployment")]

    assert restart_and_run({}, after_its_death({}))[1] == [], "the right controller waits"

    def fails(holds: Sequence[Hold]) -> bool:
        return any(text.startswith("ownership") for text in restart_and_run(wrong, holds)[1])

    holds = minimise_holds(after_its_death(wrong), fails)
    assert [hold.actor for hold in holds] == ["kcm/pods"]
    assert fails(holds)
    assert str(holds[0]).endswith(" actions")


# -- rounding --------------------------------------------------------------------------------------


class Availability:
    """From the moment it is complete, a Deployment has at least replicas - maxUnavailable Pods that are Ready.

    Holds for runs without node failures and scaling.
    """

    name = "availability"

    def judge(self, trace: Trace) -> list[Violation]:
        least, ready, complete = 0, dict[str, None](), False
        found = []
        for revision, resource, key, obj in timeline(trace):
            if resource == "deployments.apps" and obj is not None:
                want = obj["spec"]["replicas"]
                least = want - fenceposts_of(obj).unavailable
                complete = complete or (obj.get("status") or {}).get("availableReplicas") == want
            elif resource == "pods":
                ready.pop(key, None)
                if obj is not None and is_ready(obj):
                    ready[key] = None
                if complete and len(ready) < least:
                    text = f"{len(ready)} Pods are ready, and {least} should be"
                    found.append(Violation(self.name, trace.of_revision.get(revision), text))
        return found


def is_ready(pod: Any) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def rounding_up(obj: Any) -> Fenceposts:
    """A wrong copy: a quarter of six is two here (and one, rounded down, in upstream)."""
    right = fenceposts_of(obj)
    return right._replace(unavailable=-(-obj["spec"]["replicas"] // 4))


def roll_six_pods() -> list[str]:
    cluster = Cluster()
    try:
        cluster.apply(deployment(6))
        settle(cluster, 6)
        new_image(cluster, "nginx:1.28")
        settle(cluster, 6)
        judges: Sequence[Judge] = (*ALL, Availability())
        return verdict(cluster, judges)
    finally:
        cluster.close()


def test_max_unavailable_is_rounded_down() -> None:
    assert roll_six_pods() == []


def test_a_deployment_controller_that_rounds_max_unavailable_up_takes_away_too_many_pods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sync, "fenceposts_of", rounding_up)
    found = roll_six_pods()
    assert found
    assert found[0].startswith("availability: 4 Pods are ready, and 5 should be (event ")


# -- conflicts -------------------------------------------------------------------------------------


class SlowMember(SingleMember):
    """An etcd that takes a turn to answer, so that others can write between a read and the write after it."""

    async def range(self, *args: Any, **options: Any) -> Any:
        await pause()
        return await super().range(*args, **options)

    async def txn(self, *args: Any) -> Any:
        await pause()
        return await super().txn(*args)


class Overwriting(Store):
    """Writes whatever somebody else wrote in between."""

    def txn(self, compare: Any, success: Any, failure: Any = ()) -> Any:
        return super().txn([], success, failure)


@pytest.mark.parametrize("seed", range(4))
def test_a_server_over_a_slow_store_loses_no_update(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "SingleMember", SlowMember)
    assert create_and_run(Cluster(seed=seed, latency="none", order="priority"), replicas=6) == []


def test_a_server_that_overwrites_on_conflict_loses_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows when two writers meet: under some of the schedules of a few seeds."""
    monkeypatch.setattr(control_plane, "SingleMember", SlowMember)
    monkeypatch.setattr(control_plane, "Store", Overwriting)
    clusters = [
        Cluster(seed=seed, latency=latency, order="priority") for seed in range(4) for latency in ("none", "slow-watch")
    ]
    found = [text for cluster in clusters for text in create_and_run(cluster, replicas=6)]
    assert any(text.startswith("no lost update: ") and "by somebody who had seen revision" in text for text in found)


def test_a_server_that_lets_a_stale_update_through_loses_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of resourceVersion is what sends a controller with an old copy back to its cache."""
    monkeypatch.setattr(RegistryStore, "_check_revision", lambda *_: None)
    cluster = Cluster(latency="slow-watch")
    cluster.apply(deployment(6))
    settle(cluster, 6)
    for size in (9, 4, 7):
        new_image(cluster, f"nginx:1.{size}")
        cluster.run(for_ms=300)
        cluster.scale("deploy/web", size)
        cluster.run(for_ms=300)
    found = verdict(cluster, [NoLostUpdate()])
    cluster.close()
    assert any(text.startswith("no lost update: default/web") for text in found)


# -- caches and watches ----------------------------------------------------------------------------


class BackInTime(shared_informer.SharedInformer):
    """Takes each former state once more after the new one, as a relist from a server that is behind would."""

    def _changed(self, delta: Any, obj: Any, is_initial: bool) -> None:
        old = self.indexer.get(f"{obj['metadata'].get('namespace')}/{obj['metadata']['name']}")
        super()._changed(delta, obj, is_initial)
        if old is not None and self.gvr.resource == "pods":
            self.indexer.update(old)
            self._trace_update("Replaced", f"{old['metadata']['namespace']}/{old['metadata']['name']}", old)


def test_an_informer_that_goes_back_in_time_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_informer, "SharedInformer", BackInTime)
    found = create_and_run(Cluster())
    assert any("takes default/web-" in text and "back to revision" in text for text in found)


Push = Callable[[watchcache.CacheWatch, watchcache.CacheEvent], None]


def push_twice(push: Push) -> Push:
    def wrong(watch: watchcache.CacheWatch, event: watchcache.CacheEvent) -> None:
        push(watch, event)
        if watch.cache.resource == "pods" and event.type == "MODIFIED":
            push(watch, event)

    return wrong


def push_but_not_ready(push: Push) -> Push:
    """Drops what says that a Pod is ready."""

    def wrong(watch: watchcache.CacheWatch, event: watchcache.CacheEvent) -> None:
        if not (watch.cache.resource == "pods" and is_ready(event.object)):
            push(watch, event)

    return wrong


def test_a_watch_that_repeats_events_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchcache.CacheWatch, "push", push_twice(watchcache.CacheWatch.push))
    cluster = Cluster()
    create_and_run(cluster)
    found = verdict(cluster, [WatchOrder()])
    assert any("delivers revision" in text for text in found)


def test_a_watch_that_drops_events_is_found_by_what_never_becomes_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchcache.CacheWatch, "push", push_but_not_ready(watchcache.CacheWatch.push))
    found = create_and_run(Cluster())
    assert "convergence: deployments.apps default/web has availableReplicas 0 and wants 3" in found


def test_no_fault_no_finding() -> None:
    assert create_and_run(Cluster(), replicas=6) == []
