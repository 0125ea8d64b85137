"""What each verb does, between a decoded request and the registry.

Upstream: apiserver/pkg/endpoints/handlers/{get,create,update,patch,delete}.go
Simplified: no server-side apply, no audit; a request is not cut off after 34 s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from k8slab.api.decoding import DecodeError, decode, unknown_field
from k8slab.api.defaults import set_defaults
from k8slab.api.errors import BadRequestError, NotFoundError, StatusError
from k8slab.api.objects import Frozen, Object
from k8slab.api.plain import UnfitError, plain_copy
from k8slab.api.transport import Request
from k8slab.apiserver.admission import Attributes
from k8slab.apiserver.handlers.options import ListOptions, check_write_options, parse_resource_version
from k8slab.apiserver.handlers.patching import apply_patch
from k8slab.apiserver.registry import Context, DeleteOptions, Draft, Strategy, draft_of
from k8slab.apiserver.registry.rest import ensure_namespace, wipe_system_fields

if TYPE_CHECKING:
    from k8slab.apiserver.server import APIServer

__all__ = ["Answer", "serve"]


class Answer(NamedTuple):
    """The outcome of any verb but watch. `warnings` go into Warning headers."""

    code: int
    object: Object
    warnings: tuple[str, ...] = ()


async def serve(server: APIServer, ctx: Context, request: Request) -> Answer:
    """Carry out a request whose resource and verb are known to exist. Raises StatusErrors, with their `warnings`."""
    try:
        answer = await _answer(server, ctx, request)
    except StatusError as error:
        error.warnings = tuple(ctx.warnings)
        raise
    return answer._replace(warnings=tuple(ctx.warnings))


async def _answer(server: APIServer, ctx: Context, request: Request) -> Answer:
    if request.subresource or ctx.info.gvr.resource == "bindings":
        return await _subresource(server, ctx, request)
    deprecated = _DEPRECATED.get(ctx.gvr.group_resource)
    if deprecated:
        ctx.warn(deprecated)
    return await _VERBS[request.verb](server, ctx, request)


# -- reading -----------------------------------------------------------------------------------------


async def _get(server: APIServer, ctx: Context, request: Request) -> Answer:
    store = server.store(ctx.gvr)
    text = request.params.get("resourceVersion", "")
    if not text:
        return Answer(200, await store.get(ctx))
    try:
        wanted = parse_resource_version(text)
    except ValueError as error:
        raise BadRequestError(f"invalid resource version: {error}") from None
    await server.wait_for_revision(wanted)
    found = server.cached(store.stored_as, ctx.namespace if ctx.info.namespaced else "", ctx.name)
    if found is None:
        raise NotFoundError.of(ctx.gvr.resource, ctx.name, ctx.gvr.group)
    return Answer(200, store.from_storage(found))


async def _list(server: APIServer, ctx: Context, request: Request) -> Answer:
    options = ListOptions.parse(request.params, ctx.gvr.group_resource, is_custom=server.is_custom(ctx.gvr))
    return Answer(200, await server.list_objects(ctx, options))


# -- creating ----------------------------------------------------------------------------------------


async def _create(server: APIServer, ctx: Context, request: Request) -> Answer:
    ctx.dry_run = check_write_options(request.params, "CreateOptions")
    store = server.store(ctx.gvr)
    obj = _typed(ctx, request.body)
    wipe_system_fields(obj)
    ensure_namespace(ctx, obj)
    ctx.name = obj["metadata"].get("name") or ""
    _deduplicate_owners(obj)
    attributes = Attributes(ctx, "CREATE", obj, None)
    server.chain.received(attributes, _mapping(request.body))
    admitted = await server.chain.admit(attributes)
    assert admitted is not None, "a create has an object"
    created = await store.create(ctx, draft_of(admitted), _validator(server, ctx))
    return Answer(201, created)


def _typed(ctx: Context, body: object) -> Draft:
    """The body as its kind holds it, with defaults. Raises BadRequestError when a value has the wrong type."""
    if not isinstance(body, Mapping):
        raise BadRequestError(f"body: expected a {ctx.gvk.kind}, got {type(body).__name__}")
    try:
        obj = set_defaults(decode(body, ctx.gvk).object, ctx.gvk)
    except DecodeError as error:
        kind = ctx.gvk.kind
        raise BadRequestError(f'{kind} in version "{ctx.gvk.version}" cannot be handled as a {kind}: {error}') from None
    obj.update(apiVersion=ctx.gvk.api_version, kind=ctx.gvk.kind)
    obj.setdefault("metadata", {})
    return obj


def _deduplicate_owners(obj: Draft) -> None:
    owners = obj["metadata"].get("ownerReferences")
    if owners and len(owners) > 1:
        unique = [owner for i, owner in enumerate(owners) if owner not in owners[:i]]
        if len(unique) < len(owners):
            obj["metadata"]["ownerReferences"] = unique


def _validator(server: APIServer, ctx: Context, operation: str = "") -> Any:
    async def validate(obj: Object | None, old: Frozen | None) -> None:
        if obj is None:
            attributes = Attributes(ctx, "DELETE", None, old)
            await server.chain.admit(attributes)
        else:
            attributes = Attributes(ctx, operation or ("CREATE" if old is None else "UPDATE"), obj, old)
        await server.chain.validate(attributes)

    return validate


# -- changing ----------------------------------------------------------------------------------------


async def _update(server: APIServer, ctx: Context, request: Request, strategy: Strategy | None = None) -> Answer:
    ctx.dry_run = check_write_options(request.params, "UpdateOptions")
    body = request.body
    if not isinstance(body, Mapping):
        raise BadRequestError(f"body: expected a {ctx.gvk.kind}, got {type(body).__name__}")
    draft = draft_of(body)
    ensure_namespace(ctx, draft)
    _check_name(draft, ctx.name)
    uid = draft["metadata"].get("uid") or None

    async def updated(existing: Frozen | None) -> Object:
        obj = _retyped(ctx, draft, existing)
        _deduplicate_owners(obj)
        return await _admit(server, ctx, obj, existing)

    obj, created = await server.store(ctx.gvr).update(ctx, updated, _validator(server, ctx), strategy=strategy, uid=uid)
    return Answer(201 if created else 200, obj)


_PART_OF = {"status": "status", "finalize": "spec"}


def _retyped(ctx: Context, draft: Draft, existing: Frozen | None) -> Draft:
    """As `_typed`, but what is the same as in the existing object is shared and not looked at again."""
    if existing is None:
        return _typed(ctx, draft)
    part = _PART_OF.get(ctx.subresource)
    if part is not None:
        obj = _typed_fields(ctx, {"metadata": draft["metadata"], part: draft.get(part)}, existing)
        return {**{k: v for k, v in existing.items() if k != part}, **obj}
    same = {k: existing[k] for k in existing if k not in ("metadata", "status") and draft.get(k) == existing[k]}
    unchanged = {k for k in draft if k not in ("metadata", "status")} <= set(same) and all(
        k in draft or k in ("metadata", "status", "apiVersion", "kind") for k in existing
    )
    if unchanged:
        obj = _typed_fields(ctx, {"metadata": draft["metadata"]}, existing)
        return {**existing, **obj}
    return {**_typed(ctx, draft), **same}


def _typed_fields(ctx: Context, fields: Mapping[str, Any], existing: Frozen) -> Draft:
    """Only these fields, typed. Raises BadRequestError."""
    try:
        decoded = decode(fields, ctx.gvk, known=existing).object
    except DecodeError as error:
        kind = ctx.gvk.kind
        raise BadRequestError(f'{kind} in version "{ctx.gvk.version}" cannot be handled as a {kind}: {error}') from None
    return {k: v for k, v in decoded.items() if k in fields}


def _check_name(draft: Draft, name: str) -> None:
    given = draft["metadata"].get("name") or ""
    if not given:
        raise BadRequestError(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if given != name:
        raise BadRequestError(f"the name of the object ({given}) does not match the name on the URL ({name})")


async def _admit(server: APIServer, ctx: Context, obj: Draft, existing: Frozen | None) -> Object:
    operation = "CREATE" if existing is None else "UPDATE"
    attributes = Attributes(ctx, operation, obj, existing)
    server.chain.received(attributes, existing)
    admitted = await server.chain.admit(attributes)
    assert admitted is not None, "an update has an object"
    return admitted


async def _patch(server: APIServer, ctx: Context, request: Request, strategy: Strategy | None = None) -> Answer:
    ctx.dry_run = check_write_options(request.params, "PatchOptions")
    directive = request.params.get("fieldValidation", "")
    try:
        patch = plain_copy(request.body)
    except UnfitError as error:
        raise BadRequestError(f"error decoding patch: {error}") from None

    async def updated(existing: Frozen | None) -> Object:
        if existing is None:
            raise NotFoundError.of(ctx.gvr.resource, ctx.name, ctx.gvr.group)
        strict, lenient = directive == "Strict", directive == "Ignore"
        patched, unknown = apply_patch(existing, patch, request.patch_type, ctx.gvk, strict=strict, lenient=lenient)
        if directive != "Ignore":
            for path in unknown:
                ctx.warn(unknown_field(path))
        draft = draft_of(patched)
        if strategy is None and any(draft.get(k) != existing.get(k) for k in draft if k not in ("metadata", "status")):
            draft = set_defaults(decode(draft, ctx.gvk).object, ctx.gvk)
            draft.update(apiVersion=ctx.gvk.api_version, kind=ctx.gvk.kind)
        ensure_namespace(ctx, draft)
        _check_name(draft, ctx.name)
        return await _admit(server, ctx, draft, existing)

    obj, _ = await server.store(ctx.gvr).update(ctx, updated, _validator(server, ctx), strategy=strategy)
    return Answer(200, obj)


# -- deleting ----------------------------------------------------------------------------------------


async def _delete(server: APIServer, ctx: Context, request: Request) -> Answer:
    options = DeleteOptions.of(_mapping(request.body), request.params)
    ctx.dry_run = options.dry_run
    if (
        ctx.gvr.group_resource == "jobs.batch"
        and options.propagation_policy is None
        and options.orphan_dependents is None
    ):
        ctx.warn(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
            "them or set propagationPolicy=Orphan to suppress this warning"
        )
    obj, gone = await server.store(ctx.gvr).delete(ctx, options, _validator(server, ctx))
    return Answer(202 if not gone and options.orphan_dependents is False else 200, obj)


async def _deletecollection(server: APIServer, ctx: Context, request: Request) -> Answer:
    list_options = ListOptions.parse(request.params, ctx.gvr.group_resource, is_custom=server.is_custom(ctx.gvr))
    options = DeleteOptions.of(_mapping(request.body), request.params)
    ctx.dry_run = options.dry_run
    found = await server.list_objects(ctx, list_options)
    store = server.store(ctx.gvr)
    for item in found["items"]:
        metadata = item["metadata"]
        ctx.namespace, ctx.name = metadata.get("namespace", ""), metadata["name"]
        try:
            await store.delete(ctx, options.copy(), _validator(server, ctx))
        except NotFoundError:
            continue  # somebody else was faster
    return Answer(200, found)


def _mapping(body: object) -> Mapping[str, Any] | None:
    return body if isinstance(body, Mapping) else None


# -- subresources ------------------------------------------------------------------------------------


async def _subresource(server: APIServer, ctx: Context, request: Request) -> Answer:
    name = request.subresource
    if name == "binding" or ctx.gvr.resource == "bindings":
        return await _act(server, ctx, request, "a Binding", server.binding.create)
    if name == "eviction":
        return await _act(server, ctx, request, "an Eviction", server.eviction.create)
    if name in ("status", "finalize"):
        if request.verb == "get":
            return Answer(200, await server.store(ctx.gvr).get(ctx))
        change = _update if request.verb == "update" else _patch
        return await change(server, ctx, request, server.subresource_strategy(ctx.gvr, name))
    if name == "scale":
        return await _scale(server, ctx, request)
    raise NotFoundError("the server could not find the requested resource", details={})


async def _act(
    server: APIServer,
    ctx: Context,
    request: Request,
    expected: str,
    create: Callable[[Context, Mapping[str, Any]], Awaitable[Object]],
) -> Answer:
    """A subresource that is only created, as an act: a Binding, an Eviction."""
    ctx.dry_run = check_write_options(request.params, "CreateOptions")
    body = _mapping(request.body)
    if body is None:
        raise BadRequestError(f"body: expected {expected}, got {type(request.body).__name__}")
    kind = ctx.info.subresources[request.subresource].gvk if request.subresource else ctx.info.gvk
    obj = draft_of({"kind": kind.kind, "apiVersion": kind.api_version, **body})
    ensure_namespace(ctx, obj)
    attributes = Attributes(ctx, "CREATE", obj, None)
    admitted = await server.chain.admit(attributes) or obj
    await server.chain.validate(Attributes(ctx, "CREATE", admitted, None))
    return Answer(201, await create(ctx, admitted))


async def _scale(server: APIServer, ctx: Context, request: Request) -> Answer:
    scales = server.scales(ctx.gvr)
    if request.verb == "get":
        return Answer(200, await scales.get(ctx))
    kind = "UpdateOptions" if request.verb == "update" else "PatchOptions"
    ctx.dry_run = check_write_options(request.params, kind)

    async def updated(existing: Frozen | None) -> Object:
        assert existing is not None, "scales are not created"
        gvk = ctx.info.subresources["scale"].gvk
        if request.verb == "update":
            body = _mapping(request.body)
            if body is None:
                raise BadRequestError(f"body: expected a Scale, got {type(request.body).__name__}")
            _check_name(draft_of(body), ctx.name)
            scale = {"kind": gvk.kind, "apiVersion": gvk.api_version, **body}
        else:
            scale, _ = apply_patch(existing, request.body, request.patch_type, gvk)  # type: ignore[assignment]
        return await _admit(server, ctx, draft_of(scale), existing)

    return Answer(200, await scales.update(ctx, updated, _validator(server, ctx)))


_DEPRECATED = {"endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}

_VERBS = {
    "get": _get,
    "list": _list,
    "create": _create,
    "update": _update,
    "patch": _patch,
    "delete": _delete,
    "deletecollection": _deletecollection,
}
