"""One container: where it is, what it ran from, how it ended, and how long it will go on.

Upstream: pkg/kubelet/container/runtime.go (Status), pkg/kubelet/kuberuntime/kuberuntime_container.go
Simplified: see `runtime`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.quantity import value
from k8slab.kubelet.config import Behaviour
from k8slab.kubelet.pod_status import is_restartable_init_container

__all__ = ["Container", "ContainerState", "Happened"]


class ContainerState(StrEnum):
    """Where a container is; `Container.reason` says more while it waits."""

    CREATED = "created"  # known, nothing done yet
    PULLING = "pulling"
    PULL_FAILED = "pull-failed"
    STARTING = "starting"
    RUNNING = "running"
    BACKOFF = "back-off"
    EXITED = "exited"


@dataclass(frozen=True, slots=True)
class Happened:
    """Something the kubelet reports: an Event's `type`, `reason`, `message`; `container` it concerns."""

    kind: str
    container: str = ""
    type: str = "Normal"
    reason: str = ""
    message: str = ""
    value: int = 0


@dataclass(slots=True)
class Container:
    """One container of a Pod. Times are virtual milliseconds; `due_ms`: when its state changes by itself."""

    spec: Object
    is_init: bool
    behaviour: Behaviour
    state: ContainerState = ContainerState.CREATED
    due_ms: int | None = None
    restarts: int = 0
    starts: int = 0
    started_ms: int | None = None
    finished_ms: int | None = None
    ready_ms: int | None = None
    exit_code: int = 0
    stopping: bool = False
    changed: bool = False  # its image: it is started again, whatever the restart policy says
    image: str = ""  # what it last started from
    reason: str = ""
    message: str = ""
    last: dict[str, Any] | None = None  # the termination before this one: exit code, times
    pid: int = 0
    oom_killed: bool = False  # the kernel ends it (at `due_ms`), or has
    dead_bytes: int = 0  # what its dead predecessors left on the disk

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def is_sidecar(self) -> bool:
        return self.is_init and is_restartable_init_container(self.spec)

    @property
    def is_up(self) -> bool:
        return self.state is ContainerState.RUNNING

    def is_ready(self, now_ms: int) -> bool:
        """A main container or sidecar: runs and its readiness came. An init container: completed."""
        if self.is_init and not self.is_sidecar:
            return self.state is ContainerState.EXITED and self.exit_code == 0
        return self.is_up and self.ready_ms is not None and self.ready_ms <= now_ms

    def completed(self) -> bool:
        return self.state is ContainerState.EXITED and self.exit_code == 0

    def remember(self) -> None:
        """Keep the termination before it starts again."""
        self.last = {"exit_code": self.exit_code, "started_ms": self.started_ms, "finished_ms": self.finished_ms}
        self.last["oom_killed"] = self.oom_killed
        self.dead_bytes = self.written()

    def runs_for_ms(self, now_ms: int) -> int:
        """How long it has run, or did until it ended."""
        if self.started_ms is None:
            return 0
        return (now_ms if self.finished_ms is None else self.finished_ms) - self.started_ms

    def written(self, now_ms: int | None = None) -> int:
        """Bytes of its writable layer and logs; without `now_ms` when it ended."""
        ran = self.runs_for_ms(self.finished_ms or 0 if now_ms is None else now_ms)
        return self.behaviour.disk.at(ran) + self.behaviour.logs.at(ran)

    @property
    def memory_limit(self) -> int | None:
        """Bytes; None where there is none."""
        limit = ((self.spec.get("resources") or {}).get("limits") or {}).get("memory")
        return None if limit is None else value(limit) or None
