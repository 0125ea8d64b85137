"""`k8slab simulate hpa`: autoscalers under one load, as table, CSV, JSON and chart; wrong input in sentences."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Answer

Run = Callable[..., Answer]
ROOT = Path(__file__).resolve().parents[3]
EXAMPLE, LOAD = ROOT / "examples" / "hpa.yaml", ROOT / "examples" / "load.csv"

TARGET = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: web, resources: {requests: {cpu: "1"}}}]}
---
"""


def hpa(name: str = "web", metrics: str = "", least: int = 1, most: int = 10, version: str = "v2") -> str:
    cpu = "[{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]"
    listed = f"  metrics: {metrics or cpu}\n" if version == "v2" else "  targetCPUUtilizationPercentage: 50\n"
    return (
        f"apiVersion: autoscaling/{version}\nkind: HorizontalPodAutoscaler\nmetadata: {{name: {name}}}\nspec:\n"
        f"  minReplicas: {least}\n  maxReplicas: {most}\n"
        f"  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}\n{listed}"
    )


@pytest.fixture
def at(tmp_path: Path) -> Path:
    (tmp_path / "hpa.yaml").write_text(TARGET + hpa())
    (tmp_path / "load.csv").write_text("seconds,cpu\n0,1\n60,4\n")
    return tmp_path


def rows(answer: Answer) -> list[dict[str, str]]:
    assert answer.code == 0 and answer.err == ""
    return list(csv.DictReader(io.StringIO(answer.out)))


def test_a_table_shows_totals_and_each_change(k8slab: Run, at: Path) -> None:
    answer = k8slab("simulate", "hpa", "--hpa", at / "hpa.yaml", "--load", at / "load.csv")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0].split("   ")[0] == "AUTOSCALER" and lines[1].startswith("web          2 to 10")
    assert "0:01:20   4      2 -> 4" in answer.out


def test_csv_has_every_round(k8slab: Run, at: Path) -> None:
    found = rows(k8slab("simulate", "hpa", "--hpa", at / "hpa.yaml", "--load", at / "load.csv", "-o", "csv"))
    assert [row["seconds"] for row in found[:3]] == ["20", "35", "50"]
    assert found[0] == {
        "seconds": "20",
        "load": "1",
        "replicas": "2",
        "ready": "2",
        "recommended": "2",
        "stabilized": "2",
        "utilization": "50",
        "missed": "0",
    }
    assert len(found) == (60 + 600) // 15 - 1


def test_several_autoscalers_stand_side_by_side(k8slab: Run) -> None:
    found = rows(k8slab("simulate", "hpa", "--hpa", EXAMPLE, "--load", LOAD, "--startup", "40s", "-o", "csv"))
    assert {"default.replicas", "careful.replicas", "careful.missed"} <= found[0].keys()
    assert max(int(row["default.replicas"]) for row in found) == max(int(row["careful.replicas"]) for row in found)
    document = json.loads(k8slab("simulate", "hpa", "--hpa", EXAMPLE, "--load", LOAD, "-o", "json").out)
    assert document["schema"] == "k8slab/simulate-hpa/1"
    assert [one["name"] for one in document["autoscalers"]] == ["default", "careful"]


def test_the_same_input_gives_the_same_bytes(k8slab: Run) -> None:
    first, second = (k8slab("simulate", "hpa", "--hpa", EXAMPLE, "--load", LOAD).out for _ in range(2))
    assert first == second


def test_slow_pods_miss_more(k8slab: Run, at: Path) -> None:
    def missed(startup: str) -> float:
        arguments = ("--hpa", at / "hpa.yaml", "--load", at / "load.csv", "--startup", startup, "-o", "json")
        share: float = json.loads(k8slab("simulate", "hpa", *arguments).out)["autoscalers"][0]["summary"][
            "missed_share"
        ]
        return share

    assert missed("0s") < missed("40s") < missed("3m")


def test_autoscalers_of_one_name_are_told_apart(k8slab: Run, at: Path) -> None:
    (at / "b.yaml").write_text(hpa())
    answer = k8slab("simulate", "hpa", "--hpa", at / "hpa.yaml", "--hpa", at / "b.yaml", "--load", at / "load.csv")
    assert "hpa/web" in answer.out and "b/web" in answer.out


def test_version_1_is_understood_and_a_missing_target_is_told(k8slab: Run, at: Path) -> None:
    (at / "v1.yaml").write_text(hpa(version="v1"))
    answer = k8slab("simulate", "hpa", "--hpa", at / "v1.yaml", "--load", at / "load.csv")
    assert answer.out.startswith("note: web: its target is not in the files: a Pod requests 1 CPU (--request)")


