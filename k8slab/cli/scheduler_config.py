"""A scheduler's configuration file, for commands that take one with `--config`.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from k8slab.api.yaml_json import YAMLError, parse_documents
from k8slab.scheduler import Framework, Profile

__all__ = ["profile_entries", "profiles_of"]

_VERSION, _KIND = "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"


def profiles_of(path: Path) -> list[Profile]:
    """The profiles of a KubeSchedulerConfiguration. ValueError names file and field; OSError: it cannot be read."""
    return [Profile.from_dict(entry) for entry in profile_entries(path)]


def profile_entries(path: Path) -> list[dict[str, Any]]:
    """The same as plain data, each checked by building its framework."""
    raw = _document(path)
    for name, wanted in (("apiVersion", _VERSION), ("kind", _KIND)):
        if raw.get(name) != wanted:
            raise ValueError(f"{path}: {name}: {raw.get(name)!r}: expected {wanted}")
    given = raw.get("profiles") or [{}]
    if not isinstance(given, list):
        raise ValueError(f"{path}: profiles: {given!r}: expected a list")
    shared = {name: raw[name] for name in ("percentageOfNodesToScore",) if name in raw}
    found = []
    for index, entry in enumerate(given):
        try:
            whole = {**shared, **entry}
            Framework.from_profile(whole)  # arguments and plugins are checked there
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: profiles[{index}]: {error}") from None
        found.append(whole)
    return found


def _document(path: Path) -> dict[str, Any]:
    documents = list(parse_documents(path.read_bytes()))
    for document in documents:
        if isinstance(document, YAMLError):
            raise ValueError(f"{path}, line {document.line}, column {document.column}: {document.message}")
    values = [document.value for document in documents if not isinstance(document, YAMLError)]
    if len(values) != 1 or not isinstance(values[0], dict):
        raise ValueError(f"{path}: {len(values)} documents: expected one {_KIND}")
    return values[0]
