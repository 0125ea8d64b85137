"""The controller on a cluster: rounds, scales, statuses, events; lost targets, conflicts, rivals, crashes."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab import Cluster
from k8slab.api.errors import ConflictError, InvalidError
from k8slab.api.labels import Selector
from k8slab.api.scheme import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS, SCHEME
from k8slab.autoscaling.hpa import HorizontalController, MetricsError, PodMetric
from k8slab.autoscaling.hpa.horizontal import ReconcileError, target_of
from k8slab.controllers import ControllerContext

NAME = "horizontal-pod-autoscaler-controller"


class FakeMetrics:
    """The same usage for every Pod; `cpu` None: there is none."""

    def __init__(self, cpu: int | None = 50) -> None:
        self.cpu = cpu
        self.names: tuple[str, ...] = ()
        self.asked = 0

    async def get_resource_metric(
        self, resource: str, namespace: str, selector: Selector, container: str
    ) -> dict[str, PodMetric]:
        self.asked += 1
        if self.cpu is None:
            raise MetricsError("no metrics returned from resource metrics API")
        return {name: PodMetric(self.cpu, 1 << 50) for name in self.names}

    async def get_raw_metric(self, *args: Any) -> dict[str, PodMetric]:
        raise MetricsError("no metrics returned from custom metrics API")

    async def get_object_metric(self, *args: Any) -> int:
        raise MetricsError("unable to fetch metrics from custom metrics API: none")

    async def get_external_metric(self, *args: Any) -> list[int]:
        raise MetricsError("no metrics returned from external metrics API")


def web(replicas: int = 2, request: str | None = "100m") -> dict[str, Any]:
    container: dict[str, Any] = {"name": "c", "image": "web:1"}
    if request:
        container["resources"] = {"requests": {"cpu": request}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
        },
    }


def hpa(name: str = "web", target: str = "web", **spec: Any) -> dict[str, Any]:
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {
            "maxReplicas": 6,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target},
            "metrics": [{"type": "Resource", "resource": cpu}],
            **spec,
        },
    }


class House:
    """A cluster whose autoscaler sees what the test says."""

    def __init__(self, *objects: dict[str, Any], cpu: int | None = 50, **options: Any) -> None:
        self.metrics = FakeMetrics(cpu)
        build = lambda ctx: self._build(ctx)  # noqa: E731
        self.cluster = Cluster(nodes=2, seed=7, controllers={NAME: build}, **options)
        for obj in objects:
            self.cluster.apply(obj)
        self.cluster.run(until=lambda: self._pods_ready(objects), for_ms=20_000)

    def _build(self, ctx: ControllerContext) -> HorizontalController:
        return HorizontalController(ctx, metrics=self.metrics)

    def _pods_ready(self, objects: Any) -> bool:
        return all(
            self.cluster.ready(f"deploy/{one['metadata']['name']}") for one in objects if one["kind"] == "Deployment"
        )

    def round(self, count: int = 1) -> None:
        """Some periods; every Pod that is there has a sample."""
        for _ in range(count):
            self.metrics.names = tuple(pod["metadata"]["name"] for pod in self.cluster.objects("pods"))
            self.cluster.run(for_ms=15_100)

    def status(self, name: str = "web") -> dict[str, Any]:
        found: dict[str, Any] = self.cluster.object(f"hpa/{name}")["status"]
        return found

    def condition(self, kind: str, name: str = "web") -> tuple[str, str]:
        found = next(one for one in self.status(name)["conditions"] if one["type"] == kind)
        return found["status"], found["reason"]

    def replicas(self) -> int:
        count: int = self.cluster.object("deploy/web")["spec"]["replicas"]
        return count

    def events(self) -> list[tuple[str, str]]:
        return [
            (one["reason"], one["message"])
            for one in self.cluster.objects("events")
            if one["involvedObject"]["kind"] == "HorizontalPodAutoscaler"
        ]

    def controller(self) -> HorizontalController:
        found: HorizontalController = self.cluster.control_plane.manager.program[NAME]
        return found


def test_it_scales_through_the_scale_subresource_and_tells() -> None:
    house = House(web(), hpa(), cpu=100)
    house.round()
    assert house.replicas() == 4
    assert house.condition("AbleToScale") == ("True", "SucceededRescale")
    assert house.status()["desiredReplicas"] == 4
    assert house.events() == [
        ("SuccessfulRescale", "New size: 4; reason: cpu resource utilization (percentage of request) above target")
    ]
    house.controller().check_invariants()
    assert list(house.controller().view()) == ["default/web"]


def test_the_first_round_comes_a_period_after_the_autoscaler_and_then_one_each_period() -> None:
    house = House(web(), hpa())
    house.round(4)
    assert house.metrics.asked == 4


def test_a_status_that_says_nothing_new_is_not_written() -> None:
    house = House(web(), hpa())
    house.round(2)
    version = house.cluster.object("hpa/web")["metadata"]["resourceVersion"]
    house.round(4)
    assert house.cluster.object("hpa/web")["metadata"]["resourceVersion"] == version


def test_missing_metrics_change_nothing_and_are_told() -> None:
    house = House(web(5), hpa(), cpu=None)
    house.round(2)
    assert house.replicas() == 5
    assert house.condition("ScalingActive") == ("False", "FailedGetResourceMetric")
    assert [reason for reason, _ in house.events()] == ["FailedGetResourceMetric", "FailedComputeMetricsReplicas"]
    house.metrics.cpu = 100
    house.round()
    assert house.condition("ScalingActive") == ("True", "ValidMetricFound") and house.replicas() == 6


def test_a_pod_without_a_request_is_named() -> None:
    house = House(web(1, None), hpa())
    house.round()
    message = next(one["message"] for one in house.status()["conditions"] if one["type"] == "ScalingActive")
    assert "missing request for cpu in container c of Pod web-" in message


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "ghost"},
            'deployments.apps "ghost" not found',
            id="a target that is not there",
        ),
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "Workload", "name": "web"},
            'no matches for kind "Workload" in group "apps"',
            id="a kind that is not there",
        ),
        pytest.param(
            {"apiVersion": "batch/v1", "kind": "Job", "name": "web"},
            "the server could not find the requested resource",
            id="a kind without a scale",
        ),
    ],
)
def test_a_target_without_a_scale_is_told(reference: dict[str, str], message: str) -> None:
    house = House(web(), hpa(scaleTargetRef=reference))
    house.round()
    assert house.condition("AbleToScale") == ("False", "FailedGetScale")
    assert house.events() == [("FailedGetScale", message)]
    why = f"FailedGetScale: the HPA controller was unable to get the target's current scale: {message}"
    assert why in house.cluster.not_ready().values()


def test_two_autoscalers_of_one_target_stand_still_until_one_is_gone() -> None:
    house = House(web(), hpa(), hpa("again"), cpu=100)
    house.round(2)
    assert house.replicas() == 4  # the first round of the first one came before the second was known
    assert house.condition("ScalingActive") == ("False", "AmbiguousSelector")
    assert house.condition("ScalingActive", "again") == ("False", "AmbiguousSelector")
    house.cluster.delete("hpa/again")
    house.round(2)
    assert house.condition("ScalingActive") == ("True", "ValidMetricFound")


def test_a_deleted_autoscaler_is_forgotten_and_its_target_left_alone() -> None:
    house = House(web(), hpa(), cpu=100)
    house.round()
    house.cluster.delete("hpa/web")
    house.round(2)
    assert house.controller().autoscalers == {} and house.replicas() == 4


def test_a_target_at_zero_is_left_alone_until_somebody_scales_it() -> None:
    house = House(web(), hpa(), cpu=100)
    house.cluster.scale("deploy/web", 0)
    house.round(2)
    assert house.condition("ScalingActive") == ("False", "ScalingDisabled") and house.replicas() == 0
    house.cluster.scale("deploy/web", 1)
    house.round(2)
    assert house.replicas() > 1


def test_a_scale_that_changed_meanwhile_is_a_conflict_that_the_next_round_repairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = House(web(), hpa(), cpu=100)
    client = house.controller().ctx.client
    real = client.update_subresource
    refused: list[Any] = []

    async def once(*args: Any, **more: Any) -> Any:
        if not refused:
            refused.append(args)
            raise ConflictError("the object has been modified")
        return await real(*args, **more)

    monkeypatch.setattr(client, "update_subresource", once)
    house.round()
    assert house.condition("AbleToScale") == ("False", "FailedUpdateScale") and house.replicas() == 2
    metric = "cpu resource utilization (percentage of request) above target"
    assert house.events() == [("FailedRescale", f"New size: 4; reason: {metric}; error: the object has been modified")]
    house.round()
    assert house.replicas() == 4


def test_a_restart_forgets_the_window() -> None:
    house = House(web(), hpa(), cpu=100)
    house.round(2)
    house.metrics.cpu = 1
    house.round(2)
    assert house.replicas() == 6  # held by the recommendations of before
    house.cluster.crash("kcm")
    house.cluster.run(for_ms=5_000)
    house.round(2)
    assert house.replicas() == 6  # the first thing the new one remembers is the count it found
    house.round(22)
    assert house.replicas() == 1


class TestAdmission:
    """What the gates let a spec say."""

    def test_a_minimum_of_zero_needs_its_gate(self) -> None:
        metric = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "1"}}}
        zero = hpa(minReplicas=0, metrics=[metric])
        with pytest.raises(Exception, match=r"spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"):
            Cluster(nodes=0).apply(zero)
        cluster = Cluster(nodes=0, gates={"HPAScaleToZero": True})
        cluster.apply(zero, wait=False)
        cluster.run(for_ms=1_000)
        assert cluster.object("hpa/web")["spec"]["minReplicas"] == 0

    def test_below_zero_is_refused_with_the_gate_too(self) -> None:
        cluster = Cluster(nodes=0, gates={"HPAScaleToZero": True})
        body = hpa(minReplicas=-1) | {"metadata": {"name": "web", "namespace": "default"}}
        with pytest.raises(InvalidError, match="must be greater than or equal to 0"):
            cluster._do(cluster._client.create(HORIZONTALPODAUTOSCALERS, body))

    def test_without_its_gate_a_tolerance_is_dropped(self) -> None:
        rules = {"scaleUp": {"tolerance": "50m"}}
        for gates, kept in (({}, True), ({"HPAConfigurableTolerance": False}, False)):
            cluster = Cluster(nodes=0, gates=gates)
            cluster.apply(hpa(behavior=rules), wait=False)
            cluster.run(for_ms=1_000)
            assert ("tolerance" in cluster.object("hpa/web")["spec"]["behavior"]["scaleUp"]) is kept


def test_targets_are_found_by_group_and_kind() -> None:
    assert target_of({"apiVersion": "apps/v1beta7", "kind": "Deployment"}) == DEPLOYMENTS
    assert target_of({"apiVersion": "v1", "kind": "ReplicationController"}) == SCHEME.find("rc").gvr
    with pytest.raises(ValueError, match="unexpected GroupVersion string: a/b/c"):
        target_of({"apiVersion": "a/b/c", "kind": "Deployment"})


@pytest.mark.parametrize(("changed", "error"), [
    pytest.param(
        {"apiVersion": "a/b/c"},
        "invalid API version in scale target reference: unexpected GroupVersion string: a/b/c",
        id="a version with two slashes",
    ),
    pytest.param(
        {"kind": "Deploiment"},
        'unable to determine resource for scale target reference: no matches for kind "Deploiment" in group "apps"',
        id="a kind that nobody knows",
    ),
    pytest.param(
        {"kind": "DaemonSet"},
        "failed to query scale subresource for DaemonSet/default/web: the server could not find the requested resource",
        id="a kind without a scale",
    ),
    pytest.param(
        {"name": "gone"},
        'failed to query scale subresource for Deployment/default/gone: deployments.apps "gone" not found',
        id="an object that is not there",
    ),
])  # fmt: skip
def test_the_trace_says_in_upstreams_words_why_there_is_no_scale(changed: dict[str, str], error: str) -> None:
    """The API server would refuse the first: such an autoscaler comes from a time when it did not."""
    cluster = Cluster(nodes=0)
    cluster.apply(hpa(), wait=False)
    cluster.run(for_ms=1_000)
    controller = cluster.control_plane.manager.program["horizontal-pod-autoscaler-controller"]
    stored = cluster.object("hpa/web")
    stored["spec"]["scaleTargetRef"].update(changed)
    errors: list[str] = []

    async def reconcile() -> None:
        with pytest.raises(ReconcileError) as raised:
            await controller._reconcile("default/web", stored)
        errors.append(str(raised.value))

    cluster._do(reconcile())
    assert errors == [error]
