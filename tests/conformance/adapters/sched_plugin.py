"""What the sched_* topics of single plugins share: run one plugin through its extension points.

`expected`: preFilter {code, reasons, nodeNames}, filter per Node, preScore, score per Node, normalized. A topic's
module names the plugin; the input may name it too.
"""

from __future__ import annotations

from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.scheme import NAMESPACES, SERVICES
from k8slab.scheduler.framework import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeInfo,
    PreFilterPlugin,
    PreScorePlugin,
    ScoreExtensions,
    ScorePlugin,
    Status,
)
from k8slab.scheduler.listers import ObjectLister
from k8slab.scheduler.runtime import Framework
from k8slab.scheduler.snapshot import Snapshot, count_images

Json = dict[str, Any]


def _verdict(status: Status) -> Json:
    return {"code": status.code.value, **({"reasons": list(status.reasons)} if status.reasons else {})}


def _framework(plugin: str, case: Json) -> Framework:
    needed = [{"name": name} for name in dict.fromkeys(("PrioritySort", plugin, "DefaultBinder"))]
    return Framework.from_profile(
        {
            "plugins": {"multiPoint": {"enabled": needed, "disabled": [{"name": "*"}]}},
            "pluginConfig": [{"name": plugin, "args": case.get("args") or {}}],
        },
        features=FeatureGates(release="1.36"),
        lister=ObjectLister({NAMESPACES: case.get("namespaces") or (), SERVICES: case.get("services") or ()}),
    )


def _filtered(plugin: Any, state: CycleState, pod: Json, nodes: list[NodeInfo], out: Json) -> list[NodeInfo] | None:
    """The Nodes that pass the plugin; None: PreFilter rejected them all."""
    if isinstance(plugin, PreFilterPlugin):
        result, status = plugin.pre_filter(state, pod, nodes)
        out["preFilter"] = _verdict(status)
        if status.is_skip:
            return nodes
        if status is not SUCCESS:
            return None
        if result is not None and result.node_names is not None:
            out["preFilter"]["nodeNames"] = sorted(result.node_names)
            nodes = [node for node in nodes if node.name in result.node_names]
    if not isinstance(plugin, FilterPlugin):
        return nodes
    verdicts = {node.name: plugin.filter(state, pod, node) for node in nodes}
    out["filter"] = {name: _verdict(status) for name, status in verdicts.items()}
    return [node for node in nodes if verdicts[node.name] is SUCCESS]


def run_plugin(plugin_name: str, case: Json) -> Json:
    """The `expected` of a vector, from one plugin."""
    framework = _framework(plugin_name, case)
    plugin: Any = framework.plugins[plugin_name]
    ordered = sorted(case["nodes"], key=lambda node: str(node["metadata"]["name"]))
    nodes = [Snapshot.of([node], case.get("pods") or ()).nodes[0] for node in ordered]
    snapshot = Snapshot()
    snapshot.replace(nodes)
    snapshot.image_nodes = count_images(nodes)
    framework.use_snapshot(snapshot)
    state, out, pod = CycleState(), {}, case["pod"]
    passed = _filtered(plugin, state, pod, nodes, out)
    if not passed or not isinstance(plugin, ScorePlugin):
        return out
    if isinstance(plugin, PreScorePlugin):
        status = plugin.pre_score(state, pod, passed)
        out["preScore"] = _verdict(status)
        if status is not SUCCESS:
            return out
    raw = [plugin.score(state, pod, node) for node in passed]
    out["score"] = {node.name: score for node, score in zip(passed, raw, strict=True)}
    if isinstance(plugin, ScoreExtensions):
        normal = plugin.normalize_score(state, pod, passed, list(raw))
        out["normalized"] = {node.name: score for node, score in zip(passed, normal, strict=True)}
    return out
