"""What the store holds now: every object, kept up to date by a watch on etcd itself.

Conditions (`run(until=...)`), tables and pictures read this, never the caches of simulated components: those may be
stale, and being stale is a thing to look at.

Upstream: none (etcdctl get --prefix /registry)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from k8slab.api.objects import Frozen
from k8slab.apiserver.storage import KeyLayout
from k8slab.etcd import EventType, KeyValue, Store

__all__ = ["Mirror"]


class Mirror:
    """All objects by resource (`pods`, `deployments.apps`) and key (`namespace/name`)."""

    def __init__(self, store: Store, layout: KeyLayout, decode: Callable[[KeyValue], Frozen]) -> None:
        self._layout = layout
        self._decode = decode
        self._objects: dict[str, dict[str, Frozen]] = {}
        self._watcher = store.watch(b"/registry/", b"/registry0", start_revision=1)
        self.revision = 0

    def refresh(self) -> Mirror:
        """Take in what was committed since the last time."""
        pending = self._watcher.pending
        newest: dict[tuple[str, str], KeyValue] = {}
        while pending:
            response = pending.popleft()
            for event in response.events:
                place = self._layout.parse(event.kv.key.decode())
                if event.type is EventType.DELETE:
                    newest.pop(place, None)
                    self._objects.setdefault(place[0], {}).pop(place[1], None)
                else:
                    newest[place] = event.kv
                self.revision = event.kv.mod_revision
        for (resource, key), kv in newest.items():  # states in between need not be decoded
            self._objects.setdefault(resource, {})[key] = self._decode(kv)
        return self

    def get(self, resource: str, key: str) -> Frozen | None:
        """One object as it is now; None when there is none."""
        return self.refresh()._objects.get(resource, {}).get(key)

    def list(self, resource: str, namespace: str = "") -> Sequence[Frozen]:
        """All objects of a resource (of one namespace), by key."""
        objects = self.refresh()._objects.get(resource, {})
        prefix = f"{namespace}/" if namespace else ""
        return [objects[key] for key in sorted(objects) if key.startswith(prefix)]

    def resources(self) -> Sequence[str]:
        """The resources that have objects."""
        return [resource for resource, objects in self.refresh()._objects.items() if objects]

    def items(self, resource: str) -> Iterator[tuple[str, Frozen]]:
        """(key, object) of one resource, in order of creation."""
        return iter(self.refresh()._objects.get(resource, {}).items())
