"""`k8slab simulate schedule` and `replay`: where Pods go, how many fit, mocked results, recordings, wrong input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from k8slab.api.decoding import decode
from k8slab.cluster.snapshots import WhatIf
from tests.unit.cli.conftest import Answer

Run = Callable[..., Answer]
Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
EXAMPLE, MORE = ROOT / "examples" / "pending.yaml", ROOT / "examples" / "more-pods.yaml"

NODES = """\
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: b}
status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx, resources: {requests: {cpu: "1"}}}]}
"""


def pod(name: str, cpu: str, spec: str = "", namespace: str = "default") -> str:
    container = f"{{name: c, image: x, resources: {{requests: {{cpu: '{cpu}'}}}}}}"
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {{containers: [{container}]{', ' + spec if spec else ''}}}\n"
    )


@pytest.fixture
def at(tmp_path: Path) -> Path:
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "web.yaml").write_text(WEB)
    return tmp_path


def simulated(k8slab: Run, *arguments: object) -> Json:
    answer = k8slab("simulate", "schedule", *arguments, "-o", "json")
    assert answer.err == ""
    found: Json = json.loads(answer.out)
    assert answer.code == (1 if any(not p["node"] for p in found["placements"]) else 0)
    return found


def test_replicas_are_placed_and_the_room_is_counted(k8slab: Run, at: Path) -> None:
    """Six cores in all: three replicas, and three more fit. Usage goes from none to half."""
    found = simulated(k8slab, at / "nodes.yaml", "--add", at / "web.yaml", "--fill")
    assert [p["pod"] for p in found["placements"]] == ["default/web-1", "default/web-2", "default/web-3"]
    assert {p["node"] for p in found["placements"]} == {"a", "b"}
    assert found["room"] == {"default/web-1": 3}
    cpu = found["usage"][0]
    assert cpu == {"resource": "cpu", "allocatable": 6000, "before": 0, "after": 3000}


def test_more_nodes_like_a_template_make_more_room(k8slab: Run, at: Path) -> None:
    found = simulated(
        k8slab, at / "nodes.yaml", "--add", at / "web.yaml", "--fill", "--nodes", 2, "--node-template", "b"
    )
    assert found["newNodes"] == ["b-copy1", "b-copy2"]
    assert found["room"] == {"default/web-1": 3 + 2 * 2}


def test_a_template_may_be_a_file(k8slab: Run, at: Path) -> None:
    (at / "big.yaml").write_text(NODES.split("---")[0].replace("name: a", "name: big").replace('"4"', '"64"'))
    found = simulated(
        k8slab, at / "nodes.yaml", "--add", at / "web.yaml", "--nodes", 1, "--node-template", at / "big.yaml"
    )
    assert found["newNodes"] == ["big-copy1"]


def test_what_stays_pending_says_why(k8slab: Run, at: Path) -> None:
    (at / "web.yaml").write_text(WEB.replace("replicas: 3", "replicas: 7"))
    found = simulated(k8slab, at / "nodes.yaml", "--add", at / "web.yaml")
    pending = [p for p in found["placements"] if not p["node"]]
    assert len(pending) == 7 - 6
    assert pending[0]["message"].startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_pods_that_are_pending_already_come_first(k8slab: Run, at: Path) -> None:
    (at / "nodes.yaml").write_text(f"{NODES}---\n{pod('old', '4')}")
    found = simulated(k8slab, at / "nodes.yaml", "--add", at / "web.yaml")
    assert [(p["new"], p["node"]) for p in found["placements"]] == [(False, "a"), (True, "b"), (True, "b"), (True, "")]


def test_who_is_evicted_is_told(k8slab: Run, at: Path) -> None:
    gold = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: gold}\nvalue: 10\n"
    (at / "nodes.yaml").write_text(f"{NODES}---\n{pod('low', '4', 'nodeName: a, priority: 0')}")
    (at / "high.yaml").write_text(f"{pod('high', '3', 'priorityClassName: gold')}---\n{gold}")
    [placement] = simulated(k8slab, at / "nodes.yaml", "--add", at / "high.yaml")["placements"]
    assert (placement["node"], placement["evicted"]) == ("a", ["default/low"])


@pytest.mark.parametrize(
    ("kind", "count"),
    [("ReplicaSet", 3), ("StatefulSet", 3), ("ReplicationController", 3)],
)
def test_every_workload_comes_to_its_pods(kind: str, count: int, k8slab: Run, at: Path) -> None:
    text = WEB.replace("Deployment", kind)
    if kind == "ReplicationController":
        text = text.replace("apps/v1", "v1").replace("{matchLabels: {app: web}}", "{app: web}")
    (at / "web.yaml").write_text(text)
    found = simulated(k8slab, at / "nodes.yaml", "--add", at / "web.yaml")
    assert len(found["placements"]) == count


def test_a_job_comes_to_as_many_pods_as_run_at_once(k8slab: Run, at: Path) -> None:
    (at / "web.yaml").write_text(
        WEB.replace("apps/v1", "batch/v1")
        .replace("Deployment", "Job")
        .replace("replicas: 3", "parallelism: 5\n  completions: 2")
    )
    assert len(simulated(k8slab, at / "nodes.yaml", "--add", at / "web.yaml")["placements"]) == 2


# -- mocked results --------------------------------------------------------------------------------


def test_a_mocked_verdict_keeps_pods_away(k8slab: Run, at: Path) -> None:
    (at / "mock.yaml").write_text("- {plugin: NodeResourcesFit, node: a, reasons: [Insufficient luck]}\n")
    (at / "web.yaml").write_text(WEB.replace('cpu: "1"', 'cpu: "3"'))
    found = simulated(k8slab, at / "nodes.yaml", "--add", at / "web.yaml", "--mock", at / "mock.yaml")
    message = found["placements"][0]["message"]
    assert message.startswith("0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient luck.")


def test_a_mocked_score_draws_pods(k8slab: Run, at: Path) -> None:
    """NodeResourcesFit gives 100 to b alone; nothing else tells the Nodes apart by as much."""
    (at / "web.yaml").write_text(WEB.replace("replicas: 3", "replicas: 1"))
    plain = simulated(k8slab, at / "nodes.yaml", "--add", at / "web.yaml")
    (at / "mock.yaml").write_text(
        "- {plugin: NodeResourcesFit, node: b, score: 100}\n"
        "- {plugin: NodeResourcesFit, node: a, score: 0, pod: default/web-*}\n"
    )
    mocked = simulated(k8slab, at / "nodes.yaml", "--add", at / "web.yaml", "--mock", at / "mock.yaml")
    assert ([p["node"] for p in plain["placements"]], [p["node"] for p in mocked["placements"]]) == (["a"], ["b"])


WRONG_MOCKS = [
    ("{}", "{}: expected a list of results"),
    ("- 3", "[0]: 3: expected plugin, node and reasons or score"),
    ("- {node: a}", "[0].plugin: None: expected the name of a plugin"),
    ("- {plugin: NodeName, colour: 3}", "[0].colour: unknown, expected plugin, node, pod, code, reasons or score"),
    ("- {plugin: NodeName, node: 3}", "[0].node: 3: expected a text"),
    ("- {plugin: NodeName, code: Maybe}", "[0].code: 'Maybe': expected one of Success, Unschedulable"),
    ("- {plugin: NodeName, reasons: no}", "[0].reasons: False: expected a list of texts"),
    ("- {plugin: NodeName, reasons: [x], code: Success}", "[0].reasons: ['x']: expected none with Success"),
    ("- {plugin: ImageLocality, score: high}", "[0].score: 'high': expected an integer"),
    ("- {plugin: Wind}", "plugin 'Wind' does not filter in this profile, expected one of NodeUnschedulable"),
    ("- {plugin: NodeName, score: 1}", "plugin 'NodeName' does not score in this profile"),
]


@pytest.mark.parametrize(("text", "expected"), WRONG_MOCKS, ids=[expected for _, expected in WRONG_MOCKS])
def test_wrong_mocks_are_refused(text: str, expected: str, k8slab: Run, at: Path) -> None:
    (at / "mock.yaml").write_text(text)
    answer = k8slab("simulate", "schedule", at / "nodes.yaml", "--mock", at / "mock.yaml")
    assert answer.code == 1
    assert expected in answer.err


# -- recordings ------------------------------------------------------------------------------------


def test_a_recording_replays_to_the_same_output(k8slab: Run, at: Path) -> None:
    arguments = (EXAMPLE, "--add", MORE, "--nodes", 1, "--fill", "-o", "json")
    first = k8slab("simulate", "schedule", *arguments, "--record", at / "r.json")
    again = k8slab("simulate", "schedule", *arguments, "--record", at / "again.json")
    assert (at / "r.json").read_bytes() == (at / "again.json").read_bytes()
    replayed = k8slab("simulate", "replay", at / "r.json", "-o", "json")
    assert replayed.code == 0
    for key in ("placements", "usage", "room", "newNodes"):
        assert json.loads(replayed.out)[key] == json.loads(first.out)[key] == json.loads(again.out)[key]
    assert "hush" not in (at / "r.json").read_text()


def test_what_was_read_is_checked_once_and_the_answer_is_found_once(
    k8slab: Run, at: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 50,000 Pods each further time takes a minute."""
    checked: list[str] = []
    runs: list[WhatIf] = []

    def counted(obj: Json) -> Any:
        checked.append(f"{obj['kind']} {obj['metadata']['name']}")
        return decode(obj)

    def noted(what_if: WhatIf, *, fill: bool) -> Any:
        runs.append(what_if)
        return run(what_if, fill=fill)

    run = WhatIf.run
    monkeypatch.setattr("k8slab.cluster.snapshots.snapshot.decode", counted)
    monkeypatch.setattr(WhatIf, "run", noted)
    arguments = (at / "nodes.yaml", "--add", at / "web.yaml", "--record", at / "r.json")
    assert k8slab("simulate", "schedule", *arguments).code == 0
    assert (checked, len(runs)) == (["Node a", "Node b", "ReplicaSet web"], 1)
    checked.clear()
    assert k8slab("simulate", "replay", at / "r.json").code == 0
    pods = ["Pod web-1", "Pod web-2", "Pod web-3"]
    assert (checked, len(runs)) == (["Node a", "Node b", "ReplicaSet web", *pods], 2)


