"""Media types: what a client sends and what it wants back.

Upstream: apiserver/pkg/endpoints/handlers/negotiation/negotiate.go
Simplified: no protobuf and no CBOR; a client that accepts only those gets 406, and 415 when it sends them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from k8slab.api.errors import NotAcceptableError, UnsupportedMediaTypeError
from k8slab.api.transport import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH

__all__ = ["JSON", "YAML", "Output", "header", "input_type", "output_type", "patch_type"]

JSON = "application/json"
YAML = "application/yaml"
APPLY_PATCH = "application/apply-patch+yaml"
_SERVED = (JSON, YAML, "application/vnd.kubernetes.protobuf")
_TRANSFORMS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


class Output(NamedTuple):
    """`as_kind`: Table or PartialObjectMetadata, empty for the object as it is. `version`: of meta.k8s.io."""

    media_type: str
    as_kind: str = ""
    version: str = "v1"


def header(headers: Mapping[str, str], name: str) -> str:
    """A header by its name in any case, empty when absent."""
    wanted = name.lower()
    return next((value for key, value in headers.items() if key.lower() == wanted), "")


def output_type(accept: str) -> Output:
    """What to answer with; the first acceptable clause wins. Raises NotAcceptableError."""
    if not accept:
        return Output(JSON)
    is_served = False
    for clause in accept.split(","):
        media, *options = (part.strip() for part in clause.split(";"))
        found = _match(media)
        if not found:
            continue
        is_served = True
        named = dict(option.partition("=")[::2] for option in options)
        kind = named.get("as", "")
        if not kind:
            return Output(found)
        if kind in _TRANSFORMS and named.get("g") == "meta.k8s.io" and named.get("v") in ("v1", "v1beta1"):
            return Output(found, kind.removesuffix("List"), named["v"])
    available = ", ".join(_SERVED)
    if is_served:
        raise NotAcceptableError(f"only the following media types are accepted: {available}")
    raise NotAcceptableError(f"406: Not Acceptable\n\nAvailable representations: {available}", details={})


def _match(media: str) -> str:
    if media in ("*/*", "application/*", "*", JSON):
        return JSON
    return YAML if media == YAML else ""


def input_type(content_type: str) -> str:
    """The media type of a body. Raises UnsupportedMediaTypeError."""
    media = content_type.partition(";")[0].strip()
    if media in ("", "*/*", JSON):
        return JSON
    if media == YAML:
        return YAML
    raise _unsupported(_SERVED)


def patch_type(content_type: str, is_custom: bool) -> str:
    """The kind of a patch. Raises UnsupportedMediaTypeError."""
    media = content_type.partition(";")[0].strip()
    allowed = (JSON_PATCH, MERGE_PATCH) if is_custom else (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH)
    if media in allowed:
        return media
    if not media or media == JSON:
        raise UnsupportedMediaTypeError("415: Unsupported Media Type", details={})
    raise _unsupported((*allowed, APPLY_PATCH))


def _unsupported(types: tuple[str, ...]) -> UnsupportedMediaTypeError:
    return UnsupportedMediaTypeError(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(types)}"
    )
