"""Finds volumes for a Pod's claims, Node by Node; takes them; writes the binding, and waits for the PV controller.

    find ──> assume ──> bind: write, then look every second ──> bound
                └─ revert (the Pod goes elsewhere)

Two ways for a claim that waits for its first consumer: a volume that is there is reserved for it (`spec.claimRef`),
or its provisioner is told the Node (the annotation selected-node on the claim).

Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go
Simplified: volumes of in-tree cloud plugins are not translated to CSI.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.errors import StatusError
from k8slab.api.labels import selector_from_dict
from k8slab.api.objects import Object, thaw
from k8slab.api.persistent_volumes import (
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    SELECTED_NODE,
    claim_class,
    find_matching_volume,
    fits_node,
    is_bound_to_claim,
    is_fully_bound,
    pod_claims,
    storage_request,
    volume_class,
)
from k8slab.api.quantity import quantity
from k8slab.api.scheme import (
    CSIDRIVERS,
    CSISTORAGECAPACITIES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    STORAGECLASSES,
)
from k8slab.scheduler.assume_cache import AssumeCache, AssumeError, not_found, version
from k8slab.scheduler.framework import Handle, labels_of, namespace_of
from k8slab.sim.loop import sleep

__all__ = ["Binding", "PodClaims", "PodVolumes", "VolumeBinder", "VolumeBindingError"]

BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
NO_SUCH_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

_PV, _PVC = "v1.PersistentVolume", "v1.PersistentVolumeClaim"
_POLL_MS = 1_000


class VolumeBindingError(Exception):
    """Volumes cannot be looked for, or cannot be bound. The text is upstream's."""


@dataclass(slots=True)
class PodClaims:
    """A Pod's claims. `delayed`: unbound, and their class waits for the first consumer. `volumes`: by class, what
    could be bound to them."""

    bound: list[Object] = field(default_factory=list)
    delayed: list[Object] = field(default_factory=list)
    immediate: list[Object] = field(default_factory=list)
    volumes: dict[str, list[Object]] = field(default_factory=dict)


@dataclass(slots=True)
class Binding:
    """A volume for a claim."""

    volume: Object
    claim: Object


@dataclass(slots=True)
class PodVolumes:
    """What a Node would mean for a Pod's unbound claims: volumes that are there, and claims to provision for."""

    static: list[Binding] = field(default_factory=list)
    provisions: list[Object] = field(default_factory=list)


