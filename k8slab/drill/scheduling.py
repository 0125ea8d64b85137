"""What the drills on filters and scores share: Nodes, Pods and one way to ask the scheduler's framework.

Simplified: see `k8slab.scheduler`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.quantity import quantity
from k8slab.drill.exercise import table_block, yaml_block
from k8slab.scheduler import Explanation, Framework, Snapshot

__all__ = ["examine", "make_node", "make_pod", "nodes_table", "pod_block", "some_pods"]

Json = dict[str, Any]


def examine(
    pod: Object,
    nodes: Sequence[Object],
    pods: Sequence[Object] = (),
    *,
    plugin: str = "",
    args: Mapping[str, Any] | None = None,
) -> Explanation:
    """Every verdict and score of the default profile, or of one `plugin` alone (with `args`)."""
    if not plugin:
        return Framework.from_profile().explain(pod, Snapshot.of(nodes, pods))
    names = [{"name": name} for name in dict.fromkeys(("PrioritySort", plugin, "DefaultBinder"))]
    profile = {
        "plugins": {"multiPoint": {"enabled": names, "disabled": [{"name": "*"}]}},
        "pluginConfig": [{"name": plugin, "args": dict(args or {})}],
    }
    return Framework.from_profile(profile).explain(pod, Snapshot.of(nodes, pods))


def make_node(name: str, cpu: str = "4", memory: str = "8Gi", pods: str = "110", **more: Any) -> Json:
    """A Node. `more`: labels, taints, unschedulable."""
    spec = {key: more[key] for key in ("taints", "unschedulable") if more.get(key)}
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods}
    return {
        "metadata": {"name": name, "labels": more.get("labels", {})},
        "spec": spec,
        "status": {"allocatable": allocatable},
    }


def make_pod(name: str = "web", requests: Mapping[str, str] | None = None, **more: Any) -> Json:
    """A Pod with one container. `more`: host_port, and further fields of its spec."""
    container: Json = {"name": "app"}
    if requests:
        container["resources"] = {"requests": dict(requests)}
    host_port = more.pop("host_port", None)
    if host_port:
        container["ports"] = [host_port]
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {**more, "containers": [container]},
    }


def pod_block(pod: Object) -> str:
    """The spec of a Pod as one would write it."""
    return yaml_block({"spec": pod["spec"]})


def nodes_table(nodes: Sequence[Object], used: Mapping[str, Sequence[Object]] | None = None) -> str:
    """What there is on each Node; with `used`, also what the Pods there ask for."""
    rows = []
    for node in nodes:
        has, name = node["status"]["allocatable"], node["metadata"]["name"]
        row = [name, has["cpu"], has["memory"]]
        if used is not None:
            row.append(" ".join(_asked(pod) for pod in used.get(name, ())) or "-")
        rows.append(row)
    columns = ["NODE", "CPU", "MEMORY"] + (["PODS THERE ASK FOR (CPU/MEMORY)"] if used is not None else [])
    return table_block(rows, columns)


def _asked(pod: Object) -> str:
    requests = pod["spec"]["containers"][0].get("resources", {}).get("requests") or {}
    return f"{requests.get('cpu', '0')}/{requests.get('memory', '0')}"


def some_pods(rng: random.Random, node: Json, count: int) -> list[Json]:
    """At most `count` Pods that run on a Node, as many as it has room for."""
    name, has, pods = node["metadata"]["name"], node["status"]["allocatable"], []
    left = {"cpu": quantity(has["cpu"]), "memory": quantity(has["memory"])}
    for number in range(count):
        asks = {"cpu": rng.choice(["250m", "500m", "1"]), "memory": rng.choice(["256Mi", "512Mi", "1Gi"])}
        if all(quantity(amount) <= left[resource] for resource, amount in asks.items()):
            left = {resource: left[resource] - quantity(amount) for resource, amount in asks.items()}
            pods.append(make_pod(f"{name}-{number}", asks, nodeName=name))
    return pods
