"""Findings on random clusters: counts add up, remedies are true and minimal, recordings replay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.cluster import ClusterSnapshot, Finding, Pending, PodState, SnapshotError
from k8slab.cluster.snapshots import WhatIf, WhatIfRecording, answer_hash, what_if_report
from k8slab.cluster.snapshots.world import World
from k8slab.scheduler import Framework, Snapshot

Json = dict[str, Any]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
FEW = settings(max_examples=60, deadline=None)

taints = st.lists(st.sampled_from(("a", "b")), unique=True, max_size=2)
selectors = st.dictionaries(st.sampled_from(("disk", "arch")), st.sampled_from(("x", "y")), max_size=2)


@st.composite
def nodes(draw: st.DrawFn, index: int) -> Json:
    keys = draw(taints)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"n{index}",
            "labels": {HOST: f"n{index}", ZONE: draw(st.sampled_from("uv")), **draw(selectors)},
        },
        "spec": {
            "unschedulable": draw(st.integers(0, 5)) == 0,
            "taints": [{"key": key, "effect": "NoSchedule"} for key in keys],
        },
        "status": {"allocatable": {"cpu": str(draw(st.integers(1, 4))), "memory": "8Gi", "pods": "3"}},
    }


@st.composite
def pods(draw: st.DrawFn, name: str, node: str = "") -> Json:
    spec: Json = {
        "priority": draw(st.sampled_from((0, 0, 5))),
        "containers": [{"name": "c", "resources": {"requests": {"cpu": f"{draw(st.integers(1, 30))}00m"}}}],
    }
    if node:
        spec["nodeName"] = node
    else:
        spec["nodeSelector"] = draw(selectors)
        spec["tolerations"] = [{"key": key, "operator": "Exists"} for key in draw(taints)]
    if draw(st.booleans()):
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": draw(st.integers(1, 2)),
                "topologyKey": draw(st.sampled_from((ZONE, HOST))),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "p"}},
            }
        ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": draw(st.sampled_from("pq"))}},
        "spec": spec,
    }


@st.composite
def clusters(draw: st.DrawFn) -> list[Json]:
    made = [draw(nodes(index)) for index in range(draw(st.integers(1, 4)))]
    there = [draw(pods(f"a{n}", f"n{draw(st.integers(0, len(made) - 1))}")) for n in range(draw(st.integers(0, 5)))]
    return [*made, *there, draw(pods("p"))]


def explained(objects: list[Json], most: int = 5) -> tuple[ClusterSnapshot, Finding]:
    snapshot = ClusterSnapshot.of(objects)
    return snapshot, Pending(snapshot, most=most).explain("default/p")


@FEW
@given(clusters())
def test_counts_add_up_to_the_nodes_and_the_message_says_so(objects: list[Json]) -> None:
    snapshot, finding = explained(objects)
    assert sum(finding.counts().values()) == len(snapshot.nodes)
    fits = finding.counts().get("fits", 0)
    assert (fits > 0) == (finding.state is PodState.FITS)
    if finding.state is PodState.UNSCHEDULABLE:
        assert finding.message.startswith(f"0/{len(snapshot.nodes)} nodes are available: ")


def fits_after(world: World, node: str) -> bool:
    """A scheduler of its own, on manifests: nothing is shared with the search but the changed objects."""
    objects = [info.node for info in world.nodes]
    there = [info.pod for other in world.nodes for info in other.pods.values()]
    placed = [
        {**pod, "spec": {**pod["spec"], "nodeName": n.name}}
        for n in world.nodes
        for pod in (i.pod for i in n.pods.values())
    ]
    assert len(placed) == len(there)
    result = Framework.from_profile(memo=False).schedule(world.pod, Snapshot.of([o for o in objects if o], placed))
    return node in result.feasible


@FEW
@given(clusters())
def test_every_remedy_is_true(objects: list[Json]) -> None:
    snapshot, finding = explained(objects)
    pod = next(pod for pod in snapshot.pods if pod["metadata"]["name"] == "p")
    for remedy in finding.remedies:
        world = World(pod, tuple(snapshot.for_scheduling().nodes))
        for change in remedy.changes:
            world = change.apply(world)
        assert remedy.nodes
        assert all(fits_after(world, node) for node in remedy.nodes), remedy.text


@FEW
@given(clusters())
def test_no_part_of_a_pair_is_enough(objects: list[Json]) -> None:
    snapshot, finding = explained(objects, most=20)
    pod = next(pod for pod in snapshot.pods if pod["metadata"]["name"] == "p")
    start = World(pod, tuple(snapshot.for_scheduling().nodes))
    for remedy in finding.remedies:
        if len(remedy.changes) == 2:
            for change in remedy.changes:
                world = change.apply(start)
                assert not any(fits_after(world, info.name) for info in world.nodes), change.text


def simple_changes(objects: list[Json]) -> list[list[Json]]:
    """The twin's catalogue, on manifests: every cpu request in steps of 100m, every selector key dropped, every taint
    tolerated, every Node uncordoned."""
    *rest, pod = objects
    spec = pod["spec"]
    milli = int(spec["containers"][0]["resources"]["requests"]["cpu"][:-1])
    found = []
    for less in range(0, milli, 100):
        containers = [{"name": "c", "resources": {"requests": {"cpu": f"{less}m"}}}]
        found.append([*rest, {**pod, "spec": {**spec, "containers": containers}}])
    for key in spec["nodeSelector"]:
        left = {k: v for k, v in spec["nodeSelector"].items() if k != key}
        found.append([*rest, {**pod, "spec": {**spec, "nodeSelector": left}}])
    for key in "ab":
        more = [*spec["tolerations"], {"key": key, "operator": "Exists"}]
        found.append([*rest, {**pod, "spec": {**spec, "tolerations": more}}])
    for index, obj in enumerate(rest):
        if obj["kind"] == "Node":
            found.append(
                [*rest[:index], {**obj, "spec": {**obj["spec"], "unschedulable": False}}, *rest[index + 1 :], pod]
            )
    return found


@FEW
@given(clusters())
def test_where_one_simple_change_helps_one_change_is_found(objects: list[Json]) -> None:
    _, finding = explained(objects)
    if finding.state is not PodState.UNSCHEDULABLE:
        return
    for changed in simple_changes(objects):
        snapshot = ClusterSnapshot.of(changed)
        if Framework.from_profile(memo=False).schedule(snapshot.pending[0], snapshot.for_scheduling()).node:
            assert [len(remedy.changes) for remedy in finding.remedies[:1]] == [1]
            return


@FEW
@given(clusters())
def test_a_lowered_request_is_the_highest_that_fits(objects: list[Json]) -> None:
    """One milli more does not fit anywhere, as long as it stays one request that is changed."""
    snapshot, finding = explained(objects, most=20)
    pod = next(pod for pod in snapshot.pods if pod["metadata"]["name"] == "p")
    lowered = [r for r in finding.remedies if len(r.changes) == 1 and r.changes[0].kind == "lower-request"]
    for remedy in lowered:
        text = remedy.changes[0].after
        milli = int(text[:-1]) if text.endswith("m") else 1000 * int(text)
        container = {"name": "c", "resources": {"requests": {"cpu": f"{milli + 1}m"}}}
        more = {**pod, "spec": {**pod["spec"], "containers": [container]}}
        world = World(more, tuple(snapshot.for_scheduling().nodes))
        assert not any(fits_after(world, info.name) for info in world.nodes)


@FEW
@given(clusters(), st.integers(0, 2), st.booleans())
def test_a_recording_replays_to_the_same_bytes(objects: list[Json], more: int, fill: bool) -> None:
    node = next(obj for obj in objects if obj["kind"] == "Node")
    added = [{**node, "metadata": {**node["metadata"], "name": f"x{n}"}} for n in range(more)]
    recording = WhatIfRecording(ClusterSnapshot.of(objects), [], added, fill=fill)
    answer = recording.run()
    loaded, expected = WhatIfRecording.load(recording.dump(answer))
    again = loaded.run()
    assert loaded.dump(again) == recording.dump(answer)
    assert answer_hash(again) == expected
    assert json.dumps(what_if_report(again)) == json.dumps(what_if_report(answer))


@FEW
@given(clusters())
def test_what_is_placed_is_what_one_scheduler_would_do_pod_by_pod(objects: list[Json]) -> None:
    """The twin: every Pod by itself on the manifests, in order of priority; without preemption."""
    never = [{**o, "spec": {**o["spec"], "preemptionPolicy": "Never"}} if o["kind"] == "Pod" else o for o in objects]
    answer = WhatIf(ClusterSnapshot.of(never)).run()
    [placement] = answer.placements
    snapshot = ClusterSnapshot.of(never)
    result = Framework.from_profile(memo=False).schedule(snapshot.pending[0], snapshot.for_scheduling())
    assert bool(placement.node) == bool(result.node)
    if placement.node:
        assert placement.node in result.feasible
    else:
        assert placement.message == result.message
    assert answer.usage[2].after - answer.usage[2].before == bool(placement.node)


# -- dumps with something wrong in them ------------------------------------------------------------

RICH = """\
apiVersion: v1
kind: Pod
metadata:
  name: rich
  namespace: shop
  labels: {app: rich}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}]
