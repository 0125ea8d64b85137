"""The hollow kubelet of the recordings: it writes statuses on a schedule and runs nothing.

The timelines were recorded with it (`kubelet` in each file gives its delays), so they are replayed with it: what is
under test there are the controllers, the scheduler and the API server.
"""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import AlreadyExistsError, ConflictError, NotFoundError
from k8slab.api.objects import Object, thaw
from k8slab.api.scheme import LEASES, NODES, PODS
from k8slab.api.times import micro_time, rfc3339
from k8slab.api.transport import MERGE_PATCH
from k8slab.client import Client, SharedInformerFactory
from k8slab.kubelet.node_status import node_conditions
from k8slab.sim import Component, Loop, sleep

__all__ = ["HollowKubelet"]

_WORKING = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


class HollowKubelet:
    """One hollow node. `node`: an entry of `nodes` in a recording; `delays`: start_ms, stop_ms, lease_s."""

    def __init__(self, loop: Loop, client: Client, node: dict[str, Any], delays: dict[str, int], number: int) -> None:
        self.loop = loop
        self.client = client
        self.node = node
        self.delays = delays
        self.name = node["name"]
        self.number = number
        self.is_ready = True
        self._component: Component | None = None
        self._seen: dict[str, str] = {}
        self._addresses = 0

    def start(self) -> None:
        """Register if need be, say Ready, send heartbeats, work on Pods."""
        self._component = Component(self.loop, f"kubelet/{self.name}")
        self._seen = {}
        informers = SharedInformerFactory(self.loop, self._component, self.client)
        pods = informers.informer(PODS, field_selector=f"spec.nodeName={self.name}")
        pods.add_event_handler(on_add=self._found, on_update=lambda old, new: self._look(new))
        self._component.spawn("node", self._register())
        self._component.spawn("lease", self._heartbeat())
        informers.start()

    def stop(self) -> None:
        """No Lease, no Pod work."""
        if self._component is not None:
            self._component.kill()
            self._component = None

    def set_ready(self, ready: bool) -> None:
        self.is_ready = ready
        assert self._component is not None
        self._component.spawn("status", self._report())

    async def _register(self) -> None:
        node = self.node
        resources = {key: node[key] for key in ("cpu", "memory", "pods", "ephemeral-storage") if key in node}
        obj: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "labels": {
                    "beta.kubernetes.io/arch": "amd64",
                    "beta.kubernetes.io/os": "linux",
                    **node.get("labels", {}),
                },
            },
            "spec": {"taints": node["taints"]} if node.get("taints") else {},
            "status": {
                "capacity": resources,
                "allocatable": resources,
                "conditions": node_conditions(self.loop.clock.now_ms, (), ready=True),
                "addresses": [{"type": "InternalIP", "address": node.get("InternalIP", "10.0.0.1")}],
            },
        }
        try:
            await self.client.create(NODES, obj)
        except AlreadyExistsError:
            await self._report()

    async def _report(self) -> None:
        node = await self.client.get(NODES, self.name)
        conditions = node_conditions(self.loop.clock.now_ms, node["status"]["conditions"], ready=True)
        for condition in conditions:
            if condition["type"] == "Ready":
                condition["status"] = "True" if self.is_ready else "False"
        await self.client.patch(
            NODES, self.name, {"status": {"conditions": conditions}}, patch_type=MERGE_PATCH, subresource="status"
        )

    async def _heartbeat(self) -> None:
        home = "kube-node-lease"
        while True:
            spec = {
                "holderIdentity": self.name,
                "leaseDurationSeconds": 40,
                "renewTime": micro_time(self.loop.clock.now_ms),
            }
            try:
                await self.client.patch(LEASES, self.name, {"spec": spec}, home, patch_type=MERGE_PATCH)
            except NotFoundError:
                lease = {
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": {"name": self.name, "namespace": home},
                    "spec": spec,
                }
                await self.client.create(LEASES, lease)
            await sleep(int(self.delays["lease_s"] * 1000), periodic=True)

    def _found(self, pod: Object, is_initial: bool) -> None:
        """One that was being deleted before this life is left alone, as the recorded one did."""
        if not (is_initial and "deletionTimestamp" in pod["metadata"]):
            self._look(pod)

    def _look(self, pod: Object) -> None:
        metadata = pod["metadata"]
        assert self._component is not None
        stage = "stop" if "deletionTimestamp" in metadata else "start"
        if self._seen.get(metadata["uid"]) == stage:
            return
        if stage == "start" and (pod.get("status") or {}).get("phase") != "Pending":
            return
        self._seen[metadata["uid"]] = stage
        work = self._stop_pod(pod) if stage == "stop" else self._start_pod(pod)
        self._component.spawn(f"pod/{metadata['uid']}/{stage}", work)

    async def _start_pod(self, pod: Object) -> None:
        await sleep(self.delays["start_ms"])
        notes = pod["metadata"].get("annotations") or {}
        if any("broken" in c["image"] for c in pod["spec"]["containers"]):
            await self._write(pod, self._waiting(pod))
            return
        if self._seen.get(pod["metadata"]["uid"]) != "start":
            return
        self._addresses += 1
        await self._write(pod, self._running(pod, f"10.244.{self.number}.{self._addresses}"))
        if "hollow/exit" in notes:
            await sleep(int(float(notes.get("hollow/run", "0")) * 1000))
            await self._write(pod, self._ended(pod, int(notes["hollow/exit"])))

    async def _stop_pod(self, pod: Object) -> None:
        metadata = pod["metadata"]
        own = (metadata.get("annotations") or {}).get("hollow/stop")
        stop_ms = self.delays["stop_ms"] if own is None else int(float(own) * 1000)
        await sleep(min(stop_ms, int(metadata.get("deletionGracePeriodSeconds", 0)) * 1000))
        await self._write(pod, self._ended(pod, 0))
        try:
            await self.client.delete(
                PODS, metadata["name"], metadata["namespace"], uid=metadata["uid"], grace_period_seconds=0
            )
        except (NotFoundError, ConflictError):
            return

    async def _write(self, pod: Object, status: dict[str, Any]) -> None:
        metadata = pod["metadata"]
        patch = {"metadata": {"uid": metadata["uid"]}, "status": status}
        try:
            await self.client.patch(
                PODS, metadata["name"], patch, metadata["namespace"], patch_type=MERGE_PATCH, subresource="status"
            )
        except (NotFoundError, ConflictError):
            return

    def _statuses(self, pod: Object, state: dict[str, Any], *, ready: bool) -> list[dict[str, Any]]:
        return [
            {
                "name": c["name"],
                "image": c["image"],
                "imageID": c["image"],
                "state": state,
                "ready": ready,
                "started": ready,
                "restartCount": 0,
            }
            for c in pod["spec"]["containers"]
        ]

    def _conditions(self, statuses: dict[str, tuple[str, str]]) -> list[dict[str, Any]]:
        now = rfc3339(self.loop.clock.now_ms)
        return [
            {"type": kind, "status": status, "lastTransitionTime": now, **({"reason": reason} if reason else {})}
            for kind, (status, reason) in statuses.items()
        ]

    def _running(self, pod: Object, address: str) -> dict[str, Any]:
        now = rfc3339(self.loop.clock.now_ms)
        return {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "hostIP": self.node.get("InternalIP", "10.0.0.1"),
            "startTime": now,
            "conditions": self._conditions(dict.fromkeys(_WORKING, ("True", ""))),
            "containerStatuses": self._statuses(pod, {"running": {"startedAt": now}}, ready=True),
        }

    def _waiting(self, pod: Object) -> dict[str, Any]:
        kinds: dict[str, tuple[str, str]] = dict.fromkeys(_WORKING, ("True", ""))
        kinds |= dict.fromkeys(("Ready", "ContainersReady"), ("False", "ContainersNotReady"))
        waiting = {"waiting": {"reason": "ImagePullBackOff"}}
        return {
            "phase": "Pending",
            "conditions": self._conditions(kinds),
            "containerStatuses": self._statuses(pod, waiting, ready=False),
        }

    def _ended(self, pod: Object, code: int) -> dict[str, Any]:
        reason = "PodCompleted" if code == 0 else "PodFailed"
        kinds = {
            "PodReadyToStartContainers": ("True", reason),
            "Initialized": ("True", ""),
            "Ready": ("False", reason),
            "ContainersReady": ("False", reason),
            "PodScheduled": ("True", ""),
        }
        ended = {"terminated": {"exitCode": code, "reason": "Completed" if code == 0 else "Error"}}
        return {
            "phase": "Succeeded" if code == 0 else "Failed",
            "conditions": self._conditions(kinds),
            "containerStatuses": self._statuses(thaw(pod), ended, ready=False),
        }
