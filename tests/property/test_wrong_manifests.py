"""Realistic manifests with one value spoiled: refused with nothing written, or accepted and run; nothing falls over."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from k8slab.api.manifests import ManifestError, load_manifests
from k8slab.cluster import ApplyError, Cluster
from tests.counts import examples

MANIFESTS = Path(__file__).resolve().parents[1] / "manifests"
SEEDS = examples(300, 6_000)
CHUNK = 50
JUNK: tuple[Any, ...] = (
    None, "", "x", "Größe", "-1", "1e3", "25%", "a" * 300, "a/b/c", 0, -1, 1, 3, 2**31, 2**63, 1.5, True, [],
    [None], [1],
    ["a"], {}, {"a": "b"}, {"": ""}, [{}], [{"name": "c"}], "2026-01-01T00:00:00Z", "*", "node-1", "Never",
    "100m", "1Ti",
)  # fmt: skip
SKIPPED = ("apiVersion", "kind")


def manifests() -> list[dict[str, Any]]:
    found = []
    for path in sorted(MANIFESTS.iterdir()):
        if path.is_file():
            found += [manifest.object for manifest in load_manifests(path.read_bytes(), source=path.name)]
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            if path or key not in SKIPPED:
                yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))


def spoiled(obj: dict[str, Any], rng: random.Random) -> tuple[dict[str, Any], str]:
    """A copy with one value replaced, removed, or one field added; and what was done."""
    copied = copy.deepcopy(obj)
    *way, last = rng.choice(list(places(copied)))
    parent: Any = copied
    for step in way:
        parent = parent[step]
    junk, what = rng.choice(JUNK), rng.random()
    if what < 0.15:
        del parent[last]
        done = "removed"
    elif what < 0.25 and isinstance(parent, dict):
        last = rng.choice(("status", "replicas", "nodeName", "finalizers", "deletionTimestamp", "uid", "selector", "x"))
        parent[last] = junk
        done = f"added as {junk!r}"
    else:
        parent[last] = junk
        done = f"replaced by {junk!r}"
    return copied, f"{obj['kind']} {'.'.join(map(str, (*way, last)))} {done}"


ALL_MANIFESTS = manifests()


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_one_wrong_value_is_refused_or_runs(first: int) -> None:
    for seed in range(first, first + CHUNK):
        rng = random.Random(seed)
        obj, done = spoiled(rng.choice(ALL_MANIFESTS), rng)
        namespace = (obj.get("metadata") or {}).get("namespace") if isinstance(obj.get("metadata"), dict) else None
        cluster = Cluster(nodes=1, seed=1)
        if namespace == "shop":
            cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
            cluster.run(for_ms=100)
        before = cluster.control_plane.store.revision
        try:
            cluster.apply(obj)
        except (ManifestError, ApplyError) as error:
            assert str(error), done
            assert cluster.control_plane.store.revision == before, done
        except Exception as error:
            error.add_note(f"seed {seed}: {done}: {json.dumps(obj)}")
            raise
        else:
            try:
                cluster.run(for_ms=5_000)
                cluster.not_ready()
                cluster.control_plane.server.check_invariants()
            except Exception as error:
                error.add_note(f"seed {seed}: {done}: {json.dumps(obj)}")
                raise
        finally:
            cluster.close()
