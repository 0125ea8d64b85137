"""Which volume a claim may be bound to. The PV controller and the scheduler ask the same rule.

>>> claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
...          "resources": {"requests": {"storage": "5Gi"}}}}
>>> def volume(name, size):
...     return {"metadata": {"name": name}, "status": {"phase": "Available"},
...             "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}}}
>>> find_matching_volume(claim, [volume("big", "50Gi"), volume("fit", "6Gi"), volume("small", "4Gi")])["metadata"]
{'name': 'fit'}

Upstream: component-helpers/storage/volume/{pv_helpers,helpers}.go, component-helpers/storage/ephemeral/ephemeral.go,
pkg/controller/volume/persistentvolume/index.go (best_match_for_claim)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from k8slab.api.labels import selector_from_dict
from k8slab.api.node_affinity import NodeSelector
from k8slab.api.objects import Object
from k8slab.api.quantity import Quantity, quantity

__all__ = [
    "BIND_COMPLETED",
    "BOUND_BY_CONTROLLER",
    "NO_PROVISIONER",
    "SELECTED_NODE",
    "best_match_for_claim",
    "claim_class",
    "find_matching_volume",
    "fits_node",
    "is_bound_to_claim",
    "is_claim_of",
    "is_fully_bound",
    "named_claims",
    "not_for_pod",
    "pod_claims",
    "storage_request",
    "volume_class",
]

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""On a claim: the PV controller has finished binding it."""

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""On a volume: its `claimRef` was not written by a user."""

SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""On a claim: provision its volume for this Node."""

NO_PROVISIONER = "kubernetes.io/no-provisioner"
"""The provisioner of a StorageClass whose volumes are made by hand."""

_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_ORDER_OF_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_ZERO = Quantity.parse("0")


def annotations_of(obj: Object) -> Mapping[str, str]:
    annotations: Mapping[str, str] = obj["metadata"].get("annotations") or {}
    return annotations


def claim_class(claim: Object) -> str:
    """The StorageClass a claim asks for, "" for none. The beta annotation goes before the field."""
    name: str = annotations_of(claim).get(_BETA_CLASS) or claim["spec"].get("storageClassName") or ""
    return name


volume_class = claim_class
"""The StorageClass of a volume: annotation and field are the same as a claim's."""


def storage_request(claim: Object) -> Quantity:
    """How much a claim asks for."""
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return quantity(requests["storage"]) if "storage" in requests else _ZERO


def is_fully_bound(claim: Object) -> bool:
    """Whether the claim has a volume, and the PV controller has finished with it."""
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations_of(claim)


def is_bound_to_claim(volume: Object, claim: Object) -> bool:
    """Whether the volume's `claimRef` names this claim; without a uid it is reserved for whoever has the name."""
    reference = volume["spec"].get("claimRef")
    if reference is None:
        return False
    metadata = claim["metadata"]
    place = metadata.get("namespace") or "default"
    same = (reference.get("namespace"), reference.get("name")) == (place, metadata["name"])
    return same and reference.get("uid") in (None, "", metadata.get("uid"))


def fits_node(volume: Object, labels: Mapping[str, str]) -> bool:
    """Whether a Node with these labels satisfies the volume's required node affinity. No affinity: every Node does.

    Terms that do not parse match nothing.
    """
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    if required is None:
        return True
    try:
        return NodeSelector(required).matches({"metadata": {"name": "", "labels": labels}})
    except ValueError:
        return False


def find_matching_volume(
    claim: Object,
    volumes: Iterable[Object],
    *,
    node_labels: Mapping[str, str] | None = None,
    excluded: Collection[str] = (),
    delay_binding: bool = False,
) -> Object | None:
    """The volume reserved for `claim`, or else the smallest that will do; None: there is none.

    `node_labels` (the scheduler): the volume must be usable on a Node with these labels, and access modes are looked
    at. `delay_binding` (the PV controller, for WaitForFirstConsumer): only a reserved volume counts, the rest is the
    scheduler's. `excluded`: names that are taken. A selector that does not parse is a ValueError.
    """
    asked, metadata = storage_request(claim), claim["metadata"]
    wanted = claim["spec"].get("selector")
    try:
        selector = None if wanted is None else selector_from_dict(wanted)
    except ValueError as error:
        key = f"{metadata.get('namespace') or 'default'}/{metadata['name']}"
        raise ValueError(f"error creating internal label selector for claim: {key}: {error}") from None
    best: Object | None = None
    for volume in volumes:
        if not _could_serve(volume, claim, asked, excluded):
            continue
        fits = node_labels is None or fits_node(volume, node_labels)
        if is_bound_to_claim(volume, claim):
            return volume if fits else None  # it is this one or none
        if node_labels is None and delay_binding:
            continue
        if (volume.get("status") or {}).get("phase") != "Available":
            continue
        if selector is not None and not selector.matches(volume["metadata"].get("labels")):
            continue
        if volume_class(volume) != claim_class(claim) or not fits:
            continue
        if node_labels is not None and not _has_modes(volume, claim):
            continue
        if best is None or _capacity(volume) < _capacity(best):
            best = volume
    return best


