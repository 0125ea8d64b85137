"""CustomResourceDefinitions: which kind they define, and how it is served.

Upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go
Simplified: one version of a kind is served, the one that is stored; schemas, conversion, printer columns, defaults and
short names are not read; a definition's own status says nothing of names or establishment; deleting a definition
leaves its kind served.
"""

from __future__ import annotations

from typing import Any

from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, gvk_of

__all__ = ["defined_kind"]


def defined_kind(definition: Object) -> tuple[GVK, str, bool, bool]:
    """(kind, plural, is it in namespaces, has it a status subresource). ValueError names what is missing.

    >>> spec = {"group": "example.com", "scope": "Cluster", "names": {"kind": "Lamp", "plural": "lamps"},
    ...         "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}]}
    >>> defined_kind({"kind": "CustomResourceDefinition", "metadata": {"name": "lamps.example.com"}, "spec": spec})
    (GVK(group='example.com', version='v1', kind='Lamp'), 'lamps', False, True)
    """
    assert gvk_of(definition).kind == "CustomResourceDefinition"
    spec: dict[str, Any] = definition.get("spec") or {}
    names = spec.get("names") or {}
    given = {
        "spec.group": spec.get("group"),
        "spec.names.kind": names.get("kind"),
        "spec.names.plural": names.get("plural"),
    }
    for field, value in given.items():
        if not isinstance(value, str) or not value:
            raise ValueError(f"{field}: {value!r}: expected a text")
    if spec.get("scope") not in ("Namespaced", "Cluster"):
        raise ValueError(f"spec.scope: {spec.get('scope')!r}: expected Namespaced or Cluster")
    stored = [version for version in spec.get("versions") or () if version.get("storage")]
    if len(stored) != 1:
        raise ValueError(
            f"spec.versions: {len(stored)} with storage: true: must have exactly one version marked as storage version"
        )
    wanted = f"{names['plural']}.{spec['group']}"
    if definition["metadata"].get("name") != wanted:
        raise ValueError(
            f'metadata.name: {definition["metadata"].get("name")!r}: must be spec.names.plural+"."+spec.group'
        )
    has_status = "status" in (stored[0].get("subresources") or {})
    return (
        GVK(spec["group"], stored[0]["name"], names["kind"]),
        names["plural"],
        spec["scope"] == "Namespaced",
        has_status,
    )
