"""Where manifests come from: text, files, folders, objects.

Upstream: staging/src/k8s.io/cli-runtime/pkg/resource/builder.go (FilenameParam)
Simplified: no URLs, no kustomize, folders are not walked recursively.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from k8slab.api.manifests import Manifest, load_manifests
from k8slab.api.objects import Object
from k8slab.api.scheme import SCHEME, Scheme
from k8slab.cluster.inputs import plain_data

__all__ = ["load", "manifest_files"]

_ENDINGS = (".yaml", ".yml", ".json")


def manifest_files(path: Path) -> list[Path]:
    """The file itself, or the manifests of a folder, sorted by name."""
    if not path.is_dir():
        return [path]
    return sorted(p for p in path.iterdir() if p.suffix in _ENDINGS and p.is_file())


def load(source: str | Path | Object | Iterable[Object], scheme: Scheme = SCHEME) -> list[Manifest]:
    """The objects of a text, of a path (one line that names something that exists), of one object or several.
    `scheme`: what is served.

    Raises ManifestError, or OSError for a file that cannot be read.
    """
    if isinstance(source, Mapping):
        return _from_objects([source], scheme)
    if isinstance(source, str) and not _is_path(source):
        if "\n" not in source and source.endswith(_ENDINGS):
            raise FileNotFoundError(2, "No such file or directory", source)
        return load_manifests(source, source="text", scheme=scheme)
    if isinstance(source, str | Path):
        files = manifest_files(Path(source))
        return [m for f in files for m in load_manifests(f.read_text(encoding="utf-8"), source=str(f), scheme=scheme)]
    if isinstance(source, bytes | bytearray) or not isinstance(source, Iterable):
        raise TypeError(f"source: {source!r}: expected YAML or JSON text, a path, an object, or several objects")
    return _from_objects(source, scheme)


def _is_path(text: str) -> bool:
    """Whether a text is the name of a file or folder that exists, and not a manifest."""
    if not text.strip() or "\n" in text or text.lstrip()[:1] in ("{", "["):
        return False
    try:
        return Path(text).exists()
    except OSError:  # longer than any file name
        return False


def _from_objects(objects: Iterable[Object], scheme: Scheme) -> list[Manifest]:
    return [
        m
        for n, obj in enumerate(objects, 1)
        for m in load_manifests(_text(f"object {n}", obj), source=f"object {n}", scheme=scheme)
    ]


def _text(name: str, obj: Object) -> str:
    return json.dumps(plain_data(name, obj))
