"""Golden topic ttl: the TTL annotation while nodes come and go one at a time."""

from __future__ import annotations

from typing import Any

from k8slab.controllers.node_ttl import NodeTTL


def run(case: dict[str, Any]) -> dict[str, Any]:
    ttl = NodeTTL()
    after = []
    for change in case["events"]:
        seconds = ttl.resize(ttl.nodes + change)
        after.append({"nodes": ttl.nodes, "ttlSeconds": seconds})
    return {"after": after}