def test_a_recording_whose_answer_changed_is_noticed(k8slab: Run, at: Path) -> None:
    k8slab("simulate", "schedule", at / "nodes.yaml", "--add", at / "web.yaml", "--record", at / "r.json")
    recording = json.loads((at / "r.json").read_text())
    recording["objects"][0]["status"]["allocatable"]["cpu"] = "1"
    (at / "r.json").write_text(json.dumps(recording))
    answer = k8slab("simulate", "replay", at / "r.json")
    assert answer.code == 1
    assert "the answer is not the recorded one" in answer.err


WRONG_RECORDINGS = [
    ("{", "line 1, column 2: "),
    ("kind: Pod", "line 1, column 1: Expecting value: expected what `simulate schedule --record` wrote"),
    ("{}", "format: 'None': expected k8slab/simulate-schedule/recording/1"),
    ("[]", "format: '[]': expected k8slab/simulate-schedule/recording/1"),
    ('{"format": "k8slab/simulate-schedule/recording/1"}', "objects: missing, expected what `--record` wrote"),
]


@pytest.mark.parametrize(("text", "expected"), WRONG_RECORDINGS, ids=[expected for _, expected in WRONG_RECORDINGS])
def test_what_is_no_recording_is_refused(text: str, expected: str, k8slab: Run, at: Path) -> None:
    (at / "r.json").write_text(text)
    answer = k8slab("simulate", "replay", at / "r.json")
    assert answer.code == 1
    assert expected in answer.err


