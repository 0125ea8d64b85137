"""The kernel's out-of-memory killer: which process dies when a cgroup or the machine has no memory left.

It knows nothing of Pods. Per process it adds up memory and `oom_score_adj` thousandths of what there is, and the
greatest sum dies; with `memory.oom.group` the whole cgroup goes with it (a container, as the kubelet sets it).

>>> from k8slab.kubelet.oom_killer import Cgroup, Process, oom_score, out_of_memory
>>> cgroups = [Cgroup("/pod-a/c", oom_group=True), Cgroup("/pod-b/c", oom_group=True)]
>>> processes = [Process(7, "a", 310 << 20, 1000, "/pod-a/c"), Process(8, "b", 700 << 20, -997, "/pod-b/c")]
>>> kill = out_of_memory(processes, cgroups, 1000 << 20, wanted_by=8)
>>> kill.victim.name, kill.constraint, [oom_score(p, 1000 << 20) for p in processes]
('a', 'CONSTRAINT_NONE', [1540, 468])

Spec: Linux 6.x mm/oom_kill.c (oom_badness, oom_evaluate_task), mm/memcontrol.c (mem_cgroup_get_oom_group),
    fs/proc/base.c (proc_oom_score)
Upstream: pkg/kubelet/oom/oom_watcher_linux.go (what the kubelet tells of it)
Simplified: one process a container; memory is anonymous and resident: no page cache to reclaim first, no swap, no page
tables, no NUMA nodes, no reserve for a process that exits already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Cgroup", "OOMKill", "Process", "oom_badness", "oom_score", "out_of_memory"]

PAGE = 4096
OOM_SCORE_ADJ_MIN, OOM_SCORE_ADJ_MAX = -1000, 1000


@dataclass(frozen=True, slots=True)
class Process:
    """`rss` in bytes; `cgroup`: the path of its cgroup, such as /kubepods/pod-1/app."""

    pid: int
    name: str
    rss: int
    oom_score_adj: int
    cgroup: str = "/"


@dataclass(frozen=True, slots=True)
class Cgroup:
    """`memory_max` in bytes (None: max). `oom_group`: memory.oom.group, all of it dies together."""

    path: str
    memory_max: int | None = None
    oom_group: bool = False


@dataclass(frozen=True, slots=True)
class OOMKill:
    """`cgroup` has reached its limit ("/": the machine). `victim` was chosen; `killed` is everything that dies.
    `candidates`: (process, badness in pages) of all that could have been, the chosen one among them."""

    constraint: str
    cgroup: str
    victim: Process
    killed: tuple[Process, ...]
    candidates: tuple[tuple[Process, int], ...]


def _pages(amount: int) -> int:
    return -(-amount // PAGE)


def oom_badness(process: Process, total_bytes: int) -> int | None:
    """Pages, plus `oom_score_adj` thousandths of the total in pages. None: never killed (adj -1000).

    The kernel knows no adj above 1000: the write to /proc/PID/oom_score_adj fails, and the old value stays.
    """
    _check(process)
    if process.oom_score_adj == OOM_SCORE_ADJ_MIN:
        return None
    per_mille = process.oom_score_adj * (_pages(total_bytes) // 1000)
    return _pages(process.rss) + per_mille


def oom_score(process: Process, total_bytes: int) -> int:
    """/proc/PID/oom_score: 0 to about 2000, 666 for a process that is small and not adjusted."""
    badness = oom_badness(process, total_bytes)
    if badness is None:
        return 0
    scaled = badness * 1000
    points = scaled // _pages(total_bytes) if scaled >= 0 else -(-scaled // _pages(total_bytes))
    return (1000 + points) * 2 // 3


def _check(process: Process) -> None:
    adj = process.oom_score_adj
    if not OOM_SCORE_ADJ_MIN <= adj <= OOM_SCORE_ADJ_MAX:
        raise ValueError(f"oom_score_adj {adj} of {process.name}: expected -1000 to 1000, as the kernel")


def _contains(path: str, process: Process) -> bool:
    return path == "/" or process.cgroup == path or process.cgroup.startswith(f"{path}/")


def _usage(processes: Iterable[Process]) -> Counter[str]:
    """What each cgroup holds, with those inside it."""
    used: Counter[str] = Counter()
    for process in processes:
        used["/"] += process.rss
        path = process.cgroup if process.cgroup != "/" else ""
        while path:
            used[path] += process.rss
            path = path.rpartition("/")[0]
    return used


def out_of_memory(
    processes: Sequence[Process], cgroups: Iterable[Cgroup], total_bytes: int, *, wanted_by: int | None = None
) -> OOMKill | None:
    """Who dies now; None: everything fits (or nobody may be killed). `processes` oldest first.

    A cgroup is full when its processes hold more than its limit; the innermost full one counts (of several beside
    each other that of `wanted_by`, the pid that asked for the last page, else the first); one in which nobody may be
    killed stays full. Call it again until it says None: one kill need not be enough.
    """
    if total_bytes < PAGE:
        raise ValueError(f"total_bytes {total_bytes}: expected the machine's memory, at least a page of {PAGE} bytes")
    groups = sorted(cgroups, key=lambda group: -group.path.count("/"))
    asking = next((p for p in processes if p.pid == wanted_by), None)
    used = _usage(processes)
    full = [g for g in groups if g.memory_max is not None and used[g.path] > g.memory_max]
    full.sort(key=lambda g: asking is None or not _contains(g.path, asking))
    for group in full:
        assert group.memory_max is not None
        kill = _kill("CONSTRAINT_MEMCG", group.path, processes, groups, max(group.memory_max, PAGE))
        if kill is not None:
            return kill
    if used["/"] > total_bytes:
        return _kill("CONSTRAINT_NONE", "/", processes, groups, total_bytes)
    return None


def _kill(
    constraint: str, path: str, processes: Sequence[Process], groups: Sequence[Cgroup], total_bytes: int
) -> OOMKill | None:
    scored = [(p, oom_badness(p, total_bytes)) for p in processes if _contains(path, p)]
    candidates = [(p, badness) for p, badness in scored if badness is not None]
    if not candidates:
        return None
    victim = candidates[0]
    for candidate in candidates[1:]:
        if candidate[1] >= victim[1]:  # of equals the younger one
            victim = candidate
    killed = _group_of(victim[0], path, processes, groups)
    return OOMKill(constraint, path, victim[0], killed, tuple(candidates))


def _group_of(
    victim: Process, domain: str, processes: Sequence[Process], groups: Sequence[Cgroup]
) -> tuple[Process, ...]:
    """All of the outermost cgroup of the victim, inside the full one, that dies as a whole."""
    whole = [g for g in groups if g.oom_group and _contains(g.path, victim) and _lies_in(g.path, domain)]
    if not whole:
        return (victim,)
    outermost = whole[-1].path
    return tuple(p for p in processes if _contains(outermost, p) and p.oom_score_adj != OOM_SCORE_ADJ_MIN)


def _lies_in(path: str, domain: str) -> bool:
    return domain == "/" or path == domain or path.startswith(f"{domain}/")