def _could_serve(volume: Object, claim: Object, asked: Quantity, excluded: Collection[str]) -> bool:
    """What a reserved volume must satisfy too."""
    spec, metadata = volume["spec"], volume["metadata"]
    return (
        metadata["name"] not in excluded
        and (spec.get("claimRef") is None or is_bound_to_claim(volume, claim))
        and not _capacity(volume) < asked
        and (spec.get("volumeMode") or "Filesystem") == (claim["spec"].get("volumeMode") or "Filesystem")
        and (spec.get("volumeAttributesClassName") or "") == (claim["spec"].get("volumeAttributesClassName") or "")
        and metadata.get("deletionTimestamp") is None
    )


def _capacity(volume: Object) -> Quantity:
    capacity = volume["spec"].get("capacity") or {}
    return quantity(capacity["storage"]) if "storage" in capacity else _ZERO


def _has_modes(volume: Object, claim: Object) -> bool:
    offered = volume["spec"].get("accessModes") or ()
    return all(mode in offered for mode in claim["spec"].get("accessModes") or ())


def best_match_for_claim(claim: Object, volumes: Iterable[Object], *, delay_binding: bool = False) -> Object | None:
    """The PV controller's choice: volumes with the fewest access modes beyond those asked for go first."""
    by_modes: dict[tuple[str, ...], list[Object]] = {}
    for volume in volumes:
        offered = volume["spec"].get("accessModes") or ()
        by_modes.setdefault(tuple(mode for mode in _ORDER_OF_MODES if mode in offered), []).append(volume)
    for modes in sorted(by_modes, key=len):
        if all(mode in modes for mode in claim["spec"].get("accessModes") or ()):
            found = find_matching_volume(claim, by_modes[modes], delay_binding=delay_binding)
            if found is not None:
                return found
    return None


def _claim_name(pod: Object, volume: Mapping[str, Any]) -> str | None:
    """The claim behind a volume of a Pod; None: there is none. A generic ephemeral volume's is `POD-VOLUME`."""
    if volume.get("persistentVolumeClaim") is not None:
        name: str = volume["persistentVolumeClaim"].get("claimName") or ""
        return name
    if volume.get("ephemeral") is not None:
        return f"{pod['metadata']['name']}-{volume['name']}"
    return None


def pod_claims(pod: Object) -> list[tuple[Mapping[str, Any], str]]:
    """(volume, the claim behind it), for the Pod's volumes that have one."""
    volumes = [(volume, _claim_name(pod, volume)) for volume in pod["spec"].get("volumes") or ()]
    return [(volume, name) for volume, name in volumes if name is not None]


def named_claims(pod: Object) -> list[str]:
    """The claims that the Pod names itself; those of generic ephemeral volumes have no second user."""
    return [name for volume, name in pod_claims(pod) if volume.get("persistentVolumeClaim") is not None]


def is_claim_of(claim: Object | None, pod: Object, names: Iterable[str]) -> bool:
    """Whether the claim lies in the Pod's namespace and has one of these names."""
    if claim is None:
        return False
    namespaces = [obj["metadata"].get("namespace") or "default" for obj in (claim, pod)]
    return namespaces[0] == namespaces[1] and claim["metadata"]["name"] in names


def not_for_pod(pod: Object, volume: Mapping[str, Any], claim: Object) -> str:
    """Why the claim of a generic ephemeral volume is somebody else's; "" when it is the Pod's, or no such volume."""
    if volume.get("ephemeral") is None:
        return ""
    uid = pod["metadata"].get("uid")
    owners = claim["metadata"].get("ownerReferences") or ()
    if any(owner.get("controller") and owner.get("uid") == uid for owner in owners):
        return ""
    names = [f"{obj['metadata'].get('namespace') or 'default'}/{obj['metadata']['name']}" for obj in (claim, pod)]
    return f"PVC {names[0]} was not created for pod {names[1]} (pod is not owner)"