# -- wrong input -----------------------------------------------------------------------------------


def test_a_workload_that_goes_to_every_node_is_refused(k8slab: Run, at: Path) -> None:
    text = WEB.replace("Deployment", "DaemonSet").replace("  replicas: 3\n", "")
    (at / "web.yaml").write_text(text)
    answer = k8slab("simulate", "schedule", at / "nodes.yaml", "--add", at / "web.yaml")
    assert answer.code == 1
    assert "kind: 'DaemonSet': expected Pod, Deployment, ReplicaSet" in answer.err


WRONG = [
    (("nope.yaml",), 1, "error: nope.yaml: No such file or directory"),
    (("NODES", "--nodes", "x"), 2, "'x': expected a number up to 10000"),
    (("NODES", "--nodes", "1", "--node-template", "zzz"), 1, "--node-template 'zzz': expected a Node of the snapshot"),
    (("NODES", "--add", "nope.yaml"), 1, "error: nope.yaml: No such file or directory"),
    (("NODES", "--record", "no/such/r.json"), 2, "--record no/such/r.json: expected a file in a folder that exists"),
    (("NODES", "--record", "."), 2, "--record .: expected a file in a folder that exists"),
    (("NODES", "--node-template", "b"), 2, "--node-template b: expected --nodes N with it"),
    (("NODES", "--nodes", "0", "--node-template", "zzz"), 2, "--node-template zzz: expected --nodes N with it"),
    (("NODES", "--seed", ""), 2, "argument --seed: '': expected a number or a printable text"),
    (("NODES", "--seed", "a\nb"), 2, "argument --seed: 'a\\nb': expected a number or a printable text"),
    (("\x1b[31mred",), 1, "error: \\x1b[31mred: No such file or directory"),
    (("NODES", "--record", "\x1b[31m/r.json"), 2, "--record \\x1b[31m/r.json: expected a file"),
    (("WEB",), 1, "no Node in there, expected some"),
]


