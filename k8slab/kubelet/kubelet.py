"""The kubelet: registers its node, keeps its Lease, and makes the Pods bound to it run.

One task a Pod (`kubelet/<node>/pod/<uid>`) drives that Pod's sandbox: it moves it as far as the clock allows,
reports what happened as Events, writes the status when it changed, and waits for the next thing that is due or for
the Pod to change. A Pod that is deleted is stopped within its grace period, its last status written, and then
removed from the API with grace 0, guarded by its uid: another Pod of the same name must not be hit.

Upstream: pkg/kubelet/kubelet.go, pkg/kubelet/pod_workers.go, pkg/kubelet/status/status_manager.go,
staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go
A Pod whose phase is Succeeded or Failed in the API is over, whoever wrote that: what runs of it is stopped. A Pod
that does not fit (see `admission`) is never taken up.

Simplified: no eviction for want of memory or disk, no volumes, no static Pods, no PLEG relist (the runtime reports
at once). Pods whose containers a kubelet finds when it starts are not judged again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from k8slab.api.errors import AlreadyExistsError, ConflictError, NotFoundError, StatusError
from k8slab.api.objects import Object, freeze, key_of
from k8slab.api.pod_requests import resource_list
from k8slab.api.scheme import LEASES, NODES, PODS
from k8slab.api.times import micro_time
from k8slab.api.transport import MERGE_PATCH
from k8slab.client import Client, EventRecorder, SharedInformerFactory
from k8slab.kubelet.admission import Rejection, admit
from k8slab.kubelet.node_status import new_node, node_conditions, node_resources
from k8slab.kubelet.runtime import ContainerRuntime, Happened, PodSandbox
from k8slab.kubelet.status_writer import has_ended, pod_status, rejected_status
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop, Wait, Waiters, pause, sleep

__all__ = ["Kubelet"]

_RETRY_MS = 200
_LEASE_SECONDS = 40
_DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds")
_DEADLINE = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class _PodWorker:
    """The latest Pod a worker has been given, and where it waits. `end_cause`: the event by which the watch brought
    that this Pod has to end, or sooner, until the worker acts on it. `said`: the revision of the Pod, and what was
    known of its sandbox, when its status last said all there is to say."""

    __slots__ = ("end_cause", "gone", "news", "pod", "said")

    def __init__(self, loop: Loop, pod: Object) -> None:
        self.pod = pod
        self.gone = False
        self.end_cause: int | None = None
        self.said: tuple[str, tuple[Any, ...]] | None = None
        self.news = Waiters(loop)


class Kubelet:
    """One node's agent. `runtime` holds the containers and outlives the kubelet.

    `start()` begins; `component.kill()` is a crash of the kubelet: containers run on.
    """

    def __init__(
        self,
        loop: Loop,
        component: Component,
        client: Client,
        runtime: ContainerRuntime,
        *,
        record_events: bool = True,
    ) -> None:
        self.loop = loop
        self.component = component
        self.client = client
        self.runtime = runtime
        self.node = runtime.node
        self.lane = component.name
        self.is_ready = True
        self._recorder = (
            EventRecorder(loop, client, component, "kubelet", host=self.node.name) if record_events else None
        )
        self._workers: dict[str, _PodWorker] = {}
        self._allocatable = resource_list(node_resources(self.node)[1])
        self._informers = SharedInformerFactory(loop, component, client)
        self._pods = self._informers.informer(PODS, field_selector=f"spec.nodeName={self.node.name}")
        self._pods.add_event_handler(
            on_add=lambda pod, initial: self._update(pod),
            on_update=lambda old, pod: self._update(pod),
            on_delete=self._deleted,
        )
        self._waiting: dict[str, Object] | None = None
        self._node_changed = Waiters(loop)
        self._node_uid = ""

    def start(self) -> None:
        """Register, send heartbeats, and take up the Pods bound to this node."""
        self.component.spawn("node", self._node_loop())
        self.component.spawn("lease", self._lease_loop())
        if self.runtime.sandboxes:
            self._waiting = {}
            self.component.spawn("cleanup", self._take_over())
        self._informers.start()

    def set_ready(self, ready: bool) -> None:
        """Report the node as ready or not (a fault: the container runtime went down); the Pods run on."""
        self.is_ready = ready
        self._node_changed.wake()

    # -- node --------------------------------------------------------------------------------------

    async def _until_done(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Repeat a call until it is answered. An outcome that is not known is repeated: the calls are idempotent."""
        while True:
            try:
                return await call()
            except TimeoutError:
                pass_ms = _RETRY_MS
            except StatusError as error:
                if error.is_definite and not isinstance(error, (NotFoundError, ConflictError)):
                    raise
                pass_ms = _RETRY_MS
            await sleep(pass_ms)

    async def _node_loop(self) -> None:
        node = new_node(self.node, self.loop.clock.now_ms)
        registered = await self._until_done(lambda: self._register(node))
        self._node_uid = registered["metadata"]["uid"]
        self._event_on_node("Normal", "Starting", "Starting kubelet.")
        await sleep(self.runtime.timings.ready_after_register_ms)
        reported_ms = -self.runtime.timings.node_report_ms
        shown: bool | None = None
        while True:
            now, ready = self.loop.clock.now_ms, self.is_ready
            if ready is not shown or now - reported_ms >= self.runtime.timings.node_report_ms:
                await self._until_done(self._report_node)
                reported_ms = now
                if ready is not shown:
                    word = "NodeReady" if ready else "NodeNotReady"
                    self._event_on_node("Normal", word, f"Node {self.node.name} status is now: {word}")
                shown = ready
            if self.is_ready is shown:
                await pause(Wait((self._node_changed,), self.runtime.timings.node_status_ms, periodic=True))
                self.loop.trace.current = None
                await self._check_reported()

    async def _register(self, node: dict[str, Any]) -> Object:
        try:
            return await self.client.create(NODES, node)
        except AlreadyExistsError:
            return await self.client.get(NODES, self.node.name)

    async def _report_node(self) -> None:
        node = await self.client.get(NODES, self.node.name)
        self.runtime.update_pod_cidr((node.get("spec") or {}).get("podCIDR", ""))
        conditions = node_conditions(
            self.loop.clock.now_ms, (node.get("status") or {}).get("conditions") or (), ready=self.is_ready
        )
        patch = {"metadata": {"uid": node["metadata"]["uid"]}, "status": {"conditions": conditions}}
        await self.client.patch(NODES, self.node.name, patch, patch_type=MERGE_PATCH, subresource="status")

    async def _check_reported(self) -> None:
        """Somebody else (the node lifecycle controller) may have called this node Unknown: say otherwise."""
        node = await self._until_done(lambda: self.client.get(NODES, self.node.name))
        self.runtime.update_pod_cidr((node.get("spec") or {}).get("podCIDR", ""))
        want = "True" if self.is_ready else "False"
        have = {c["type"]: c["status"] for c in (node.get("status") or {}).get("conditions") or []}
        if have.get("Ready") != want:
            await self._until_done(self._report_node)

    def _event_on_node(self, kind: str, reason: str, message: str) -> None:
        if self._recorder is not None:
            reference = {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": self.node.name, "uid": self._node_uid},
            }
            self._recorder.event(reference, kind, reason, message)

    async def _lease_loop(self) -> None:
        rng = self.loop.stream(f"kubelet/{self.node.name}/lease")
        interval = self.runtime.timings.lease_renew_ms
        while True:
            await self._until_done(self._renew)
            await sleep(interval + int(rng.random() * 0.04 * interval), periodic=True)
            self.loop.trace.current = None

    async def _renew(self) -> None:
        name, now = self.node.name, micro_time(self.loop.clock.now_ms)
        try:
            await self.client.patch(
                LEASES,
                name,
                {"spec": {"renewTime": now}},
                namespace="kube-node-lease",
                patch_type=MERGE_PATCH,
            )
        except NotFoundError:
            spec = {"holderIdentity": name, "leaseDurationSeconds": _LEASE_SECONDS, "renewTime": now}
            metadata = {"name": name, "namespace": "kube-node-lease"}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            await self.client.create(LEASES, lease, namespace="kube-node-lease")

    # -- Pods --------------------------------------------------------------------------------------

    async def _take_over(self) -> None:
        """After a restart: stop what is left of Pods that are gone; only then judge Pods that are new, oldest first."""
        await self._pods.wait_synced()
        present = {pod["metadata"]["uid"] for pod in self._pods.indexer.list()}
        for uid, sandbox in list(self.runtime.sandboxes.items()):
            if uid not in present and uid not in self._workers:
                worker = self._workers[uid] = _PodWorker(self.loop, sandbox.pod)
                worker.gone = True
                self.component.spawn(f"pod/{uid}", self._work(worker, sandbox))
        waiting, self._waiting = self._waiting or {}, None
        for pod in sorted(waiting.values(), key=lambda pod: str(pod["metadata"].get("creationTimestamp", ""))):
            self._update(pod)

    def _update(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        worker = self._workers.get(uid)
        if worker is not None:
            if _end_of(pod) != _end_of(worker.pod):
                worker.end_cause = self.loop.trace.current
            worker.pod = pod
            worker.news.wake()
            return
        if self._waiting is not None and uid not in self.runtime.sandboxes:
            self._waiting[uid] = pod
            return
        is_known, is_deleted = uid in self.runtime.sandboxes, "deletionTimestamp" in pod["metadata"]
        if has_ended(pod) and not is_known and not is_deleted:
            return  # before this kubelet started, or turned away
        worker = self._workers[uid] = _PodWorker(self.loop, pod)
        if has_ended(pod) and not is_known:
            self.component.spawn(f"pod/{uid}", self._turn_away(worker, None))
            return
        self.loop.trace.emit("kubelet.admit", self.lane, node=self.node.name, key=key_of(pod))
        rejection = None if is_known or is_deleted else self._judge(pod)
        if rejection is not None:
            self.component.spawn(f"pod/{uid}", self._turn_away(worker, rejection))
            return
        sandbox = self.runtime.run_pod(pod, self.loop.clock.now_ms)
        self.component.spawn(f"pod/{uid}", self._work(worker, sandbox))

    def _judge(self, pod: Object) -> Rejection | None:
        """Whether `pod` fits beside the Pods that are active here: those the API still has and that have not ended."""
        sandboxes = self.runtime.sandboxes.values()
        if admit(pod, [sandbox.requests for sandbox in sandboxes], self._allocatable) is None:
            return None
        present = {other["metadata"]["uid"] for other in self._pods.indexer.list() if not has_ended(other)}
        active = [s.requests for s in sandboxes if s.uid in present and not s.is_terminal()]
        return admit(pod, active, self._allocatable)

    async def _turn_away(self, worker: _PodWorker, rejection: Rejection | None) -> None:
        """Write why a Pod is not taken; remove one that ended when it is deleted. Nothing of it is on this node."""
        if rejection is not None:
            key = key_of(worker.pod)
            self.loop.trace.emit("kubelet.reject", self.lane, node=self.node.name, key=key, reason=rejection.reason)
            if self._recorder is not None:
                self._recorder.event(worker.pod, "Warning", rejection.reason, rejection.message)
        while not worker.gone:
            pod, is_written = worker.pod, rejection is None or has_ended(worker.pod)
            if rejection is not None and not is_written:
                status = rejected_status(pod, *rejection, self.loop.clock.now_ms)
                done = await self._patch_status(worker, status)
            elif "deletionTimestamp" in pod["metadata"]:
                done = await self._remove(worker)
            else:
                break
            if not done:
                await sleep(_RETRY_MS)
            elif is_written:
                break
        self._workers.pop(worker.pod["metadata"]["uid"], None)

    def _deleted(self, pod: Object) -> None:
        if self._waiting is not None:
            self._waiting.pop(pod["metadata"]["uid"], None)
        worker = self._workers.get(pod["metadata"]["uid"])
        if worker is not None:
            worker.gone, worker.end_cause = True, self.loop.trace.current
            worker.news.wake()

    async def _work(self, worker: _PodWorker, sandbox: PodSandbox) -> None:
        uid = sandbox.uid
        while True:
            now, pod, gone = self.loop.clock.now_ms, worker.pod, worker.gone
            is_deleted = gone or "deletionTimestamp" in pod["metadata"]
            if worker.end_cause is not None:
                self.loop.trace.current, worker.end_cause = worker.end_cause, None
            self._report(sandbox, pod, sandbox.update(pod, now))
            self._end(sandbox, pod, now, gone=gone)
            self._report(sandbox, pod, sandbox.advance(now))
            if gone and sandbox.has_stopped():
                break
            if not gone:
                done = await self._write_status(worker, sandbox, now)
                if done and is_deleted and sandbox.has_stopped() and not worker.gone:
                    done = await self._remove(worker)
                if not done:
                    await sleep(_RETRY_MS)
                    continue
            if worker.pod is pod and worker.gone == gone:
                due = sandbox.next_due_ms(now)
                await pause(Wait((worker.news,), None if due is None else max(0, due - self.loop.clock.now_ms)))
        self.runtime.remove_pod(uid)
        self._workers.pop(uid, None)

    def _end(self, sandbox: PodSandbox, pod: Object, now: int, *, gone: bool) -> None:
        """Stop what has no right to run: a Pod that is deleted, that is over in the API, or whose time is up."""
        if gone:
            self._stop(sandbox, pod, now, 0)
        elif "deletionTimestamp" in pod["metadata"]:
            self._stop(sandbox, pod, now, pod["metadata"].get("deletionGracePeriodSeconds", 0) * 1000)
        elif has_ended(pod) or sandbox.verdict is not None:
            self._stop(sandbox, pod, now, sandbox.grace_ms)
        elif sandbox.is_past_deadline(now):
            sandbox.verdict = _DEADLINE
            if self._recorder is not None:
                self._recorder.event(pod, "Normal", *_DEADLINE)
            self._stop(sandbox, pod, now, sandbox.grace_ms)

    def _stop(self, sandbox: PodSandbox, pod: Object, now: int, grace_ms: int) -> None:
        if sandbox.stop_deadline_ms is None and not sandbox.has_stopped():
            self.loop.trace.emit("pod.stop", self.lane, node=self.node.name, key=sandbox.key, grace_ms=grace_ms)
        deadline = sandbox.stop_deadline_ms
        left = grace_ms if deadline is None else min(grace_ms, max(0, deadline - now))
        self._report(sandbox, pod, sandbox.stop(now, left))

    def _report(self, sandbox: PodSandbox, pod: Object, happened: list[Happened]) -> None:
        emit, node, key = self.loop.trace.emit, self.node.name, sandbox.key
        for one in happened:
            if one.kind == "pull":
                image = one.message.split('"')[1]
                emit("container.pull", self.lane, node=node, key=key, image=image)
            elif one.kind == "started":
                emit("container.start", self.lane, node=node, key=key, container=one.container)
            elif one.kind == "exit":
                kind = "container.exit" if one.value == 0 else "container.fail"
                emit(kind, self.lane, node=node, key=key, container=one.container, code=one.value)
            elif one.kind == "back-off":
                emit("container.backoff", self.lane, node=node, key=key, container=one.container, ms=one.value)
            elif one.kind == "pull-back-off":
                emit("container.pull-backoff", self.lane, node=node, key=key, container=one.container, ms=one.value)
            elif one.kind == "no-sandbox" and sandbox.failures == 1:
                emit("sandbox.fail", self.lane, node=node, key=key, ms=one.value)
            if one.reason and self._recorder is not None:
                path = _field_path(sandbox, one.container)
                self._recorder.event(pod, one.type, one.reason, one.message, field_path=path)

    async def _write_status(self, worker: _PodWorker, sandbox: PodSandbox, now: int) -> bool:
        """Write the status if it says anything new; False when that has to be tried again."""
        pod = worker.pod
        facts = sandbox.facts(now)
        if worker.said == (pod["metadata"]["resourceVersion"], facts):
            return True
        old = pod.get("status") or {}
        status = pod_status(sandbox, pod, now)
        changed = {key: value for key, value in status.items() if old.get(key) != value}
        if not changed:
            worker.said = pod["metadata"]["resourceVersion"], facts
            return True
        is_ready = _is_ready(status)
        if is_ready and not _is_ready(old) and (sandbox.wrote_ready or not sandbox.is_told):
            # the first time, or since a power cut or another image, or when somebody else said that it is not ready
            self.loop.trace.emit("pod.running", self.lane, node=self.node.name, key=sandbox.key)
            sandbox.is_told = True
        done = await self._patch_status(worker, changed)
        if done:
            sandbox.wrote_ready = is_ready
            if _differ_in_status_only(worker.pod, pod) and _includes(worker.pod["status"], status):
                worker.said = worker.pod["metadata"]["resourceVersion"], facts
        return done

    async def _patch_status(self, worker: _PodWorker, status: Mapping[str, Any]) -> bool:
        """False when that has to be tried again."""
        pod, metadata = worker.pod, worker.pod["metadata"]
        try:
            written = await self.client.patch(
                PODS,
                metadata["name"],
                {"metadata": {"uid": metadata["uid"]}, "status": status},
                namespace=metadata["namespace"],
                patch_type=MERGE_PATCH,
                subresource="status",
            )
        except (NotFoundError, ConflictError):
            worker.gone = True  # this Pod is no more, whoever has its name now
        except (StatusError, TimeoutError):
            return False
        else:
            if worker.pod is pod:
                worker.pod = _with_deletion_of(pod, written)
        return True

    async def _remove(self, worker: _PodWorker) -> bool:
        """Take the stopped Pod out of the API; False when that has to be tried again."""
        metadata = worker.pod["metadata"]
        has_finalizers = bool(metadata.get("finalizers"))
        if has_finalizers and metadata.get("deletionGracePeriodSeconds") == 0:
            return True  # done here: it goes when its finalizers do
        try:
            await self.client.delete(
                PODS, metadata["name"], metadata["namespace"], uid=metadata["uid"], grace_period_seconds=0
            )
        except (NotFoundError, ConflictError):
            worker.gone = True
        except (StatusError, TimeoutError):
            return False
        else:
            worker.gone = not has_finalizers
        return True


def _field_path(sandbox: PodSandbox, container: str) -> str:
    if not container:
        return ""
    is_init = any(c.name == container and c.is_init for c in sandbox.containers)
    return f"spec.{'initContainers' if is_init else 'containers'}{{{container}}}"


def _end_of(pod: Object) -> tuple[object, ...]:
    """What of a Pod in the API says that it has to end, and how soon."""
    return *(pod["metadata"].get(field) for field in _DELETION), has_ended(pod)


def _with_deletion_of(pod: Object, written: Object) -> Object:
    """`written`, the answer to a patch, deleted only if `pod` is: of a deletion the watch tells."""
    old, new = pod["metadata"], written["metadata"]
    if all(old.get(field) == new.get(field) for field in _DELETION):
        return written
    metadata = {key: value for key, value in new.items() if key not in _DELETION}
    metadata |= {field: old[field] for field in _DELETION if field in old}
    return freeze({**written, "metadata": metadata})  # type: ignore[no-any-return]


def _includes(status: Object, part: Object) -> bool:
    return all(status.get(key) == value for key, value in part.items())


def _differ_in_status_only(new: Object, old: Object) -> bool:
    """As far as a Pod's status depends on the rest of it."""
    generations = new["metadata"].get("generation"), old["metadata"].get("generation")
    return bool(new["spec"] == old["spec"] and generations[0] == generations[1])


def _is_ready(status: Object) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or ())
