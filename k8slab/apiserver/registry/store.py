"""The generic registry store: create, update and delete one kind of object by its strategy.

Upstream: apiserver/pkg/registry/generic/registry/store.go
Simplified: no TTLs of Events; deletecollection works through one list, not pages; a create is validated by admission
    after it got its name, mutating admission runs before that, as upstream does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from k8slab.api.decoding import decode
from k8slab.api.errors import AlreadyExistsError, Cause, ConflictError, InvalidError, NotFoundError, StatusError
from k8slab.api.labels import parse_uint64
from k8slab.api.names import generate_name
from k8slab.api.objects import Frozen, Object, freeze
from k8slab.api.scheme import GVK, ResourceInfo
from k8slab.apiserver.registry.context import Context, Draft, draft_of
from k8slab.apiserver.registry.delete_options import DeleteOptions
from k8slab.apiserver.registry.rest import (
    OPTIMISTIC_LOCK,
    before_create,
    before_delete,
    before_update,
    deletion_finalizers,
    mark_as_deleting,
    should_delete_during_update,
    wipe_system_fields,
)
from k8slab.apiserver.registry.strategy import Strategy
from k8slab.apiserver.storage import GuardError, KeyNotFoundError, Preconditions, Storage, StorageError, interpret

__all__ = ["Store", "UpdatedObject", "Validate"]

UpdatedObject = Callable[[Frozen | None], Awaitable[Object]]
"""Given the existing object, the object that should be: a PUT's body, or a patch applied. Runs again on conflicts."""
Validate = Callable[[Object | None, Frozen | None], Awaitable[None]]
"""Validating admission: (new, old). Raises StatusErrors."""

NAME_ATTEMPTS = 8


class _EmptiedFinalizersError(Exception):
    """An update took the last finalizer of an object that waits for its deletion."""

    def __init__(self, obj: Draft) -> None:
        super().__init__("emptied finalizers")
        self.obj = obj


class _DeleteNowError(Exception):
    """Nothing is left to write before the deletion."""


class _AlreadyDeletingError(Exception):
    """A graceful deletion is under way, and this request changes nothing about it."""


