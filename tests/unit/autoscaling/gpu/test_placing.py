"""Placing GPU tasks and measuring fragments: Weng et al., USENIX ATC 2023, sections 3 and 4."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8slab.autoscaling.gpu import (
    GpuNode,
    Placer,
    Policy,
    Task,
    TaskClass,
    Workload,
    fragments_for,
    generated_nodes,
    generated_tasks,
)
from k8slab.autoscaling.gpu.packing import options

ROOMY = (64_000, 262_144)


def node(*gpus: int, cpu: int = ROOMY[0], memory: int = ROOMY[1], name: str = "n", model: str = "A") -> GpuNode:
    return GpuNode(name, cpu, memory, gpus, model)


# -- what fits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "where", "reason"),
    [
        pytest.param(TaskClass(gpus=2), node(1000, 1000), "", id="two whole GPUs"),
        pytest.param(TaskClass(gpus=2), node(1000, 999), "it wants 2 whole GPUs, and there are 1", id="one is used"),
        pytest.param(TaskClass(gpu_milli=600), node(500, 500),
                     "it wants 600 thousandths of one GPU, and no GPU has them",
                     id="two halves are no whole"),
        pytest.param(TaskClass(gpu_milli=500), node(0, 500), "", id="a half on the other half"),
        pytest.param(TaskClass(milli_cpu=9, gpus=1), node(1000, cpu=8), "it wants 9m CPU, and there are 8m",
                     id="no CPU"),
        pytest.param(TaskClass(memory_mib=9), node(memory=8), "it wants 9 MiB memory, and there are 8", id="no memory"),
        pytest.param(TaskClass(gpus=1, model="B"), node(1000), "it wants B, and here are A", id="another model"),
        pytest.param(TaskClass(milli_cpu=1, model="B"), node(), "", id="a task without GPUs does not mind the model"),
    ],
)  # fmt: skip
def test_what_fits_where(task: TaskClass, where: GpuNode, reason: str) -> None:
    assert where.why_not(task) == reason
    assert bool(options(task, where.state)) is (reason == "")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        pytest.param(lambda: TaskClass(gpus=1, gpu_milli=500), "expected whole GPUs or a share of one",
                     id="one and a half"),
        pytest.param(lambda: TaskClass(gpu_milli=1000), "a whole GPU is gpus=1", id="a share that is a whole"),
        pytest.param(lambda: TaskClass(gpus=-1), "gpus: -1: expected 0 or more", id="less than nothing"),
        pytest.param(lambda: GpuNode("n", 1, 1, [1001]), "expected thousandths from 0 to 1000", id="more than a GPU"),
        pytest.param(lambda: Workload({}), "expected at least one above 0", id="a workload of nothing"),
        pytest.param(lambda: Placer([], Policy.FGD), "the policy fgd needs to know what is likely to come",
                     id="fgd alone"),
    ],
)  # fmt: skip
def test_impossible_questions(made: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r"expected|needs") as refused:
        made()
    assert message in str(refused.value)


def test_a_task_takes_and_gives_back() -> None:
    where = node(1000, 1000)
    assert where.take(Task("a", 100, 100, gpu_milli=300)) == (0,)
    assert where.take(Task("b", 100, 100, gpu_milli=300), [1]) == (1,)
    with pytest.raises(ValueError, match="task a is here already"):
        where.take(Task("a", gpu_milli=100))
    for places in ([1, 0], [], [0, 0]):
        with pytest.raises(ValueError, match="will not do"):
            where.take(Task("c", gpu_milli=700), places)
    where.check_invariants()
    where.release("a")
    assert (where.left, where.cpu_left) == ((1000, 700), ROOMY[0] - 100)


# -- fragments: section 3 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "gpus", "fragments"),
    [
        pytest.param(TaskClass(gpus=1), (500, 1000), 500, id="half a GPU is of no use to who wants one"),
        pytest.param(TaskClass(gpus=2), (500, 1000), 1500, id="one whole GPU is of no use to who wants two"),
        pytest.param(TaskClass(gpu_milli=300), (200, 300, 900), 200, id="less than the share is of no use"),
        pytest.param(TaskClass(gpu_milli=300), (100, 200), 300, id="two small rests do not add up"),
        pytest.param(TaskClass(milli_cpu=1), (500, 1000), 1500, id="GPUs are of no use to who wants none"),
        pytest.param(TaskClass(milli_cpu=10**9, gpus=1), (1000,), 1000, id="nor where the CPU does not suffice"),
        pytest.param(TaskClass(gpus=1, model="B"), (1000,), 1000, id="nor of another model"),
        pytest.param(TaskClass(gpus=1), (0, 0), 0, id="what is used is no fragment"),
    ],
)
def test_what_is_of_no_use_to_a_task(task: TaskClass, gpus: tuple[int, ...], fragments: int) -> None:
    assert fragments_for(task, node(*gpus).state) == fragments


KINDS = st.one_of(
    st.builds(TaskClass, st.integers(0, 9), st.integers(0, 9), gpus=st.integers(0, 4)),
    st.builds(TaskClass, st.integers(0, 9), st.integers(0, 9), gpu_milli=st.sampled_from([0, 200, 500, 700])),
)
GPUS = st.lists(st.sampled_from([0, 200, 300, 500, 800, 1000]), max_size=5)


@given(st.dictionaries(KINDS, st.integers(1, 5), min_size=1, max_size=5), GPUS, st.integers(0, 9), st.integers(0, 9))
def test_a_workloads_measure_is_the_mean_over_its_tasks(
    weights: dict[TaskClass, int], gpus: list[int], cpu: int, memory: int
) -> None:
    state = node(*gpus, cpu=cpu, memory=memory).state
    naive = sum(weight * fragments_for(kind, state) for kind, weight in weights.items()) / sum(weights.values())
    assert Workload(weights).fragments(state) == pytest.approx(naive)


# -- policies: sections 4 and 6 ---------------------------------------------------------------------------------


def test_misconception_21_eight_free_gpus_are_not_one_place_for_eight() -> None:
    nodes = [GpuNode(name, *ROOMY, [1000] * 8) for name in ("a", "b")]
    placer = Placer(nodes, Policy.SPREAD)
    assert [placer.place(Task(f"t{n}", gpus=1)) for n in range(8)] == ["a", "b"] * 4
    assert sum(sum(one.left) for one in nodes) == 8_000
    assert (placer.place(Task("big", gpus=8)), placer.failed) == (None, ["big"])


def test_binpack_leaves_a_whole_node() -> None:
    placer = Placer([GpuNode(name, *ROOMY, [1000] * 8) for name in ("a", "b")], Policy.BINPACK)
    assert {placer.place(Task(f"t{n}", gpus=1)) for n in range(8)} == {"a"}
    assert placer.place(Task("big", gpus=8)) == "b"


def test_down_the_gradient_a_share_goes_where_it_ruins_least() -> None:
    """Section 4: with tasks that want whole GPUs to come, a share sits beside another share, not on an empty GPU."""
    nodes = [GpuNode("empty", *ROOMY, [1000]), GpuNode("begun", *ROOMY, [500, 1000])]
    placer = Placer(nodes, Policy.FGD, Workload({TaskClass(gpus=1): 9, TaskClass(gpu_milli=500): 1}))
    assert placer.place(Task("share", gpu_milli=500)) == "begun"
    assert nodes[1].left == (0, 1000)


def test_down_the_gradient_cpu_is_spent_where_gpus_are_not_stranded() -> None:
    """Binpack fills the GPU node's CPU; the gradient keeps it for tasks with GPUs."""

    def nodes() -> list[GpuNode]:
        return [GpuNode("gpu", 8_000, 64_000, [1000]), GpuNode("cpu", 8_000, 64_000)]

    to_come = Workload({TaskClass(4_000, 1_000, gpus=1): 1})
    assert Placer(nodes(), Policy.FGD, to_come).place(Task("web", 6_000, 1_000)) == "cpu"
    assert Placer(nodes(), Policy.BEST_FIT).place(Task("web", 6_000, 1_000)) == "cpu"


