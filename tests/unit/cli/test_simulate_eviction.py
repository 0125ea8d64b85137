"""`k8slab simulate eviction`: who goes, when and why; dumps, kubectl top, configurations; wrong input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from k8slab.kubelet import NodeConfig, parse_growth
from k8slab.kubelet.node_pressure import NodePressure, Use
from tests.unit.cli.conftest import Answer

Run = Callable[..., Answer]
Json = dict[str, Any]
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "pressure.yaml"


def simulated(k8slab: Run, *arguments: object) -> Json:
    answer = k8slab("simulate", "eviction", *arguments, "-o", "json")
    assert answer.err == ""
    found: Json = json.loads(answer.out)
    assert answer.code == (1 if any(s["what"] in ("evicted", "OOM-killed") for s in found["steps"]) else 0)
    return found


def refusal(k8slab: Run, *arguments: object) -> str:
    answer = k8slab("simulate", "eviction", *arguments)
    assert answer.code == 1 and answer.out == "" and answer.err.startswith("error: ")
    return answer.err


def lost(found: Json) -> list[tuple[str, str]]:
    return [(s["what"], s["pod"]) for s in found["steps"] if s["what"] in ("evicted", "OOM-killed")]


def test_when_everybody_keeps_to_its_requests_nobody_goes(k8slab: Run) -> None:
    found = simulated(k8slab, EXAMPLE)
    assert found["steps"] == [] and len(found["left"]) == 4
    assert [row["pod"] for row in found["order"]] == ["shop/web", "jobs/scratch", "jobs/batch", "shop/db"]


def test_a_leak_is_evicted_and_the_moment_is_arithmetic(k8slab: Run) -> None:
    """8192Mi less system 512, db 3072, web 512, batch 1024: 3072 are free; below 100 at 5Mi/s after 594.4 s."""
    found = simulated(k8slab, EXAMPLE, "--use", "scratch=+5Mi/s", "--for", "15m")
    assert lost(found) == [("evicted", "jobs/scratch")]
    [pressure, evicted] = [s for s in found["steps"] if s["what"] in ("pressure", "evicted")]
    assert pressure["atMs"] == evicted["atMs"] == 600_000
    assert evicted["why"].startswith("scratch goes before web: it uses more memory than it requests")


def test_a_leak_that_is_faster_than_ten_seconds_meets_the_kernel(k8slab: Run) -> None:
    """3072Mi are free: 872 after 20 seconds, none before 30."""
    found = simulated(k8slab, EXAMPLE, "--use", "batch=+110Mi/s", "--for", "60s")
    assert lost(found)[0] == ("OOM-killed", "jobs/batch")
    assert "/kubepods was full" in found["steps"][0]["why"]


def test_a_limit_is_the_kernels_business(k8slab: Run) -> None:
    """512Mi more at 10Mi a second."""
    found = simulated(k8slab, EXAMPLE, "--use", "shop/web=+10Mi/s", "--for", "60s")
    assert [(s["what"], s["atMs"]) for s in found["steps"]] == [("OOM-killed", 51_201)]
    assert "shop/web" in found["left"], "it starts again"


def test_a_full_disk(k8slab: Run) -> None:
    found = simulated(k8slab, EXAMPLE, "--disk", "scratch=+100Mi/s", "--node-disk", "10Gi")
    assert lost(found) == [("evicted", "jobs/scratch")]
    assert [s["what"] for s in found["steps"]][:3] == ["pressure", "reclaimed", "evicted"]


def test_what_kubectl_top_printed_is_where_it_begins(k8slab: Run, tmp_path: Path) -> None:
    top = tmp_path / "top.txt"
    top.write_text(
        "NAMESPACE   NAME      CPU(cores)   MEMORY(bytes)\nshop        db        1m           2000Mi\n"
        "jobs        scratch   5m           5400Mi\n"
    )
    found = simulated(k8slab, EXAMPLE, "--top", top, "--for", "0s")
    assert found["memoryAvailable"] == 0, "512 + 512 + 1024 + 2000 + 5400 are more than there is: it is over at once"
    assert ("OOM-killed", "jobs/scratch") in lost(found)


def test_top_by_container_and_a_use_of_one_container(k8slab: Run, tmp_path: Path) -> None:
    top = tmp_path / "top.txt"
    top.write_text("POD     NAME   CPU(cores)   MEMORY(bytes)\nboth    b      1m           300Mi\n")
    pods = tmp_path / "pods.yaml"
    pods.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: both}\n"
        "spec: {containers: [{name: a, image: x}, {name: b, image: x}]}\n"
    )
    given = (pods, "--node-memory", "1Gi", "--top", top, "--use", "both:a=100Mi", "--for", "1s")
    found = simulated(k8slab, *given)
    assert found["memoryAvailable"] == (1024 - 400) << 20
    assert found["notes"][0] == "no Pod has a Node yet: all 1 are taken to run on node"


def test_a_configuration_of_ones_own(k8slab: Run, tmp_path: Path) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 50\n"
        "evictionHard: {}\nevictionSoft: {memory.available: 2Gi}\nevictionSoftGracePeriod: {memory.available: 1m}\n"
    )
    found = simulated(k8slab, EXAMPLE, "--config", config, "--use", "scratch=1100Mi", "--for", "2m")
    assert f"{config}: not looked at: maxPods" in found["notes"]
    assert [(s["what"], s["atMs"]) for s in found["steps"]] == [("pressure", 0), ("evicted", 60_000)]


def test_the_table_tells_the_same(k8slab: Run) -> None:
    answer = k8slab("simulate", "eviction", EXAMPLE, "--use", "scratch=+5Mi/s", "--for", "15m")
    assert answer.code == 1
    assert "node-a for 15m0s: 1 evicted, 0 kills by the kernel, 3 Pods left" in answer.out
    assert "10m0s   evicted    jobs/scratch" in answer.out


def test_a_static_pod_is_passed_over(k8slab: Run, tmp_path: Path) -> None:
    pods = tmp_path / "pods.yaml"
    pods.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: s, annotations: {kubernetes.io/config.mirror: x}}\n"
        "spec: {containers: [{name: a, image: x}]}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        "spec: {containers: [{name: a, image: x, resources: {requests: {memory: 50Mi}}}]}\n"
    )
    found = simulated(k8slab, pods, "--node-memory", "1Gi", "--use", "s=900Mi", "--for", "1s")
    assert lost(found) == [("evicted", "default/p")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("--node", "x"), "--node 'x': expected one of node-a", id="an unknown Node"),
        pytest.param(("--use", "nobody=1Mi"), "'nobody=1Mi': no such Pod and container on the Node", id="no such Pod"),
        pytest.param(("--use", "web:x=1Mi"), "'web:x=1Mi': no such Pod and container", id="no such container"),
        pytest.param(
            ("--system", "9Gi"), "--system 9Gi: expected less than the Node's memory, 8Gi", id="no room at all"
        ),
        pytest.param(("--node-memory", "0"), "--node-memory: '0': expected more than 0", id="no memory"),
        pytest.param(("--top", EXAMPLE), "line 1: expected what kubectl top pods prints", id="no output of top"),
        pytest.param(("--config", EXAMPLE), "expected one object of kind KubeletConfiguration", id="another kind"),
        pytest.param(("--config", "nope.yaml"), "nope.yaml: No such file or directory", id="no such file"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(k8slab: Run, arguments: tuple[object, ...], words: str) -> None:
    assert words in refusal(k8slab, EXAMPLE, *arguments)


def test_files_that_do_not_suffice(k8slab: Run, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: x}]}\n")
    assert "no Node in there: expected some, or --node-memory" in refusal(k8slab, file)
    file.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: one}\n")
    assert "no Pod in there: expected some" in refusal(k8slab, file)
    top = tmp_path / "top.txt"
    top.write_text("NAME CPU(cores) MEMORY(bytes)\nweb 1m\n")
    assert "line 2: 'web 1m': expected 3 columns" in refusal(k8slab, EXAMPLE, "--top", top)
    config = tmp_path / "kubelet.yaml"
    config.write_text("kind: KubeletConfiguration\nevictionHard: {memory.available: much}\n")
    assert "quantities must match" in refusal(k8slab, EXAMPLE, "--config", config)


NODE = (
    "apiVersion: v1\nkind: Node\nmetadata: {name: one}\nstatus: {capacity: {memory: 8Gi}, allocatable: {memory: 7Gi}}\n"
)
POD = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: x}]}\n"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        pytest.param(
            "{containers: [{name: a, image: x}]}",
            "{nodeName: one}",
            "Pod default/p: spec.containers: none: expected one or more",
            id="no containers",
        ),
        pytest.param(
            "[{name: a, image: x}]", "[]", "Pod default/p: spec.containers: none: expected", id="an empty list of them"
        ),
        pytest.param(
            "{name: a, image: x}",
            "{image: x}",
            "spec.containers[0].name: '': expected a name",
            id="a container without",
        ),
        pytest.param(
            "{name: a, image: x}",
            "{name: a}, {name: a}",
            "spec.containers[1].name: 'a': expected another name than containers[0]",
            id="two of one name",
        ),
        pytest.param(
            "memory: 8Gi", "memory: '0'", "Node one: status.capacity.memory: '0': expected more than 0", id="no memory"
        ),
        pytest.param("memory: 8Gi", "memory: -8Gi", "status.capacity.memory: '-8Gi': expected", id="less than none"),
        pytest.param("memory: 8Gi", "memory: 1e40", "and less than 8Ei", id="more than can be counted"),
        pytest.param("memory: 7Gi", "memory: -7Gi", "status.allocatable.memory: '-7Gi'", id="allocatable below zero"),
        pytest.param("memory: 8Gi", "memory: .nan", ".nan has no JSON value", id="not a number"),
    ],
)
def test_wrong_objects_are_named_with_field_and_value(
    k8slab: Run, tmp_path: Path, before: str, after: str, words: str
) -> None:
    file = tmp_path / "x.yaml"
    assert before in NODE + POD
    file.write_text((NODE + POD).replace(before, after))
    assert words in refusal(k8slab, file)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        pytest.param("web 1m 5Mi\nweb 1m 6Mi\n", "line 3: default/web: expected one line for each", id="twice"),
        pytest.param("zz 1m 5Mi\n", "default/zz: expected lines of Pods on the Node, such as jobs/batch", id="others"),
        pytest.param("", "no Pod: expected lines of Pods on the Node", id="titles alone"),
    ],
)
def test_a_top_that_is_of_no_use(k8slab: Run, tmp_path: Path, lines: str, words: str) -> None:
    top = tmp_path / "top.txt"
    top.write_text("NAME CPU(cores) MEMORY(bytes)\n" + lines)
    assert words in refusal(k8slab, EXAMPLE, "--top", top)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        pytest.param("evictionHard: {memory.free: 1Gi}", "evictionHard: memory.free: '1Gi': unsupported", id="signal"),
        pytest.param("evictionHard: {memory.available: 101%}", "evictionHard: memory.available: '101%'", id="per cent"),
        pytest.param(
            "evictionMinimumReclaim: {pid.available: -1}", "'pid.available': -1: expected a text", id="number"
        ),
        pytest.param("enforceNodeAllocatable: [podz]", "enforceNodeAllocatable: 'podz': expected one of", id="key"),
        pytest.param("apiVersion: v1", "apiVersion: 'v1': expected kubelet.config.k8s.io/v1beta1", id="version"),
    ],
)
def test_a_wrong_configuration_names_file_field_and_value(k8slab: Run, tmp_path: Path, line: str, words: str) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text(f"kind: KubeletConfiguration\n{line}\n")
    error = refusal(k8slab, EXAMPLE, "--config", config)
    assert error.startswith(f"error: {config}: kubelet_config.") and words in error


@pytest.mark.parametrize(
    ("option", "value"),
    [
        pytest.param("--use", "web", id="a use without an amount"),
        pytest.param("--use", "=1Mi", id="a use without a Pod"),
        pytest.param("--disk", "web=lots", id="an amount that is none"),
        pytest.param("--for", "soon", id="no time"),
        pytest.param("--for", "25h", id="more than a day"),
        pytest.param("--node-memory", "-1Gi", id="less than no memory"),
        pytest.param("--node-memory", "1e40", id="more memory than can be counted"),
        pytest.param("--node-memory", "nan", id="memory that is no number"),
        pytest.param("--use", "web=9Mi<=1Mi", id="a most below the beginning"),
    ],
)
def test_wrong_usage(k8slab: Run, option: str, value: str) -> None:
    answer = k8slab("simulate", "eviction", EXAMPLE, f"{option}={value}")
    assert (answer.code, answer.out) == (2, "")
    assert f"argument {option}" in answer.err


def test_alone_it_refuses_uses_of_pods_that_are_not_there() -> None:
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}
    with pytest.raises(ValueError, match="uses: 'default/b': expected a Pod of the node"):
        NodePressure(NodeConfig("n"), [pod], {"default/b": Use(memory=parse_growth("1Mi"))})
