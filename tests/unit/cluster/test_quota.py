"""A quota in a whole cluster: the Deployment gets as many Pods as it allows, and the rest when it allows more."""

from __future__ import annotations

from k8slab import Cluster

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
"""
QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: q}
spec: {hard: {pods: "%s"}}
"""


def test_no_more_pods_than_the_quota_allows() -> None:
    cluster = Cluster(nodes=2)
    assert "resourcequota-controller" not in cluster.control_plane.manager.program
    cluster.apply(QUOTA % 3)
    cluster.run(for_ms=100)
    assert "resourcequota-controller" in cluster.control_plane.manager.program, "it starts with the first quota"
    cluster.apply(DEPLOYMENT)
    cluster.run(for_ms=20_000)
    assert len(cluster.objects("pods")) == 3
    assert cluster.objects("resourcequotas")[0]["status"]["used"] == {"pods": "3"}
    refusals = [str(event.data["why"]) for event in cluster.trace if event.kind == "admission.refused"]
    assert refusals and all("exceeded quota: q" in why for why in refusals)
    cluster.apply(QUOTA % 5)
    assert not cluster.run(until=cluster.all_ready, for_ms=60_000), "the ReplicaSet's back-off has grown to minutes"
    cluster.run(until=cluster.all_ready, for_ms=1_000_000)
    assert len(cluster.objects("pods")) == 5
    cluster.close()


def test_a_restarted_manager_counts_too() -> None:
    cluster = Cluster(nodes=1)
    cluster.apply(QUOTA % 3)
    cluster.run(for_ms=100)
    cluster.control_plane.manager.kill()
    cluster.control_plane.manager.start()
    cluster.apply(DEPLOYMENT)
    cluster.run(for_ms=10_000)
    assert "resourcequota-controller" in cluster.control_plane.manager.program
    assert cluster.objects("resourcequotas")[0]["status"]["used"] == {"pods": "3"}
    cluster.close()


def test_a_quota_that_comes_while_the_manager_is_down_is_counted_for_when_it_is_back() -> None:
    cluster = Cluster(nodes=1)
    cluster.control_plane.manager.kill()
    cluster.apply(QUOTA % 3)
    cluster.run(for_ms=1_000)
    assert cluster.objects("resourcequotas")[0]["status"] == {}
    cluster.control_plane.manager.start()
    cluster.run(for_ms=1_000)
    assert cluster.objects("resourcequotas")[0]["status"]["used"] == {"pods": "0"}
    cluster.close()


def test_of_two_servers_neither_gives_too_much_away() -> None:
    cluster = Cluster(nodes=1, apiservers=2)
    cluster.apply(QUOTA % 3)
    cluster.run(for_ms=100)
    cluster.apply(DEPLOYMENT)
    cluster.run(for_ms=20_000)
    assert len(cluster.objects("pods")) == 3
    cluster.close()