@pytest.mark.parametrize(("arguments", "code", "text"), WRONG, ids=[text for *_, text in WRONG])
def test_wrong_usage_is_answered(arguments: tuple[str, ...], code: int, text: str, k8slab: Run, at: Path) -> None:
    names = {"NODES": at / "nodes.yaml", "WEB": at / "web.yaml"}
    answer = k8slab("simulate", "schedule", *(names.get(word, word) for word in arguments))
    assert (answer.code, answer.out) == (code, "")
    assert text in answer.err


def test_a_pod_that_is_there_already_is_refused(k8slab: Run, at: Path) -> None:
    (at / "p.yaml").write_text(pod("cart-1", "1", namespace="shop"))
    answer = k8slab("simulate", "schedule", EXAMPLE, "--add", at / "p.yaml")
    assert (answer.code, answer.err) == (1, "error: pod shop/cart-1: is there already, expected another name\n")


def test_an_unknown_priority_class_is_refused(k8slab: Run, at: Path) -> None:
    (at / "p.yaml").write_text(pod("x", "1", "priorityClassName: tin"))
    answer = k8slab("simulate", "schedule", EXAMPLE, "--add", at / "p.yaml")
    assert answer.code == 1
    assert "no PriorityClass with name tin was found (known: important)" in answer.err


# -- what runs on every Node, which Node is the template ---------------------------------------------

AGENT = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: agent-1, ownerReferences: "
    "[{apiVersion: apps/v1, kind: DaemonSet, name: agent}]}\n"
    "spec: {nodeName: b, containers: [{name: c, resources: {requests: {cpu: '1'}}}]}\n"
)


def test_new_nodes_run_the_daemonsets_of_their_template(k8slab: Run, at: Path) -> None:
    """b has 2 cores, of which a DaemonSet takes one: also on each copy of it."""
    (at / "nodes.yaml").write_text(f"{NODES}---\n{AGENT}")
    more = ("--nodes", 2, "--node-template", "b", "--record", at / "r.json")
    found = simulated(k8slab, at / "nodes.yaml", "--add", at / "web.yaml", "--fill", *more)
    assert found["room"] == {"default/web-1": 4 + 3 * 1 - 3}
    assert found["newNodes"] == ["b-copy1", "b-copy2"]
    assert k8slab("simulate", "replay", at / "r.json").code == 0


def test_the_template_is_rather_a_worker_and_is_named(k8slab: Run, at: Path) -> None:
    taint = "spec: {taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]}\nstatus"
    (at / "nodes.yaml").write_text(NODES.replace("status", taint, 1))
    answer = k8slab("simulate", "schedule", at / "nodes.yaml", "--add", at / "web.yaml", "--nodes", 1)
    assert "1 more node like b: b-copy1\n" in answer.out


# -- added Pods of all kinds -----------------------------------------------------------------------


def test_a_pod_that_names_its_node_is_not_scheduled(k8slab: Run, at: Path) -> None:
    pods = [
        pod("here", "1", "nodeName: b"),
        pod("big", "3", "nodeName: b"),
        pod("lost", "1", "nodeName: zzz"),
        pod("picky", "1", "nodeName: b, nodeSelector: {disk: ssd}"),
    ]
    (at / "p.yaml").write_text("---\n".join(pods))
    placements = simulated(k8slab, at / "nodes.yaml", "--add", at / "p.yaml")["placements"]
    assert [(p["node"], p["message"]) for p in placements] == [
        ("b", ""),
        ("", "spec.nodeName is b, whose kubelet would reject it: Insufficient cpu"),
        ("", "spec.nodeName is zzz: no such Node"),
        (
            "",
            "spec.nodeName is b, whose kubelet would reject it: node(s) didn't match Pod's node affinity/selector",
        ),
    ]


def test_a_pod_without_a_name_gets_one_or_is_refused(k8slab: Run, at: Path) -> None:
    (at / "p.yaml").write_text(pod("x", "1").replace("name: x,", "generateName: job-,"))
    [placement] = simulated(k8slab, at / "nodes.yaml", "--add", at / "p.yaml")["placements"]
    assert placement["pod"] == "default/job-1"
    (at / "p.yaml").write_text(pod("x", "1").replace("name: x, ", ""))
    answer = k8slab("simulate", "schedule", at / "nodes.yaml", "--add", at / "p.yaml")
    assert answer.code == 1
    assert "p.yaml" in answer.err and "line 1" in answer.err


