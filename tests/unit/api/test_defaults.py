"""Defaulting beyond the golden vectors: the rules of pkg/apis/*/v*/defaults.go, one by one."""

from typing import Any

import pytest

from k8slab.api.decoding import DecodeError
from k8slab.api.defaults import apply_defaults
from k8slab.api.defaults.pod import image_tag


def pod(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "nginx:1", **(container or {})}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("nginx", "latest"),
        ("nginx:latest", "latest"),
        ("nginx:1.27", "1.27"),
        ("reg:5000/nginx", "latest"),
        ("reg.io/team/nginx:1", "1"),
        ("nginx@sha256:" + "a" * 64, ""),
        ("nginx:1@sha256:" + "a" * 64, "1"),
        ("nginx:BAD TAG", ""),
        ("Nginx", ""),
        ("", ""),
    ],
)
def test_the_tag_decides_the_pull_policy(image: str, tag: str) -> None:
    assert image_tag(image) == tag
    policy = apply_defaults(pod({"image": image}))["spec"]["containers"][0]["imagePullPolicy"]
    assert policy == ("Always" if tag == "latest" else "IfNotPresent")


def test_limits_become_requests_in_pods_but_not_in_templates() -> None:
    limited = {"resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1Gi"}}}
    requests = apply_defaults(pod(limited))["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "1", "memory": "1Gi"}
    template = {"spec": pod(limited)["spec"]}
    deployment = apply_defaults(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": {"template": template}}
    )
    assert deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] == {"memory": "1Gi"}
    assert "enableServiceLinks" not in deployment["spec"]["template"]["spec"]


def test_pod_level_requests_come_from_containers_first_and_from_limits_then() -> None:
    spec = apply_defaults(
        pod({"resources": {"requests": {"cpu": "250m"}}}, resources={"limits": {"cpu": "2", "memory": "1Gi"}})
    )["spec"]
    assert spec["resources"]["requests"] == {"cpu": "250m", "memory": "1Gi"}


def test_host_network_copies_container_ports_to_host_ports() -> None:
    ports = apply_defaults(pod({"ports": [{"containerPort": 80}]}, hostNetwork=True))["spec"]["containers"][0]["ports"]
    assert ports == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]


def test_volumes_get_modes_and_an_empty_one_becomes_empty_dir() -> None:
    volumes = [
        {"name": "a"},
        {"name": "b", "configMap": {"name": "x"}},
        {"name": "c", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "d", "hostPath": {"path": "/x"}},
    ]
    a, b, c, d = apply_defaults(pod(volumes=volumes))["spec"]["volumes"]
    assert a["emptyDir"] == {} and b["configMap"]["defaultMode"] == 420 and d["hostPath"]["type"] == ""
    assert c["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"] == 3600


def test_resources_are_rounded_up_to_thousandths() -> None:
    spec = apply_defaults(pod({"resources": {"requests": {"cpu": "100u"}}}))["spec"]
    assert spec["containers"][0]["resources"]["requests"]["cpu"] == "1m"


def test_probe_hooks_and_grpc_defaults() -> None:
    container = apply_defaults(
        pod(
            {
                "startupProbe": {"grpc": {"port": 1}, "periodSeconds": 3},
                "lifecycle": {"preStop": {"httpGet": {"port": 8080}}},
            }
        )
    )["spec"]["containers"][0]
    assert container["startupProbe"]["grpc"]["service"] == "" and container["startupProbe"]["periodSeconds"] == 3
    assert container["lifecycle"]["preStop"]["httpGet"] == {"port": 8080, "path": "/", "scheme": "HTTP"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"type": "ExternalName", "externalName": "a.b"}, {"type": "ExternalName"}, id="external names"),
        pytest.param(
            {"sessionAffinity": "ClientIP", "ports": [{"port": 1}]},
            {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}, "internalTrafficPolicy": "Cluster"},
            id="client affinity lasts three hours",
        ),
        pytest.param(
            {"externalIPs": ["1.2.3.4"], "ports": [{"port": 1}]},
            {"externalTrafficPolicy": "Cluster"},
            id="external addresses make a Service externally accessible",
        ),
    ],
)
def test_services(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    service = apply_defaults({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec})
    assert {key: service["spec"].get(key) for key in expected} == expected


def test_a_node_allocates_its_capacity() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}}
    assert apply_defaults(node)["status"]["allocatable"] == {"cpu": "4"}


def test_a_generated_namespace_gets_its_label_later() -> None:
    assert (
        "labels"
        not in apply_defaults({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "n-"}})["metadata"]
    )


def test_wrong_types_are_errors_and_the_input_stays_as_it_is() -> None:
    manifest = pod()
    before = repr(manifest)
    apply_defaults(manifest)
    assert repr(manifest) == before
    with pytest.raises(DecodeError):
        apply_defaults(pod(hostNetwork="yes"))


def test_defaulting_twice_changes_nothing() -> None:
    once = apply_defaults(pod({"ports": [{"containerPort": 80}]}, volumes=[{"name": "v"}]))
    assert apply_defaults(once) == once
