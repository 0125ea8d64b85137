"""Strategies of the smaller core resources: ConfigMaps, Events, Secrets, ServiceAccounts, Nodes, volumes.

Upstream: pkg/registry/core/{event,node,secret,persistentvolume,persistentvolumeclaim}/strategy.go
Simplified: no TTL of Events.
"""

from __future__ import annotations

from collections.abc import Mapping

from k8slab.api.objects import Frozen, Object
from k8slab.apiserver.registry.context import Context, Draft
from k8slab.apiserver.registry.strategy import UNSUPPORTED, Strategy

__all__ = ["EndpointSliceStrategy", "EventStrategy", "NodeStrategy", "SecretStrategy", "VolumeStrategy"]


class NodeStrategy(Strategy):
    """A node may bring its status along when it registers."""

    has_status = True

    def prepare_for_create(self, ctx: Context, obj: Draft) -> None:
        """All fields may be set, the status too."""
        _match_pod_cidrs(obj)

    def prepare_for_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        super().prepare_for_update(ctx, obj, old)
        _match_pod_cidrs(obj)

    def attributes(self, obj: Object) -> Mapping[str, str]:
        unschedulable = (obj.get("spec") or {}).get("unschedulable")
        return {"metadata.name": obj["metadata"]["name"], "spec.unschedulable": "true" if unschedulable else "false"}


def _match_pod_cidrs(obj: Draft) -> None:
    """`podCIDRs` begins with `podCIDR`: two versions of one field."""
    spec = obj.get("spec") or {}
    first, several = spec.get("podCIDR"), spec.get("podCIDRs") or ()
    if first and (not several or several[0] != first):
        obj["spec"] = {**spec, "podCIDRs": [first]}


class EventStrategy(Strategy):
    gc_policy = UNSUPPORTED
    allow_create_on_update = True

    def attributes(self, obj: Object) -> Mapping[str, str]:
        involved = obj.get("involvedObject") or obj.get("regarding") or {}
        source = obj.get("source") or obj.get("deprecatedSource") or {}
        fields = {f"involvedObject.{name}": involved.get(name, "") for name in _INVOLVED}
        component = obj.get("reportingComponent") or obj.get("reportingController") or ""
        return {
            **super().attributes(obj),
            **fields,
            "reason": obj.get("reason", ""),
            "reportingComponent": component,
            "source": source.get("component", "") or component,
            "type": obj.get("type", ""),
        }


_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


class SecretStrategy(Strategy):
    def attributes(self, obj: Object) -> Mapping[str, str]:
        return {**super().attributes(obj), "type": obj.get("type", "")}


class VolumeStrategy(Strategy):
    """PersistentVolumes and their claims begin Pending."""

    has_status = True
    returns_deleted = True

    def prepare_for_create(self, ctx: Context, obj: Draft) -> None:
        super().prepare_for_create(ctx, obj)
        obj["status"] = {"phase": "Pending"}

    def attributes(self, obj: Object) -> Mapping[str, str]:
        return {**super().attributes(obj), "name": obj["metadata"]["name"]}


class EndpointSliceStrategy(Strategy):
    """There is no spec: everything but most of the metadata counts."""

    has_generation = True

    def generation_changes(self, obj: Object, old: Object) -> bool:
        if (obj["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
            return True
        return {k: v for k, v in obj.items() if k != "metadata"} != {k: v for k, v in old.items() if k != "metadata"}
