"""What plugins read, from a list of objects: the chain alone, without a server and etcd.

Upstream: none; its tests use fake clients and informers for this
Simplified: it knows the objects it was given; what passes the chain is not stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from k8slab.api.errors import ConflictError, NotFoundError
from k8slab.api.features import FeatureGates
from k8slab.api.objects import Frozen, Object, freeze, key_of
from k8slab.api.scheme import SCHEME, gvk_of
from k8slab.apiserver.admission.attributes import Attributes
from k8slab.apiserver.admission.chain import Chain, Stage
from k8slab.apiserver.registry import Context, Environment
from k8slab.apiserver.registry.rest import OPTIMISTIC_LOCK
from k8slab.sim import Loop

__all__ = ["Objects"]

_VERBS = {"CREATE": "create", "UPDATE": "update", "DELETE": "delete"}


class Objects:
    """A `Lister` over `objects`. The namespaces `default` and `kube-system` are there already.

    `cached` and `live` say the same. `release`: whose feature gates hold.
    """

    def __init__(self, objects: Iterable[Object] = (), *, seed: int = 7, release: str = "1.36") -> None:
        self.loop = Loop(seed)
        self.env = Environment(
            clock=self.loop.clock,
            features=FeatureGates(release),
            uids=self.loop.stream("uids"),
            names=self.loop.stream("names"),
            addresses=self.loop.stream("addresses"),
        )
        self._objects: dict[str, dict[str, Frozen]] = {}
        self._revision = 0
        for name in ("default", "kube-system"):
            self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for obj in objects:
            self.put(obj)

    def put(self, obj: Object) -> Frozen:
        """Add or replace an object. ValueError for one without kind or name."""
        resource = SCHEME.resource_of(gvk_of(obj)).gvr.group_resource
        if not (obj.get("metadata") or {}).get("name"):
            raise ValueError(f"metadata.name of a {obj['kind']}: nothing, expected a name")
        self._revision += 1
        stored: Frozen = freeze({**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self._revision)}})
        self._objects.setdefault(resource, {})[key_of(stored)] = stored
        return stored

    def remove(self, group_resource: str, namespace: str, name: str) -> None:
        """Take an object away. KeyError when it is not there."""
        del self._objects[group_resource][f"{namespace}/{name}" if namespace else name]

    # -- Lister ------------------------------------------------------------------------------------

    def cached(self, group_resource: str, namespace: str, name: str) -> Frozen | None:
        return self._objects.get(group_resource, {}).get(f"{namespace}/{name}" if namespace else name)

    def cached_all(self, group_resource: str) -> list[Frozen]:
        """In key order."""
        found = self._objects.get(group_resource, {})
        return [found[key] for key in sorted(found)]

    async def live(self, group_resource: str, namespace: str, name: str) -> Frozen | None:
        return self.cached(group_resource, namespace, name)

    async def replace_status(self, group_resource: str, obj: Object) -> Frozen:
        metadata = obj["metadata"]
        resource, _, group = group_resource.partition(".")
        known = self.cached(group_resource, metadata.get("namespace", ""), metadata["name"])
        if known is None:
            raise NotFoundError.of(resource, metadata["name"], group)
        if known["metadata"]["resourceVersion"] != metadata.get("resourceVersion"):
            raise ConflictError.of(resource, metadata["name"], OPTIMISTIC_LOCK, group)
        return self.put({**known, "status": obj.get("status")})

    # -- the chain ---------------------------------------------------------------------------------

    def attributes(
        self,
        resource: str,
        obj: Object | None,
        *,
        operation: str = "CREATE",
        old: Object | None = None,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        user: str = "",
        dry_run: bool = False,
    ) -> Attributes:
        """A write as plugins are shown it. `resource`: "pods", "deployments.apps"; `operation`: CREATE, UPDATE, DELETE.

        ValueError for others.
        """
        info = SCHEME.find(resource)
        if operation not in _VERBS:
            raise ValueError(f"operation {operation!r}: expected one of {', '.join(_VERBS)}")
        metadata = ((obj if obj is not None else old) or {}).get("metadata") or {}
        context = Context(
            self.env,
            info,
            _VERBS[operation],
            namespace=(namespace or metadata.get("namespace", "")) if info.namespaced else "",
            name=name or metadata.get("name", ""),
            subresource=subresource,
            user=user,
            dry_run=dry_run,
        )
        return Attributes(context, operation, obj, freeze(old) if old is not None else None)

    def passage(self, chain: Chain, resource: str, obj: Object | None, **more: Any) -> Iterator[Stage]:
        """The stages of a write one by one; `more` as for `attributes`. It ends with the first that refuses."""
        yield from self.passage_of(chain, self.attributes(resource, obj, **more))

    def passage_of(self, chain: Chain, attributes: Attributes) -> Iterator[Stage]:
        """The same for attributes that were made before."""
        for again in (False, True):
            if again and not attributes.reinvocation.requested:
                break
            attributes.reinvocation.is_reinvoke = again
            for mutating in chain.mutating:
                yield (stage := self.run(chain.admit_by(mutating, attributes)))
                if stage.error is not None:
                    return
        for validating in chain.validating:
            yield (stage := self.run(chain.validate_by(validating, attributes)))
            if stage.error is not None:
                return

    def run(self, work: Any) -> Any:
        """The result of a coroutine, on this loop. What it raises is raised here."""
        task = self.loop.spawn("apiserver", work)
        self.loop.run(until=lambda: task.done)
        return task.result
