"""The containers of one node: a state machine per container, moved by the clock.

The runtime belongs to the node, not to the kubelet: when the kubelet crashes, containers run on, and the next
kubelet finds them. `PodSandbox.advance` moves every container as far as `now_ms` allows and returns what
happened; `next_due_ms` says when to look again. Nothing here waits or talks to the API server.

Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions, SyncPod, killPod)
Simplified: images and sandboxes never fail except by annotation; probes succeed once their initial delay passed;
preStop hooks take no time; sidecars are stopped after the other containers, all at once.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from k8slab.api.objects import Object
from k8slab.kubelet.backoff import RestartBackoff
from k8slab.kubelet.config import Behaviour, BehaviourOf, NodeConfig, Timings, annotated_behaviour
from k8slab.kubelet.pod_status import is_restartable_init_container

__all__ = ["Container", "ContainerRuntime", "ContainerState", "Happened", "PodSandbox"]

SIGKILLED = 137
LOST = 255


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
    reason: str = ""
    message: str = ""
    last: dict[str, Any] | None = None  # the termination before this one: exit code, times

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


@dataclass(slots=True)
class PodSandbox:
    """The containers of one Pod on this node, and the Pod's network."""

    uid: str
    key: str
    pod: Object
    runtime: ContainerRuntime
    created_ms: int
    containers: list[Container] = field(default_factory=list)
    ip: str = ""
    sandbox_ready_ms: int = 0
    stop_deadline_ms: int | None = None

    # -- what is asked of it -----------------------------------------------------------------------

    def stop(self, now_ms: int, grace_ms: int) -> list[Happened]:
        """Send SIGTERM to what runs; SIGKILL follows after `grace_ms`. A later call may only shorten that."""
        deadline = now_ms + grace_ms
        first = self.stop_deadline_ms is None
        self.stop_deadline_ms = deadline if first else min(deadline, self.stop_deadline_ms or 0)
        events = []
        for container in self.containers:
            if not container.is_up:
                if container.state is not ContainerState.EXITED:
                    container.due_ms = None  # not started: it never will be
                continue
            if not container.stopping and not self._waits_for_others(container):
                container.stopping = True
                events.append(
                    Happened("kill", container.name, "Normal", "Killing", f"Stopping container {container.name}")
                )
                container.due_ms, container.exit_code = self._exit_after_term(container, now_ms)
            elif container.stopping and container.due_ms is not None and container.due_ms > self.stop_deadline_ms:
                container.due_ms, container.exit_code = self.stop_deadline_ms, SIGKILLED
        return events

    def _waits_for_others(self, container: Container) -> bool:
        return container.is_sidecar and any(c.is_up and not c.is_sidecar for c in self.containers)

    def _exit_after_term(self, container: Container, now_ms: int) -> tuple[int, int]:
        own = container.behaviour.stop_ms
        stop_at = now_ms + (self.runtime.timings.stop_ms if own is None else own)
        deadline = self.stop_deadline_ms or now_ms
        return (stop_at, 0) if stop_at <= deadline else (deadline, SIGKILLED)

    def lose_power(self, now_ms: int) -> None:
        """The node went down: everything that ran is gone, with a code nobody saw."""
        for container in self.containers:
            if container.state is ContainerState.RUNNING:
                self._terminate(container, now_ms, LOST)
            elif container.state is not ContainerState.EXITED:
                container.state, container.due_ms = ContainerState.CREATED, None
        self.sandbox_ready_ms = -1

    # -- what the clock does -----------------------------------------------------------------------

    def advance(self, now_ms: int) -> list[Happened]:
        """Move every container as far as `now_ms` allows. Returns what happened, in order."""
        events: list[Happened] = []
        if self.sandbox_ready_ms < 0:
            self.sandbox_ready_ms = now_ms + self.runtime.timings.sandbox_ms
        progress = True
        while progress:
            progress = False
            for container in self.containers:
                if self._step(container, now_ms, events):
                    progress = True
        if self.stop_deadline_ms is not None:
            events += self.stop(now_ms, max(0, self.stop_deadline_ms - now_ms))
        return events

    def next_due_ms(self, now_ms: int) -> int | None:
        """When `advance` has something to do again; None: not before something is asked of it."""
        due = [c.due_ms for c in self.containers if c.due_ms is not None and c.due_ms > now_ms]
        due += [c.ready_ms for c in self.containers if c.is_up and c.ready_ms is not None and c.ready_ms > now_ms]
        if self.sandbox_ready_ms > now_ms:
            due.append(self.sandbox_ready_ms)
        return min(due, default=None)

    def has_stopped(self) -> bool:
        """Nothing runs, and (once asked to stop) nothing ever will."""
        return not any(c.is_up for c in self.containers)

    def is_terminal(self) -> bool:
        """No container will be started again: the restart policy says so, or the Pod is being stopped."""
        if self.stop_deadline_ms is not None:
            return self.has_stopped()
        if any(self._has_failed_for_good(c) for c in self.containers):
            return True
        return all(
            c.state is ContainerState.EXITED and not self._restarts(c) for c in self.containers if not c.is_sidecar
        )

    def _has_failed_for_good(self, container: Container) -> bool:
        """An init container that failed and is not started again: the Pod has failed."""
        failed = container.is_init and container.state is ContainerState.EXITED and container.exit_code != 0
        return failed and not self._restarts(container)

    # -- inside ------------------------------------------------------------------------------------

    def _step(self, container: Container, now_ms: int, events: list[Happened]) -> bool:
        due = container.due_ms is not None and container.due_ms <= now_ms
        state = container.state
        if state is ContainerState.RUNNING:
            if due:
                self._exit(container, now_ms, events)
                return True
            return False
        if self.stop_deadline_ms is not None or self.sandbox_ready_ms > now_ms:
            return False
        if state is ContainerState.CREATED:
            if self._may_start(container):
                self._pull(container, now_ms, events)
                return True
        elif state is ContainerState.EXITED:
            if self._restarts(container) and self._may_start(container):
                self._back_off(container, now_ms, events)
                return True
        elif due:
            if state is ContainerState.PULLING:
                self._pulled(container, now_ms, events)
            elif state is ContainerState.STARTING:
                self._started(container, now_ms, events)
            elif state is ContainerState.BACKOFF:
                self._restart(container, now_ms, events)
            else:
                self._pull(container, now_ms, events)
            return True
        return False

    def _may_start(self, container: Container) -> bool:
        """Init containers in their order, the main ones when all of them are done (sidecars: started)."""
        for other in self.containers:
            if other is container:
                return True
            if other.is_init and not (other.is_up if other.is_sidecar else other.completed()):
                return False
            if not other.is_init:
                return True
        return True

    def _restarts(self, container: Container) -> bool:
        if container.is_sidecar:
            return True
        policy = self.pod["spec"].get("restartPolicy", "Always")
        if container.is_init:
            return container.exit_code != 0 and policy != "Never"
        return policy == "Always" or (policy == "OnFailure" and container.exit_code != 0)

    def _pull(self, container: Container, now_ms: int, events: list[Happened]) -> None:
        image = str(container.spec.get("image", ""))
        policy = container.spec.get("imagePullPolicy", "IfNotPresent")
        present = image in self.runtime.images
        if present and policy != "Always":
            text = f'Container image "{image}" already present on machine and can be accessed by the pod'
            events.append(Happened("pulled", container.name, "Normal", "Pulled", text))
            self._create(container, now_ms)
        elif policy == "Never":
            text = f'Container image "{image}" is not present with pull policy of Never'
            self._pull_failed(container, now_ms, events, "ErrImageNeverPull", text)
        else:
            events.append(Happened("pull", container.name, "Normal", "Pulling", f'Pulling image "{image}"'))
            container.state = ContainerState.PULLING
            container.reason = "ContainerCreating"
            container.due_ms = now_ms + self.runtime.timings.pull_ms

    def _pulled(self, container: Container, now_ms: int, events: list[Happened]) -> None:
        image = str(container.spec.get("image", ""))
        if container.behaviour.pull_error:
            text = f'Failed to pull image "{image}": {container.behaviour.pull_error}'
            self._pull_failed(container, now_ms, events, "ErrImagePull", text)
            return
        self.runtime.images[image] = None
        self.runtime.pull_backoff.reset(f"{self.uid}/{image}")
        took = f"{self.runtime.timings.pull_ms}ms"
        text = f'Successfully pulled image "{image}" in {took} ({took} including waiting). Image size: 0 bytes.'
        events.append(Happened("pulled", container.name, "Normal", "Pulled", text))
        self._create(container, now_ms)

    def _pull_failed(self, container: Container, now_ms: int, events: list[Happened], reason: str, text: str) -> None:
        image = str(container.spec.get("image", ""))
        events.append(Happened("pull-failed", container.name, "Warning", "Failed", text))
        events.append(Happened("pull-failed", container.name, "Warning", "Failed", f"Error: {reason}"))
        delay = self.runtime.pull_backoff.next(f"{self.uid}/{image}", now_ms)
        if reason == "ErrImagePull":
            events.append(
                Happened("back-off", container.name, "Normal", "BackOff", f'Back-off pulling image "{image}"', delay)
            )
            events.append(Happened("pull-failed", container.name, "Warning", "Failed", "Error: ImagePullBackOff"))
            reason, text = "ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {text}'
        container.state, container.reason, container.message = ContainerState.PULL_FAILED, reason, text
        container.due_ms = now_ms + delay

    def _create(self, container: Container, now_ms: int) -> None:
        timings = self.runtime.timings
        container.state = ContainerState.STARTING
        container.reason, container.message = "ContainerCreating", ""
        container.due_ms = now_ms + timings.create_ms + timings.start_ms

    def _started(self, container: Container, now_ms: int, events: list[Happened]) -> None:
        events.append(Happened("created", container.name, "Normal", "Created", "Container created"))
        events.append(Happened("started", container.name, "Normal", "Started", "Container started"))
        behaviour = container.behaviour
        container.state = ContainerState.RUNNING
        container.starts += 1
        container.restarts = container.starts - 1
        container.started_ms, container.finished_ms, container.stopping = now_ms, None, False
        container.reason = container.message = ""
        run_ms = 0 if container.is_init and not container.is_sidecar and behaviour.run_ms is None else behaviour.run_ms
        container.due_ms = None if run_ms is None else now_ms + run_ms
        container.exit_code = behaviour.exit_code if run_ms is not None else 0
        container.ready_ms = None if behaviour.ready_after_ms < 0 else now_ms + behaviour.ready_after_ms

    def _exit(self, container: Container, now_ms: int, events: list[Happened]) -> None:
        self._terminate(container, now_ms, container.exit_code)
        events.append(Happened("exit", container.name, value=container.exit_code))

    @staticmethod
    def _terminate(container: Container, now_ms: int, code: int) -> None:
        container.state, container.due_ms, container.ready_ms = ContainerState.EXITED, None, None
        container.exit_code, container.finished_ms = code, now_ms

    def _back_off(self, container: Container, now_ms: int, events: list[Happened]) -> None:
        """Restart at once the first time, then after 10 s, 20 s, ... 300 s."""
        key = f"{self.uid}/{container.name}"
        container.last = {
            "exit_code": container.exit_code,
            "started_ms": container.started_ms,
            "finished_ms": container.finished_ms,
        }
        delay = self.runtime.crash_backoff.current(key, now_ms)
        if delay == 0:
            self._restart(container, now_ms, events)
            return
        metadata = self.pod["metadata"]
        pod = f"{metadata['name']}_{metadata['namespace']}({self.uid})"
        what = f"restarting failed container {container.name} in pod {pod}"
        text = f"Back-off {what}"
        events.append(Happened("back-off", container.name, "Warning", "BackOff", text, delay))
        container.state, container.reason = ContainerState.BACKOFF, "CrashLoopBackOff"
        container.message = f"back-off {_go_duration(delay)} {what}"
        container.due_ms = now_ms + delay

    def _restart(self, container: Container, now_ms: int, events: list[Happened]) -> None:
        self.runtime.crash_backoff.next(f"{self.uid}/{container.name}", now_ms)
        self._pull(container, now_ms, events)


