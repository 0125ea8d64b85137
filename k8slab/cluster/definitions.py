"""CustomResourceDefinitions: which kind they define, and how it is served.

Upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go
Simplified: one version of a kind is served, the one that is stored; schemas, conversion, printer columns, defaults and
short names are not read; a definition's own status says nothing of names or establishment; deleting a definition
leaves its kind served.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, foreign_kind_problem, gvk_of

__all__ = ["defined_kind"]


def defined_kind(definition: Object) -> tuple[GVK, str, bool, bool]:
    """(kind, plural, is it in namespaces, has it a status subresource). ValueError names what is missing.

    >>> spec = {"group": "example.com", "scope": "Cluster", "names": {"kind": "Lamp", "plural": "lamps"},
    ...         "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}]}
    >>> defined_kind({"kind": "CustomResourceDefinition", "metadata": {"name": "lamps.example.com"}, "spec": spec})
    (GVK(group='example.com', version='v1', kind='Lamp'), 'lamps', False, True)
    """
    assert gvk_of(definition).kind == "CustomResourceDefinition"
    spec = _mapping(definition, "spec", "spec")
    names = _mapping(spec, "names", "spec.names")
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
    versions = spec.get("versions") or []
    if not isinstance(versions, Sequence) or not all(isinstance(version, Mapping) for version in versions):
        raise ValueError(f"spec.versions: {versions!r}: expected a list of versions")
    stored = [version for version in versions if version.get("storage")]
    if len(stored) != 1:
        raise ValueError(
            f"spec.versions: {len(stored)} with storage: true: must have exactly one version marked as storage version"
        )
    name = stored[0].get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"spec.versions[].name: {name!r}: expected a text")
    gvk = GVK(spec["group"], name, names["kind"])
    if problem := foreign_kind_problem(gvk):
        raise ValueError(f"spec: {problem[1]}")
    own_name = _mapping(definition, "metadata", "metadata").get("name")
    if own_name != f"{names['plural']}.{gvk.group}":
        raise ValueError(f'metadata.name: {own_name!r}: must be spec.names.plural+"."+spec.group')
    has_status = "status" in _mapping(stored[0], "subresources", "spec.versions[].subresources")
    return gvk, names["plural"], spec["scope"] == "Namespaced", has_status


def _mapping(part: Mapping[str, Any], field: str, path: str) -> Mapping[str, Any]:
    found = part.get(field) or {}
    if not isinstance(found, Mapping):
        raise ValueError(f"{path}: {found!r}: expected an object")
    return found
