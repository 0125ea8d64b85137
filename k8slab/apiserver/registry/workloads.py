"""Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and their kin.

Upstream: pkg/registry/apps/*/strategy.go, pkg/registry/batch/{job,cronjob}/strategy.go
Simplified: no tracking-finalizer annotations of old Jobs, no warnings about Pod templates.
"""

from __future__ import annotations

from collections.abc import Mapping

from k8slab.api.objects import Frozen, Object
from k8slab.apiserver.registry.context import Context, Draft
from k8slab.apiserver.registry.strategy import ORPHAN, Strategy, spec_changed

__all__ = ["DaemonSetStrategy", "DeploymentStrategy", "JobStrategy", "ReplicaStrategy"]

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


class DeploymentStrategy(Strategy):
    """Annotations count as spec: the controller copies them to ReplicaSets."""

    has_generation = True
    has_status = True

    def generation_changes(self, obj: Object, old: Object) -> bool:
        before = old["metadata"].get("annotations") or {}
        return spec_changed(obj, old) or (obj["metadata"].get("annotations") or {}) != before


class ReplicaStrategy(Strategy):
    """ReplicaSets and ReplicationControllers can be selected by their size."""

    has_generation = True
    has_status = True

    def attributes(self, obj: Object) -> Mapping[str, str]:
        replicas = (obj.get("status") or {}).get("replicas", 0)
        return {**super().attributes(obj), "status.replicas": str(replicas)}


class DaemonSetStrategy(Strategy):
    """The template has a generation of its own, kept in an annotation."""

    has_generation = True
    has_status = True

    def prepare_for_create(self, ctx: Context, obj: Draft) -> None:
        super().prepare_for_create(ctx, obj)
        self._annotate(obj, "1")

    def prepare_for_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        generation = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "1"))
        if obj["spec"].get("template") != old["spec"].get("template"):
            generation += 1
        self._annotate(obj, str(generation))
        super().prepare_for_update(ctx, obj, old)

    def _annotate(self, obj: Draft, generation: str) -> None:
        annotations = obj["metadata"].get("annotations") or {}
        obj["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: generation}


class JobStrategy(Strategy):
    """Jobs get a selector and Pod labels from their uid, and leave their Pods behind when deleted without a policy."""

    has_generation = True
    has_status = True
    gc_policy = ORPHAN
    returns_deleted = False

    def prepare_for_create(self, ctx: Context, obj: Draft) -> None:
        super().prepare_for_create(ctx, obj)
        if not obj["spec"].get("manualSelector"):
            self._generate_selector(obj)

    def _generate_selector(self, obj: Draft) -> None:
        metadata, spec = obj["metadata"], obj["spec"]
        uid, name = metadata["uid"], metadata["name"]
        labels = {
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": name,
            "controller-uid": uid,
            "job-name": name,
        }
        template = spec.get("template") or {}
        template_metadata = template.get("metadata") or {}
        template_labels = {**(template_metadata.get("labels") or {}), **labels}
        selector = spec.get("selector") or {}
        wanted = {**(selector.get("matchLabels") or {}), "batch.kubernetes.io/controller-uid": uid}
        if not metadata.get("labels"):
            metadata["labels"] = template_labels
        obj["spec"] = {
            **spec,
            "selector": {**selector, "matchLabels": wanted},
            "template": {**template, "metadata": {**template_metadata, "labels": template_labels}},
        }

    def attributes(self, obj: Object) -> Mapping[str, str]:
        succeeded = (obj.get("status") or {}).get("succeeded", 0)
        return {**super().attributes(obj), "status.successful": str(succeeded)}
