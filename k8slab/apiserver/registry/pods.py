"""Pods: status reset, QoS class, grace periods, gates.

Upstream: pkg/registry/core/pod/strategy.go
Simplified: no AppArmor and seccomp version skew, no dropping of fields of disabled gates but
schedulingGroup, no warnings for Pods; the subresource resize is not served (404), since no kubelet here carries a
resize out. LimitRanger, ResourceQuota and PodSecurity judge an UPDATE of it all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from k8slab.api.objects import Frozen, Object
from k8slab.api.qos import qos_class
from k8slab.apiserver.registry.context import Context, Draft
from k8slab.apiserver.registry.delete_options import DeleteOptions
from k8slab.apiserver.registry.label_keys import apply_label_keys
from k8slab.apiserver.registry.strategy import StatusStrategy, Strategy, keep

__all__ = ["PodStatusStrategy", "PodStrategy"]

_GATED = "Scheduling is blocked due to non-empty scheduling gates"


def _as_stored(volume: Object) -> Object:
    """An empty list of sources is none once it was stored: protobuf does not tell them apart."""
    projected = volume.get("projected") or {}
    if projected.get("sources") != []:
        return volume
    return {**volume, "projected": {k: v for k, v in projected.items() if k != "sources"}}


class PodStrategy(Strategy):
    has_generation = True
    has_status = True
    is_graceful = True
    returns_deleted = True

    def prepare_for_create(self, ctx: Context, obj: Draft) -> None:
        super().prepare_for_create(ctx, obj)
        if (obj["spec"].get("terminationGracePeriodSeconds") or 0) < 0:
            obj["spec"] = {**obj["spec"], "terminationGracePeriodSeconds": 1}
        if any((v.get("projected") or {}).get("sources") == [] for v in obj["spec"].get("volumes") or ()):
            obj["spec"] = {**obj["spec"], "volumes": [_as_stored(volume) for volume in obj["spec"]["volumes"]]}
        obj["spec"] = apply_label_keys(obj["spec"], obj["metadata"].get("labels") or {}, ctx.env.features)
        if not ctx.env.features.enabled("GenericWorkload"):
            obj["spec"] = {field: value for field, value in obj["spec"].items() if field != "schedulingGroup"}
        status = {"phase": "Pending", "qosClass": str(qos_class(obj))}
        if obj["spec"].get("schedulingGates"):
            condition = {"type": "PodScheduled", "status": "False", "lastTransitionTime": ctx.now}
            status["conditions"] = [{**condition, "reason": "SchedulingGated", "message": _GATED}]  # type: ignore[assignment]
        obj["status"] = status

    def check_graceful_delete(self, ctx: Context, obj: Object, options: DeleteOptions) -> bool:
        spec = obj["spec"]
        period = options.grace_period_seconds
        if period is None:
            period = spec.get("terminationGracePeriodSeconds") or 0
        if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            period = 0
        options.grace_period_seconds = 1 if period < 0 else period
        return True

    def attributes(self, obj: Object) -> Mapping[str, str]:
        metadata, spec, status = obj["metadata"], obj["spec"], obj.get("status") or {}
        ips = status.get("podIPs") or ()
        return {
            "metadata.name": metadata["name"],
            "metadata.namespace": metadata["namespace"],
            "spec.nodeName": spec.get("nodeName", ""),
            "spec.restartPolicy": spec.get("restartPolicy", ""),
            "spec.schedulerName": spec.get("schedulerName", ""),
            "spec.serviceAccountName": spec.get("serviceAccountName", ""),
            "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
            "status.phase": status.get("phase", ""),
            "status.podIP": ips[0].get("ip", "") if ips else "",
            "status.nominatedNodeName": status.get("nominatedNodeName", ""),
        }


class PodStatusStrategy(StatusStrategy):
    """Labels and annotations may change with the status; owner references may not, nor may the QoS class go."""

    def prepare_for_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        super().prepare_for_update(ctx, obj, old)
        keep(obj["metadata"], old["metadata"], "ownerReferences")
        obj["metadata"].pop("deletionTimestamp", None)
        status, before = obj.get("status") or {}, old.get("status") or {}
        if not status.get("qosClass") and before.get("qosClass"):
            obj["status"] = {**status, "qosClass": before["qosClass"]}
