"""PodGroups in tree (gates GenericWorkload and GangScheduling), with the texts of 1.36; and the API they need."""

from __future__ import annotations

import random
from typing import Any

import pytest
import yaml

from k8slab.api.errors import InvalidError, NotFoundError
from k8slab.api.features import FeatureGates
from k8slab.api.manifests import ManifestError
from k8slab.api.scheme import NODES, PODGROUPS, PODS, SERVICEACCOUNTS
from k8slab.api.validation import validate_create, validate_update
from k8slab.apiserver import APIServer
from k8slab.client import Client
from k8slab.cluster import Cluster
from k8slab.etcd import Store
from k8slab.scheduler import Framework, QueueName
from k8slab.sim.loop import Loop
from tests.counts import examples
from tests.gangs import GangWorld
from tests.scheduling import node, pod

GATES = {"GenericWorkload": True, "GangScheduling": True}
NO_GROUP = 'waiting for pods\'s pod group "g" to appear in scheduling queue'


def in_group(name: str, of: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    return pod(name, cpu, "1Mi", schedulingGroup={"podGroupName": of}, **spec)


def pod_group(name: str, min_count: int | None) -> dict[str, Any]:
    """A group with a gang policy, or (None) a basic one."""
    policy: dict[str, Any] = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy},
    }


def world(size: int, min_count: int | None, cpu: str) -> GangWorld:
    made = GangWorld(gates=GATES)
    made.server.put(NODES, node("a", cpu))
    if min_count is not None:
        made.server.put(PODGROUPS, pod_group("g", min_count))
    for number in range(size):
        made.server.put(PODS, in_group(f"m{number}", "g"))
    return made


# -- the gates -------------------------------------------------------------------------------------


def test_the_plugin_is_the_only_permit_plugin_of_the_default_profile_and_off() -> None:
    assert [plugin.name for plugin in Framework.from_profile().permit_plugins] == []  # type: ignore[attr-defined]
    on = Framework.from_profile(features=FeatureGates(overrides=GATES))
    assert [plugin.name for plugin in on.permit_plugins] == ["GangScheduling"]  # type: ignore[attr-defined]


def test_without_the_gates_a_scheduling_group_is_not_looked_at() -> None:
    made = GangWorld(gates={})
    made.server.put(NODES, node("a"))
    made.server.put(PODS, in_group("m0", "g"))
    made.run(100)
    assert made.bound() == {"m0": "a"}


# -- before the queue ------------------------------------------------------------------------------


def test_a_pod_waits_outside_the_queue_for_its_group_and_its_siblings() -> None:
    made = world(1, None, "4")
    made.run(50)
    queue = made.scheduler.queue
    assert (queue.where("default/m0"), queue.view()["unschedulable"]["default/m0"]["gated_by"]) == (
        QueueName.UNSCHEDULABLE,
        "GangScheduling",
    )
    plugin: Any = made.framework.plugins["GangScheduling"]
    assert plugin.pre_enqueue(in_group("m0", "g")).message == NO_GROUP
    made.server.put(PODGROUPS, pod_group("g", 2))
    made.run(50)
    assert plugin.pre_enqueue(in_group("m0", "g")).message == (
        "waiting for minCount pods from a gang to appear in scheduling queue"
    )
    assert made.bound() == {}
    made.server.put(PODS, in_group("m1", "g"))
    made.run(1_500)
    assert sorted(made.bound()) == ["m0", "m1"]


def test_a_basic_group_asks_for_nothing() -> None:
    made = GangWorld(gates=GATES)
    made.server.put(NODES, node("a", "1"))
    made.server.put(PODGROUPS, pod_group("g", None))
    for name in ("m0", "m1"):
        made.server.put(PODS, in_group(name, "g"))
    made.run(200)
    assert len(made.bound()) == 1


# -- the pod group cycle ---------------------------------------------------------------------------


def test_a_gang_that_fits_is_bound_in_one_cycle() -> None:
    made = world(3, 3, "3")
    made.run(100)
    assert sorted(made.bound()) == ["m0", "m1", "m2"]
    (told,) = [event for event in made.loop.trace if event.kind == "schedule.group"]
    assert told.message == "the scheduler tries 3 Pods of default/g together, 3 find a place: they fit together"