spec:
  priority: 0
  overhead: {cpu: 10m}
  tolerations: [{key: a, operator: Exists, effect: NoSchedule}]
  nodeSelector: {disk: nope}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        namespaceSelector: {}
        labelSelector: {matchExpressions: [{key: app, operator: In, values: [zz]}]}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: cart}}}
  topologySpreadConstraints:
  - maxSkew: 1
    minDomains: 2
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: rich}}
  initContainers: [{name: i, image: x, restartPolicy: Always, resources: {requests: {cpu: 10m}}}]
  containers:
  - name: c
    image: x
    ports: [{containerPort: 80, hostPort: 80}]
    resources: {requests: {cpu: 3, example.com/gpu: 1}, limits: {example.com/gpu: 1}}
  volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]
status:
  phase: Pending
  conditions: [{type: PodScheduled, status: "False", message: m}]
  nominatedNodeName: node-a
"""
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "pending.yaml"
ITEMS = [*yaml.safe_load(EXAMPLE.read_text())["items"], yaml.safe_load(RICH)]
JUNK = [None, "", -5, 7, "x", [], {}, [None], [{}], {"a": None}, True, 1.5, "\x00", 10**30, {"a": [1]}, ["x"]]
Path_ = tuple[str | int, ...]


def paths(value: Any, here: Path_ = ()) -> Iterator[Path_]:
    """Every place in a dump."""
    if here:
        yield here
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from paths(inner, (*here, key))


def altered(path: Path_, value: Any) -> list[Json]:
    whole: Any = json.loads(json.dumps(ITEMS))
    place = whole
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    found: list[Json] = whole
    return found


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(list(paths(ITEMS))), st.sampled_from(JUNK))
def test_a_wrong_value_anywhere_is_an_answer_or_a_clear_error(path: Path_, value: Any) -> None:
    try:
        findings = Pending(ClusterSnapshot.of(altered(path, value)), most=2).all()
    except SnapshotError as error:
        assert "items[" in str(error) or "PriorityClass" in str(error)
        assert "Traceback" not in str(error)
        return
    assert all(finding.state for finding in findings)
