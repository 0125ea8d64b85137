"""A dump of a real cluster, reduced to what scheduling reads, with every value checked.

>>> from k8slab.cluster.snapshots import ClusterSnapshot
>>> node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
...         "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}}}
>>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big"},
...        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}}
>>> snapshot = ClusterSnapshot.of([node, pod])
>>> [pod["metadata"]["name"] for pod in snapshot.pending]
['big']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from k8slab.api.decoding import DecodeError, decode
from k8slab.api.objects import Object
from k8slab.api.persistent_volumes import named_claims
from k8slab.api.pods import is_pod_terminal
from k8slab.api.priority_classes import SYSTEM_PRIORITY_CLASSES
from k8slab.api.scheme import GVR, NODES, PERSISTENTVOLUMECLAIMS, PODDISRUPTIONBUDGETS, PODS, PRIORITYCLASSES
from k8slab.cluster.snapshots.fields import KINDS, kept
from k8slab.cluster.snapshots.stream import Item, SnapshotError, objects_of
from k8slab.cluster.sources import manifest_files
from k8slab.scheduler import ObjectLister, Snapshot
from k8slab.scheduler.manifest_check import refused_value
from k8slab.sim.kinds import cut

__all__ = ["BASELINE", "ClusterSnapshot"]

BASELINE = "1.36"


class ClusterSnapshot:
    """The objects of one cluster at one moment. Build it with `read` or `of`.

    `pods`: those that a scheduler sees (not those that ended); `counts`: objects seen by kind, dropped kinds too;
    `repeated`: how many objects came more than once (the last one counts); `server_version`: as `v1.36.2`, "" unknown.
    """

    def __init__(self) -> None:
        self.server_version = ""
        self.counts: dict[str, int] = {}
        self.repeated = 0
        self.ended = 0
        self._objects: dict[GVR, dict[tuple[str, str], Object]] = {}

    @classmethod
    def of(cls, objects: Iterable[Any], source: str = "objects", *, server_version: str = "") -> ClusterSnapshot:
        """From objects in memory. SnapshotError names the one that cannot be used."""
        snapshot = cls()
        snapshot.server_version = server_version
        snapshot._take(Item(f"{source}: items[{index}]", obj) for index, obj in enumerate(objects))
        return snapshot

    def beside(self, objects: Iterable[Any], source: str) -> ClusterSnapshot:
        """This snapshot with more objects, which are checked; it stays as it is. SnapshotError as `of`."""
        snapshot = ClusterSnapshot()
        snapshot.server_version, snapshot.repeated, snapshot.ended = self.server_version, self.repeated, self.ended
        snapshot.counts = dict(self.counts)
        snapshot._objects = {gvr: dict(found) for gvr, found in self._objects.items()}
        snapshot._take(Item(f"{source}: items[{index}]", obj) for index, obj in enumerate(objects))
        return snapshot

    @classmethod
    def read(cls, sources: Sequence[str | Path], stdin: BinaryIO | None = None) -> ClusterSnapshot:
        """From files and folders, `-` for `stdin`. SnapshotError; OSError for a file that cannot be read."""
        snapshot = cls()
        for source in sources:
            if str(source) == "-":
                if stdin is None:
                    raise SnapshotError("-: expected a file or a folder, there is no standard input")
                snapshot._take(objects_of(stdin, "standard input"))
                continue
            files = manifest_files(Path(source))
            if not files:
                raise SnapshotError(f"{source}: expected a folder with .json, .yaml or .yml files")
            for file in files:
                with ExitStack() as stack:
                    snapshot._take(objects_of(stack.enter_context(file.open("rb")), str(file)))
        return snapshot

    # -- what is in it -----------------------------------------------------------------------------

    @property
    def nodes(self) -> list[Object]:
        return self.objects(NODES)

    @property
    def pods(self) -> list[Object]:
        return self.objects(PODS)

    @property
    def pending(self) -> list[Object]:
        """Pods without a Node."""
        return [pod for pod in self.pods if not pod["spec"].get("nodeName")]

    @property
    def pdbs(self) -> list[Object]:
        return self.objects(PODDISRUPTIONBUDGETS)

    def objects(self, resource: GVR) -> list[Object]:
        """All of one resource, in the order they were read."""
        return list(self._objects.get(resource, {}).values())

    def pod(self, key: str) -> Object | None:
        """A Pod by `namespace/name`."""
        namespace, _, name = key.rpartition("/")
        return self._objects.get(PODS, {}).get((namespace or "default", name))

    def __iter__(self) -> Iterator[Object]:
        """Every object that is kept."""
        for found in self._objects.values():
            yield from found.values()

    def lister(self) -> ObjectLister:
        """What plugins may look up."""
        return ObjectLister({gvr: list(found.values()) for gvr, found in self._objects.items()})

    def for_scheduling(self) -> Snapshot:
        """The Nodes with their Pods, in the scheduler's order."""
        return Snapshot.of(self.nodes, self.pods, check=False)

    def with_priority(self, pod: Object, where: str = "") -> Object:
        """The Pod as admission leaves it: with the priority and the policy of its class. SnapshotError: no such class.

        A Pod from a cluster has its priority already.
        """
        spec, classes = pod["spec"], self.objects(PRIORITYCLASSES)
        if spec.get("priority") is not None:
            return pod
        name = spec.get("priorityClassName") or ""
        default = next((c for c in classes if c.get("globalDefault")), None)
        found = next((c for c in classes if c["metadata"]["name"] == name), None if name else default)
        if found is None and name in SYSTEM_PRIORITY_CLASSES:
            return {**pod, "spec": {**spec, "priority": SYSTEM_PRIORITY_CLASSES[name]}}
        if found is None and name:
            known = ", ".join(c["metadata"]["name"] for c in classes) or "none is in the snapshot"
            what = f"{where or 'pod ' + pod['metadata']['name']}: spec.priorityClassName: {name!r}"
            raise SnapshotError(f"{what}: no PriorityClass with name {name} was found (known: {known})")
        policy = {"preemptionPolicy": found["preemptionPolicy"]} if found and found.get("preemptionPolicy") else {}
        return {**pod, "spec": {**policy, **spec, "priority": (found or {}).get("value", 0)}}

    # -- notes -------------------------------------------------------------------------------------

    def notes(self) -> list[str]:
        """What the reader must know before trusting an answer: another release, and what the dump has none of."""
        found = []
        if version_note := self._version_note():
            found.append(version_note)
        if self.repeated:
            found.append(f"{self.repeated} objects are there more than once: the one read last counts")
        for kind, meaning in _IF_MISSING.items():
            if not self.counts.get(kind):
                found.append(f"no {kind} in the snapshot: {meaning}")
        if any(named_claims(pod) for pod in self.pending) and not self.objects(PERSISTENTVOLUMECLAIMS):
            found.append(
                "no PersistentVolumeClaim in the snapshot, and pending Pods use some: their volumes are unknown"
            )
        return found

    def _version_note(self) -> str:
        version, whose = self.server_version, "the server is"
        if not version:
            kubelets = [((n.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion") for n in self.nodes]
            odd = [v for v in kubelets if v and not v.startswith(f"v{BASELINE}.")]
            version, whose = (odd[0], "a kubelet is") if odd else ("", "")
        if not version or version.startswith(f"v{BASELINE}."):
            return ""
        return f"{whose} {version}: this is the scheduler of {BASELINE}, other releases may decide or word it otherwise"

    # -- reading -----------------------------------------------------------------------------------

    def _take(self, items: Iterable[Item]) -> None:
        for item in items:
            if not isinstance(item.value, dict):
                raise SnapshotError(f"{item.where}: {_type(item.value)}: expected an object with kind and metadata")
            if "serverVersion" in item.value:  # kubectl version -o json
                version = item.value["serverVersion"] or {}
                if not isinstance(version, dict):
                    raise SnapshotError(f"{item.where}: serverVersion: {_type(version)}: expected an object")
                self.server_version = str(version.get("gitVersion") or "")
                continue
            self._add(item)

    def _add(self, item: Item) -> None:
        kind = item.value.get("kind")
        if not isinstance(kind, str) or not isinstance(item.value.get("apiVersion"), str):
            what = "kind" if not isinstance(kind, str) else "apiVersion"
            found = _type(item.value.get(what))
            raise SnapshotError(f"{item.where}: {what}: {found}: expected a text, such as Pod or v1")
        self.counts[kind] = self.counts.get(kind, 0) + 1
        cut_down = kept(item.value)
        if cut_down is None:
            return
        obj = _checked(cut_down, item.where)
        gvr = KINDS[obj["apiVersion"].rpartition("/")[0], kind].gvr
        if gvr == PODS:
            obj = {**obj, "spec": obj.get("spec") or {}}
            if is_pod_terminal(obj):
                self.ended += 1
                return
        metadata = obj["metadata"]
        key = (metadata.get("namespace") or ("default" if gvr == PODS else ""), metadata["name"])
        table = self._objects.setdefault(gvr, {})
        self.repeated += key in table
        table[key] = obj


_IF_MISSING = {
    "Node": "there is no place for a Pod; ask kubectl for nodes",
    "Pod": "the nodes count as empty; ask kubectl for pods -A",
    "Namespace": "affinity terms with a namespaceSelector find no Pods of other namespaces",
    "PriorityClass": "only Pods that say their priority have one",
    "PodDisruptionBudget": "preemption takes every Pod for unprotected; ask kubectl for poddisruptionbudgets",
    "PersistentVolume": "where volumes may be used is unknown; ask kubectl for pv, pvc, storageclasses",
    "Service": "with no ReplicaSet or StatefulSet either, the default spread constraints have nothing to spread",
}


_TYPES: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}


def _type(value: Any) -> str:
    """What it is, not what it says: a dump may hold anything."""
    return _TYPES.get(type(value)) or cut(repr(value), 60)


def _checked(obj: dict[str, Any], where: str) -> Object:
    """With every type as the API server has it, and no value it would have refused."""
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    what = f"{where}: {obj['kind']} {name}" if isinstance(name, str) and name else f"{where}: {obj['kind']}"
    try:
        checked: Object = decode(obj).object
    except DecodeError as error:
        is_said = error.expected not in ("an object", "a list") or not isinstance(error.value, str)
        value = cut(repr(error.value), 60) if is_said else _type(error.value)
        raise SnapshotError(f"{what}: {error.path}: {value}: expected {error.expected or error.message}") from None
    if not isinstance(name, str) or not name:
        raise SnapshotError(f"{what}: metadata.name: {name!r}: expected a name")
    if checked["kind"] in ("Pod", "Node") and (text := refused_value(checked)):
        raise SnapshotError(f"{what}: {text}")
    return checked