class VolumeBinder:
    """`bind_timeout_seconds`: how long the PV controller and provisioners may take."""

    def __init__(self, handle: Handle, bind_timeout_seconds: int) -> None:
        self._handle = handle
        self._bind_timeout_seconds = bind_timeout_seconds
        self.volumes = AssumeCache(handle.lister, PERSISTENTVOLUMES, _PV)
        self.claims = AssumeCache(handle.lister, PERSISTENTVOLUMECLAIMS, _PVC)

    # -- PreFilter ---------------------------------------------------------------------------------

    def claims_of(self, pod: Object) -> list[Object]:
        """The claims behind the Pod's volumes, as assumed. VolumeBindingError when one is missing."""
        namespace, found = namespace_of(pod), []
        for _, name in pod_claims(pod):
            claim = self.claims.get(name, namespace)
            if claim is None:
                key = f'"{namespace}/{name}"'
                raise VolumeBindingError(f"error getting PVC {key}: {not_found(_PVC, namespace, name)}")
            found.append(claim)
        return found

    def sort_claims(self, pod: Object) -> PodClaims:
        """Bound ones, those to bind now, and those that somebody else should have bound long ago."""
        found = PodClaims()
        for claim in self.claims_of(pod):
            if is_fully_bound(claim):
                found.bound.append(claim)
            elif self._waits_for_consumer(claim) and not claim["spec"].get("volumeName"):
                found.delayed.append(claim)
            else:
                found.immediate.append(claim)
        wanted = dict.fromkeys(claim_class(claim) for claim in found.delayed)
        if wanted:
            volumes = self.volumes.list()
            found.volumes = {name: [pv for pv in volumes if volume_class(pv) == name] for name in wanted}
        return found

    def _waits_for_consumer(self, claim: Object) -> bool:
        name = claim_class(claim)
        storage_class = self._handle.lister.get(STORAGECLASSES, name) if name else None
        if storage_class is None:
            return False
        mode = storage_class.get("volumeBindingMode")
        if mode is None:
            raise VolumeBindingError(f'VolumeBindingMode not set for StorageClass "{name}"')
        return bool(mode == "WaitForFirstConsumer")

    # -- Filter ------------------------------------------------------------------------------------

    def find(self, claims: PodClaims, node: str, labels: Mapping[str, str]) -> tuple[PodVolumes, list[str]]:
        """(volumes for the Pod on this Node, why the Node will not do). VolumeBindingError: nobody can say."""
        affinity, exists = self._check_bound(claims.bound, labels)
        found, matched, has_space = self._find_for_unbound(claims, node, labels)
        reasons = (
            (affinity, NODE_CONFLICT),
            (matched, BIND_CONFLICT),
            (has_space, NOT_ENOUGH_SPACE),
            (exists, NO_SUCH_VOLUME),
        )
        return found, [reason for holds, reason in reasons if not holds]

    def _check_bound(self, claims: Iterable[Object], labels: Mapping[str, str]) -> tuple[bool, bool]:
        """(they may be used on such a Node, they exist): the first that fails one decides."""
        for claim in claims:
            volume = self.volumes.get(claim["spec"]["volumeName"])
            if volume is None:
                return True, False
            if not fits_node(volume, labels):
                return False, True
        return True, True

    def _find_for_unbound(
        self, claims: PodClaims, node: str, labels: Mapping[str, str]
    ) -> tuple[PodVolumes, bool, bool]:
        """(what was found, all are provided for, there is space for it)."""
        to_match, to_provision = [], []
        for claim in claims.delayed:
            selected = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
            if selected is None:
                to_match.append(claim)
            elif selected == node:
                to_provision.append(claim)
            else:
                return PodVolumes(), False, True
        found = PodVolumes()
        taken: dict[str, None] = {}
        for claim in sorted(to_match, key=storage_request):
            candidates = claims.volumes.get(claim_class(claim), ())
            try:
                volume = find_matching_volume(claim, candidates, node_labels=labels, excluded=taken)
            except ValueError as error:
                raise VolumeBindingError(str(error)) from None
            if volume is None:
                to_provision.append(claim)
            else:
                taken[volume["metadata"]["name"]] = None
                found.static.append(Binding(volume, claim))
        matched, has_space = self._can_provision(to_provision, labels)
        if matched and has_space:
            found.provisions = to_provision
        return found, matched, has_space

    def _can_provision(self, claims: Iterable[Object], labels: Mapping[str, str]) -> tuple[bool, bool]:
        """(the class provisions for such a Node, the driver has space there)."""
        for claim in claims:
            name = claim_class(claim)
            storage_class = self._handle.lister.get(STORAGECLASSES, name)
            if storage_class is None:
                raise VolumeBindingError(f'failed to find storage class "{name}"')
            if storage_class.get("provisioner") in (None, "", NO_PROVISIONER):
                return False, True
            if not _in_topology(storage_class.get("allowedTopologies"), labels):
                return False, True
            if not self._has_capacity(claim, storage_class, labels):
                return True, False
        return True, True

    def _has_capacity(self, claim: Object, storage_class: Object, labels: Mapping[str, str]) -> bool:
        """Drivers that publish what they have left (CSIStorageCapacity) are asked; the others are believed."""
        driver = self._handle.lister.get(CSIDRIVERS, storage_class["provisioner"])
        if driver is None or not driver["spec"].get("storageCapacity"):
            return True
        asked, name = storage_request(claim), storage_class["metadata"]["name"]
        for capacity in self._handle.lister.list(CSISTORAGECAPACITIES):
            limit = capacity.get("maximumVolumeSize") or capacity.get("capacity")
            if capacity.get("storageClassName") != name or limit is None or quantity(limit) < asked:
                continue
            topology = capacity.get("nodeTopology")
            if topology is not None and selector_from_dict(topology).matches(labels):
                return True
        return False

    # -- Reserve -----------------------------------------------------------------------------------

    def assume(self, pod: Object, node: str, found: PodVolumes) -> bool:
        """Take the volumes for the Pod. True: all its claims are bound, there is nothing to write."""
        if all(is_fully_bound(claim) for claim in self.claims_of(pod)):
            return True
        taken = PodVolumes()
        try:
            for binding in found.static:
                volume = _reserved(binding.volume, binding.claim)
                if volume is not binding.volume:
                    self.volumes.assume(volume)
                taken.static.append(Binding(volume, binding.claim))
            for claim in found.provisions:
                selected = _annotated(claim, SELECTED_NODE, node)
                self.claims.assume(selected)
                taken.provisions.append(selected)
        except AssumeError as error:
            self.revert(taken)
            raise VolumeBindingError(str(error)) from None
        found.static, found.provisions = taken.static, taken.provisions
        return False

    def revert(self, found: PodVolumes) -> None:
        """Give back what was taken. Idempotent."""
        for binding in found.static:
            self.volumes.restore(binding.volume)
        for claim in found.provisions:
            self.claims.restore(claim)

    # -- PreBind -----------------------------------------------------------------------------------

    async def bind(self, pod: Object, found: PodVolumes) -> None:
        """Write what was assumed and wait until all of it is bound. VolumeBindingError: it will not be."""
        await self._write(found)
        try:
            for _ in range(self._bind_timeout_seconds):
                await sleep(_POLL_MS)
                if self._is_bound(pod, found):
                    return
        except VolumeBindingError as error:
            raise VolumeBindingError(f"binding volumes: {error}") from None
        raise VolumeBindingError("binding volumes: context deadline exceeded")

    async def _write(self, found: PodVolumes) -> None:
        """What was written stays written when a later write fails; the rest is given back."""
        done = 0
        try:
            for binding in found.static:
                binding.volume = await self._handle.client.update(PERSISTENTVOLUMES, thaw(binding.volume))
                done += 1
            for index, claim in enumerate(found.provisions):
                found.provisions[index] = await self._handle.client.update(PERSISTENTVOLUMECLAIMS, thaw(claim))
                done += 1
        except (StatusError, TimeoutError) as error:
            first = len(found.static)
            self.revert(PodVolumes(found.static[done:], found.provisions[max(0, done - first) :]))
            raise VolumeBindingError(str(error)) from None

    def _is_bound(self, pod: Object, found: PodVolumes) -> bool:
        """Whether the API server shows all of it bound. VolumeBindingError: somebody has undone it."""
        name = pod["spec"]["nodeName"]
        node = self._handle.lister.get(NODES, name)
        if node is None:
            raise VolumeBindingError(f'failed to get node "{name}": node "{name}" not found')
        pod_name = pod["metadata"]["name"]
        if self._handle.lister.get(PODS, pod_name, namespace_of(pod)) is None:
            raise VolumeBindingError(f'pod does not exist any more: pod "{pod_name}" not found')
        return all(self._is_static_bound(binding, node) for binding in found.static) and all(
            self._is_provisioned(claim, node) for claim in found.provisions
        )

    def _is_static_bound(self, binding: Binding, node: Object) -> bool:
        volume_name = binding.volume["metadata"]["name"]
        volume = self.volumes.get_api(volume_name)
        if volume is None:
            raise VolumeBindingError(f"failed to check binding: {not_found(_PV, '', volume_name)}")
        claim = self._api_claim(binding.claim, "failed to check binding")
        if version(binding.volume) > version(volume):
            return False  # our own write has not come back yet
        _demand_fit(volume, node)
        if not (volume["spec"].get("claimRef") or {}).get("uid"):
            raise VolumeBindingError(f'ClaimRef got reset for pv "{volume_name}"')
        return is_fully_bound(claim)

    def _is_provisioned(self, written: Object, node: Object) -> bool:
        claim = self._api_claim(written, "failed to check provisioning pvc")
        name = claim["metadata"]["name"]
        if version(written) > version(claim):
            return False
        annotations = claim["metadata"].get("annotations")
        if annotations is None:
            raise VolumeBindingError(f'selectedNode annotation reset for PVC "{name}"')
        if annotations.get(SELECTED_NODE) != node["metadata"]["name"]:
            raise VolumeBindingError(f'provisioning failed for PVC "{name}"')
        if volume_name := claim["spec"].get("volumeName"):
            volume = self.volumes.get_api(volume_name)
            if volume is None:
                return False  # its watch is late
            _demand_fit(volume, node)
        return is_fully_bound(claim)

    def _api_claim(self, claim: Object, what: str) -> Object:
        name, namespace = claim["metadata"]["name"], namespace_of(claim)
        found = self.claims.get_api(name, namespace)
        if found is None:
            raise VolumeBindingError(f"{what}: {not_found(_PVC, namespace, name)}")
        return found


