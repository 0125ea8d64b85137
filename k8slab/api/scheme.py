"""Kinds, resources and versions: which resource serves which kind.

>>> SCHEME.resource_of(GVK("apps", "v1", "Deployment")).gvr.group_resource
'deployments.apps'
>>> [info.gvk.kind for info in map(SCHEME.find, ("po", "deploy", "pdb"))]
['Pod', 'Deployment', 'PodDisruptionBudget']
>>> SCHEME.kind_of(NODES).api_version
'v1'

Upstream: apimachinery/pkg/runtime/scheme.go, apimachinery/pkg/api/meta/restmapper.go
Simplified: one table for what upstream keeps in Scheme (kinds), RESTMapper (resources) and discovery (short names).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from k8slab.api.builtin_resources import GATED_RESOURCES, RESOURCES, STORED_ELSEWHERE, UNSERVED_GROUPS, VERBS
from k8slab.api.names import is_dns1035_label, is_dns1123_subdomain

__all__ = [
    "CONFIGMAPS",
    "CONTROLLERREVISIONS",
    "CRONJOBS",
    "CSIDRIVERS",
    "CSINODES",
    "CSISTORAGECAPACITIES",
    "CUSTOMRESOURCEDEFINITIONS",
    "DAEMONSETS",
    "DEPLOYMENTS",
    "ENDPOINTS",
    "ENDPOINTSLICES",
    "EVENTS",
    "GVK",
    "GVR",
    "HORIZONTALPODAUTOSCALERS",
    "INGRESSES",
    "JOBS",
    "LEASES",
    "LIMITRANGES",
    "NAMESPACES",
    "NETWORKPOLICIES",
    "NODES",
    "PERSISTENTVOLUMECLAIMS",
    "PERSISTENTVOLUMES",
    "PODDISRUPTIONBUDGETS",
    "PODGROUPS",
    "PODS",
    "PRIORITYCLASSES",
    "REPLICASETS",
    "REPLICATIONCONTROLLERS",
    "RESOURCEQUOTAS",
    "RUNTIMECLASSES",
    "SCHEME",
    "SECRETS",
    "SERVICEACCOUNTS",
    "SERVICES",
    "STATEFULSETS",
    "STORAGECLASSES",
    "VOLUMEATTACHMENTS",
    "WORKLOADS",
    "ResourceInfo",
    "Scheme",
    "Subresource",
    "UnknownKindError",
    "UnknownResourceError",
    "definition_of",
    "foreign_kind_problem",
    "gated_resources",
    "guess_resource",
    "gvk_of",
    "parse_group_version",
]


class GVK(NamedTuple):
    """Group, version, kind: what an object is."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GVR(NamedTuple):
    """Group, version, resource: where an object is served."""

    group: str
    version: str
    resource: str

    @property
    def group_resource(self) -> str:
        """`deployments.apps`, or `pods` in the core group: how traces, storage and error texts name a resource."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class UnknownKindError(ValueError):
    """The kind or its version is not served; the text names what is."""


class UnknownResourceError(ValueError):
    """No resource has this name."""


class Subresource(NamedTuple):
    """`gvk`: what the subresource takes and returns (`Scale` for `deployments/scale`)."""

    gvk: GVK
    verbs: tuple[str, ...]


class ResourceInfo(NamedTuple):
    """One served resource. `verbs` in discovery order; `subresources` by name (`status`, `scale`, `binding`, ...)."""

    gvr: GVR
    gvk: GVK
    namespaced: bool
    singular: str
    short_names: tuple[str, ...]
    subresources: Mapping[str, Subresource]
    verbs: tuple[str, ...]
    categories: tuple[str, ...]


def parse_group_version(api_version: str) -> tuple[str, str]:
    """`apps/v1` -> ("apps", "v1"); `v1` -> ("", "v1"). More than one slash is a ValueError."""
    if api_version.count("/") > 1:
        raise ValueError(f"unexpected GroupVersion string: {api_version}")
    group, _, version = api_version.rpartition("/")
    return group, version


def gvk_of(obj: Mapping[str, Any]) -> GVK:
    """The GVK an object says it is (`apiVersion`, `kind`; absent ones are empty)."""
    return _gvk(obj.get("apiVersion") or "", obj.get("kind") or "")


@lru_cache(maxsize=1024)
def _gvk(api_version: str, kind: str) -> GVK:
    return GVK(*parse_group_version(api_version), kind)


def guess_resource(kind: str) -> str:
    """The plural upstream's UnsafeGuessKindToResource gives a kind, oddities included.

    >>> guess_resource("Ingress"), guess_resource("NetworkPolicy"), guess_resource("Gateway")
    ('ingresses', 'networkpolicies', 'gatewaies')
    """
    singular = kind.lower()
    if not singular or singular.endswith("endpoints"):
        return singular
    if singular.endswith("s"):
        return singular + "es"
    return singular[:-1] + "ies" if singular.endswith("y") else singular + "s"


class Scheme:
    """A table of resources. `SCHEME` has the built-in ones; take a `copy()` to `register` custom ones."""

    def __init__(self) -> None:
        self._by_gvr: dict[GVR, ResourceInfo] = {}
        self._by_gvk: dict[GVK, ResourceInfo] = {}
        self._by_name: dict[str, ResourceInfo] = {}
        self._builtin_groups: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[ResourceInfo]:
        """Every resource, in discovery order."""
        return iter(self._by_gvr.values())

    def __contains__(self, what: GVK | GVR) -> bool:
        return what in self._by_gvk or what in self._by_gvr

    def copy(self) -> Scheme:
        other = Scheme()
        other._by_gvr, other._by_gvk, other._by_name = dict(self._by_gvr), dict(self._by_gvk), dict(self._by_name)
        other._builtin_groups = self._builtin_groups
        return other

    def register(self, info: ResourceInfo) -> None:
        """Serve one more resource. Names that are taken keep their first meaning, as in kubectl's mapper."""
        self._by_gvr[info.gvr] = info
        self._by_gvk.setdefault(info.gvk, info)
        for name in (info.gvr.resource, info.singular, info.gvk.kind.lower(), *info.short_names):
            for key in (name, f"{name}.{info.gvr.group}", f"{name}.{info.gvr.version}.{info.gvr.group}"):
                self._by_name.setdefault(key, info)

    def resource_of(self, gvk: GVK) -> ResourceInfo:
        """The resource that serves a kind; UnknownKindError names what is served instead."""
        info = self._by_gvk.get(gvk)
        if info is None:
            raise UnknownKindError(self._unknown_kind(gvk))
        return info

    def info(self, gvr: GVR) -> ResourceInfo:
        """What is known of a resource; UnknownResourceError when it is not served."""
        info = self._by_gvr.get(gvr)
        if info is None:
            raise UnknownResourceError(f"resource {gvr.group_resource!r} in {gvr.api_version}: not served")
        return info

    def kind_of(self, gvr: GVR) -> GVK:
        """The kind a resource holds; UnknownResourceError when it is not served."""
        return self.info(gvr).gvk

    def find(self, text: str) -> ResourceInfo:
        """A resource as kubectl's user names it: `po`, `pod`, `Pods`, `deployments.apps`, `deployments.v1.apps`."""
        info = self._by_name.get(text.lower())
        if info is None:
            raise UnknownResourceError(f'the server doesn\'t have a resource type "{text}"')
        return info

    def is_builtin_group(self, group: str) -> bool:
        """Whether Kubernetes itself owns the API group: an unknown kind in it is a mistake, not an extension."""
        return group in self._builtin_groups

    def versions(self, group: str) -> tuple[str, ...]:
        """Served versions of a group, preferred one first."""
        return tuple(dict.fromkeys(gvr.version for gvr in self._by_gvr if gvr.group == group))

    def preferred(self, group: str, kind: str) -> GVK | None:
        """The preferred version of a kind of a group, None when it is not served."""
        return next((gvk for gvk in self._by_gvk if gvk.group == group and gvk.kind == kind), None)

    def storage_gvk(self, gvk: GVK) -> GVK:
        """The version a kind is stored in (HorizontalPodAutoscalers: autoscaling/v2, whatever was sent)."""
        stored = STORED_ELSEWHERE.get(f"{gvk.api_version} {gvk.kind}")
        return GVK(*parse_group_version(stored), gvk.kind) if stored else gvk

    def unstructured(self, gvk: GVK, *, namespaced: bool = True, resource: str = "") -> ResourceInfo:
        """A description for a kind of a foreign group that is stored but not known; the plural is guessed.

        ValueError names the part of the kind that no CustomResourceDefinition could have.
        """
        problem = foreign_kind_problem(gvk)
        if problem:
            raise ValueError(": ".join(problem))
        plural = resource or guess_resource(gvk.kind)
        gvr = GVR(gvk.group, gvk.version, plural)
        return ResourceInfo(gvr, gvk, namespaced, gvk.kind.lower(), (), {}, tuple(VERBS.values()), ())

    def _unknown_kind(self, gvk: GVK) -> str:
        same_kind = [k.api_version for k in self._by_gvk if k.kind == gvk.kind]
        text = f'no matches for kind "{gvk.kind}" in version "{gvk.api_version}"'
        if same_kind:
            return f"{text}; this kind is served in {', '.join(same_kind)}"
        served = self.versions(gvk.group)
        if gvk.version in served:
            kinds = sorted(k.kind for k in self._by_gvk if (k.group, k.version) == (gvk.group, gvk.version))
            return f"{text}; kinds served there: {', '.join(kinds)}"
        if served:
            return f"{text}; versions of the group: {', '.join(f'{gvk.group}/{v}'.lstrip('/') for v in served)}"
        return text