def naive_place(nodes: list[GpuNode], task: Task, workload: Workload) -> str | None:
    """The twin: every way on every node, each measured from scratch; the least change wins, of equals the first."""
    best: tuple[float, int, int, str] | None = None
    for index, one in enumerate(nodes):
        for left, after in options(task.kind, one.state):
            score = workload.fragments(after) - workload.fragments(one.state)
            if best is None or (score, left, after[0]) < best[:3]:
                best = (score, left, after[0], nodes[index].name)
    return best[3] if best else None


@pytest.mark.parametrize("seed", range(8))
def test_the_placer_agrees_with_its_naive_twin(seed: int) -> None:
    nodes, tasks = generated_nodes(30, seed), generated_tasks(200, seed)
    workload = Workload.of(task.kind for task in tasks)
    placer, rng = Placer(nodes, Policy.FGD, workload), random.Random(seed)
    placed: list[tuple[str, str]] = []
    for task in tasks:
        expected = naive_place(nodes, task, workload)
        found = placer.place(task)
        assert found == expected
        if found is not None:
            placed.append((task.name, found))
        if placed and rng.random() < 0.3:
            placer.release(*placed.pop(rng.randrange(len(placed))))
    placer.check_invariants()


@pytest.mark.parametrize("policy", list(Policy))
def test_every_policy_counts_right(policy: Policy) -> None:
    nodes, tasks = generated_nodes(40, 1), generated_tasks(300, 1)
    placer = Placer(nodes, policy, Workload.of(task.kind for task in tasks))
    placed = [name for task in tasks if (name := placer.place(task)) is not None]
    placer.check_invariants()
    assert len(placed) + len(placer.failed) == 300
    assert sum(len(one.tasks) for one in nodes) == len(placed)


def test_the_trace_is_the_same_for_the_same_seed() -> None:
    assert generated_tasks(50, 4) == generated_tasks(50, 4) != generated_tasks(50, 5)
    assert [one.state for one in generated_nodes(50, 4)] == [one.state for one in generated_nodes(50, 4)]
