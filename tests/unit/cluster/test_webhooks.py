"""A webhook that must approve its own Pods: how it locks itself out, and what gets it back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from k8slab import Cluster
from tests.webhooks import Backend, configuration, webhook

MANIFESTS = """
apiVersion: v1
kind: Namespace
metadata: {name: guard}
---
apiVersion: v1
kind: Service
metadata: {name: guard, namespace: guard}
spec:
  selector: {app: guard}
  ports: [{port: 443, targetPort: 8443}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: guard, namespace: guard}
spec:
  replicas: 1
  selector: {matchLabels: {app: guard}}
  template:
    metadata: {labels: {app: guard}}
    spec: {containers: [{name: c, image: "guard:1"}]}
"""
PODS = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
PLACE = {"service": {"name": "guard", "namespace": "guard", "path": "/check"}}


def guarded(**fields: Any) -> tuple[Cluster, Backend]:
    """A cluster whose Pods are approved by a Pod of its own."""
    cluster = Cluster(nodes=2, seed=7)
    cluster.apply(MANIFESTS)
    assert cluster.run()
    backend = Backend()
    cluster.http.serve("https://guard.guard.svc:443", backend)
    hook = webhook("guard", clientConfig=PLACE, rules=[PODS], timeoutSeconds=2, **fields)
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    cluster.apply({**kind, **configuration("guard", hook)})
    return cluster, backend


def lose_the_pod(cluster: Cluster) -> None:
    (pod,) = cluster.objects("pods", namespace="guard")
    cluster.delete(f"pod/{pod['metadata']['name']}", namespace="guard", grace_period_seconds=0)


def is_back(cluster: Cluster) -> bool:
    return cluster.run(until=lambda: cluster.ready("deploy/guard", namespace="guard"), for_ms=60_000)


def locked_out() -> Cluster:
    cluster, _ = guarded()
    lose_the_pod(cluster)
    cluster.run(for_ms=5_000)
    assert not is_back(cluster)
    return cluster


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = locked_out()
    yield made
    made.close()


def test_a_webhook_that_lost_its_only_pod_keeps_itself_from_coming_back(cluster: Cluster) -> None:
    events = [row for row in cluster.objects("events", namespace="guard") if row["reason"] == "FailedCreate"]
    text = events[-1]["message"]
    assert (
        'failed calling webhook "guard.example.com": failed to call webhook: Post "https://guard.guard.svc:443' in text
    )
    assert "connect: connection refused" in text
    assert cluster.objects("pods", namespace="guard") == []


@pytest.mark.parametrize(
    "cure",
    [
        {"failurePolicy": "Ignore"},
        {
            "namespaceSelector": {
                "matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["guard"]},
                ]
            }
        },
        {"objectSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["guard"]}]}},
        {"matchConditions": [{"name": "not-itself", "expression": "request.namespace != 'guard'"}]},
    ],
    ids=[
        "failurePolicy Ignore",
        "its namespace is exempt",
        "its Pods are exempt by a label",
        "a match condition exempts its namespace",
    ],
)
def test_each_cure_lets_it_come_back_without_help(cure: dict[str, Any]) -> None:
    cluster, _ = guarded(**cure)
    lose_the_pod(cluster)
    cluster.run(for_ms=5_000)
    assert is_back(cluster)
    cluster.close()


def test_a_second_replica_keeps_answering_for_the_first(cluster: Cluster) -> None:
    other, backend = guarded()
    other.scale("deploy/guard", 2, namespace="guard")
    assert other.run(until=lambda: len(other.objects("pods", namespace="guard")) == 2, for_ms=60_000)
    assert is_back(other)
    pod = other.objects("pods", namespace="guard")[0]["metadata"]["name"]
    asked = len(backend.asked)
    other.delete(f"pod/{pod}", namespace="guard", grace_period_seconds=0)
    other.run(for_ms=5_000)
    assert is_back(other) and len(backend.asked) > asked
    other.close()


def test_removing_the_configuration_unlocks_since_it_is_never_admitted(cluster: Cluster) -> None:
    cluster.delete("validatingwebhookconfigurations/guard")
    assert is_back(cluster)


def test_webhooks_of_a_run_are_in_the_trace_and_the_same_seed_gives_the_same_bytes() -> None:
    runs = []
    for _ in range(2):
        cluster, _ = guarded()
        cluster.scale("deploy/guard", 3, namespace="guard")
        cluster.run(for_ms=10_000)
        runs.append(cluster.trace.to_jsonl())
        cluster.close()
    assert runs[0] == runs[1]
    kinds = [json.loads(line)["kind"] for line in runs[0].splitlines()]
    assert kinds.count("webhook.call") == kinds.count("webhook.answer") == 2
