"""Services: what an update keeps of what was allocated, and what a change of the type takes away.

Upstream: pkg/registry/core/service/storage/storage.go, pkg/registry/core/service/strategy.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from k8slab.api.objects import Frozen, Object
from k8slab.api.scheme import GVK, ResourceInfo
from k8slab.apiserver.registry.allocation import WITH_NODE_PORT, Held, allocate, has_health_check, has_node_ports
from k8slab.apiserver.registry.context import Context, Draft
from k8slab.apiserver.registry.store import Store
from k8slab.apiserver.registry.strategy import Strategy
from k8slab.apiserver.storage import Storage

__all__ = ["ServiceStore", "ServiceStrategy", "without_fields_of_other_types"]


class ServiceStrategy(Strategy):
    has_status = True
    allow_create_on_update = True
    returns_deleted = True

    def prepare_for_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        super().prepare_for_update(ctx, obj, old)
        spec = without_fields_of_other_types(obj["spec"], old["spec"])
        if spec is not obj["spec"]:
            obj["spec"] = spec
        status = obj.get("status") or {}
        if spec.get("type") != "LoadBalancer" and status.get("loadBalancer"):
            obj["status"] = {**status, "loadBalancer": {}}

    def attributes(self, obj: Object) -> Mapping[str, str]:
        spec = obj.get("spec") or {}
        return {
            **super().attributes(obj),
            "spec.clusterIP": spec.get("clusterIP", ""),
            "spec.type": spec.get("type", ""),
        }


def _patch_allocated(spec: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """patchAllocatedValues: an update may leave out what was allocated, it stays."""
    patched = dict(spec)
    if _has_cluster_ip(before) and _has_cluster_ip(spec):
        patched.update({k: before[k] for k in ("clusterIP", "clusterIPs") if before.get(k) and not spec.get(k)})
    if has_node_ports(before) and has_node_ports(spec):
        kept = _ports(before) & _ports(spec)
        by_name = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
        patched["ports"] = [_with_old_port(port, by_name, kept) for port in spec.get("ports") or ()]
    if has_health_check(before) and has_health_check(spec) and not spec.get("healthCheckNodePort"):
        patched["healthCheckNodePort"] = before.get("healthCheckNodePort", 0)
    return patched


def _with_old_port(port: Mapping[str, Any], by_name: Mapping[str, int], kept: set[int]) -> Mapping[str, Any]:
    number = by_name.get(port.get("name", ""), 0)
    return {**port, "nodePort": number} if number and not port.get("nodePort") and number not in kept else port


def _agree_on_addresses(spec: dict[str, Any], before: Mapping[str, Any] | None) -> None:
    """normalizeClusterIPs: who changes only `clusterIP` means the first of `clusterIPs` too."""
    address, addresses = spec.get("clusterIP", ""), list(spec.get("clusterIPs") or ())
    if before is None:
        if address and not addresses:
            spec["clusterIPs"] = [address]
        return
    was, were = before.get("clusterIP", ""), list(before.get("clusterIPs") or ())
    if were and not addresses and address == was:
        addresses = spec["clusterIPs"] = were
    if address != was and addresses == were:
        if address:
            spec["clusterIPs"] = [address]
        else:
            spec.pop("clusterIPs", None)


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
    if has_node_ports(before) and not has_node_ports(spec) and _ports(spec) == _ports(before):
        kept = {**kept, "ports": [{k: v for k, v in port.items() if k != "nodePort"} for port in spec["ports"]]}
    return kept


def _ports(spec: Mapping[str, Any]) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _has_cluster_ip(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") != "ExternalName"


def _is_load_balancer(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") == "LoadBalancer"


def _is_reached_from_outside(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") in WITH_NODE_PORT or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


_TYPE_FIELDS: tuple[tuple[Callable[[Mapping[str, Any]], bool], tuple[str, ...]], ...] = (
    (_has_cluster_ip, ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")),
    (has_health_check, ("healthCheckNodePort",)),
    (_is_load_balancer, ("allocateLoadBalancerNodePorts", "loadBalancerClass")),
    (_is_reached_from_outside, ("externalTrafficPolicy",)),
)


class ServiceStore(Store):
    """Allocates before it writes."""

    def __init__(self, info: ResourceInfo, strategy: Strategy, storage: Storage, storage_gvk: GVK) -> None:
        super().__init__(info, strategy, storage, storage_gvk)
        self.held = Held()

    async def begin_create(self, ctx: Context, obj: Draft) -> None:
        spec = dict(obj.get("spec") or {})
        _agree_on_addresses(spec, None)
        obj["spec"] = await allocate(ctx, self.held, self.storage, self.stored_as, {**obj, "spec": spec}, None)

    async def begin_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        spec, before = obj.get("spec") or {}, old["spec"]
        if spec is before or spec == before:
            return
        patched = _patch_allocated(spec, before)
        _agree_on_addresses(patched, before)
        obj["spec"] = await allocate(ctx, self.held, self.storage, self.stored_as, {**obj, "spec": patched}, old)
