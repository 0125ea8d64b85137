"""Which IP families a Service has: `ipFamilyPolicy` and `ipFamilies`, from what its author said and what the cluster
has.

Upstream: pkg/registry/core/service/storage/alloc.go (initIPFamilyFields)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

from k8slab.api.errors import Cause, InvalidError
from k8slab.api.validation.field import invalid
from k8slab.api.validation.service import validate_cluster_ips

__all__ = ["fill_families", "keeps_preference"]

Spec = Mapping[str, Any]
_SINGLE, _PREFER, _REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"
_OTHER = {"IPv4": "IPv6", "IPv6": "IPv4"}


def keeps_preference(spec: Spec, before: Spec) -> bool:
    """A Service that prefers two families and keeps its fields keeps its addresses, whatever the cluster has by now."""
    return (
        spec.get("ipFamilyPolicy") == _PREFER
        and before.get("ipFamilyPolicy") in (None, _PREFER)
        and spec.get("type") == before.get("type") != "ExternalName"
        and _list(spec, "clusterIPs") == _list(before, "clusterIPs")
        and _list(spec, "ipFamilies") == _list(before, "ipFamilies")
    )


def fill_families(spec: dict[str, Any], before: Spec | None, configured: Sequence[str], name: str) -> None:
    """Set `ipFamilyPolicy` and `ipFamilies` in `spec`. `configured`: the cluster's families, the default one first.

    `before` is the spec of an update. Raises InvalidError for what contradicts itself or the cluster.
    """
    if spec.get("type") == "ExternalName":
        return
    is_bare = spec.get("clusterIP") == "None" and not spec.get("selector")
    if not spec.get("ipFamilyPolicy"):
        spec["ipFamilyPolicy"] = (before or {}).get("ipFamilyPolicy") or (_REQUIRE if is_bare else _SINGLE)
    if causes := validate_cluster_ips(spec):
        raise InvalidError.of("Service", name, causes)
    causes = _reductions(spec, before) if before is not None else []
    families = _list(spec, "ipFamilies")
    causes += _single_stack_problems(spec, families) + _infer(spec, families, configured)
    if causes:
        raise InvalidError.of("Service", name, causes)
    families = families or [configured[0]]
    if not is_bare and (causes := _not_configured(spec, families, configured)):
        raise InvalidError.of("Service", name, causes)
    if len(families) == 1 and spec["ipFamilyPolicy"] != _SINGLE and (is_bare or len(configured) == 2):
        families.append(_OTHER[families[0]])
    spec["ipFamilies"] = families


def _list(spec: Spec, field: str) -> list[str]:
    return list(spec.get(field) or ())


def _reductions(spec: dict[str, Any], before: Spec) -> list[Cause]:
    """An update to one family says so by the policy: then the second address and family go by themselves."""
    causes = []
    for field, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        new, old = _list(spec, field), _list(before, field)
        if spec["ipFamilyPolicy"] == _SINGLE:
            if new == old and len(new) > 1:
                spec[field] = new[:1]
        elif len(new) == 1 and len(old) == 2:
            detail = f"must be 'SingleStack' to release the secondary {what}"
            causes.append(invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], detail))
    return causes


def _single_stack_problems(spec: Spec, families: Sequence[str]) -> list[Cause]:
    if spec["ipFamilyPolicy"] != _SINGLE:
        return []
    detail = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    return [
        invalid("spec.ipFamilyPolicy", _SINGLE, detail.format(what))
        for values, what in ((_list(spec, "clusterIPs"), "cluster IPs"), (families, "IP families"))
        if len(values) == 2
    ]


def _infer(spec: Spec, families: list[str], configured: Iterable[str]) -> list[Cause]:
    """Append the families of addresses that were given without one."""
    causes = []
    addresses = _list(spec, "clusterIPs")
    for index, address in enumerate(addresses):
        if address == "None":
            break
        family = f"IPv{ip_address(address).version}"
        if index >= len(families):
            if family in configured:
                families.append(family)
            else:
                detail = f"{family} is not configured on this cluster"
                causes.append(invalid(f"spec.clusterIPs[{index}]", addresses, detail))
    return causes


def _not_configured(spec: Spec, families: Iterable[str], configured: Sequence[str]) -> list[Cause]:
    causes = []
    if spec["ipFamilyPolicy"] == _REQUIRE and len(configured) < 2:
        detail = "this cluster is not configured for dual-stack services"
        causes.append(invalid("spec.ipFamilyPolicy", _REQUIRE, detail))
    for index, family in enumerate(families):
        if family not in configured:
            causes.append(invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    return causes
