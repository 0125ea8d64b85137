"""One HTTP request, without a network: what stands before the verbs (paths, media types, bodies) and after them.

Upstream: apiserver/pkg/endpoints/{groupversion,installer}.go, apiserver/pkg/endpoints/handlers/responsewriters
Simplified: no compression, no `pretty`; OpenAPI documents are not served.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from k8slab.api.errors import BadRequestError, ServerPanicError, StatusError
from k8slab.api.go_json import JSONError
from k8slab.api.labels import go_quote
from k8slab.api.objects import Object
from k8slab.api.transport import Request, StreamClosedError
from k8slab.apiserver.handlers.codecs import decode_body, encode_body, error_body, parse_body
from k8slab.apiserver.handlers.discovery import discovery
from k8slab.apiserver.handlers.negotiation import JSON, Output, header, input_type, output_type, patch_type
from k8slab.apiserver.handlers.options import check_write_options
from k8slab.apiserver.handlers.patching import parse_patch
from k8slab.apiserver.handlers.routing import NoSuchPathError, Route, method_not_allowed, route
from k8slab.apiserver.handlers.warnings import warning_headers
from k8slab.apiserver.streams import Connection, EventStream

if TYPE_CHECKING:
    from k8slab.apiserver.server import APIServer

__all__ = ["Asked", "Frames", "Response", "handle"]

_NOSNIFF = {"content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff"}
_NOT_FOUND = b"404 page not found\n"
_HEALTH = ("/healthz", "/livez", "/readyz", "/healthz/ping", "/livez/ping", "/readyz/ping")
_PARTIAL_META = "PartialObjectMetadata"


class Frames:
    """A watch as HTTP sends it: one JSON object `{type, object}` after another."""

    def __init__(self, stream: EventStream, show: Callable[[Object], Object]) -> None:
        self.stream = stream
        self._show = show

    async def next(self) -> dict[str, Any] | None:
        """The next frame, None at the end of the stream."""
        try:
            event = await self.stream.next()
        except StreamClosedError:
            return None
        shown = event.object if event.type == "ERROR" else self._show(event.object)
        return {"type": event.type, "object": shown}

    def close(self) -> None:
        self.stream.close()


class Asked(NamedTuple):
    """A request as it came. `user`: who sent it."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    user: str


class Response(NamedTuple):
    """`headers` have lower-case names; a header with several values is a list. A watch has `frames`, no body."""

    status: int
    headers: Mapping[str, Any]
    body: bytes = b""
    frames: Frames | None = None


async def handle(server: APIServer, asked: Asked) -> Response:
    """Answer a request. StatusErrors become answers."""
    method, path = asked.method.upper(), asked.path
    if path in _HEALTH:
        return Response(200, {"content-type": "text/plain; charset=utf-8"}, b"ok")
    document = discovery(path, server.scheme)
    try:
        if document is None:
            elsewhere = await server.aggregator.answer(method, path, asked.query)
            if elsewhere is not None:
                return Response(200, {"content-type": JSON}, encode_body(elsewhere, JSON))
        if document is not None:
            if method not in ("GET", "HEAD"):
                raise method_not_allowed()
            return Response(200, {"content-type": JSON}, encode_body(document, JSON))
        return await _resource(server, asked, method)
    except NoSuchPathError:
        return Response(404, {"content-type": "text/plain; charset=utf-8"}, _NOT_FOUND)
    except StatusError as error:
        return Response(*error_body(error))


async def _resource(server: APIServer, asked: Asked, method: str) -> Response:
    _, path, query, headers, body, user = asked
    found = route(method, path, query, server.scheme)
    output = output_type(header(headers, "Accept"))
    request, warnings = _request(server, found, query, header(headers, "Content-Type"), body)
    if found.verb == "watch":
        stream = await server.open_watch(request, Connection(lane=user, client=user), user)
        return Response(
            200, {"content-type": output.media_type}, b"", Frames(stream, _watch_shower(server, found, output))
        )
    try:
        answer = await server.serve(request, user)
        shown = _show(server, found, answer.object, output, query)
    except ServerPanicError as error:
        return Response(500, _NOSNIFF, error.said.encode() + b"\n")
    except StatusError as error:
        code, error_headers, content = error_body(error)
        return Response(code, {**error_headers, **_warned(warnings, error.warnings)}, content)
    answer_headers = {"content-type": output.media_type, **_warned(warnings, answer.warnings)}
    return Response(answer.code, answer_headers, encode_body(shown, output.media_type))


