"""What the programs on a node use together: the summary for the eviction manager, the processes for the kernel.

Upstream: pkg/kubelet/stats/cri_stats_provider.go, pkg/kubelet/cm/node_container_manager_linux.go (the Pods' cgroup),
    pkg/kubelet/kuberuntime/kuberuntime_gc.go (which dead containers are kept)
Simplified: measured at the moment it is asked for. emptyDir in memory counts as disk of nobody. Of a container that was
restarted one dead predecessor is kept (MaxPerPodContainer). oom_score_adj above 1000, which the kernel would refuse, is
taken as 1000.
"""

from __future__ import annotations

from collections.abc import Iterator

from k8slab.api.objects import Object
from k8slab.api.qos import GUARANTEED, oom_score_adj, qos_class
from k8slab.api.quantity import value
from k8slab.kubelet.cgroups import pod_cgroup
from k8slab.kubelet.config import volume_growth
from k8slab.kubelet.eviction import ContainerStats, FsStats, PodStats, Summary, VolumeStats
from k8slab.kubelet.eviction.config import EvictionConfig
from k8slab.kubelet.eviction.reclaim import DELETE_CONTAINERS, DELETE_IMAGES
from k8slab.kubelet.oom_killer import Cgroup, OOMKill, Process, out_of_memory
from k8slab.kubelet.runtime import Container, ContainerRuntime, ContainerState, PodSandbox

__all__ = ["active_sandboxes", "eviction_config", "node_summary", "oom_kill_at", "reclaim", "when_memory_is_full"]

_HORIZON_MS = 30 * 86_400_000
_SYSTEM = Process(1, "system", 0, -999, "/system")


def active_sandboxes(runtime: ContainerRuntime) -> list[PodSandbox]:
    """The Pods that may be evicted: something of them runs, or will. One that is on its way out is among them."""
    return [s for s in runtime.sandboxes.values() if not s.is_terminal()]


def _up(sandbox: PodSandbox) -> list[Container]:
    return [c for c in sandbox.containers if c.is_up]


def _memory(container: Container, now_ms: int) -> int:
    return container.behaviour.memory.at(container.runs_for_ms(now_ms))


# -- the summary -----------------------------------------------------------------------------------


def _local_volumes(pod: Object) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        in_memory = (volume.get("emptyDir") or {}).get("medium")
        if "emptyDir" in volume and not in_memory:
            yield volume["name"]


def _pod_stats(sandbox: PodSandbox, now_ms: int) -> PodStats:
    containers = []
    for one in _up(sandbox):
        ran, behaviour = one.runs_for_ms(now_ms), one.behaviour
        layer = FsStats(used_bytes=behaviour.disk.at(ran), inodes_used=behaviour.inodes.at(ran))
        logs = FsStats(used_bytes=behaviour.logs.at(ran), inodes_used=0)
        containers.append(ContainerStats(one.name, _memory(one, now_ms), layer, logs))
    lived = now_ms - sandbox.created_ms
    volumes = tuple(
        VolumeStats(name, FsStats(used_bytes=volume_growth(sandbox.pod, name).at(lived), inodes_used=0))
        for name in _local_volumes(sandbox.pod)
    )
    return PodStats(
        memory=sum(c.memory or 0 for c in containers),
        containers=tuple(containers),
        volumes=volumes,
        ephemeral_storage=sum(one.written(now_ms) for one in _up(sandbox))
        + sum(volume.fs.used_bytes or 0 for volume in volumes),
        processes=sum(c.behaviour.processes.at(c.runs_for_ms(now_ms)) for c in _up(sandbox)),
    )


def _left_behind(sandbox: PodSandbox) -> int:
    """Bytes of containers that have ended."""
    if sandbox.is_swept:
        return 0
    exited = [c for c in sandbox.containers if c.state is ContainerState.EXITED]
    return sum(c.written() for c in exited) + sum(c.dead_bytes for c in sandbox.containers)


def node_summary(runtime: ContainerRuntime, now_ms: int) -> Summary:
    """What is measured on the node at `now_ms`."""
    node = runtime.node
    sandboxes = list(runtime.sandboxes.values())
    pods = {s.uid: _pod_stats(s, now_ms) for s in sandboxes if not s.is_terminal()}
    memory, system = value(node.memory), value(node.system_memory)
    of_pods = sum(one.memory or 0 for one in pods.values())
    room = memory - value(node.reserved_memory)
    layers = sum(c.rootfs.used_bytes or 0 for one in pods.values() for c in one.containers if c.rootfs)
    layers += sum(_left_behind(s) for s in sandboxes)
    inodes = sum(c.rootfs.inodes_used or 0 for one in pods.values() for c in one.containers if c.rootfs)
    data = sum(c.logs.used_bytes or 0 for one in pods.values() for c in one.containers if c.logs)
    data += sum(v.fs.used_bytes or 0 for one in pods.values() for v in one.volumes)
    images = len(runtime.images) * value(node.image_size)
    if node.image_fs:
        node_fs = _disk(value(node.ephemeral_storage), data, node.inodes, 0)
        image_fs = _disk(value(node.image_fs), layers + images, node.inodes, inodes)
    else:
        node_fs = image_fs = _disk(value(node.ephemeral_storage), data + layers + images, node.inodes, inodes)
    return Summary(
        time_ms=now_ms,
        memory_available=max(0, memory - system - of_pods),
        memory_working_set=min(memory, system + of_pods),
        pods_memory_available=max(0, room - of_pods),
        pods_memory_working_set=min(room, of_pods),
        node_fs=node_fs,
        image_fs=image_fs,
        container_fs=image_fs,
        max_pid=node.max_pid,
        processes=sum(one.processes or 0 for one in pods.values()),
        pods=pods,
    )


