"""Which API server compacts etcd, and at which revision: several over one store take turns by one key.

The key `compact_rev_key` holds the revision of the last compaction; how often it was written (its version) is the
time that all servers count. Whoever writes it at the time that it knows compacts, at the revision that it saw one
period ago. Whoever finds another time has lost this turn, and learns both.

>>> from k8slab.apiserver.storage import CompactTurn, SingleMember
>>> from k8slab.etcd import Store
>>> from k8slab.sim import Loop
>>> loop, store = Loop(seed=7), Store()
>>> kv = SingleMember(loop, store)
>>> first, second = CompactTurn(kv), CompactTurn(kv)
>>> async def main():
...     return [await turn.take() for turn in (first, second, first, second)]
>>> task = loop.spawn("you", main())
>>> _ = loop.run(until_idle=True)
>>> task.result, store.compact_revision
([0, 0, 2, 0], 2)

The write comes before the compaction, so an etcd that is out of space refuses both.

Upstream: apiserver/pkg/storage/etcd3/compact.go
"""

from __future__ import annotations

from k8slab.apiserver.storage.keys import COMPACT_REV_KEY
from k8slab.apiserver.storage.kv import KV
from k8slab.etcd import Compare, CompareTarget, PutRequest, RangeRequest, RangeResponse

__all__ = ["CompactTurn"]


class CompactTurn:
    """One server's part. `time` and `revision`: of the last turn that it knows of (0: of none)."""

    def __init__(self, kv: KV) -> None:
        self.time = 0
        self.revision = 0
        self._kv = kv

    async def take(self) -> int:
        """Compact, if it is this server's turn; the revision, 0 if nothing was compacted.

        Raises EtcdError or TimeoutError; take the next turn as if nothing had happened."""
        is_mine = Compare(COMPACT_REV_KEY, CompareTarget.VERSION, "EQUAL", self.time)
        note = PutRequest(COMPACT_REV_KEY, str(self.revision).encode())
        answer = await self._kv.txn([is_mine], [note], [RangeRequest(COMPACT_REV_KEY)])
        if not answer.succeeded:
            found = answer.responses[0]
            assert isinstance(found, RangeResponse), f"a transaction answered a range with {found!r}"
            self.time, self.revision = found.kvs[0].version if found.kvs else 0, answer.revision
            return 0
        due, self.time, self.revision = self.revision, self.time + 1, answer.revision
        if due:
            await self._kv.compact(due)
        return due
