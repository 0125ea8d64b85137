"""The containers of one node: a state machine per container, moved by the clock.

The runtime belongs to the node, not to the kubelet: when the kubelet crashes, containers run on, and the next
kubelet finds them. `PodSandbox.advance` moves every container as far as `now_ms` allows and returns what
happened; `next_due_ms` says when to look again. Nothing here waits or talks to the API server.

Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions, SyncPod, killPod)
Simplified: images fail only by annotation, sandboxes only for want of an address; probes succeed once their initial
delay passed; preStop hooks take no time; sidecars are stopped after the other containers, all at once. After a power
cut a Pod with restartPolicy Never still starts those of its containers that had not started; upstream none. Nothing
but the image is compared to see that a container changed, and a changed init container is not run again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from k8slab.api.go_duration import format_duration_ms
from k8slab.api.objects import Object
from k8slab.api.pod_requests import ResourceList, pod_requests
from k8slab.kubelet.addresses import AddressPool
from k8slab.kubelet.backoff import RestartBackoff
from k8slab.kubelet.config import Behaviour, BehaviourOf, NodeConfig, Timings, annotated_behaviour
from k8slab.kubelet.pod_network import PodNetwork
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
    changed: bool = False  # its image: it is started again, whatever the restart policy says
    image: str = ""  # what it last started from
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

    def remember(self) -> None:
        """Keep the termination before it starts again."""
        self.last = {"exit_code": self.exit_code, "started_ms": self.started_ms, "finished_ms": self.finished_ms}


@dataclass(slots=True)
class PodSandbox:
    """The containers of one Pod on this node, and the Pod's network.

    `sandbox_ready_ms`: since when there is a network, -1 without a sandbox; `retry_ms`: when to try again to make one.
    `verdict`: the reason and message of a failure that the kubelet decided. `is_told`, `wrote_ready`: whether the
    trace has heard that the Pod runs, and whether the kubelet's last word was that it is ready.
    """

    uid: str
    key: str
    pod: Object
    runtime: ContainerRuntime
    created_ms: int
    containers: list[Container] = field(default_factory=list)
    requests: ResourceList = field(default_factory=dict)
    ip: str = ""
    more_ips: tuple[str, ...] = ()
    holds_address: bool = False
    sandbox_ready_ms: int = -1
    retry_ms: int | None = None
    failures: int = 0
    stop_deadline_ms: int | None = None
    verdict: tuple[str, str] | None = None
    is_told: bool = False
    wrote_ready: bool = False

    # -- what is asked of it -----------------------------------------------------------------------

    def update(self, pod: Object, now_ms: int) -> list[Happened]:
        """Take up another version of the Pod: a running container whose image changed is stopped and started anew."""
        before, self.pod, spec = self.pod, pod, pod["spec"]
        was, now = before["metadata"], pod["metadata"]
        if spec is before["spec"] and all(now.get(part) is was.get(part) for part in ("annotations", "labels")):
            return []  # only its status is another
        specs = {c["name"]: c for c in [*(spec.get("initContainers") or []), *spec["containers"]]}
        events: list[Happened] = []
        for container in self.containers:
            new = specs.get(container.name, container.spec)
            has_changed = new.get("image") != container.spec.get("image")
            container.spec, container.behaviour = new, self.runtime.behaviour_of(pod, new)
            if has_changed and self.stop_deadline_ms is None:
                self._replace(container, now_ms, events)
        return events

    def _replace(self, container: Container, now_ms: int, events: list[Happened]) -> None:
        if container.is_up and not container.stopping and (container.is_sidecar or not container.is_init):
            text = f"Container {container.name} definition changed, will be restarted"
            if container.is_init:
                text = f"Init container {container.name} definition changed"
            events.append(self._terminate_softly(container, now_ms, now_ms + self.grace_ms, text))
            container.changed, self.is_told = True, False
        elif not container.is_up and container.state is not ContainerState.EXITED:
            container.state, container.due_ms = ContainerState.CREATED, None
            container.reason = container.message = ""

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
                text = f"Stopping container {container.name}"
                events.append(self._terminate_softly(container, now_ms, self.stop_deadline_ms, text))
            elif container.stopping and container.due_ms is not None and container.due_ms > self.stop_deadline_ms:
                container.due_ms, container.exit_code = self.stop_deadline_ms, SIGKILLED
        return events

    def _waits_for_others(self, container: Container) -> bool:
        return container.is_sidecar and any(c.is_up and not c.is_sidecar for c in self.containers)

    def _terminate_softly(self, container: Container, now_ms: int, deadline_ms: int, text: str) -> Happened:
        """SIGTERM; SIGKILL at the deadline."""
        own = container.behaviour.stop_ms
        stop_at = now_ms + (self.runtime.timings.stop_ms if own is None else own)
        is_soft = stop_at <= deadline_ms
        container.stopping = True
        container.due_ms, container.exit_code = (stop_at, 0) if is_soft else (deadline_ms, SIGKILLED)
        return Happened("kill", container.name, "Normal", "Killing", text)

    def lose_power(self, now_ms: int) -> None:
        """The node went down: everything that ran is gone, with a code nobody saw, and so is the sandbox."""
        for container in self.containers:
            container.changed = False
            if container.state is ContainerState.RUNNING:
                self._terminate(container, now_ms, LOST)
            elif container.state is not ContainerState.EXITED:
                container.state, container.due_ms = ContainerState.CREATED, None
        self.sandbox_ready_ms, self.retry_ms, self.is_told = -1, None, False
        self.runtime.lose_address(self)
        if self.stop_deadline_ms is None and not self._has_ended():
            for container in self.containers:  # in a new sandbox they run again
                if container.is_init and not container.is_sidecar and container.state is ContainerState.EXITED:
                    container.remember()
                    container.state, container.due_ms = ContainerState.CREATED, None

    # -- what the clock does -----------------------------------------------------------------------

    def advance(self, now_ms: int) -> list[Happened]:
        """Move every container as far as `now_ms` allows. Returns what happened, in order."""
        events: list[Happened] = []
        self._make_sandbox(now_ms, events)
        while True:
            moved = True
            while moved:
                moved = False
                for container in self.containers:
                    moved = self._step(container, now_ms, events) or moved
            killed = self._stop_more(now_ms)
            if not killed:
                break
            events += killed
        if self.is_terminal():
            self.runtime.release(self)
        return events

    def _make_sandbox(self, now_ms: int, events: list[Happened]) -> None:
        if self.sandbox_ready_ms >= 0 or self.stop_deadline_ms is not None or self._has_ended():
            return
        if self.retry_ms is not None and self.retry_ms > now_ms:
            return
        timings = self.runtime.timings
        error = self.runtime.give_address(self)
        if error:
            self.failures += 1
            self.retry_ms = now_ms + timings.sandbox_retry_ms
            text = f"Failed to create pod sandbox: {error}"
            happened = Happened("no-sandbox", "", "Warning", "FailedCreatePodSandBox", text, timings.sandbox_retry_ms)
            events.append(happened)
            return
        self.retry_ms = None
        self.sandbox_ready_ms = now_ms + timings.sandbox_ms

    def _stop_more(self, now_ms: int) -> list[Happened]:
        """What is to be stopped because something else has ended: sidecars."""
        if self.stop_deadline_ms is not None:
            return self.stop(now_ms, max(0, self.stop_deadline_ms - now_ms))
        events: list[Happened] = []
        sidecars = [container for container in self.containers if container.is_sidecar]
        if sidecars and self._has_ended():
            for container in sidecars:
                if not container.is_up:
                    container.due_ms = None
                elif not container.stopping:
                    text = f"Stopping container {container.name}"
                    events.append(self._terminate_softly(container, now_ms, now_ms + self.grace_ms, text))
        return events

    def next_due_ms(self, now_ms: int) -> int | None:
        """When `advance` has something to do again; None: not before something is asked of it."""
        due = [c.due_ms for c in self.containers if c.due_ms is not None and c.due_ms > now_ms]
        due += [c.ready_ms for c in self.containers if c.is_up and c.ready_ms is not None and c.ready_ms > now_ms]
        due += [at for at in (self.sandbox_ready_ms, self._deadline_ms()) if at is not None and at > now_ms]
        if self.retry_ms is not None and self.retry_ms > now_ms and self.stop_deadline_ms is None:
            due.append(self.retry_ms)
        return min(due, default=None)

    @property
    def grace_ms(self) -> int:
        """The Pod's own grace period."""
        return int(self.pod["spec"].get("terminationGracePeriodSeconds", 30)) * 1000

    def _deadline_ms(self) -> int | None:
        seconds = self.pod["spec"].get("activeDeadlineSeconds")
        if seconds is None or self.stop_deadline_ms is not None or self._has_ended():
            return None
        return self.created_ms + int(seconds) * 1000

    def is_past_deadline(self, now_ms: int) -> bool:
        """Active for longer than spec.activeDeadlineSeconds allows."""
        deadline = self._deadline_ms()
        return deadline is not None and deadline <= now_ms

    def facts(self, now_ms: int) -> tuple[Any, ...]:
        """What a Pod's status is made of, besides the Pod itself: where these are equal, the status is."""
        containers = [
            (
                *(c.state, c.exit_code, c.changed, c.is_ready(now_ms), c.image, c.reason, c.message, c.last),
                *(c.starts, c.restarts, c.started_ms, c.finished_ms),
            )
            for c in self.containers
        ]
        has_network = 0 <= self.sandbox_ready_ms <= now_ms
        return self.verdict, self.stop_deadline_ms is None, has_network, (self.ip, *self.more_ips), containers

    def has_stopped(self) -> bool:
        """Nothing runs, and (once asked to stop) nothing ever will."""
        return not any(c.is_up for c in self.containers)

    def is_terminal(self) -> bool:
        """No container will be started again: the restart policy says so, or the Pod is being stopped."""
        return self.has_stopped() and (self.stop_deadline_ms is not None or self._has_ended())

    def _has_ended(self) -> bool:
        """What the Pod is there for is over; sidecars may run still."""
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
        if self.stop_deadline_ms is not None or not 0 <= self.sandbox_ready_ms <= now_ms:
            return False
        if container.is_sidecar and self._has_ended():
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
        if container.is_sidecar or container.changed:
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
            text_of_event = f'Back-off pulling image "{image}"'
            events.append(Happened("pull-back-off", container.name, "Normal", "BackOff", text_of_event, delay))
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
        container.image, container.changed = str(container.spec.get("image", "")), False
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
        container.remember()
        delay = self.runtime.crash_backoff.current(self._backoff_key(container), now_ms)
        if delay == 0:
            self._restart(container, now_ms, events)
            return
        metadata = self.pod["metadata"]
        pod = f"{metadata['name']}_{metadata['namespace']}({self.uid})"
        what = f"restarting failed container {container.name} in pod {pod}"
        text = f"Back-off {what}"
        events.append(Happened("back-off", container.name, "Warning", "BackOff", text, delay))
        container.state, container.reason = ContainerState.BACKOFF, "CrashLoopBackOff"
        container.message = f"back-off {format_duration_ms(delay)} {what}"
        container.due_ms = now_ms + delay

    def _restart(self, container: Container, now_ms: int, events: list[Happened]) -> None:
        self.runtime.crash_backoff.next(self._backoff_key(container), now_ms)
        self._pull(container, now_ms, events)

    def _backoff_key(self, container: Container) -> str:
        """A container with another image is another container: its failures count from none."""
        return f"{self.uid}/{container.name}/{container.spec.get('image', '')}"