def test_there_is_no_room_for_pods_of_another_scheduler(k8slab: Run, at: Path) -> None:
    (at / "p.yaml").write_text(pod("x", "1", "schedulerName: zzz"))
    assert simulated(k8slab, at / "nodes.yaml", "--add", at / "p.yaml", "--fill")["room"] == {"default/x": 0}


# -- secrets of a configuration --------------------------------------------------------------------

SECRET = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: secret/aHVudGVyMg}
extenders:
- urlPrefix: https://user:hunter2@ext.local/x
  filterVerb: filter
  tlsConfig: {keyData: aHVudGVyMg==, certData: aHVudGVyMg==}
"""


def test_no_secret_of_a_configuration_comes_out(k8slab: Run, at: Path) -> None:
    wrong_kind, wrong_type = SECRET.replace("kind:", "kin:"), SECRET.replace("filterVerb: filter", "weight: x")
    for text, code in ((SECRET, 0), (wrong_kind, 1), (wrong_type, 1)):
        (at / "c.yaml").write_text(text)
        what = (at / "nodes.yaml", "--config", at / "c.yaml")
        planned = k8slab("simulate", "schedule", *what, "--record", at / "r.json", "-o", "json")
        explained = k8slab("explain-pending", *what, "--html", at / "a.html")
        recording = (at / "r.json").read_text()
        html = (at / "a.html").read_text()
        for out in (planned.out, planned.err, explained.out, explained.err, recording, html):
            assert "hunter2" not in out and "aHVudGVyMg" not in out
        assert (planned.code, explained.code) == (code, code), (planned.err, explained.err)
    assert "https://ext.local/x" in html
    (at / "c.yaml").write_text(SECRET)
    notes = json.loads(k8slab("simulate", "schedule", at / "nodes.yaml", "--config", at / "c.yaml", "-o", "json").out)[
        "notes"
    ]
    assert notes[-1] == "extender https://ext.local/x is not asked: what it would say is missing"
    k8slab("simulate", "schedule", at / "nodes.yaml", "--config", at / "c.yaml", "--record", at / "r.json")
    assert k8slab("simulate", "replay", at / "r.json").code == 0


# -- recordings that were edited -------------------------------------------------------------------

EDITS: list[tuple[str, Any, str]] = [
    ("objects", None, "objects: 'None': expected a list"),
    ("objects", [1], "objects: items[0]: 1: expected an object"),
    ("add", [{}], "add: items[0]: kind: None: expected a text"),
    ("add", [{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}], "add[0]: spec: missing"),
    (
        "add",
        [{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}}],
        "add[0]: kind: 'Secret': expected Pod",
    ),
    ("new_nodes", [{"a": 1}], "new_nodes: items[0]: kind: None"),
    ("mocks", {"a": 1}, "mocks: \"{'a': 1}\": expected a list"),
    ("mocks", [3], "mocks[0]: 3: expected plugin, node and reasons or score"),
    ("config", 5, "config: '5': expected a text"),
    ("seed", [1], "seed: '[1]': expected a number or a text"),
    ("seed", True, "seed: 'True': expected a number or a text"),
    ("fill", "no", "fill: 'no': expected true or false"),
    ("server_version", 7, "server_version: '7': expected a text"),
    ("answer", 7, "answer: '7': expected a text"),
]


@pytest.mark.parametrize(("field", "value", "expected"), EDITS, ids=[f"{f}-{e[:30]}" for f, _, e in EDITS])
def test_a_recording_with_a_wrong_field_is_refused(
    field: str, value: Any, expected: str, k8slab: Run, at: Path
) -> None:
    k8slab("simulate", "schedule", at / "nodes.yaml", "--add", at / "web.yaml", "--record", at / "r.json")
    body = {**json.loads((at / "r.json").read_text()), field: value}
    (at / "r.json").write_text(json.dumps(body))
    answer = k8slab("simulate", "replay", at / "r.json")
    assert (answer.code, answer.out) == (1, "")
    assert f"{at / 'r.json'}: {expected}" in answer.err


def test_bytes_that_are_no_text_are_refused_by_name(k8slab: Run, at: Path) -> None:
    (at / "r.json").write_bytes(b"\xff\xfe\x00")
    answer = k8slab("simulate", "replay", at / "r.json")
    assert answer.code == 1
    assert answer.err.startswith(f"error: {at / 'r.json'}: not UTF-8")


def test_a_seed_of_any_length_is_taken(k8slab: Run, at: Path) -> None:
    answer = k8slab("simulate", "schedule", at / "nodes.yaml", "--add", at / "web.yaml", "--seed", "9" * 5000)
    assert (answer.code, answer.err) == (0, "")