def _disk(capacity: int, used: int, inodes: int, inodes_used: int) -> FsStats:
    return FsStats(
        used_bytes=used,
        inodes_used=inodes_used,
        available_bytes=max(0, capacity - used),
        capacity_bytes=capacity,
        inodes_free=max(0, inodes - inodes_used),
        inodes=inodes,
    )


def reclaim(runtime: ContainerRuntime, deed: str) -> int:
    """Carry out a deed of a `Reclaim`; how many containers or images went."""
    if deed == DELETE_CONTAINERS:
        ended = [s for s in runtime.sandboxes.values() if s.is_terminal() and not s.is_swept]
        for sandbox in ended:
            sandbox.is_swept = True
        return sum(1 for sandbox in ended for c in sandbox.containers if c.starts)
    if deed == DELETE_IMAGES:
        in_use = {
            str(c.spec.get("image", "")) for s in runtime.sandboxes.values() if not s.is_swept for c in s.containers
        }
        unused = [image for image in runtime.images if image not in in_use]
        for image in unused:
            del runtime.images[image]
        return len(unused)
    raise ValueError(f"deed {deed!r}: expected {DELETE_CONTAINERS} or {DELETE_IMAGES}")


# -- the kernel ------------------------------------------------------------------------------------


def _cgroup_path(sandbox: PodSandbox) -> str:
    qos = qos_class(sandbox.pod)
    parent = "/kubepods" if qos == GUARANTEED else f"/kubepods/{qos.lower()}"
    return f"{parent}/pod{sandbox.uid}"


def _processes(runtime: ContainerRuntime, now_ms: int) -> list[Process]:
    capacity = value(runtime.node.memory)
    system = value(runtime.node.system_memory)
    found = []
    for sandbox in runtime.sandboxes.values():
        path = _cgroup_path(sandbox)
        for one in _up(sandbox):
            adj = min(1000, oom_score_adj(sandbox.pod, one.spec, capacity))
            found.append(Process(one.pid, one.name, _memory(one, now_ms), adj, f"{path}/{one.name}"))
    found.sort(key=lambda process: process.pid)
    return [Process(_SYSTEM.pid, _SYSTEM.name, system, _SYSTEM.oom_score_adj, _SYSTEM.cgroup), *found]


def _cgroups(runtime: ContainerRuntime) -> list[Cgroup]:
    """The limit of a container is not among them: the runtime knows beforehand when it is reached."""
    node, raw = runtime.node, runtime.node.kubelet_config or {}
    together = not raw.get("singleProcessOOMKill", False)
    enforced = "pods" in (raw.get("enforceNodeAllocatable") or ("pods",))
    groups = [Cgroup("/kubepods", value(node.memory) - value(node.reserved_memory) if enforced else None)]
    for sandbox in runtime.sandboxes.values():
        path = _cgroup_path(sandbox)
        groups.append(Cgroup(path, pod_cgroup(sandbox.pod).memory))
        groups += [Cgroup(f"{path}/{one.name}", oom_group=together) for one in _up(sandbox)]
    return groups


def oom_kill_at(runtime: ContainerRuntime, now_ms: int) -> OOMKill | None:
    """Whom the kernel kills at `now_ms`; None: the memory suffices."""
    return out_of_memory(_processes(runtime, now_ms), _cgroups(runtime), value(runtime.node.memory))


def when_memory_is_full(runtime: ContainerRuntime, now_ms: int) -> int | None:
    """The first millisecond, now or later, at which the kernel has to kill if nothing starts or ends before.

    Use only grows while the same containers run, so the moment is found by halving. None: not within thirty days.
    """
    limits = {group.path: group.memory_max for group in _cgroups(runtime) if group.memory_max is not None}
    limits["/"] = value(runtime.node.memory)
    system = value(runtime.node.system_memory)
    rows = []
    for sandbox in runtime.sandboxes.values():
        inside = [path for path in ("/", "/kubepods", _cgroup_path(sandbox)) if path in limits]
        rows += [(inside, one.started_ms or 0, one.behaviour.memory) for one in _up(sandbox)]

    def is_full(at_ms: int) -> bool:
        used = dict.fromkeys(limits, 0)
        used["/"] = system
        for inside, started_ms, memory in rows:
            amount = memory.at(at_ms - started_ms)
            for path in inside:
                used[path] += amount
        return any(used[path] > most for path, most in limits.items())

    if is_full(now_ms):
        return now_ms
    low, high = now_ms, now_ms + _HORIZON_MS
    if not is_full(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_full(middle) else (middle, high)
    return high


def eviction_config(runtime: ContainerRuntime) -> EvictionConfig | None:
    """None: this node never evicts."""
    raw = runtime.node.kubelet_config
    return None if raw is None else EvictionConfig.from_dict(raw)