class ContainerRuntime:
    """All Pods of one node. It outlives the kubelet that drives it. `network`: who gives Pods their network; without,
    addresses come from a pool."""

    def __init__(
        self,
        node: NodeConfig,
        timings: Timings | None = None,
        behaviour_of: BehaviourOf = annotated_behaviour,
        network: PodNetwork | None = None,
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
        self.addresses = AddressPool(self.node.pod_cidr)
        self.network = network

    def update_pod_cidr(self, cidr: str) -> None:
        """The Node has a Pod range of its own: new sandboxes get addresses of it (CRI's UpdateRuntimeConfig)."""
        if cidr and cidr != self.addresses.cidr:
            self.addresses = AddressPool(cidr)

    def run_pod(self, pod: Object, now_ms: int) -> PodSandbox:
        """What there is of `pod` on this node, to be moved by `advance`; new if there is nothing yet."""
        uid = pod["metadata"]["uid"]
        found = self.sandboxes.get(uid)
        if found is None:
            metadata, spec = pod["metadata"], pod["spec"]
            found = PodSandbox(uid, f"{metadata['namespace']}/{metadata['name']}", pod, self, now_ms)
            found.requests = pod_requests(pod)
            for is_init, containers in ((True, spec.get("initContainers")), (False, spec.get("containers"))):
                for container in containers or []:
                    found.containers.append(Container(container, is_init, self.behaviour_of(pod, container)))
            self.sandboxes[uid] = found
        return found

    def remove_pod(self, uid: str) -> None:
        """Forget a Pod whose containers have ended, and give its address back."""
        sandbox = self.sandboxes.pop(uid, None)
        if sandbox is not None:
            self.release(sandbox)

    def lose_power(self, now_ms: int) -> None:
        for sandbox in self.sandboxes.values():
            sandbox.lose_power(now_ms)
        if self.network is not None:
            self.network.lose_power()

    def give_address(self, sandbox: PodSandbox) -> str:
        """Give `sandbox` an address. "", or why there is none, as the runtime answers it."""
        if sandbox.pod["spec"].get("hostNetwork"):
            sandbox.ip = self.node.internal_ip
            return ""
        if self.network is not None:
            addresses = self.network.set_up(sandbox.pod)
        else:
            address = self.addresses.take()
            addresses = () if address is None else (address,)
        if addresses:
            sandbox.ip, *more = addresses
            sandbox.more_ips, sandbox.holds_address = tuple(more), True
            return ""
        if self.network is not None:
            return self.network.last_error
        return (
            f'rpc error: code = Unknown desc = failed to setup network for sandbox "{sandbox.uid}": plugin '
            f'type="bridge" failed (add): failed to allocate for range 0: no IP addresses available in range set: '
            f"{self.addresses.range}"
        )

    def release(self, sandbox: PodSandbox) -> None:
        """The network of a Pod is torn down: its address may go to another. (Its status goes on naming it.)"""
        if self.network is not None:
            self.network.tear_down(sandbox.uid)
        elif sandbox.holds_address:
            self.addresses.give_back(sandbox.ip)
        sandbox.holds_address = False

    def lose_address(self, sandbox: PodSandbox) -> None:
        """Power is gone: a pool has the address back; a real plugin's lease stays until somebody tears down."""
        if self.network is None:
            self.release(sandbox)
        sandbox.holds_address = False

    def check_invariants(self) -> None:
        """AssertionError when two Pods share an address, or a container is in an impossible state."""
        ips = [s.ip for s in self.sandboxes.values() if s.holds_address]
        assert len(ips) == len(set(ips)), f"two Pods of {self.node.name} share an address: {ips}"
        for sandbox in self.sandboxes.values():
            assert not (sandbox.holds_address and sandbox.is_terminal()), f"{sandbox.key} has ended with an address"
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
