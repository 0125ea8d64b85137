"""AIJobs end to end: workers, phases, predictions, the scheduler that reads them, faults, and what deleting leaves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.api.ai_jobs import PREDICTIONRESULTS
from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.objects import Object
from k8slab.cluster import Cluster
from k8slab.controllers.aijob.prediction import PredictionController
from k8slab.scheduler.framework import SUCCESS, Code, CycleState, Status
from k8slab.scheduler.plugins.predictive import PredictivePlugin
from k8slab.sim.loop import pause
from tests.aijobs import ai_cluster, aijob, derived, gpu_profile, plugin_of


def names(cluster: Cluster, resource: str) -> list[str]:
    return sorted(obj["metadata"]["name"] for obj in cluster.objects(resource))


def condition(cluster: Cluster, pod: str) -> str:
    found = cluster.object(f"pod/{pod}")["status"].get("conditions") or []
    return next((str(c.get("message", "")) for c in found if c["type"] == "PodScheduled"), "")


def revisions(cluster: Cluster, gvr: Any) -> int:
    """How many commits an object of this resource has had so far."""
    return sum(
        event.kind == "etcd.commit" and event.data.get("resource") == gvr.group_resource for event in cluster.trace
    )


# -- the life of a job -------------------------------------------------------------------------------


def test_a_job_gets_workers_a_prediction_and_a_phase_and_leaves_nothing_behind() -> None:
    cluster = ai_cluster()
    cluster.apply(aijob("train", replicas=2))
    cluster.run(for_ms=10_000)
    assert names(cluster, "pods") == ["train-worker-0", "train-worker-1"]
    job = cluster.object("aijob/train")
    assert job["status"]["phase"] == "Running"
    assert job["status"]["workers"] == {"wanted": 2, "running": 2, "succeeded": 0, "failed": 0}
    prediction = cluster.object("predictionresult/train")
    for dependent in (prediction, *cluster.objects("pods")):
        (owner,) = dependent["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("AIJob", job["metadata"]["uid"], True)
    cluster.delete("aijob/train")
    cluster.run(for_ms=60_000)
    assert names(cluster, "pods") == names(cluster, "predictionresults") == names(cluster, "aijobs") == []
    assert plugin_of(cluster).ledger.view() == {}
    cluster.close()


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (1, "Failed")])
def test_the_phase_follows_the_workers_to_their_end_and_stays(code: int, phase: str) -> None:
    behaviour = {"k8slab.dev/run-ms": "5000", "k8slab.dev/exit-code": str(code)}
    cluster = ai_cluster()
    cluster.apply(aijob("train", replicas=2, annotations=behaviour))
    cluster.run(for_ms=30_000)
    status = cluster.object("aijob/train")["status"]
    assert status["phase"] == phase
    assert status["completionTime"] > status["startTime"]
    assert plugin_of(cluster).ledger.view() == {}  # what has finished disturbs nobody
    cluster.delete("pod/train-worker-0")
    cluster.run(for_ms=10_000)
    assert names(cluster, "pods") == ["train-worker-1"]  # a finished job gets no new workers
    assert cluster.object("aijob/train")["status"]["phase"] == phase
    cluster.close()


def test_a_worker_that_is_deleted_comes_back_and_fewer_replicas_are_fewer_workers() -> None:
    cluster = ai_cluster()
    cluster.apply(aijob("train", replicas=3))
    cluster.run(for_ms=10_000)
    before = cluster.object("pod/train-worker-1")["metadata"]["uid"]
    cluster.delete("pod/train-worker-1", grace_period_seconds=0)
    cluster.run(for_ms=10_000)
    assert cluster.object("pod/train-worker-1")["metadata"]["uid"] != before
    cluster.patch("aijob/train", {"spec": {"replicas": 1}})
    cluster.run(for_ms=60_000)
    assert names(cluster, "pods") == ["train-worker-0"]
    assert cluster.object("aijob/train")["status"]["phase"] == "Running"
    cluster.close()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"batch": 0}, "spec.batchSize: 0: expected a whole number from 1 to 1000000"),
        ({"replicas": True}, "spec.replicas: True: expected a whole number from 1 to 1000"),
        ({"gpu": "a100"}, "spec.gpu: 'a100': expected a mapping with type and count"),
        ({"resources": {"cpu": "much"}}, "spec.resources.cpu: 'much': expected a quantity such as 4 or 16Gi"),
        ({"resources": {"disk": "1Gi"}}, "spec.resources.disk: '1Gi': expected cpu or memory only"),
        ({"minRetentionPercent": 0.8}, "spec.minRetentionPercent: 0.8: expected a whole number from 0 to 100"),
        ({"checkpoint": {"intervalSeconds": 0}}, "spec.checkpoint.intervalSeconds: 0: expected a whole number from 1"),
        ({"model": "ResNet 50"}, "spec.model: 'ResNet 50': expected lower case letters, digits, '-' and '.'"),
    ],
    ids=["batch", "replicas", "gpu", "quantity", "resource", "retention", "checkpoint", "model"],
)
def test_a_job_that_cannot_be_read_has_failed_says_why_and_makes_nothing(spec: dict[str, Any], message: str) -> None:
    model = spec.pop("model", "resnet50")
    cluster = ai_cluster()
    cluster.apply(aijob("train", model, **spec))
    cluster.run(for_ms=5_000)
    status = cluster.object("aijob/train")["status"]
    assert status["phase"] == "Failed"
    assert status["message"].startswith(message)
    assert names(cluster, "pods") == names(cluster, "predictionresults") == []
    cluster.close()


def test_a_pod_of_somebody_else_with_a_workers_name_is_left_alone_and_named() -> None:
    cluster = ai_cluster()
    mine = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-worker-0"}}
    cluster.apply({**mine, "spec": {"containers": [{"name": "c", "image": "mine"}]}})
    cluster.apply(aijob("train"))
    cluster.run(for_ms=5_000)
    status = cluster.object("aijob/train")["status"]
    assert (status["phase"], status["message"]) == (
        "Failed",
        "pod train-worker-0: exists, and belongs to somebody else",
    )
    assert "ownerReferences" not in cluster.object("pod/train-worker-0")["metadata"]
    cluster.delete("pod/train-worker-0")
    cluster.run(for_ms=60_000)
    assert cluster.object("aijob/train")["status"]["phase"] == "Running"
    cluster.close()


def test_a_job_whose_mistake_is_mended_begins() -> None:
    cluster = ai_cluster()
    cluster.apply(aijob("train", batch=0))
    cluster.run(for_ms=5_000)
    cluster.patch("aijob/train", {"spec": {"batchSize": 64}})
    cluster.run(for_ms=10_000)
    status = cluster.object("aijob/train")["status"]
    assert (status["phase"], status["message"]) == ("Running", "")
    assert names(cluster, "predictionresults") == ["train"]
    cluster.close()


# -- predictions -------------------------------------------------------------------------------------


def test_reconciling_again_writes_nothing() -> None:
    cluster = ai_cluster()
    cluster.apply(aijob("train"))
    cluster.run(for_ms=10_000)
    before, result = revisions(cluster, PREDICTIONRESULTS), cluster.object("predictionresult/train")
    operator = cluster.control_plane.operators["aijob-operator"]
    for _ in range(3):
        operator.program.prediction.queue.add("default/train")
        operator.program.lifecycle.queue.add("default/train")
        cluster.run(for_ms=5_000)
    cluster.crash("aijob-operator", restart_after_ms=100)
    cluster.run(for_ms=10_000)
    assert revisions(cluster, PREDICTIONRESULTS) == before == 2  # created, and its status
    assert cluster.object("predictionresult/train") == result
    cluster.close()


def test_another_description_is_another_prediction() -> None:
    cluster = ai_cluster()
    cluster.apply(aijob("train"))
    cluster.run(for_ms=5_000)
    before = cluster.object("predictionresult/train")
    cluster.patch("aijob/train", {"spec": {"batchSize": 512}})
    cluster.run(for_ms=5_000)
    after = cluster.object("predictionresult/train")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert (before["status"]["jobSignature"], after["status"]["jobSignature"]) == ("vision-small", "vision-large")
    cluster.close()


@pytest.mark.parametrize(
    "damage",
    [
        {"status": {"runtimeSeconds": 1}},
        {"spec": {"features": {"model": "dlrm"}}},
        {"metadata": {"ownerReferences": None}},
    ],
    ids=["status", "spec", "owner"],
)
def test_what_somebody_changed_is_put_right(damage: dict[str, Any]) -> None:
    cluster = ai_cluster()
    cluster.apply(aijob("train"))
    cluster.run(for_ms=5_000)
    right = cluster.object("predictionresult/train")
    cluster.patch("predictionresult/train", damage, subresource="status" if "status" in damage else "")
    cluster.run(for_ms=5_000)
    now = cluster.object("predictionresult/train")
    for part in ("spec", "status"):
        assert now[part] == right[part]
    assert now["metadata"]["ownerReferences"] == right["metadata"]["ownerReferences"]
    cluster.close()


def test_a_job_made_again_under_the_same_name_gets_a_prediction_of_its_own() -> None:
    cluster = ai_cluster()
    cluster.apply(aijob("train"))
    cluster.run(for_ms=5_000)
    old = cluster.object("predictionresult/train")["metadata"]["uid"]
    cluster.delete("aijob/train")
    cluster.apply(aijob("train", batch=512))
    cluster.run(for_ms=60_000)
    job, new = cluster.object("aijob/train"), cluster.object("predictionresult/train")
    assert new["metadata"]["uid"] != old
    assert new["spec"]["jobUID"] == job["metadata"]["uid"]
    assert new["status"]["jobSignature"] == "vision-large"
    cluster.close()


class UpsertsByStatusUpdate(PredictionController):
    """As it is often written (E081): the owner is set in memory, and Status().Update is taken for an upsert."""

    async def _upsert(self, job: Object, wanted: dict[str, Any]) -> Object:
        return await self.client.update_status(PREDICTIONRESULTS, wanted)


def test_updating_the_status_of_what_is_missing_never_creates_it() -> None:
    cluster = ai_cluster()
    operator = cluster.control_plane.operators["aijob-operator"]
    operator.program.prediction._upsert = UpsertsByStatusUpdate._upsert.__get__(operator.program.prediction)
    cluster.apply(aijob("train"))
    cluster.run(for_ms=60_000)
    assert names(cluster, "predictionresults") == []
    errors = [e.data["error"] for e in cluster.trace if e.kind == "sync.error" and "prediction" in str(e.actor)]
    assert len(errors) > 5  # for ever, with growing pauses
    assert set(errors) == {'predictionresults.ai.k8slab.dev "train" not found'}
    cluster.close()


# -- the scheduler reads them ------------------------------------------------------------------------


def one_gpu_each(cluster: Cluster, *jobs: dict[str, Any]) -> None:
    for job in jobs:
        cluster.apply(job)
        cluster.run(for_ms=10_000)


def test_a_job_that_would_suffer_goes_to_the_other_node_or_waits_with_the_reason() -> None:
    cluster = ai_cluster(nodes=2)
    # language keeps 100 - 40*70/100 = 72 beside language, recommender 100 - 60*70/100 = 58: below 80.
    one_gpu_each(cluster, aijob("a", "bert-large"), aijob("b", "bert-large"), aijob("c", "dlrm"))
    first, second = (cluster.object(f"pod/{name}-worker-0")["spec"]["nodeName"] for name in "ab")
    assert {first, second} == {"node-1", "node-2"}
    assert condition(cluster, "c-worker-0").startswith(
        "0/2 nodes are available: 2 predicted retention 0.58 below threshold 0.80. "
    )
    cluster.delete("aijob/a")
    cluster.run(for_ms=60_000)
    assert cluster.object("pod/c-worker-0")["spec"]["nodeName"] == first
    cluster.close()


def test_cold_start_the_worker_is_judged_conservatively_until_its_prediction_arrives() -> None:
    cluster = ai_cluster(nodes=1, predict_ms=5_000)
    one_gpu_each(cluster, aijob("a"))
    cluster.apply(aijob("b"))
    cluster.run(for_ms=3_000)
    # vision beside vision keeps 100 - 25*40/100 = 90 of 80, but nobody has said so yet.
    assert condition(cluster, "b-worker-0").startswith(
        "0/1 nodes are available: 1 predicted retention 0.50 below threshold 0.90. "
    )
    assert names(cluster, "predictionresults") == ["a"]
    cluster.run(for_ms=10_000)
    assert cluster.object("pod/b-worker-0")["spec"]["nodeName"] == "node-1"
    cluster.close()


def test_a_guaranteed_worker_waits_for_the_profile_of_a_node() -> None:
    cluster = ai_cluster(nodes=2)
    cluster.apply(aijob("train", resources={"cpu": "1", "memory": "1Gi"}))
    cluster.run(for_ms=5_000)
    assert condition(cluster, "train-worker-0").startswith("0/2 nodes are available: 2 missing NodeGpuProfile. ")
    profile = gpu_profile("node-2", 10)
    cluster.apply(profile)
    cluster.run(for_ms=15_000)
    assert cluster.object("pod/train-worker-0")["spec"]["nodeName"] == "node-2"
    cluster.close()


def test_of_two_queued_jobs_the_shorter_goes_first_and_a_changed_prediction_changes_that() -> None:
    cluster = ai_cluster(nodes=1, gpus=1)
    one_gpu_each(cluster, aijob("blocker"))
    # Both need the one GPU; when it is free both are brought back in one second, and the shorter is to be first.
    one_gpu_each(cluster, aijob("long", "llama-7b"), aijob("short", "resnet50"))
    queue = cluster.control_plane.scheduler.program.queue
    cluster.run(until=lambda: not queue.view()["active"] and not queue.view()["backoff"], for_ms=60_000)
    assert list(queue.view()["unschedulable"]) == ["default/long-worker-0", "default/short-worker-0"]
    cluster.crash("aijob-operator", restart_after_ms=None)
    cluster.patch("predictionresult/short", {"status": {"runtimeSeconds": 10**8}}, subresource="status")
    cluster.run(for_ms=20_000)
    cluster.delete("aijob/blocker")
    cluster.run(for_ms=60_000)
    placed = [e.data["key"] for e in cluster.trace if e.kind == "schedule.decide"]
    assert placed == ["default/blocker-worker-0", "default/long-worker-0"]
    cluster.close()


# -- faults ------------------------------------------------------------------------------------------


class Refusing(PredictivePlugin):
    """PreBind refuses as many Pods as the list says, one entry each."""

    refusals: list[str]

    def pre_bind_pre_flight(self, state: CycleState, pod: Object, node_name: str) -> Status:
        return SUCCESS

    async def pre_bind(self, state: CycleState, pod: Object, node_name: str) -> Status:
        await pause()  # whatever else happens may happen now
        return Status(Code.ERROR, self.refusals.pop()) if self.refusals else SUCCESS


def refusing(refusals: list[str]) -> dict[str, Any]:
    """A registry with a plugin that shares this list."""
    return {"PredictivePlugin": type("Refusing", (Refusing,), {"refusals": refusals})}


def test_after_a_failed_binding_the_ledger_is_what_it_was() -> None:
    refusals: list[str] = []
    cluster = ai_cluster(nodes=1, registry=refusing(refusals))
    one_gpu_each(cluster, aijob("a"))
    ledger = plugin_of(cluster).ledger
    before = ledger.view()
    assert len(before["node-1"]) == 1
    refusals.append("the disk is full")
    cluster.apply(aijob("b"), wait=False)
    for expected in (2, 1):  # reserved, and taken back
        while len(ledger.view()["node-1"]) != expected:
            assert cluster.step()
    assert [e.data["error"] for e in cluster.trace if e.kind == "schedule.bind-error"] == [
        'running PreBind plugin "PredictivePlugin": the disk is full'
    ]
    assert ledger.view() == before
    cluster.run(for_ms=10_000)
    assert len(ledger.view()["node-1"]) == 2  # it was tried again
    cluster.close()


def test_after_a_restart_the_ledger_is_rebuilt_from_the_bound_pods() -> None:
    cluster = ai_cluster(nodes=2)
    one_gpu_each(cluster, aijob("a", replicas=2), aijob("b", "bert-large"))
    before, old = plugin_of(cluster).ledger.view(), plugin_of(cluster)
    assert sum(map(len, before.values())) == 3
    cluster.crash("scheduler", restart_after_ms=1_000)
    cluster.run(for_ms=10_000)
    assert plugin_of(cluster) is not old
    assert plugin_of(cluster).ledger.view() == before == derived(cluster)
    cluster.close()


FAULTS = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), st.sampled_from(["resnet50", "bert-large", "dlrm"])),
        st.tuples(st.just("delete"), st.integers(0, 5)),
        st.tuples(st.just("run"), st.sampled_from([20, 300, 3_000])),
        st.tuples(st.just("crash"), st.sampled_from(["scheduler", "aijob-operator"])),
        st.tuples(st.just("crash before"), st.integers(0, 4)),
        st.tuples(st.just("refuse"), st.integers(1, 3)),
        st.tuples(st.just("slow"), st.sampled_from([0, 400])),
        st.tuples(st.just("cut"), st.booleans()),
    ),
    min_size=4,
    max_size=12,
)


@settings(max_examples=12, deadline=None)
@given(FAULTS, st.integers(0, 3))
def test_under_faults_the_ledger_is_what_the_cache_counts_at_every_step(faults: list[Any], seed: int) -> None:
    refusals: list[str] = []
    cluster = ai_cluster(nodes=2, gpus=2, seed=seed, latency="none", order="shuffle", registry=refusing(refusals))
    made: list[str] = []

    def step(for_ms: int) -> None:
        end = cluster.now_ms + for_ms
        while cluster.now_ms < end and cluster.step():
            if cluster.control_plane.scheduler.is_alive:
                assert plugin_of(cluster).ledger.view() == derived(cluster)

    for verb, what in faults:
        if verb == "apply":
            made.append(f"job-{len(made)}")
            cluster.apply(aijob(made[-1], what), wait=False)
        elif verb == "delete" and made:
            try:
                cluster.delete(f"aijob/{made[what % len(made)]}")
            except StatusError as error:
                assert isinstance(error, NotFoundError)
        elif verb == "run":
            step(what)
        elif verb == "crash":
            cluster.crash(what, restart_after_ms=200)
        elif verb == "crash before":
            cluster.crash("scheduler", before_call=what, restart_after_ms=200)
        elif verb == "refuse":
            refusals += ["the disk is full"] * what
        elif verb == "slow":
            cluster.slow_watch("scheduler", what)
        elif verb == "cut":
            if what:
                cluster.partition("scheduler")
            else:
                cluster.heal()
    cluster.heal()
    cluster.slow_watch("scheduler", 0)
    step(30_000)
    if not cluster.control_plane.scheduler.is_alive:
        cluster.restart("scheduler")
    step(60_000)
    bound = {
        pod["metadata"]["uid"]: pod["spec"]["nodeName"]
        for pod in cluster.objects("pods")
        if pod["spec"].get("nodeName")
    }
    counted = {uid: node for node, pods in plugin_of(cluster).ledger.view().items() for uid in pods}
    assert counted == bound
    plugin_of(cluster).ledger.check_invariants()
    cluster.control_plane.scheduler.program.check_invariants()
    cluster.close()


def test_the_same_seed_is_the_same_trace() -> None:
    def run() -> str:
        cluster = ai_cluster(seed=11)
        one_gpu_each(cluster, aijob("a", replicas=2), aijob("b", "dlrm"))
        cluster.delete("aijob/a")
        cluster.run(for_ms=10_000)
        cluster.close()
        return cluster.trace.to_jsonl()

    assert run() == run()


@pytest.mark.parametrize("call", range(12))
def test_an_operator_that_dies_before_any_of_its_calls_comes_to_the_same_end(call: int) -> None:
    cluster = ai_cluster()
    cluster.crash("aijob-operator", before_call=call, restart_after_ms=500)
    cluster.apply(aijob("train", replicas=2))
    cluster.run(for_ms=20_000)
    assert names(cluster, "pods") == ["train-worker-0", "train-worker-1"]
    assert names(cluster, "predictionresults") == ["train"]
    assert cluster.object("predictionresult/train")["status"]["jobSignature"] == "vision-small"
    assert cluster.object("aijob/train")["status"]["phase"] == "Running"
    cluster.close()
