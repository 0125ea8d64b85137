"""The topics, and how a seed becomes an exercise.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import random
from dataclasses import replace

from k8slab.drill.addresses import addresses
from k8slab.drill.admission import admission
from k8slab.drill.eviction import eviction
from k8slab.drill.exercise import Drill, Generator
from k8slab.drill.failed_scheduling import failed_scheduling
from k8slab.drill.filters import filters
from k8slab.drill.gpus import gpus
from k8slab.drill.hpa import hpa
from k8slab.drill.mvcc import mvcc
from k8slab.drill.node_autoscaling import node_autoscaling
from k8slab.drill.preemption import preemption
from k8slab.drill.quantities import quantities
from k8slab.drill.raft import raft
from k8slab.drill.requests_qos import requests_qos
from k8slab.drill.resource_version import resource_version
from k8slab.drill.rollout import rollout
from k8slab.drill.scores import scores
from k8slab.drill.selectors import selectors
from k8slab.drill.workqueue_delays import workqueue_delays

__all__ = ["TITLES", "TOPICS", "drill", "seed_text"]

TOPICS: dict[str, Generator] = {
    "quantities": quantities,
    "selectors": selectors,
    "requests-qos": requests_qos,
    "resource-version": resource_version,
    "admission": admission,
    "workqueue-delays": workqueue_delays,
    "rollout": rollout,
    "filters": filters,
    "scores": scores,
    "failed-scheduling": failed_scheduling,
    "preemption": preemption,
    "eviction": eviction,
    "raft": raft,
    "mvcc": mvcc,
    "addresses": addresses,
    "hpa": hpa,
    "node-autoscaling": node_autoscaling,
    "gpus": gpus,
}
"""The generators of exercises by topic, as `k8slab drill` names them."""

TITLES: dict[str, str] = {
    "quantities": "Quantities",
    "selectors": "Label selectors",
    "requests-qos": "Requests and QoS",
    "resource-version": "resourceVersion",
    "admission": "Admission webhooks",
    "workqueue-delays": "Work queues and delays",
    "rollout": "Rollout arithmetic",
    "filters": "Filters",
    "scores": "Scores",
    "failed-scheduling": "FailedScheduling",
    "preemption": "Preemption",
    "eviction": "Eviction and OOM",
    "raft": "Raft",
    "mvcc": "etcd's revisions",
    "addresses": "Addresses",
    "hpa": "Replicas by the load",
    "node-autoscaling": "Nodes by the requests",
    "gpus": "GPUs and packed nodes",
}
"""The topics' names for a page."""

LONGEST_SEED = 64


def seed_text(seed: int | str) -> str:
    """A seed as it is written; ValueError when it is empty, too long or cannot be printed."""
    text = str(seed)
    if not 1 <= len(text) <= LONGEST_SEED or not text.isprintable():
        raise ValueError(f"seed {text[:80]!r}: expected a number, or 1 to {LONGEST_SEED} printable characters")
    return text


def drill(topic: str, seed: int | str = 1) -> Drill:
    """The exercise of a topic that this seed gives, the same on every machine. ValueError: an unknown topic."""
    if topic not in TOPICS:
        raise ValueError(f"topic {topic!r}: expected one of {', '.join(TOPICS)}")
    text = seed_text(seed)
    return replace(TOPICS[topic](random.Random(f"{text}/drill/{topic}")), seed=text)
