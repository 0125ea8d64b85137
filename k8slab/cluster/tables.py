"""Tables of objects, as kubectl prints them.

Upstream: staging/src/k8s.io/cli-runtime/pkg/printers/tableprinter.go, kubectl events
Simplified: no --sort-by, no custom columns; labels are not shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.api.objects import Object
from k8slab.api.scheme import ResourceInfo, Scheme
from k8slab.api.tables import table as server_table
from k8slab.cluster.mirror import Mirror
from k8slab.table import Table

__all__ = ["events_table", "kubectl_table", "table_of"]


def table_of(scheme: Scheme, mirror: Mirror, resource: str, now_ms: int, *, namespace: str, wide: bool) -> Table:
    """What `kubectl get RESOURCE` prints (`pods`, `pod/web-0`); of all namespaces when `namespace` is "".

    KeyError for an object that does not exist, TypeError for what is no text.
    """
    if not isinstance(resource, str):
        raise TypeError(f"resource: {resource!r}: expected a text such as pods or pod/web-0")
    if not isinstance(namespace, str):
        raise TypeError(f"namespace: {namespace!r}: expected a text")
    kind, _, name = resource.partition("/")
    info = scheme.find(kind)
    home = namespace if info.namespaced else ""
    objects: list[Object] = list(mirror.list(info.gvr.group_resource, home))
    if name:
        objects = [o for o in objects if o["metadata"]["name"] == name]
        if not objects:
            raise KeyError(f"{info.gvr.group_resource} {name!r} does not exist in namespace {home!r}")
    return kubectl_table(info, objects, now_ms, wide=wide, with_namespace=info.namespaced and not home)


def kubectl_table(
    info: ResourceInfo, objects: Sequence[Object], now_ms: int, *, wide: bool, with_namespace: bool
) -> Table:
    """Objects of one resource. `wide` shows the columns of lower priority too."""
    wire = server_table(info.gvk, objects, now_ms)
    columns = [(i, c) for i, c in enumerate(wire["columnDefinitions"]) if wide or not c.get("priority")]
    heads = [c["name"].upper() for _, c in columns]
    rows = []
    for row in wire["rows"]:
        cells = [row["cells"][i] for i, _ in columns]
        if with_namespace:
            cells.insert(0, row["object"]["metadata"].get("namespace", ""))
        rows.append(tuple(cells))
    return Table(rows, tuple(["NAMESPACE", *heads] if with_namespace else heads))


def events_table(events: Sequence[Object]) -> Table:
    """Events in the order they were last written."""
    rows = []
    for event in sorted(events, key=lambda e: int(e["metadata"]["resourceVersion"])):
        about = event.get("involvedObject") or event.get("regarding") or {}
        what = f"{about.get('kind', '').lower()}/{about.get('name', '')}"
        text = event.get("message") or event.get("note") or ""
        rows.append((event.get("type", ""), event.get("reason", ""), what, text))
    return Table(rows, ("TYPE", "REASON", "OBJECT", "MESSAGE"))
