"""A node whose Pods use more and more, step by step: what the picture shows, and what it ends with."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.kubelet import NodeConfig, NodePressure, Use, parse_growth


def pod(name: str, request: str = "", limit: str = "", **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"memory": request}} if request else {}
    if limit:
        resources["limits"] = {"memory": limit}
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "resources": resources}], **spec}}


def use(memory: str) -> Use:
    return Use(memory=parse_growth(memory))


NODE = NodeConfig(
    "node-1", memory="1Gi", system_memory="24Mi", kubelet_config={"evictionHard": {"memory.available": "100Mi"}}
)


def pressure(**given: Any) -> NodePressure:
    pods = [pod("web", "100Mi", "300Mi", priority=5), pod("leak")]
    uses = {"default/web": use("300Mi"), "default/leak": use("200Mi+9Mi/s")}
    return NodePressure(NODE, pods, uses, **given)


def test_the_view_holds_each_pods_use_request_limit_and_place() -> None:
    thing = pressure()
    shown = thing.view()["memory"]
    assert (shown["capacity"], shown["system"], shown["free"]) == (1024, 24, 500)
    assert shown["bounds"] == {"memory.available < 100Mi": 100} and shown["pressure"] is False
    assert shown["pods"]["default/web"] == {
        "used": 300,
        "request": 100,
        "limit": 300,
        "priority": 5,
        "place": 2,
        "state": "runs",
    }
    assert shown["pods"]["default/leak"]["place"] == 1


def test_it_is_evicted_at_the_first_look_below_the_threshold() -> None:
    """500Mi are free, 9Mi less every second: 140 after 40 s, 50 after 50."""
    thing = pressure(for_ms=60_000)
    answer = thing.run()
    assert [(step.at_ms, step.what) for step in answer.steps] == [(50_000, "pressure"), (50_000, "evicted")]
    shown = thing.view()["memory"]
    assert shown["pods"]["default/leak"] == {
        "used": 0,
        "request": 0,
        "limit": 0,
        "priority": 0,
        "place": 0,
        "state": "evicted",
    }
    assert answer.left == ("default/web",) and answer.memory_available == 700 << 20


def test_a_container_above_its_limit_waits_and_comes_again() -> None:
    thing = NodePressure(NODE, [pod("web", "", "100Mi")], {"default/web": use("90Mi+10Mi/s")}, for_ms=20_000)
    states = []
    while thing.step():
        states.append(thing.view()["memory"]["pods"]["default/web"]["state"])
    assert "runs" in states and "waits" in states
    assert [event.kind for event in thing.trace if event.kind == "container.oom"]


def test_nothing_happens_without_time_and_the_time_is_checked() -> None:
    assert pressure(for_ms=0).run().steps == ()
    with pytest.raises(ValueError, match="for_ms: -1"):
        pressure(for_ms=-1)
    with pytest.raises(TypeError, match="for_ms: '1m'"):
        pressure(for_ms="1m")


def test_one_container_of_several_can_be_meant() -> None:
    both = pod("both")
    both["spec"]["containers"].append({"name": "d"})
    uses = {"default/both": [use("10Mi"), Use(memory=parse_growth("20Mi"), container="d")]}
    thing = NodePressure(NODE, [both], uses)
    assert thing.view()["memory"]["pods"]["default/both"]["used"] == 30


def test_equal_runs_have_equal_traces() -> None:
    first, second = pressure(), pressure()
    first.run()
    second.run()
    assert first.trace.to_jsonl() == second.trace.to_jsonl()


def test_a_node_without_pods_has_nobody_to_evict() -> None:
    answer = NodePressure(NODE, [], for_ms=20_000).run()
    assert (answer.steps, answer.order, answer.left) == ((), (), ())
