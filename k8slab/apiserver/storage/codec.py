"""Objects to bytes and back: JSON with sorted keys in the storage version, each revision decoded once.

The writer seeds the memo with the object it wrote, so that in a running server nothing is ever decoded; another
server over the same store decodes each revision the first time it sees it.

Upstream: apimachinery/pkg/runtime/serializer/json, apiserver/pkg/storage/etcd3/decoder.go
Simplified: JSON in place of protobuf for built-in kinds; no encryption at rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

from k8slab.api.objects import Frozen, Object, freeze
from k8slab.etcd import KeyValue

try:
    import orjson
except ImportError:  # in a browser the standard library does it
    orjson = None  # type: ignore[assignment]

__all__ = ["Codec", "encode", "json_bytes", "with_revision"]

WRITER: ModuleType | None = orjson
"""What writes JSON; None: the standard library. Both write the same bytes, but for floats with an exponent."""

_standard = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


def json_bytes(value: Any) -> bytes:
    """JSON with sorted keys and no spaces, in UTF-8."""
    if WRITER is None:
        return _standard(value).encode()
    try:
        return WRITER.dumps(value, option=WRITER.OPT_SORT_KEYS)  # type: ignore[no-any-return]
    except TypeError:  # an integer of more than 64 bits
        return _standard(value).encode()


_name = lru_cache(maxsize=256)(json_bytes)  # there are few names of top-level fields


class _Texts:
    """JSON of frozen parts of objects (a Pod's spec, while its status changes), the latest `size` of them."""

    def __init__(self, size: int = 4096) -> None:
        self._size = size
        self._known: dict[int, tuple[Frozen, bytes]] = {}

    def of(self, part: Frozen) -> bytes:
        found = self._known.get(id(part))
        if found is not None and found[0] is part:
            return found[1]
        text = json_bytes(part)
        self._known[id(part)] = (part, text)
        if len(self._known) > self._size:
            del self._known[next(iter(self._known))]
        return text


def with_revision(obj: Object, revision: int) -> Frozen:
    """The same object with another resourceVersion; everything but the metadata is shared."""
    metadata = Frozen({**freeze(obj["metadata"]), "resourceVersion": str(revision)})
    if isinstance(obj, Frozen):
        return Frozen({**obj, "metadata": metadata})
    return Frozen({k: metadata if k == "metadata" else freeze(v) for k, v in obj.items()})


def encode(obj: Object) -> bytes:
    """The bytes etcd holds: without resourceVersion, which is the revision of the key itself."""
    metadata = obj["metadata"]
    if "resourceVersion" in metadata:
        obj = {**obj, "metadata": {k: v for k, v in metadata.items() if k != "resourceVersion"}}
    return json_bytes(obj)


class Codec:
    """Encodes objects, and decodes values of etcd, keeping up to `size` of them by (key, revision).

    `known` is asked before a value that is not in the memo is decoded: the watch cache, which has what is current.
    """

    def __init__(self, size: int = 1024, known: Callable[[str, int], Frozen | None] | None = None) -> None:
        self.decoded = 0
        self.known = known
        self._texts = _Texts(size)
        self._size = size
        self._memo: dict[tuple[bytes, int], Frozen] = {}

    def encode(self, obj: Object) -> bytes:
        """As `encode`; parts that are frozen and were encoded before are not encoded again."""
        of, fields = self._texts.of, []
        for name in sorted(obj):
            value = obj[name]
            if name == "metadata":
                value = {k: v for k, v in value.items() if k != "resourceVersion"}
            fields.append(b"%b:%b" % (_name(name), of(value) if isinstance(value, Frozen) else json_bytes(value)))
        return b"{" + b",".join(fields) + b"}"

    def seed(self, key: bytes, revision: int, obj: Frozen) -> None:
        """Remember what `key` holds as of `revision`."""
        memo = self._memo
        memo[(key, revision)] = obj
        if len(memo) > self._size:
            del memo[next(iter(memo))]

    def decode(self, kv: KeyValue) -> Frozen:
        """The object in a key-value pair, with its resourceVersion."""
        found = self._memo.get((kv.key, kv.mod_revision))
        if found is None and self.known is not None:
            found = self.known(kv.key.decode(), kv.mod_revision)
        if found is None:
            document: dict[str, Any] = json.loads(kv.value)
            self.decoded += 1
            found = with_revision(document, kv.mod_revision)
            self.seed(kv.key, kv.mod_revision, found)
        return found

    def check_invariants(self) -> None:
        """AssertionError when the memo is out of bounds or names a wrong revision."""
        assert len(self._memo) <= self._size, f"memo holds {len(self._memo)} objects, more than {self._size}"
        for (_, revision), obj in self._memo.items():
            assert obj["metadata"]["resourceVersion"] == str(revision), f"memo: {obj['metadata']} is not of {revision}"
