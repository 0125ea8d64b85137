"""The volume plugins, on manifests: verdicts, texts, hints. Upstream's words and codes; arithmetic beside the cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from k8slab.api.objects import Object
from k8slab.api.persistent_volumes import find_matching_volume
from k8slab.api.scheme import (
    CSIDRIVERS,
    CSINODES,
    CSISTORAGECAPACITIES,
    GVR,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    STORAGECLASSES,
    VOLUMEATTACHMENTS,
)
from k8slab.scheduler import SUCCESS, Code, CycleState, Framework, ObjectLister, Snapshot, Status
from k8slab.scheduler.framework import EventResource, QueueingHint
from tests.scheduling import claim, csi_node, node, pod, profile, storage_class, volume

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"


def with_claims(*names: str, name: str = "web", **more: Any) -> dict[str, Any]:
    volumes = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": n}} for i, n in enumerate(names)]
    return pod(name, volumes=volumes, **more)


def world(*objects: Object) -> dict[GVR, list[Object]]:
    of_kind: dict[str, GVR] = {
        "PersistentVolume": PERSISTENTVOLUMES,
        "PersistentVolumeClaim": PERSISTENTVOLUMECLAIMS,
        "StorageClass": STORAGECLASSES,
        "CSINode": CSINODES,
        "CSIDriver": CSIDRIVERS,
        "CSIStorageCapacity": CSISTORAGECAPACITIES,
        "VolumeAttachment": VOLUMEATTACHMENTS,
    }
    found: dict[GVR, list[Object]] = {}
    for obj in objects:
        found.setdefault(of_kind[obj["kind"]], []).append(obj)
    return found


def framework(*objects: Object, plugins: Sequence[str] = (), args: Any = None) -> Framework:
    chosen = profile(*plugins, args=args) if plugins else None
    return Framework.from_profile(chosen, lister=ObjectLister(world(*objects)))


def verdicts(
    name: str, incoming: Object, nodes: Sequence[Object], objects: Sequence[Object], pods: Sequence[Object] = ()
) -> Status | dict[str, Status]:
    """PreFilter's verdict where it is not Success, or Filter's by Node."""
    made = framework(*objects, plugins=[name])
    snapshot, state = Snapshot.of(nodes, pods), CycleState()
    made.use_snapshot(snapshot)
    plugin: Any = made.plugins[name]
    _, status = plugin.pre_filter(state, incoming, snapshot.nodes)
    if status is not SUCCESS:
        return status  # type: ignore[no-any-return]
    return {info.name: plugin.filter(state, incoming, info) for info in snapshot.nodes}


# -- VolumeRestrictions --------------------------------------------------------------------------------


def disk(kind: str, name: str = "p", node_name: str = "", **source: Any) -> dict[str, Any]:
    return pod(name, node_name=node_name, volumes=[{"name": "d", kind: source}])


@pytest.mark.parametrize(
    ("mine", "theirs", "conflict"),
    [
        pytest.param(
            ("gcePersistentDisk", {"pdName": "d"}),
            ("gcePersistentDisk", {"pdName": "d", "readOnly": True}),
            True,
            id="a GCE disk that one of the two writes is taken",
        ),
        pytest.param(
            ("gcePersistentDisk", {"pdName": "d", "readOnly": True}),
            ("gcePersistentDisk", {"pdName": "d", "readOnly": True}),
            False,
            id="a GCE disk can be read by two Pods",
        ),
        pytest.param(
            ("awsElasticBlockStore", {"volumeID": "v", "readOnly": True}),
            ("awsElasticBlockStore", {"volumeID": "v", "readOnly": True}),
            True,
            id="an EBS volume is taken even if both only read",
        ),
        pytest.param(
            ("awsElasticBlockStore", {"volumeID": "v"}),
            ("awsElasticBlockStore", {"volumeID": "w"}),
            False,
            id="two EBS volumes are no conflict",
        ),
        pytest.param(
            ("iscsi", {"iqn": "q", "lun": 0}),
            ("iscsi", {"iqn": "q", "lun": 1}),
            True,
            id="the same iqn is the same disk",
        ),
        pytest.param(
            ("rbd", {"monitors": ["a", "b"], "pool": "p", "image": "i"}),
            ("rbd", {"monitors": ["b", "c"], "pool": "p", "image": "i"}),
            True,
            id="one common monitor, the same pool and image are the same RBD image",
        ),
        pytest.param(
            ("rbd", {"monitors": ["a"], "pool": "p", "image": "i"}),
            ("rbd", {"monitors": ["b"], "pool": "p", "image": "i"}),
            False,
            id="without a common monitor these are two RBD images",
        ),
        pytest.param(
            ("rbd", {"monitors": ["a"], "pool": "p", "image": "i"}),
            ("rbd", {"monitors": ["a"], "pool": "q", "image": "i"}),
            False,
            id="another pool is another RBD image",
        ),
    ],
)
def test_a_disk_of_one_writer_cannot_be_on_a_node_twice(
    mine: tuple[str, Any], theirs: tuple[str, Any], conflict: bool
) -> None:
    other = disk(theirs[0], "other", "a", **theirs[1])
    found = verdicts("VolumeRestrictions", disk(mine[0], **mine[1]), [node("a"), node("b")], [], [other])
    assert isinstance(found, dict)
    assert found["b"] is SUCCESS
    taken = Status(Code.UNSCHEDULABLE, "node(s) had no available disk", plugin="VolumeRestrictions")
    assert found["a"] == (taken if conflict else SUCCESS)


def test_a_pod_without_disks_and_exclusive_claims_skips() -> None:
    assert verdicts("VolumeRestrictions", pod(), [node("a")], []) == Status(Code.SKIP)
    assert verdicts("VolumeRestrictions", with_claims("data"), [node("a")], [claim("data")]) == Status(Code.SKIP)


def test_a_claim_for_one_pod_is_taken_on_every_node_once_a_pod_has_it() -> None:
    exclusive = claim("data", modes=["ReadWriteOncePod"])
    user = with_claims("data", name="user", node_name="a")
    found = verdicts("VolumeRestrictions", with_claims("data"), [node("a"), node("b")], [exclusive], [user])
    text = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
    in_use = Status(Code.UNSCHEDULABLE, text, plugin="VolumeRestrictions")
    assert found == {"a": in_use, "b": in_use}
    elsewhere = with_claims("data", name="user", node_name="a", namespace="other")
    assert verdicts("VolumeRestrictions", with_claims("data"), [node("a")], [exclusive], [elsewhere]) == Status(
        Code.SKIP
    )


def test_the_user_of_a_claim_for_one_pod_can_be_preempted() -> None:
    objects = [claim("data", "pv", modes=["ReadWriteOncePod"]), volume("pv", claim_ref="data")]
    user = with_claims("data", name="user", node_name="a", priority=1)
    made = framework(*objects)
    result = made.schedule(with_claims("data", priority=2), Snapshot.of([node("a"), node("b")], [user]))
    assert result.post_filter is not None
    assert result.post_filter.nominated_node_name == "a"
    assert [victim.key for victim in result.post_filter.preemption.victims] == ["default/user"]


def test_a_missing_claim_is_upstreams_odd_sentence() -> None:
    result = framework().schedule(with_claims("ghost"), Snapshot.of([node("a"), node("b")]))
    assert result.message == '0/2 nodes are available: persistentvolumeclaim "ghost" not found. not found'
    assert result.diagnosis.unschedulable_plugins == {"VolumeRestrictions": None}


# -- NodeVolumeLimits ----------------------------------------------------------------------------------

EBS = "ebs.csi.aws.com"


def csi_pair(name: str, driver: str = EBS) -> list[Object]:
    return [claim(name, f"pv-{name}"), volume(f"pv-{name}", claim_ref=name, csi=driver)]


@pytest.mark.parametrize(
    ("wanted", "there", "limit", "fits"),
    [
        pytest.param(["x"], ["a", "b"], 3, True, id="the last place of three is free"),
        pytest.param(["x"], ["a", "b", "c"], 3, False, id="a fourth volume is one too many"),
        pytest.param(["x", "y"], ["a", "b"], 3, False, id="two more where one is free are too many"),
        pytest.param(["a"], ["a", "b", "c"], 3, True, id="a volume that is there already counts once"),
        pytest.param(["a", "x"], ["a", "b", "c"], 3, False, id="one that is there and a new one need a place"),
        pytest.param(["x"], [], 0, False, id="a driver that takes none takes none"),
        pytest.param(["x"], ["a"], None, True, id="a driver without a count has no limit"),
    ],
)
def test_a_driver_attaches_as_many_volumes_as_its_csi_node_says(
    wanted: list[str], there: list[str], limit: int | None, fits: bool
) -> None:
    objects = [obj for name in dict.fromkeys([*wanted, *there]) for obj in csi_pair(name)]
    pods = [with_claims(name, name=f"p{name}", node_name="a") for name in there]
    found = verdicts(
        "NodeVolumeLimits",
        with_claims(*wanted),
        [node("a"), node("free")],
        [*objects, csi_node("a", {EBS: limit})],
        pods,
    )
    assert isinstance(found, dict)
    too_many = Status(Code.UNSCHEDULABLE, "node(s) exceed max volume count", plugin="NodeVolumeLimits")
    assert found == {"a": SUCCESS if fits else too_many, "free": SUCCESS}


def test_each_driver_has_a_limit_of_its_own() -> None:
    objects = [*csi_pair("a"), *csi_pair("x", "other.csi"), csi_node("a", {EBS: 1, "other.csi": 1})]
    pods = [with_claims("a", name="pa", node_name="a")]
    assert verdicts("NodeVolumeLimits", with_claims("x"), [node("a")], objects, pods) == {"a": SUCCESS}


def test_a_claim_without_a_volume_counts_by_its_class() -> None:
    waiting = [claim(name, storage_class="slow") for name in ("x", "y")]
    objects = [*waiting, storage_class("slow", provisioner=EBS), csi_node("a", {EBS: 1})]
    one = verdicts("NodeVolumeLimits", with_claims("x"), [node("a")], objects)
    two = verdicts("NodeVolumeLimits", with_claims("x", "y"), [node("a")], objects)
    assert isinstance(one, dict) and isinstance(two, dict)
    assert (one["a"], two["a"].message) == (SUCCESS, "node(s) exceed max volume count")


def test_what_is_still_attached_counts() -> None:
    left = {
        "kind": "VolumeAttachment",
        "metadata": {"name": "left"},
        "spec": {"attacher": EBS, "nodeName": "a", "source": {"persistentVolumeName": "pv-old"}},
    }
    objects = [*csi_pair("x"), *csi_pair("old"), csi_node("a", {EBS: 1})]
    with_it = verdicts("NodeVolumeLimits", with_claims("x"), [node("a")], [*objects, left])
    without = verdicts("NodeVolumeLimits", with_claims("x"), [node("a")], objects)
    assert isinstance(with_it, dict) and isinstance(without, dict)
    assert (with_it["a"].message, without["a"]) == ("node(s) exceed max volume count", SUCCESS)


class CountingLister(ObjectLister):
    """Counts who is asked for."""

    asked: Counter[GVR]

    def list(self, resource: GVR, namespace: str = "") -> Sequence[Object]:
        self.asked[resource] += 1
        return super().list(resource, namespace)

    def get(self, resource: GVR, name: str, namespace: str = "") -> Object | None:
        self.asked[resource] += 1
        return super().get(resource, name, namespace)


def test_what_is_the_same_for_all_nodes_is_worked_out_once() -> None:
    def asked(nodes: int) -> Counter[GVR]:
        names = [f"n{number}" for number in range(nodes)]
        lister = CountingLister(world(*csi_pair("x"), *(csi_node(name, {EBS: 0}) for name in names)))
        lister.asked = Counter()
        made = Framework.from_profile(profile("NodeVolumeLimits"), lister=lister)
        assert not made.schedule(with_claims("x"), Snapshot.of([node(name) for name in names])).node
        return lister.asked

    few, many = asked(2), asked(20)
    assert (few.pop(CSINODES), many.pop(CSINODES)) == (2, 20)
    assert few == many


def test_limits_hold_where_a_profile_leaves_pre_filter_out() -> None:
    chosen = profile("NodeVolumeLimits")
    chosen["plugins"]["preFilter"] = {"disabled": [{"name": "NodeVolumeLimits"}]}
    made = Framework.from_profile(chosen, lister=ObjectLister(world(*csi_pair("x"), csi_node("a", {EBS: 0}))))
    (info,) = Snapshot.of([node("a")]).nodes
    assert made.run_filter(CycleState(), with_claims("x"), info).message == "node(s) exceed max volume count"


# -- VolumeZone ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_volume", "of_node", "fits"),
    [
        pytest.param({ZONE: "z1"}, {ZONE: "z1"}, True, id="the same zone"),
        pytest.param({ZONE: "z1"}, {ZONE: "z2"}, False, id="another zone"),
        pytest.param({ZONE: "z1__z2"}, {ZONE: "z2"}, True, id="one of several zones"),
        pytest.param({BETA_ZONE: "z1"}, {ZONE: "z1"}, True, id="a beta label is matched by the GA label"),
        pytest.param({ZONE: "z1"}, {BETA_ZONE: "z1"}, False, id="a GA label is not matched by the beta label"),
        pytest.param({ZONE: "z1"}, {}, True, id="a node without zone and region takes every volume"),
        pytest.param(
            {ZONE: "z1"}, {"topology.kubernetes.io/region": "r"}, False, id="a node with a region only is no such node"
        ),
        pytest.param({ZONE: "z1__"}, {ZONE: "z2"}, None, id="a label with an empty zone is ignored"),
    ],
)
def test_a_volume_is_used_in_its_zone(of_volume: Mapping[str, str], of_node: dict[str, str], fits: bool | None) -> None:
    objects = [claim("data", "pv"), volume("pv", claim_ref="data", labels=dict(of_volume))]
    found = verdicts("VolumeZone", with_claims("data"), [node("a", labels=of_node)], objects)
    conflict = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had no available volume zone", plugin="VolumeZone")
    assert found == (Status(Code.SKIP) if fits is None else {"a": SUCCESS if fits else conflict})


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param([claim("data")], "PersistentVolumeClaim had no pv name and storageClass name", id="no class"),
        pytest.param(
            [claim("data", storage_class="gone")], 'storageclass.storage.k8s.io "gone" not found', id="an unknown class"
        ),
        pytest.param(
            [claim("data", storage_class="now"), storage_class("now", mode="Immediate")],
            "PersistentVolume had no name",
            id="a class that binds at once, and has not",
        ),
        pytest.param([claim("data", "pv")], 'persistentvolume "pv" not found', id="a volume that is gone"),
    ],
)
def test_the_zone_of_an_unbound_claim_is_unknown(objects: list[Object], text: str) -> None:
    found = verdicts("VolumeZone", with_claims("data"), [node("a")], objects)
    assert found == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)


def test_a_claim_that_waits_for_its_consumer_has_no_zone_yet() -> None:
    objects = [claim("data", storage_class="late"), storage_class("late")]
    assert verdicts("VolumeZone", with_claims("data"), [node("a")], objects) == Status(Code.SKIP)


# -- VolumeBinding: PreFilter --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param([], 'persistentvolumeclaim "data" not found', id="a claim that is not there"),
        pytest.param(
            [claim("data", "pv", phase="Lost")],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
            id="a claim that lost its volume",
        ),
        pytest.param(
            [claim("data", "pv", deletionTimestamp="2026-01-01T00:00:00Z")],
            'persistentvolumeclaim "data" is being deleted',
            id="a claim on its way out",
        ),
        pytest.param(
            [claim("data")],
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim that binds at once, and has not",
        ),
        pytest.param(
            [{**claim("data", "pv"), "metadata": {"name": "data", "namespace": "default"}}],
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim with a volume that the PV controller has not confirmed",
        ),
    ],
)
def test_claims_that_no_node_can_help_are_unresolvable(objects: list[Object], text: str) -> None:
    found = verdicts("VolumeBinding", with_claims("data"), [node("a")], objects)
    assert found == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)


def test_the_whole_sentence_of_an_unbound_claim() -> None:
    result = framework(claim("data")).schedule(with_claims("data"), Snapshot.of([node("a")]))
    assert result.message == ("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found")


def test_a_generic_ephemeral_volume_waits_for_its_claim_and_wants_its_own() -> None:
    incoming = pod(volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}])
    text = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-scratch"'
    assert verdicts("VolumeBinding", incoming, [node("a")], []) == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)
    foreign = verdicts("VolumeBinding", incoming, [node("a")], [claim("web-scratch", "pv")])
    assert foreign == Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        "PVC default/web-scratch was not created for pod default/web (pod is not owner)",
    )
    owned = claim("web-scratch", "pv", ownerReferences=[{"controller": True, "uid": incoming["metadata"]["uid"]}])
    found = verdicts("VolumeBinding", incoming, [node("a")], [owned, volume("pv")])
    assert found == {"a": SUCCESS}


# -- VolumeBinding: Filter -----------------------------------------------------------------------------

UNRESOLVABLE = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
NO_MATCH = "node(s) didn't find available persistent volumes to bind"
SPACE = "node(s) did not have enough free storage"
GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
Z1, Z2 = node("a", labels={ZONE: "z1"}), node("b", labels={ZONE: "z2"})


def reasons(incoming: Object, *objects: Object) -> dict[str, tuple[str, ...]]:
    found = verdicts("VolumeBinding", incoming, [Z1, Z2], objects)
    assert isinstance(found, dict), found
    assert {status.code for status in found.values()} <= {Code.SUCCESS, UNRESOLVABLE}
    return {name: status.reasons for name, status in found.items()}


def test_a_bound_volume_holds_the_pod_where_it_is() -> None:
    objects = [claim("data", "pv"), volume("pv", claim_ref="data", zones=["z1"])]
    assert reasons(with_claims("data"), *objects) == {"a": (), "b": (AFFINITY,)}


def test_a_bound_volume_that_is_gone() -> None:
    assert reasons(with_claims("data"), claim("data", "pv")) == {"a": (GONE,), "b": (GONE,)}


def test_an_unbound_claim_goes_where_a_volume_is() -> None:
    late = storage_class("late", provisioner="kubernetes.io/no-provisioner")
    objects = [claim("data", storage_class="late"), late, volume("pv", zones=["z1"], storage_class="late")]
    assert reasons(with_claims("data"), *objects) == {"a": (), "b": (NO_MATCH,)}


def test_two_claims_of_a_pod_do_not_share_a_volume() -> None:
    late = storage_class("late", provisioner="kubernetes.io/no-provisioner")
    claims = [claim("small", storage_class="late", size="1Gi"), claim("large", storage_class="late", size="5Gi")]
    one = volume("pv", zones=["z1"], storage_class="late", size="9Gi")
    assert reasons(with_claims("small", "large"), *claims, late, one)["a"] == (NO_MATCH,)
    another = volume("pv2", zones=["z1"], storage_class="late", size="2Gi")
    assert reasons(with_claims("small", "large"), *claims, late, one, another)["a"] == ()


def test_a_provisioner_makes_volumes_where_its_class_allows() -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z2", "z3"]}]}]
    objects = [claim("data", storage_class="late"), storage_class("late", allowedTopologies=allowed)]
    assert reasons(with_claims("data"), *objects) == {"a": (NO_MATCH,), "b": ()}


def test_a_claim_told_its_node_stays_there() -> None:
    objects = [claim("data", storage_class="late", selected="b"), storage_class("late")]
    assert reasons(with_claims("data"), *objects) == {"a": (NO_MATCH,), "b": ()}


def test_a_driver_that_publishes_its_capacity_is_asked() -> None:
    driver = {"kind": "CSIDriver", "metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": True}}

    def left(name: str, zone: str, **amounts: str) -> Object:
        return {
            "kind": "CSIStorageCapacity",
            "metadata": {"name": name, "namespace": "kube-system"},
            "storageClassName": "late",
            "nodeTopology": {"matchLabels": {ZONE: zone}},
            **amounts,
        }

    objects = [claim("data", storage_class="late", size="5Gi"), storage_class("late"), driver]
    much, little = left("much", "z1", capacity="50Gi"), left("little", "z2", capacity="50Gi", maximumVolumeSize="4Gi")
    assert reasons(with_claims("data"), *objects, much, little) == {"a": (), "b": (SPACE,)}
    assert reasons(with_claims("data"), *objects) == {"a": (SPACE,), "b": (SPACE,)}
    silent = {**driver, "spec": {"storageCapacity": False}}
    assert reasons(with_claims("data"), *objects[:2], silent) == {"a": (), "b": ()}


def test_a_bound_and_an_unbound_claim_give_two_reasons() -> None:
    objects = [
        claim("data", "pv"),
        volume("pv", claim_ref="data", zones=["z1"]),
        claim("log", storage_class="late"),
        storage_class("late", provisioner="kubernetes.io/no-provisioner"),
    ]
    assert reasons(with_claims("data", "log"), *objects) == {"a": (NO_MATCH,), "b": (AFFINITY, NO_MATCH)}


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        pytest.param({ZONE: "z1"}, "near", id="the smallest that the node may use"),
        pytest.param({ZONE: "z2"}, "far", id="on another node another one"),
        pytest.param({ZONE: "z3"}, None, id="on a third none"),
    ],
)
def test_matching_looks_at_the_node(labels: dict[str, str], found: str | None) -> None:
    volumes = [
        volume("large", zones=["z1"], size="9Gi"),
        volume("near", zones=["z1"], size="5Gi"),
        volume("far", zones=["z2"], size="7Gi"),
        volume("shared", zones=["z1"], size="3Gi", modes=["ReadWriteMany"]),
    ]
    match = find_matching_volume(claim("data", size="2Gi"), volumes, node_labels=labels)
    assert (match and match["metadata"]["name"]) == found


def test_a_selector_that_does_not_parse_is_an_error_that_names_the_claim() -> None:
    late = storage_class("late")
    wrong = claim("data", storage_class="late")
    wrong["spec"]["selector"] = {"matchExpressions": [{"key": "k", "operator": "Near"}]}
    found = verdicts(
        "VolumeBinding", with_claims("data"), [node("a")], [wrong, late, volume("pv", storage_class="late")]
    )
    assert isinstance(found, dict)
    assert found["a"].code is Code.ERROR
    assert found["a"].message.startswith("error creating internal label selector for claim: default/data: ")


# -- VolumeBinding: Reserve ----------------------------------------------------------------------------


def reserved(*objects: Object, incoming: Object) -> tuple[Any, CycleState, Framework]:
    made = framework(*objects, plugins=["VolumeBinding"])
    snapshot, state = Snapshot.of([Z1, Z2]), CycleState()
    made.run_pre_filter(state, incoming, snapshot.nodes)
    for info in snapshot.nodes:
        made.run_filter(state, incoming, info)
    assert made.run_reserve(state, incoming, "a") is SUCCESS
    return made.plugins["VolumeBinding"], state, made


def test_reserve_takes_a_volume_and_unreserve_gives_it_back() -> None:
    late = storage_class("late", provisioner="kubernetes.io/no-provisioner")
    objects = [
        claim("data", storage_class="late"),
        claim("other", storage_class="late"),
        late,
        volume("pv", storage_class="late"),
    ]
    incoming = with_claims("data")
    plugin, state, made = reserved(*objects, incoming=incoming)
    taken = plugin.binder.volumes.get("pv")
    assert taken["spec"]["claimRef"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "data",
        "uid": "uid-data",
        "resourceVersion": "",
    }
    assert taken["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert plugin.binder.volumes.view() == {"pv": "assumed"}
    snapshot = Snapshot.of([Z1, Z2])
    # While it is taken, a second Pod finds nothing.
    assert made.schedule(with_claims("other", name="second"), snapshot).diagnosis.node_to_status.get("a").reasons == (
        NO_MATCH,
    )
    for _ in range(2):
        made.run_unreserve(state, incoming, "a")
        assert "claimRef" not in plugin.binder.volumes.get("pv")["spec"]
    assert made.schedule(with_claims("other", name="second"), snapshot).node in ("a", "b")


def test_reserve_tells_the_provisioner_the_node() -> None:
    plugin, state, made = reserved(
        claim("data", storage_class="late"), storage_class("late"), incoming=with_claims("data")
    )
    claims = plugin.binder.claims
    assert claims.get("data", "default")["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "a"
    assert plugin.pre_bind_pre_flight(state, with_claims("data"), "a") is SUCCESS
    made.run_unreserve(state, with_claims("data"), "a")
    assert claims.view() == {}


def test_with_all_claims_bound_there_is_nothing_to_write() -> None:
    incoming = with_claims("data")
    plugin, state, _ = reserved(claim("data", "pv"), volume("pv", claim_ref="data"), incoming=incoming)
    assert plugin.binder.volumes.view() == {}
    assert plugin.pre_bind_pre_flight(state, incoming, "a") == Status(Code.SKIP)


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        ("VolumeBinding", 'running "VolumeBinding" filter plugin: not found'),
        (
            "VolumeRestrictions",
            'running "VolumeRestrictions" filter plugin: cannot read "PreFilterVolumeRestrictions" from cycleState',
        ),
        ("VolumeZone", "node(s) had no available volume zone"),
        ("NodeVolumeLimits", ""),
    ],
)
def test_a_profile_may_leave_pre_filter_out_and_gets_upstreams_answer(plugin: str, message: str) -> None:
    objects = [claim("data", "pv"), volume("pv", claim_ref="data", labels={ZONE: "z9"})]
    chosen = profile(plugin)
    chosen["plugins"]["preFilter"] = {"disabled": [{"name": plugin}]}
    made = Framework.from_profile(chosen, lister=ObjectLister(world(*objects)))
    snapshot = Snapshot.of([Z1])
    made.use_snapshot(snapshot)
    assert made.run_filter(CycleState(), with_claims("data"), snapshot.nodes[0]).message == message


def test_reserve_and_pre_bind_without_a_state_say_so() -> None:
    made = framework(plugins=["VolumeBinding"])
    assert made.run_reserve(CycleState(), pod(), "a").message == 'running Reserve plugin "VolumeBinding": not found'
    made.run_unreserve(CycleState(), pod(), "a")
    plugin: Any = made.plugins["VolumeBinding"]
    assert plugin.pre_bind_pre_flight(CycleState(), pod(), "a") == Status(Code.ERROR, "not found")


def test_a_bad_timeout_names_the_field() -> None:
    with pytest.raises(ValueError, match="bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds"):
        framework(plugins=["VolumeBinding"], args={"VolumeBinding": {"bindTimeoutSeconds": -1}})


# -- hints ---------------------------------------------------------------------------------------------


def hint(plugin: str, resource: EventResource, old: Object | None, new: Object | None) -> str:
    """What the plugin says of one change, for a Pod with the claim `data`. "always": it asks no further."""
    made = framework(plugins=[plugin]).plugins[plugin]
    found = [entry.hint for entry in made.events_to_register() if entry.event.resource is resource]  # type: ignore[attr-defined]
    assert found, f"{plugin} does not hear of {resource}"
    call = found[-1]
    return "always" if call is None else str(call(with_claims("data"), old, new))


SKIP_IT, QUEUE_IT = str(QueueingHint.QUEUE_SKIP), str(QueueingHint.QUEUE)
PVC, PV = EventResource.PERSISTENT_VOLUME_CLAIM, EventResource.PERSISTENT_VOLUME
SC, CSINODE, CAPACITY = EventResource.STORAGE_CLASS, EventResource.CSI_NODE, EventResource.CSI_STORAGE_CAPACITY
GONE_POD = EventResource.ASSIGNED_POD
USER = with_claims("data", name="user", node_name="a")
TOPOLOGY = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z1"]}]}]


@pytest.mark.parametrize(
    ("plugin", "resource", "old", "new", "said"),
    [
        pytest.param("VolumeRestrictions", PVC, None, claim("data"), QUEUE_IT, id="restrictions: its claim"),
        pytest.param("VolumeRestrictions", PVC, None, claim("other"), SKIP_IT, id="restrictions: another's claim"),
        pytest.param("VolumeRestrictions", GONE_POD, USER, None, QUEUE_IT, id="restrictions: the claim's user left"),
        pytest.param("VolumeRestrictions", GONE_POD, pod("x"), None, SKIP_IT, id="restrictions: some Pod left"),
        pytest.param("NodeVolumeLimits", GONE_POD, USER, None, QUEUE_IT, id="limits: a Pod with claims left its node"),
        pytest.param("NodeVolumeLimits", GONE_POD, pod("x", node_name="a"), None, SKIP_IT, id="limits: one without"),
        pytest.param(
            "NodeVolumeLimits", CSINODE, csi_node("a", {EBS: 1}), csi_node("a", {EBS: 2}), QUEUE_IT, id="limits: raised"
        ),
        pytest.param(
            "NodeVolumeLimits", CSINODE, csi_node("a", {EBS: 2}), csi_node("a", {EBS: 1}), SKIP_IT, id="limits: lowered"
        ),
        pytest.param(
            "NodeVolumeLimits", EventResource.VOLUME_ATTACHMENT, {"spec": {}}, None, QUEUE_IT, id="limits: detached"
        ),
        pytest.param("VolumeZone", PVC, claim("data"), claim("data", "pv"), QUEUE_IT, id="zone: its claim is bound"),
        pytest.param("VolumeZone", PV, None, volume("pv"), QUEUE_IT, id="zone: a new volume"),
        pytest.param("VolumeZone", PV, volume("pv"), volume("pv", size="9Gi"), SKIP_IT, id="zone: the same labels"),
        pytest.param(
            "VolumeZone", PV, volume("pv"), volume("pv", labels={ZONE: "z"}), QUEUE_IT, id="zone: another label"
        ),
        pytest.param("VolumeZone", SC, None, storage_class("late"), QUEUE_IT, id="zone: a class that waits"),
        pytest.param(
            "VolumeZone", SC, None, storage_class("now", mode="Immediate"), SKIP_IT, id="zone: one that binds"
        ),
        pytest.param("VolumeBinding", PV, None, volume("pv"), "always", id="binding: any volume"),
        pytest.param("VolumeBinding", PVC, claim("data"), claim("data", "pv"), QUEUE_IT, id="binding: its claim"),
        pytest.param("VolumeBinding", PVC, claim("x"), claim("x", "pv"), SKIP_IT, id="binding: another's claim"),
        pytest.param("VolumeBinding", SC, None, storage_class("late"), QUEUE_IT, id="binding: a new class"),
        pytest.param(
            "VolumeBinding", SC, storage_class("late"), storage_class("late"), SKIP_IT, id="binding: the same class"
        ),
        pytest.param(
            "VolumeBinding",
            SC,
            storage_class("late"),
            storage_class("late", allowedTopologies=TOPOLOGY),
            QUEUE_IT,
            id="binding: other topologies",
        ),
        pytest.param(
            "VolumeBinding", CAPACITY, {"capacity": "1Gi"}, {"capacity": "2Gi"}, QUEUE_IT, id="binding: space"
        ),
        pytest.param("VolumeBinding", CAPACITY, {"capacity": "2Gi"}, {"capacity": "1Gi"}, SKIP_IT, id="binding: less"),
    ],
)
def test_only_a_change_that_may_help_brings_the_pod_back(
    plugin: str, resource: EventResource, old: Object | None, new: Object | None, said: str
) -> None:
    assert hint(plugin, resource, old, new) == said
