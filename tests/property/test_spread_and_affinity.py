"""PodTopologySpread against counting, InterPodAffinity against asking every pair of Pods, on small random clusters."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.scheme import NAMESPACES
from k8slab.scheduler import SUCCESS, CycleState, Framework, ObjectLister, PodInfo, Snapshot, Status
from tests.counts import examples
from tests.scheduling import node, pod, profile

KEYS = ["zone", "kubernetes.io/hostname"]
APPS = ["web", "db"]
TAINT = {"key": "k", "effect": "NoSchedule"}
NAMESPACE_LABELS = {"default": {}, "other": {"team": "x"}}
REQUIRED, PREFERRED = (f"{kind}DuringSchedulingIgnoredDuringExecution" for kind in ("required", "preferred"))

selectors = st.sampled_from([None, {}, *({"matchLabels": {"app": app}} for app in APPS)])
names = st.sampled_from(APPS)


def selects(selector: Any, labels: dict[str, str]) -> bool:
    """A LabelSelector with matchLabels only; None selects nobody."""
    return selector is not None and all(labels.get(k) == v for k, v in (selector.get("matchLabels") or {}).items())


@st.composite
def clusters(draw: Any, affinity: bool = False) -> tuple[list[Object], list[Object]]:
    """Up to five Nodes in two zones or none, and up to eight Pods on them."""
    nodes = []
    for index in range(draw(st.integers(1, 5))):
        labels = {"kubernetes.io/hostname": f"n{index}", "zone": draw(st.sampled_from("ab"))}
        for key in draw(st.sampled_from([(), (), (), ("zone",), ("kubernetes.io/hostname",)])):
            del labels[key]
        if draw(st.booleans()):
            labels["disk"] = "ssd"
        taints = draw(st.sampled_from([[], [], [TAINT]]))
        nodes.append(node(f"n{index}", labels=labels, taints=taints))
    pods = []
    for index in range(draw(st.integers(0, 8))):
        where = draw(st.integers(0, len(nodes) - 1))
        placed = pod(f"p{index}", node_name=f"n{where}", namespace=draw(st.sampled_from(sorted(NAMESPACE_LABELS))))
        placed["metadata"]["labels"] = {"app": draw(names)}
        if affinity:
            placed["spec"]["affinity"] = draw(affinities)
        elif draw(st.sampled_from([True, False, False, False])):
            placed["metadata"]["deletionTimestamp"] = "2000-01-01T00:00:00Z"
        pods.append(placed)
    return nodes, pods


# -- spreading -------------------------------------------------------------------------------------------

constraints = st.builds(
    lambda key, skew, selector, least, affinity, taints, action: {
        "topologyKey": key,
        "maxSkew": skew,
        "labelSelector": selector,
        "minDomains": least,
        "nodeAffinityPolicy": affinity,
        "nodeTaintsPolicy": taints,
        "whenUnsatisfiable": action,
    },
    st.sampled_from(KEYS),
    st.integers(1, 2),
    selectors,
    st.sampled_from([None, 1, 3]),
    st.sampled_from([None, "Honor", "Ignore"]),
    st.sampled_from([None, "Honor", "Ignore"]),
    st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
)
spread_pods = st.builds(
    lambda app, wanted, selector: {
        **pod("new", topologySpreadConstraints=wanted, **({"nodeSelector": selector} if selector else {})),
        "metadata": {"name": "new", "namespace": "default", "labels": {"app": app}},
    },
    names,
    st.lists(constraints, min_size=1, max_size=3),
    st.sampled_from([None, {"disk": "ssd"}]),
)


def labels_of(obj: Object) -> dict[str, str]:
    labels: dict[str, str] = obj["metadata"].get("labels") or {}
    return labels


def is_domain(target: Object, incoming: Object, constraint: Object) -> bool:
    """Whether a Node counts, by the two policies."""
    selector = incoming["spec"].get("nodeSelector") or {}
    if (constraint["nodeAffinityPolicy"] or "Honor") == "Honor" and not selector.items() <= labels_of(target).items():
        return False
    return constraint["nodeTaintsPolicy"] != "Honor" or not target["spec"].get("taints")


def matching(on: str, pods: list[Object], constraint: Object) -> int:
    """Pods on a Node that the constraint counts: an empty selector counts nobody."""
    return sum(
        p["spec"]["nodeName"] == on
        and p["metadata"]["namespace"] == "default"
        and "deletionTimestamp" not in p["metadata"]
        and bool(constraint["labelSelector"])
        and selects(constraint["labelSelector"], labels_of(p))
        for p in pods
    )


def allowed(target: Object, incoming: Object, nodes: list[Object], pods: list[Object]) -> str:
    """The verdict by the definition of skew: "" or the end of the reason."""
    hard = [c for c in incoming["spec"]["topologySpreadConstraints"] if c["whenUnsatisfiable"] == "DoNotSchedule"]
    full = [n for n in nodes if all(c["topologyKey"] in labels_of(n) for c in hard)]
    for constraint in hard:
        key = constraint["topologyKey"]
        if key not in labels_of(target):
            return "(missing required label)"
        domains: dict[str, int] = {}
        for n in full:
            if is_domain(n, incoming, constraint):
                value = labels_of(n)[key]
                domains[value] = domains.get(value, 0) + matching(n["metadata"]["name"], pods, constraint)
        least = min(domains.values()) if domains and len(domains) >= (constraint["minDomains"] or 1) else 0
        own = selects(constraint["labelSelector"], labels_of(incoming))
        if domains.get(labels_of(target)[key], 0) + own - least > constraint["maxSkew"]:
            return "pod topology spread constraints"
    return ""


def made(name: str, nodes: list[Object], pods: list[Object], args: Any = None) -> tuple[Any, Snapshot]:
    """The plugin, and the snapshot its framework uses."""
    spaces = [{"metadata": {"name": n, "labels": labels}} for n, labels in NAMESPACE_LABELS.items()]
    lister = ObjectLister({NAMESPACES: spaces})
    config = {name: args} if args else {}
    framework = Framework.from_profile(profile(name, args=config), features=FeatureGates("1.36"), lister=lister)
    snapshot = Snapshot.of(nodes, pods)
    framework.use_snapshot(snapshot)
    return framework.plugins[name], snapshot


def ending(status: Status) -> str:
    return status.message.removeprefix("node(s) didn't match ").removeprefix("pod topology spread constraints ")


@settings(max_examples=examples(200), deadline=None)
@given(cluster=clusters(), incoming=spread_pods)
def test_spread_filters_by_the_skew_that_counting_gives(
    cluster: tuple[list[Object], list[Object]], incoming: Object
) -> None:
    nodes, pods = cluster
    plugin, snapshot = made("PodTopologySpread", nodes, pods)
    state = CycleState()
    _, status = plugin.pre_filter(state, incoming, snapshot.nodes)
    if status.is_skip:
        assert all(c["whenUnsatisfiable"] == "ScheduleAnyway" for c in incoming["spec"]["topologySpreadConstraints"])
        return
    for target in nodes:
        info = snapshot.get(target["metadata"]["name"])
        assert info is not None
        assert ending(plugin.filter(state, incoming, info)) == allowed(target, incoming, nodes, pods)


@settings(max_examples=examples(200), deadline=None)
@given(cluster=clusters(), incoming=spread_pods, data=st.data())
def test_moving_pods_of_one_node_gives_the_verdict_that_counting_anew_gives(
    cluster: tuple[list[Object], list[Object]], incoming: Object, data: st.DataObject
) -> None:
    nodes, pods = cluster
    # Pods that are being deleted and empty selectors are counted by add_pod and remove_pod alone, as upstream.
    pods = [p for p in pods if "deletionTimestamp" not in p["metadata"]]
    for constraint in incoming["spec"]["topologySpreadConstraints"]:
        constraint["labelSelector"] = constraint["labelSelector"] or None
    target = data.draw(st.sampled_from(nodes))
    name = target["metadata"]["name"]
    here = [p for p in pods if p["spec"]["nodeName"] == name]
    gone = [p for p in here if data.draw(st.booleans())]
    plugin, snapshot = made("PodTopologySpread", nodes, pods)
    state, info = CycleState(), snapshot.get(name)
    assert info is not None
    _, status = plugin.pre_filter(state, incoming, snapshot.nodes)
    if status is not SUCCESS:
        return
    dry_run = state.clone()
    for victim in here:
        assert plugin.remove_pod(dry_run, incoming, PodInfo(victim), info) is SUCCESS
    for spared in here:
        if spared not in gone:
            assert plugin.add_pod(dry_run, incoming, PodInfo(spared), info) is SUCCESS
    left = [p for p in pods if p not in gone]
    assert ending(plugin.filter(dry_run, incoming, info)) == allowed(target, incoming, nodes, left)
    assert ending(plugin.filter(state, incoming, info)) == allowed(target, incoming, nodes, pods)


@settings(max_examples=examples(200), deadline=None)
@given(cluster=clusters(), incoming=spread_pods)
def test_spread_scores_by_how_crowded_the_domains_are(
    cluster: tuple[list[Object], list[Object]], incoming: Object
) -> None:
    nodes, pods = cluster
    soft = [c for c in incoming["spec"]["topologySpreadConstraints"] if c["whenUnsatisfiable"] == "ScheduleAnyway"]
    full = [n for n in nodes if all(c["topologyKey"] in labels_of(n) for c in soft)]
    plugin, snapshot = made("PodTopologySpread", nodes, pods)
    state = CycleState()
    status = plugin.pre_score(state, incoming, snapshot.nodes)
    assert status.is_skip == (not soft)
    if not soft:
        return
    expected = {}
    for target in full:
        crowd = 0.0
        for constraint in soft:
            key = constraint["topologyKey"]
            near = [n for n in full if labels_of(n)[key] == labels_of(target)[key]]
            if key == "zone":
                near = [n for n in near if is_domain(n, incoming, constraint)]
            count = sum(matching(n["metadata"]["name"], pods, constraint) for n in near)
            crowd += count * math.log(len({labels_of(n)[key] for n in full}) + 2) + constraint["maxSkew"] - 1
        expected[target["metadata"]["name"]] = math.floor(crowd + 0.5)
    raw = [plugin.score(state, incoming, info) for info in snapshot.nodes]
    assert {i.name: s for i, s in zip(snapshot.nodes, raw, strict=True) if i.name in expected} == expected
    normal = plugin.normalize_score(state, incoming, snapshot.nodes, raw)
    most, least = max(expected.values(), default=0), min(expected.values(), default=0)
    for info, score in zip(snapshot.nodes, normal, strict=True):
        if info.name not in expected:
            assert score == 0
        else:
            assert score == (100 * (most + least - expected[info.name]) // most if most else 100)


# -- affinity --------------------------------------------------------------------------------------------

terms = st.builds(
    lambda selector, key, namespaces, by_label: {
        "labelSelector": selector,
        "topologyKey": key,
        "namespaces": namespaces,
        "namespaceSelector": by_label,
    },
    selectors,
    st.sampled_from(KEYS),
    st.sampled_from([[], [], ["other"], ["default", "other"]]),
    st.sampled_from([None, None, {}, {"matchLabels": {"team": "x"}}]),
)
weighted = st.builds(lambda weight, term: {"weight": weight, "podAffinityTerm": term}, st.integers(1, 100), terms)
sides = st.fixed_dictionaries({REQUIRED: st.lists(terms, max_size=2), PREFERRED: st.lists(weighted, max_size=2)})
affinities = st.one_of(st.just({}), st.fixed_dictionaries({"podAffinity": sides, "podAntiAffinity": sides}))


def side(of: Object, which: str, strength: str) -> list[Any]:
    found: list[Any] = (of["spec"].get("affinity") or {}).get(which, {}).get(strength, [])
    return found


def wants(owner: Object, term: Object, other: Object) -> bool:
    """Whether a term of `owner` is about `other`."""
    namespace, by_label = other["metadata"]["namespace"], term["namespaceSelector"]
    named = term["namespaces"] or ([owner["metadata"]["namespace"]] if by_label is None else [])
    there = namespace in named or selects(by_label, NAMESPACE_LABELS[namespace])
    return there and selects(term["labelSelector"], labels_of(other))


def near(a: Object, b: Object, key: str) -> bool:
    """Whether two Nodes are one place."""
    return key in labels_of(a) and labels_of(a)[key] == labels_of(b).get(key)


def judged(target: Object, incoming: Object, nodes: list[Object], pods: list[Object]) -> str:
    """The verdict by asking every Pod."""
    node_of = {n["metadata"]["name"]: n for n in nodes}
    own = side(incoming, "podAffinity", REQUIRED)
    friends = [p for p in pods if own and all(wants(incoming, term, p) for term in own)]
    if any(term["topologyKey"] not in labels_of(target) for term in own):
        return "node(s) didn't match pod affinity rules"
    met = all(any(near(target, node_of[p["spec"]["nodeName"]], t["topologyKey"]) for p in friends) for t in own)
    anywhere = any(t["topologyKey"] in labels_of(node_of[p["spec"]["nodeName"]]) for p in friends for t in own)
    first = not anywhere and all(wants(incoming, term, incoming) for term in own)
    if not met and not first:
        return "node(s) didn't match pod affinity rules"
    for p in pods:
        for term in side(incoming, "podAntiAffinity", REQUIRED):
            if wants(incoming, term, p) and near(target, node_of[p["spec"]["nodeName"]], term["topologyKey"]):
                return "node(s) didn't match pod anti-affinity rules"
    for p in pods:
        for term in side(p, "podAntiAffinity", REQUIRED):
            if wants(p, term, incoming) and near(target, node_of[p["spec"]["nodeName"]], term["topologyKey"]):
                return "node(s) didn't satisfy existing pods anti-affinity rules"
    return ""


def incoming_pod(app: str, namespace: str, affinity: Object) -> Object:
    found = pod("new", namespace=namespace, affinity=affinity)
    found["metadata"]["labels"] = {"app": app}
    return found


affine_pods = st.builds(incoming_pod, names, st.sampled_from(sorted(NAMESPACE_LABELS)), affinities)


@settings(max_examples=examples(300), deadline=None)
@given(cluster=clusters(affinity=True), incoming=affine_pods)
def test_affinity_filters_as_asking_every_pair_of_pods_does(
    cluster: tuple[list[Object], list[Object]], incoming: Object
) -> None:
    nodes, pods = cluster
    plugin, snapshot = made("InterPodAffinity", nodes, pods)
    state = CycleState()
    _, status = plugin.pre_filter(state, incoming, snapshot.nodes)
    for target in nodes:
        info = snapshot.get(target["metadata"]["name"])
        assert info is not None
        verdict = "" if status.is_skip else plugin.filter(state, incoming, info).message
        assert verdict == judged(target, incoming, nodes, pods)


@settings(max_examples=examples(200), deadline=None)
@given(cluster=clusters(affinity=True), incoming=affine_pods, data=st.data())
def test_affinity_after_moves_is_that_of_the_cluster_after_the_moves(
    cluster: tuple[list[Object], list[Object]], incoming: Object, data: st.DataObject
) -> None:
    nodes, pods = cluster
    gone = [p for p in pods if data.draw(st.booleans())]
    plugin, snapshot = made("InterPodAffinity", nodes, pods)
    state = CycleState()
    _, status = plugin.pre_filter(state, incoming, snapshot.nodes)
    if status is not SUCCESS:
        return
    dry_run = state.clone()
    for victim in gone:
        plugin.remove_pod(dry_run, incoming, PodInfo(victim), snapshot.get(victim["spec"]["nodeName"]))
    for target in nodes:
        info = snapshot.get(target["metadata"]["name"])
        left = [p for p in pods if p not in gone]
        assert plugin.filter(dry_run, incoming, info).message == judged(target, incoming, nodes, left)
        assert plugin.filter(state, incoming, info).message == judged(target, incoming, nodes, pods)
    for victim in gone:
        plugin.add_pod(dry_run, incoming, PodInfo(victim), snapshot.get(victim["spec"]["nodeName"]))
    for info in snapshot.nodes:
        assert plugin.filter(dry_run, incoming, info) == plugin.filter(state, incoming, info)


@settings(max_examples=examples(300), deadline=None)
@given(cluster=clusters(affinity=True), incoming=affine_pods, hard=st.sampled_from([0, 1, 10]), ignores=st.booleans())
def test_affinity_scores_by_the_preferences_of_both_sides(
    cluster: tuple[list[Object], list[Object]], incoming: Object, hard: int, ignores: bool
) -> None:
    nodes, pods = cluster
    node_of = {n["metadata"]["name"]: n for n in nodes}
    args = {"hardPodAffinityWeight": hard, "ignorePreferredTermsOfExistingPods": ignores}
    plugin, snapshot = made("InterPodAffinity", nodes, pods, args)
    own = side(incoming, "podAffinity", PREFERRED) + side(incoming, "podAntiAffinity", PREFERRED)
    state = CycleState()
    status = plugin.pre_score(state, incoming, snapshot.nodes)
    if ignores and not own:
        assert status.is_skip
        return
    expected = dict.fromkeys(node_of, 0)
    for name, target in node_of.items():
        for p in pods:
            there = node_of[p["spec"]["nodeName"]]
            worth = [(hard, t, p, incoming) for t in side(p, "podAffinity", REQUIRED)]
            for which, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
                for a, b in ((incoming, p), (p, incoming)):
                    worth += [(sign * w["weight"], w["podAffinityTerm"], a, b) for w in side(a, which, PREFERRED)]
            expected[name] += sum(w for w, t, a, b in worth if wants(a, t, b) and near(target, there, t["topologyKey"]))
    raw = [0] * len(nodes) if status.is_skip else [plugin.score(state, incoming, info) for info in snapshot.nodes]
    assert {info.name: score for info, score in zip(snapshot.nodes, raw, strict=True)} == expected
    normal = plugin.normalize_score(state, incoming, snapshot.nodes, raw)
    most, least = max(raw), min(raw)
    assert normal == [int(100.0 * ((s - least) / (most - least))) if most > least else 0 for s in raw]
