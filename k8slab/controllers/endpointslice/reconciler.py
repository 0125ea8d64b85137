"""From the Pods of a Service to the fewest writes of EndpointSlices.

Endpoints stay in the slice they are in. New ones fill slices that change anyway, the fullest first; what is left goes
into one unchanged slice that has room for all of it, or into new slices. Slices that are to be deleted are rewritten
instead where new ones are needed. A Service without endpoints keeps one empty slice.

Upstream: endpointslice/reconciler.go, endpointslice/utils.go (staging/src/k8s.io/endpointslice)
Simplified: topology hints by the annotation service.kubernetes.io/topology-mode are not computed (as if that cache
were off), spec.trafficDistribution is; where upstream takes endpoints and slices in map order, ours come in the order
of Pods and slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from k8slab.api.names import is_dns1123_subdomain
from k8slab.api.objects import Object, key_of
from k8slab.api.scheme import GVK
from k8slab.controllers.controller_ref import new_controller_ref
from k8slab.controllers.endpointslice.endpoints import (
    EndpointKey,
    PortKey,
    address_types,
    endpoint_key,
    endpoint_of,
    endpoint_ports,
    is_equal_beyond_key,
    port_key,
    should_be_in_endpoints,
)
from k8slab.controllers.endpointslice.traffic_distribution import set_hints

__all__ = [
    "HEADLESS",
    "MANAGED_BY",
    "MANAGER",
    "SERVICE_NAME",
    "Changes",
    "new_slice",
    "reconcile",
    "slice_labels",
]

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
HEADLESS = "service.kubernetes.io/headless"
MANAGER = "endpointslice-controller.k8s.io"

_RESERVED = (SERVICE_NAME, MANAGED_BY, HEADLESS)
_SERVICE = GVK("", "v1", "Service")

Slice = dict[str, Any]
Endpoints = dict[EndpointKey, dict[str, Any]]


class Changes(NamedTuple):
    """What to write, in this order: creations (without names), updates, deletions. `errors`: Pods that were left out,
    reported after the writes so that the Service is synced again."""

    create: list[Slice]
    update: list[Slice]
    delete: list[Object]
    errors: list[str]


def endpoints_in(slice: Object) -> Sequence[Object]:
    return slice.get("endpoints") or ()


def slice_labels(service: Object, labels: Object) -> tuple[dict[str, str], bool]:
    """The labels a slice should have: the Service's and the reserved ones; whether the Service's are new to it."""

    def own(given: Object) -> dict[str, str]:
        return {key: value for key, value in given.items() if key not in _RESERVED}

    wanted = own(service["metadata"].get("labels") or {})
    changed = own(labels) != wanted
    if service["spec"].get("clusterIP") in (None, "", "None"):
        wanted[HEADLESS] = ""
    return wanted | {SERVICE_NAME: service["metadata"]["name"], MANAGED_BY: MANAGER}, changed


def new_slice(service: Object, address_type: str, ports: Sequence[Object]) -> Slice:
    """A slice to create, without endpoints."""
    name = service["metadata"]["name"]
    metadata: dict[str, Any] = {
        "generateName": f"{name}-" if not is_dns1123_subdomain(f"{name}-a") else name,
        "namespace": service["metadata"].get("namespace") or "",
        "labels": slice_labels(service, {})[0],
        "ownerReferences": [new_controller_ref(service, _SERVICE)],
    }
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": address_type,
        "endpoints": [],
        "ports": list(ports),
    }


def _is_owned_by(slice: Object, service: Object) -> bool:
    return any(
        (owner.get("uid"), owner.get("kind"), owner.get("apiVersion")) == (service["metadata"]["uid"], "Service", "v1")
        for owner in slice["metadata"].get("ownerReferences") or ()
    )


def reconcile(
    service: Object,
    pods: Iterable[Object],
    existing: Sequence[Object],
    node: Callable[[str], Object | None],
    max_endpoints: int,
) -> Changes:
    """The writes that bring `existing` (the Service's slices) in line with its Pods. `node(name)` reads the cache."""
    result = Changes([], [], [], [])
    types, pods = address_types(service), list(pods)
    for address_type in types:
        slices = [slice for slice in existing if slice["addressType"] == address_type]
        changes = _reconcile_type(service, pods, slices, node, max_endpoints, address_type)
        result.create.extend(changes.create)
        result.update.extend(changes.update)
        result.delete.extend(changes.delete)
        result.errors.extend(changes.errors)
    result.delete.extend(slice for slice in existing if slice["addressType"] not in types)
    return result


def _reconcile_type(
    service: Object,
    pods: Sequence[Object],
    existing: Sequence[Object],
    node: Callable[[str], Object | None],
    max_endpoints: int,
    address_type: str,
) -> Changes:
    owned: dict[PortKey, list[Object]] = {}
    changes = Changes([], [], [], [])
    for slice in existing:
        if _is_owned_by(slice, service):
            owned.setdefault(port_key(slice.get("ports")), []).append(slice)
        else:
            changes.delete.append(slice)
    desired, ports = _desired(service, pods, node, address_type, changes.errors)
    for key, endpoints in desired.items():
        packed = _pack(
            service, owned.get(key, ()), endpoints, new_slice(service, address_type, ports[key]), max_endpoints
        )
        changes.create.extend(packed.create)
        changes.update.extend(packed.update)
        changes.delete.extend(packed.delete)
    for key, slices in owned.items():
        if key not in desired:
            changes.delete.extend(slices)
    _keep_one(service, existing, changes, address_type)
    created, updated = set_hints(service, changes.create, changes.update, _unchanged(existing, changes))
    return _reuse(service, Changes(created, updated, changes.delete, changes.errors))


def _desired(
    service: Object,
    pods: Sequence[Object],
    node: Callable[[str], Object | None],
    address_type: str,
    errors: list[str],
) -> tuple[dict[PortKey, Endpoints], dict[PortKey, list[dict[str, Any]]]]:
    """The endpoints wanted, grouped by their ports. A Pod on a node that does not exist is left out with an error,
    unless the Service publishes whatever there is."""
    desired: dict[PortKey, Endpoints] = {}
    ports_of: dict[PortKey, list[dict[str, Any]]] = {}
    for pod in pods:
        if not should_be_in_endpoints(pod):
            continue
        ports = endpoint_ports(service, pod)
        key = port_key(ports)
        endpoints = desired.setdefault(key, {})
        ports_of.setdefault(key, ports)
        name = pod["spec"].get("nodeName") or ""
        where = node(name) if name else None
        if where is None and not service["spec"].get("publishNotReadyAddresses"):
            skipped = f"skipping Pod {pod['metadata']['name']} for Service {key_of(service)}"
            errors.append(f"{skipped}: Node {name} Not Found")
            continue
        endpoint = endpoint_of(pod, where, service, address_type)
        if endpoint is not None:
            endpoints[endpoint_key(endpoint)] = endpoint
    return desired, ports_of


def _pack(
    service: Object, existing: Sequence[Object], desired: Endpoints, template: Slice, max_endpoints: int
) -> Changes:
    """Distribute the endpoints of one set of ports. `template`: an empty slice to make new ones from."""
    left = dict(desired)
    unchanged: list[Object] = []
    update: list[Slice] = []
    delete: list[Object] = []
    for slice in existing:
        kept, differs = _keep(slice, left)
        labels, labels_differ = slice_labels(service, slice["metadata"].get("labels") or {})
        changed = {**slice, "metadata": {**slice["metadata"], "labels": labels}, "endpoints": kept}
        if differs and not kept:
            delete.append(slice)
        elif differs or labels_differ:
            update.append(changed)
        else:
            unchanged.append(slice)
    for slice in sorted(update, key=lambda slice: -len(slice["endpoints"])):
        _fill(slice, left, max_endpoints)
    create: list[Slice] = []
    while left:
        room = _slice_with_room(unchanged, len(left), max_endpoints) if len(left) < max_endpoints else None
        if room is None:
            filled = {**template, "endpoints": []}
            create.append(filled)
        else:
            filled = {**room, "endpoints": list(endpoints_in(room))}
            unchanged = [slice for slice in unchanged if slice is not room]
            update.append(filled)
        _fill(filled, left, max_endpoints)
    return Changes(create, update, delete, [])


def _keep(slice: Object, left: Endpoints) -> tuple[list[dict[str, Any]], bool]:
    """The endpoints of `slice` that are still wanted, taken out of `left`, and whether anything differs."""
    kept: list[dict[str, Any]] = []
    differs = False
    for endpoint in endpoints_in(slice):
        wanted = left.pop(endpoint_key(endpoint), None)
        if wanted is not None:
            kept.append(wanted)
            differs = differs or not is_equal_beyond_key(wanted, endpoint)
    return kept, differs or len(kept) != len(endpoints_in(slice))


def _fill(slice: Slice, left: Endpoints, max_endpoints: int) -> None:
    while left and len(slice["endpoints"]) < max_endpoints:
        slice["endpoints"].append(left.pop(next(iter(left))))


def _slice_with_room(slices: Iterable[Object], count: int, max_endpoints: int) -> Object | None:
    """The slice that `count` more endpoints would fill the most without overflowing it."""
    rooms = [(max_endpoints - count - len(endpoints_in(slice)), slice) for slice in slices]
    fitting = [(room, slice) for room, slice in rooms if room >= 0]
    return min(fitting, key=lambda pair: pair[0])[1] if fitting else None


def _keep_one(service: Object, existing: Sequence[Object], changes: Changes, address_type: str) -> None:
    """When no slice would be left, leave an empty one: consumers can tell "no endpoints" from "not computed"."""
    if len(existing) != len(changes.delete) or changes.create:
        return
    placeholder = new_slice(service, address_type, [])
    if len(changes.delete) == 1 and _is_placeholder(changes.delete[0], placeholder):
        changes.delete.clear()
    else:
        changes.create.append(placeholder)


def _is_placeholder(slice: Object, placeholder: Slice) -> bool:
    one, other = slice["metadata"], placeholder["metadata"]
    return (
        not slice.get("endpoints")
        and not slice.get("ports")
        and all(one.get(field) == other[field] for field in ("namespace", "labels", "ownerReferences"))
    )


def _unchanged(existing: Sequence[Object], changes: Changes) -> list[Object]:
    touched = {slice["metadata"]["name"] for slice in (*changes.update, *changes.delete)}
    return [slice for slice in existing if slice["metadata"]["name"] not in touched]


def _reuse(service: Object, changes: Changes) -> Changes:
    """Write new content into slices that would be deleted, instead of creating others."""
    create, update, delete = list(changes.create), list(changes.update), []
    for slice in changes.delete:
        if create and create[-1]["addressType"] == slice["addressType"] and _is_owned_by(slice, service):
            reused = create.pop()
            metadata = {**reused["metadata"], "name": slice["metadata"]["name"]}
            update.append({**reused, "metadata": metadata})
        else:
            delete.append(slice)
    return Changes(create, update, delete, changes.errors)
