"""A whole cluster that scales itself: load on a Service, kubelets, metrics server, HPA controller, Deployment."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab import Cluster
from k8slab.api.manifests import load_manifests
from k8slab.api.scheme import HORIZONTALPODAUTOSCALERS, PODS
from k8slab.autoscaling.hpa import HorizontalController
from k8slab.cluster import ApplyError

YAML = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {k8slab.dev/memory-mi: "64"}}
    spec: {containers: [{name: c, image: "web:1", resources: {requests: {cpu: 100m}, limits: {cpu: 200m}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, annotations: {k8slab.dev/load-cpu-milli: "100"}}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  minReplicas: 2
  maxReplicas: 10
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
"""


def load(cluster: Cluster, milli: int | str) -> None:
    cluster.patch("svc/web", {"metadata": {"annotations": {"k8slab.dev/load-cpu-milli": str(milli)}}})


def replicas(cluster: Cluster) -> int:
    found: int = cluster.object("deploy/web")["spec"]["replicas"]
    return found


@pytest.fixture
def cluster() -> Any:
    made = Cluster(nodes=2, seed=7)
    made.apply(YAML)
    assert made.run()
    yield made
    made.close()


def test_replicas_follow_the_load_up_and_after_the_window_down(cluster: Cluster) -> None:
    cluster.run(for_ms=60_000)
    assert replicas(cluster) == 2
    load(cluster, 400)
    cluster.run(for_ms=90_000)
    assert replicas(cluster) == 8  # 400m shared out so that each Pod uses 50m, half of its request
    load(cluster, 100)
    cluster.run(for_ms=240_000)
    assert replicas(cluster) == 8
    cluster.run(for_ms=180_000)
    assert replicas(cluster) == 2


def test_usage_stops_at_the_limit_so_that_one_round_sees_four_times_the_target_at_most(cluster: Cluster) -> None:
    load(cluster, 100_000)
    cluster.run(for_ms=45_000)
    assert "cpu: 200%/50%" in str(cluster.get("hpa"))


def test_the_metrics_server_registers_itself_and_serves_pods_and_nodes(cluster: Cluster) -> None:
    cluster.run(for_ms=60_000)
    conditions = cluster.object("apiservices/v1beta1.metrics.k8s.io")["status"]["conditions"]
    assert [(one["type"], one["status"], one["reason"]) for one in conditions] == [("Available", "True", "Passed")]
    server = cluster.control_plane.operators["metrics-server"].program
    usage = [server.points.usage("default", pod["metadata"]["name"]) for pod in cluster.objects("pods")]
    assert [one.containers["c"] for one in usage] == [(50, 64 << 20)] * 2


def test_without_a_metrics_server_the_count_stays_and_the_condition_says_why(cluster: Cluster) -> None:
    cluster.run(for_ms=60_000)
    cluster.crash("metrics-server", restart_after_ms=None)
    load(cluster, 0)
    cluster.run(for_ms=600_000)
    assert replicas(cluster) == 2
    condition = next(c for c in cluster.object("hpa/web")["status"]["conditions"] if c["type"] == "ScalingActive")
    assert condition["reason"] == "FailedGetResourceMetric"
    assert condition["message"].endswith("unable to fetch metrics from resource metrics API: service unavailable")
    cluster.restart("metrics-server")
    load(cluster, 300)
    cluster.run(for_ms=90_000)
    assert replicas(cluster) == 6


def test_pods_on_a_dead_node_have_no_samples_and_count_as_busy_on_the_way_down(cluster: Cluster) -> None:
    load(cluster, 400)
    cluster.run(for_ms=120_000)
    assert replicas(cluster) == 8
    cluster.fail_node("node-1")
    load(cluster, 10)
    cluster.run(for_ms=30_000)
    server = cluster.control_plane.operators["metrics-server"].program
    assert {pod["spec"]["nodeName"] for pod in cluster.objects("pods")} == {"node-1", "node-2"}
    assert list(server.nodes) == ["node-2"]