def _warned(*texts: Iterable[str]) -> dict[str, Any]:
    values = warning_headers(itertools.chain(*texts))
    return {"warning": values} if values else {}


# -- requests ----------------------------------------------------------------------------------------


def _request(
    server: APIServer, found: Route, query: Mapping[str, str], content_type: str, body: bytes
) -> tuple[Request, tuple[str, ...]]:
    """The request, and warnings of the strict decoder."""
    document: Any = None
    warnings: tuple[str, ...] = ()
    kind = ""
    if found.verb == "patch":
        kind = patch_type(content_type, server.is_custom(found.resource))
        check_write_options(query, "PatchOptions")
        document = parse_patch(body, kind)
    elif found.verb in ("create", "update"):
        media = input_type(content_type)
        check_write_options(query, "CreateOptions" if found.verb == "create" else "UpdateOptions")
        expected = found.info.subresources[found.subresource].gvk if found.subresource else found.info.gvk
        decoded = decode_body(body, media, expected, server.scheme, query.get("fieldValidation", ""))
        document, warnings = decoded.object, decoded.warnings
    elif found.verb in ("delete", "deletecollection") and body:
        document = _delete_options(body, content_type)
    params = {name: value for name, value in query.items() if value is not None}
    request = Request(
        verb=found.verb,
        resource=found.resource,
        namespace=found.namespace,
        name=found.name,
        subresource=found.subresource,
        body=document,
        params=params,
        patch_type=kind,
    )
    return request, warnings


def _delete_options(body: bytes, content_type: str) -> Any:
    try:
        document, _ = parse_body(body, input_type(content_type))
    except JSONError as error:
        raise BadRequestError(f"couldn't get version/kind; json parse error: {error}") from None
    return document


# -- answers -----------------------------------------------------------------------------------------


def _show(server: APIServer, found: Route, obj: Object, output: Output, query: Mapping[str, str]) -> Object:
    """The object as the client asked to see it."""
    kind = str(obj.get("kind", ""))
    is_list = kind.endswith("List") and "items" in obj
    if output.as_kind and kind != "Status":
        items = obj["items"] if is_list else [obj]
        if output.as_kind == "Table":
            return _table(server, found, items, obj["metadata"], output, query)
        return _partial_list(obj, output) if is_list else _partial(obj, output.version)
    if is_list and not server.is_custom(found.resource):
        plain = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in obj["items"]]
        return {**obj, "items": plain}
    return obj


def _table(
    server: APIServer, found: Route, items: list[Object], metadata: Object, output: Output, query: Mapping[str, str]
) -> Object:
    from k8slab.api.tables import table

    include = query.get("includeObject", "") or "Metadata"
    if include not in ("Metadata", "Object", "None"):
        raise BadRequestError(
            f"Unable to convert to Table as requested: includeObject: Invalid value: {go_quote(include)}: "
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    shown: dict[str, Any] = dict(table(found.info.gvk, items, server.loop.clock.now_ms))
    wanted = ("resourceVersion", "continue", "remainingItemCount")
    shown["metadata"] = {name: metadata[name] for name in wanted if name in metadata}
    rows = []
    for row, item in zip(shown.get("rows") or (), items, strict=True):
        if include == "None":
            rows.append({k: v for k, v in row.items() if k != "object"})
        else:
            rows.append({**row, "object": item if include == "Object" else _partial(item, output.version)})
    return {**shown, "apiVersion": f"meta.k8s.io/{output.version}", "rows": rows}


def _partial(obj: Object, version: str) -> dict[str, Any]:
    return {"kind": _PARTIAL_META, "apiVersion": f"meta.k8s.io/{version}", "metadata": obj["metadata"]}


def _partial_list(obj: Object, output: Output) -> dict[str, Any]:
    items = [_partial(item, output.version) for item in obj["items"]]
    return {
        "kind": f"{_PARTIAL_META}List",
        "apiVersion": f"meta.k8s.io/{output.version}",
        "metadata": obj["metadata"],
        "items": items,
    }


def _watch_shower(server: APIServer, found: Route, output: Output) -> Callable[[Object], Object]:
    """How each event's object is shown; a Table names its columns only once."""
    is_first = True

    def show(obj: Object) -> Object:
        nonlocal is_first
        if output.as_kind == "Table":
            shown = _table(server, found, [obj], obj["metadata"], output, {})
            if not is_first:
                shown = {**shown, "columnDefinitions": None}
            is_first = False
            return shown
        return _partial(obj, output.version) if output.as_kind else obj

    return show
