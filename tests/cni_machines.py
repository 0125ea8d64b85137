"""Machines for the tests of plugins: one with every plugin, and how to call them."""

from __future__ import annotations

import json
import random
from typing import Any

from k8slab.kubelet import NodeConfig
from k8slab.network import CNIError, Fabric, Machine, install_plugins
from k8slab.network.cni.results import Result, decode

__all__ = ["POD_CIDR", "bridge_conf", "call", "failure", "machine", "manifest", "pod", "small_node", "two_nodes"]

POD_CIDR = "10.244.{}.0/24"


def machine() -> Machine:
    """One node on a fabric of its own."""
    fabric = Fabric(random.Random(7))
    made = fabric.add_machine("node-1", "10.0.0.2", pod_cidr=POD_CIDR.format(1))
    install_plugins(made)
    return made


def two_nodes() -> Fabric:
    """Two nodes with routes to each other's Pods."""
    fabric = Fabric(random.Random(7))
    for number in (1, 2):
        made = fabric.add_machine(f"node-{number}", f"10.0.0.{number}", pod_cidr=POD_CIDR.format(number))
        install_plugins(made)
    return fabric


def bridge_conf(number: int = 1, **more: Any) -> dict[str, Any]:
    """A bridge with host-local behind it."""
    ipam = {"type": "host-local", "subnet": POD_CIDR.format(number), "routes": [{"dst": "0.0.0.0/0"}]}
    return {"cniVersion": "1.1.0", "name": "net", "type": "bridge", "isGateway": True, "ipam": ipam, **more}


def call(
    where: Machine, command: str, config: dict[str, Any], container: str = "c1", *, netns: str | None = None, **env: str
) -> Result | None:
    """Run the configuration's plugin; its result for ADD. CNIError when it fails. Makes the namespace for ADD."""
    path = f"/run/netns/{container}" if netns is None else netns
    if command == "ADD" and netns is None and path not in where.namespaces:
        where.new_namespace(path)
    words = {"COMMAND": command, "CONTAINERID": container, "NETNS": path, "IFNAME": "eth0", "PATH": "/opt/cni/bin"}
    variables = {f"CNI_{name}": value for name, value in {**words, **env}.items()}
    end = where.programs.execute(f"/opt/cni/bin/{config['type']}", variables, json.dumps(config).encode())
    if command != "ADD":
        assert end.stdout == b""
        return None
    body = json.loads(end.stdout)
    return decode(body, body["cniVersion"])


def pod(name: str, *, annotations: dict[str, str] | None = None, **container: Any) -> dict[str, Any]:
    """A Pod with one container; its uid is its name."""
    metadata = {"name": name, "namespace": "default", "uid": name, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "app:1", **container}]}}


def manifest(name: str, node: str = "node-1", **container: Any) -> dict[str, Any]:
    """A Pod to apply, bound to a node."""
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "app:1", **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def small_node(number: int = 1, pod_cidr: str = "") -> NodeConfig:
    """A node with five addresses for Pods."""
    cidr = pod_cidr or f"10.244.{number}.0/29"
    return NodeConfig(f"node-{number}", internal_ip=f"10.0.0.{number}", pod_cidr=cidr)


def failure(where: Machine, command: str, config: dict[str, Any], container: str = "c1", **how: Any) -> str:
    """The text of a failure."""
    try:
        call(where, command, config, container, **how)
    except CNIError as error:
        return str(error)
    raise AssertionError(f"{command} did not fail")
