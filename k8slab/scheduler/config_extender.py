"""The part of a KubeSchedulerConfiguration that speaks of extenders: where they listen, and what they are asked.

>>> from k8slab.scheduler.config_extender import Extender
>>> extender = Extender.from_dict({"urlPrefix": "http://gpu.local/scheduler", "filterVerb": "filter",
...                                "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}]})
>>> extender.filter_verb, extender.http_timeout_ms, extender.managed_resources[0].name
('filter', 5000, 'example.com/gpu')

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types.go (Extender), pkg/scheduler/extender.go (the timeout)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from k8slab.api.go_duration import parse_duration_ns

__all__ = [
    "DEFAULT_EXTENDER_TIMEOUT_MS",
    "Extender",
    "ExtenderManagedResource",
    "ExtenderTLSConfig",
    "resources_ignored_by_scheduler",
]

DEFAULT_EXTENDER_TIMEOUT_MS = 5_000
"""How long a call to an extender may take where `httpTimeout` does not say."""


@dataclass(frozen=True, slots=True)
class ExtenderManagedResource:
    """An extended resource of an extender. `ignored_by_scheduler`: NodeResourcesFit does not look at it."""

    name: str
    ignored_by_scheduler: bool = False


@dataclass(frozen=True, slots=True)
class ExtenderTLSConfig:
    """How to speak TLS with an extender. The `*_data` fields are base64 of PEM and win over the files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


@dataclass(frozen=True, slots=True)
class Extender:
    """One extender. A verb is appended to `url_prefix`; "" means that it is not asked this.

    `weight` multiplies what `prioritize_verb` answers. With `managed_resources` only Pods that request one of them are
    sent. `ignorable`: scheduling goes on without it when it fails. `node_cache_capable`: it is sent names of Nodes, not
    Nodes.
    """

    url_prefix: str
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = False
    tls_config: ExtenderTLSConfig | None = None
    http_timeout_ms: int = DEFAULT_EXTENDER_TIMEOUT_MS
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Extender:
        """From an entry of `extenders`, its types checked already. ValueError for a timeout that is no duration."""
        timeout_ns = parse_duration_ns(raw.get("httpTimeout", "0s"))
        tls = raw.get("tlsConfig")
        return cls(
            url_prefix=raw.get("urlPrefix") or "",
            filter_verb=raw.get("filterVerb") or "",
            preempt_verb=raw.get("preemptVerb") or "",
            prioritize_verb=raw.get("prioritizeVerb") or "",
            weight=raw.get("weight") or 0,
            bind_verb=raw.get("bindVerb") or "",
            enable_https=bool(raw.get("enableHTTPS")),
            tls_config=None if tls is None else _tls_config(tls),
            http_timeout_ms=-(-timeout_ns // 1_000_000) if timeout_ns else DEFAULT_EXTENDER_TIMEOUT_MS,
            node_cache_capable=bool(raw.get("nodeCacheCapable")),
            managed_resources=tuple(
                ExtenderManagedResource(entry.get("name") or "", bool(entry.get("ignoredByScheduler")))
                for entry in raw.get("managedResources") or ()
            ),
            ignorable=bool(raw.get("ignorable")),
        )


def resources_ignored_by_scheduler(extenders: Iterable[Extender]) -> list[str]:
    """Extended resources that NodeResourcesFit leaves to extenders."""
    resources = (resource for extender in extenders for resource in extender.managed_resources)
    return [resource.name for resource in resources if resource.ignored_by_scheduler]


def _tls_config(raw: Mapping[str, Any]) -> ExtenderTLSConfig:
    return ExtenderTLSConfig(
        insecure=bool(raw.get("insecure")),
        server_name=raw.get("serverName") or "",
        cert_file=raw.get("certFile") or "",
        key_file=raw.get("keyFile") or "",
        ca_file=raw.get("caFile") or "",
        cert_data=raw.get("certData") or "",
        key_data=raw.get("keyData") or "",
        ca_data=raw.get("caData") or "",
    )
