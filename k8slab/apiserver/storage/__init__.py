"""Between the registry and etcd: keys, bytes, transactions.

>>> from k8slab.apiserver.storage import Codec, KeyLayout, SingleMember, Storage
>>> from k8slab.etcd import Store
>>> from k8slab.sim import Loop
>>> loop, store = Loop(seed=7), Store()
>>> storage = Storage(SingleMember(loop, store), Codec(), KeyLayout(), loop.trace)
>>> async def main():
...     return await storage.create("/registry/configmaps/default/a", {"metadata": {"name": "a"}, "data": {"x": "1"}})
>>> task = loop.spawn("you", main())
>>> _ = loop.run(until_idle=True)
>>> task.result["metadata"], store.range(b"/registry/configmaps/default/a").kvs[0].value
({'name': 'a', 'resourceVersion': '2'}, b'{"data":{"x":"1"},"metadata":{"name":"a"}}')

The caller's duties: pass objects in the storage version; treat what comes out as read-only.

Simplified: JSON only; no leases, TTLs, transformers or size limits.
"""

from k8slab.apiserver.storage.codec import Codec, encode, with_revision
from k8slab.apiserver.storage.compact import CompactTurn
from k8slab.apiserver.storage.continue_token import ANY_REVISION, decode_continue, encode_continue
from k8slab.apiserver.storage.errors import (
    GuardError,
    KeyExistsError,
    KeyNotFoundError,
    ObjectInvalidError,
    StorageError,
    interpret,
    list_expired,
    too_large,
    too_old,
)
from k8slab.apiserver.storage.etcd3 import Page, Preconditions, Storage, UpdateFunc
from k8slab.apiserver.storage.keys import COMPACT_REV_KEY, PREFIX, KeyLayout, prefix_end
from k8slab.apiserver.storage.kv import KV, Members, SingleMember

__all__ = [
    "ANY_REVISION",
    "COMPACT_REV_KEY",
    "KV",
    "PREFIX",
    "Codec",
    "CompactTurn",
    "GuardError",
    "KeyExistsError",
    "KeyLayout",
    "KeyNotFoundError",
    "Members",
    "ObjectInvalidError",
    "Page",
    "Preconditions",
    "SingleMember",
    "Storage",
    "StorageError",
    "UpdateFunc",
    "decode_continue",
    "encode",
    "encode_continue",
    "interpret",
    "list_expired",
    "prefix_end",
    "too_large",
    "too_old",
    "with_revision",
]