def test_a_metric_that_is_never_there_changes_nothing_and_is_told(k8slab: Run, at: Path) -> None:
    gpu = "[{type: Resource, resource: {name: nvidia.com/gpu, target: {type: Utilization, averageUtilization: 70}}}]"
    (at / "gpu.yaml").write_text(hpa(metrics=gpu))
    answer = k8slab("simulate", "hpa", "--hpa", at / "gpu.yaml", "--load", at / "load.csv", "--replicas", 5)
    assert "5 to 5" in answer.out
    assert "rounds: invalid metrics (1 invalid out of 1), first error is: failed to get nvidia.com/gpu" in answer.out


def test_a_queue_may_scale_to_zero(k8slab: Run, at: Path) -> None:
    queue = "[{type: External, external: {metric: {name: q}, target: {type: AverageValue, averageValue: '10'}}}]"
    (at / "q.yaml").write_text(hpa(metrics=queue, least=0))
    (at / "q.csv").write_text("0,0\n10m,25\n")
    found = rows(
        k8slab("simulate", "hpa", "--hpa", at / "q.yaml", "--load", at / "q.csv", "--replicas", 1, "-o", "csv")
    )
    counts = [int(row["replicas"]) for row in found]
    assert 0 in counts and counts[-1] == 3


@pytest.mark.parametrize("name", ["chart.png", "chart.svg"])
def test_a_chart_is_drawn(k8slab: Run, at: Path, name: str) -> None:
    arguments = ("--hpa", EXAMPLE, "--load", LOAD, "--chart", at / name)
    assert k8slab("simulate", "hpa", *arguments).code == 0
    assert (at / name).stat().st_size > 5_000


LOADS = [
    pytest.param("", "no rows in there, expected a time and a load in each", id="an empty file"),
    pytest.param("seconds,cpu\n", "no rows in there", id="a header and nothing else"),
    pytest.param("0,nan\n", "line 1: load 'nan': expected a number of 0 or more", id="a load that is no number"),
    pytest.param("0,inf\n", "line 1: load 'inf': expected a number of 0 or more", id="an infinite load"),
    pytest.param("0,1\n60,-2\n", "line 2: load '-2': expected a number of 0 or more", id="a load below zero"),
    pytest.param("0,1\n60,much\n", "line 2: load 'much': expected a number", id="a load in words"),
    pytest.param(
        "0,1\nsoon,2\n", "line 2: time 'soon': expected seconds from 0 on, or a duration", id="a time in words"
    ),
    pytest.param("-5,1\n", "line 1: time '-5': expected seconds from 0 on", id="a time below zero"),
    pytest.param("0,1\n0,2\n", "line 2: time '0': expected later than the line before", id="a time twice"),
    pytest.param("0,1\n9e9,2\n", "line 2: time '9e9': expected seconds from 0 on", id="a time that is too long"),
    pytest.param("0,1\n2000h,2\n", "line 2: time '2000h': expected 60 days at the most", id="months"),
    pytest.param("0,1\n60,1_0\n", "line 2: load '1_0': expected a number", id="a load with an underscore"),
    pytest.param("0,1\n1_0,1\n", "line 2: time '1_0': expected seconds", id="a time with an underscore"),
    pytest.param("0,\u0661\n", "expected a number of 0 or more", id="digits of another script"),
    pytest.param("0,1\n60,2,5\n", "line 2: '60,2,5': expected two columns", id="a comma in a number"),
    pytest.param("0," + "1" * 140_000, "no CSV: field larger than field limit", id="a cell without end"),
    pytest.param("0\n", "line 1: '0': expected a time and a load, such as 60,2.5", id="a row with one cell"),
]


@pytest.mark.parametrize(("text", "message"), LOADS)
def test_a_load_that_cannot_be_used_is_refused_in_a_sentence(k8slab: Run, at: Path, text: str, message: str) -> None:
    (at / "load.csv").write_text(text)
    answer = k8slab("simulate", "hpa", "--hpa", at / "hpa.yaml", "--load", at / "load.csv")
    assert answer.code == 1 and answer.out == ""
    assert answer.err.startswith("error: ") and message in answer.err


