"""PodTopologySpread and InterPodAffinity: arguments, default constraints, oddities, hints. Numbers are worked out."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.scheme import (
    GVR,
    NAMESPACES,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    SERVICES,
    STATEFULSETS,
)
from k8slab.scheduler import SUCCESS, Code, CycleState, Framework, ObjectLister, Snapshot
from k8slab.scheduler.framework import QueueingHint
from k8slab.scheduler.plugins.spread_constraints import default_selector
from tests.scheduling import node, pod, profile

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def plugin(
    name: str,
    args: dict[str, Any] | None = None,
    *,
    objects: dict[GVR, list[Object]] | None = None,
    snapshot: Snapshot | None = None,
    gates: dict[str, bool] | None = None,
) -> Any:
    config = profile(name, args={name: args} if args else {})
    features = FeatureGates("1.36", gates)
    framework = Framework.from_profile(config, features=features, lister=ObjectLister(objects))
    framework.use_snapshot(snapshot if snapshot is not None else Snapshot())
    return framework.plugins[name]


def labelled(app: str, *, name: str = "web", node_name: str = "", namespace: str = "default", **spec: Any) -> Object:
    found = pod(name, node_name=node_name, namespace=namespace, **spec)
    found["metadata"]["labels"] = {"app": app}
    return found


def constraint(key: str = "zone", **more: Any) -> Object:
    selector = {"matchLabels": {"app": "web"}}
    hard = {"whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {"topologyKey": key, "maxSkew": 1, **hard, **more}


def spread(*constraints: Object, **more: Any) -> Object:
    return labelled("web", topologySpreadConstraints=list(constraints), **more)


def zones(**pods_in: int) -> Snapshot:
    """One Node in each zone, with so many Pods of app=web."""
    nodes = [node(f"n-{zone}", labels={"zone": zone}) for zone in pods_in]
    pods = [labelled("web", name=f"{zone}{i}", node_name=f"n-{zone}") for zone, n in pods_in.items() for i in range(n)]
    return Snapshot.of(nodes, pods)


def fits(incoming: Object, snapshot: Snapshot, gates: dict[str, bool] | None = None) -> list[str]:
    """The Nodes that PodTopologySpread lets pass."""
    subject, state = plugin("PodTopologySpread", snapshot=snapshot, gates=gates), CycleState()
    _, status = subject.pre_filter(state, incoming, snapshot.nodes)
    assert status is SUCCESS
    return [info.name for info in snapshot.nodes if subject.filter(state, incoming, info) is SUCCESS]


# -- PodTopologySpread ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("incoming", "there", "expected"),
    [
        pytest.param(spread(constraint()), {"a": 1, "b": 0}, ["n-b"], id="a skew of 2 is more than 1"),
        pytest.param(spread(constraint(maxSkew=2)), {"a": 1, "b": 0}, ["n-a", "n-b"], id="a skew of 2 may be allowed"),
        pytest.param(
            spread(constraint(labelSelector={"matchLabels": {"app": "db"}})),
            {"a": 1, "b": 0},
            ["n-a", "n-b"],
            id="a pod that its own constraint does not select adds nothing",
        ),
        pytest.param(
            spread(constraint(minDomains=3)), {"a": 1, "b": 0}, ["n-b"], id="too few domains: the least counts as 0"
        ),
        pytest.param(
            spread(constraint(minDomains=3)), {"a": 1, "b": 1}, [], id="too few domains: every zone is at its limit"
        ),
        pytest.param(
            spread(constraint(labelSelector={})),
            {"a": 5, "b": 0},
            ["n-a", "n-b"],
            id="an empty selector counts nobody but the pod itself",
        ),
        pytest.param(
            spread(constraint(labelSelector=None, matchLabelKeys=["app"])),
            {"a": 5, "b": 0},
            ["n-a", "n-b"],
            id="without a selector matchLabelKeys select nobody either",
        ),
    ],
)
def test_the_skew_decides(incoming: Object, there: dict[str, int], expected: list[str]) -> None:
    assert fits(incoming, zones(**there)) == expected


def test_match_label_keys_count_the_pods_own_revision_only() -> None:
    snapshot = zones(a=2, b=1)
    incoming = spread(constraint(matchLabelKeys=["hash", "absent"]))
    incoming["metadata"]["labels"]["hash"] = "new"
    assert fits(incoming, snapshot) == ["n-a", "n-b"]  # nobody has hash=new yet
    assert fits(incoming, snapshot, {"MatchLabelKeysInPodTopologySpread": False}) == ["n-b"]


def test_a_bad_selector_is_an_error_with_the_reason() -> None:
    broken = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    subject, state = plugin("PodTopologySpread"), CycleState()
    _, status = subject.pre_filter(state, spread(constraint(labelSelector=broken)), [])
    text = '"Near" is not a valid label selector operator'
    hard = "get constraints from pod: obtaining pod's hard topology spread constraints"
    assert (status.code, status.message) == (Code.ERROR, f"{hard}: {text}")
    soft = constraint(labelSelector=broken, whenUnsatisfiable="ScheduleAnyway")
    status = subject.pre_score(state, spread(soft), [])
    soft_text = "calculating preScoreState: obtaining pod's soft topology spread constraints"
    assert (status.code, status.message) == (Code.ERROR, f"{soft_text}: {text}")


GOOD_TERM = {"labelSelector": {}, "topologyKey": "zone"}


@pytest.mark.parametrize("action", ["DoNotSchedule", "ScheduleAnyway"])
@pytest.mark.parametrize(
    ("changed", "text"),
    [
        pytest.param({"maxSkew": "1"}, "[0].maxSkew: '1': expected a 32-bit integer", id="a text as number"),
        pytest.param({"maxSkew": None}, "[0].maxSkew: 0: expected a number greater than zero", id="no skew"),
        pytest.param({"maxSkew": -5}, "[0].maxSkew: -5: expected a number greater than zero", id="a skew below zero"),
        pytest.param({"topologyKey": None}, "[0].topologyKey: '': expected the key of a label of Nodes", id="no key"),
        pytest.param({"minDomains": "2"}, "[0].minDomains: '2': expected a 32-bit integer", id="domains as a text"),
        pytest.param(
            {"labelSelector": {"matchLabels": 3}}, "[0].labelSelector.matchLabels: 3: expected an object", id="a number"
        ),
        pytest.param(
            {"nodeTaintsPolicy": "Honour"},
            "[0].nodeTaintsPolicy: 'Honour': expected one of Honor, Ignore",
            id="another spelling",
        ),
        pytest.param(
            {"nodeAffinityPolicy": "ignore"},
            "[0].nodeAffinityPolicy: 'ignore': expected one of Honor, Ignore",
            id="a small letter",
        ),
    ],
)
def test_a_constraint_that_no_api_server_has_seen_gets_a_verdict_that_names_the_field(
    changed: dict[str, Any], text: str, action: str
) -> None:
    result = Framework.from_profile().schedule(spread(constraint(whenUnsatisfiable=action, **changed)), zones(a=1, b=0))
    assert result.status.code is Code.ERROR
    assert result.message.endswith(f": spec.topologySpreadConstraints{text}")


@pytest.mark.parametrize("action", ["Never", "", "doNotSchedule"])
def test_a_constraint_that_says_neither_rule_nor_wish_gets_a_verdict(action: str) -> None:
    result = Framework.from_profile().schedule(spread(constraint(whenUnsatisfiable=action)), zones(a=1, b=0))
    field = "spec.topologySpreadConstraints[0].whenUnsatisfiable"
    assert result.status.code is Code.ERROR
    assert result.message.endswith(f": {field}: {action!r}: expected one of DoNotSchedule, ScheduleAnyway")


@pytest.mark.parametrize("side", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize(
    ("kind", "terms", "text"),
    [
        pytest.param(REQUIRED, [None], "[0].topologyKey: '': expected the key of a label of Nodes", id="a null term"),
        pytest.param(REQUIRED, GOOD_TERM, f": {GOOD_TERM}: expected a list", id="a term where a list should be"),
        pytest.param(
            REQUIRED, [GOOD_TERM, {**GOOD_TERM, "namespaces": 3}], "[1].namespaces: 3: expected a list", id="the second"
        ),
        pytest.param(
            PREFERRED,
            [{"weight": "3", "podAffinityTerm": GOOD_TERM}],
            "[0].weight: '3': expected a 32-bit integer",
            id="a weight as a text",
        ),
        pytest.param(
            PREFERRED,
            [{"weight": 3}],
            "[0].podAffinityTerm.topologyKey: '': expected the key of a label of Nodes",
            id="a weight without a term",
        ),
    ],
)
def test_a_term_that_no_api_server_has_seen_gets_a_verdict_that_names_the_field(
    kind: str, terms: Any, text: str, side: str
) -> None:
    incoming = pod(affinity={side: {kind: terms}})
    result = Framework.from_profile().schedule(incoming, zones(a=1, b=0))
    assert result.status.code is Code.UNSCHEDULABLE
    assert f"parsing pod: spec.affinity.{side}.{kind}{text}. " in result.message


def test_a_pod_on_a_node_whose_terms_are_broken_wants_nothing() -> None:
    broken = pod("broken", node_name="a", affinity={"podAntiAffinity": {REQUIRED: [None]}})
    result = Framework.from_profile().schedule(pod(), Snapshot.of([node("a")], [broken]))
    assert result.node == "a"


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"maxSkew": 0}, "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)"),
        ({"topologyKey": ""}, "defaultConstraints[0].topologyKey: Required value: can not be empty"),
        ({"topologyKey": "a b"}, 'defaultConstraints[0].topologyKey: Invalid value: "a b": '),
        ({"whenUnsatisfiable": ""}, "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty"),
        ({"whenUnsatisfiable": "Never"}, 'supported values: "DoNotSchedule", "ScheduleAnyway"'),
        ({"labelSelector": {}}, "labelSelector: Forbidden: constraint must not define a selector"),
    ],
)
def test_default_constraints_are_checked_as_upstream_does(changed: Object, text: str) -> None:
    good = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    with pytest.raises(ValueError, match=r"defaultConstraints\[0\]") as error:
        plugin("PodTopologySpread", {"defaultingType": "List", "defaultConstraints": [{**good, **changed}]})
    assert text in str(error.value)
    with pytest.raises(ValueError, match=r"defaultConstraints\[1\]: Duplicate value: \"{zone, DoNotSchedule}\""):
        plugin("PodTopologySpread", {"defaultingType": "List", "defaultConstraints": [good, good]})
    with pytest.raises(ValueError, match=r"when .defaultConstraints are not empty"):
        plugin("PodTopologySpread", {"defaultConstraints": [good]})
    with pytest.raises(ValueError, match=r'defaultingType: Unsupported value: "Random"'):
        plugin("PodTopologySpread", {"defaultingType": "Random"})


def owned_by(kind: str, api_version: str) -> Object:
    found = labelled("web")
    owner = {"apiVersion": api_version, "kind": kind, "name": "owner", "controller": True}
    found["metadata"]["ownerReferences"] = [owner]
    return found


def named(name: str, selector: Any, namespace: str = "default") -> Object:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}


@pytest.mark.parametrize(
    ("incoming", "objects", "expected"),
    [
        pytest.param(labelled("web"), {}, "", id="nobody speaks for the pod"),
        pytest.param(
            labelled("web"),
            {SERVICES: [named("s", {"app": "web"}), named("t", {"app": "db"})]},
            "app=web",
            id="service",
        ),
        pytest.param(
            labelled("web"), {SERVICES: [named("s", {"app": "web"}, "other")]}, "", id="a service of another namespace"
        ),
        pytest.param(labelled("web"), {SERVICES: [named("s", None)]}, "", id="a service without selector"),
        pytest.param(
            owned_by("ReplicaSet", "apps/v1"),
            {REPLICASETS: [named("owner", {"matchLabels": {"hash": "1"}})], SERVICES: [named("s", {"app": "web"})]},
            "app=web,hash=1",
            id="replica set and service",
        ),
        pytest.param(
            owned_by("StatefulSet", "apps/v1"),
            {STATEFULSETS: [named("owner", {"matchExpressions": [{"key": "app", "operator": "Exists"}]})]},
            "app",
            id="stateful set",
        ),
        pytest.param(
            owned_by("ReplicationController", "v1"),
            {REPLICATIONCONTROLLERS: [named("owner", {"app": "web"})]},
            "app=web",
            id="replication controller",
        ),
        pytest.param(owned_by("ReplicaSet", "apps/v1"), {}, "", id="an owner that is not known"),
        pytest.param(
            owned_by("Job", "batch/v1"),
            {REPLICASETS: [named("owner", {"matchLabels": {"hash": "1"}})]},
            "",
            id="an owner of another kind",
        ),
    ],
)
def test_the_default_selector_comes_from_services_and_the_owner(
    incoming: Object, objects: dict[GVR, list[Object]], expected: str
) -> None:
    assert str(default_selector(incoming, ObjectLister(objects))) == expected


def test_the_systems_defaults_prefer_the_emptier_host_also_without_zones() -> None:
    nodes = [node(name, labels={"kubernetes.io/hostname": name}) for name in "ab"]
    snapshot = Snapshot.of(nodes, [labelled("web", name="x", node_name="a")])
    objects = {SERVICES: [named("web", {"app": "web"})]}
    subject, state = plugin("PodTopologySpread", objects=objects, snapshot=snapshot), CycleState()
    _, status = subject.pre_filter(state, labelled("web"), snapshot.nodes)
    assert status.is_skip  # the defaults are ScheduleAnyway
    assert subject.pre_score(state, labelled("web"), snapshot.nodes) is SUCCESS
    raw = [subject.score(state, labelled("web"), info) for info in snapshot.nodes]
    # maxSkew 3 gives 2 to both; one Pod among two hosts weighs ln 4 = 1.386. No zone label, no share of the zone.
    assert raw == [3, 2]
    assert subject.normalize_score(state, labelled("web"), snapshot.nodes, raw) == [100 * (3 + 2 - 3) // 3, 100]


# -- InterPodAffinity -------------------------------------------------------------------------------------


def term(app: str, key: str = "zone", **more: Any) -> Object:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}


def near(*terms: Object) -> Object:
    return {"podAffinity": {REQUIRED: list(terms)}}


def far(*terms: Object) -> Object:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


@pytest.mark.parametrize("weight", [-1, 101])
def test_the_hard_weight_is_0_to_100(weight: int) -> None:
    with pytest.raises(ValueError, match=r"hardPodAffinityWeight: Invalid value: .*: not in valid range \[0, 100\]"):
        plugin("InterPodAffinity", {"hardPodAffinityWeight": weight})


@pytest.mark.parametrize(("weight", "kind"), [("7", "string"), (True, "bool")])
def test_the_hard_weight_is_a_number(weight: Any, kind: str) -> None:
    text = f"cannot unmarshal {kind} into Go struct field InterPodAffinityArgs.hardPodAffinityWeight of type int32"
    with pytest.raises(ValueError, match=text):
        plugin("InterPodAffinity", {"hardPodAffinityWeight": weight})


def test_a_term_that_does_not_parse_makes_the_pod_hopeless() -> None:
    broken = {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}, "topologyKey": "zone"}
    subject = plugin("InterPodAffinity")
    _, status = subject.pre_filter(CycleState(), labelled("web", affinity=near(broken)), [])
    text = 'parsing pod: requiredAffinityTerms: "Near" is not a valid label selector operator'
    assert (status.code, status.message) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)
    status = subject.pre_score(CycleState(), labelled("web", affinity=near(broken)), [])
    assert (status.code, status.message) == (Code.ERROR, text.replace("parsing pod", "failed to parse pod"))


def test_the_first_of_a_group_may_go_anywhere_that_has_the_label() -> None:
    snapshot = Snapshot.of([node("a", labels={"zone": "a"}), node("b")])
    subject, state, incoming = plugin("InterPodAffinity"), CycleState(), labelled("web", affinity=near(term("web")))
    assert subject.pre_filter(state, incoming, snapshot.nodes) == (None, SUCCESS)
    verdicts = [subject.filter(state, incoming, info) for info in snapshot.nodes]
    assert verdicts[0] is SUCCESS
    assert verdicts[1].reasons == ("node(s) didn't match pod affinity rules",)


def test_a_namespace_selector_of_a_pod_there_reads_the_labels_of_the_new_pods_namespace() -> None:
    there = labelled("db", node_name="a", affinity=far(term("web", namespaceSelector={"matchLabels": {"team": "x"}})))
    snapshot = Snapshot.of([node("a", labels={"zone": "a"})], [there])
    spaces = [{"metadata": {"name": "x", "labels": {"team": "x"}}}, {"metadata": {"name": "y"}}]
    subject = plugin("InterPodAffinity", objects={NAMESPACES: spaces}, snapshot=snapshot)
    for namespace, is_repelled in (("x", True), ("y", False), ("unknown", False)):
        _, status = subject.pre_filter(CycleState(), labelled("web", namespace=namespace), snapshot.nodes)
        assert status.is_skip != is_repelled


# -- queueing hints ---------------------------------------------------------------------------------------

SPREAD = spread(constraint(), name="waiting")
HONORING = spread(constraint(nodeTaintsPolicy="Honor"), name="waiting")
NEAR_DB = labelled("web", name="waiting", affinity=near(term("db")))
FAR_DB = labelled("web", name="waiting", affinity=far(term("db")))
HATES_WEB = labelled("db", name="x", node_name="n", affinity=far(term("web")))
TAINT = {"key": "k", "effect": "NoSchedule"}


def placed(app: str, namespace: str = "default") -> Object:
    return labelled(app, name="x", node_name="n", namespace=namespace)


@pytest.mark.parametrize(
    ("name", "rejected", "old", "new", "helps"),
    [
        pytest.param("PodTopologySpread", SPREAD, None, placed("web"), True, id="a counted pod came"),
        pytest.param("PodTopologySpread", SPREAD, None, placed("db"), False, id="an uncounted pod came"),
        pytest.param("PodTopologySpread", SPREAD, None, placed("web", "other"), False, id="one of another namespace"),
        pytest.param("PodTopologySpread", SPREAD, None, labelled("web", name="x"), False, id="one without a node"),
        pytest.param("PodTopologySpread", SPREAD, placed("web"), None, True, id="a counted pod left"),
        pytest.param("PodTopologySpread", SPREAD, placed("web"), placed("db"), True, id="one ceased to be counted"),
        pytest.param("PodTopologySpread", SPREAD, placed("web"), placed("web"), False, id="nothing changed"),
        pytest.param(
            "PodTopologySpread",
            HONORING,
            HONORING,
            {**HONORING, "spec": {**HONORING["spec"], "tolerations": [{"operator": "Exists"}]}},
            True,
            id="the pod tolerates more, and its constraint honors taints",
        ),
        pytest.param(
            "PodTopologySpread",
            SPREAD,
            SPREAD,
            {**SPREAD, "spec": {**SPREAD["spec"], "tolerations": [{"operator": "Exists"}]}},
            False,
            id="the pod tolerates more, and its constraint ignores taints",
        ),
        pytest.param("InterPodAffinity", NEAR_DB, None, placed("db"), True, id="a friend came"),
        pytest.param("InterPodAffinity", NEAR_DB, placed("web"), placed("db"), True, id="one became a friend"),
        pytest.param("InterPodAffinity", NEAR_DB, placed("db"), None, False, id="a friend left"),
        pytest.param("InterPodAffinity", NEAR_DB, None, labelled("db", name="x"), False, id="a friend without a node"),
        pytest.param("InterPodAffinity", FAR_DB, None, placed("db"), False, id="a foe came"),
        pytest.param("InterPodAffinity", FAR_DB, placed("db"), None, True, id="a foe left"),
        pytest.param("InterPodAffinity", FAR_DB, placed("db"), placed("web"), True, id="a foe became another"),
        pytest.param("InterPodAffinity", labelled("web"), HATES_WEB, None, True, id="one left that hates the pod"),
        pytest.param("InterPodAffinity", labelled("db"), HATES_WEB, None, False, id="one left that hates others"),
    ],
)
def test_pod_changes_that_help(
    name: str, rejected: Object, old: Object | None, new: Object | None, helps: bool
) -> None:
    hint = plugin(name).events_to_register()[0].hint
    assert hint is not None
    assert hint(rejected, old, new) is (QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP)


def in_zone(zone: str, **more: Any) -> Object:
    return node("n", labels={"zone": zone}, **more)


@pytest.mark.parametrize(
    ("name", "rejected", "old", "new", "helps"),
    [
        pytest.param("PodTopologySpread", SPREAD, None, in_zone("a"), True, id="a domain came"),
        pytest.param("PodTopologySpread", SPREAD, None, node("n"), False, id="a node outside came"),
        pytest.param("PodTopologySpread", SPREAD, in_zone("a"), None, True, id="a domain left"),
        pytest.param("PodTopologySpread", SPREAD, node("n"), None, False, id="a node outside left"),
        pytest.param("PodTopologySpread", SPREAD, in_zone("a"), in_zone("b"), True, id="a node moved"),
        pytest.param("PodTopologySpread", SPREAD, in_zone("a"), node("n"), True, id="a node lost its zone"),
        pytest.param("PodTopologySpread", SPREAD, in_zone("a"), in_zone("a"), False, id="nothing changed"),
        pytest.param("PodTopologySpread", SPREAD, in_zone("a", taints=[TAINT]), in_zone("a"), True, id="taints"),
        pytest.param("InterPodAffinity", NEAR_DB, None, in_zone("a"), True, id="affinity: a place came"),
        pytest.param("InterPodAffinity", NEAR_DB, in_zone("a"), in_zone("b"), True, id="affinity: a node moved"),
        pytest.param("InterPodAffinity", NEAR_DB, in_zone("a"), node("n"), False, id="affinity: a node left a place"),
        pytest.param("InterPodAffinity", FAR_DB, in_zone("a"), node("n"), True, id="anti-affinity: it left the place"),
        pytest.param("InterPodAffinity", FAR_DB, in_zone("a"), in_zone("a"), False, id="anti-affinity: no change"),
        pytest.param("InterPodAffinity", FAR_DB, None, node("n"), False, id="anti-affinity: a node outside came"),
    ],
)
def test_node_changes_that_help(
    name: str, rejected: Object, old: Object | None, new: Object | None, helps: bool
) -> None:
    hint = plugin(name).events_to_register()[1].hint
    assert hint is not None
    assert hint(rejected, old, new) is (QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP)