def definition_of(gvk: GVK, gvr: GVR, scope: str) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind with a status and without a schema. `scope`: Namespaced or Cluster."""
    version = {"name": gvk.version, "served": True, "storage": True, "subresources": {"status": {}}}
    names = {"kind": gvk.kind, "plural": gvr.resource, "singular": gvk.kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{gvr.resource}.{gvr.group}"},
        "spec": {"group": gvk.group, "scope": scope, "names": names, "versions": [version]},
    }


def foreign_kind_problem(gvk: GVK) -> tuple[str, str] | None:
    """(field of the object, why) when no CustomResourceDefinition can bring this kind."""
    if problems := is_dns1123_subdomain(gvk.group):
        return "apiVersion", f'group "{gvk.group}": {problems[0]}'
    if problems := is_dns1035_label(gvk.version):
        return "apiVersion", f'version "{gvk.version}": {problems[0]}'
    if problems := is_dns1035_label(gvk.kind.lower()):
        return "kind", f'"{gvk.kind}": may have mixed case, but should otherwise match: {problems[0]}'
    return None


def _parse_kind(text: str, own: GVK) -> GVK:
    if not text:
        return own
    group, _, rest = text.rpartition("/")
    return GVK(*parse_group_version(group), rest) if group else GVK(own.group, own.version, rest)


def _parse_verbs(letters: str) -> tuple[str, ...]:
    return tuple(VERBS.values()) if letters == "*" else tuple(VERBS[x] for x in letters)


def _parse_row(row: str, group: str, version: str) -> ResourceInfo:
    resource, kind, scope, verbs, *options = row.split()
    gvk = GVK(group, version, kind)
    named: dict[str, str] = {}
    subresources: dict[str, Subresource] = {}
    for option in options:
        if "=" in option:
            key, _, value = option.partition("=")
            named[key] = value
        else:
            name, sub_kind, letters = option.split(":")
            subresources[name] = Subresource(_parse_kind(sub_kind, gvk), _parse_verbs(letters))
    return ResourceInfo(
        gvr=GVR(group, version, resource),
        gvk=gvk,
        namespaced=scope == "N",
        singular=named.get("singular", kind.lower()),
        short_names=tuple(filter(None, named.get("short", "").split(","))),
        subresources=subresources,
        verbs=_parse_verbs(verbs),
        categories=tuple(filter(None, named.get("in", "").split(","))),
    )


def _parse_table(text: str) -> Iterator[ResourceInfo]:
    group = version = ""
    for row in text.replace("\n  ", " ").strip().splitlines():
        if row.startswith("["):
            group, version = parse_group_version(row[1:-1])
        else:
            yield _parse_row(row, group, version)


def _builtins() -> Scheme:
    scheme = Scheme()
    for info in _parse_table(RESOURCES):
        scheme.register(info)
    groups = dict.fromkeys(info.gvr.group for info in scheme)
    scheme._builtin_groups = (*groups, *UNSERVED_GROUPS)
    return scheme


def gated_resources(is_enabled: Callable[[str], bool]) -> list[ResourceInfo]:
    """What is served besides when these feature gates are on."""
    return [info for gate, text in GATED_RESOURCES.items() if is_enabled(gate) for info in _parse_table(text)]


SCHEME = _builtins()
"""The resources of Kubernetes 1.36. Treat as read-only: it is shared by everybody in the process."""

PODS = GVR("", "v1", "pods")
NODES = GVR("", "v1", "nodes")
NAMESPACES = GVR("", "v1", "namespaces")
SERVICES = GVR("", "v1", "services")
ENDPOINTS = GVR("", "v1", "endpoints")
CONFIGMAPS = GVR("", "v1", "configmaps")
SECRETS = GVR("", "v1", "secrets")
SERVICEACCOUNTS = GVR("", "v1", "serviceaccounts")
EVENTS = GVR("", "v1", "events")
LIMITRANGES = GVR("", "v1", "limitranges")
RESOURCEQUOTAS = GVR("", "v1", "resourcequotas")
REPLICATIONCONTROLLERS = GVR("", "v1", "replicationcontrollers")
PERSISTENTVOLUMES = GVR("", "v1", "persistentvolumes")
PERSISTENTVOLUMECLAIMS = GVR("", "v1", "persistentvolumeclaims")
DEPLOYMENTS = GVR("apps", "v1", "deployments")
REPLICASETS = GVR("apps", "v1", "replicasets")
STATEFULSETS = GVR("apps", "v1", "statefulsets")
DAEMONSETS = GVR("apps", "v1", "daemonsets")
CONTROLLERREVISIONS = GVR("apps", "v1", "controllerrevisions")
JOBS = GVR("batch", "v1", "jobs")
CRONJOBS = GVR("batch", "v1", "cronjobs")
ENDPOINTSLICES = GVR("discovery.k8s.io", "v1", "endpointslices")
LEASES = GVR("coordination.k8s.io", "v1", "leases")
PRIORITYCLASSES = GVR("scheduling.k8s.io", "v1", "priorityclasses")
PODGROUPS = GVR("scheduling.k8s.io", "v1alpha2", "podgroups")
WORKLOADS = GVR("scheduling.k8s.io", "v1alpha2", "workloads")
HORIZONTALPODAUTOSCALERS = GVR("autoscaling", "v2", "horizontalpodautoscalers")
PODDISRUPTIONBUDGETS = GVR("policy", "v1", "poddisruptionbudgets")
INGRESSES = GVR("networking.k8s.io", "v1", "ingresses")
NETWORKPOLICIES = GVR("networking.k8s.io", "v1", "networkpolicies")
STORAGECLASSES = GVR("storage.k8s.io", "v1", "storageclasses")
CSIDRIVERS = GVR("storage.k8s.io", "v1", "csidrivers")
CSINODES = GVR("storage.k8s.io", "v1", "csinodes")
CSISTORAGECAPACITIES = GVR("storage.k8s.io", "v1", "csistoragecapacities")
VOLUMEATTACHMENTS = GVR("storage.k8s.io", "v1", "volumeattachments")
RUNTIMECLASSES = GVR("node.k8s.io", "v1", "runtimeclasses")
CUSTOMRESOURCEDEFINITIONS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
