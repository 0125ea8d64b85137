"""The kernel's choice, against its formula by hand."""

from __future__ import annotations

import pytest

from k8slab.api.qos import oom_score_adj
from k8slab.kubelet.oom_killer import Cgroup, Process, oom_badness, oom_score, out_of_memory

MI, GI = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("rss", "adj", "pages"),
    [
        pytest.param(4096, 0, 1, id="a page is a point"),
        pytest.param(4097, 0, 2, id="a begun page is a page"),
        pytest.param(0, 1000, 262_000, id="an adj of 1000 adds 1000 times a thousandth of 262144 pages, rounded down"),
        pytest.param(100 * MI, -997, 25_600 - 997 * 262, id="a Guaranteed container starts far below zero"),
        pytest.param(GI, -1000, None, id="an adj of -1000 is never killed"),
    ],
)
def test_badness_on_a_machine_of_1_gi(rss: int, adj: int, pages: int | None) -> None:
    assert oom_badness(Process(2, "x", rss, adj), GI) == pages


@pytest.mark.parametrize(
    ("rss", "adj", "score"),
    [
        pytest.param(0, 0, 666, id="two thirds of 1000"),
        pytest.param(GI, 0, 1333, id="all of the memory"),
        pytest.param(0, 1000, 1332, id="BestEffort, still empty"),
        pytest.param(0, -997, 2, id="Guaranteed, still empty"),
        pytest.param(GI, -1000, 0, id="never"),
    ],
)
def test_the_score_in_proc(rss: int, adj: int, score: int) -> None:
    assert oom_score(Process(2, "x", rss, adj), GI) == score


def test_an_adj_beyond_the_kernels_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="oom_score_adj 1257 of x: expected -1000 to 1000"):
        oom_badness(Process(2, "x", 0, 1257), GI)


def test_a_machine_with_less_than_a_page_is_refused() -> None:
    with pytest.raises(ValueError, match="total_bytes 0"):
        out_of_memory([], [], 0)


def test_nobody_dies_while_everything_fits() -> None:
    assert out_of_memory([Process(2, "x", GI, 0)], [], GI) is None


def test_when_the_machine_is_full_a_small_best_effort_process_dies_before_a_large_guaranteed_one() -> None:
    processes = [Process(2, "guaranteed", 900 * MI, -997, "/g"), Process(3, "best-effort", 200 * MI, 1000, "/b")]
    kill = out_of_memory(processes, [], GI)
    assert kill is not None and kill.constraint == "CONSTRAINT_NONE" and kill.victim.name == "best-effort"


def test_among_burstable_containers_the_use_beyond_the_request_decides() -> None:
    """adj = 1000 - 10 * (requested per cent): 60 % requested and 70 % used stands against 20 % and 40 %."""
    processes = [Process(2, "large", GI * 70 // 100, 400, "/a"), Process(3, "small", GI * 40 // 100, 800, "/b")]
    kill = out_of_memory(processes, [], GI)
    assert kill is not None and kill.victim.name == "small", "1200 thousandths against 1100"


def test_in_a_full_cgroup_only_its_own_processes_are_asked() -> None:
    processes = [Process(2, "in", 101 * MI, -997, "/pod/c"), Process(3, "out", 10 * MI, 1000, "/other")]
    kill = out_of_memory(processes, [Cgroup("/pod/c", 100 * MI)], GI)
    assert kill is not None
    assert (kill.constraint, kill.cgroup, kill.victim.name) == ("CONSTRAINT_MEMCG", "/pod/c", "in")


def test_the_innermost_full_cgroup_counts() -> None:
    processes = [Process(2, "a", 150 * MI, 0, "/pod/a"), Process(3, "b", 90 * MI, 1000, "/pod/b")]
    groups = [Cgroup("/pod", 200 * MI), Cgroup("/pod/a", 100 * MI)]
    kill = out_of_memory(processes, groups, GI)
    assert kill is not None and kill.cgroup == "/pod/a" and kill.victim.name == "a"


def test_of_two_full_cgroups_that_of_the_asking_process_counts() -> None:
    processes = [Process(2, "a", 2 * MI, 0, "/a"), Process(3, "b", 2 * MI, 0, "/b")]
    kill = out_of_memory(processes, [Cgroup("/a", MI), Cgroup("/b", MI)], GI, wanted_by=3)
    assert kill is not None and kill.victim.name == "b"


def test_a_container_dies_as_a_whole_and_its_pod_lives_on() -> None:
    processes = [
        Process(2, "shell", MI, 1000, "/pod/c"),
        Process(3, "worker", GI, 1000, "/pod/c"),
        Process(4, "other", MI, 1000, "/pod/d"),
    ]
    groups = [Cgroup("/pod"), Cgroup("/pod/c", oom_group=True), Cgroup("/pod/d", oom_group=True)]
    kill = out_of_memory(processes, groups, GI)
    assert kill is not None and [p.name for p in kill.killed] == ["shell", "worker"]
    alone = out_of_memory(processes, [Cgroup("/pod/c")], GI)
    assert alone is not None and [p.name for p in alone.killed] == ["worker"], "singleProcessOOMKill"


def test_a_group_outside_the_full_cgroup_does_not_count() -> None:
    processes = [Process(2, "a", 2 * MI, 0, "/pod/c/x"), Process(3, "b", MI, 0, "/pod/c/y")]
    groups = [Cgroup("/pod/c", oom_group=True), Cgroup("/pod/c/x", MI)]
    kill = out_of_memory(processes, groups, GI)
    assert kill is not None and [p.name for p in kill.killed] == ["a"]


def test_of_equals_the_younger_dies_and_of_untouchables_nobody() -> None:
    twins = [Process(2, "old", GI, 0, "/a"), Process(3, "young", GI, 0, "/b")]
    kill = out_of_memory(twins, [], GI)
    assert kill is not None and kill.victim.name == "young"
    assert out_of_memory([Process(2, "init", 2 * GI, -1000)], [], GI) is None


def test_the_classes_of_pods_end_up_in_the_kernels_order() -> None:
    def adj(**resources: dict[str, str]) -> int:
        container = {"name": "c", "resources": resources}
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
        return oom_score_adj(pod, container, GI)

    both = {"cpu": "1", "memory": "100Mi"}
    values = [adj(requests=both, limits=both), adj(requests={"memory": "512Mi"}), adj()]
    assert values == [-997, 500, 1000]
