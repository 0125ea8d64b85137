"""Several schedulers on one cluster: by name, side by side on one pool of nodes, and two of one name."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab import Cluster
from k8slab.api.transport import HTTPResponse
from k8slab.scheduler import ConfigError, Extender

OTHER = {"schedulerName": "other"}


def pod(name: str, cpu: str = "3", scheduler: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "nginx:1.27", "resources": {"requests": {"cpu": cpu}}}]
    }
    if scheduler:
        spec["schedulerName"] = scheduler
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def cluster(nodes: int = 1, **options: Any) -> Cluster:
    """With a second scheduler that has seen its first lists. Its nodes have 4 CPUs."""
    made = Cluster(nodes=nodes, seed=7)
    made.add_scheduler("b", **options)
    made.run(for_ms=1_000)
    return made


def status(made: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = made.object(f"pod/{name}")["status"]
    return found


def decisions(made: Cluster, name: str) -> list[tuple[str, str]]:
    """(who, where) of every decision about a Pod."""
    return [
        (event.actor, str(event.data["node"]))
        for event in made.trace
        if event.kind == "schedule.decide" and event.data["key"] == f"default/{name}"
    ]


def test_each_scheduler_takes_the_pods_of_its_name() -> None:
    made = cluster(profiles=[OTHER])
    made.apply([pod("mine", "1"), pod("yours", "1", "other"), pod("nobodys", "1", "nobody")])
    made.run(for_ms=10_000)
    assert decisions(made, "mine") == [("scheduler", "node-1")]
    assert decisions(made, "yours") == [("schedulers/b", "node-1")]
    assert decisions(made, "nobodys") == []
    assert status(made, "nobodys") == {"phase": "Pending", "qosClass": "Burstable"}, "nobody says a word"
    sources = {
        event["involvedObject"]["name"]: event["reportingComponent"]
        for event in made.objects("events")
        if event["reason"] == "Scheduled"
    }
    assert sources == {"mine": "default-scheduler", "yours": "other"}


def test_two_schedulers_on_one_pool_book_a_node_twice_and_the_kubelet_says_no() -> None:
    made = cluster(profiles=[OTHER])
    made.apply(pod("mine"), wait=False)
    made.apply(pod("yours", scheduler="other"), wait=False)
    made.run(for_ms=10_000)
    found = {name: status(made, name) for name in ("mine", "yours")}
    phases = {name: (state["phase"], state.get("reason")) for name, state in found.items()}
    assert sorted(phases.values(), key=str) == [("Failed", "OutOfcpu"), ("Running", None)]
    (message,) = (state["message"] for state in found.values() if state["phase"] == "Failed")
    assert message == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 3000, capacity: 4000"
    )


def test_pods_that_come_one_after_the_other_are_not_booked_twice() -> None:
    made = cluster(profiles=[OTHER])
    made.apply(pod("mine"))
    made.run(for_ms=1_000)
    made.apply(pod("yours", scheduler="other"))
    made.run(for_ms=10_000)
    assert (status(made, "mine")["phase"], status(made, "yours")["phase"]) == ("Running", "Pending")
    assert "Insufficient cpu" in status(made, "yours")["conditions"][0]["message"]


def test_two_of_one_name_both_decide_and_the_second_binding_is_a_409() -> None:
    made = cluster(nodes=3)
    made.apply(pod("p", "1"))
    made.run(for_ms=10_000)
    assert sorted(who for who, _ in decisions(made, "p")) == ["scheduler", "schedulers/b"]
    where = made.object("pod/p")["spec"]["nodeName"]
    (refused,) = [event for event in made.trace if event.kind == "schedule.bind-error"]
    refusal = f'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "{where}"'
    messages = [event["message"] for event in made.objects("events") if event["reason"] == "FailedScheduling"]
    assert messages == [f'running Bind plugin "DefaultBinder": {refusal}']
    assert refused.actor in ("scheduler", "schedulers/b")
    assert status(made, "p")["phase"] == "Running", "the Pod is on one node only"
    for process in (made.control_plane.scheduler, made.control_plane.more_schedulers["b"]):
        process.program.check_invariants()
        assert process.program.cache.node_of("default/p") == where, "who lost knows where the Pod really is"


def test_one_of_the_same_name_goes_on_when_the_other_is_down() -> None:
    made = cluster()
    made.crash("scheduler", restart_after_ms=None)
    made.apply(pod("p", "1"))
    made.run(for_ms=10_000)
    assert [who for who, _ in decisions(made, "p")] == ["schedulers/b"]
    assert status(made, "p")["phase"] == "Running"


def test_a_placement_is_explained_by_the_pods_own_scheduler() -> None:
    made = cluster(
        profiles=[{"schedulerName": "other", "plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}}]
    )
    made.apply([pod("yours", "1", "other"), pod("nobodys", "1", "nobody")])
    made.run(for_ms=1_000)
    assert "NodeResourcesFit" not in made.explain_placement("pod/yours").filter_plugins
    with pytest.raises(ValueError, match="no nobody runs"):
        made.explain_placement("pod/nobodys")
    assert "nobodys" in str(made.explain("pod/nobodys"))


def test_an_extender_of_a_scheduler_is_found_in_the_clusters_http() -> None:
    extender = Extender.from_dict({"urlPrefix": "http://gpu.local", "filterVerb": "filter", "nodeCacheCapable": True})
    made = cluster(nodes=3, profiles=[OTHER], extenders=[extender])
    made.http.serve("http://gpu.local", lambda *_: HTTPResponse(200, {}, b'{"NodeNames": ["node-2"]}'), delay_ms=20)
    made.apply(pod("yours", "1", "other"))
    made.run(for_ms=5_000)
    assert decisions(made, "yours") == [("schedulers/b", "node-2")]
    (answer,) = [event for event in made.trace if event.kind == "extender.answer"]
    assert (answer.actor, answer.data["took_ms"]) == ("schedulers/b", 20)


@pytest.mark.parametrize("name", ["", "B", "a/b", 7, None])
def test_a_bad_name_is_told(name: Any) -> None:
    made = Cluster(nodes=1, seed=7)
    with pytest.raises(ValueError, match="expected a DNS label"):
        made.add_scheduler(name)


def test_a_name_that_is_there_and_recordings_are_told() -> None:
    made = cluster()
    with pytest.raises(ValueError, match="a scheduler of this name is there already"):
        made.add_scheduler("b")
    with pytest.raises(ValueError, match="add_scheduler: a run with objects of your own cannot be recorded"):
        made.recording()


def test_options_may_be_plain_objects() -> None:
    raw = {"urlPrefix": "http://gpu.local", "filterVerb": "filter", "nodeCacheCapable": True}
    made = cluster(nodes=2, profiles=[OTHER], extenders=[raw])
    made.add_scheduler("c", config={"profiles": [{"schedulerName": "third"}]})
    made.add_scheduler(
        "d",
        config="{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, "
        "profiles: [{schedulerName: fourth}]}",
    )
    made.http.serve("http://gpu.local", lambda *_: HTTPResponse(200, {}, b'{"NodeNames": ["node-2"]}'))
    made.run(for_ms=1_000)
    made.apply([pod("yours", "1", "other"), pod("three", "1", "third"), pod("four", "1", "fourth")])
    made.run(for_ms=5_000)
    assert decisions(made, "yours") == [("schedulers/b", "node-2")]
    assert [who for name in ("three", "four") for who, _ in decisions(made, name)] == ["schedulers/c", "schedulers/d"]


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"profiles": "abc"}, TypeError, "profiles: 'abc': expected a list of objects, or of Profile"),
        ({"profiles": [7]}, TypeError, "profiles[0]: 7: expected a list of objects, or of Profile"),
        (
            {"extenders": ["http://a"]},
            TypeError,
            "extenders[0]: 'http://a': expected a list of objects, or of Extender",
        ),
        ({"extenders": [{"urlPrefix": 7}]}, ConfigError, "Extender.extenders.urlPrefix of type string"),
        (
            {"extenders": [{"urlPrefix": "http://a"}, {"urlPrefix": "http://b", "prioritizeVerb": "p"}]},
            ConfigError,
            "extenders[1].weight",
        ),
        ({"registry": [5]}, TypeError, "registry: [5]: expected {plugin's name: class}"),
        ({"registry": {"Q": 5}}, TypeError, "registry: Q: 5: expected a class, or a function of (args, handle)"),
        ({"config": 5}, TypeError, "config: 5: expected YAML, an object or a KubeSchedulerConfiguration"),
    ],
)
def test_a_bad_option_is_named_and_nothing_is_started(
    options: dict[str, Any], kind: type[Exception], text: str
) -> None:
    made = Cluster(nodes=1, seed=7)
    with pytest.raises(kind) as error:
        made.add_scheduler("b", **options)
    assert text in str(error.value)
    assert made.control_plane.more_schedulers == {}