def _go_duration(ms: int) -> str:
    """Whole seconds as Go prints them: 10s, 1m20s, 5m0s."""
    minutes, seconds = divmod(ms // 1000, 60)
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


class ContainerRuntime:
    """All Pods of one node. It outlives the kubelet that drives it."""

    def __init__(
        self, node: NodeConfig, timings: Timings | None = None, behaviour_of: BehaviourOf = annotated_behaviour
    ) -> None:
        self.node = node
        self.timings = timings or Timings()
        self.behaviour_of = behaviour_of
        self.images: dict[str, None] = {}
        self.sandboxes: dict[str, PodSandbox] = {}
        self.crash_backoff = RestartBackoff(
            max(1, self.timings.crash_backoff_ms), max(1, self.timings.crash_backoff_max_ms)
        )
        self.pull_backoff = RestartBackoff(
            max(1, self.timings.pull_backoff_ms), max(1, self.timings.pull_backoff_max_ms)
        )
        self._free = self._addresses()
        self._released: list[str] = []

    def _addresses(self) -> Iterator[str]:
        network = ipaddress.ip_network(self.node.pod_cidr)
        addresses = iter(network.hosts())
        next(addresses, None)  # the bridge
        return (str(address) for address in addresses)

    def run_pod(self, pod: Object, now_ms: int) -> PodSandbox:
        """The sandbox of `pod`, made if there is none yet."""
        uid = pod["metadata"]["uid"]
        found = self.sandboxes.get(uid)
        if found is None:
            metadata, spec = pod["metadata"], pod["spec"]
            found = PodSandbox(uid, f"{metadata['namespace']}/{metadata['name']}", pod, self, now_ms)
            found.sandbox_ready_ms = now_ms + self.timings.sandbox_ms
            for is_init, containers in ((True, spec.get("initContainers")), (False, spec.get("containers"))):
                for container in containers or []:
                    found.containers.append(Container(container, is_init, self.behaviour_of(pod, container)))
            found.ip = self.node.internal_ip if spec.get("hostNetwork") else self._take_address()
            self.sandboxes[uid] = found
        found.pod = pod
        return found

    def remove_pod(self, uid: str) -> None:
        """Forget a Pod whose containers have ended, and give its address back."""
        sandbox = self.sandboxes.pop(uid, None)
        if sandbox is not None and sandbox.ip and sandbox.ip != self.node.internal_ip:
            self._released.append(sandbox.ip)

    def lose_power(self, now_ms: int) -> None:
        for sandbox in self.sandboxes.values():
            sandbox.lose_power(now_ms)

    def _take_address(self) -> str:
        address = next(self._free, None)
        if address is None:
            if not self._released:
                raise RuntimeError(f"node {self.node.name}: no address left in {self.node.pod_cidr}")
            address = self._released.pop(0)
        return address

    def check_invariants(self) -> None:
        """AssertionError when two Pods share an address, or a container is in an impossible state."""
        ips = [s.ip for s in self.sandboxes.values() if s.ip != self.node.internal_ip]
        assert len(ips) == len(set(ips)), f"two Pods of {self.node.name} share an address: {ips}"
        for sandbox in self.sandboxes.values():
            for container in sandbox.containers:
                if container.is_up:
                    assert container.started_ms is not None, f"{sandbox.key}/{container.name} runs but never started"
                if container.state is ContainerState.EXITED:
                    assert container.finished_ms is not None, f"{sandbox.key}/{container.name} exited at no time"
        self.crash_backoff.check_invariants()
        self.pull_backoff.check_invariants()

    def view(self) -> dict[str, Any]:
        """Pods and their containers, by stable ids."""
        return {
            sandbox.key: {"ip": sandbox.ip, "containers": {c.name: c.state.value for c in sandbox.containers}}
            for sandbox in self.sandboxes.values()
        }
