"""What an update may change of a Pod: images, a deadline, more tolerations, fewer gates.

Upstream: pkg/apis/core/validation/validation.go (ValidatePodUpdate, ValidatePodStatusUpdate)
Simplified: the message ends with the names of the fields that changed, where upstream prints a diff of Go structs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.validation.field import forbidden, invalid, required
from k8slab.api.validation.metadata import validate_immutable, validate_metadata_update
from k8slab.api.validation.numbers import MAX_INT32, validate_ip
from k8slab.api.validation.pod import validate_pod_metadata_and_spec
from k8slab.api.validation.scheduling import validate_tolerations

__all__ = ["validate_pod_status_update", "validate_pod_update"]

_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
Pod = Mapping[str, Any]


def validate_pod_update(new: Pod, old: Pod, *, allow_privileged: bool = True) -> list[Cause]:
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    errors += validate_pod_metadata_and_spec(new, allow_privileged=allow_privileged)
    spec, before = new["spec"], old["spec"]
    for kind in ("containers", "initContainers"):
        if len(spec.get(kind, ())) != len(before.get(kind, ())):
            return [*errors, forbidden(f"spec.{kind}", "pod updates may not add or remove containers")]
        errors += _validate_images(f"spec.{kind}", spec.get(kind, ()))
    deadline_errors, stop = _validate_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    errors += deadline_errors
    if stop:
        return errors
    errors += _validate_added_tolerations(spec.get("tolerations", ()), before.get("tolerations", ()))
    errors += _validate_deleted_gates(spec.get("schedulingGates", ()), before.get("schedulingGates", ()))
    if spec == before:
        return errors
    munged = _munged(spec, before)
    if before.get("schedulingGates"):
        errors += _munge_gated(munged, before)
    if munged != before:
        changed = ", ".join(sorted(key for key in {**munged, **before} if munged.get(key) != before.get(key)))
        detail = f"pod updates may not change fields other than {_UPDATABLE}\nchanged: {changed}"
        errors.append(forbidden("spec", detail))
    return errors


def _validate_images(path: str, containers: Sequence[Mapping[str, Any]]) -> list[Cause]:
    errors: list[Cause] = []
    for index, container in enumerate(containers):
        image = container.get("image", "")
        if not image:
            errors.append(required(f"{path}[{index}].image"))
        if image != image.strip():
            detail = "must not have leading or trailing whitespace"
            errors.append(invalid(f"{path}[{index}].image", image, detail))
    return errors


def _validate_deadline(new: int | None, old: int | None) -> tuple[list[Cause], bool]:
    """The errors, and whether upstream stops here. A deadline may be set once and then only shortened."""
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is None:
            return [], False
        return [invalid(path, None, "must not update from a positive integer to nil value")], False
    if not 0 <= new <= MAX_INT32:
        return [invalid(path, new, f"must be between 0 and {MAX_INT32}, inclusive")], True
    if old is not None and old < new:
        return [invalid(path, new, "must be less than or equal to previous value")], True
    return [], False


def _without_seconds(toleration: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _validate_added_tolerations(new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]]) -> list[Cause]:
    path = "spec.tolerations"
    present = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in present for toleration in old):
        return [forbidden(path, "existing toleration can not be modified except its tolerationSeconds")]
    return validate_tolerations(path, new)


def _validate_deleted_gates(new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]]) -> list[Cause]:
    names = [gate.get("name") for gate in old]
    return [
        forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
        )
        for index, gate in enumerate(new)
        if gate.get("name") not in names
    ]


def _munged(spec: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The new spec with what may change set back to the old."""
    munged = dict(spec)
    for kind in ("containers", "initContainers"):
        if kind in spec:
            pairs = zip(spec[kind], before[kind], strict=True)
            munged[kind] = [{**container, "image": other.get("image", "")} for container, other in pairs]
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        munged.pop(key, None)
        if key in before:
            munged[key] = before[key]
    if before.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    return munged


def _munge_gated(munged: dict[str, Any], before: Mapping[str, Any]) -> list[Cause]:
    """A gated Pod may still be narrowed down to fewer nodes."""
    errors: list[Cause] = []
    new, old = munged.get("nodeSelector", {}), before.get("nodeSelector", {})
    if new != old:
        if any(new.get(key) != value for key, value in old.items()):
            detail = "only additions to nodeSelector are allowed (no mutations or deletions)"
            errors.append(invalid("spec.nodeSelector", dict(sorted(new.items())), detail))
        munged.pop("nodeSelector", None)
        if old:
            munged["nodeSelector"] = old
    affinity, old_affinity = munged.get("affinity", {}), before.get("affinity", {})
    new_node, old_node = affinity.get("nodeAffinity"), old_affinity.get("nodeAffinity")
    if new_node != old_node:
        errors += _validate_node_affinity_change(new_node or {}, old_node or {})
        rest = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
        if old_node is not None:
            rest["nodeAffinity"] = old_node
        munged.pop("affinity", None)
        if rest or "affinity" in before:
            munged["affinity"] = rest
    return errors


def _validate_node_affinity_change(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[Cause]:
    """Required terms may only be narrowed: the same terms with more requirements."""
    name = "requiredDuringSchedulingIgnoredDuringExecution"
    path = f"spec.affinity.nodeAffinity.{name}.nodeSelectorTerms"
    before = old.get(name, {}).get("nodeSelectorTerms", [])
    if not before:
        return []
    after = new.get(name, {}).get("nodeSelectorTerms", [])
    if len(after) != len(before):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(path, list(after), detail)]
    errors: list[Cause] = []
    for index, (term, previous) in enumerate(zip(after, before, strict=True)):
        for key in ("matchExpressions", "matchFields"):
            kept = term.get(key, [])[: len(previous.get(key, []))]
            if kept != previous.get(key, []):
                detail = "only additions are allowed (no mutations or deletions)"
                errors.append(invalid(f"{path}[{index}]", dict(term), detail))
                break
    return errors


def validate_pod_status_update(new: Pod, old: Pod) -> list[Cause]:
    """A write to `/status`."""
    errors = validate_metadata_update(new["metadata"], old["metadata"])
    if new["spec"].get("nodeName", "") != old["spec"].get("nodeName", ""):
        errors.append(forbidden("status.nodeName", "may not be changed directly"))
    status, before = new.get("status", {}), old.get("status", {})
    errors += validate_immutable("status.qosClass", status.get("qosClass", ""), before.get("qosClass", ""))
    policy = old["spec"].get("restartPolicy")
    for kind in ("containerStatuses", "initContainerStatuses"):
        errors += _validate_transitions(
            f"status.{kind}", status.get(kind, ()), before.get(kind, ()), policy, old["spec"]
        )
    for index, address in enumerate(status.get("podIPs", ())):
        errors += validate_ip(f"status.podIPs[{index}]", address.get("ip", ""))
    return errors


def _validate_transitions(
    path: str, new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]], policy: str, spec: Mapping[str, Any]
) -> list[Cause]:
    """A container that ended for good stays ended."""
    if policy == "Always":
        return []
    sidecars = [c["name"] for c in spec.get("initContainers", ()) if c.get("restartPolicy") == "Always"]
    errors: list[Cause] = []
    for index, before in enumerate(old):
        ended = before.get("state", {}).get("terminated")
        if ended is None or (ended.get("exitCode") and policy == "OnFailure") or before.get("name") in sidecars:
            continue
        for after in new:
            if after.get("name") == before.get("name") and "terminated" not in after.get("state", {}):
                detail = "may not be transitioned to non-terminated state"
                errors.append(forbidden(f"{path}[{index}].state", detail))
    return errors
