"""The same tasks under several policies, as steps."""

from __future__ import annotations

import pytest

from k8slab.autoscaling.gpu import GpuNode, PlacingStory, Policy, Task, TaskClass, Workload

EIGHT = Workload({TaskClass(gpus=8): 1})


def nodes() -> list[GpuNode]:
    return [GpuNode(f"n{n}", 96_000, 786_432, [1_000] * 8) for n in (1, 2)]


def story(*tasks: Task | str) -> PlacingStory:
    return PlacingStory(nodes, tasks, (Policy.SPREAD, Policy.BINPACK), EIGHT)


def played(*tasks: Task | str) -> PlacingStory:
    made = story(*tasks)
    while made.step():
        pass
    return made


def test_each_policy_has_nodes_of_its_own() -> None:
    view = played(Task("a", gpus=1), Task("b", gpus=1)).view()["fragments"]
    used = {policy: [sum(g["left"] == 0 for g in n["gpus"].values()) for n in view[policy]["nodes"].values()]
            for policy in view}  # fmt: skip
    assert used == {"spread": [1, 1], "binpack": [2, 0]}


def test_what_nobody_can_use_is_counted_by_gpu_and_in_all() -> None:
    """Seven free GPUs of a node are of no use to who wants eight."""
    view = played(Task("a", gpus=1)).view()["fragments"]["spread"]
    assert (view["free"], view["lost"]) == (15_000, 7_000)
    lost = [{gpu["lost"] for gpu in node["gpus"].values() if gpu["left"]} for node in view["nodes"].values()]
    assert lost == [{100}, {0}]


def test_a_task_without_a_place_is_told() -> None:
    made = played(*(Task(f"t{n}", gpus=1) for n in range(2)), Task("big", gpus=8))
    assert list(made.trace)[-1].message == "task big (8 GPUs): spread: nowhere; binpack: n2"
    assert made.view()["fragments"]["spread"]["failed"] == {"big": True}


def test_a_task_that_ends_gives_its_gpus_back() -> None:
    made = played(Task("a", gpu_milli=500), Task("web", 2_000), "a")
    assert [event.message for event in made.trace] == [
        "task a (0.5 GPU): spread: n1; binpack: n1",
        "task web (2 CPU): spread: n2; binpack: n1",
        "task a has ended, and its GPUs are free again",
    ]
    assert made.view()["fragments"]["binpack"]["free"] == 16_000


def test_bad_stories() -> None:
    with pytest.raises(ValueError, match="policies: none, expected at least one"):
        PlacingStory(nodes, [], (), EIGHT)
    with pytest.raises(ValueError, match="task 'ghost': it was not placed"):
        played("ghost")
