"""Verdicts and scores of single plugins. Numbers are worked out by hand beside the cases."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.scheduler import SUCCESS, Code, CycleState, Framework, NodeInfo, Snapshot, Status
from k8slab.scheduler.framework import QueueingHint
from tests.scheduling import node, pod, profile

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NO_SCHEDULE = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def plugin(name: str, args: dict[str, Any] | None = None, release: str = "1.36") -> Any:
    config = {name: args} if args else {}
    return Framework.from_profile(profile(name, args=config), features=FeatureGates(release)).plugins[name]


def filtered(name: str, incoming: Object, target: NodeInfo, args: dict[str, Any] | None = None) -> Status:
    """PreFilter and Filter of one plugin on one Node."""
    subject, state = plugin(name, args), CycleState()
    if hasattr(subject, "pre_filter"):
        _, status = subject.pre_filter(state, incoming, [target])
        if status is not SUCCESS:
            return status  # type: ignore[no-any-return]
    return subject.filter(state, incoming, target)  # type: ignore[no-any-return]


def scored(
    name: str, incoming: Object, target: NodeInfo, args: dict[str, Any] | None = None, release: str = "1.36"
) -> int | str:
    """PreScore and Score of one plugin on one Node; "Skip" when PreScore says so."""
    subject, state = plugin(name, args, release), CycleState()
    status = subject.pre_score(state, incoming, [target])
    return subject.score(state, incoming, target) if status is SUCCESS else str(status.code)


# -- NodeResourcesFit ----------------------------------------------------------------------------------

EMPTY = NodeInfo.of(node("n", cpu="2", memory="2Gi"))
BUSY = NodeInfo.of(node("n", cpu="2", memory="2Gi"), [pod("a", "1500m", "1Gi")])


@pytest.mark.parametrize(
    ("incoming", "target", "code", "reasons"),
    [
        pytest.param(pod(cpu="2", memory="2Gi"), EMPTY, Code.SUCCESS, (), id="a pod as large as the node fits"),
        pytest.param(
            pod(cpu="500m", memory="1Gi"), BUSY, Code.SUCCESS, (), id="the rest of a busy node can be used up exactly"
        ),
        pytest.param(
            pod(cpu="501m"),
            BUSY,
            Code.UNSCHEDULABLE,
            ("Insufficient cpu",),
            id="too much for now is unschedulable, since others may leave",
        ),
        pytest.param(
            pod(cpu="2001m"),
            EMPTY,
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            ("Insufficient cpu",),
            id="more than the node has is unresolvable, since nobody's leaving helps",
        ),
        pytest.param(
            pod(cpu="1", memory="3Gi"),
            BUSY,
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            ("Insufficient cpu", "Insufficient memory"),
            id="one hopeless resource makes the whole verdict unresolvable",
        ),
        pytest.param(
            pod(cpu=None, memory=None),
            NodeInfo.of(node("n", pods="1"), [pod("a")]),
            Code.UNSCHEDULABLE,
            ("Too many pods",),
            id="a pod that asks for nothing still needs a place among the pods",
        ),
        pytest.param(
            pod(cpu=None, memory=None),
            NodeInfo.of(node("n", cpu="1"), [pod("a", "1")]),
            Code.SUCCESS,
            (),
            id="a pod that asks for nothing fits on a full node",
        ),
    ],
)
def test_fit(incoming: Object, target: NodeInfo, code: Code, reasons: tuple[str, ...]) -> None:
    status = filtered("NodeResourcesFit", incoming, target)
    assert (status.code, status.reasons) == (code, reasons)


def gpu_pod(amount: str) -> Object:
    wanted = pod(cpu=None, memory=None)
    wanted["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = amount
    return wanted


def test_extended_resources_count_by_name_unless_they_are_ignored() -> None:
    bare = NodeInfo.of(node("n"))
    assert filtered("NodeResourcesFit", gpu_pod("1"), bare).reasons == ("Insufficient example.com/gpu",)
    assert filtered("NodeResourcesFit", gpu_pod("1"), NodeInfo.of(node("n", example_com__gpu="1"))) is SUCCESS
    assert filtered("NodeResourcesFit", gpu_pod("0"), bare) is SUCCESS
    ignored = {"ignoredResources": ["example.com/gpu"]}
    assert filtered("NodeResourcesFit", gpu_pod("1"), bare, ignored) is SUCCESS
    assert filtered("NodeResourcesFit", gpu_pod("1"), bare, {"ignoredResourceGroups": ["example.com"]}) is SUCCESS


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        # The node has 4000m and 10000 B; 3000m and 5000 B would be used: 25 % and 50 % free, 75 % and 50 % used.
        pytest.param({"type": "LeastAllocated"}, 37, id="least allocated: (25 + 50) / 2, cut off"),
        pytest.param({"type": "MostAllocated"}, 62, id="most allocated: (75 + 50) / 2, cut off"),
        pytest.param(
            {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]},
            31,
            id="least allocated with weights: (3 * 25 + 50) / 4, cut off",
        ),
        pytest.param(
            {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {
                    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
                },
            },
            63,
            id="ratio, rising: (75 + 50) / 2, rounded",
        ),
        pytest.param(
            {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {
                    "shape": [{"utilization": 50, "score": 0}, {"utilization": 75, "score": 10}]
                },
            },
            100,
            id="ratio: a resource that scores 0 (memory at 50 %) is left out of the mean",
        ),
    ],
)
def test_scoring_strategies(strategy: dict[str, Any], expected: int) -> None:
    target = NodeInfo.of(node("n", cpu="4000m", memory="10000"))
    assert (
        scored("NodeResourcesFit", pod(cpu="3000m", memory="5000"), target, {"scoringStrategy": strategy}) == expected
    )


def test_a_node_over_its_capacity_scores_0_by_least_and_100_by_most_allocated() -> None:
    # Neighbours without requests count as 100m and 200Mi each, which can come to more than there is.
    crowd = [pod(f"p{i}", None, None) for i in range(12)]
    target = NodeInfo.of(node("n", cpu="1", memory="1Gi"), crowd)
    assert scored("NodeResourcesFit", pod(), target) == 0
    assert scored("NodeResourcesFit", pod(), target, {"scoringStrategy": {"type": "MostAllocated"}}) == 100


@pytest.mark.parametrize(
    ("args", "text"),
    [
        pytest.param(
            {"scoringStrategy": {"type": "Random"}},
            'scoringStrategy.type: Unsupported value: "Random": supported values: "LeastAllocated", ',
            id="an unknown strategy",
        ),
        pytest.param(
            {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {}}},
            "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified",
            id="a shape without points",
        ),
        pytest.param(
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}},
            "Invalid value: 101: resource weight of cpu not in valid range (0, 100]",
            id="a weight above 100",
        ),
    ],
)
def test_malformed_arguments_are_refused_by_name(args: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=r"scoringStrategy|resources") as error:
        plugin("NodeResourcesFit", args)
    assert text in str(error.value)


# -- BalancedAllocation --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "cpu", "memory", "there", "expected"),
    [
        # Fractions with the pod 1/4 and 1/4: no deviation before or after.
        pytest.param("1.35", "1", "2Gi", [], 100, id="1.35: an even use is 100"),
        pytest.param("1.36", "1", "2Gi", [], 75, id="1.36: no change is 75"),
        # Fractions 1/2 and 0: deviation 1/4, balance 75; before it was 100.
        pytest.param("1.35", "2", "0", [], 75, id="1.35: half the CPU alone is 75"),
        pytest.param("1.36", "2", "0", [], 62, id="1.36: making it worse by 25 costs 12 and a half"),
        # CPU 1/2 is used already; the pod takes half the memory: 75 before, 100 after.
        pytest.param("1.36", "0", "4Gi", [("2", "0")], 87, id="1.36: evening it out by 25 gains 12 and a half"),
    ],
)
def test_balance(release: str, cpu: str, memory: str, there: list[tuple[str, str]], expected: int) -> None:
    neighbours = [pod(f"n{i}", c, m) for i, (c, m) in enumerate(there)]
    target = NodeInfo.of(node("n", cpu="4", memory="8Gi"), neighbours)
    assert scored("NodeResourcesBalancedAllocation", pod(cpu=cpu, memory=memory), target, release=release) == expected


@pytest.mark.parametrize(("release", "expected"), [("1.32", 100), ("1.33", "Skip"), ("1.36", "Skip")])
def test_balance_is_skipped_for_a_pod_that_asks_for_nothing(release: str, expected: object) -> None:
    """Upstream: since 1.33 (PR 130260)."""
    idle = pod(cpu=None, memory=None)
    assert scored("NodeResourcesBalancedAllocation", idle, EMPTY, release=release) == expected


# -- taints, cordons, names, ports -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tolerations", "passes"),
    [
        pytest.param([], False, id="without toleration the taint keeps the pod away"),
        pytest.param([{"operator": "Exists"}], True, id="an empty key with Exists tolerates everything"),
        pytest.param([{"key": "dedicated", "value": "gpu"}], True, id="Equal is the default, and any effect"),
        pytest.param([{"key": "dedicated", "value": "cpu"}], False, id="another value does not match"),
        pytest.param(
            [{"key": "dedicated", "value": "gpu", "effect": "NoExecute"}], False, id="another effect does not match"
        ),
    ],
)
def test_taints(tolerations: list[dict[str, str]], passes: bool) -> None:
    tainted = NodeInfo.of(node("n", taints=[NO_SCHEDULE]))
    status = filtered("TaintToleration", pod(tolerations=tolerations), tainted)
    assert status.reasons == (() if passes else ("node(s) had untolerated taint(s)",))


def test_prefer_no_schedule_taints_cost_points_and_are_no_reason_to_stay_away() -> None:
    preference = {"key": "slow", "effect": "PreferNoSchedule"}
    slow = NodeInfo.of(node("n", taints=[preference]))
    assert filtered("TaintToleration", pod(), slow) is SUCCESS
    assert scored("TaintToleration", pod(), slow) == 1
    assert scored("TaintToleration", pod(tolerations=[{"key": "slow", "operator": "Exists"}]), slow) == 0
    subject = plugin("TaintToleration")
    assert subject.normalize_score(CycleState(), pod(), [], [0, 1, 2]) == [100, 50, 0]
    assert subject.normalize_score(CycleState(), pod(), [], [0, 0]) == [100, 100]


def test_a_cordoned_node_takes_only_pods_that_tolerate_the_cordon() -> None:
    cordoned = NodeInfo.of(node("n", unschedulable=True))
    key = "node.kubernetes.io/unschedulable"
    assert filtered("NodeUnschedulable", pod(), cordoned).reasons == ("node(s) were unschedulable",)
    assert filtered("NodeUnschedulable", pod(tolerations=[{"key": key, "operator": "Exists"}]), cordoned) is SUCCESS
    with_value = pod(tolerations=[{"key": key, "value": "x"}])
    assert filtered("NodeUnschedulable", with_value, cordoned).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def test_node_name_is_the_only_node_that_will_do() -> None:
    assert filtered("NodeName", pod(node_name="n"), EMPTY) is SUCCESS
    assert filtered("NodeName", pod(node_name="m"), EMPTY).reasons == ("node(s) didn't match the requested node name",)


@pytest.mark.parametrize(
    ("used", "wanted", "conflict"),
    [
        pytest.param({}, {}, True, id="the same port of all addresses"),
        pytest.param({"hostIP": "127.0.0.1"}, {"hostIP": "10.0.0.1"}, False, id="the same port of two addresses"),
        pytest.param({"hostIP": "127.0.0.1"}, {}, True, id="all addresses include the one in use"),
        pytest.param({}, {"hostIP": "127.0.0.1"}, True, id="one address of all that are in use"),
        pytest.param({"protocol": "UDP"}, {}, False, id="another protocol"),
    ],
)
def test_host_ports(used: dict[str, str], wanted: dict[str, str], conflict: bool) -> None:
    there, incoming = pod("there", host_port=80), pod("new", host_port=80)
    there["spec"]["containers"][0]["ports"][0].update(used)
    incoming["spec"]["containers"][0]["ports"][0].update(wanted)
    status = filtered("NodePorts", incoming, NodeInfo.of(node("n"), [there]))
    assert (status.code is Code.UNSCHEDULABLE) == conflict


def test_ports_of_the_container_alone_are_no_host_ports() -> None:
    assert filtered("NodePorts", pod(), EMPTY).code is Code.SKIP


# -- NodeAffinity -----------------------------------------------------------------------------------------


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def named(*names: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}


def test_terms_that_name_nodes_narrow_the_nodes() -> None:
    subject = plugin("NodeAffinity")
    result, status = subject.pre_filter(CycleState(), pod(affinity=required(named("a"), named("b"))), [])
    assert (sorted(result.node_names), status) == (["a", "b"], SUCCESS)
    _, status = subject.pre_filter(CycleState(), pod(affinity=required(named("a", "b"))), [])
    assert (status.code, status.reasons) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("pod affinity terms conflict",))
    open_term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    result, _ = subject.pre_filter(CycleState(), pod(affinity=required(named("a"), open_term)), [])
    assert result is None


def test_added_affinity_is_asked_before_the_pods_own() -> None:
    zone_a = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    args = {"addedAffinity": required(zone_a)["nodeAffinity"]}
    there, elsewhere = (NodeInfo.of(node("n", labels={"zone": zone})) for zone in ("a", "b"))
    assert filtered("NodeAffinity", pod(), there, args) is SUCCESS
    assert filtered("NodeAffinity", pod(nodeSelector={"disk": "ssd"}), there, args).reasons == (
        "node(s) didn't match Pod's node affinity/selector",
    )
    assert filtered("NodeAffinity", pod(nodeSelector={"disk": "ssd"}), elsewhere, args).reasons == (
        "node(s) didn't match scheduler-enforced node affinity",
    )


def test_added_affinity_with_an_unknown_operator_is_refused() -> None:
    broken = {"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]}
    with pytest.raises(ValueError, match=r"addedAffinity.*Unsupported value"):
        plugin("NodeAffinity", {"addedAffinity": required(broken)["nodeAffinity"]})


# -- queueing hints ---------------------------------------------------------------------------------------


def hints(name: str, rejected: Object, old: Object | None, new: Object | None) -> list[QueueingHint]:
    """The answers of all hints of a plugin, in the order they are registered."""
    return [e.hint(rejected, old, new) for e in plugin(name).events_to_register() if e.hint is not None]


@pytest.mark.parametrize(
    ("name", "rejected", "old", "new", "helps"),
    [
        pytest.param("NodeResourcesFit", pod(cpu="2"), None, node("n", "1"), False, id="a new node that is too small"),
        pytest.param("NodeResourcesFit", pod(cpu="2"), None, node("n", "2"), True, id="a new node that suffices"),
        pytest.param(
            "NodeResourcesFit", pod(cpu="2"), node("n", "2"), node("n", "2"), False, id="a node that stays as it was"
        ),
        pytest.param(
            "NodeResourcesFit", pod(cpu="2"), node("n", "1"), node("n", "3"), True, id="a node that grew large enough"
        ),
        pytest.param(
            "TaintToleration", pod(), node("n", taints=[NO_SCHEDULE]), node("n"), True, id="a taint that was removed"
        ),
        pytest.param("TaintToleration", pod(), node("n"), node("n"), False, id="a node that never had a taint"),
        pytest.param(
            "NodeUnschedulable", pod(), node("n", unschedulable=True), node("n"), True, id="a node that was uncordoned"
        ),
        pytest.param(
            "NodeAffinity",
            pod(nodeSelector={"disk": "ssd"}),
            node("n"),
            node("n", labels={"disk": "ssd"}),
            True,
            id="a node that got the label",
        ),
        pytest.param(
            "NodeAffinity",
            pod(nodeSelector={"disk": "ssd"}),
            node("n"),
            node("n", labels={"disk": "hdd"}),
            False,
            id="a node that got another label",
        ),
    ],
)
def test_node_changes_that_help_and_that_do_not(
    name: str, rejected: Object, old: Object | None, new: Object | None, helps: bool
) -> None:
    index = {"NodeResourcesFit": 2}.get(name, 0)
    assert hints(name, rejected, old, new)[index] is (QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP)


def test_a_deleted_pod_helps_against_a_port_conflict_only_by_its_ports() -> None:
    waiting = pod("waiting", host_port=80)
    assert hints("NodePorts", waiting, pod("a", node_name="n", host_port=80), None) == [QueueingHint.QUEUE]
    assert hints("NodePorts", waiting, pod("a", node_name="n", host_port=81), None) == [QueueingHint.QUEUE_SKIP]
    assert hints("NodePorts", waiting, pod("a", host_port=80), None) == [QueueingHint.QUEUE_SKIP]


# -- ImageLocality -------------------------------------------------------------------------------------

MB = 1024 * 1024


def using(*images: str, init: str = "", volume: str = "") -> Object:
    """A Pod with a container for each image."""
    spec: dict[str, Any] = {"containers": [{"image": image} for image in images]}
    if init:
        spec["initContainers"] = [{"image": init}]
    if volume:
        spec["volumes"] = [{"name": "v", "image": {"reference": volume}}, {"name": "w", "emptyDir": {}}]
    return {"metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize(
    ("incoming", "images", "score"),
    [
        pytest.param(using("app:1"), {"app:1": 23 * MB}, 0, id="23 MB are as good as nothing"),
        pytest.param(using("app:1"), {"app:1": 1000 * MB}, 100, id="1,000 MB are as good as it gets"),
        pytest.param(using("app:1"), {"app:1": 5000 * MB}, 100, id="more than 1,000 MB are no better"),
        # 100 * (512 - 23) / (1000 - 23) = 50.05
        pytest.param(using("app"), {"app:latest": 512 * MB}, 50, id="an image without a tag is the latest one"),
        pytest.param(using("reg:5000/app"), {"reg:5000/app:latest": 512 * MB}, 50, id="a port is no tag"),
        # 100 * (1000 - 23) / (2000 - 23) = 49.4
        pytest.param(using("app:1", "db:1"), {"app:1": 1000 * MB}, 49, id="two containers may fill 2,000 MB"),
        pytest.param(using("app:1", init="db:1"), {"app:1": 1000 * MB}, 49, id="an init container counts too"),
        # 100 * (500 + 200 - 23) / (1000 - 23) = 69.3
        pytest.param(
            using("app:1", volume="data:1"),
            {"app:1": 500 * MB, "data:1": 200 * MB},
            69,
            id="an image volume adds to what is there, and not to the most there can be",
        ),
        pytest.param(using("app:2"), {"app:1": 1000 * MB}, 0, id="another tag is another image"),
    ],
)
def test_a_node_with_the_images_scores(incoming: Object, images: dict[str, int], score: int) -> None:
    framework = Framework.from_profile(profile("ImageLocality"))
    framework.use_snapshot(Snapshot.of([node("n", images=images)]))
    subject: Any = framework.plugins["ImageLocality"]
    assert subject.score(CycleState(), incoming, framework.snapshot().nodes[0]) == score


def test_an_image_on_few_nodes_counts_for_less() -> None:
    framework = Framework.from_profile(profile("ImageLocality"))
    with_image = [node(name, images={"app:1": 1000 * MB}) for name in "ab"]
    framework.use_snapshot(Snapshot.of([*with_image, node("c"), node("d")]))
    subject: Any = framework.plugins["ImageLocality"]
    scores = [subject.score(CycleState(), using("app:1"), info) for info in framework.snapshot().nodes]
    # On half of the Nodes: 100 * (1000 * 2/4 - 23) / (1000 - 23) = 48.8
    assert scores == [48, 48, 0, 0]


def test_node_affinity_that_does_not_parse_is_tried_again_and_a_change_of_the_added_one_is_not_seen() -> None:
    """Both as upstream's hint (node_affinity.go, isSchedulableAfterNodeChange)."""
    broken = {
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt"}]}]}}
    }
    assert hints("NodeAffinity", pod(affinity=broken), None, node("n")) == [QueueingHint.QUEUE]
    enforced = {
        "addedAffinity": {
            REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}]}
        }
    }
    with_added: Any = plugin("NodeAffinity", enforced)
    (event,) = with_added.events_to_register()
    outside, inside = node("n"), node("n", labels={"pool": "x"})
    assert event.hint(pod(), outside, outside) is QueueingHint.QUEUE_SKIP
    assert event.hint(pod(), None, inside) is QueueingHint.QUEUE
    assert event.hint(pod(), outside, inside) is QueueingHint.QUEUE_SKIP


def test_scaling_down_helps_only_where_pods_can_be_resized() -> None:
    def labels(release: str) -> list[str]:
        fit: Any = plugin("NodeResourcesFit", release=release)
        return [entry.event.label for entry in fit.events_to_register() if "Pod" in entry.event.resource]

    assert labels("1.32") == ["AssignedPodDelete"]
    assert labels("1.36") == ["AssignedPodDelete", "PodUpdatePodScaleDown"]
