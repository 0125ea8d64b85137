"""Image names in full: `nginx` is `docker.io/library/nginx`, with the tag `latest`.

>>> from k8slab.kubelet.image_names import parse_image_name
>>> parse_image_name("nginx")
ImageName(repo='docker.io/library/nginx', tag='latest', digest='')
>>> parse_image_name("reg.io:5000/app:v1").tag
'v1'

Upstream: pkg/util/parsers/parsers.go, distribution/reference normalize.go, reference.go, regexp.go, go-digest digest.go
"""

from __future__ import annotations

import re
from typing import NamedTuple

from k8slab.api.labels import go_quote

__all__ = ["ImageName", "parse_image_name"]

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*[:][0-9a-fA-F]{32,}"
_REFERENCE = re.compile(
    rf"((?:{_DOMAIN}/)?({_COMPONENT}(?:/{_COMPONENT})*))(?::([A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?(?:@({_DIGEST}))?"
)
_IDENTIFIER = re.compile("[a-f0-9]{64}")
_LONGEST_PATH = 255
_HEX_DIGITS = {"sha256": 64, "sha384": 96, "sha512": 128}


class ImageName(NamedTuple):
    """`repo` with its registry; `tag` is "" only beside a `digest`."""

    repo: str
    tag: str
    digest: str


def parse_image_name(image: str) -> ImageName:
    """ValueError with upstream's text for what is no image name."""
    try:
        return _parse(image)
    except ValueError as error:
        raise ValueError(f"couldn't parse image name {go_quote(image)}: {error}") from None


def _parse(image: str) -> ImageName:
    if _IDENTIFIER.fullmatch(image):
        raise ValueError(f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings")
    domain, rest = _split_domain(image)
    remote = rest.partition(":")[0]
    if remote.lower() != remote:
        raise ValueError(f"invalid reference format: repository name ({remote}) must be lowercase")
    whole = f"{domain}/{rest}"
    found = _REFERENCE.fullmatch(whole)
    if found is None:
        upper = _REFERENCE.fullmatch(whole.lower()) is not None
        raise ValueError("repository name must be lowercase" if upper else "invalid reference format")
    repo, path, tag, digest = found[1], found[2], found[3] or "", found[4] or ""
    if len(path) > _LONGEST_PATH:
        raise ValueError(f"repository name must not be more than {_LONGEST_PATH} characters")
    if digest:
        _check_digest(digest)
    return ImageName(repo, tag if tag or digest else "latest", digest)


def _split_domain(image: str) -> tuple[str, str]:
    first, slash, rest = image.partition("/")
    if not slash:
        return "docker.io", f"library/{image}"
    if first == "index.docker.io":
        first = "docker.io"
    elif not (first == "localhost" or "." in first or ":" in first or first.lower() != first):
        first, rest = "docker.io", image
    if first == "docker.io" and "/" not in rest:
        rest = f"library/{rest}"
    return first, rest


def _check_digest(digest: str) -> None:
    algorithm, _, encoded = digest.partition(":")
    if algorithm not in _HEX_DIGITS:
        is_well_formed = algorithm == algorithm.lower()
        raise ValueError("unsupported digest algorithm" if is_well_formed else "invalid checksum digest format")
    if len(encoded) != _HEX_DIGITS[algorithm]:
        raise ValueError("invalid checksum digest length")
    if not re.fullmatch("[a-f0-9]*", encoded):
        raise ValueError("invalid checksum digest format")
