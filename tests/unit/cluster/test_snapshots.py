"""Dumps of real clusters: what is read, what is kept of it, and what is said of wrong ones."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from k8slab.cluster import ClusterSnapshot, SnapshotError
from k8slab.cluster.snapshots import WhatIf, stream
from k8slab.cluster.snapshots.stream import objects_of

Json = dict[str, Any]


def node(name: str = "n1", **fields: Any) -> Json:
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status, **fields}


def pod(name: str = "p", namespace: str = "default", **spec: Any) -> Json:
    spec = {"containers": [{"name": "c", "image": "nginx"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def as_list(*objects: Json) -> Json:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects), "metadata": {"resourceVersion": ""}}


def read(raw: bytes, name: str = "dump.json", *, at: Path) -> ClusterSnapshot:
    path = at / name
    path.write_bytes(raw)
    return ClusterSnapshot.read([path])


def problem(raw: str | bytes, at: Path, name: str = "dump.json") -> str:
    with pytest.raises(SnapshotError) as caught:
        read(raw.encode() if isinstance(raw, str) else raw, name, at=at)
    return str(caught.value).replace(str(at / name), "FILE")


# -- forms -----------------------------------------------------------------------------------------

OBJECTS = (node("a"), node("b"), pod("web", "shop", nodeName="a"), pod("new", "shop"))
FORMS = {
    "a List as kubectl writes it": json.dumps(as_list(*OBJECTS), indent=4).encode(),
    "a List on one line": json.dumps(as_list(*OBJECTS)).encode(),
    "items before kind": json.dumps({"items": list(OBJECTS), "kind": "List", "apiVersion": "v1"}).encode(),
    "objects one after the other": "\n".join(json.dumps(obj) for obj in OBJECTS).encode(),
    "two Lists": (json.dumps(as_list(*OBJECTS[:2])) + json.dumps(as_list(*OBJECTS[2:]))).encode(),
    "an empty List before it, as Go writes one": b'{"items": null, "kind": "PodList"}'
    + json.dumps(as_list(*OBJECTS)).encode(),
    "with a byte order mark": b"\xef\xbb\xbf" + json.dumps(as_list(*OBJECTS)).encode(),
    "UTF-16, as PowerShell redirects": json.dumps(as_list(*OBJECTS)).encode("utf-16"),
    "a List in YAML": yaml.safe_dump(as_list(*OBJECTS)).encode(),
    "documents in YAML": yaml.safe_dump_all(OBJECTS).encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_cluster_is_read_from_every_form(form: str, tmp_path: Path) -> None:
    snapshot = read(FORMS[form], "dump.yaml", at=tmp_path)
    assert [n["metadata"]["name"] for n in snapshot.nodes] == ["a", "b"]
    assert [p["metadata"]["name"] for p in snapshot.pods] == ["web", "new"]
    assert [p["metadata"]["name"] for p in snapshot.pending] == ["new"]


def test_files_of_a_folder_are_one_cluster_and_other_files_are_left(tmp_path: Path) -> None:
    (tmp_path / "1-nodes.json").write_text(json.dumps(as_list(*OBJECTS[:2])))
    (tmp_path / "2-pods.yaml").write_text(yaml.safe_dump(as_list(*OBJECTS[2:])))
    (tmp_path / "README.txt").write_text("not a dump")
    snapshot = ClusterSnapshot.read([tmp_path])
    assert (len(snapshot.nodes), len(snapshot.pods)) == (2, 2)


def test_standard_input_is_read() -> None:
    snapshot = ClusterSnapshot.read(["-"], io.BytesIO(FORMS["a List on one line"]))
    assert len(snapshot.pods) == 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(
    st.lists(st.dictionaries(st.text(max_size=4), json_values, max_size=3), max_size=6),
    st.sampled_from((None, 1, 4)),
    st.integers(1, 40),
)
def test_a_list_is_the_same_in_blocks_of_any_size(items: list[Any], indent: int | None, block: int) -> None:
    """The twin is json.loads of the whole text."""
    text = json.dumps({"kind": "List", "metadata": {"n": 12}, "items": items}, indent=indent, ensure_ascii=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "_BLOCK", block)
        found = [item.value for item in objects_of(io.BytesIO(text.encode()), "f")]
    assert found == json.loads(text)["items"]


@given(st.integers(0, 30), st.integers(1, 50))
def test_an_item_is_told_by_the_line_it_begins_on(before: int, block: int) -> None:
    text = '{"kind": "List", "items": [' + '{"a": "x"},\n' * before + '{"b": 1}]}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "_BLOCK", block)
        last = list(objects_of(io.BytesIO(text.encode()), "f"))[-1]
    assert last.where == f"f, line {before + 1}: items[{before}]"


def test_a_pod_that_ended_is_not_on_its_node(tmp_path: Path) -> None:
    done = {**pod("done", nodeName="n1"), "status": {"phase": "Succeeded"}}
    snapshot = ClusterSnapshot.of([node(), done, pod("runs", nodeName="n1")])
    assert [p["metadata"]["name"] for p in snapshot.pods] == ["runs"]
    assert (snapshot.ended, snapshot.counts["Pod"]) == (1, 2)


def test_of_an_object_that_comes_twice_the_last_counts_and_a_note_says_so() -> None:
    snapshot = ClusterSnapshot.of([node(), pod("p"), pod("p", nodeName="n1")])
    assert [p["spec"].get("nodeName") for p in snapshot.pods] == ["n1"]
    assert "1 objects are there more than once: the one read last counts" in snapshot.notes()


def test_objects_beside_a_snapshot_are_checked_and_those_of_it_are_not_again() -> None:
    snapshot = ClusterSnapshot.of([node(), pod("p")], server_version="v1.36.2")
    more = snapshot.beside([node("n2"), pod("p", nodeName="n2")], "--add")
    assert [n["metadata"]["name"] for n in more.nodes] == ["n1", "n2"]
    assert more.nodes[0] is snapshot.nodes[0]
    assert [p["spec"].get("nodeName") for p in more.pods] == ["n2"], "the one read last counts"
    assert (more.server_version, more.counts, more.repeated) == ("v1.36.2", {"Node": 2, "Pod": 2}, 1)
    assert (len(snapshot.nodes), snapshot.pods[0]["spec"].get("nodeName"), snapshot.repeated) == (1, None, 0)
    with pytest.raises(SnapshotError, match=r"--add: items\[0\]: Node n3: status.allocatable.cpu: 'much'"):
        snapshot.beside([node("n3", status={"allocatable": {"cpu": "much"}})], "--add")


def test_the_new_nodes_of_a_what_if_are_checked_when_it_is_made() -> None:
    snapshot = ClusterSnapshot.of([node()])
    with pytest.raises(ValueError, match=r"Node n2: spec.taints\[0\].effect: 'Never': expected one of NoSchedule"):
        WhatIf(snapshot, [], [node("n2", spec={"taints": [{"key": "k", "effect": "Never"}]})])
    with pytest.raises(ValueError, match=r"Pod default/p: spec.preemptionPolicy: 'never': expected one of"):
        WhatIf(snapshot, [], [pod("p", nodeName="n1", preemptionPolicy="never")])


class Endless(io.RawIOBase):
    """A List of so many ConfigMaps of 100 KB, made while it is read."""

    def __init__(self, number: int) -> None:
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "x" * 100_000}}
        text = json.dumps(config).encode()
        last = json.dumps(pod("last")).encode()
        self.parts = iter([b'{"kind": "List", "items": [', *[text + b","] * number, last + b"]}"])
        self.left = b""

    def read(self, size: int = -1) -> bytes:
        while len(self.left) < size and (part := next(self.parts, b"")):
            self.left += part
        found, self.left = self.left[:size], self.left[size:]
        return found


def test_a_dump_is_never_in_memory_as_a_whole() -> None:
    """30 MB come by; with blocks of 1 MB a few of them are held at a time."""
    tracemalloc.start()
    try:
        snapshot = ClusterSnapshot.read(["-"], Endless(300))  # type: ignore[arg-type]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (snapshot.counts["ConfigMap"], len(snapshot.pods)) == (300, 1)
    assert peak < 10_000_000


# -- what is kept ----------------------------------------------------------------------------------

HUSH = "correct-horse"


def secretive() -> list[Json]:
    """A word in every place where people keep secrets."""
    container = {
        "name": "c",
        "image": "nginx",
        "env": [{"name": "PASSWORD", "value": HUSH}],
        "command": ["sh", "-c", HUSH],
        "args": [HUSH],
        "livenessProbe": {"httpGet": {"path": f"/{HUSH}", "httpHeaders": [{"name": "Authorization", "value": HUSH}]}},
        "lifecycle": {"postStart": {"exec": {"command": [HUSH]}}},
    }
    volume = {"name": "v", "csi": {"driver": "d", "volumeAttributes": {"token": HUSH}}}
    whole = pod("p", containers=[container], initContainers=[container], volumes=[volume])
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": HUSH, "token": HUSH}
    whole["metadata"]["annotations"] = annotations
    whole["metadata"]["managedFields"] = [{"manager": HUSH}]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": HUSH}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s"}, "data": {"k": HUSH}}
    volume_object = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv", "annotations": annotations},
        "spec": {"csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"token": HUSH}}},
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "r", "annotations": annotations},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {"containers": [container]}}},
    }
    tainted = node()
    tainted["metadata"]["annotations"] = annotations
    return [whole, secret, config, volume_object, deployment, tainted]


def test_nothing_secret_is_kept() -> None:
    objects = secretive()
    assert json.dumps(objects).count(HUSH) > 15
    snapshot = ClusterSnapshot.of(objects)
    assert HUSH not in json.dumps([json.loads(json.dumps(obj)) for obj in snapshot])
    assert len(list(snapshot)) == 4  # without the Secret and the ConfigMap


def test_of_a_claim_what_binding_noted_is_kept_and_no_other_annotation() -> None:
    notes = {"pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/selected-node": "n1", "token": HUSH}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "d", "annotations": notes},
    }
    [kept] = list(ClusterSnapshot.of([claim]))
    assert dict(kept["metadata"]["annotations"]) == {k: v for k, v in notes.items() if k != "token"}


def test_every_field_that_plugins_read_is_kept() -> None:
    """What the scheduler's own modules read of a Pod's spec, by name."""
    spec = {
        "affinity": {"nodeAffinity": {}},
        "nodeSelector": {"a": "b"},
        "tolerations": [{"operator": "Exists"}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        ],
        "overhead": {"cpu": "1"},
        "priority": 5,
        "preemptionPolicy": "Never",
        "schedulerName": "mine",
        "schedulingGates": [{"name": "g"}],
    }
    [kept] = ClusterSnapshot.of([pod("p", **spec)]).pods
    assert {name: kept["spec"][name] for name in spec} == spec


# -- notes -----------------------------------------------------------------------------------------


def test_another_version_is_noted() -> None:
    objects = [node(status={"nodeInfo": {"kubeletVersion": "v1.32.1"}})]
    assert ClusterSnapshot.of(objects).notes()[0].startswith("a kubelet is v1.32.1: this is the scheduler of 1.36")
    assert ClusterSnapshot.of(objects, server_version="v1.36.2").notes()[0].startswith("no Pod in the snapshot")
    version = {"clientVersion": {"gitVersion": "v1.37.0"}, "serverVersion": {"gitVersion": "v1.31.0"}}
    assert ClusterSnapshot.of([*objects, version]).notes()[0].startswith("the server is v1.31.0")


def test_what_is_missing_is_named_with_what_that_means() -> None:
    notes = "\n".join(ClusterSnapshot.of([node()]).notes())
    for kind in ("Namespace", "PriorityClass", "PodDisruptionBudget", "PersistentVolume", "Service"):
        assert f"no {kind} in the snapshot: " in notes
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "x"}}
    assert "PodDisruptionBudget" not in "\n".join(ClusterSnapshot.of([node(), budget]).notes())


# -- priority --------------------------------------------------------------------------------------

GOLD = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gold"}, "value": 7}
DEFAULT = {**GOLD, "metadata": {"name": "plain"}, "value": 3, "globalDefault": True, "preemptionPolicy": "Never"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"priorityClassName": "gold"}, (7, None)),
        ({}, (3, "Never")),
        ({"priority": 9, "priorityClassName": "gold"}, (9, None)),
        ({"priorityClassName": "system-node-critical"}, (2_000_001_000, None)),
    ],
    ids=["of its class", "of the default class", "its own", "of a class every cluster has"],
)
def test_a_pod_has_the_priority(spec: Json, expected: tuple[int, str | None]) -> None:
    snapshot = ClusterSnapshot.of([GOLD, DEFAULT, pod(**spec)])
    found = snapshot.with_priority(snapshot.pods[0])["spec"]
    assert (found["priority"], found.get("preemptionPolicy")) == expected


def test_an_unknown_priority_class_is_named_with_the_known_ones() -> None:
    snapshot = ClusterSnapshot.of([GOLD, pod("p", priorityClassName="silver")])
    with pytest.raises(SnapshotError) as caught:
        snapshot.with_priority(snapshot.pods[0])
    assert str(caught.value) == (
        "pod p: spec.priorityClassName: 'silver': no PriorityClass with name silver was found (known: gold)"
    )


# -- wrong dumps -----------------------------------------------------------------------------------

WRONG = [
    ('{"kind": "List",\n "items": [{"kind": "Pod" 1}]}', "FILE, line 2, column 27: Expecting ',' delimiter"),
    ('{"kind": "List", "items": [\n', "FILE, line 2, column 1: Expecting value (the file ends there)"),
    ('{"kind": "List", "items": []} x', "FILE, line 1, column 31: expected an object with apiVersion and kind"),
    ("[1]", "FILE, line 1, column 1: expected an object with apiVersion and kind"),
    ('{"kind" "Pod"}', "FILE, line 1, column 9: expected ':'"),
    ("a: b: c", "FILE, line 1, column 5: mapping values are not allowed here"),
    ("just words", "FILE, line 1: a text: expected an object with kind and metadata"),
    ('{"kind": "Pod"}', "FILE, line 1: apiVersion: None: expected a text"),
    ('{"apiVersion": "v1"}', "FILE, line 1: kind: None: expected a text"),
    ('{"kind": "List",\n"items": [3]}', "FILE, line 2: items[0]: 3: expected an object with kind and metadata"),
    ('\n{"items": 5, "kind": "PodList"}', "FILE, line 2: items: expected a list"),
    ("kind: PodList\nitems: 5\n", "FILE, line 2: items: expected a list"),
    (json.dumps(as_list(pod(priority="high"))),
     "FILE, line 1: items[0]: Pod p: spec.priority: 'high': expected a 32-bit integer"),
    (json.dumps(as_list(pod(preemptionPolicy="never"))),
     "FILE, line 1: items[0]: Pod p: spec.preemptionPolicy: 'never': expected one of PreemptLowerPriority, Never"),
    (json.dumps(as_list({**node(), "spec": {"taints": [{"key": "gpu", "effect": "NoSchedul"}]}})),
     "FILE, line 1: items[0]: Node n1: spec.taints[0].effect: 'NoSchedul': expected one of NoSchedule, "),
    (json.dumps(as_list({**node(), "status": {"allocatable": {"cpu": "4 cores"}}})),
     "FILE, line 1: items[0]: Node n1: status.allocatable.cpu: '4 cores': expected a quantity"),
    (json.dumps(as_list({**node(), "metadata": {}})),
     "FILE, line 1: items[0]: Node: metadata.name: None: expected a name"),
    (json.dumps(as_list({**node(), "metadata": 1})), "FILE, line 1: items[0]: Node: metadata: 1: expected an object"),
    (json.dumps(as_list({**pod(), "spec": []})), "FILE, line 1: items[0]: Pod p: spec: []: expected an object"),
    (json.dumps(as_list(pod(containers=[7]))),
     "FILE, line 1: items[0]: Pod p: spec.containers[0]: 7: expected an object"),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "expected"), WRONG, ids=[expected[6:70] for _, expected in WRONG])
def test_a_wrong_dump_is_refused_with_the_place(raw: str, expected: str, tmp_path: Path) -> None:
    assert problem(raw, tmp_path).startswith(expected)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    assert problem(b'{"kind": "\xff"}', tmp_path) == "FILE, after line 1: not UTF-8: invalid start byte"


def test_a_folder_without_dumps_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"expected a folder with \.json, \.yaml or \.yml files"):
        ClusterSnapshot.read([tmp_path])


def test_what_a_text_says_is_not_repeated() -> None:
    for raw in (["PASSWORD=hush"], [{"kind": {"a": "hush"}}], [{"apiVersion": "v1", "kind": "Pod", "spec": "hush"}]):
        with pytest.raises(SnapshotError) as error:
            ClusterSnapshot.of(raw)
        assert "hush" not in str(error.value)


def test_a_version_that_is_no_object_is_refused() -> None:
    with pytest.raises(SnapshotError, match=r"items\[0\]: serverVersion: a text: expected an object"):
        ClusterSnapshot.of([{"serverVersion": "x"}])


def test_missing_nodes_and_pods_are_noted() -> None:
    notes = ClusterSnapshot.of([]).notes()
    assert [note.split(":")[0] for note in notes[:2]] == ["no Node in the snapshot", "no Pod in the snapshot"]


def test_half_a_surrogate_pair_is_replaced() -> None:
    [kept_pod] = ClusterSnapshot.of(
        [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p\ud800", "labels": {"\udfff": "x"}}}]
    ).pods
    assert (kept_pod["metadata"]["name"], kept_pod["metadata"]["labels"]) == ("p\ufffd", {"\ufffd": "x"})


def test_long_numbers_and_cut_off_files_are_refused_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text('{"kind": "List",\n"items": [{"priority": ' + "9" * 5000 + "}]}")
    with pytest.raises(SnapshotError, match=r"d\.json, line 2, column \d+: a number with too many digits"):
        ClusterSnapshot.read([tmp_path / "d.json"])
    (tmp_path / "e.json").write_text('{"kind": "List",\n"items": [{"metad')
    with pytest.raises(SnapshotError, match=r"e\.json, line 2, column \d+: .* \(the file ends there\)"):
        ClusterSnapshot.read([tmp_path / "e.json"])
    (tmp_path / "f.yaml").write_text("kind: Pod\napiVersion: v1\nspec: {priority: " + "9" * 5000 + "}\n")
    with pytest.raises(SnapshotError, match=r"f\.yaml, line 1: Pod: spec\.priority: .*: expected a 32-bit integer"):
        ClusterSnapshot.read([tmp_path / "f.yaml"])
