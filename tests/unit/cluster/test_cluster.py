"""The public face of the simulated cluster: commands, questions, faults, and what each says of wrong arguments."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from k8slab import controllers
from k8slab.api.errors import ConflictError, InvalidError, NotFoundError, StatusError
from k8slab.cluster import Cluster
from k8slab.controllers import REGISTRY
from k8slab.kubelet import NodeConfig
from tests.deployments import deployment, new_image, settle, verdict

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(nodes=2)
    yield made
    made.close()


@pytest.fixture
def web(cluster: Cluster) -> Cluster:
    cluster.apply(deployment(3))
    settle(cluster, 3)
    return cluster


def a_pod(cluster: Cluster) -> str:
    return f"pod/{cluster.objects('pods')[0]['metadata']['name']}"


# -- building --------------------------------------------------------------------------------------


def test_a_new_cluster_is_up(cluster: Cluster) -> None:
    assert all(cluster.ready(f"node/node-{n}") for n in (1, 2))
    names = [ns["metadata"]["name"] for ns in cluster.objects("ns")]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert cluster.object("sa/default")["metadata"]["namespace"] == "default"
    assert cluster.all_ready()
    assert cluster.not_ready() == {}
    assert verdict(cluster) == []


@pytest.mark.parametrize("nodes", [0, 1, 7])
def test_so_many_nodes_as_asked_for(nodes: int) -> None:
    cluster = Cluster(nodes=nodes)
    assert len(cluster.objects("nodes")) == nodes == len(cluster.nodes)
    cluster.close()


def test_nodes_of_your_own() -> None:
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    cluster = Cluster(nodes=[NodeConfig("small", cpu="500m"), NodeConfig("gpu", taints=(taint,))])
    assert cluster.object("node/small")["status"]["allocatable"]["cpu"] == "500m"
    assert cluster.object("node/gpu")["spec"]["taints"][0]["key"] == "dedicated"
    cluster.close()


WRONG_ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "fewer than no nodes": ({"nodes": -1}, "nodes -1: expected a number from 0 to 5000"),
    "too many nodes": ({"nodes": 5_001}, "expected a number from 0 to 5000"),
    "yes": ({"nodes": True}, "nodes True"),
    "a name twice": ({"nodes": [NodeConfig("a"), NodeConfig("a")]}, "name 'a' is there twice"),
    "an unknown latency": ({"latency": "warp"}, "expected one of none, lan, slow-watch"),
    "an unknown order": ({"order": "lifo"}, "expected fifo, shuffle, priority, choices or holds"),
    "an unknown release": ({"release": "0.9"}, "0.9"),
    "an unknown gate": ({"gates": {"NoSuchGate": True}}, "NoSuchGate"),
    "an unknown controller": ({"controllers": {"no-controller": None}}, "expected one of .*deployment-controller"),
}


@pytest.mark.parametrize(("arguments", "match"), WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS)
def test_wrong_arguments_are_named(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match.replace("'", ".")):
        Cluster(**arguments)


@pytest.mark.parametrize("release", ["1.32", "1.33", "1.34", "1.35", "1.36"])
def test_every_release_runs_a_deployment(release: str) -> None:
    cluster = Cluster(nodes=2, release=release)
    cluster.apply(deployment(3))
    settle(cluster, 3)
    new_image(cluster, "nginx:2")
    settle(cluster, 3)
    assert verdict(cluster) == []
    cluster.close()


@pytest.mark.parametrize("name", [name for name in REGISTRY if name not in ("deployment-controller", "replicaset-controller", "node-lifecycle-controller", "serviceaccount-controller")])  # fmt: skip  # noqa: E501
def test_a_controller_may_be_left_out(name: str) -> None:
    cluster = Cluster(nodes=1, controllers={name: None})
    cluster.apply(deployment(1))
    settle(cluster, 1)
    cluster.close()


def test_without_the_deployment_controller_nobody_creates_replicasets() -> None:
    cluster = Cluster(nodes=1, controllers={"deployment-controller": None})
    cluster.apply(deployment(1))
    assert not cluster.run(until=cluster.all_ready, for_ms=10_000)
    assert cluster.objects("rs") == []
    assert "has not been seen by the controller" in cluster.not_ready()["deployments.apps/default/web"]
    cluster.close()


def test_without_a_trace_the_same_happens() -> None:
    traced, silent = Cluster(nodes=1), Cluster(nodes=1, trace=False)
    for cluster in (traced, silent):
        cluster.apply(deployment(2))
        settle(cluster, 2)
    assert len(silent.trace) == 0
    assert (traced.now_ms, traced.loop.actions) == (silent.now_ms, silent.loop.actions)
    assert traced.objects("pods") == silent.objects("pods")


# -- commands --------------------------------------------------------------------------------------


def test_patch_returns_the_object_yours_to_change(web: Cluster) -> None:
    patched = web.patch("deploy/web", {"metadata": {"labels": {"tier": "front"}}})
    patched["metadata"]["labels"]["tier"] = "changed"  # type: ignore[index]
    assert web.object("deploy/web")["metadata"]["labels"]["tier"] == "front"


def test_patch_of_a_foreign_object_is_a_merge_patch(cluster: Cluster) -> None:
    cluster.apply(
        {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": 1, "b": 2}}
    )
    cluster.patch("widgets.example.org/w", {"spec": {"a": None, "c": 3}})
    assert cluster.object("widgets.example.org/w")["spec"] == {"b": 2, "c": 3}


def test_patch_of_the_status_changes_only_the_status(web: Cluster) -> None:
    web.patch("node/node-1", {"status": {"conditions": [{"type": "Mine", "status": "True"}]}}, subresource="status")
    conditions = web.object("node/node-1")["status"]["conditions"]
    assert [c["type"] for c in conditions].count("Mine") == 1


@pytest.mark.parametrize(
    ("patch", "error"),
    [
        ({"spec": {"replicas": -1}}, InvalidError),
        ({"spec": {"replicas": "many"}}, StatusError),
        ({"metadata": {"resourceVersion": "1"}}, ConflictError),
        ({"metadata": {"name": "other"}}, StatusError),
        ({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": ""}]}}}}, InvalidError),
    ],
    ids=["invalid", "wrong type", "stale", "renamed", "invalid deep inside"],
)
def test_a_patch_that_is_refused_changes_nothing(web: Cluster, patch: dict[str, Any], error: type[Exception]) -> None:
    before = web.object("deploy/web")
    with pytest.raises(error):
        web.patch("deploy/web", patch)
    assert web.object("deploy/web") == before


@pytest.mark.parametrize("replicas", [0, 1, 7])
def test_scale(web: Cluster, replicas: int) -> None:
    web.scale("deploy/web", replicas)
    settle(web, replicas)
    assert web.object("deploy/web")["status"].get("replicas", 0) == replicas


def test_scale_refuses_what_cannot_be(web: Cluster) -> None:
    with pytest.raises(InvalidError, match="must be greater than or equal to 0"):
        web.scale("deploy/web", -1)
    with pytest.raises(NotFoundError):
        web.scale("deploy/nobody", 1)
    with pytest.raises(ValueError, match="20000"):
        web.scale("deploy/web", 10**9)
    assert web.object("deploy/web")["spec"]["replicas"] == 3


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_delete_takes_what_it_owns_along(web: Cluster, propagation: str) -> None:
    web.delete("deploy/web", propagation=propagation)
    assert web.run(until=lambda: not web.objects("pods") and not web.objects("rs"), for_ms=120_000)
    assert web.all_ready(), "what was deleted is not waited for"


def test_delete_may_leave_orphans(web: Cluster) -> None:
    web.delete("deploy/web", propagation="Orphan")
    web.run(for_ms=60_000)
    assert web.objects("deploy") == []
    assert len(web.objects("pods")) == 3
    [orphan] = web.objects("rs")
    assert not orphan["metadata"].get("ownerReferences")


def test_delete_without_grace_is_at_once(web: Cluster) -> None:
    victim = a_pod(web)
    web.delete(victim, grace_period_seconds=0)
    with pytest.raises(KeyError):
        web.object(victim)
    settle(web, 3)


def test_deleting_a_namespace_empties_it_and_nothing_in_it_is_waited_for(cluster: Cluster) -> None:
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    cluster.apply(deployment(2), namespace="shop")
    settle(cluster, 2)
    cluster.delete("ns/shop")
    assert cluster.run(
        until=lambda: "shop" not in [n["metadata"]["name"] for n in cluster.objects("ns")], for_ms=120_000
    )
    assert cluster.objects("pods") == []
    assert cluster.all_ready()
    assert cluster.not_ready() == {}


# -- questions -------------------------------------------------------------------------------------


def test_get_prints_as_kubectl_does(web: Cluster) -> None:
    table = web.get("deploy")
    assert table.columns == ("NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE")
    assert table.rows[0][:4] == ("web", "3/3", 3, 3)
    pods = web.get("pods")
    assert [row[1:4] for row in pods] == [("1/1", "Running", "0")] * 3 or [row[1:3] for row in pods] == [("1/1", "Running")] * 3  # fmt: skip  # noqa: E501
    assert "NODE" in web.get("po", wide=True).columns
    assert web.get("pods", all_namespaces=True).columns[0] == "NAMESPACE"
    assert len(web.get(a_pod(web))) == 1
    assert web.get("pods", namespace="kube-system").rows == ()


def test_get_accepts_every_name_of_a_resource(web: Cluster) -> None:
    for name in ("deploy", "deployment", "deployments", "deployments.apps", "Deployment"):
        assert len(web.get(name)) == 1


@pytest.mark.parametrize("name", ["gizmos", "", "pods.apps", "deploy.extensions"])
def test_get_of_an_unknown_resource_is_an_error(web: Cluster, name: str) -> None:
    with pytest.raises((ValueError, KeyError), match=name.replace(".", r"\.") or "resource"):
        web.get(name)


QUESTIONS = ("get", "object", "explain", "why", "delete", "patch", "scale", "ready")


def ask(cluster: Cluster, question: str, reference: str) -> Any:
    more: dict[str, tuple[Any, ...]] = {"patch": ({},), "scale": (1,)}
    return getattr(cluster, question)(reference, *more.get(question, ()))


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q != "ready"])
def test_what_does_not_exist_is_an_error(web: Cluster, question: str) -> None:
    with pytest.raises((KeyError, NotFoundError), match="nobody"):
        ask(web, question, "deploy/nobody")


def test_what_does_not_exist_is_not_ready(web: Cluster) -> None:
    assert not web.ready("deploy/nobody")


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q != "get"])
@pytest.mark.parametrize("reference", ["web", "", "/", "pod/", "/web", "a/b/c/d", "gizmo/web"])
def test_a_reference_that_is_none_is_an_error(web: Cluster, question: str, reference: str) -> None:
    with pytest.raises(ValueError, match=r"reference|gizmo"):
        ask(web, question, reference)


def test_a_reference_may_name_its_namespace(cluster: Cluster) -> None:
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    cluster.apply(deployment(1), namespace="shop")
    assert cluster.object("deploy/shop/web") == cluster.object("deploy/web", namespace="shop")
    assert cluster.object("ns/shop/shop") == cluster.object("ns/shop"), "cluster-scoped: the namespace means nothing"


def test_explain_gives_verdict_owner_conditions_and_events(web: Cluster) -> None:
    told = web.explain(a_pod(web))
    assert told.ready
    assert told.lines[0].endswith(": ready")
    text = str(told)
    assert "controlled by ReplicaSet web-" in text
    assert "  Ready: True" in text
    assert "event Normal Scheduled: Successfully assigned default/web-" in text
    assert "event Normal Started: " in text


def test_explain_names_the_reason(cluster: Cluster) -> None:
    wanted = deployment(1)
    wanted["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"memory": "1Ti"}}
    cluster.apply(wanted)
    cluster.run(for_ms=10_000)
    told = cluster.explain(a_pod(cluster))
    assert not told.ready
    assert told.reason.startswith("Unschedulable: 0/2 nodes are available: 2 Insufficient memory.")
    assert "event Warning FailedScheduling: 0/2 nodes are available" in str(told)


def priority_class(name: str, value: int) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def prioritised(name: str, cpu: str, priority: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
    spec = {"priorityClassName": priority, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def test_explain_says_for_whom_a_node_keeps_its_room() -> None:
    cluster = Cluster(nodes=[NodeConfig("n0", cpu="4")])
    cluster.apply([priority_class("low", 1), priority_class("high", 2), prioritised("v", "3", "low")])
    cluster.run(for_ms=10_000)
    cluster.apply(prioritised("p", "3", "high"))
    cluster.run(for_ms=60)
    cluster.apply(prioritised("w", "500m", "low"))
    cluster.run(for_ms=60)
    told = cluster.explain("pod/w").lines
    assert "  n0: Insufficient cpu (room is kept for default/p, nominated for this node)" in told
    cluster.close()


@pytest.mark.parametrize(
    ("allowed", "victim"),
    [
        pytest.param(None, "other", id="nobody computes a budget's status, so the budget counts as used up"),
        pytest.param(1, "guarded", id="a status patched by hand is heeded: the least important Pod goes"),
    ],
)
def test_a_budget_allows_what_its_status_says(allowed: int | None, victim: str) -> None:
    cluster = Cluster(nodes=[NodeConfig("n0", cpu="4"), NodeConfig("n1", cpu="4")])
    classes = [priority_class(name, value) for value, name in enumerate(("low", "mid", "high"), 1)]
    pods = [prioritised("guarded", "3", "low", nodeName="n0"), prioritised("other", "3", "mid", nodeName="n1")]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "guarded"}}},
    }
    cluster.apply([*classes, *pods, budget])
    cluster.run(for_ms=10_000)
    if allowed is not None:
        cluster.patch("pdb/b", {"status": {"disruptionsAllowed": allowed}}, subresource="status")
    cluster.apply(prioritised("p", "3", "high"))
    cluster.run(for_ms=100)
    going = [pod["metadata"]["name"] for pod in cluster.objects("pods") if "deletionTimestamp" in pod["metadata"]]
    assert going == [victim]
    cluster.close()


def test_why_walks_from_your_command_to_the_pod(web: Cluster) -> None:
    walk = web.why(a_pod(web))
    assert walk.events[0].actor == "you"
    assert walk.events[0].cause is None
    actors = [event.actor for event in walk.events]
    for actor in ("kcm/deployment", "kcm/replicaset", "scheduler"):
        assert actor in actors
    assert all(later.cause == earlier.seq for earlier, later in zip(walk.events, walk.events[1:], strict=False))
    assert 3 <= len(walk.main()) < len(walk)
    assert "you create Deployment default/web" in str(walk)


def plain_pod(name: str, cpu: str, priority: str) -> dict[str, Any]:
    requests = {"resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [{"name": "c", "image": "nginx:1", **requests}], "priorityClassName": priority}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize("by", ["you", "scheduler"], ids=["you delete it", "another Pod needs its place"])
def test_why_of_a_pod_that_stops_goes_back_to_whoever_deleted_it(by: str) -> None:
    cluster = Cluster(nodes=1, seed=7)
    for name, value in (("low", 1), ("high", 100)):
        group = "scheduling.k8s.io/v1"
        cluster.apply({"apiVersion": group, "kind": "PriorityClass", "metadata": {"name": name}, "value": value})
    cluster.apply(plain_pod("v", "3", "low"))  # of 4 that the node has
    cluster.run()
    cluster.run(for_ms=10_000)
    if by == "you":
        cluster.delete("pod/v")
    else:
        cluster.apply(plain_pod("p", "3", "high"), wait=False)
    cluster.run(until=lambda: any(event.kind == "pod.stop" for event in cluster.trace))
    *_, delete, serve, commit, watch, cache, stop = cluster.why("pod/v").events
    assert (stop.kind, cache.kind, watch.kind) == ("pod.stop", "cache.update", "watch.event")
    assert cache.data["key"] == "default/v" and cache.data["revision"] == commit.data["revision"]
    assert stop.now_ms == cache.now_ms == watch.now_ms
    assert (serve.kind, delete.actor, delete.data["verb"]) == ("serve", by, "delete")
    kinds = [event.kind for event in cluster.why("pod/v").events]
    assert ("schedule.preempt" in kinds) == (by == "scheduler")
    cluster.close()


def test_why_of_something_the_trace_does_not_know_is_an_error() -> None:
    cluster = Cluster(nodes=1, trace=False)
    cluster.apply(deployment(1))
    with pytest.raises(KeyError, match="no event about"):
        cluster.why("deploy/web")
    cluster.close()


def test_events_are_in_order_and_named(web: Cluster) -> None:
    table = web.events()
    assert table.columns == ("TYPE", "REASON", "OBJECT", "MESSAGE")
    reasons = [row[1] for row in table.rows]
    assert reasons.index("ScalingReplicaSet") < reasons.index("SuccessfulCreate") < reasons.index("Scheduled")
    assert web.events(namespace="kube-system").rows == ()


def test_what_is_handed_out_is_yours_to_change(web: Cluster) -> None:
    for obj in (web.object("deploy/web"), web.objects("deploy")[0]):
        obj["spec"]["replicas"] = 99
        obj["metadata"]["labels"] = {"x": "y"}
    assert web.object("deploy/web")["spec"]["replicas"] == 3


def test_not_ready_gives_one_reason_an_object(cluster: Cluster) -> None:
    cluster.apply(deployment(2))
    assert set(cluster.not_ready()) == {"deployments.apps/default/web"}
    settle(cluster, 2)
    cluster.patch("deploy/web", {"spec": {"paused": True}})
    new_image(cluster, "nginx:9")
    cluster.run(for_ms=5_000)
    assert "the rollout is paused" in cluster.not_ready()["deployments.apps/default/web"]


def test_a_rollout_that_makes_no_progress_says_so(cluster: Cluster) -> None:
    wanted = deployment(1, progressDeadlineSeconds=30)
    wanted["spec"]["template"]["metadata"]["annotations"] = {"k8slab.dev/pull-error": "no such image"}
    cluster.apply(wanted)
    cluster.run(for_ms=60_000)
    assert "has timed out progressing" in cluster.not_ready()["deployments.apps/default/web"]
    assert "no such image" in cluster.not_ready()["deployments.apps/default/web"]


def test_view_has_objects_by_id_and_who_is_ready(cluster: Cluster) -> None:
    cluster.apply(deployment(1), wait=False)
    view = cluster.view()
    assert "Node/node-1" in view["objects"]
    assert any(name.startswith("you/") for name in view["ready"])
    assert not any(name.startswith("Lease/") for name in view["objects"])


# -- faults ----------------------------------------------------------------------------------------

WRONG_FAULTS: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "a node that is none": ("fail_node", ("node-9",), "node 'node-9': expected one of node-1, node-2"),
    "restoring a node that is none": ("restore_node", ("",), "expected one of node-1, node-2"),
    "crashing nobody": (
        "crash",
        ("apiserver",),
        "component 'apiserver': expected one of kcm, scheduler, kubelet/node-1",
    ),
    "restarting nobody": ("restart", ("kubelet",), "expected one of kcm, scheduler, kubelet/node-1, kubelet/node-2"),
    "time running backwards": ("slow_watch", ("kcm", -1), "delay_ms: -1: expected 0 milliseconds or more"),
    "cutting off nobody": ("partition", ("kubelet/node-9",), "kubelet/node-9"),
    "cutting off nobody at all": ("partition", ("",), "component ''"),
    "slowing nobody": ("slow_watch", ("kublet", 5), "kublet"),
}


@pytest.mark.parametrize(("command", "arguments", "match"), WRONG_FAULTS.values(), ids=WRONG_FAULTS)
def test_a_wrong_fault_is_named_and_not_recorded(
    cluster: Cluster, command: str, arguments: tuple[Any, ...], match: str
) -> None:
    before = cluster.recording()
    with pytest.raises(ValueError, match=match.replace("'", ".")):
        getattr(cluster, command)(*arguments)
    assert cluster.recording() == before


def test_crash_before_a_call_that_is_none_is_an_error(cluster: Cluster) -> None:
    before = cluster.recording()
    with pytest.raises(ValueError, match="expected 0 or more"):
        cluster.crash("kcm", before_call=-1)
    assert cluster.recording() == before


def test_restart_of_something_alive_does_nothing(web: Cluster) -> None:
    lives = web.control_plane.manager.lives
    web.restart("kcm")
    assert web.control_plane.manager.lives == lives


# -- time ------------------------------------------------------------------------------------------


def test_run_for_moves_the_clock_exactly(cluster: Cluster) -> None:
    before = cluster.now_ms
    assert cluster.run(for_ms=12_345)
    assert cluster.now_ms == before + 12_345


def test_run_without_arguments_waits_for_what_was_applied(cluster: Cluster) -> None:
    cluster.apply(deployment(2))
    assert cluster.run()
    assert cluster.ready("deploy/web")
    wanted = deployment(1, name="never")
    wanted["spec"]["template"]["spec"]["nodeName"] = "nowhere"
    cluster.apply(wanted)
    before = cluster.now_ms
    assert not cluster.run()
    assert cluster.now_ms == before + 300_000


def test_a_step_is_one_action(cluster: Cluster) -> None:
    before = cluster.loop.actions
    assert cluster.step()
    assert cluster.loop.actions == before + 1


# -- the import ------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["k8slab", "k8slab.cluster", "k8slab.cli", "k8slab.cli.run"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    script = (
        f"import sys, {module}\n"
        "print([m for m in ('pandas', 'numpy', 'ipywidgets', 'anywidget', 'matplotlib', 'IPython', 'asyncio')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_from_the_shell_loads_nothing_heavy() -> None:
    script = (
        "import sys; from k8slab.cli import main\n"
        "assert main(['run', 'tests/manifests/pod.json', '-o', 'json']) == 0\n"
        "heavy = [m for m in ('pandas', 'numpy', 'ipywidgets', 'anywidget', 'IPython') if m in sys.modules]\n"
        "print(heavy, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_every_public_command_is_recorded_or_only_looks() -> None:
    """A new command must be replayable: add it here and to the recording tests."""
    commands = {"apply", "apply_loaded", "delete", "patch", "scale", "fail_node", "restore_node", "partition", "heal",
                "slow_watch", "crash", "restart", "step_ready", "add_scheduler"}  # fmt: skip
    looks = {"run", "step", "get", "object", "objects", "events", "explain", "why", "ready", "not_ready", "all_ready",
             "recording", "share", "replay", "fork", "close", "view", "explain_placement"}  # fmt: skip
    public = {name for name, value in inspect.getmembers(Cluster) if not name.startswith("_") and callable(value)}
    own_code = {"add_scheduler"}  # whoever calls it has a run that cannot be recorded, and `recording` says so
    assert public == commands | looks | own_code


def test_a_choice_of_who_acts_next_is_recorded_and_replayed() -> None:
    cluster = Cluster(nodes=2, seed=3, latency="none")
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}, wait=False)
    for _ in range(40):
        cluster.step_ready(len(cluster.loop.ready) - 1) if cluster.loop.ready else cluster.step()
    again = Cluster.replay(cluster.share())
    assert again.trace.to_jsonl() == cluster.trace.to_jsonl()
    with pytest.raises(ValueError, match="index 999"):
        cluster.step_ready(999)
    cluster.close()
    again.close()


NAN = float("nan")


@pytest.mark.parametrize(
    ("error", "match", "ask"),
    [
        (TypeError, "for_ms: nan", lambda c: c.run(for_ms=NAN)),
        (TypeError, "for_ms: 1.5", lambda c: c.run(for_ms=1.5)),
        (ValueError, "for_ms: -1", lambda c: c.run(for_ms=-1)),
        (TypeError, "delay_ms: 1.5", lambda c: c.slow_watch("kcm", 1.5)),
        (TypeError, "restart_after_ms: 'x'", lambda c: c.crash("kcm", restart_after_ms="x")),
        (TypeError, "patch: None", lambda c: c.patch("node/node-1", None)),
        (ValueError, "patch: expected plain data", lambda c: c.patch("node/node-1", {"spec": {"x": NAN}})),
        (TypeError, "reference: None", lambda c: c.delete(None)),
        (TypeError, "resource: 5", lambda c: c.get(5)),
        (TypeError, "namespace: 3", lambda c: c.get("pods", namespace=3)),
        (TypeError, "source: b'x'", lambda c: c.apply(b"x")),
        (ValueError, r"component \[\]", lambda c: c.crash([])),
        (ValueError, "object 1: ", lambda c: c.apply({"data": {"a": "\ud800"}})),
        (ValueError, "object 1: expected plain data", lambda c: c.apply({"kind": NAN})),
    ],
    ids=[
        "no number of milliseconds",
        "half a millisecond",
        "time running backwards",
        "half a millisecond of delay",
        "a text for a time",
        "no patch",
        "a patch that JSON cannot hold",
        "no reference",
        "a number for a resource",
        "a number for a namespace",
        "bytes for a source",
        "a list for a component",
        "half of a surrogate pair",
        "an object that JSON cannot hold",
    ],
)
def test_what_makes_no_sense_is_named_and_changes_nothing(
    error: type[Exception], match: str, ask: Callable[[Cluster], object]
) -> None:
    cluster = Cluster(nodes=1, seed=1)
    before = cluster.trace.to_jsonl()
    with pytest.raises(error, match=match):
        ask(cluster)
    assert cluster.trace.to_jsonl() == before and not cluster.recording().inputs
    cluster.close()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"apiservers": 0}, "apiservers: 0"),
        ({"nodes": "3"}, "nodes: '3'"),
        ({"nodes": [None]}, "nodes: "),
        ({"release": 1.36}, "release: 1.36"),
        ({"order": 5}, "order: 5"),
        ({"holds": [5]}, "holds: "),
        ({"choices": {"a": "b"}}, "choices: "),
        ({"seed": None}, "seed: None"),
        ({"options": {"node-monitor-grace-perid-ms": 1}}, "options: 'node-monitor-grace-perid-ms'"),
        ({"options": {"node-monitor-grace-period-ms": -1}}, "expected 0 or more"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_argument_of_a_cluster_is_named(given: dict[str, Any], match: str) -> None:
    with pytest.raises((TypeError, ValueError), match=match):
        Cluster(**{"nodes": 1, **given})


def test_a_closed_cluster_says_so_and_can_still_be_read() -> None:
    cluster = Cluster(nodes=1, seed=1)
    cluster.close()
    for ask in (cluster.run, cluster.step, lambda: cluster.apply({}), lambda: cluster.crash("kcm")):
        with pytest.raises((RuntimeError, ValueError)):
            ask()
    with pytest.raises(RuntimeError, match="this cluster is closed"):
        cluster.restart("kcm")
    assert len(cluster.objects("nodes")) == 1 and len(cluster.trace) > 0


def test_every_option_a_controller_reads_is_known() -> None:
    folder = Path(controllers.__file__).parent
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))
    read = set(re.findall(r"(?:\.option|options\.get)\(\s*\"([a-z-]+)\"", source))
    assert read <= set(controllers.OPTIONS) and len(read) > 10
