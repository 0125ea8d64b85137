"""Trying out, beside the cluster, what only shows when objects meet: one that is given twice, Services that share an
address or a port.

A dry run asks about each object as the cluster is now. It cannot know what the manifest before will have changed. So
these objects are applied in their order to an API server of their own, which holds what the cluster holds of them. No
time passes, and nothing of it shows in the trace.

Upstream: none; kubectl sends one object after the other and leaves what succeeded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from k8slab.api.errors import StatusError
from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.scheme import GVR, SERVICES
from k8slab.apiserver import ADMISSION_PLUGINS, APIServer
from k8slab.client import Client
from k8slab.cluster.apply import Target, apply_one
from k8slab.cluster.mirror import Mirror
from k8slab.etcd import Store
from k8slab.sim import Clock, Loop, Trace

__all__ = ["rehearse"]


def rehearse(targets: Sequence[Target], mirror: Mirror, features: FeatureGates) -> list[tuple[Target, StatusError]]:
    """Which of `targets` would be refused once those before them are applied, with the error. `mirror`: the cluster."""
    count = Counter(target.key for target in targets)
    services = sum(target.info.gvr == SERVICES for target in targets)
    together = [t for t in targets if count[t.key] > 1 or (t.info.gvr == SERVICES and services > 1)]
    if not together:
        return []
    loop = Loop(trace=Trace(Clock(), on=False))
    # Without admission nothing has to be there before: no namespaces, accounts or priority classes.
    server = APIServer(loop, Store(), features=features, disabled=tuple(ADMISSION_PLUGINS), bootstrap=False)
    client = Client(server.transport("rehearsal"))
    for target in together:
        if server.is_custom(target.info.gvr):
            server.register_unstructured(target.info.gvk, namespaced=target.info.namespaced)
    refused: list[tuple[Target, StatusError]] = []

    async def play() -> None:
        for key, (gvr, held) in _held(together, mirror).items():
            metadata = {k: v for k, v in held["metadata"].items() if k != "resourceVersion"}
            try:
                await client.create(gvr, {**held, "metadata": metadata}, metadata.get("namespace"))
            except StatusError:
                untried[key] = None  # it has what a new one may not have: nothing can be said about its next state
        for target in together:
            if target.key not in untried:
                try:
                    await apply_one(client, target)
                except StatusError as error:
                    refused.append((target, error))

    untried: dict[tuple[str, str, str], None] = {}
    loop.spawn("rehearsal", play())
    loop.run(for_ms=60_000)
    loop.close()
    return refused


def _held(targets: Sequence[Target], mirror: Mirror) -> dict[tuple[str, str, str], tuple[GVR, Object]]:
    """What the cluster has of these objects, and all its Services if one of them is one."""
    found: dict[tuple[str, str, str], tuple[GVR, Object]] = {}
    listed: dict[str, dict[tuple[str, str, str], Object]] = {}
    for target in targets:
        gvr = target.info.gvr
        resource = gvr.group_resource
        if resource not in listed:
            listed[resource] = {_key(resource, obj): obj for obj in mirror.list(resource)}
            if gvr == SERVICES:
                found.update((key, (gvr, obj)) for key, obj in listed[resource].items())
        if target.key in listed[resource]:
            found.setdefault(target.key, (gvr, listed[resource][target.key]))
    return found


def _key(resource: str, obj: Object) -> tuple[str, str, str]:
    return resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
