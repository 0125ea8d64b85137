"""Node groups on the simulated cloud: a target size each, and machines that follow it.

A group keeps as many machines as its target says: what is missing is bought at the next `refresh`, in the zone that has
fewest, or in another; what was taken back is replaced. What cannot be bought stands there as a failed instance, and is
tried again, until the autoscaler deletes it, which takes the target back (never below the minimum).

Upstream: cluster-autoscaler/cloudprovider/cloud_provider.go (CloudProvider, NodeGroup), cloudprovider/aws
(auto_scaling_groups.go: placeholders that cannot be fulfilled)
Simplified: groups are neither found by tags nor created by the autoscaler; one instance type a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from k8slab.api.names import is_dns1123_subdomain, is_qualified_name, is_valid_label_value
from k8slab.api.objects import Object
from k8slab.api.tolerations import TAINT_EFFECTS
from k8slab.autoscaling.cloud import (
    ON_DEMAND,
    SPOT,
    Cloud,
    Instance,
    InstanceType,
    LaunchFailedError,
    Pool,
    node_object,
)
from k8slab.autoscaling.cluster_autoscaler.node_state import provider_id

__all__ = [
    "CloudProviderError",
    "GroupInstance",
    "InstanceError",
    "InstanceStatus",
    "NodeGroup",
    "NodeGroupConfig",
    "NodeGroups",
]

OUT_OF_RESOURCES = "OutOfResource"
OTHER = "Other"
_LONGEST_ID = 56
"""A Node's name is the id, a hyphen and up to 6 digits; as the label of its host it may have 63 characters."""


class CloudProviderError(Exception):
    """The cloud, or the group, refused a change of size. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class InstanceError:
    """Why an instance could not be created. `error_class`: OutOfResource or Other."""

    error_class: str
    code: str
    message: str


class InstanceStatus(StrEnum):
    """What the cloud says of an instance."""

    CREATING = "creating"
    RUNNING = "running"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True)
class GroupInstance:
    """An instance as the autoscaler sees it; `error`: it will never come."""

    provider_id: str
    status: InstanceStatus
    error: InstanceError | None = None


@dataclass(frozen=True, slots=True)
class NodeGroupConfig:
    """What a group is made of. `zones`: where its machines may stand. `options`: fields of `AutoscalingOptions` that
    differ for this group. `taints`: as in a Node's spec. `size`: how many there are in the beginning."""

    id: str
    instance_type: str
    min_size: int = 0
    max_size: int = 10
    zones: tuple[str, ...] = ()
    capacity_type: str = ON_DEMAND
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    size: int | None = None

    def __post_init__(self) -> None:
        name = self.id if isinstance(self.id, str) else ""
        if len(name) > _LONGEST_ID or is_dns1123_subdomain(name):
            raise ValueError(
                f"node group id: {self.id!r}: expected small letters, digits, '-' and '.', at most {_LONGEST_ID}: its "
                "nodes are named after it"
            )
        for field_name, size in (("min_size", self.min_size), ("max_size", self.max_size), ("size", self.size or 0)):
            if isinstance(size, bool) or not isinstance(size, int):
                raise ValueError(f"node group {name}: {field_name}: {size!r}, expected a whole number")
        if self.min_size < 0 or self.max_size < self.min_size:
            raise ValueError(f"node group {name}: sizes {self.min_size}:{self.max_size}, expected 0 <= min <= max")
        if self.capacity_type not in (ON_DEMAND, SPOT):
            raise ValueError(f"node group {name}: capacity_type {self.capacity_type!r}, expected on-demand or spot")
        if self.size is not None and not 0 <= self.size <= self.max_size:
            raise ValueError(f"node group {name}: size {self.size}, expected 0 to {self.max_size}")
        self._check_labels_and_taints()

    def _check_labels_and_taints(self) -> None:
        for key, text in self.labels.items():
            if not isinstance(key, str) or not isinstance(text, str):
                raise ValueError(f"node group {self.id}: labels: {key!r}: {text!r}, expected a text")
            for problem in is_qualified_name(key) + is_valid_label_value(text):
                raise ValueError(f"node group {self.id}: labels: {key!r}: {text!r}: {problem}")
        for index, taint in enumerate(self.taints):
            if not _is_taint(taint):
                effects = ", ".join(TAINT_EFFECTS)
                raise ValueError(
                    f"node group {self.id}: taints[{index}]: {taint!r}, expected texts for key and value, and one "
                    f"effect of {effects}"
                )
            for problem in is_qualified_name(taint["key"]) + is_valid_label_value(taint.get("value") or ""):
                raise ValueError(f"node group {self.id}: taints[{index}]: {taint!r}: {problem}")


