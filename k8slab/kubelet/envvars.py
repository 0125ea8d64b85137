"""The environment variables that tell a container of Services, as Docker's links once did.

>>> from k8slab.kubelet.envvars import from_services
>>> web = {"metadata": {"name": "my-web"}, "spec": {"clusterIP": "10.96.0.7", "ports": [{"port": 80}]}}
>>> from_services([web])[:3]
[('MY_WEB_SERVICE_HOST', '10.96.0.7'), ('MY_WEB_SERVICE_PORT', '80'), ('MY_WEB_PORT', 'tcp://10.96.0.7:80')]

Upstream: pkg/kubelet/envvars/envvars.go
"""

from __future__ import annotations

from collections.abc import Iterable

from k8slab.api.objects import Object

__all__ = ["from_services"]


def from_services(services: Iterable[Object]) -> list[tuple[str, str]]:
    """(name, value) for every Service that has an address, in the given order; headless ones are left out."""
    result: list[tuple[str, str]] = []
    for service in services:
        spec = service.get("spec") or {}
        address, ports = spec.get("clusterIP") or "", spec.get("ports") or ()
        if address in ("", "None") or not ports:
            continue
        prefix = _name(service["metadata"]["name"])
        result.append((f"{prefix}_SERVICE_HOST", address))
        result.append((f"{prefix}_SERVICE_PORT", str(ports[0]["port"])))
        result += [(f"{prefix}_SERVICE_PORT_{_name(p['name'])}", str(p["port"])) for p in ports if p.get("name")]
        result += _links(prefix, address, ports)
    return result


def _name(text: str) -> str:
    return text.replace("-", "_").upper()


def _links(prefix: str, address: str, ports: Iterable[Object]) -> Iterable[tuple[str, str]]:
    host = f"[{address}]" if ":" in address else address
    for number, entry in enumerate(ports):
        port, protocol = str(entry["port"]), entry.get("protocol") or "TCP"
        url = f"{protocol.lower()}://{host}:{port}"
        if number == 0:
            yield f"{prefix}_PORT", url
        name = f"{prefix}_PORT_{port}_{protocol.upper()}"
        yield name, url
        yield f"{name}_PROTO", protocol.lower()
        yield f"{name}_PORT", port
        yield f"{name}_ADDR", address
