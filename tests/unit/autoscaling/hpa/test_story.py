"""An autoscaler as steps: a sentence for each round, and a view that grows by one round a step."""

from __future__ import annotations

from typing import Any

from k8slab.autoscaling import AutoscalerStory, LoadPoint, Workload
from k8slab.sim.kinds import KINDS

GPU = {"name": "nvidia.com/gpu", "target": {"type": "Utilization", "averageUtilization": 70}}


def hpa(most: int = 10, resource: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    metrics = [{"type": "Resource", "resource": resource or cpu}]
    return {"metadata": {"name": "web"}, "spec": {"minReplicas": 1, "maxReplicas": most, "metrics": metrics, **spec}}


def told(story: AutoscalerStory) -> list[str]:
    while story.step():
        pass
    return [event.kind for event in story.trace]


BURST = [LoadPoint(0, 500), LoadPoint(60_000, 3_500), LoadPoint(200_000, 600)]


def test_a_burst_is_told_as_growing_holding_and_shrinking() -> None:
    story = AutoscalerStory(hpa(), BURST, Workload(1_000), for_ms=700_000)
    kinds = told(story)
    first = [kind for number, kind in enumerate(kinds) if kind not in kinds[:number]]
    assert first == ["hpa.steady", "hpa.grow", "hpa.hold", "hpa.held", "hpa.shrink"]


def test_each_step_adds_one_round_to_the_view() -> None:
    story = AutoscalerStory(hpa(), BURST, Workload(1_000), for_ms=200_000)
    sizes = [len(story.view()["hpa"]["rounds"])]
    while story.step():
        sizes.append(len(story.view()["hpa"]["rounds"]))
    assert sizes == list(range(len(sizes)))
    newest = story.view()["hpa"]["rounds"]["185000"]
    assert newest["load"] == 3_500 and newest["replicas"] == story.run.samples[-1].replicas


def test_limits_are_told_with_their_reason() -> None:
    story = AutoscalerStory(hpa(most=2), BURST, Workload(1_000), for_ms=200_000)
    told(story)
    sentences = [event.message for event in story.trace if event.kind == "hpa.limit"]
    assert sentences and all("but that is above the maximum: 2" in one for one in sentences)


def test_a_metric_that_is_not_there_is_told() -> None:
    story = AutoscalerStory(hpa(resource=GPU), BURST, Workload(1_000, replicas=3), for_ms=100_000)
    assert set(told(story)) == {"hpa.blind"}
    assert "no count, so 3 it stays" in next(iter(story.trace)).message


def test_the_window_of_a_behavior_is_shown() -> None:
    rules = {"policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
    down = {**rules, "stabilizationWindowSeconds": 60}
    behavior = {"scaleUp": {**rules, "stabilizationWindowSeconds": 0}, "scaleDown": down}
    view = AutoscalerStory(hpa(behavior=behavior), BURST).view()["hpa"]
    assert (view["window"], view["edge"]) == (60_000, 1)
    plain = AutoscalerStory(hpa(), BURST).view()["hpa"]
    assert (plain["window"], plain["edge"]) == (300_000, 0)


def test_sentences_fit_in_a_line() -> None:
    for kind in [name for name in KINDS if name.startswith("hpa.")]:
        row = KINDS[kind]
        usual = {"key": "default/web", "why": "did not receive metrics for targeted pods (pods might be", "reason": ""}
        data = {field: usual.get(field, 100) for field in row.fields}
        assert len(row.text(data)) <= 120 and len(row.label(data)) <= 30, kind
