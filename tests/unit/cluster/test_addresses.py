"""A cluster's ranges: of Services, of node ports, of its nodes' Pods."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from k8slab import Cluster

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, ipFamilyPolicy: PreferDualStack, selector: {app: web}, ports: [{port: 80}]}
"""


def test_an_applied_service_gets_addresses_of_both_families_and_a_node_port() -> None:
    ranges = {"service-cluster-ip-range": "10.1.0.0/24,fd00::/112", "service-node-port-range": "31000-31031"}
    cluster = Cluster(nodes=1, seed=7, options=ranges)
    cluster.apply(SERVICE)
    cluster.run(for_ms=1_000)
    service = next(one for one in cluster.mirror.list("services") if one["metadata"]["name"] == "web")
    first, second = service["spec"]["clusterIPs"]
    assert first.startswith("10.1.0.") and int(first.split(".")[-1]) > 16 and second.startswith("fd00::")
    assert 31_016 <= service["spec"]["ports"][0]["nodePort"] < 31_032
    cluster.close()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        pytest.param({"service-cluster-ip-range": "10.0.0.0/8"}, "the mask must be >= 12", id="Services"),
        pytest.param({"service-node-port-range": "many"}, "expected two ports with a hyphen", id="node ports"),
        pytest.param({"allocate-node-cidrs": 1}, "option cluster-cidr: expected a CIDR", id="no Pod range"),
        pytest.param(
            {"allocate-node-cidrs": 1, "cluster-cidr": "10.0.0.0/25"}, "mask size of cluster CIDR", id="small"
        ),
    ],
)
def test_ranges_that_cannot_be_are_refused_before_anything_starts(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Cluster(nodes=1, options=options)


def test_pods_get_addresses_of_the_range_that_their_node_was_given() -> None:
    cluster = Cluster(nodes=3, seed=7, options={"allocate-node-cidrs": 1, "cluster-cidr": "10.8.0.0/16"})
    containers = [{"name": "c", "image": "web:1"}]
    for number in range(6):
        cluster.apply(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": {"containers": containers}}
        )
    assert cluster.run(until=cluster.all_ready, for_ms=60_000)
    ranges = {node["metadata"]["name"]: ip_network(node["spec"]["podCIDR"]) for node in cluster.mirror.list("nodes")}
    pods = cluster.mirror.list("pods")
    assert len({pod["status"]["podIP"] for pod in pods}) == 6
    assert all(ip_address(pod["status"]["podIP"]) in ranges[pod["spec"]["nodeName"]] for pod in pods)
    cluster.close()


def test_every_node_gets_its_part_of_the_pod_range() -> None:
    cluster = Cluster(nodes=3, seed=7, options={"allocate-node-cidrs": 1, "cluster-cidr": "10.8.0.0/16"})
    given = [node["spec"]["podCIDR"] for node in cluster.mirror.list("nodes")]
    assert sorted(given) == ["10.8.0.0/24", "10.8.1.0/24", "10.8.2.0/24"]
    cluster.close()
