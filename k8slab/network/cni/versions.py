"""Versions of the CNI specification: which there are, and which is newer.

>>> at_least("1.0.0", "0.4.0"), at_least("", "0.2.0")
(True, False)

Upstream: containernetworking/cni pkg/version/plugin.go, pkg/version/version.go, pkg/types/create/create.go
"""

from __future__ import annotations

import re
from typing import Any

from k8slab.api.go_json import json_kind
from k8slab.network.cni.errors import CNIError, Code

__all__ = ["ALL", "CURRENT", "at_least", "config_version", "newer", "parse_version", "versions_from"]

CURRENT = "1.1.0"
ALL = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")

_PARTS = ("major", "minor", "micro")
_INTEGER = re.compile(r"[+-]?[0-9]+")


def parse_version(version: str) -> tuple[int, int, int]:
    """Major, minor, micro. No version declared is 0.1.0. CNIError in upstream's words."""
    if not version:
        return (0, 1, 0)
    parts = version.split(".")
    if len(parts) >= 4:
        raise CNIError(f'invalid version "{version}": too many parts')
    numbers = [0, 0, 0]
    for place, part in enumerate(parts):
        if not _INTEGER.fullmatch(part):
            why = f'strconv.Atoi: parsing "{part}": invalid syntax'
            raise CNIError(f'failed to convert {_PARTS[place]} version part "{part}": {why}')
        numbers[place] = int(part)
    return numbers[0], numbers[1], numbers[2]


def at_least(version: str, other: str) -> bool:
    """Whether `version` is `other` or newer."""
    return parse_version(version) >= parse_version(other)


def newer(version: str, other: str) -> bool:
    """Whether `version` is newer than `other`."""
    return parse_version(version) > parse_version(other)


def versions_from(oldest: str) -> tuple[str, ...]:
    """The known versions from `oldest` on: what a chained plugin supports, which needs a prevResult (0.3.0)."""
    return ALL[ALL.index(oldest) :]


def config_version(config: Any) -> str:
    """The version that a configuration declares; "0.1.0" when it declares none. CNIError, code 6."""
    declared = config.get("cniVersion") if isinstance(config, dict) else None
    if declared is not None and not isinstance(declared, str):
        what = f"json: cannot unmarshal {json_kind(declared)} into Go struct field .cniVersion of type string"
        raise CNIError(f"decoding version from network config: {what}", Code.DECODING_FAILURE)
    return declared or "0.1.0"
