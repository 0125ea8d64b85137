"""One Deployment and the life it leads in a cluster: what schedules, crashes and faults are tried on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.check import ALL, Convergence, Judge, Violation, judge
from k8slab.cluster import Cluster

__all__ = ["active_pods", "created_pods", "deployment", "life", "new_image", "settle", "verdict"]

LONG_MS = 600_000


def deployment(replicas: int = 6, name: str = "web", image: str = "nginx:1.27", **spec: Any) -> dict[str, Any]:
    """A Deployment of one small container; `spec` adds fields."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": image}]},
            },
            **spec,
        },
    }


def new_image(cluster: Cluster, image: str, name: str = "web") -> None:
    cluster.patch(f"deploy/{name}", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})


def active_pods(cluster: Cluster) -> list[dict[str, Any]]:
    """Pods that have not ended and are not being deleted."""
    return [
        pod
        for pod in cluster.objects("pods")
        if "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") not in ("Succeeded", "Failed")
    ]


def created_pods(cluster: Cluster) -> list[str]:
    """The keys of all Pods that ever were."""
    return [key for resource, key in cluster.trace.objects() if resource == "pods"]


def settle(cluster: Cluster, pods: int, for_ms: int = LONG_MS) -> None:
    """Let time pass until everything applied is ready and there are exactly so many Pods, none of them on its way out.
    AssertionError says what is missing."""

    def there() -> bool:
        found = cluster.mirror.list("pods")
        return (
            len(found) == pods
            and not any("deletionTimestamp" in pod["metadata"] for pod in found)
            and cluster.all_ready()
        )

    ready = cluster.run(until=there, for_ms=for_ms)
    names = [pod["metadata"]["name"] for pod in cluster.objects("pods")]
    assert ready, f"after {for_ms} ms: {cluster.not_ready()}, Pods {names}, {pods} expected"


def images(cluster: Cluster) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in active_pods(cluster)]


def life(cluster: Cluster, replicas: int = 6, sizes: Sequence[int] = (9, 2)) -> None:
    """Create, roll to a new image, scale up and down, delete. Asserts what must hold after each."""
    cluster.apply(deployment(replicas))
    settle(cluster, replicas)
    new_image(cluster, "nginx:1.28")
    settle(cluster, replicas)
    assert images(cluster) == ["nginx:1.28"] * replicas
    for size in sizes:
        cluster.scale("deploy/web", size)
        settle(cluster, size)
    assert verdict(cluster, [Convergence()]) == []
    cluster.delete("deploy/web")
    settle(cluster, 0)
    gone = cluster.run(until=lambda: not cluster.mirror.list("replicasets.apps"), for_ms=LONG_MS)
    assert gone, "a ReplicaSet is left over"


def verdict(cluster: Cluster, judges: Sequence[Judge] = ALL) -> list[str]:
    """What the judges find, as sentences."""
    found: list[Violation] = judge(cluster.trace, judges)
    return [str(violation) for violation in found]


def labels_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return labels
