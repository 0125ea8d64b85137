"""What a manifest asks for and the simulation ignores is named."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.cluster.not_simulated import not_simulated


def pod(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", **(container or {})}], **spec}}


@pytest.mark.parametrize(
    ("obj", "paths"),
    [
        (pod(), []),
        (pod({"command": ["false"]}), ["spec.containers[0].command"]),
        (
            pod({"env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {}}]}),
            ["spec.containers[0].env[1].valueFrom"],
        ),
        (pod(volumes=[{"name": "v", "emptyDir": {}}]), []),
        # The scheduler holds a Pod back until its claim is bound.
        (pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]), []),
        (pod(affinity={"nodeAffinity": {"x": 1}, "podAffinity": {"x": 1}, "podAntiAffinity": {"x": 1}}), []),
        (pod(topologySpreadConstraints=[{}]), []),
        (pod(runtimeClassName="gvisor"), ["spec.runtimeClassName"]),
        (
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "spec": {"template": {"spec": pod({"args": ["x"]})["spec"]}},
            },
            ["spec.template.spec.containers[0].args"],
        ),
        ({"apiVersion": "v1", "kind": "Service", "spec": {"type": "LoadBalancer"}}, ["spec.type: LoadBalancer"]),
        ({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": pod({"args": ["x"]})["spec"]}}}, []),
        ({"apiVersion": "v1", "kind": "Pod", "spec": None}, []),
        ({"apiVersion": "v1", "kind": "Pod", "spec": {"volumes": 5, "containers": "no"}}, []),
    ],
    ids=[
        "a plain Pod has nothing that is ignored",
        "a command is not run",
        "a variable from elsewhere is not looked up",
        "an empty folder is harmless",
        "a claim is for the scheduler to hold the Pod back",
        "affinity of all kinds is looked at",
        "spread is looked at",
        "nobody looks up a runtime class",
        "a Deployment's template is looked into",
        "nobody makes a load balancer",
        "a Job is named as a whole elsewhere",
        "no spec",
        "wrong types are somebody else's error",
    ],
)
def test_ignored_fields_are_named(obj: dict[str, Any], paths: list[str]) -> None:
    assert not_simulated(obj) == paths
