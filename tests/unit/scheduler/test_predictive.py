"""The predictive plugin alone: order, fallback, thresholds, weights, arguments; and the ledger."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8slab.api.ai_jobs import GPU_RESOURCE, NODEGPUPROFILES, PREDICTIONRESULTS, QAD, SIGNATURE
from k8slab.api.scheme import NAMESPACES
from k8slab.scheduler import Framework, ObjectLister, Snapshot
from k8slab.scheduler.colocation_ledger import ColocationLedger
from k8slab.scheduler.framework import EventResource, QueueingHint
from k8slab.scheduler.plugins.predictive import PredictivePlugin
from k8slab.scheduler.queued_pod import QueuedPodInfo
from tests.scheduling import node, pod

JOB_UID = "uid-of-train"


def worker(
    name: str = "train-worker-0",
    *,
    uid: str = JOB_UID,
    job: str = "train",
    signature: str | None = "vision-small",
    gpus: int = 1,
    guaranteed: bool = False,
    namespace: str = "default",
    priority: int = 0,
    node_name: str = "",
) -> dict[str, Any]:
    made = pod(name, None, None, namespace=namespace, node_name=node_name, priority=priority)
    amounts = {GPU_RESOURCE: str(gpus), **({"cpu": "1", "memory": "1Gi"} if guaranteed else {})}
    made["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    owner = {"apiVersion": "ai.k8slab.dev/v1", "kind": "AIJob", "name": job, "uid": uid, "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    if signature is not None:
        made["metadata"]["annotations"] = {SIGNATURE: signature}
    return made


def result(
    job: str = "train", uid: str = JOB_UID, seconds: Any = 100, least: Any = 80, **interference: Any
) -> dict[str, Any]:
    """A PredictionResult. `interference`: percents by signature, with `_` for `-`."""
    profile = {name.replace("_", "-"): kept for name, kept in interference.items()}
    status = {
        "runtimeSeconds": seconds,
        "jobSignature": "vision-small",
        "minRetentionPercent": least,
        "interferenceProfile": profile,
    }
    return {"metadata": {"name": job, "namespace": "default"}, "spec": {"jobUID": uid}, "status": status}


def gpus_of(name: str, utilization: Any = 0, island: Any = 1, colocated: Any = ()) -> dict[str, Any]:
    status = {"gpuUtilizationPercent": utilization, "colocatedJobSignatures": list(colocated)}
    return {"metadata": {"name": name}, "spec": {"nvlinkIslandSize": island}, "status": status}


def framework(
    *, results: Any = (), profiles: Any = (), tenants: dict[str, str] | None = None, **args: int
) -> Framework:
    namespaces = [{"metadata": {"name": name, "annotations": {QAD: qad}}} for name, qad in (tenants or {}).items()]
    profile = {
        "plugins": {
            "queueSort": {"disabled": [{"name": "PrioritySort"}]},
            "multiPoint": {"enabled": [{"name": "PredictivePlugin"}]},
        },
        "pluginConfig": [{"name": "PredictivePlugin", "args": args}],
    }
    lister = ObjectLister({PREDICTIONRESULTS: results, NODEGPUPROFILES: profiles, NAMESPACES: namespaces})
    return Framework.from_profile(profile, registry={"PredictivePlugin": PredictivePlugin}, lister=lister)


def plugin_of(made: Framework) -> PredictivePlugin:
    found = made.plugins["PredictivePlugin"]
    assert isinstance(found, PredictivePlugin)
    return found


def gpu_node(name: str) -> dict[str, Any]:
    return node(name, nvidia_com__gpu="8")


def row(made: Framework, incoming: dict[str, Any], name: str = "a") -> Any:
    return made.explain(incoming, Snapshot.of([gpu_node("a"), gpu_node("b")])).node(name)


# -- Filter ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "reasons"),
    [
        (79, ["predicted retention 0.79 below threshold 0.80"]),
        (80, []),
        (81, []),
        (0, ["predicted retention 0.00 below threshold 0.80"]),
        (100, []),
    ],
    ids=str,
)
def test_a_neighbour_is_borne_down_to_the_threshold_and_not_below(kept: int, reasons: list[str]) -> None:
    made = framework(results=[result(language_small=kept)])
    plugin_of(made).ledger.add("a", "uid-other", "language-small")
    assert row(made, worker()).reasons == reasons
    assert row(made, worker(), "b").reasons == []


def test_the_worst_neighbour_counts_wherever_it_is_known_from() -> None:
    made = framework(
        results=[result(language_small=85, vision_small=95, other_large=40)],
        profiles=[gpus_of("a", colocated=["other-large"])],
    )
    plugin_of(made).ledger.add("a", "u1", "vision-small")
    plugin_of(made).ledger.add("b", "u1", "language-small")
    assert row(made, worker()).reasons == ["predicted retention 0.40 below threshold 0.80"]
    assert row(made, worker(), "b").reasons == []


def test_a_signature_that_the_profile_does_not_name_is_as_bad_as_its_worst() -> None:
    made = framework(results=[result(least=85, language_small=84, vision_small=99)])
    plugin_of(made).ledger.add("a", "u1", "brand-new")
    assert row(made, worker()).reasons == ["predicted retention 0.84 below threshold 0.85"]


def test_a_guaranteed_pod_needs_a_profile_of_the_nodes_gpus() -> None:
    made = framework(results=[result()], profiles=[gpus_of("b")])
    assert row(made, worker(guaranteed=True)).reasons == ["missing NodeGpuProfile"]
    assert row(made, worker(guaranteed=True), "b").reasons == []


def test_a_besteffort_pod_without_a_profile_of_the_node_is_still_kept_from_bad_neighbours() -> None:
    """The listing this goes back to read the profile that was not there (E082)."""
    made = framework(results=[result(language_small=10)])
    plugin_of(made).ledger.add("a", "u1", "language-small")
    assert row(made, worker()).reasons == ["predicted retention 0.10 below threshold 0.80"]
    assert row(made, worker(), "b").feasible


def test_a_pod_is_not_its_own_neighbour() -> None:
    made = framework(results=[result(vision_small=10)])
    plugin_of(made).ledger.add("a", "uid-default-train-worker-0", "vision-small")
    assert row(made, worker()).feasible


def test_a_pod_that_no_job_owns_goes_anywhere_and_is_not_reserved() -> None:
    made = framework()
    plugin_of(made).ledger.add("a", "u1", "language-small")
    found = made.explain(pod("web"), Snapshot.of([gpu_node("a")]))
    assert found.nodes[0].feasible
    assert "PredictivePlugin" in found.skipped_filters
    assert "PredictivePlugin" in found.skipped_scores


# -- the cold start ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "results",
    [(), [result(uid="uid-of-an-earlier-train")], [{**result(), "status": {}}]],
    ids=["none", "of an earlier job of that name", "not worked out yet"],
)
def test_without_a_prediction_a_job_goes_where_nobody_is(results: Any) -> None:
    made = framework(results=results)
    plugin_of(made).ledger.add("a", "u1", "vision-small")
    assert row(made, worker()).reasons == ["predicted retention 0.50 below threshold 0.90"]
    assert row(made, worker(), "b").feasible


def test_the_stand_in_is_set_by_arguments() -> None:
    made = framework(fallbackMinRetentionPercent=30, fallbackRetentionPercent=30)
    plugin_of(made).ledger.add("a", "u1", "vision-small")
    assert row(made, worker()).feasible


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (result(seconds="long"), "predictionresult train: status.runtimeSeconds: 'long': expected a whole number"),
        (result(least=101), "predictionresult train: status.minRetentionPercent: 101: expected a whole number from 0"),
        (result(vision_small=0.5), "status.interferenceProfile.vision-small: 0.5: expected a whole number from 0 to"),
    ],
    ids=["a word", "above 100", "a fraction"],
)
def test_a_prediction_that_cannot_be_read_is_an_error_that_says_why(broken: Any, message: str) -> None:
    found = framework(results=[broken]).schedule(worker(), Snapshot.of([gpu_node("a")]))
    assert not found.status.is_rejected
    assert message in found.status.message


def test_a_node_profile_that_cannot_be_read_is_an_error_that_says_why() -> None:
    found = framework(profiles=[gpus_of("a", utilization=2.5)]).schedule(worker(), Snapshot.of([gpu_node("a")]))
    assert "nodegpuprofile a: status.gpuUtilizationPercent: 2.5: expected a whole number from 0" in found.status.message


# -- Score -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "utilization", "island", "gpus", "score"),
    [
        (100, 0, 8, 4, 80),  # (100*5 + 0*2 + 100*3) / 10
        (100, 100, 8, 4, 100),
        (90, 60, 8, 4, 87),  # (450 + 120 + 300) / 10
        (80, 30, 2, 4, 61),  # (400 + 60 + 150) / 10
        (85, 33, 1, 3, 59),  # (425 + 66 + 99) / 10
        (81, 1, 8, 1, 70),  # (405 + 2 + 300) / 10 = 70.7
    ],
    ids=str,
)
def test_a_score_is_five_parts_retention_two_utilization_three_topology(
    kept: int, utilization: int, island: int, gpus: int, score: int
) -> None:
    made = framework(results=[result(vision_large=kept)], profiles=[gpus_of("a", utilization, island)])
    plugin_of(made).ledger.add("a", "u1", "vision-large")
    assert row(made, worker(gpus=gpus)).weighted["PredictivePlugin"] == score


def test_without_a_profile_only_retention_scores() -> None:
    made = framework(results=[result()])
    assert row(made, worker()).weighted["PredictivePlugin"] == 50


def test_weights_come_from_the_arguments() -> None:
    made = framework(profiles=[gpus_of("a", 40, 1)], interferenceWeight=0, topologyWeight=0, binPackWeight=7)
    assert row(made, worker()).weighted["PredictivePlugin"] == 40


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"weight": 1}, "args.weight: unknown, expected interferenceWeight, binPackWeight, topologyWeight, "),
        ({"binPackWeight": -1}, "args.binPackWeight: -1, expected an integer from 0 to 1000000000"),
        ({"binPackWeight": 2.0}, "args.binPackWeight: 2.0, expected an integer from 0 to 1000000000"),
        ({"fallbackRetentionPercent": 101}, "args.fallbackRetentionPercent: 101, expected an integer from 0 to 100"),
        (
            {"interferenceWeight": 0, "binPackWeight": 0, "topologyWeight": 0},
            "args.interferenceWeight, args.binPackWeight, args.topologyWeight: all 0, expected one above",
        ),
    ],
    ids=["unknown", "negative", "a float", "above 100", "nothing weighs"],
)
def test_wrong_arguments_name_field_value_and_what_was_expected(args: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        framework(**args)


# -- QueueSort ---------------------------------------------------------------------------------------

TENANTS = {"poor": "1", "rich": "9", "odd": "much"}
JOBS = [result(f"job-{seconds}", f"uid-{seconds}", seconds) for seconds in (10, 500)]


def queued(seq: int, priority: int, namespace: str, seconds: int | None, timestamp_ms: int) -> QueuedPodInfo:
    made = worker(f"p{seq}", uid=f"uid-{seconds}", job=f"job-{seconds}", namespace=namespace, priority=priority)
    return QueuedPodInfo(made, timestamp_ms, seq)


infos = st.builds(
    queued,
    st.integers(0, 10**6),
    st.integers(-2, 2),
    st.sampled_from(["poor", "rich", "odd", "nobody"]),
    st.sampled_from([10, 500, None]),
    st.integers(0, 3),
)


def expected_key(info: QueuedPodInfo) -> tuple[int, ...]:
    """The rule, from the tables above: priority, QAD, predicted runtime (a day without one), time."""
    namespace, job = info.pod["metadata"]["namespace"], info.pod["metadata"]["ownerReferences"][0]["name"]
    qad = {"poor": 1, "rich": 9}.get(namespace, 0)
    runtime = {"job-10": 10, "job-500": 500}.get(job, 86_400)
    return (-info.pod["spec"]["priority"], qad, runtime, info.timestamp_ms)


def sorter() -> PredictivePlugin:
    found = [{**job, "metadata": {**job["metadata"], "namespace": ns}} for job in JOBS for ns in (*TENANTS, "nobody")]
    return plugin_of(framework(results=found, tenants=TENANTS))


SORTER = sorter()


@given(infos, infos)
def test_the_order_is_priority_then_qad_then_runtime_then_time(a: QueuedPodInfo, b: QueuedPodInfo) -> None:
    assert SORTER.less(a, b) == (expected_key(a) < expected_key(b))
    assert (SORTER.sort_key(a) < SORTER.sort_key(b)) == SORTER.less(a, b)
    if a.priority > b.priority:
        assert SORTER.less(a, b)


@given(infos, infos, infos)
def test_the_order_is_total(a: QueuedPodInfo, b: QueuedPodInfo, c: QueuedPodInfo) -> None:
    assert not (SORTER.less(a, b) and SORTER.less(b, a))
    if SORTER.less(a, b) and SORTER.less(b, c):
        assert SORTER.less(a, c)
    if not SORTER.less(a, b) and not SORTER.less(b, a):
        assert expected_key(a) == expected_key(b)


# -- hints -------------------------------------------------------------------------------------------


def test_hints_let_only_what_can_help_bring_a_pod_back() -> None:
    made = framework()
    hints = {entry.event.resource: entry.hint for entry in made.events_to_register()["PredictivePlugin"]}
    deleted, predicted = hints[EventResource.ASSIGNED_POD], hints["predictionresults.v1.ai.k8slab.dev"]
    assert deleted is not None
    assert predicted is not None
    assert deleted(worker(), worker("other"), None) is QueueingHint.QUEUE
    assert deleted(worker(), pod("web"), None) is QueueingHint.QUEUE_SKIP
    assert predicted(worker(), None, result()) is QueueingHint.QUEUE
    assert predicted(worker(), None, result(uid="uid-of-another")) is QueueingHint.QUEUE_SKIP


# -- the ledger --------------------------------------------------------------------------------------

OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "forget"]), st.sampled_from("ab"), st.sampled_from("pqr")), max_size=30
)


@given(OPERATIONS)
def test_the_ledger_is_a_dict_from_pod_to_node(operations: list[tuple[str, str, str]]) -> None:
    ledger, twin = ColocationLedger(), dict[str, str]()
    for verb, at, uid in operations:
        before, shown = ledger.snapshot(), ledger.view()
        if verb == "add":
            ledger.add(at, uid, f"of-{uid}")
            twin[uid] = at
        elif verb == "remove":
            ledger.remove(at, uid)
            if twin.get(uid) == at:
                del twin[uid]
        else:
            ledger.forget(uid)
            twin.pop(uid, None)
        ledger.check_invariants()
        assert {n: {u: f"of-{u}" for u in sorted(twin) if twin[u] == n} for n in sorted(set(twin.values()))} == (
            ledger.view()
        )
        assert [sorted(before.beside(n, "")) for n in "ab"] == [sorted(shown.get(n, {}).values()) for n in "ab"]


def test_reserve_and_unreserve_are_each_others_opposite() -> None:
    made = framework(results=[result()])
    ledger = plugin_of(made).ledger
    ledger.add("a", "u1", "language-small")
    before = ledger.view()
    outcome = made.schedule(worker(), Snapshot.of([gpu_node("b")]))
    placed = {**worker(), "spec": {**worker()["spec"], "nodeName": "b"}}
    assert made.run_reserve(outcome.state, placed, "b").is_success
    assert ledger.view() == {**before, "b": {"uid-default-train-worker-0": "vision-small"}}
    made.run_unreserve(outcome.state, placed, "b")
    made.run_unreserve(outcome.state, placed, "b")  # upstream asks that it be idempotent
    assert ledger.view() == before
