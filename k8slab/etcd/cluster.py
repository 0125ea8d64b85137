"""etcd with several members: every write is agreed on by Raft, and applied by all in the same order.

>>> from k8slab.etcd import EtcdCluster, PutRequest, RangeRequest
>>> etcd = EtcdCluster(3, seed=7)
>>> etcd.do(PutRequest(b"k", b"v")).revision
2
>>> etcd.raft.crash(etcd.leader)
>>> etcd.do(RangeRequest(b"k")).kvs[0].value, len(etcd.raft.alive)
(b'v', 2)

A read goes to a majority first, unless it says `serializable`: then the member that is asked answers with what it has.

Upstream: etcd 3.6 server/etcdserver/v3_server.go (processInternalRaftRequestOnce, linearizableReadLoop), server.go
Simplified: one client connection is one call; no learners' limits, no downgrade, no authentication.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from k8slab.etcd.compactor import Compactor
from k8slab.etcd.errors import (
    EtcdError,
    LeaderFailTimeoutError,
    NoSpaceError,
    ProposalDroppedError,
    RequestTimedOutError,
    StoppedError,
)
from k8slab.etcd.messages import AlarmType, LoggedRequest, LoggedResponse, RangeRequest, TxnRequest
from k8slab.etcd.reads import LinearizableReads
from k8slab.etcd.server import EtcdServer
from k8slab.etcd.store import Store
from k8slab.etcd.txn import check_request, is_readonly, is_serializable
from k8slab.etcd.watch import Watcher
from k8slab.etcd.wire import decode, encode
from k8slab.raft import Entry, Member, Node, RaftCluster, RaftError
from k8slab.sim import Clock, Faults, Future, Loop, Network, Order, Trace, sleep

__all__ = ["EtcdCluster", "EtcdMachine"]

DUE_MS = 500
"""How often a leader looks for leases that ended."""

_REQUEST_MS = 5_000


class EtcdMachine:
    """A member's state: an EtcdServer that applies log entries. `answers`: who waits here for which request.

    `reads` is there once the member runs.
    """

    reads: LinearizableReads | None = None

    def __init__(self, server: EtcdServer, now_ms: Callable[[], int]) -> None:
        self.server = server
        self.answers: dict[int, Future[LoggedResponse]] = {}
        self.last: tuple[LoggedRequest, LoggedResponse | EtcdError] | None = None
        self._now_ms = now_ms

    def apply(self, entry: Entry) -> None:
        """Carry a request out, and answer whoever waits for it here."""
        id, request = decode(entry.data)
        answer = self.server.applier.try_apply(request, self._now_ms())
        self.server.done(request, self._now_ms(), answer if isinstance(answer, EtcdError) else None)
        self.last = (request, answer)
        waiting = self.answers.pop(id, None)
        if waiting is None:
            return
        if isinstance(answer, EtcdError):
            waiting.fail(answer)
        else:
            waiting.resolve(answer)

    def snapshot(self) -> bytes:
        """Store, leases and alarms."""
        return self.server.snapshot()

    def restore(self, data: bytes) -> None:
        """Become what a snapshot says; the empty one is a new member."""
        if data:
            self.server.restore(data, self._now_ms())
            if self.reads is not None:
                self.reads.moved_on()


class EtcdCluster:
    """Members 1 to `size`; `raft` is the group below, to be crashed, cut and healed. Options as of RaftCluster.

    `compactor`: makes each member's compactor. `on_applied` is told of every request, when the first member applies it.
    `Stepper(etcd)` shows the group as of RaftCluster.
    """

    views = ("raft", "lanes")
    looks_within = True

    def __init__(
        self,
        size: int = 3,
        seed: int | str = 0,
        *,
        loop: Loop | None = None,
        order: Order | None = None,
        trace: bool = True,
        network: Network | None = None,
        name: str = "etcd",
        quota_backend_bytes: int = 0,
        compactor: Callable[[], Compactor] | None = None,
        faults: Faults | None = None,
        tick_ms: int = 100,
        election_tick: int = 10,
        **options: Any,
    ) -> None:
        if compactor is not None and not callable(compactor):
            raise TypeError(f"compactor is {compactor!r}, expected a function that makes a Compactor")
        self.machines: dict[int, EtcdMachine] = {}
        self.on_applied: list[Callable[[LoggedRequest, LoggedResponse | EtcdError], None]] = []
        self._quota = quota_backend_bytes
        self._compactor = compactor
        self._tick_ms = tick_ms
        self._election_tick = election_tick
        self._number = 0
        self._applied = 0
        self._name = name
        self._elected_ms = 0
        self.loop = Loop(seed, order=order, trace=Trace(Clock(), on=trace)) if loop is None else loop
        self.raft = RaftCluster(
            size,
            loop=self.loop,
            network=network,
            name=name,
            machine=self._machine,
            faults=faults,
            tick_ms=tick_ms,
            election_tick=election_tick,
            on_start=self._started,
            **options,
        )

    # -- members -----------------------------------------------------------------------------------

    def _machine(self, id: int) -> EtcdMachine:
        """What a member starts with, before it reads its disk."""
        loop = self.loop
        return EtcdMachine(
            EtcdServer(
                member_id=id,
                rng=loop.stream(f"{self._name}/{id}/leases"),
                quota_backend_bytes=self._quota,
                election_timeout_ms=self.election_timeout_ms,
                heartbeat_ms=self._tick_ms,
                compactor=None if self._compactor is None else self._compactor(),
                is_leader=False,
            ),
            lambda: loop.clock.now_ms,
        )

    def _started(self, id: int, member: Member) -> None:
        """A member begins to work, for the first time or again; until then `machines` has the one before."""
        machine = member.machine
        assert isinstance(machine, EtcdMachine), "it was made by _machine"
        self.machines[id] = machine
        member.on_role.append(lambda role: self._role(role, machine))
        machine.reads = reads = LinearizableReads(
            self.loop,
            ask=lambda context: member.call(lambda node: node.read_index(context), "read"),
            applied=lambda: member.applied,
            prefix=f"{id}/{self.now_ms}/",  # as upstream: member and start
            timeout_ms=self.request_timeout_ms,
        )
        member.on_lead.append(lambda lead: reads.leader_changed() if lead else None)
        member.on_apply.append(lambda entry: self._note(member, machine, entry))
        member.on_apply.append(lambda entry: self._raise_alarm(id, machine, entry))
        member.on_apply.append(lambda entry: _tell_reads(reads, entry))
        member.on_read.append(lambda state: reads.confirmed(state.context, state.index))
        member.component.on_close(lambda: self._stopped(machine, reads))
        member.component.spawn("reads", reads.run)
        member.component.spawn("due", lambda: self._due(id, machine))

    def _role(self, role: str, machine: EtcdMachine) -> None:
        if role == "StateLeader":
            self._elected_ms = self.now_ms
        elif machine.server.lessor.is_primary:
            machine.server.demote()

    def _note(self, member: Member, machine: EtcdMachine, entry: Entry) -> None:
        """A leader that applied an entry of its own term has applied all of earlier ones: its leases run now."""
        raft = member.node.raft
        if raft.role == "StateLeader" and entry.term == raft.term and not machine.server.lessor.is_primary:
            machine.server.promote(self.now_ms)
        if entry.index > self._applied:
            self._applied = entry.index
            self.loop.changed = True
            if entry.type == "EntryNormal" and entry.data and machine.last is not None:
                for listener in self.on_applied:
                    listener(*machine.last)

    def _raise_alarm(self, id: int, machine: EtcdMachine, entry: Entry) -> None:
        """Every member that finds its own file full when it applies a write says so, whoever asked for the write."""
        if entry.type != "EntryNormal" or not entry.data or machine.last is None:
            return
        applier = machine.server.applier
        if isinstance(machine.last[1], NoSpaceError) and not applier.alarms.get(AlarmType.NOSPACE):
            self._propose(id, machine.server.alarm())

    def _stopped(self, machine: EtcdMachine, reads: LinearizableReads) -> None:
        """Whoever waits for an answer of this member gets none; its watches end."""
        for answer in machine.answers.values():
            answer.fail(StoppedError())
        machine.answers.clear()
        reads.stop()
        machine.server.store.close_watchers()

    async def _due(self, id: int, machine: EtcdMachine) -> None:
        server = machine.server
        while True:
            await sleep(DUE_MS, periodic=True)
            server.store.sync_watchers()
            for request in server.due(self.now_ms):
                self._propose(id, request)

    @property
    def leader(self) -> int:
        """Who leads, 0 when nobody does."""
        return self.raft.leader

    def server(self, id: int) -> EtcdServer:
        """A member's state."""
        self._member(id)
        return self.machines[id].server

    def store(self, id: int) -> Store:
        """A member's own store, as far as it has applied."""
        return self.server(id).store

    # -- requests ----------------------------------------------------------------------------------

    @property
    def election_timeout_ms(self) -> int:
        """The shortest time without a leader's word after which a member wants to be elected."""
        return self._tick_ms * self._election_tick

    @property
    def request_timeout_ms(self) -> int:
        """How long a member waits for the group: long enough for an election."""
        return _REQUEST_MS + 2 * self.election_timeout_ms

    async def ask(self, id: int, request: LoggedRequest) -> LoggedResponse:
        """Have member `id` answer. Raises EtcdError; after an UnavailableError a write may have been done or not."""
        self._alive(id)
        server = self.server(id)
        if isinstance(request, RangeRequest | TxnRequest) and is_readonly(request):
            check_request(request, server.max_txn_ops)
            if not is_serializable(request):
                reads = self.machines[id].reads
                assert reads is not None, "a member that is alive has them"
                await reads.wait()
            return server.applier.read(request)
        try:
            request = server.prepare(request)
        except NoSpaceError:
            self._propose(id, server.alarm())
            raise
        answer: LoggedResponse = await self._wait(self._propose(id, request))
        return answer

    def _member(self, id: int) -> Member:
        member = self.raft.members.get(id) if isinstance(id, int) else None
        if member is None:
            raise ValueError(f"member is {id!r}, expected one of {', '.join(map(str, self.raft.members))}")
        return member

    def _alive(self, id: int) -> Member:
        member = self._member(id)
        if not member.component.alive:
            raise StoppedError
        return member

    def is_reachable(self, id: int, source: str) -> bool:
        """Whether a client that is called `source` in the network can ask member `id`."""
        member, network = self._member(id), self.raft.network
        here = member.component.alive
        return here and not network.blocked(source, member.name) and not network.blocked(member.name, source)

    def _propose(self, id: int, request: LoggedRequest) -> Future[LoggedResponse]:
        self._number += 1
        number = id << 48 | self._number
        answer: Future[LoggedResponse] = Future(self.loop)
        machine = self.machines[id]
        data = encode(request, number)
        machine.answers[number] = answer

        def propose(node: Node) -> None:
            if answer.done:  # whoever asked has given up
                return
            try:
                node.propose(data)
            except RaftError:
                machine.answers.pop(number, None)
                answer.fail(ProposalDroppedError())
                raise

        self._alive(id).call_with_leader(propose, type(request).__name__)
        return answer

    async def _wait(self, answer: Future[Any]) -> Any:
        started = self.now_ms
        try:
            return await answer.wait(self.request_timeout_ms)
        except TimeoutError:
            lost = self._elected_ms - 2 * self.election_timeout_ms < started < self._elected_ms
            error = LeaderFailTimeoutError() if lost else RequestTimedOutError()
            answer.fail(error)
            raise error from None

    def watch(self, id: int, key: bytes, range_end: bytes = b"", start_revision: int = 0, **options: Any) -> Watcher:
        """Watch on member `id`: it hears what that member has applied, and ends when the member stops."""
        self.raft.check_open()
        self._alive(id)
        return self.store(id).watch(key, range_end, start_revision=start_revision, **options)

    def do(self, request: LoggedRequest, *, via: int | None = None) -> LoggedResponse:
        """Run until a request is answered. Raises EtcdError; TypeError or ValueError for a request that is none."""
        self.raft.check_open()
        if via is not None:
            self._member(via)
        else:
            self.raft.run(until=self.raft.has_leader)
            via = self.leader or (self.raft.alive or [1])[0]
        task = self.loop.spawn("you/request", self.attempt(via, request))
        self.raft.run(until=lambda: task.done, for_ms=2 * self.request_timeout_ms)
        if isinstance(task.result, EtcdError):
            raise task.result
        answer: LoggedResponse = task.result
        return answer

    async def attempt(self, id: int, request: LoggedRequest) -> LoggedResponse | EtcdError:
        """As `ask`, with the error as a value."""
        try:
            return await self.ask(id, request)
        except EtcdError as error:
            return error

    # -- running and looking -----------------------------------------------------------------------

    @property
    def trace(self) -> Trace:
        return self.raft.trace

    @property
    def now_ms(self) -> int:
        return self.loop.clock.now_ms

    def run(self, *, until: Callable[[], bool] | None = None, for_ms: int | None = None) -> bool:
        """As of RaftCluster."""
        return self.raft.run(until=until, for_ms=for_ms)

    def step(self) -> bool:
        """One action."""
        return self.raft.step()

    def command(self, text: str) -> None:
        """As of RaftCluster."""
        self.raft.command(text)

    def all_ready(self) -> bool:
        """As of RaftCluster."""
        return self.raft.all_ready()

    def view(self) -> Mapping[str, Any]:
        """As of RaftCluster, and the state of each member that runs."""
        stores = {str(id): self.server(id).view() for id in self.raft.alive}
        return {**self.raft.view(), "stores": stores}

    def check_invariants(self) -> None:
        """AssertionError when a member contradicts itself, or two that have applied equally much differ."""
        self.raft.check_invariants()
        seen: dict[int, bytes] = {}
        for id in self.raft.alive:
            self.server(id).check_invariants()
            applied = self.raft.members[id].applied
            hash = self.store(id).snapshot()
            assert seen.setdefault(applied, hash) == hash, f"members differ that have both applied {applied} entries"

    def close(self) -> None:
        """As of RaftCluster."""
        self.raft.close()


def _tell_reads(reads: LinearizableReads, entry: Entry) -> None:
    reads.moved_on()
    if entry.type == "EntryNormal" and not entry.data:  # a new leader's first
        reads.first_commit_in_term()
