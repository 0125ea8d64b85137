"""`k8slab run`: exit codes, what it says of wrong input, formats; on manifests in the style of public examples."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.deployments import deployment
from tests.unit.cli.conftest import Answer

ROOT = Path(__file__).resolve().parents[3]
MANIFESTS = ROOT / "tests" / "manifests"
GOOD = sorted(path for path in MANIFESTS.iterdir() if path.is_file() and path.name != "comments.yaml")


Run = Callable[..., Answer]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(content: str | bytes, name: str = "input.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def pod(name: str = "p", spec: str = "", metadata: str = "") -> str:
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{metadata}}}\n"
        f"spec: {{containers: [{{name: c, image: nginx{spec}}}]}}\n"
    )


def config_map(name: str = "a", data: str = "{k: v}") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {data}\n"


# -- manifests nobody here wrote -------------------------------------------------------------------


def test_there_are_a_dozen_examples() -> None:
    assert len(GOOD) >= 12


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_an_example_runs(path: Path, k8slab: Run) -> None:
    answer = k8slab("run", path)
    assert (answer.code, answer.err) == (0, "")
    assert any(
        words in answer.out for words in ("everything is ready after ", " only stored, after ", "nothing to wait for: ")
    )
    assert "not ready" not in answer.out


@pytest.mark.parametrize("latency", ["none", "lan", "slow-watch"])
def test_all_examples_run_together_as_a_folder(latency: str, k8slab: Run) -> None:
    answer = k8slab("run", MANIFESTS, "--latency", latency, "--nodes", "5")
    assert (answer.code, answer.err) == (0, "")
    for path in GOOD:
        assert answer.out.count("created") >= len(GOOD), path


def test_what_nothing_acts_on_is_said(k8slab: Run) -> None:
    out = k8slab("run", MANIFESTS / "shop-everything.yaml").out
    for kind in ("Ingress", "NetworkPolicy", "Job", "CronJob", "StatefulSet", "DaemonSet"):
        assert f": created; stored; nothing in this simulation acts on {kind} objects\n" in out
    assert ": created; stored; nobody here works out status.disruptionsAllowed: until you patch it, the budget " in out
    assert "deployment.apps/cart: created; ready\n" in out
    assert "horizontalpodautoscaler.autoscaling/cart: created; ready\n" in out
    assert "namespace/shop: created; ready\n" in out


@pytest.mark.parametrize(
    ("file", "kind"),
    [("argo-rollout.yaml", "Rollout"), ("monitoring.yaml", "ServiceMonitor"), ("monitoring.yaml", "Certificate"),
     ("crontab-crd.yaml", "CronTab"), ("crontab-crd.yaml", "CustomResourceDefinition")],
)  # fmt: skip
def test_kinds_of_other_groups_are_stored(file: str, kind: str, k8slab: Run) -> None:
    assert f"stored; nothing in this simulation acts on {kind} objects" in k8slab("run", MANIFESTS / file).out


# -- the answer ------------------------------------------------------------------------------------


def test_the_timeline_begins_with_you_and_ends_with_the_verdict(k8slab: Run) -> None:
    lines = k8slab("run", MANIFESTS / "pod.json").out.splitlines()
    assert lines[0].split(" ms ", 1)[0].strip() == "3"  # after it was asked whether it exists
    assert "you create Pod default/json" in lines[0]
    assert lines[-2:] == ["", lines[-1]]
    assert lines[-1].startswith("everything is ready after ")
    assert lines[-1].endswith(" ms of virtual time (seed 7, 3 nodes)")


def test_the_same_command_prints_the_same(k8slab: Run) -> None:
    first, second, other = (k8slab("run", MANIFESTS / "guestbook.yaml", "--seed", seed).out for seed in "334")
    assert first == second != other


def test_all_steps_are_more_than_the_main_story(k8slab: Run) -> None:
    story, steps = (k8slab("run", MANIFESTS / "pod.json", *flags).out for flags in ((), ("--all-steps",)))
    assert len(steps.splitlines()) > 3 * len(story.splitlines())
    assert "etcd commits revision" in steps


def test_json_is_one_valid_document(k8slab: Run) -> None:
    answer = k8slab("run", MANIFESTS / "guestbook.yaml", "-o", "json")
    report = json.loads(answer.out)
    assert (answer.code, report["ready"], report["errors"], report["warnings"]) == (0, True, [], [])
    assert [one["reference"] for one in report["objects"]][:2] == [
        "service/redis-leader",
        "deployment.apps/redis-leader",
    ]
    assert {one["what"] for one in report["objects"]} == {"created"}
    assert len(report["timeline"]) > 6


def test_json_of_a_refusal_is_one_valid_document(write: Callable[..., Path], k8slab: Run) -> None:
    answer = k8slab("run", write("a: [1"), "-o", "json")
    report = json.loads(answer.out)
    assert (answer.code, report["ready"], report["applied"]) == (1, False, [])
    assert len(report["errors"]) == 1


def test_json_of_something_that_is_not_ready_names_the_reason(write: Callable[..., Path], k8slab: Run) -> None:
    answer = k8slab("run", write(pod(spec=", resources: {requests: {cpu: 64}}")), "-o", "json")
    report = json.loads(answer.out)
    assert (answer.code, report["ready"]) == (1, False)
    assert "Insufficient cpu" in report["objects"][0]["not_ready"]


def test_the_trace_is_json_lines(tmp_path: Path, k8slab: Run) -> None:
    target = tmp_path / "trace.jsonl"
    assert k8slab("run", MANIFESTS / "pod.json", "--trace", target).code == 0
    lines = target.read_text(encoding="utf-8").splitlines()
    assert len(lines) > 200
    assert {"seq", "actor", "kind", "cause"} <= set(json.loads(lines[-1]))


def test_a_trace_that_cannot_be_written_is_an_error(tmp_path: Path, k8slab: Run) -> None:
    answer = k8slab("run", MANIFESTS / "pod.json", "--trace", tmp_path / "no" / "trace")
    assert answer.code == 2
    assert "expected a file in a folder that exists" in answer.err and not answer.out


def test_names_of_files_cannot_paint_the_terminal(k8slab: Run) -> None:
    answer = k8slab("run", "\x1b[31mred")
    assert (answer.code, answer.err) == (1, "error: \\x1b[31mred: No such file or directory\nnothing was applied\n")


# -- usage -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "expected a command"),
        (("walk",), "invalid choice"),
        (("run",), "the following arguments are required: FILE"),
        (("run", "x", "--nodes", "0"), "expected a number from 1 to 5000"),
        (("run", "x", "--nodes", "many"), "expected a number from 1 to 5000"),
        (("run", "x", "--for", "soon"), "expected a duration such as 300s, 5m or 1h30m"),
        (("run", "x", "--for", "-5s"), "expected"),
        (("run", "x", "--for", "٣s"), "expected a duration"),
        (("run", "x", "--for", "99999999h"), "expected 8760h (a year) at the most"),
        (("run", MANIFESTS / "pod.json", "--trace", MANIFESTS), "expected a file in a folder that exists"),
        (("run", MANIFESTS / "pod.json", "--trace", ""), "argument --trace: '': expected the name of a file"),
        (("run", "x", "--seed", ""), "argument --seed: '': expected a number or a printable text"),
        (("lab", "verify", "09", "--seed", ""), "argument --seed: '': expected a number or a printable text"),
        (("run", "x", "--latency", "warp"), "invalid choice"),
        (("run", "x", "-o", "xml"), "invalid choice"),
        (("run", "x", "--frobnicate"), "unrecognized arguments"),
        (("run", MANIFESTS / "pod.json", "--release", "9.99"), "9.99"),
        (("run", MANIFESTS / "pod.json", "--release", "latest"), "latest"),
    ],
    ids=lambda value: " ".join(map(str, value))[-40:] if isinstance(value, tuple) else "",
)
def test_wrong_usage_ends_with_2(arguments: tuple[Any, ...], text: str, k8slab: Run) -> None:
    answer = k8slab(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert text in answer.err


def test_help_and_version_end_with_0(k8slab: Run) -> None:
    assert "--keep-going" in k8slab("run", "--help").out
    assert k8slab("--help").code == 0
    assert k8slab("--version").out.startswith("k8slab ")


@pytest.mark.parametrize(("text", "ms"), [("2s", 2_000), ("1", 1_000), ("0m1s500ms", 1_500), ("1m", 60_000)])
def test_for_is_the_longest_wait(text: str, ms: int, write: Callable[..., Path], k8slab: Run) -> None:
    answer = k8slab("run", write(pod(spec=", resources: {requests: {cpu: 64}}")), "--for", text, "-o", "json")
    assert answer.code == 1
    # waiting begins when the Pod was accepted
    assert ms <= json.loads(answer.out)["now_ms"] <= ms + 20


def test_for_too_short_ends_with_1(k8slab: Run) -> None:
    answer = k8slab("run", MANIFESTS / "pod.json", "--for", "200ms")
    assert answer.code == 1
    assert "pod/json: created; not ready: Pending" in answer.out
    assert "1 of 1 not ready after 2" in answer.out


def test_options_reach_the_cluster(write: Callable[..., Path], k8slab: Run) -> None:
    answer = k8slab("run", write(pod()), "--nodes", "1", "--seed", "a word", "--release", "1.34", "-n", "default")
    assert answer.code == 0
    assert answer.out.endswith("(seed a word, 1 node)\n")


# -- wrong input -----------------------------------------------------------------------------------

WRONG: dict[str, tuple[str | bytes, str]] = {
    "malformed YAML": ("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n   bad: indent\n",
                       "document 1, line 5, column 7: mapping values are not allowed here"),
    "an open bracket": ("a: [1, 2\n", "line 2, column 1"),
    "a tab as indentation": ("apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: a\n", "line 4, column 1"),
    "malformed JSON": ('{"apiVersion": "v1", "kind": }', "line 1"),
    "an unknown alias": ("a: *nobody\n", "line 1, column 4"),
    "a duplicate key": (config_map(data='{k: "1", k: "2"}'), 'line 4, column 16: key "k" already set in map'),
    "a duplicate key deep inside": (pod(spec=", image: busybox"), 'key "image" already set in map'),
    "an unknown kind of a built-in group": ("apiVersion: v1\nkind: Gizmo\nmetadata: {name: a}\n",
                                            'line 2, column 1: kind: no matches for kind "Gizmo" in version "v1"'),
    "a kind in the wrong group": ("apiVersion: v1\nkind: Deployment\nmetadata: {name: a}\n",
                                  'no matches for kind "Deployment" in version "v1"'),
    "an unknown version of a built-in group": ("apiVersion: apps/v1beta9\nkind: Deployment\nmetadata: {name: a}\n",
                                               "this kind is served in apps/v1"),
    "an unknown kind of a k8s.io group": ("apiVersion: networking.k8s.io/v1\nkind: Egress\nmetadata: {name: a}\n",
                                          'no matches for kind "Egress"'),
    "no kind": ("apiVersion: v1\nmetadata: {name: a}\n", "kind: null: expected a text, such as Deployment"),
    "no apiVersion": ("kind: Pod\nmetadata: {name: a}\n", "apiVersion: null: expected a text, such as apps/v1"),
    "an apiVersion with two slashes": ("apiVersion: a/b/c\nkind: Pod\nmetadata: {name: a}\n", "apiVersion"),
    "no name": ("apiVersion: v1\nkind: ConfigMap\n", "metadata.name"),
    "metadata and spec null": ("apiVersion: v1\nkind: Pod\nmetadata: null\nspec: null\n", "metadata.name"),
    "metadata that is a list": ("apiVersion: v1\nkind: Pod\nmetadata: []\n", "line 3, column 1: metadata"),
    "generateName": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n", "cannot use generateName"),
    "a name that is a number": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 5}\n",
                                "line 3, column 12: metadata.name: 5: expected a string"),
    "a name with other letters": (config_map("größe"), 'metadata.name: Invalid value: "größe"'),
    "a name of 300 letters": (config_map("a" * 300), "must be no more than 253 "),
    "a document that is a text": ("just text\n", "expected an object with apiVersion, kind and metadata"),
    "a document that is a list": ("- a\n- b\n", "expected an object with apiVersion, kind and metadata"),
    "a list whose items are none": ("apiVersion: v1\nkind: List\nitems: 5\n", "items: 5: expected a list"),
    "a list with a bad item": ("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Gizmo\n",
                               "line 5, column 3"),
    "a text for a number": (json.dumps({**deployment(1), "spec": {**deployment(1)["spec"], "replicas": "three"}}),
                            'spec.replicas: "three": expected a 32-bit integer'),
    "a number for a text": (config_map(data="{k: 5}"), "line 4, column 8: data.k: 5: expected a string"),
    "an object for a list": ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: {name: c}}\n",
                             "spec.containers"),
    "a fraction of a replica": (json.dumps(deployment(1)).replace('"replicas": 1', '"replicas": 1.5'), "spec.replicas"),
    "a billion replicas": (json.dumps(deployment(10**9)), "spec.replicas: 1000000000: expected at most 20000 replicas"),
    "more replicas than 32 bits hold": (json.dumps(deployment(2**31)), "spec.replicas: 2147483648: expected"),
    "replicas of 5,000 digits": (json.dumps(deployment(1)).replace('"replicas": 1', '"replicas": ' + "9" * 5_000),
                                 "spec.replicas: \"9999"),
    "5,000 digits in YAML": ("apiVersion: v1\nkind: ConfigMap\nmetadata: " + "9" * 5_000 + "\n", "document 1, line 3"),
    "half of a surrogate pair": (config_map(data='{k: "\\ud800"}'),
                                 "found invalid Unicode character escape code"),
    "negative replicas": (json.dumps(deployment(-1)),
                          "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
    "a negative quantity": (pod(spec=', resources: {requests: {cpu: "-1"}}'),
                            'resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'),
    "a quantity that is none": (pod(spec=", resources: {limits: {memory: lots}}"),
                                'limits.memory: "lots": expected a quantity, such as 500m, 1.5 or 64Mi'),
    "a request above its limit": (pod(spec=", resources: {requests: {cpu: 2}, limits: {cpu: 1}}"),
                                  "must be less than or equal to cpu limit"),
    "a port that is none": (pod(spec=", ports: [{containerPort: 99999}]"), "must be between 1 and 65535, inclusive"),
    "a selector that does not match its template": (
        json.dumps(deployment(1)).replace('"matchLabels": {"app": "web"}', '"matchLabels": {"app": "other"}'),
        "`selector` does not match template `labels`"),
    "a namespace that does not exist": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: nowhere}\n", 'namespaces "nowhere" not found'),
    "a ServiceAccount that does not exist": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {serviceAccountName: nobody, containers: [{name: c, "
        "image: x}]}\n", 'serviceaccount "nobody" not found'),
    "a PriorityClass that does not exist": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {priorityClassName: none, containers: [{name: c, "
        "image: x}]}\n", "no PriorityClass with name none was found"),
    "not a number": ("apiVersion: example.org/v1\nkind: W\nmetadata: {name: a}\nspec: {x: .nan}\n",
                     "line 4, column 11: .nan has no JSON value"),
    "a control character": (b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: \"a\x07b\"}\n", "line 4"),
    "bytes that are not UTF-8": (b"a: \xc3\x28\n", "not UTF-8"),
    "UTF-16": (config_map().encode("utf-16"), "not UTF-8"),
    "an empty file": ("", "no objects in there"),
    "blank lines": ("\n\n---\n\n", "no objects in there"),
    "an empty list": ("apiVersion: v1\nkind: List\nitems: []\n", "no objects in there"),
    "a document of five megabytes": (config_map(data="{k: " + "x" * 5_000_000 + "}"),
                                     "may not be more than 1048576 bytes"),
    "twenty thousand brackets": ("a: " + "[" * 20_000 + "]" * 20_000, "nested too deeply"),
    "a hundred thousand braces of JSON": ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    "a billion laughs": (
        "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"{new}: &{new} [{','.join(['*' + old] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)),
        "excessive aliasing"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "text"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_refused_with_its_place(
    content: str | bytes, text: str, write: Callable[..., Path], k8slab: Run
) -> None:
    path = write(content)
    answer = k8slab("run", path)
    assert (answer.code, answer.out) == (1, "")
    assert str(path) in answer.err
    assert text in answer.err
    assert answer.err.endswith("nothing was applied\n")
    assert all(len(line) < 2_000 for line in answer.err.splitlines())


def test_an_unknown_field_is_refused_or_with_validate_warn_only_named(write: Callable[..., Path], k8slab: Run) -> None:
    file = write(pod(spec=", imagePolicy: Never"))
    strict, lenient = k8slab("run", file), k8slab("run", file, "--validate", "warn")
    assert strict.code == 1 and "nothing was applied" in strict.err
    assert lenient.code == 0 and "warning: " in lenient.err
    for answer in (strict, lenient):
        assert 'unknown field "spec.containers[0].imagePolicy"' in answer.err


def test_what_is_ignored_of_an_object_is_named(write: Callable[..., Path], k8slab: Run) -> None:
    answer = k8slab("run", write(pod(spec=", command: [sleep]")))
    assert answer.code == 0 and "not simulated: spec.containers[0].command" in answer.out


def test_a_verdict_says_when_nothing_was_acted_on(k8slab: Run) -> None:
    assert "nothing to wait for: 2 stored, none of them acted on" in k8slab("run", MANIFESTS / "crontab-crd.yaml").out


def test_every_problem_of_every_file_is_named(write: Callable[..., Path], k8slab: Run) -> None:
    one = write(config_map(data="{k: 5}") + "---\n" + config_map("b", "{k: 6}"), "one.yaml")
    two = write("a: [", "two.yaml")
    answer = k8slab("run", one, two, "missing.yaml")
    assert answer.code == 1
    assert [line.count("error: ") for line in answer.err.splitlines()] == [1, 1, 1, 1, 0]
    assert "document 2" in answer.err
    assert "missing.yaml: No such file or directory" in answer.err


# -- all or nothing --------------------------------------------------------------------------------

HALF = {
    "a bad object after a good one": config_map() + "---\n" + pod(spec=', resources: {requests: {cpu: "-1"}}'),
    "a bad object in a new namespace": (
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ok, namespace: shop}\n---\n"
        "apiVersion: v1\nkind: Service\nmetadata: {name: Bad_Name, namespace: shop}\nspec: {ports: [{port: 80}]}\n"
    ),
    "a Pod of a missing account in a new namespace": (
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: v1\nkind: Pod\n"
        "metadata: {name: p, namespace: shop}\nspec: {serviceAccountName: nobody, containers: [{name: c, image: x}]}\n"
    ),
    "too many replicas after a good object": config_map() + "---\n" + json.dumps(deployment(10**6)),
    "malformed text after a good object": config_map() + "---\na: [\n",
    "the same object twice, the second time with another selector": (
        json.dumps(deployment(1))
        + "\n---\n"
        + json.dumps(deployment(1)).replace('"web"', '"api"', 9).replace('"name": "api"', '"name": "web"', 1)
    ),
}


@pytest.mark.parametrize("content", HALF.values(), ids=HALF)
def test_nothing_is_half_applied(content: str, write: Callable[..., Path], k8slab: Run) -> None:
    answer = k8slab("run", write(content))
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.endswith("nothing was applied\n"), answer.err


@pytest.mark.parametrize("content", HALF.values(), ids=HALF)
def test_keep_going_applies_what_is_right_and_ends_with_1(
    content: str, write: Callable[..., Path], k8slab: Run
) -> None:
    answer = k8slab("run", write(content), "--keep-going")
    assert answer.code == 1
    assert ": created; ready" in answer.out
    assert "error: " in answer.err
    assert "nothing was applied" not in answer.err


def test_a_folder_with_one_bad_file(write: Callable[..., Path], k8slab: Run) -> None:
    folder = write(config_map("a"), "folder/a.yaml").parent
    write("b: [\n", "folder/b.yml")
    write('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}', "folder/c.json")
    write("not a manifest", "folder/README.md")
    write(config_map("hidden"), "folder/below/d.yaml")
    refused = k8slab("run", folder)
    assert (refused.code, refused.out) == (1, "")
    assert f"{folder / 'b.yml'}, document 1, line 2" in refused.err
    going = k8slab("run", folder, "--keep-going")
    assert going.code == 1
    for name, there in (("a", True), ("c", True), ("hidden", False)):
        assert (f"configmap/{name}: created" in going.out) is there


def test_an_empty_folder_has_nothing_to_apply(tmp_path: Path, k8slab: Run) -> None:
    answer = k8slab("run", tmp_path)
    assert answer.code == 1
    assert f"{tmp_path}: no objects in there" in answer.err


def test_a_file_that_may_not_be_read(write: Callable[..., Path], k8slab: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the refusal is played."""

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    path = write(config_map())
    monkeypatch.setattr(Path, "read_bytes", refuse)
    answer = k8slab("run", path)
    assert (answer.code, answer.err) == (1, f"error: {path}: Permission denied\nnothing was applied\n")