def _demand_fit(volume: Object, node: Object) -> None:
    if not fits_node(volume, labels_of(node)):
        names = f'pv "{volume["metadata"]["name"]}" node affinity doesn\'t match node "{node["metadata"]["name"]}"'
        raise VolumeBindingError(f"{names}: no matching NodeSelectorTerms")


def _reserved(volume: Object, claim: Object) -> Object:
    """The volume with a `claimRef` to the claim; the volume itself when it has just this one."""
    metadata, reference = claim["metadata"], volume["spec"].get("claimRef") or {}
    wanted = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": metadata["name"],
        "namespace": namespace_of(claim),
        "uid": metadata.get("uid") or "",
        "resourceVersion": metadata.get("resourceVersion") or "",
    }
    same = all((reference.get(part) or "") == wanted[part] for part in ("name", "namespace", "uid"))
    bound = volume if same else {**volume, "spec": {**volume["spec"], "claimRef": wanted}}
    if is_bound_to_claim(volume, claim) or BOUND_BY_CONTROLLER in (volume["metadata"].get("annotations") or {}):
        return bound
    return _annotated(bound, BOUND_BY_CONTROLLER, "yes")


def _annotated(obj: Object, key: str, value: str) -> dict[str, Any]:
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), key: value}}}


def _in_topology(terms: Iterable[Mapping[str, Any]] | None, labels: Mapping[str, str]) -> bool:
    """Whether one of the terms holds, all of its expressions; no terms allow every Node."""
    terms = list(terms or ())
    if not terms:
        return True
    return any(
        bool(term.get("matchLabelExpressions"))
        and all(labels.get(rule["key"]) in rule["values"] for rule in term["matchLabelExpressions"])
        for term in terms
    )
