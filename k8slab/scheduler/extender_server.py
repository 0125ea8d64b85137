"""The other side: our filters and scores, offered to somebody else's scheduler as an extender.

>>> from k8slab.scheduler import Framework, Snapshot
>>> from k8slab.scheduler.extender import at_once
>>> from k8slab.scheduler.extender_wire import filter_result
>>> node = {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "110"}}}
>>> server = ExtenderServer(Framework.from_profile(), lambda: Snapshot.of([node]))
>>> pod = b'{"metadata":{"name":"web"},"spec":{"containers":[{"resources":{"requests":{"cpu":"2"}}}]}}'
>>> answer = at_once(server.handle("POST", "/filter", b'{"Pod":' + pod + b',"NodeNames":["a"]}'))
>>> filter_result(answer.body).failed_and_unresolvable
{'a': 'Insufficient cpu'}

A plain handler of (method, path, body): `SimulatedHTTP` and web servers alike can serve it.

Upstream: staging/src/k8s.io/kube-scheduler/extender/v1/types.go (the types; upstream has no server)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from k8slab.api.errors import StatusError
from k8slab.api.objects import Object
from k8slab.api.transport import HTTPResponse
from k8slab.scheduler.extender_wire import MAX_EXTENDER_PRIORITY, WireError, as_struct, encode, node_list, read_json
from k8slab.scheduler.framework import MAX_NODE_SCORE, SUCCESS, Code, CycleState, NodeInfo, PluginError, Status
from k8slab.scheduler.runtime import Framework
from k8slab.scheduler.snapshot import Snapshot

__all__ = ["ExtenderServer"]

_JSON = {"Content-Type": "application/json"}


class ExtenderServer:
    """Answers `filter`, `prioritize`, `preempt` and `bind`, below any path.

    `snapshot()`: the cluster as this server knows it; without it requests must carry Nodes, and what runs on these is
    unknown. `client`: for bind. What makes no sense gets 400 with the reason (404, 405), a plugin's error 500.
    """

    def __init__(
        self, framework: Framework, snapshot: Callable[[], Snapshot] | None = None, *, client: Any = None
    ) -> None:
        self.framework = framework
        self._snapshot = snapshot
        self._client = client

    async def handle(self, method: str, path: str, body: bytes) -> HTTPResponse:
        """One request."""
        verb = path.rstrip("/").rpartition("/")[2]
        if verb not in ("filter", "prioritize", "preempt", "bind"):
            return HTTPResponse(404, _JSON, encode({"Error": f"no such verb: {verb}"}))
        if method != "POST":
            return HTTPResponse(405, {**_JSON, "Allow": "POST"}, encode({"Error": f"method {method}: expected POST"}))
        try:
            args = as_struct(read_json(body), "v1.ExtenderBindingArgs" if verb == "bind" else "v1.ExtenderArgs")
            answer = await self._bind(args) if verb == "bind" else getattr(self, f"_{verb}")(args)
        except WireError as error:
            return HTTPResponse(400, _JSON, encode({"Error": str(error)}))
        except PluginError as error:
            return HTTPResponse(500, _JSON, encode({"Error": str(error)}))
        return HTTPResponse(200, _JSON, encode(answer))

    # -- filter, prioritize ------------------------------------------------------------------------

    def _filter(self, args: Mapping[str, Any]) -> dict[str, Any]:
        pod, snapshot, nodes, by_name = self._read(args)
        failed: dict[str, dict[str, str]] = {"FailedNodes": {}, "FailedAndUnresolvableNodes": {}}
        passed = []
        for node, status in self._verdicts(pod, snapshot, nodes):
            if status is SUCCESS:
                passed.append(node)
            else:
                hopeless = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
                failed["FailedAndUnresolvableNodes" if hopeless else "FailedNodes"][node.name] = status.message
        return {
            "Nodes": None if by_name else node_list([node.node or {} for node in passed]),
            "NodeNames": [node.name for node in passed] if by_name else None,
            **failed,
            "Error": "",
        }

    def _verdicts(self, pod: Object, snapshot: Snapshot, nodes: Sequence[NodeInfo]) -> list[tuple[NodeInfo, Status]]:
        """PluginError when nobody can say."""
        self.framework.use_snapshot(snapshot)
        state = CycleState()
        names, status, _ = self.framework.run_pre_filter(state, pod, snapshot.nodes)
        found = []
        for node in nodes:
            verdict = status
            if status is SUCCESS and names is not None and node.name not in names:
                verdict = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node is filtered out by the prefilter result")
            elif status is SUCCESS:
                verdict = self.framework.run_filter(state, pod, node)
            if verdict.code is Code.ERROR:
                raise PluginError(verdict.message)
            found.append((node, verdict))
        return found

    def _prioritize(self, args: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The framework's totals, brought from their own range into 0 to 10."""
        pod, snapshot, nodes, _ = self._read(args)
        framework, state = self.framework, CycleState()
        framework.use_snapshot(snapshot)
        framework.run_pre_filter(state, pod, snapshot.nodes)  # some scores use what it works out
        status = framework.run_pre_score(state, pod, nodes)
        columns, status = framework.run_score(state, pod, nodes) if status is SUCCESS else ([], status)
        if status is not SUCCESS:
            raise PluginError(status.message)
        most = MAX_NODE_SCORE * sum(framework.weight(column.plugin) for column in columns)
        totals = [sum(column.weighted[index] for column in columns) for index in range(len(nodes))]
        return [
            {"Host": node.name, "Score": total * MAX_EXTENDER_PRIORITY // most if most else 0}
            for node, total in zip(nodes, totals, strict=True)
        ]

    def _read(self, args: Mapping[str, Any]) -> tuple[Object, Snapshot, list[NodeInfo], bool]:
        """(Pod, what it is seen against, the Nodes that are asked about, whether they came by name)."""
        pod = _pod(args)
        names, nodes = args.get("nodenames"), args.get("nodes")
        if names is None:
            items = as_struct(nodes, "v1.NodeList").get("items") or []
            objects = [as_named("Nodes.items", item) for item in items]
            snapshot = self._snapshot() if self._snapshot is not None else Snapshot.of(objects)
            names = [node["metadata"]["name"] for node in objects]
        else:
            snapshot = self._known()
        if not isinstance(names, list):
            raise WireError(f"NodeNames: {names!r}: expected a list of names")
        found = [snapshot.get(name) if isinstance(name, str) else None for name in names]
        for name, node in zip(names, found, strict=True):
            if node is None:
                raise WireError(f"node {name!r}: not known here")
        return pod, snapshot, [node for node in found if node is not None], args.get("nodenames") is not None

    def _known(self) -> Snapshot:
        if self._snapshot is None:
            raise WireError("NodeNames: this extender keeps no cache: expected Nodes (nodeCacheCapable: false)")
        return self._snapshot()

    # -- preempt, bind -----------------------------------------------------------------------------

    def _preempt(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Of the candidates those where the Pod would fit by this framework too, once the victims are gone."""
        pod, snapshot = _pod(args), self._known()
        agreed = {}
        for name, victims in self._candidates(args).items():
            node = snapshot.get(name)
            if node is not None and self._would_fit(pod, snapshot, node.clone(), victims["Pods"]):
                agreed[name] = victims
        return {"NodeNameToMetaVictims": agreed}

    def _candidates(self, args: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        full = as_struct(args.get("nodenametovictims"), "map[string]*v1.Victims")
        meta = as_struct(args.get("nodenametometavictims"), "map[string]*v1.MetaVictims")
        found = {}
        for name, given in (full or meta).items():
            victims = as_struct(given, "v1.Victims")
            pods = [as_struct(pod, "v1.Pod") for pod in victims.get("pods") or ()]
            uids = [pod.get("uid") or as_struct(pod.get("metadata"), "v1.ObjectMeta").get("uid") or "" for pod in pods]
            found[name] = {
                "Pods": [{"UID": uid} for uid in uids],
                "NumPDBViolations": victims.get("numpdbviolations") or 0,
            }
        return found

    def _would_fit(self, pod: Object, snapshot: Snapshot, node: NodeInfo, victims: Sequence[Mapping[str, str]]) -> bool:
        framework, state = self.framework, CycleState()
        framework.use_snapshot(snapshot)
        names, status, _ = framework.run_pre_filter(state, pod, snapshot.nodes)
        if status is not SUCCESS or (names is not None and node.name not in names):
            return False
        gone = {victim["UID"] for victim in victims}
        for info in [info for info in node.pods.values() if info.uid in gone]:
            node.remove_pod(info.key)
            if framework.run_remove_pod(state, pod, info, node) is not SUCCESS:
                return False
        return framework.run_filter(state, pod, node) is SUCCESS

    async def _bind(self, args: Mapping[str, Any]) -> dict[str, Any]:
        from k8slab.scheduler.plugins.default_binder import bind

        if self._client is None:
            return {"Error": "this extender does not bind"}
        metadata = {"name": args.get("podname"), "namespace": args.get("podnamespace"), "uid": args.get("poduid")}
        for name, value in (("PodName", metadata["name"]), ("Node", args.get("node"))):
            if not isinstance(value, str) or not value:
                raise WireError(f"{name}: {value!r}: expected a name")
        try:
            await bind(self._client, {"metadata": metadata}, args["node"])
        except (StatusError, TimeoutError) as error:
            return {"Error": str(error)}
        return {"Error": ""}


def _pod(args: Mapping[str, Any]) -> Object:
    pod = as_named("Pod", args.get("pod"))
    if not isinstance(pod.get("spec"), Mapping):
        raise WireError(f"Pod.spec: {pod.get('spec')!r}: expected an object")
    return pod


def as_named(where: str, obj: Any) -> Object:
    """An object with a name; WireError."""
    name = (obj.get("metadata") or {}).get("name") if isinstance(obj, Mapping) else None
    if not isinstance(name, str) or not name:
        raise WireError(f"{where}: {'null' if obj is None else 'no name'}: expected an object with metadata.name")
    found: Object = obj
    return found
