"""Golden topic deployment: the arithmetic of rollouts, and the template hash."""

from __future__ import annotations

from typing import Any

from k8slab.api.intstr import scaled_value
from k8slab.api.names import fnv32a, safe_encode
from k8slab.controllers.deployment.fenceposts import Fenceposts, fenceposts_of, resolve_fenceposts
from k8slab.controllers.deployment.proportional import find_active_or_latest, proportion, proportional_sizes
from k8slab.controllers.deployment.rolling import new_replica_set_size, old_replica_set_sizes, simulate
from k8slab.controllers.deployment.sizes import Size
from k8slab.controllers.deployment.template_hash import compute_hash


def _size(rs: dict[str, Any]) -> Size:
    return Size(
        rs["name"], rs["replicas"], rs.get("available", 0), rs.get("created", 0), rs.get("maxReplicasAnnotation")
    )


def _sets(case: dict[str, Any]) -> tuple[list[Size], Size | None, list[Size]]:
    """All ReplicaSets, the new one, the old ones."""
    new = next((_size(rs) for rs in case["rs"] if rs.get("new")), None)
    return [_size(rs) for rs in case["rs"]], new, [_size(rs) for rs in case["rs"] if not rs.get("new")]


def _fenceposts(case: dict[str, Any]) -> Fenceposts:
    rolling = {"maxSurge": case["maxSurge"], "maxUnavailable": case["maxUnavailable"]}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return fenceposts_of({"spec": {"replicas": case["replicas"], "strategy": strategy}})


def _proportional(case: dict[str, Any]) -> dict[str, Any]:
    everything, new, old = _sets(case)
    desired, surge, status = case["replicas"], _fenceposts(case).surge, case["statusReplicas"]
    sizes = {rs.name: rs.replicas for rs in everything}
    single = find_active_or_latest(new, old)
    if single is not None:
        sizes[single.name] = desired
    else:
        sizes.update(proportional_sizes(desired, surge, status, everything))
    shares = {rs.name: proportion(rs, desired, surge, status, 5, 0) for rs in everything}
    return {"sizes": sizes, "proportionIfAdding5": shares}


def _rolling(case: dict[str, Any]) -> dict[str, Any]:
    everything, new, old = _sets(case)
    assert new is not None, "a rolling case names its new ReplicaSet"
    desired, (surge, unavailable) = case["replicas"], _fenceposts(case)
    sizes = {rs.name: rs.replicas for rs in everything}
    result = {"maxSurge": surge, "maxUnavailable": unavailable, "newScaled": False, "sizes": sizes}
    size = new_replica_set_size(desired, surge, everything, new)
    if size != new.replicas:
        sizes[new.name] = size
        return {**result, "newScaled": True}
    resizes, scaled = old_replica_set_sizes(desired, unavailable, old, new)
    sizes.update(resizes)
    return {**result, "oldScaled": scaled}


def _simulate(case: dict[str, Any]) -> dict[str, Any]:
    _, new, old = _sets(case)
    assert new is not None, "a simulate case names its new ReplicaSet"
    return {"steps": list(simulate(case["replicas"], _fenceposts(case), old, new))}


def run(case: dict[str, Any]) -> Any:
    op = case["op"]
    try:
        if op == "fenceposts":
            surge, unavailable = resolve_fenceposts(case["maxSurge"], case["maxUnavailable"], case["desired"])
            return {"surge": surge, "unavailable": unavailable}
        if op == "scaled":
            return {"value": scaled_value(case["value"], case["total"], round_up=case["roundUp"])}
    except ValueError as error:
        return {"error": str(error)}
    if op == "proportional":
        return _proportional(case)
    if op == "rolling":
        return _rolling(case)
    if op == "simulate":
        return _simulate(case)
    if op == "hash":
        sum32 = case["sum32WithoutCollision"] if "sum32WithoutCollision" in case else fnv32a(case["dump"].encode())
        return {"hash": compute_hash(sum32, case["collisionCount"])}
    if op == "safeencode":
        return {"encoded": safe_encode(case["s"])}
    if op == "fnv":
        sum32 = fnv32a(case["s"].encode())
        return {"sum32": sum32, "asHash": compute_hash(sum32, None)}
    raise ValueError(f"op: {op!r}: no such operation")