NO_TARGET = "[{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 0}}}]"
NO_VALUE = "[{type: Pods, pods: {metric: {name: q}, target: {type: AverageValue, averageValue: '0'}}}]"
MANIFESTS = [
    pytest.param(TARGET, "no HorizontalPodAutoscaler in there", id="no autoscaler"),
    pytest.param(
        hpa(most=100_000), "spec.maxReplicas: 100000: expected at most 99999", id="more Pods than are simulated"
    ),
    pytest.param(
        hpa() + "---\n" + TARGET.replace("replicas: 2", "replicas: -2"),
        "Deployment web: spec.replicas: -2: expected 0 to 99999",
        id="a target with fewer Pods than none",
    ),
    pytest.param(
        TARGET.replace('requests: {cpu: "1"}', 'requests: {cpu: "1"}, limits: {cpu: "0"}') + hpa(),
        "its Pods are limited to 0m CPU, expected more than 0",
        id="a limit of zero",
    ),
    pytest.param(
        TARGET.replace("{name: c, image: web, ", "{image: web, ").replace('requests: {cpu: "1"}', "") + hpa(),
        "Deployment web, container : no request for cpu, expected one",
        id="a container without a name",
    ),
    pytest.param(
        TARGET.replace("metadata: {name: web}\nspec:\n  replicas", "metadata:\nspec:\n  replicas") + hpa(most=0),
        "spec.maxReplicas: Required value",
        id="a target without metadata",
    ),
    pytest.param(
        hpa(least=5, most=2),
        "HorizontalPodAutoscaler web: spec.maxReplicas: Invalid value: 2: must be greater than or equal to",
        id="a minimum above the maximum",
    ),
    pytest.param(hpa(metrics=NO_TARGET), "averageUtilization: Invalid value: 0: must be greater than 0", id="0 %"),
    pytest.param(hpa(metrics=NO_VALUE), "must be positive", id="a target of zero"),
    pytest.param(
        TARGET.replace('requests: {cpu: "1"}', 'requests: {cpu: "0"}') + hpa(),
        "its Pods request 0m CPU, expected more than 0",
        id="a request of zero",
    ),
    pytest.param(
        TARGET.replace('requests: {cpu: "1"}', "") + hpa(),
        "Deployment web, container c: no request for cpu, expected one",
        id="no request",
    ),
    pytest.param(
        hpa().replace("averageUtilization", "targetAverageUtilization"),
        "must set either a target raw value or a target utilization",
        id="the name of the field in v2beta1",
    ),
    pytest.param("a: [", "hpa.yaml", id="no YAML"),
    pytest.param("", "no HorizontalPodAutoscaler in there", id="an empty file"),
]


@pytest.mark.parametrize(("text", "message"), MANIFESTS)
def test_an_autoscaler_that_cannot_be_used_is_refused_in_a_sentence(
    k8slab: Run, at: Path, text: str, message: str
) -> None:
    (at / "hpa.yaml").write_text(text)
    answer = k8slab("simulate", "hpa", "--hpa", at / "hpa.yaml", "--load", at / "load.csv")
    assert answer.code == 1 and answer.out == ""
    assert answer.err.startswith("error: ") and message in answer.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--startup", "soon"), "expected a duration such as 300s", id="no duration"),
        pytest.param(("--request", "0"), "expected a quantity above 0", id="a request of nothing"),
        pytest.param(("--capacity", "lots"), "expected a quantity above 0", id="no quantity"),
        pytest.param(("--replicas", "-1"), "expected a number from 0 to 99999", id="fewer than none"),
        pytest.param(("--for", "0s"), "--for: expected more than 0s", id="no time at all"),
        pytest.param(("--chart", "x.txt"), "expected a name that ends in .png, .svg or .pdf", id="no picture"),
        pytest.param(("--chart", "/nowhere/x.png"), "expected a file in a folder that exists", id="no folder"),
    ],
)
def test_wrong_usage_exits_with_2(k8slab: Run, at: Path, arguments: tuple[str, ...], message: str) -> None:
    answer = k8slab("simulate", "hpa", "--hpa", at / "hpa.yaml", "--load", at / "load.csv", *arguments)
    assert answer.code == 2 and message in answer.err


def test_files_that_are_not_there_or_no_text_are_named(k8slab: Run, at: Path) -> None:
    answer = k8slab("simulate", "hpa", "--hpa", at / "hpa.yaml", "--load", at / "nope.csv")
    assert answer.code == 1 and "nope.csv: No such file or directory" in answer.err
    (at / "load.csv").write_bytes("0,1\n".encode("utf-16"))
    answer = k8slab("simulate", "hpa", "--hpa", at / "hpa.yaml", "--load", at / "load.csv")
    assert answer.code == 1 and "not UTF-8" in answer.err