def test_a_gang_that_does_not_fit_holds_nothing() -> None:
    made = world(3, 3, "2")
    made.run(100)
    assert (made.bound(), made.held(), made.framework.waiting_pods()) == ({}, {}, [])
    waits = 'one or more plugins asked to wait and no plugin rejected pod "m0"'
    assert made.said("m0") == [f"pod group is unschedulable, {waits}"]
    (unplaced,) = [name for name in ("m0", "m1", "m2") if "Insufficient cpu" in made.said(name)[0]]
    assert unplaced == "m2"
    made.server.put(NODES, node("b", "1"))
    made.run(3_000)
    assert sorted(made.bound()) == ["m0", "m1", "m2"]


def test_more_than_the_quorum_are_bound_as_far_as_there_is_room() -> None:
    made = world(4, 2, "3")
    made.run(100)
    assert len(made.bound()) == 3
    made.server.put(NODES, node("b", "1"))
    made.run(3_000)
    assert sorted(made.bound()) == ["m0", "m1", "m2", "m3"]


def test_two_gangs_do_not_deadlock() -> None:
    """The same two gangs with which gangs by Permit hold half of the cluster each."""
    made = GangWorld(gates=GATES)
    for name in ("red", "blue"):
        made.server.put(PODGROUPS, pod_group(name, 4))
    for number in range(4):
        for name in ("red", "blue"):
            made.server.put(PODS, in_group(f"{number}-{name}", name))
    for name in ("a", "b"):
        made.server.put(NODES, node(name, "2"))
    made.run(2_500)
    assert len(made.bound()) == 4
    assert len({name.partition("-")[2] for name in made.bound()}) == 1
    assert made.held() == {}


def test_members_of_different_schedulers_are_an_error() -> None:
    made = GangWorld(gates=GATES)
    made.scheduler.frameworks["other"] = made.framework
    made.server.put(NODES, node("a"))
    made.server.put(PODGROUPS, pod_group("g", 2))
    made.server.put(PODS, in_group("m0", "g"))
    made.server.put(PODS, in_group("m1", "g", schedulerName="other"))
    made.scheduler._recorders["other"] = made.scheduler._recorders["default-scheduler"]
    made.run(50)
    text = (
        "all pods in a single pod group should have the same .spec.schedulerName set, "
        'got: "default-scheduler" and "other"'
    )
    assert made.said("m0")[0] == text


def test_all_or_none_over_random_sequences() -> None:
    """Gangs, Nodes and deletions in any order: a gang's bound Pods are none, or at least minCount; counts are true."""
    whole = 0
    for seed in range(examples(15, 300)):
        rng = random.Random(seed)
        made = GangWorld(gates=GATES, seed=seed, shuffled=seed % 2 == 1, latency_ms=rng.choice((0, 2)))
        needs = {name: rng.randrange(2, 5) for name in ("red", "blue")}
        for name, need in needs.items():
            made.server.put(PODGROUPS, pod_group(name, need))
        deeds = ["node"] * 3 + ["red", "blue"] * 5 + ["delete", "drop"]
        rng.shuffle(deeds)
        for number, deed in enumerate(deeds):
            free = [p["metadata"]["name"] for p in made.server.of(PODS) if not p["spec"].get("nodeName")]
            if deed == "node":
                made.server.put(NODES, node(f"n{number}", str(rng.randrange(1, 4))))
            elif deed in needs:
                made.server.put(PODS, in_group(f"{number}-{deed}", deed))
            elif deed == "drop":
                made.server.drop_watches()
            elif free and not made.held():
                made.server.remove(PODS, f"default/{rng.choice(free)}")
            made.run(rng.choice((0, 1, 3, 600)))
        made.run(400_000)
        for name, need in needs.items():
            count = sum(1 for bound in made.bound() if bound.endswith(name))
            assert count == 0 or count >= need, f"seed {seed}: {name} {count} of {need}"
            members = [p for p in made.server.of(PODS) if p["metadata"]["name"].endswith(name)]
            state = made.scheduler.cache.pod_groups.get(f"default/{name}")
            assert (state.all_pods_count, state.scheduled_pods_count) == (len(members), count), f"seed {seed}"
            whole += count > 0
        assert made.held() == {}
    assert whole > 5


# -- the API ---------------------------------------------------------------------------------------


def server(**gates: bool) -> tuple[Loop, Client]:
    loop = Loop(1)
    return loop, Client(APIServer(loop, Store(), features=FeatureGates(overrides=gates)).transport("you"))