def test_a_path_that_is_no_file(tmp_path: Path, k8slab: Run) -> None:
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    for name in ("missing.yaml", "loop.yaml", "x" * 5_000):
        answer = k8slab("run", tmp_path / name)
        assert answer.code == 1
        assert answer.err.startswith("error: ")


# -- not ready -------------------------------------------------------------------------------------


def test_an_unschedulable_pod_gives_the_schedulers_reason(write: Callable[..., Path], k8slab: Run) -> None:
    answer = k8slab("run", write(pod(spec=", resources: {requests: {cpu: 64}}")))
    assert answer.code == 1
    assert "pod/p: created; not ready: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu." in answer.out
    assert answer.out.splitlines()[-1].startswith("1 of 1 not ready after 300")


def test_a_deployment_that_is_not_ready_says_which_pod_and_why(write: Callable[..., Path], k8slab: Run) -> None:
    wanted = deployment(2)
    wanted["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    answer = k8slab("run", write(json.dumps(wanted)))
    assert answer.code == 1
    assert "deployment.apps/web: created; not ready: 0 of 2 replicas available; pod web-" in answer.out
    assert "3 node(s) didn't match Pod's node affinity/selector" in answer.out


def test_an_image_that_cannot_be_pulled(write: Callable[..., Path], k8slab: Run) -> None:
    answer = k8slab("run", write(pod(metadata=', annotations: {k8slab.dev/pull-error: "manifest unknown"}')))
    assert answer.code == 1
    assert "not ready: container c: ImagePullBackOff: Back-off pulling image" in answer.out
    assert "manifest unknown" in answer.out


def test_a_container_that_fails_again_and_again(write: Callable[..., Path], k8slab: Run) -> None:
    notes = ', annotations: {k8slab.dev/run-ms: "500", k8slab.dev/exit-code: "1"}'
    answer = k8slab("run", write(pod(metadata=notes).replace("name: c", "name: c")), "--for", "100s")
    assert answer.code in (0, 1)  # it is ready for half a second each time


def test_annotations_that_cannot_be_read_are_ignored(write: Callable[..., Path], k8slab: Run) -> None:
    assert k8slab("run", write(pod(metadata=", annotations: {k8slab.dev/run-ms: soon}"))).code == 0


def test_a_service_without_pods_is_not_ready(write: Callable[..., Path], k8slab: Run) -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {selector: {app: none}, ports: [{port: 80}]}\n"
    answer = k8slab("run", write(service), "--for", "30s")
    assert answer.code == 1
    assert "service/s: created; not ready: no ready endpoints: no ready Pod matches its selector" in answer.out


def test_the_same_object_twice_is_created_and_configured(write: Callable[..., Path], k8slab: Run) -> None:
    answer = k8slab("run", write(config_map() + "---\n" + config_map(data="{k: w}")))
    assert answer.code == 0
    assert "configmap/a: created; ready\nconfigmap/a: configured; ready\n" in answer.out


# -- standard input, pipes -------------------------------------------------------------------------


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, k8slab: Run) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + pod().encode())))
    answer = k8slab("run", "-")
    assert answer.code == 0
    assert "pod/p: created; ready" in answer.out


def test_problems_of_standard_input_name_it(monkeypatch: pytest.MonkeyPatch, k8slab: Run) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: [\n")))
    assert "standard input, document 1, line 2" in k8slab("run", "-").err


def test_a_reader_that_goes_away_leaves_no_traceback() -> None:
    script = f"{sys.executable} -m k8slab.cli run {MANIFESTS / 'guestbook.yaml'} --all-steps | head -1"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_the_exit_code_reaches_the_shell(write: Callable[..., Path]) -> None:
    for path, code in ((MANIFESTS / "pod.json", 0), (write("a: ["), 1), ("--wrong", 2)):
        done = subprocess.run(
            [sys.executable, "-m", "k8slab.cli", "run", str(path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code
        assert "Traceback" not in done.stderr


def test_output_that_the_terminal_cannot_show_is_not_fatal(write: Callable[..., Path]) -> None:
    """A C locale on an old system: what cannot be encoded is replaced."""
    path = write(config_map(name="größe"))
    done = subprocess.run(
        [sys.executable, "-m", "k8slab.cli", "run", str(path)], cwd=ROOT, capture_output=True, check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"},
    )  # fmt: skip
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
