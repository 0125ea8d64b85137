"""`k8slab simulate autoscaler`: both autoscalers over time, changes of scale, output, wrong input in sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Answer

Run = Callable[..., Answer]
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
WEB, GROUPS, POOLS = (EXAMPLES / name for name in ("scaled-web.yaml", "node-groups.yaml", "node-pools.yaml"))


def simulated(k8slab: Run, *arguments: object) -> dict[str, Any]:
    answer = k8slab("simulate", "autoscaler", *arguments, "-o", "json")
    found: dict[str, Any] = json.loads(answer.out)
    return found


def texts(found: dict[str, Any]) -> str:
    return "\n".join(row["text"] for row in found["timeline"])


def test_the_cluster_autoscaler_grows_for_the_pods_and_shrinks_after_the_change(k8slab: Run) -> None:
    found = simulated(k8slab, WEB, "--groups", GROUPS, "--at", "10m:deploy/web=3", "--for", "30m")
    assert found["schema"] == "k8slab/simulate-autoscaler/1"
    assert "the Cluster Autoscaler grows small from 0 to 6 Nodes for 12 pending Pods" in texts(found)
    assert "you set deploy/web to 3 replicas" in texts(found)
    assert 1 <= len(found["nodes"]) <= 3
    assert found["pending"] == []
    assert 0 < found["costMicros"] < 6 * 96_000


def test_a_disruption_budget_is_kept_up_to_date_so_that_drains_go_on(k8slab: Run) -> None:
    found = simulated(k8slab, WEB, "--groups", GROUPS, "--at", "10m:deploy/web=4", "--for", "40m")
    assert "could not be removed" not in texts(found)
    assert found["pending"] == []


def test_karpenter_buys_one_machine_that_suits_and_replaces_it_by_a_smaller_one(k8slab: Run) -> None:
    found = simulated(
        k8slab, WEB, "--with", "karpenter", "--nodepools", POOLS, "--at", "10m:deploy/web=3", "--for", "30m"
    )
    assert "Launched: " in texts(found) and "DisruptionStarted: Underutilized" in texts(found)
    assert "Karpenter evicts web-" in texts(found)
    assert len(found["nodes"]) == 1
    assert found["pending"] == []


def test_pods_that_no_group_can_take_wait_and_the_exit_code_says_so(k8slab: Run, tmp_path: Path) -> None:
    big = tmp_path / "big.yaml"
    big.write_text(WEB.read_text().replace("700m", "'90'").replace("replicas: 12", "replicas: 1"))
    answer = k8slab("simulate", "autoscaler", big, "--groups", GROUPS, "--for", "5m")
    assert answer.code == 1
    assert "1 pending Pod would fit on no new Node: Insufficient cpu" in answer.out
    assert answer.out.count("would fit on no new Node") == 1  # said once, not every ten seconds
    assert "; 1 Pod waits" in answer.out and "waits: default/web-" in answer.out


def test_as_a_table_it_ends_with_the_nodes_and_the_bill(k8slab: Run) -> None:
    answer = k8slab("simulate", "autoscaler", WEB, "--groups", GROUPS, "--for", "5m")
    assert answer.code == 0
    assert " 0:00:09  the Cluster Autoscaler grows small" in answer.out
    assert "6 nodes at 0.5760 $/hour" in answer.out


def test_the_same_seed_gives_the_same_answer(k8slab: Run) -> None:
    arguments = (WEB, "--groups", GROUPS, "--for", "3m", "--seed", "abc")
    assert simulated(k8slab, *arguments) == simulated(k8slab, *arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("groups: []", "groups: none, expected at least one"),
        ("- 1", "expected a map with groups, options, quotas, capacity"),
        ("groups: [{id: a}]", "groups[0]: instanceType: missing, expected a text"),
        ("groups: [{id: a, instanceType: m5.large, max: many}]", "groups[0]: max: 'many': expected a number"),
        ("groups: [{id: a, instanceType: m5.large, colour: red}]", "groups[0]: 'colour': expected one of id"),
        ("groups: [{id: a, instanceType: m9.huge}]", "instance type 'm9.huge': not in the catalogue"),
        ("groups: [{id: a, instanceType: m5.large, min: 3, max: 2}]", "sizes 3:2, expected 0 <= min <= max"),
        ("groups: [{id: a, instanceType: m5.large, zones: [mars]}]", "zone 'mars': m5.large is sold in region-1a"),
        (
            "groups: [{id: a, instanceType: m5.large}]\noptions: {expander: best}",
            "options: Expander best not supported",
        ),
        ("groups: [{id: a, instanceType: m5.large}]\noptions: {speed: 9}", "options: flag 'speed': expected one of"),
        (
            "groups: [{id: a, instanceType: m5.large, options: {scale-down-unneeded-time: soon}}]",
            "flag scale-down-unneeded-time: 'soon': expected a duration such as 10m",
        ),
        (
            "groups: [{id: a, instanceType: m5.large, taints: [x]}]",
            "groups[0]: node group a: taints[0]: 'x', expected texts for key and value, and one effect of NoSchedule",
        ),
        ("groups: [{id: a, instanceType: m5.large, taints: [{effect: NoSchedule}]}]", "node group a: taints[0]: "),
        (
            "groups: [{id: a, instanceType: m5.large, taints: [{key: k, value: 5, effect: NoSchedule}]}]",
            "node group a: taints[0]: ",
        ),
        ("groups: [{id: a, instanceType: m5.large, labels: {k: 1}}]", "node group a: labels: 'k': 1, expected a text"),
        (
            "groups: [{id: a, instanceType: m5.large}]\noptions: {expander: 5}",
            "options: flag expander: 5: expected texts with commas between, or a list of texts",
        ),
        ("groups: [{id: a, instanceType: m5.large, options: {startup-taints: [5]}}]", "flag startup-taints: [5]"),
        ("groups: [{id: a, instanceType: m5.large}]\nquotas: {cpus: 4}", "quotas: 'cpus': expected one of standard"),
        ("groups: [{id: a, instanceType: m5.large}]\ncapacity: {m5.large: 4}", "expected TYPE/ZONE/on-demand"),
        ("groups: [{id: a, instanceType: m5.large}", "line 1"),
    ],
)
def test_files_of_groups_that_cannot_be_used_are_refused_in_a_sentence(
    k8slab: Run, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "groups.yaml"
    path.write_text(text)
    answer = k8slab("simulate", "autoscaler", WEB, "--groups", path)
    assert answer.code == 1 and answer.out == ""
    assert message in answer.err and answer.err.startswith("error: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((WEB,), "--with cluster-autoscaler: expected --groups FILE with it"),
        ((WEB, "--with", "karpenter"), "--with karpenter: expected --nodepools FILE with it"),
        ((WEB, "--groups", GROUPS, "--nodepools", POOLS), "--nodepools: is not for cluster-autoscaler"),
        ((WEB, "--groups", GROUPS, "--for", "60h"), "--for: expected 48h at the most"),
        ((WEB, "--groups", GROUPS, "--at", "2h:deploy/web=1"), "changes when the simulation is over"),
        ((WEB, "--groups", GROUPS, "--at", "web=1"), "expected WHEN:KIND/NAME=REPLICAS"),
        ((WEB, "--groups", GROUPS, "--at", "soon:deploy/web=1"), "expected a duration such as"),
    ],
)
def test_wrong_usage_is_exit_code_2(k8slab: Run, arguments: tuple[object, ...], message: str) -> None:
    answer = k8slab("simulate", "autoscaler", *arguments)
    assert answer.code == 2
    assert message in answer.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope.yaml", "--groups", GROUPS), "nope.yaml"),
        ((WEB, "--groups", "nope.yaml"), "nope.yaml: No such file or directory"),
        ((WEB, "--groups", GROUPS, "--at", "1m:deploy/nobody=1"), 'deployments.apps "nobody" not found'),
        ((WEB, "--with", "karpenter", "--nodepools", WEB), "no NodePool in there, expected at least one"),
        (
            (WEB, "--with", "karpenter", "--nodepools", POOLS, "--at", "1m:deploy/nobody=1"),
            "deploy/nobody: not among the manifests, expected web",
        ),
    ],
)
def test_inputs_that_are_not_there_are_named(k8slab: Run, arguments: tuple[object, ...], message: str) -> None:
    answer = k8slab("simulate", "autoscaler", *arguments)
    assert answer.code == 1
    assert message in answer.err


POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default}\nspec: {template: {spec: {}}}\n"
APP = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
BUDGET = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n"


@pytest.mark.parametrize(
    ("workloads", "pools", "message"),
    [
        (APP, POOL, "line 1: Deployment web: spec.selector: Required value"),
        (APP + "spec: {replicas: 1, template: {spec: null}}", POOL, "Deployment web: spec.selector: Required value"),
        (WEB.read_text() + "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\n", POOL, "DaemonSet d: "),
        (WEB.read_text() + "---\n" + WEB.read_text(), POOL, "Deployment web: expected names that differ"),
        (WEB.read_text(), POOL.replace("template: {spec: {}}", "template: 5"), "spec.template: 5: expected a mapping"),
        (WEB.read_text(), POOL + "---\n" + POOL, "nodepool default: is there twice"),
    ],
    ids=["no spec", "no template", "a DaemonSet without spec", "a name twice", "a pool's template", "a pool twice"],
)
def test_workloads_and_pools_for_karpenter_are_judged_as_the_api_would(
    k8slab: Run, tmp_path: Path, workloads: str, pools: str, message: str
) -> None:
    files = [tmp_path / name for name in ("workloads.yaml", "pools.yaml")]
    for path, text in zip(files, (workloads, pools), strict=True):
        path.write_text(text)
    answer = k8slab("simulate", "autoscaler", files[0], "--with", "karpenter", "--nodepools", files[1], "--for", "2m")
    assert answer.code == 1 and answer.out == ""
    assert message in answer.err and answer.err.startswith("error: ")


@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_a_budget_with_a_selector_alone_is_no_error(k8slab: Run, tmp_path: Path, autoscaler: str) -> None:
    path = tmp_path / "web.yaml"
    path.write_text(WEB.read_text() + "---\n" + BUDGET + "spec: {selector: {matchLabels: {app: web}}}\n")
    how = ("--groups", GROUPS) if autoscaler == "cluster-autoscaler" else ("--nodepools", POOLS)
    answer = k8slab("simulate", "autoscaler", path, "--with", autoscaler, *how, "--for", "4m")
    assert (answer.code, answer.err) == (0, "")