class Store:
    """One resource in one version, over `storage`. `storage_gvk` is the version etcd holds."""

    def __init__(self, info: ResourceInfo, strategy: Strategy, storage: Storage, storage_gvk: GVK) -> None:
        self.info = info
        self.strategy = strategy
        self.storage = storage
        self.storage_gvk = storage_gvk
        self.resource = info.gvr.group_resource
        self.stored_as = storage.layout.stored_as(self.resource)

    def key(self, namespace: str, name: str) -> str:
        return self.storage.layout.key(self.resource, namespace if self.info.namespaced else "", name)

    # -- versions ----------------------------------------------------------------------------------

    def to_storage(self, obj: Object) -> Object:
        if self.storage_gvk == self.info.gvk:
            return obj
        from k8slab.api.conversion import convert

        return convert(obj, self.storage_gvk)

    def from_storage(self, obj: Frozen) -> Frozen:
        """The object in this store's version."""
        if self.storage_gvk == self.info.gvk:
            return obj
        from k8slab.api.conversion import convert

        converted = decode(convert(obj, self.info.gvk), self.info.gvk).object
        return freeze(converted)  # type: ignore[no-any-return]

    # -- verbs -------------------------------------------------------------------------------------

    async def get(self, ctx: Context) -> Frozen:
        """The object as etcd has it now. Raises NotFoundError."""
        obj = await self.storage.get(self.key(ctx.namespace, ctx.name))
        if obj is None:
            raise self._not_found(ctx.name)
        return self.from_storage(obj)

    async def create(self, ctx: Context, obj: Draft, validate: Validate) -> Frozen:
        """Store a new object. With `generateName`, up to eight names are tried."""
        prefix = "" if obj["metadata"].get("name") else obj["metadata"].get("generateName") or ""
        attempts = NAME_ATTEMPTS if prefix else 1
        while True:
            draft = draft_of(obj)
            if prefix:
                draft["metadata"]["name"] = generate_name(prefix, ctx.env.names)
            try:
                return await self._create_once(ctx, draft, validate)
            except GuardError:
                continue  # what was allocated is somebody else's by now
            except AlreadyExistsError:
                attempts -= 1
                if not attempts:
                    raise

    async def begin_create(self, ctx: Context, obj: Draft) -> None:
        """Before validation: set what must be looked up. Fills `ctx.guards`."""

    async def begin_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        """The same before an update; not for subresources."""

    async def _create_once(self, ctx: Context, obj: Draft, validate: Validate) -> Frozen:
        ctx.guards.clear()
        await self.begin_create(ctx, obj)
        before_create(ctx, self.strategy, obj)
        await validate(obj, None)
        name = obj["metadata"]["name"]
        key = self.key(ctx.namespace, name)
        if not ctx.dry_run and _has_revision(obj):
            raise StatusError("resourceVersion should not be set on objects to be created")
        try:
            stored = self.to_storage(obj)
            return self.from_storage(await self.storage.create(key, stored, guards=ctx.guards, dry_run=ctx.dry_run))
        except StorageError as error:
            failure = self._interpret(error, name)
        if isinstance(failure, AlreadyExistsError):
            if obj["metadata"].get("generateName"):
                failure.message += ", the server was not able to generate a unique name for the object"
                failure.details = {**(failure.details or {}), "retryAfterSeconds": 1}
            await self._explain_exists(failure, key)
        raise failure

    async def _explain_exists(self, failure: StatusError, key: str) -> None:
        existing = await self.storage.get(key)
        if existing is not None and "deletionTimestamp" in existing["metadata"]:
            failure.message = f"object is being deleted: {failure.message}"

    async def update(
        self,
        ctx: Context,
        updated: UpdatedObject,
        validate: Validate,
        *,
        strategy: Strategy | None = None,
        uid: str | None = None,
    ) -> tuple[Frozen, bool]:
        """Change an object; (object, was it created). `strategy` is the subresource's, `uid` a precondition."""
        rules = strategy or self.strategy
        created = False

        async def attempt(stored: Frozen | None) -> Object:
            nonlocal created
            existing = None if stored is None else self.from_storage(stored)
            if existing is None and not rules.allow_create_on_update:
                raise self._not_found(ctx.name)
            obj = draft_of(await updated(existing))
            created = existing is None
            ctx.guards.clear()
            if existing is None:
                wipe_system_fields(obj)
                await self.begin_create(ctx, obj)
                before_create(ctx, rules, obj)
                await validate(obj, None)
                return self.to_storage(obj)
            self._check_revision(ctx, rules, obj, existing)
            if strategy is None:
                await self.begin_update(ctx, obj, existing)
            before_update(ctx, rules, obj, existing)
            await validate(obj, existing)
            if should_delete_during_update(obj, existing) and rules.should_delete_during_update(obj, existing):
                raise _EmptiedFinalizersError(obj)
            return self.to_storage(obj)

        key = self.key(ctx.namespace, ctx.name)
        try:
            stored = await self.storage.guaranteed_update(
                key,
                attempt,
                preconditions=Preconditions(uid=uid),
                guards=ctx.guards,
                may_create=rules.allow_create_on_update,
                dry_run=ctx.dry_run,
            )
        except _EmptiedFinalizersError as emptied:
            return await self._delete_without_finalizers(ctx, key, emptied.obj), False
        except StorageError as error:
            raise self._interpret(error, ctx.name) from None
        return self.from_storage(stored), created

    def _check_revision(self, ctx: Context, rules: Strategy, obj: Draft, existing: Frozen) -> None:
        """An update must name the revision it is based on, or (where the resource allows) none."""
        current = existing["metadata"]["resourceVersion"]
        try:
            given = parse_uint64(obj["metadata"].get("resourceVersion") or "0")
        except ValueError as error:
            raise StatusError(str(error)) from None
        if given == 0:
            if not rules.allow_unconditional_update:
                cause = Cause(
                    "FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion"
                )
                raise InvalidError.of(self.info.gvr.resource, ctx.name, [cause], self.info.gvr.group)
            obj["metadata"]["resourceVersion"] = current
        elif given != int(current):
            raise ConflictError.of(self.info.gvr.resource, ctx.name, OPTIMISTIC_LOCK, self.info.gvr.group)

    async def _delete_without_finalizers(self, ctx: Context, key: str, obj: Draft) -> Frozen:
        try:
            with suppress(KeyNotFoundError):  # somebody else removed the last finalizer too: it is gone either way
                await self.storage.delete(key, dry_run=ctx.dry_run)
        except StorageError as error:
            raise self._interpret(error, ctx.name) from None
        return freeze(obj)  # type: ignore[no-any-return]

    async def delete(self, ctx: Context, options: DeleteOptions, validate: Validate) -> tuple[Object, bool]:
        """Delete, or begin to. (the object or a Status, is it gone)."""
        key = self.key(ctx.namespace, ctx.name)
        stored = await self.storage.get(key)
        if stored is None:
            raise self._not_found(ctx.name)
        existing = self.from_storage(stored)
        deletion = before_delete(ctx, self.strategy, draft_of(existing), options)
        if deletion.is_pending:
            return self._deleted(existing), False
        finalizers = list(existing["metadata"].get("finalizers") or ())
        preconditions = Preconditions(options.uid, options.resource_version)
        last: Frozen | None = None
        if deletion.is_graceful or finalizers or deletion_finalizers(self.strategy, finalizers, options) != finalizers:
            try:
                last, done = await self._mark(ctx, key, options, preconditions, validate)
            except _AlreadyDeletingError:
                return self._deleted(existing), False
            if not done:
                assert last is not None, "an update that is not followed by a deletion returns the object"
                return last, False
            if last is not None:
                if ctx.dry_run:
                    return last, True
                if preconditions.resource_version is not None:
                    preconditions = preconditions._replace(resource_version=last["metadata"]["resourceVersion"])
        return await self._remove(ctx, key, preconditions, validate, last)

    async def _remove(
        self, ctx: Context, key: str, preconditions: Preconditions, validate: Validate, last: Frozen | None
    ) -> tuple[Object, bool]:
        async def check(existing: Frozen) -> None:
            await validate(None, self.from_storage(existing))

        try:
            removed = await self.storage.delete(key, preconditions=preconditions, validate=check, dry_run=ctx.dry_run)
        except KeyNotFoundError as error:
            if last is None:
                raise self._interpret(error, ctx.name) from None
            return self._deleted(last), True  # it went between our update and our deletion
        except StorageError as error:
            raise self._interpret(error, ctx.name) from None
        return self._deleted(self.from_storage(removed)), True

    async def _mark(
        self, ctx: Context, key: str, options: DeleteOptions, preconditions: Preconditions, validate: Validate
    ) -> tuple[Frozen | None, bool]:
        """Write deletion timestamp and finalizers. (the object as written, may it be removed now)."""
        pending = False

        async def attempt(stored: Frozen | None) -> Object:
            nonlocal pending
            assert stored is not None, "a missing object is refused before"
            existing = self.from_storage(stored)
            await validate(None, existing)
            deletion = before_delete(ctx, self.strategy, draft_of(existing), options)
            if deletion.is_pending:
                raise _AlreadyDeletingError
            draft = deletion.draft
            finalizers = list(draft["metadata"].get("finalizers") or ())
            wanted = deletion_finalizers(self.strategy, finalizers, options)
            if wanted != finalizers:
                _set_finalizers(draft, wanted)
            pending = bool(wanted)
            if not deletion.is_graceful:
                if not pending:
                    raise _DeleteNowError
                mark_as_deleting(draft, ctx.env.clock.now_ms)
            return self.to_storage(draft)

        try:
            written = await self.storage.guaranteed_update(
                key, attempt, preconditions=preconditions, dry_run=ctx.dry_run
            )
        except _DeleteNowError:
            return None, True
        except StorageError as error:
            raise self._interpret(error, ctx.name) from None
        graceful = bool(options.grace_period_seconds) and self.strategy.is_graceful
        return self.from_storage(written), not pending and not graceful

    def _deleted(self, obj: Object) -> Object:
        """What the client gets for a deletion: the object, or a Status."""
        if self.strategy.returns_deleted:
            return obj
        gvr, metadata = self.info.gvr, obj["metadata"]
        details: dict[str, Any] = {"name": metadata["name"], "group": gvr.group, "kind": gvr.resource}
        details["uid"] = metadata.get("uid", "")
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {k: v for k, v in details.items() if v},
        }

    # -- errors ------------------------------------------------------------------------------------

    def _not_found(self, name: str) -> NotFoundError:
        return NotFoundError.of(self.info.gvr.resource, name, self.info.gvr.group)

    def _interpret(self, error: StorageError, name: str) -> StatusError:
        return interpret(error, self.info.gvr.resource, name, self.info.gvr.group)


def _set_finalizers(draft: Draft, finalizers: list[str]) -> None:
    if finalizers:
        draft["metadata"]["finalizers"] = finalizers
    else:
        draft["metadata"].pop("finalizers", None)


def _has_revision(obj: Object) -> bool:
    """Whether the object names one; what is no number is overlooked, as upstream does."""
    try:
        return parse_uint64(obj["metadata"].get("resourceVersion") or "0") != 0
    except ValueError:
        return False
