"""A cluster made of paper: a scripted run of one Deployment with real event kinds, to test pictures without floors.

    toy = ToyCluster(pods=3)
    while toy.step():
        ...

It has what a Stepper needs (`view()`, `step()`, `step_lane()`, `trace`) and the recorded history of its objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import k8slab.apiserver.kinds  # adds its rows to KINDS, as the next three do
import k8slab.client.kinds
import k8slab.controllers.kinds
import k8slab.kubelet.kinds  # noqa: F401
from k8slab.api.objects import freeze, thaw
from k8slab.sim import KINDS, Trace
from k8slab.sim.clock import Clock

__all__ = ["ToyCluster"]

HASH = "7d9c6b8f5d"
RS = f"default/web-{HASH}"
SUFFIXES = ("x2k4k", "9fvbt", "h7zqn", "b5lmw", "q8d2r", "t4vxc")
KINDS_OF = {"pods": "Pod", "nodes": "Node", "deployments.apps": "Deployment", "replicasets.apps": "ReplicaSet"}


class ToyCluster:
    """`pods` of one Deployment on `nodes`. Each action of the script is one `step()`."""

    def __init__(self, pods: int = 3, nodes: int = 3) -> None:
        self.trace = Trace(Clock())
        self.revision = 0
        self.objects: dict[str, Any] = {}
        self._pods = [f"default/web-{HASH}-{SUFFIXES[n % 6]}{'' if n < 6 else n}" for n in range(pods)]
        self._nodes = [f"node-{n + 1}" for n in range(nodes)]
        for name in self._nodes:
            self.commit("nodes", name, node(name))
        self.started_seq = len(self.trace)
        self._script = self._deployment()
        self._coming: tuple[str, Callable[[], None]] | None = next(self._script)

    # -- the steppable -----------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        return {"objects": dict(self.objects), "ready": {f"{self._coming[0]}/worker": True} if self._coming else {}}

    def step(self) -> bool:
        if self._coming is None:
            return False
        _, act = self._coming
        act()
        self.trace.action += 1
        self._coming = next(self._script, None)
        return True

    def step_lane(self, lane: str) -> bool:
        self.asked = lane
        return self.step()

    # -- what happens ------------------------------------------------------------------------------

    def emit(
        self, kind: str, actor: str, *, because: int | None, after: int = 0, also: tuple[int, ...] = (), **data: Any
    ) -> int:
        self.trace.clock.now_ms += after
        self.trace.current = because
        seq = self.trace.emit(kind, actor, also=also, **{**dict.fromkeys(KINDS[kind].fields, ""), **data})
        assert seq is not None
        return seq

    def commit(self, resource: str, key: str, obj: dict[str, Any], because: int | None = None) -> int:
        """etcd commits the object; the trace remembers it."""
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        frozen = freeze(obj)
        self.objects[f"{KINDS_OF[resource]}/{key}"] = frozen
        seq = self.emit(
            "etcd.commit",
            "etcd",
            because=because,
            after=1,
            resource=resource,
            key=key,
            revision=self.revision,
            op="put",
        )
        self.trace.commit(self.revision, seq)
        self.trace.record_object(resource, key, self.revision, frozen)
        return seq

    def write(self, actor: str, who: str, verb: str, resource: str, key: str, because: int | None, **more: Any) -> int:
        words = {"create": "creates", "patch": "patches", "update": "updates", "bind": "binds"}
        data = {
            "who": who,
            "does": words[verb],
            "verb": verb,
            "resource": resource,
            "key": key,
            "what": KINDS_OF[resource],
        }
        kind = more.get("kind", "write")
        after, detail = more.get("after", 1), more.get("detail", "")
        return self.emit(kind, actor, because=because, after=after, subresource="", detail=detail, **data)

    def serve(self, verb: str, resource: str, key: str, obj: dict[str, Any], because: int) -> int:
        seq = self.emit("serve", "apiserver", because=because, after=1, verb=verb, resource=resource, key=key)
        return self.commit(resource, key, obj, seq)

    def watched(self, actor: str, resource: str, key: str, because: int, delta: str = "Added") -> int:
        return self.emit(
            "cache.update",
            actor,
            because=because,
            after=2,
            resource=resource,
            key=key,
            revision=self.revision,
            delta=delta,
        )

    def _deployment(self) -> Iterator[tuple[str, Callable[[], None]]]:
        seqs: dict[str, int] = {}

        def run(name: str, act: Callable[[], int]) -> Callable[[], None]:
            def do() -> None:
                seqs[name] = act()

            return do

        d, replicas = "default/web", len(self._pods)
        yield "you", run("apply", lambda: self.write("you", "you", "create", "deployments.apps", d, None))
        yield "apiserver", run("d", lambda: self.serve("create", "deployments.apps", d, deployment(), seqs["apply"]))
        yield "kcm/informers", run("dw", lambda: self.watched("kcm/informers", "deployments.apps", d, seqs["d"]))
        yield "kcm/deployment", run("dq", lambda: self.queue("deployment", d, seqs["dw"]))
        yield "kcm/deployment", run("ds", lambda: self.sync("deployment", d, seqs["dq"]))
        yield "kcm/deployment", run("new", lambda: self.emit("deployment.create", "kcm/deployment", because=seqs["ds"],
            resource="deployments.apps", key=d, replica_set=RS, replicas=len(self._pods)))  # fmt: skip
        yield "kcm/deployment", run("rw", lambda: self.write("kcm/deployment", "the Deployment controller", "create",
            "replicasets.apps", RS, seqs["new"]))  # fmt: skip
        replicas = len(self._pods)
        yield (
            "apiserver",
            run("r", lambda: self.serve("create", "replicasets.apps", RS, replica_set(replicas), seqs["rw"])),
        )
        yield "kcm/informers", run("rc", lambda: self.watched("kcm/informers", "replicasets.apps", RS, seqs["r"]))
        yield "kcm/replicaset", run("rq", lambda: self.queue("replicaset", RS, seqs["rc"]))
        yield "kcm/replicaset", run("rs", lambda: self.sync("replicaset", RS, seqs["rq"]))
        yield "kcm/replicaset", run("create", lambda: self.emit("replicaset.create", "kcm/replicaset",
            because=seqs["rs"], resource="replicasets.apps", key=RS, have=0, want=replicas, count=replicas)
        )  # fmt: skip
        for number, key in enumerate(self._pods):
            yield from self._pod(number, key, seqs, run)

    def queue(self, name: str, key: str, because: int) -> int:
        return self.emit("queue.add", f"kcm/{name}", because=because, queue=name, key=key)

    def sync(self, name: str, key: str, because: int, also: tuple[int, ...] = ()) -> int:
        actor = f"kcm/{name}"
        return self.emit("sync", actor, because=because, after=1, also=also, queue=name, key=key, attempt=1)

    def _pod(self, number: int, key: str, seqs: dict[str, int], run: Any) -> Iterator[tuple[str, Callable[[], None]]]:
        home = self._nodes[number % len(self._nodes)]
        lane = f"kubelet/{home}"
        of = f"{number + 1} of {len(self._pods)}"
        yield "kcm/replicaset", run("pw", lambda: self.write("kcm/replicaset", "the ReplicaSet controller", "create",
            "pods", key, seqs["create"], detail=f" ({of})"))  # fmt: skip
        yield "apiserver", run("p", lambda: self.serve("create", "pods", key, pod(key, number), seqs["pw"]))
        yield "scheduler", run("bw", lambda: self.write("scheduler", "the scheduler", "bind", "pods", key, seqs["p"],
            after=3, detail=f" to {home}"))  # fmt: skip
        yield "apiserver", run("b", lambda: self.change(key, seqs["bw"], lambda o: o["spec"].update(nodeName=home)))
        yield lane, run("a", lambda: self.emit("kubelet.admit", lane, because=seqs["b"], after=1, node=home, key=key))
        yield lane, run("c", lambda: self.emit("container.start", lane, because=seqs["a"], after=855 - 100 * number,
            node=home, key=key, container="web"))  # fmt: skip
        yield lane, run("sw", lambda: self.write(lane, f"the kubelet on {home}", "patch", "pods", key, seqs["c"],
            kind="write.detail"))  # fmt: skip
        yield "apiserver", run("sc", lambda: self.change(key, seqs["sw"], running))
        yield lane, run(f"run{number}", lambda: self.emit("pod.running", lane, because=seqs["sc"], node=home, key=key))
        merged = tuple(seqs[f"run{n}"] for n in range(number))
        yield "kcm/replicaset", run("rq", lambda: self.queue("replicaset", RS, seqs["sc"]))
        yield "kcm/replicaset", run("rs", lambda: self.sync("replicaset", RS, seqs["rq"], merged))

    def change(self, key: str, because: int, change: Callable[[dict[str, Any]], Any]) -> int:
        obj = thaw(self.objects[f"Pod/{key}"])
        change(obj)
        return self.serve("patch", "pods", key, obj, because)


def running(pod: dict[str, Any]) -> None:
    pod["status"] = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}],
        "containerStatuses": [{"name": "web", "ready": True, "restartCount": 0, "state": {"running": {}}}],
    }


def node(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "images": [{"names": ["nginx:1.27"], "sizeBytes": 70_000_000}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def deployment() -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "generation": 1, "managedFields": [{"manager": "kubectl"}]},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": template(),
        },
        "status": {},
    }


def template() -> dict[str, Any]:
    resources = {"requests": {"cpu": "500m"}}
    containers = [{"name": "web", "image": "nginx:1.27", "resources": resources}]
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}


def replica_set(replicas: int) -> dict[str, Any]:
    owner = {"kind": "Deployment", "name": "web", "controller": True}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": RS.removeprefix("default/"), "namespace": "default", "ownerReferences": [owner]},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template()},
        "status": {"replicas": 0},
    }


def pod(key: str, number: int) -> dict[str, Any]:
    token = {"name": "kube-api-access-abcde", "projected": {}}
    spec = {**template()["spec"], "volumes": [token]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": key.removeprefix("default/"), "namespace": "default", "uid": f"uid-{number}"},
        "spec": spec,
        "status": {"phase": "Pending"},
    }
