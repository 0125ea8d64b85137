"""Services: cluster IPs and node ports are handed out here.

Upstream: pkg/registry/core/service/storage/{storage,alloc}.go, pkg/registry/core/service/strategy.go
Simplified: IPv4 single stack in 10.96.0.0/16; an address is free when no Service in etcd and no request under way has
    it, there are no IPAddress objects; the allocator avoids the lower band only for dynamic addresses.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Any

from k8slab.api.errors import Cause, InternalError, InvalidError
from k8slab.api.objects import Frozen, Object
from k8slab.apiserver.registry.context import Context, Draft
from k8slab.apiserver.registry.store import Store, UpdatedObject, Validate
from k8slab.apiserver.registry.strategy import Strategy
from k8slab.apiserver.storage import Storage

__all__ = ["ServiceStore", "ServiceStrategy", "without_fields_of_other_types"]

NETWORK = IPv4Network("10.96.0.0/16")
STATIC_BAND = 256
NODE_PORTS = range(30_000, 32_768)
_WITH_NODE_PORT = ("NodePort", "LoadBalancer")


class ServiceStrategy(Strategy):
    has_status = True
    allow_create_on_update = True
    returns_deleted = True

    def prepare_for_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        super().prepare_for_update(ctx, obj, old)
        spec, before = obj["spec"], old["spec"]
        if spec.get("type") == before.get("type") or "ExternalName" not in (spec.get("type"), before.get("type")):
            patched = _patch_allocated(spec, before)
            if patched is not spec:
                obj["spec"] = patched
        fitting = without_fields_of_other_types(obj["spec"], before)
        if fitting is not obj["spec"]:
            obj["spec"] = fitting

    def attributes(self, obj: Object) -> Mapping[str, str]:
        spec = obj.get("spec") or {}
        return {
            **super().attributes(obj),
            "spec.clusterIP": spec.get("clusterIP", ""),
            "spec.type": spec.get("type", ""),
        }


def _patch_allocated(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any]:
    """A PUT may leave out what was allocated: it stays."""
    kept = {
        name: before[name]
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
        if name in before and not spec.get(name)
    }
    return {**spec, **kept} if kept else spec


def without_fields_of_other_types(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any]:
    """dropTypeDependentFields: what the old type had and the new one cannot have goes, unless it was changed too."""
    gone = {
        name
        for applies, names in _TYPE_FIELDS
        if applies(before) and not applies(spec)
        for name in names
        if spec.get(name) == before.get(name)
    }
    kept = {name: value for name, value in spec.items() if name not in gone} if gone else spec
    if _has_node_ports(before) and not _has_node_ports(spec) and _ports(spec) == _ports(before):
        kept = {**kept, "ports": [{k: v for k, v in port.items() if k != "nodePort"} for port in spec["ports"]]}
    return kept


def _ports(spec: Mapping[str, Any]) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _has_cluster_ip(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") != "ExternalName"


def _is_load_balancer(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") == "LoadBalancer"


def _has_node_ports(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") == "NodePort" or (
        _is_load_balancer(spec) and spec.get("allocateLoadBalancerNodePorts") is not False
    )


def _is_reached_from_outside(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") in _WITH_NODE_PORT or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def _has_health_check(spec: Mapping[str, Any]) -> bool:
    return _is_load_balancer(spec) and spec.get("externalTrafficPolicy") == "Local"


_TYPE_FIELDS: tuple[tuple[Callable[[Mapping[str, Any]], bool], tuple[str, ...]], ...] = (
    (_has_cluster_ip, ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")),
    (_has_health_check, ("healthCheckNodePort",)),
    (_is_load_balancer, ("allocateLoadBalancerNodePorts", "loadBalancerClass")),
    (_is_reached_from_outside, ("externalTrafficPolicy",)),
)


class ServiceStore(Store):
    """Allocates before it creates."""

    async def create(self, ctx: Context, obj: Draft, validate: Validate) -> Frozen:
        obj["spec"] = await _allocate(ctx, self.storage, self.stored_as, obj)
        return await super().create(ctx, obj, validate)

    async def update(
        self,
        ctx: Context,
        updated: UpdatedObject,
        validate: Validate,
        *,
        strategy: Strategy | None = None,
        uid: str | None = None,
    ) -> tuple[Frozen, bool]:
        async def allocated(existing: Frozen | None) -> Object:
            obj = await updated(existing)
            if strategy is not None or not _lacks(obj.get("spec") or {}, existing):
                return obj
            before = {} if existing is None else existing["spec"]
            kept = {**obj, "spec": _patch_allocated(obj.get("spec") or {}, before)}
            return {**kept, "spec": await _allocate(ctx, self.storage, self.stored_as, kept)}

        return await super().update(ctx, allocated, validate, strategy=strategy, uid=uid)


def _lacks(spec: Mapping[str, Any], existing: Frozen | None) -> bool:
    if existing is None or spec.get("type") != existing["spec"].get("type"):
        return True
    wants_port = spec.get("type") in _WITH_NODE_PORT
    return wants_port and any(not port.get("nodePort") for port in spec.get("ports") or ())


async def _allocate(ctx: Context, storage: Storage, resource: str, obj: Object) -> dict[str, Any]:
    """The spec with addresses and ports filled in. Raises InvalidError when one is taken or out of range."""
    spec = dict(obj.get("spec") or {})
    kind = spec.get("type", "ClusterIP")
    if kind == "ExternalName":
        return spec
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    others = [
        service
        for service in (await storage.list(storage.layout.resource_prefix(resource))).items
        if service["metadata"]["name"] != obj["metadata"].get("name")
        or service["metadata"]["namespace"] != ctx.namespace
    ]
    if spec.get("clusterIP") != "None":
        spec["clusterIP"] = _address(ctx, spec.get("clusterIP") or "", others, obj)
    spec["clusterIPs"] = [spec["clusterIP"]]
    if kind in _WITH_NODE_PORT:
        spec["ports"] = _node_ports(ctx.env.addresses, spec.get("ports") or [], others)
    return spec


def _address(ctx: Context, wanted: str, others: Iterable[Object], obj: Object) -> str:
    used = {address for other in others for address in other["spec"].get("clusterIPs") or ()}
    if wanted:
        problem = _problem(wanted, used)
        if problem:
            text = f'Invalid value: ["{wanted}"]: failed to allocate IP {wanted}: {problem}'
            cause = Cause("FieldValueInvalid", text, "spec.clusterIPs")
            raise InvalidError.of("Service", obj["metadata"].get("name", ""), [cause])
        return wanted
    for _ in range(4096):
        offset = ctx.env.addresses.randrange(STATIC_BAND + 1, NETWORK.num_addresses - 1)
        candidate = str(NETWORK[offset])
        if candidate not in used:
            return candidate
    raise InternalError("Internal error occurred: failed to allocate a serviceIP: range is full")


def _problem(wanted: str, used: set[str]) -> str:
    try:
        inside = IPv4Address(wanted) in NETWORK
    except AddressValueError:
        return ""  # validation says what is wrong with it
    if not inside:
        return f"the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {NETWORK}"
    return "provided IP is already allocated" if wanted in used else ""


def _node_ports(rng: random.Random, ports: list[Any], others: Iterable[Object]) -> list[dict[str, Any]]:
    used = {port["nodePort"] for other in others for port in other["spec"].get("ports") or () if port.get("nodePort")}
    used |= {port["nodePort"] for port in ports if port.get("nodePort")}
    result = []
    for port in ports:
        number = port.get("nodePort")
        while not number:
            candidate = rng.choice(NODE_PORTS)
            number = None if candidate in used else candidate
        used.add(number)
        result.append({**port, "nodePort": number})
    return result
