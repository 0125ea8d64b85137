"""What `Framework.schedule`, `Framework.explain` and `Snapshot.of` say of arguments that are none."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.objects import Object
from k8slab.scheduler import Framework, Snapshot
from tests.scheduling import node, pod


def asking(**spec: Any) -> Object:
    found = pod("web")
    found["spec"].update(spec)
    return found


def container(cpu: Any) -> list[Object]:
    return [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]


BAD_PODS = [
    pytest.param(asking(tolerations={"key": "a"}), "spec.tolerations: {'key': 'a'}: expected a list", id="tolerations"),
    pytest.param(asking(nodeSelector=["a"]), "spec.nodeSelector: ['a']: expected an object", id="nodeSelector"),
    pytest.param(asking(priority="10"), "spec.priority: '10': expected a 32-bit integer", id="priority"),
    pytest.param(
        asking(preemptionPolicy="never"),
        "spec.preemptionPolicy: 'never': expected one of PreemptLowerPriority, Never",
        id="preemptionPolicy",
    ),
    pytest.param(
        asking(tolerations=[{"operator": "Exists"}, {"operator": "Exists", "effect": "NoSchedul"}]),
        "spec.tolerations[1].effect: 'NoSchedul': expected one of NoSchedule, PreferNoSchedule, NoExecute",
        id="a toleration's effect",
    ),
    pytest.param(
        asking(containers=container("abc")),
        "spec.containers[0].resources.requests.cpu: 'abc': expected a quantity, such as 500m, 1.5 or 64Mi",
        id="no quantity",
    ),
    pytest.param(
        asking(containers=container("1") + container(-1)),
        "spec.containers[1].resources.requests.cpu: '-1': expected a quantity greater than or equal to 0",
        id="less than nothing",
    ),
    pytest.param(
        asking(initContainers=container("-500m")),
        "spec.initContainers[0].resources.requests.cpu: '-500m': expected a quantity greater than or equal to 0",
        id="an init container",
    ),
    pytest.param(
        {**pod("web"), "metadata": {"name": "web", "labels": "app"}},
        "metadata.labels: 'app': expected an object",
        id="labels",
    ),
]


@pytest.mark.parametrize(("bad", "text"), BAD_PODS)
def test_a_bad_pod_is_named_with_field_value_and_what_was_expected(bad: Object, text: str) -> None:
    framework, snapshot = Framework.from_profile(), Snapshot.of([node("n")])
    for ask in (framework.schedule, framework.explain):
        with pytest.raises(ValueError) as found:
            ask(bad, snapshot)
        assert str(found.value) == f"Pod default/web: {text}"
    with pytest.raises(ValueError) as found:
        Snapshot.of([node("n")], [bad])
    assert str(found.value) == f"Pod default/web: {text}"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        pytest.param(
            {"spec": {"taints": [{"key": "gpu", "effect": "NoSchedul"}]}},
            "spec.taints[0].effect: 'NoSchedul': expected one of NoSchedule, PreferNoSchedule, NoExecute",
            id="a taint's effect",
        ),
        pytest.param({"spec": {"taints": "gpu"}}, "spec.taints: 'gpu': expected a list", id="taints"),
        pytest.param(
            {"status": {"allocatable": {"cpu": "much"}}},
            "status.allocatable.cpu: 'much': expected a quantity, such as 500m, 1.5 or 64Mi",
            id="allocatable",
        ),
    ],
)
def test_a_bad_node_is_named_with_field_value_and_what_was_expected(part: Object, text: str) -> None:
    with pytest.raises(ValueError) as found:
        Snapshot.of([{"metadata": {"name": "n"}, **part}])
    assert str(found.value) == f"Node n: {text}"


def test_what_is_no_manifest_and_no_snapshot_is_told_apart() -> None:
    framework, snapshot = Framework.from_profile(), Snapshot.of([node("n")])
    calls: list[tuple[Any, Any, str]] = [
        ([], snapshot, "pod: []: expected a manifest, a dict with metadata and spec"),
        (pod("web"), "n", "snapshot: 'n': expected a Snapshot, such as Snapshot.of(nodes, pods)"),
    ]
    for new, where, text in calls:
        with pytest.raises(TypeError) as found:
            framework.schedule(new, where)
        assert str(found.value) == text
    with pytest.raises(TypeError, match=r"^node: 'n': expected a manifest, a dict with metadata and spec$"):
        Snapshot.of(["n"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"^pod.metadata: \{\}: expected an object with a name$"):
        framework.schedule({"metadata": {}}, snapshot)


def test_affinity_and_spread_are_left_to_their_plugins() -> None:
    snapshot = Snapshot.of([node("n")], [asking(nodeName="n", affinity=3, topologySpreadConstraints=3)])
    assert list(snapshot.nodes[0].pods) == ["default/web"]