def ask(loop: Loop, work: Any) -> Any:
    done: list[Any] = []

    async def job() -> None:
        try:
            done.append(await work)
        except Exception as error:
            done.append(error)

    loop.spawn("you", job())
    loop.run(until=lambda: bool(done), for_ms=10_000)
    return done[0]


def test_groups_are_served_with_the_gate_alone() -> None:
    loop, client = server()
    assert isinstance(ask(loop, client.create(PODGROUPS, pod_group("g", 2), "default")), NotFoundError)
    loop, client = server(GenericWorkload=True)
    assert ask(loop, client.create(PODGROUPS, pod_group("g", 2), "default"))["metadata"]["generation"] == 1
    wrong = ask(loop, client.create(PODGROUPS, pod_group("h", 0), "default"))
    assert isinstance(wrong, InvalidError)
    assert str(wrong) == (
        'PodGroup.scheduling.k8s.io "h" is invalid: spec.schedulingPolicy.gang.minCount: Invalid value: 0: '
        "must be greater than or equal to 1"
    )


@pytest.mark.parametrize("on", [False, True])
def test_a_pods_group_is_dropped_without_the_gate(on: bool) -> None:
    loop, client = server(GenericWorkload=on)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}
    ask(loop, client.create(SERVICEACCOUNTS, account, "default"))
    made = ask(loop, client.create(PODS, {**in_group("m0", "g"), "apiVersion": "v1", "kind": "Pod"}, "default"))
    assert not isinstance(made, Exception), made
    assert made["spec"].get("schedulingGroup") == ({"podGroupName": "g"} if on else None)


def workload(*templates: Any) -> dict[str, Any]:
    metadata = {"name": "w", "namespace": "default"}
    kind = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "Workload"}
    return {**kind, "metadata": metadata, "spec": {"podGroupTemplates": list(templates)}}


POD = {"apiVersion": "v1", "kind": "Pod"}
GANG: dict[str, Any] = {"gang": {"minCount": 1}}
POLICIES = {
    "no policy": (None, 'Invalid value: "": must specify one of: `basic`, `gang`'),
    "both": ({"basic": {}, **GANG}, 'Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`'),
    "no count": ({"gang": {}}, "Required value"),
    "a text": ({"gang": {"minCount": "3"}}, 'Invalid value: "3": expected an integer'),
    "a list": (["gang"], 'Invalid value: ["gang"]: expected an object'),
}


@pytest.mark.parametrize(("policy", "text"), POLICIES.values(), ids=POLICIES)
def test_what_is_wrong_with_a_policy_is_named(policy: Any, text: str) -> None:
    group = pod_group("g", 1)
    group["spec"]["schedulingPolicy"] = policy
    (cause,) = validate_create(group)
    assert (cause.message, cause.field.startswith("spec.schedulingPolicy")) == (text, True)


def test_a_workload_has_one_to_eight_templates_of_different_names() -> None:
    template = {"name": "t", "schedulingPolicy": GANG}
    assert validate_create(workload(template)) == []
    found = [(c.field, c.message) for c in validate_create(workload(template, template))]
    assert found == [("spec.podGroupTemplates[1]", 'Duplicate value: "t"')]
    assert [c.message for c in validate_create(workload())] == ["Required value"]
    many = [{"name": f"t{number}", "schedulingPolicy": GANG} for number in range(9)]
    assert [c.message for c in validate_create(workload(*many))] == ["Too many: 9: must have at most 8 items"]


def test_a_policy_is_immutable() -> None:
    old, new = pod_group("g", 2), pod_group("g", 3)
    for obj in (old, new):
        obj["metadata"]["resourceVersion"] = "1"
    found = [(c.field, c.message) for c in validate_update(new, old)]
    assert found == [
        ("spec.schedulingPolicy", 'Invalid value: {"gang":{"minCount":3}}: field is immutable'),
    ]


def test_a_cluster_with_the_gates_runs_a_gang() -> None:
    manifest = yaml.safe_dump_all([pod_group("g", 3), *({**in_group(f"m{n}", "g"), **POD} for n in range(3))])
    cluster = Cluster(nodes=1, gates=GATES)
    cluster.apply(manifest)
    assert cluster.run(until=cluster.all_ready, for_ms=60_000)
    assert "schedule.group" in {event.kind for event in cluster.trace}
    cluster.close()
    without = Cluster(nodes=1)
    with pytest.raises(ManifestError, match='no matches for kind "PodGroup"'):
        without.apply(manifest)
    without.close()