def _is_taint(taint: object) -> bool:
    return (
        isinstance(taint, Mapping)
        and isinstance(taint.get("key"), str)
        and bool(taint["key"])
        and isinstance(taint.get("value") or "", str)
        and taint.get("effect") in TAINT_EFFECTS
    )


class NodeGroup:
    """One group: its config, its target, the instances that were bought for it. `NodeGroups` changes it."""

    def __init__(self, config: NodeGroupConfig, instance_type: InstanceType, zones: Sequence[str]) -> None:
        self.config = config
        self.instance_type = instance_type
        self.zones = tuple(zones)
        self.target_size = config.min_size if config.size is None else config.size
        self.instances: dict[str, Instance] = {}
        self.failed: dict[str, InstanceError] = {}
        self.launches = 0

    @property
    def id(self) -> str:
        return self.config.id

    @property
    def min_size(self) -> int:
        return self.config.min_size

    @property
    def max_size(self) -> int:
        return self.config.max_size

    def in_zones(self) -> dict[str, int]:
        """How many live machines stand in each zone."""
        count = dict.fromkeys(self.zones, 0)
        for instance in self.live():
            count[instance.zone] += 1
        return count

    def pools(self, in_zones: Mapping[str, int]) -> list[Pool]:
        """Where to buy the next machine: first the zone with fewest, between equals in their order."""
        zones = sorted(self.zones, key=lambda zone: in_zones[zone])
        kind = self.config.capacity_type
        return [Pool(self.instance_type.name, zone, kind) for zone in zones if self.instance_type.offering(zone, kind)]

    def live(self) -> list[Instance]:
        """The instances that count towards the target."""
        return [instance for instance in self.instances.values() if instance.is_live]

    def price_micros(self) -> int:
        """What a machine of the group costs an hour, where it is cheapest."""
        kind = self.config.capacity_type
        offers = [one for one in self.instance_type.offerings if one.capacity_type == kind and one.zone in self.zones]
        return min((offer.price_micros for offer in offers), default=0)

    def template(self) -> Object:
        """The Node that a new machine would be, as far as the group's data say (a real one may differ)."""
        config = self.config
        name = f"template-node-for-{config.id}"
        return node_object(name, self.instance_type, self.zones[0], labels=config.labels, taints=config.taints)


