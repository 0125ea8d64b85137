"""Who manages an object: the one ownerReference marked as controller, adopting orphans, releasing strangers.

A controller owns what carries its reference, not what its selector matches. Before it works on its children it
claims: an orphan that matches is adopted, a child that no longer matches is released.

Upstream: pkg/controller/controller_ref_manager.go, apimachinery/pkg/apis/meta/v1/controller_ref.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from k8slab.api.errors import ConflictError, InvalidError, NotFoundError, StatusError
from k8slab.api.objects import Object, key_of
from k8slab.api.scheme import GVK, GVR
from k8slab.client import Client

__all__ = [
    "ORPHANS",
    "Claim",
    "ControllerRefManager",
    "Owner",
    "claim",
    "controller_of",
    "is_controlled_by",
    "new_controller_ref",
    "orphan_index",
]

ORPHANS = "orphans"
"""The index that files objects without a controller under their namespace."""


def controller_of(obj: Object) -> Object | None:
    """The owner reference marked `controller: true`, if there is one."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return reference  # type: ignore[no-any-return]
    return None


def is_controlled_by(obj: Object, owner: Object) -> bool:
    reference = controller_of(obj)
    return reference is not None and reference["uid"] == owner["metadata"]["uid"]


def new_controller_ref(owner: Object, gvk: GVK) -> dict[str, Any]:
    metadata = owner["metadata"]
    return {
        "apiVersion": gvk.api_version,
        "kind": gvk.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def orphan_index(obj: Object) -> Sequence[str]:
    """For `Indexer.add_index(ORPHANS, orphan_index)`."""
    return () if controller_of(obj) is not None else (obj["metadata"].get("namespace") or "",)


class Claim(StrEnum):
    """What to do with an object that might be ours."""

    KEEP = "keep"
    ADOPT = "adopt"
    RELEASE = "release"
    IGNORE = "ignore"


def claim(owner: Object, obj: Object, matches: Callable[[Object], bool]) -> Claim:
    """The verdict on one object. An owner that is being deleted adopts and releases nothing; an object that is
    being deleted is not adopted."""
    reference = controller_of(obj)
    owner_is_deleted = owner["metadata"].get("deletionTimestamp") is not None
    if reference is not None:
        if reference["uid"] != owner["metadata"]["uid"]:
            return Claim.IGNORE
        if matches(obj):
            return Claim.KEEP
        return Claim.IGNORE if owner_is_deleted else Claim.RELEASE
    if owner_is_deleted or obj["metadata"].get("deletionTimestamp") is not None or not matches(obj):
        return Claim.IGNORE
    same_namespace = owner["metadata"].get("namespace") == obj["metadata"].get("namespace")
    return Claim.ADOPT if same_namespace else Claim.IGNORE


class Owner(NamedTuple):
    """A controlling object with its kind and where it is served."""

    obj: Object
    gvk: GVK
    gvr: GVR


class ControllerRefManager:
    """Claims children (of resource `children`) for one owner during one sync.

    `on_write(obj)` is called with every child that a patch returned. Before the first adoption the owner is read
    from the server: a cached owner may be gone or about to go, and would adopt what the garbage collector just
    orphaned.
    """

    def __init__(
        self,
        client: Client,
        owner: Owner,
        children: GVR,
        child_kind: str,
        on_write: Callable[[Object], None] = lambda obj: None,
    ) -> None:
        self.client = client
        self.owner = owner
        self.children = children
        self.child_kind = child_kind
        self.on_write = on_write
        self._may_adopt = False

    async def claim(self, objects: Iterable[Object], matches: Callable[[Object], bool]) -> list[Object]:
        """Those of `objects` that belong to the owner, after adopting and releasing. The first error is raised
        when all objects were tried."""
        claimed: list[Object] = []
        errors: list[StatusError] = []
        for obj in objects:
            verdict = claim(self.owner.obj, obj, matches)
            if verdict is Claim.KEEP:
                claimed.append(obj)
            elif verdict is not Claim.IGNORE:
                try:
                    if verdict is Claim.ADOPT:
                        if await self._adopt(obj):
                            claimed.append(obj)
                    else:
                        await self._release(obj)
                except StatusError as error:
                    errors.append(error)
        if errors:
            raise errors[0]
        return claimed

    async def _adopt(self, obj: Object) -> bool:
        """False: the object is gone."""
        await self._recheck(obj)
        reference = new_controller_ref(self.owner.obj, self.owner.gvk)
        try:
            await self._patch(obj, [reference])
        except NotFoundError:
            return False
        return True

    async def _release(self, obj: Object) -> None:
        try:
            await self._patch(obj, [{"$patch": "delete", "uid": self.owner.obj["metadata"]["uid"]}])
        except (NotFoundError, InvalidError):
            return  # it is gone; or it has no such reference, or another uid, by now

    async def _patch(self, obj: Object, references: list[dict[str, Any]]) -> None:
        metadata = obj["metadata"]
        patch = {"metadata": {"uid": metadata["uid"], "ownerReferences": references}}
        self.on_write(await self.client.patch(self.children, metadata["name"], patch, metadata.get("namespace") or ""))

    async def _recheck(self, obj: Object) -> None:
        """ConflictError when the owner was replaced or is being deleted."""
        if self._may_adopt:
            return
        metadata = self.owner.obj["metadata"]
        prefix = f"can't adopt {self.child_kind} {key_of(obj)} ({obj['metadata']['uid']}): "
        fresh = (await self.client.get(self.owner.gvr, metadata["name"], metadata.get("namespace") or ""))["metadata"]
        if fresh["uid"] != metadata["uid"]:
            gone = f"original {self.owner.gvk.kind} {key_of(self.owner.obj)} is gone"
            raise ConflictError(f"{prefix}{gone}: got uid {fresh['uid']}, wanted {metadata['uid']}")
        if fresh.get("deletionTimestamp") is not None:
            raise ConflictError(
                f"{prefix}{key_of(self.owner.obj)} has just been deleted at {fresh['deletionTimestamp']}"
            )
        self._may_adopt = True
