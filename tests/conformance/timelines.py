"""Replays a recorded timeline (`ctl-*`): the control plane, hollow nodes, the steps at their times, the watches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from k8slab.api.errors import StatusError
from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object, thaw
from k8slab.api.scheme import GVR, NAMESPACES, NODES, SERVICEACCOUNTS
from k8slab.api.transport import Request, StreamClosedError
from k8slab.client import Client
from k8slab.cluster.control_plane import ControlPlane
from k8slab.sim import Component, Loop, Network, latency_profile
from tests.conformance.hollow import HollowKubelet
from tests.conformance.placement import RecordedNames, RecordedPlacement

__all__ = ["Timeline", "project", "records"]

_SETTLE_MS = 8_000
_ACTIONS = {"stops": "stop", "starts": "start"}


def records(doc: dict[str, Any], *, seed: int = 7) -> Iterator[tuple[str, Any]]:
    """(name, actual) of every step and watch of a recorded timeline."""
    yield from Timeline(doc, seed).play().items()


class Timeline:
    """One run of a scenario."""

    def __init__(self, doc: dict[str, Any], seed: int) -> None:
        self.doc = doc
        self.loop = Loop(seed)
        self.plane = ControlPlane(
            self.loop,
            latency=latency_profile("lan"),
            features=FeatureGates("1.36"),
            network=Network(self.loop),
            options=_options(doc.get("flags", {})),
        )
        self.you = Component(self.loop, "you")
        self.client = self.plane.client("you", "kubernetes-admin")
        self.kubelets: dict[str, HollowKubelet] = {}
        self.frames: dict[str, list[dict[str, Any]]] = {}
        self.errors: list[BaseException] = []
        self.names = RecordedNames(doc)
        self.start_ms = 0

    def play(self) -> dict[str, Any]:
        self._boot()
        results: dict[str, Any] = {}
        start = self.start_ms = self.loop.clock.now_ms
        for watch in self.doc["watch"]:
            self._watch(watch)
        actions = list(self.doc.get("actions", []))
        marks = {mark["mark"]: mark["t"] for mark in self.doc.get("timeline", [])}
        for number, step in enumerate(self.doc["steps"]):
            for action in [a for a in actions if a["before_step"] == number]:
                self._run_to(start + _time_of(action, marks, step["t"]))
                self._act(action)
            self._run_to(start + int(step["t"] * 1000))
            results[f"step {number}"] = self._send(step["request"])
        self.loop.run(for_ms=_SETTLE_MS)
        results.update({f"watch {name}": frames for name, frames in self.frames.items()})
        self.loop.close()
        return results

    def _boot(self) -> None:
        self.plane.manager.start()
        self.plane.scheduler.start()
        RecordedPlacement(self.doc).guide(self.plane.scheduler.program)
        for number, node in enumerate(self.doc["nodes"]):
            client: Client = self.plane.client(f"kubelet/{node['name']}", f"system:node:{node['name']}")
            kubelet = HollowKubelet(self.loop, client, node, self.doc["kubelet"], number)
            self.kubelets[node["name"]] = kubelet
            kubelet.start()
        mirror = self.plane.mirror
        self.loop.run(for_ms=2_000)
        assert len(mirror.list(NODES.group_resource)) == len(self.doc["nodes"]), "nodes did not register"
        for given in self.doc.get("given", []):
            if "request" in given:
                self._send(given["request"])  # the recording saw what it set off
            else:
                self._namespace(given["create_namespace"])

    def _namespace(self, name: str) -> None:
        self._do(self.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        assert self.loop.run(
            until=lambda: self.plane.mirror.get(SERVICEACCOUNTS.group_resource, f"{name}/default") is not None,
            for_ms=5_000,
        ), f"namespace {name} got no ServiceAccount"

    def _do(self, job: Any) -> Any:
        box: list[Any] = []

        async def run() -> None:
            box.append(await job)

        task = self.you.spawn("kubectl", run())
        while not task.done:
            assert self.loop.step(), "nothing left to do, and a call is not answered"
        return box[0]

    def _run_to(self, now_ms: int) -> None:
        if now_ms > self.loop.clock.now_ms:
            self.loop.run(for_ms=now_ms - self.loop.clock.now_ms)

    def _act(self, action: dict[str, Any]) -> None:
        kubelet, does = self.kubelets[action["node"]], action["does"]
        if does.startswith("stops"):
            kubelet.stop()
        elif does.startswith("starts"):
            kubelet.start()
        elif "Ready=" in does:
            kubelet.set_ready("Ready=True" in does)
        else:
            raise ValueError(f"action {does!r}: not known")

    def _send(self, request: dict[str, Any]) -> dict[str, Any]:
        body = request.get("body")
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        path = self.names.ours(request["path"], self.frames)
        answer = self._do(
            self.plane.server.handle(
                request["method"], path, request.get("query") or {}, request.get("headers") or {}, data
            )
        )
        is_json = answer.body and "json" in str(answer.headers.get("content-type", ""))
        document = json.loads(answer.body) if is_json else answer.body.decode() or None
        if isinstance(document, dict) and "items" in document:
            document = {**document, "items": [project(item) for item in document["items"]]}
        elif isinstance(document, dict) and document.get("kind") != "Status" and "metadata" in document:
            document = project(document)
        return {"status": answer.status, "headers": dict(answer.headers), "body": document}

    def _watch(self, watch: dict[str, Any]) -> None:
        frames = self.frames.setdefault(watch["name"], [])
        group, version, namespace, resource = _parse_path(watch["request"]["path"])
        params = {k: v for k, v in (watch["request"].get("query") or {}).items() if k != "watch"}

        async def collect() -> None:
            request = Request("watch", GVR(group, version, resource), namespace, params=params)
            kind = self.plane.server.scheme.kind_of(GVR(group, version, resource))
            stream = await self.client.transport.watch(request)
            while True:
                try:
                    event = await stream.next()
                except (StreamClosedError, StatusError):
                    return
                obj = {"kind": kind.kind, **thaw(event.object)}
                frames.append({"type": event.type, "object": project(obj)})

        self.you.spawn(f"watch/{watch['name']}", collect())


def _options(flags: dict[str, Any]) -> dict[str, int]:
    """`--node-monitor-grace-period=8s` as the option `node-monitor-grace-period-ms`."""
    options = {}
    for flag in flags.get("controller-manager", []):
        name, _, value = flag.removeprefix("--").partition("=")
        if found := re.fullmatch(r"(\d+)(ms|s|m)", value):
            options[f"{name}-ms"] = int(found[1]) * {"ms": 1, "s": 1_000, "m": 60_000}[found[2]]
    return options


def _time_of(action: dict[str, Any], marks: dict[str, float], step_t: float) -> int:
    """When an action happened: the mark that names its node and deed, else just before the step."""
    words = {"stops": "stops", "starts": "back", "False": "Ready=False"}
    for key, word in words.items():
        if key in action["does"]:
            for mark, t in marks.items():
                if mark.startswith(action["node"]) and word in mark:
                    return int(t * 1000)
    return int(step_t * 1000) - 2_000


def _parse_path(path: str) -> tuple[str, str, str, str]:
    parts = path.strip("/").split("/")
    group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
    if rest[0] == "namespaces" and len(rest) > 2:
        return group, version, rest[1], rest[2]
    return group, version, "", rest[0]


# -- projection (data/live/projection.json) ------------------------------------------------------------

_METADATA = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "labels",
    "annotations",
    "finalizers",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "creationTimestamp",
)
_WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ControllerRevision")


def project(obj: Object) -> dict[str, Any]:
    """What the recordings keep of an object."""
    kind = obj.get("kind", "")
    metadata = {k: obj["metadata"][k] for k in _METADATA if k in obj["metadata"]}
    owners = obj["metadata"].get("ownerReferences")
    if owners:
        keys = ("kind", "name", "uid", "controller", "blockOwnerDeletion")
        metadata["ownerReferences"] = [{k: o[k] for k in keys if k in o} for o in owners]
    if kind == "Event":
        return {
            "kind": kind,
            "involvedObject": {k: (obj.get("involvedObject") or {}).get(k) for k in ("kind", "name")},
            "type": obj.get("type"),
            "reason": obj.get("reason"),
            "message": obj.get("message"),
            "count": obj.get("count"),
            "source": (obj.get("source") or {}).get("component") or obj.get("reportingComponent"),
        }
    if kind == "Pod":
        return {"kind": kind, "metadata": metadata, **_pod(obj)}
    if kind in _WORKLOADS:
        return {"kind": kind, "metadata": metadata, **_workload(obj)}
    if kind == "Node":
        conditions = (obj.get("status") or {}).get("conditions") or []
        return {
            "kind": kind,
            "metadata": metadata,
            "spec": obj.get("spec") or {},
            "status": {"conditions": {c["type"]: f"{c['status']}/{c.get('reason', '')}" for c in conditions}},
        }
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}


def _pod(obj: Object) -> dict[str, Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    kept = {k: spec[k] for k in ("nodeName", "hostname", "subdomain", "schedulingGates", "affinity") if k in spec}
    kept["images"] = [c["image"] for c in spec["containers"]]
    if spec["containers"][0].get("env"):
        kept["env"] = spec["containers"][0]["env"]
    state = {k: status[k] for k in ("phase", "reason", "podIP", "nominatedNodeName") if k in status}
    state["conditions"] = {
        c["type"]: c["status"] + (f"/{c['reason']}" if c.get("reason") else "") for c in status.get("conditions") or []
    }
    return {"spec": kept, "status": state}


def _workload(obj: Object) -> dict[str, Any]:
    spec = {
        k: v for k, v in (obj.get("spec") or {}).items() if k not in ("template", "jobTemplate", "volumeClaimTemplates")
    }
    template = (obj.get("spec") or {}).get("template")
    if template:
        spec["template"] = {
            "labels": template["metadata"].get("labels"),
            "images": [c["image"] for c in template["spec"]["containers"]],
        }
    found: dict[str, Any] = {"spec": spec, "status": obj.get("status") or {}}
    if "revision" in obj:
        found["revision"] = obj["revision"]
    return found