def test_a_cluster_without_autoscalers_has_neither_controller_nor_metrics_server() -> None:
    cluster = Cluster(nodes=1, seed=7)
    assert "horizontal-pod-autoscaler-controller" not in cluster.control_plane.manager.program
    assert cluster.control_plane.operators == {}
    cluster.apply(YAML)
    assert "horizontal-pod-autoscaler-controller" in cluster.control_plane.manager.program
    cluster.crash("kcm")
    cluster.run(for_ms=2_000)
    assert "horizontal-pod-autoscaler-controller" in cluster.control_plane.manager.program


def test_an_autoscaler_that_is_refused_starts_nothing_and_leaves_nothing_behind() -> None:
    """The last of the manifests is refused by the server, after a dry run of the others."""
    cluster = Cluster(nodes=1, seed=7)
    before = cluster.control_plane.store.revision
    with pytest.raises(ApplyError, match="maxReplicas"):
        cluster.apply(YAML.replace("maxReplicas: 10", "maxReplicas: 1"))
    cluster.run(for_ms=1_000)
    assert cluster.control_plane.store.revision == before
    assert cluster.control_plane.operators == {}
    assert "horizontal-pod-autoscaler-controller" not in cluster.control_plane.manager.program


def test_an_autoscaler_that_any_client_creates_starts_both() -> None:
    cluster = Cluster(nodes=1, seed=7)
    deployment, service, hpa = (m.object for m in load_manifests(YAML))
    cluster.apply([deployment, service])
    client = cluster.control_plane.client("somebody", "kubernetes-admin")
    cluster.you.spawn("create", client.create(HORIZONTALPODAUTOSCALERS, hpa, "default"))
    cluster.run(for_ms=60_000)
    assert cluster.object("hpa/web")["status"]["currentMetrics"][0]["resource"]["current"]["averageUtilization"] == 50
    assert cluster.control_plane.operators["metrics-server"].is_alive


def test_a_manager_that_is_down_when_the_first_autoscaler_comes_starts_its_controller_later() -> None:
    cluster = Cluster(nodes=1, seed=7)
    cluster.crash("kcm", restart_after_ms=None)
    cluster.apply(YAML)
    cluster.run(for_ms=1_000)
    assert cluster.control_plane.operators["metrics-server"].is_alive
    cluster.restart("kcm")
    cluster.run(for_ms=90_000)
    assert cluster.object("hpa/web")["status"]["currentMetrics"]


def test_the_controller_can_be_replaced_or_left_out() -> None:
    name = "horizontal-pod-autoscaler-controller"
    built: list[Any] = []

    def build(ctx: Any) -> Any:
        built.append(ctx)
        return HorizontalController(ctx)

    Cluster(nodes=0, controllers={name: build})
    assert len(built) == 1
    cluster = Cluster(nodes=1, controllers={name: None})
    cluster.apply(YAML)
    cluster.run(for_ms=60_000)
    assert name not in cluster.control_plane.manager.program
    assert cluster.object("hpa/web")["status"].get("conditions") is None


def test_a_run_with_an_autoscaler_is_replayed_from_its_recording(cluster: Cluster) -> None:
    load(cluster, 400)
    cluster.run(for_ms=60_000)
    again = Cluster.replay(cluster.share())
    assert [e.kind for e in again.trace] == [e.kind for e in cluster.trace]
    assert again.mirror.list(PODS.group_resource) == cluster.mirror.list(PODS.group_resource)


@pytest.mark.parametrize("text", ["", "many", "-5", "1.5", "9" * 20])
def test_a_load_that_is_no_whole_number_is_none(cluster: Cluster, text: str) -> None:
    load(cluster, text)
    cluster.run(for_ms=60_000)
    assert "cpu: 0%/50%" in str(cluster.get("hpa"))


def test_options_have_upstreams_names() -> None:
    options = {"horizontal-pod-autoscaler-sync-period-ms": 1_000, "horizontal-pod-autoscaler-tolerance": 0.5}
    cluster = Cluster(nodes=1, seed=7, options=options)
    cluster.apply(YAML)
    cluster.run(for_ms=20_000)
    controller = cluster.control_plane.manager.program["horizontal-pod-autoscaler-controller"]
    assert (controller.period_ms, controller.tolerance) == (1_000, 0.5)
