"""What a node is made of, how long its work takes, and how its containers behave.

Upstream: pkg/kubelet/apis/config/v1beta1/defaults.go (periods)
Simplified: no process runs. A container pulls, starts, becomes ready, and then runs until it is stopped, unless
its Pod carries an annotation `k8slab.dev/...` (see `Behaviour`). Images are of one size: a pull takes `pull_ms`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.quantity import Quantity, value
from k8slab.kubelet.eviction.config import EvictionConfig
from k8slab.kubelet.usage import NOTHING, ONE, Growth, parse_growth

__all__ = ["Behaviour", "NodeConfig", "Timings", "annotated_behaviour", "volume_growth"]


@dataclass(frozen=True, slots=True)
class Timings:
    """Durations in milliseconds of virtual time."""

    sandbox_ms: int = 150
    sandbox_retry_ms: int = 10_000
    pull_ms: int = 500
    create_ms: int = 20
    start_ms: int = 30
    stop_ms: int = 200
    ready_after_register_ms: int = 50
    lease_renew_ms: int = 10_000
    node_status_ms: int = 10_000
    node_report_ms: int = 300_000
    crash_backoff_ms: int = 10_000
    crash_backoff_max_ms: int = 300_000
    pull_backoff_ms: int = 10_000
    pull_backoff_max_ms: int = 300_000

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if value < 0:
                raise ValueError(f"timings.{name}: {value!r}: expected milliseconds, 0 or more")


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """A machine: what it offers, and how it is labelled. Quantities as in manifests.

    `kubelet_config`: fields of a KubeletConfiguration (`{}`: upstream's defaults); with it the kubelet evicts, and the
    kernel kills when memory runs out. None: neither memory nor disk of the node is ever short.
    `system_memory`: what the machine's own programs hold. `image_fs`: the size of a disk for images and writable
    layers; "" where they share the kubelet's. `inodes`, `max_pid`: of each disk, of the machine.
    """

    name: str
    cpu: str = "4"
    memory: str = "16Gi"
    pods: str = "110"
    ephemeral_storage: str = "100Gi"
    extended: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()
    internal_ip: str = "10.0.0.1"
    pod_cidr: str = "10.244.0.0/24"
    reserved_cpu: str = "0"
    reserved_memory: str = "0"
    provider_id: str = ""
    kubelet_config: Mapping[str, Any] | None = None
    system_memory: str = "0"
    image_fs: str = ""
    image_size: str = "250Mi"
    inodes: int = 6_553_600
    max_pid: int = 32_768
    cgroup_version: int = 2

    def __post_init__(self) -> None:
        if self.kubelet_config is None:
            return
        EvictionConfig.from_dict(self.kubelet_config)
        for name in ("memory", "ephemeral_storage", "reserved_memory", "system_memory", "image_size"):
            _bytes(name, getattr(self, name))
        if self.image_fs:
            _bytes("image_fs", self.image_fs)
        if value(self.system_memory) >= value(self.memory):
            raise ValueError(f"system_memory: {self.system_memory!r}: expected less than the memory, {self.memory}")
        for name in ("inodes", "max_pid"):
            if isinstance(count := getattr(self, name), bool) or not isinstance(count, int) or count < 1:
                raise ValueError(f"{name}: {count!r}: expected a number above 0")


def _bytes(name: str, text: Any) -> None:
    try:
        amount = Quantity.parse(text).value() if isinstance(text, str) else -1
    except ValueError:
        amount = -1
    if amount < 0:
        raise ValueError(f"{name}: {text!r}: expected a text such as '16Gi'")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How one container behaves. From annotations of its Pod, all optional:

    `k8slab.dev/run-ms`: it exits by itself after so long; `k8slab.dev/exit-code`: with this code (0);
    `k8slab.dev/ready-after-ms`: ready so long after its start, -1 never; `k8slab.dev/stop-ms`: how long it takes
    to exit after SIGTERM; `k8slab.dev/pull-error`: pulling its image fails with this text.

    `k8slab.dev/memory: 200Mi+10Mi/s<=1Gi`: what it uses from its start on, how much more every second, and the most;
    the same for `disk` (its writable layer), `logs`, `inodes` and `processes`. What it writes to a volume:
    `k8slab.dev/volume.<name>`, of the whole Pod.

    These are for all containers but sidecars. `k8slab.dev/<container>.run-ms`, `k8slab.dev/<container>.exit-code`, ...
    are for the one of that name, a sidecar too, and win over the plain ones.
    """

    run_ms: int | None = None
    exit_code: int = 0
    ready_after_ms: int = 0
    stop_ms: int | None = None
    pull_error: str = ""
    memory: Growth = NOTHING
    disk: Growth = NOTHING
    logs: Growth = NOTHING
    inodes: Growth = NOTHING
    processes: Growth = ONE


BehaviourOf = Callable[[Object, Object], Behaviour]
"""(Pod, container) -> what the program in it does. Asked again when the Pod's spec, labels or annotations change."""

_PREFIX = "k8slab.dev/"


def annotated_behaviour(pod: Object, container: Object) -> Behaviour:
    """The behaviour that the Pod's annotations ask for; readiness also waits for the probes' initial delays.

    A value that is no integer is ignored, as a program ignores a flag it cannot read: the Pod is not ours to refuse.
    """
    notes = _notes(pod, container)
    delay = sum(
        int((container.get(probe) or {}).get("initialDelaySeconds") or 0) * 1000
        for probe in ("startupProbe", "readinessProbe")
    )
    ready = _integer(notes, "ready-after-ms")
    return Behaviour(
        run_ms=_integer(notes, "run-ms"),
        exit_code=_integer(notes, "exit-code") or 0,
        ready_after_ms=delay if ready is None else ready,
        stop_ms=_integer(notes, "stop-ms"),
        pull_error=notes.get("pull-error", ""),
        memory=_growth(notes, "memory"),
        disk=_growth(notes, "disk"),
        logs=_growth(notes, "logs"),
        inodes=_growth(notes, "inodes"),
        processes=_growth(notes, "processes", ONE),
    )


def volume_growth(pod: Object, name: str) -> Growth:
    """What the Pod writes to the volume of that name, from the Pod's start on."""
    notes = pod["metadata"].get("annotations") or {}
    return _growth(notes, f"{_PREFIX}volume.{name}")


def _growth(notes: Mapping[str, str], name: str, otherwise: Growth = NOTHING) -> Growth:
    return parse_growth(notes.get(name, "")) or otherwise


def _notes(pod: Object, container: Object) -> dict[str, str]:
    """The annotations that concern one container, without what stands before their names."""
    own = f"{container['name']}."
    plain: dict[str, str] = {}
    named: dict[str, str] = {}
    for key, text in (pod["metadata"].get("annotations") or {}).items():
        if key.startswith(_PREFIX):
            name = key.removeprefix(_PREFIX)
            (named if name.startswith(own) else plain)[name.removeprefix(own)] = text
    is_sidecar = container.get("restartPolicy") == "Always"
    return named if is_sidecar else {**plain, **named}


def _integer(notes: Mapping[str, str], name: str) -> int | None:
    text = notes.get(name, "")
    return int(text) if text.removeprefix("-").isdecimal() and text.isascii() else None