class NodeGroups:
    """All groups of a cluster, and the cloud that they buy from. The autoscaler's `CloudProvider`.

    ValueError for ids that are there twice, unknown types, and zones where a type is not sold.
    """

    def __init__(self, cloud: Cloud, configs: Iterable[NodeGroupConfig]) -> None:
        self.cloud = cloud
        self.groups: dict[str, NodeGroup] = {}
        self._group_of: dict[str, str] = {}
        self._name_of: dict[str, str] = {}
        for config in configs:
            if config.id in self.groups:
                raise ValueError(f"node group {config.id}: is there twice, expected distinct ids")
            self.groups[config.id] = self._made(config)

    def _made(self, config: NodeGroupConfig) -> NodeGroup:
        found = self.cloud.instance_types.get(config.instance_type)
        if found is None:
            raise ValueError(f"node group {config.id}: instance type {config.instance_type!r}: not in the catalogue")
        sold = tuple(dict.fromkeys(o.zone for o in found.offerings if o.capacity_type == config.capacity_type))
        if not sold:
            raise ValueError(f"node group {config.id}: {config.instance_type} is sold {config.capacity_type} nowhere")
        for zone in config.zones:
            if zone not in sold:
                raise ValueError(
                    f"node group {config.id}: zone {zone!r}: {config.instance_type} is sold in {', '.join(sold)}"
                )
        return NodeGroup(config, found, config.zones or sold)

    # -- asking -------------------------------------------------------------------------------------

    def __iter__(self) -> Any:
        return iter(self.groups.values())

    def group_of(self, node: Object) -> NodeGroup | None:
        """The group whose machine this Node is; None: nobody's, it is not autoscaled."""
        id = self._group_of.get(provider_id(node))
        return None if id is None else self.groups[id]

    def has_instance(self, node: Object) -> bool:
        """Whether the Node's machine is still there. True for Nodes of no group: nothing is known of them."""
        group = self.group_of(node)
        if group is None:
            return True
        instance = group.instances.get(provider_id(node))
        return instance is not None and instance.is_live

    def instances(self, group_id: str) -> list[GroupInstance]:
        """The group's instances as its API lists them: also those that go, and those that failed."""
        group = self.groups[group_id]
        found = [GroupInstance(one.provider_id, _status(one)) for one in group.instances.values() if not _is_gone(one)]
        failed = [GroupInstance(id, InstanceStatus.CREATING, error) for id, error in group.failed.items()]
        return found + failed

    def node_name(self, instance: Instance) -> str:
        """The name under which its kubelet will register."""
        return self._name_of[instance.provider_id]

    # -- changing -----------------------------------------------------------------------------------

    def increase_size(self, group_id: str, delta: int, now_ms: int) -> None:
        """Raise the target, and buy at once. CloudProviderError: not positive, or above the maximum."""
        group = self.groups[group_id]
        if delta <= 0:
            raise CloudProviderError("size increase must be positive")
        if group.target_size + delta > group.max_size:
            wanted = group.target_size + delta
            raise CloudProviderError(f"size increase too large - desired:{wanted} max:{group.max_size}")
        group.target_size += delta
        self._fill(group, now_ms)

    def decrease_target_size(self, group_id: str, delta: int, now_ms: int) -> None:
        """Lower the target by what has not come. CloudProviderError where machines would have to go for it."""
        group = self.groups[group_id]
        if delta >= 0:
            raise CloudProviderError("size decrease size must be negative")
        existing = len(group.live()) + len(group.failed)
        if group.target_size + delta < existing:
            raise CloudProviderError(
                "attempt to delete existing nodes "
                f"targetSize:{group.target_size} delta:{delta} existingNodes: {existing}"
            )
        group.target_size += delta

    def delete_nodes(self, group_id: str, provider_ids: Sequence[str], now_ms: int) -> None:
        """Give machines back, or forget failed ones; the target goes down with each. All or none.

        CloudProviderError: the group is at its minimum, or one is not of this group.
        """
        group = self.groups[group_id]
        if group.target_size <= group.min_size:
            raise CloudProviderError("min size reached, nodes will not be deleted")
        for id in provider_ids:
            if self._group_of.get(id) != group_id and id not in group.failed:
                raise CloudProviderError(f"{id} belongs to a different asg than {group_id}")
        for id in provider_ids:
            if group.failed.pop(id, None) is not None:
                group.target_size -= 1
                continue
            instance = group.instances[id]
            if instance.is_live:
                self.cloud.terminate(instance.id, now_ms)
                group.target_size -= 1

    def refresh(self, now_ms: int) -> None:
        """Bring every group to its target. Call it each loop, and after machines were taken back."""
        for group in self.groups.values():
            self._fill(group, now_ms)

    def _fill(self, group: NodeGroup, now_ms: int) -> None:
        """Buy what is missing; what could not be bought before is tried again first."""
        in_zones = group.in_zones()
        for id in list(group.failed):
            error = self._buy(group, in_zones, now_ms)
            if error is not None:
                break  # the others ask the same pools
            del group.failed[id]
        for _ in range(group.target_size - sum(in_zones.values()) - len(group.failed)):
            group.launches += 1
            error = self._buy(group, in_zones, now_ms)
            if error is not None:
                group.failed[f"k8slab:///i-placeholder-{group.id}-{group.launches}"] = error

    def _buy(self, group: NodeGroup, in_zones: dict[str, int], now_ms: int) -> InstanceError | None:
        """One more machine, counted in its zone; or why there is none."""
        try:
            instance = self.cloud.launch(group.pools(in_zones), now_ms, {"node-group": group.id}).instance
        except LaunchFailedError as error:
            first = error.errors[0]
            text = f"{first.code}: {first.message}"
            return InstanceError(OUT_OF_RESOURCES, "placeholder-cannot-be-fulfilled", text)
        self._group_of[instance.provider_id] = group.id
        self._name_of[instance.provider_id] = f"{group.id}-{instance.id[-6:].lstrip('0') or '0'}"
        group.instances[instance.provider_id] = instance
        in_zones[instance.zone] += 1
        return None

    def check_invariants(self) -> None:
        """Targets lie between 0 and the maximum, and no group has more than it wants."""
        for group in self.groups.values():
            assert 0 <= group.target_size <= group.max_size, f"{group.id}: target {group.target_size}"
            there = len(group.live()) + len(group.failed)
            assert there <= group.target_size, f"{group.id}: {there} instances, target {group.target_size}"
            for id in group.instances:
                assert self._group_of[id] == group.id, f"{group.id}: {id} is noted for another group"


def _status(instance: Instance) -> InstanceStatus:
    if not instance.is_live:
        return InstanceStatus.DELETING
    return InstanceStatus.CREATING if instance.running_ms is None else InstanceStatus.RUNNING


def _is_gone(instance: Instance) -> bool:
    return instance.terminated_ms is not None
