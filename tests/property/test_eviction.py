"""Ranking against upstream's pairwise comparisons, growth against a clock that ticks, the kernel against its rule."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.kubelet import NodeConfig, NodePressure, Use
from k8slab.kubelet.eviction import MEMORY_CRITERIA, PID_CRITERIA, PodStats, rank
from k8slab.kubelet.node_usage import oom_kill_at, when_memory_is_full
from k8slab.kubelet.oom_killer import Cgroup, Process, oom_badness, out_of_memory
from k8slab.kubelet.usage import Growth, parse_growth

AMOUNTS = st.integers(0, 6)
PODS = st.lists(st.tuples(AMOUNTS, st.none() | AMOUNTS, st.integers(-1, 2)), max_size=14)


def world(rows: list[tuple[int, int | None, int]]) -> tuple[list[dict[str, Any]], dict[str, PodStats]]:
    pods, stats = [], {}
    for number, (request, used, priority) in enumerate(rows):
        resources = {"requests": {"memory": str(request)}}
        spec = {"priority": priority, "containers": [{"name": "c", "resources": resources}]}
        pods.append({"metadata": {"name": str(number)}, "spec": spec})
        if used is not None:
            stats[f"default/{number}"] = PodStats(memory=used, processes=used)
    return pods, stats


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


def true_first(a: bool, b: bool) -> int:
    return 0 if a == b else -1 if a else 1


@given(PODS)
def test_memory_is_ranked_as_by_comparing_each_with_each(rows: list[tuple[int, int | None, int]]) -> None:
    def compare(i: int, j: int) -> int:
        (r1, u1, p1), (r2, u2, p2) = rows[i], rows[j]
        if u1 is None or u2 is None:
            return true_first(u1 is None, u2 is None) or sign(p1 - p2)
        return true_first(u1 > r1, u2 > r2) or sign(p1 - p2) or sign((u2 - r2) - (u1 - r1))

    pods, stats = world(rows)
    expected = sorted(range(len(rows)), key=cmp_to_key(compare))
    assert [int(one.name) for one in rank(pods, stats, MEMORY_CRITERIA)] == expected


@given(PODS)
def test_processes_are_ranked_as_by_comparing_each_with_each(rows: list[tuple[int, int | None, int]]) -> None:
    def compare(i: int, j: int) -> int:
        (_, u1, p1), (_, u2, p2) = rows[i], rows[j]
        if p1 != p2:
            return sign(p1 - p2)
        if u1 is None or u2 is None:
            return true_first(u1 is None, u2 is None)
        return sign(u2 - u1)

    pods, stats = world(rows)
    expected = sorted(range(len(rows)), key=cmp_to_key(compare))
    assert [int(one.name) for one in rank(pods, stats, PID_CRITERIA)] == expected


@given(PODS)
def test_the_reason_names_the_first_criterion_on_which_two_differ(rows: list[tuple[int, int | None, int]]) -> None:
    ranking = rank(*world(rows), MEMORY_CRITERIA)
    for first, second in pairwise(ranking):
        decisive = first.decides(second)
        assert first.keys[:decisive] == second.keys[:decisive]
        assert decisive is None or first.keys[decisive] < second.keys[decisive]
        assert first.before(second).count(";") == (len(MEMORY_CRITERIA) if decisive is None else decisive)


@given(st.integers(0, 50), st.integers(0, 30), st.none() | st.integers(0, 90), st.integers(0, 90))
def test_growth_passes_a_bound_when_a_clock_says_so(start: int, speed: int, most: int | None, bound: int) -> None:
    growth = Growth(start, speed, most)
    at = growth.exceeds_ms(bound)
    if at is None:
        assert growth.at(10_000_000) <= bound
    else:
        assert growth.at(at) > bound and (at == 0 or growth.at(at - 1) <= bound)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.none() | st.integers(0, 10**6))
def test_growth_is_read_as_it_is_written(start: int, speed: int, most: int | None) -> None:
    text = f"{start}+{speed}/s" + ("" if most is None else f"<={most}")
    assert parse_growth(text) == Growth(start, speed, most)


PAGE = 4096
PROCESSES = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from([-1000, -997, 0, 500, 1000]), st.booleans()), max_size=6
)


@settings(max_examples=200)
@given(PROCESSES, st.integers(1, 80), st.integers(1, 120))
def test_the_kernel_kills_the_greatest_badness_and_only_when_something_is_full(
    rows: list[tuple[int, int, bool]], limit: int, total: int
) -> None:
    processes = [
        Process(10 + i, str(i), pages * PAGE, adj, "/in/x" if inside else "/out")
        for i, (pages, adj, inside) in enumerate(rows)
    ]
    groups = [Cgroup("/in", limit * PAGE)]
    left = list(processes)
    while (kill := out_of_memory(left, groups, total * PAGE)) is not None:
        inside = [p for p in left if p.cgroup.startswith("/in")]
        domain, most = (left, total) if kill.cgroup == "/" else (inside, limit)
        assert sum(p.rss for p in domain) > most * PAGE
        bad = [oom_badness(p, most * PAGE) for p in domain]
        assert oom_badness(kill.victim, most * PAGE) == max(b for b in bad if b is not None)
        left = [p for p in left if p not in kill.killed]
    mortal = [p for p in left if p.oom_score_adj != -1000]
    assert not mortal or sum(p.rss for p in left) <= total * PAGE
    assert not [p for p in mortal if p.cgroup.startswith("/in")] or (
        sum(p.rss for p in left if p.cgroup.startswith("/in")) <= limit * PAGE
    )


USES = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 20), st.none() | st.integers(100, 400)), max_size=5)


@settings(max_examples=60, deadline=None)
@given(USES, st.integers(0, 200))
def test_the_moment_at_which_memory_is_full_is_the_first_at_which_somebody_dies(
    rows: list[tuple[int, int, int | None]], system: int
) -> None:
    uses, pods = {}, []
    for number, (start, speed, limit) in enumerate(rows):
        resources = {"limits": {"memory": f"{limit}Mi"}} if limit is not None else {}
        spec = {"containers": [{"name": "c"}], **({"resources": resources} if resources else {})}
        pods.append({"metadata": {"name": f"p{number}"}, "spec": spec})
        uses[f"default/p{number}"] = Use(memory=Growth(start << 20, speed << 20))
    thing = NodePressure(NodeConfig("n", memory="1Gi", system_memory=f"{system}Mi"), pods, uses)
    at = when_memory_is_full(thing.runtime, 0)
    if at is None:
        assert oom_kill_at(thing.runtime, 86_400_000) is None
    else:
        assert oom_kill_at(thing.runtime, at) is not None
        assert at == 0 or oom_kill_at(thing.runtime, at - 1) is None
