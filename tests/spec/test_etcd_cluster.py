"""etcd on Raft: clients' histories under faults are linearizable, members agree, and clusters above do not notice.

Spec: Jepsen's etcd tests (register, cas; partitions, crashes), etcd's guarantees (KV API guarantees page).
"""

from __future__ import annotations

import random

import pytest

from k8slab import Cluster
from k8slab.check import ALL, RAFT, Operation, judge, not_linearizable
from k8slab.etcd import (
    AlarmMember,
    AlarmRequest,
    AlarmResponse,
    AlarmType,
    CompactionRequest,
    Compare,
    DeleteRangeRequest,
    EtcdCluster,
    EtcdError,
    LeaseGrantRequest,
    NoSpaceError,
    PutRequest,
    RangeRequest,
    RequestTimedOutError,
    RequestTooLargeError,
    TxnRequest,
)
from k8slab.sim import Faults, sleep
from tests.counts import examples
from tests.deployments import deployment, new_image, settle

HISTORIES, PARTS = examples(100), 5


class Clients:
    """Three clients that read, write and compare-and-swap two registers, each one thing at a time."""

    def __init__(self, etcd: EtcdCluster, rng: random.Random) -> None:
        self.etcd = etcd
        self.rng = rng
        self.history: list[Operation] = []
        self.tasks = [etcd.loop.spawn(f"client/{number}", self._work(number)) for number in range(3)]

    @property
    def done(self) -> bool:
        return all(task.done for task in self.tasks)

    async def _work(self, number: int) -> None:
        for turn in range(8):
            key = self.rng.choice("xy")
            called = self.etcd.now_ms
            operation = self._operation(f"client/{number}", key, f"{number}.{turn}", called)
            try:
                self.history.append(await self._ask(operation))
            except EtcdError:
                self.history.append(operation)
            await sleep(self.rng.randint(1, 120))

    def _operation(self, client: str, key: str, value: str, called: int) -> Operation:
        kind = self.rng.choice(("read", "write", "cas"))
        if kind == "cas":
            expected = self.rng.choice((None, *(one.value for one in self.history[-3:])))
            return Operation(client, key, "cas", value, called, None, expected)
        return Operation(
            client, key, "write" if kind == "write" else "read", value if kind == "write" else None, called
        )

    async def _ask(self, operation: Operation) -> Operation:
        via = self.rng.choice(list(self.etcd.machines))
        key, value = operation.key.encode(), (operation.value or "").encode()
        if operation.kind == "read":
            found = await self.etcd.ask(via, RangeRequest(key))
            return operation._replace(returned=self.etcd.now_ms, value=_value(found))
        if operation.kind == "write":
            await self.etcd.ask(via, PutRequest(key, value))
            return operation._replace(returned=self.etcd.now_ms)
        there = Compare(key, "VERSION", "EQUAL", 0)
        if operation.expected is not None:
            there = Compare(key, "VALUE", "EQUAL", operation.expected.encode())
        answer = await self.etcd.ask(via, TxnRequest((there,), (PutRequest(key, value),), ()))
        return operation._replace(returned=self.etcd.now_ms, ok=answer.succeeded)  # type: ignore[union-attr]


def _value(found: object) -> str | None:
    kvs = found.kvs  # type: ignore[attr-defined]
    return kvs[0].value.decode() if kvs else None


def faulty(seed: int) -> tuple[EtcdCluster, Clients]:
    """A cluster whose members crash and are cut off while the clients work, healed at the end."""
    rng = random.Random(f"etcd/{seed}")
    etcd = EtcdCluster(
        rng.choice((1, 3, 3, 5)),
        seed,
        tick_ms=10,
        faults=Faults((1, rng.choice((3, 20))), loss=rng.choice((0, 0.05, 0.2))),
        snapshot_count=rng.choice((5, 50, 10_000)),
        keep_entries=rng.choice((0, 5)),
        sync_ms=(0, rng.choice((0, 5))),
    )
    clients = Clients(etcd, rng)
    for _ in range(rng.randint(3, 12)):
        _hurt(etcd, rng)
        etcd.run(for_ms=rng.randint(10, 400))
        etcd.check_invariants()
    etcd.raft.heal()
    for id in etcd.machines:
        if id not in etcd.raft.alive:
            etcd.raft.restart(id)
    return etcd, clients


def _hurt(etcd: EtcdCluster, rng: random.Random) -> None:
    kind = rng.random()
    down = [id for id in etcd.machines if id not in etcd.raft.alive]
    if kind < 0.3 and etcd.raft.alive:
        etcd.raft.crash(rng.choice(etcd.raft.alive))
    elif kind < 0.6 and down:
        etcd.raft.restart(rng.choice(down))
    elif kind < 0.8:
        etcd.raft.isolate(rng.choice((etcd.leader or 1, rng.choice(list(etcd.machines)))))
    else:
        etcd.raft.heal()


@pytest.mark.parametrize("part", range(PARTS))
def test_what_clients_saw_under_faults_is_linearizable_and_members_agree(part: int) -> None:
    for seed in range(part, HISTORIES, PARTS):
        etcd, clients = faulty(seed)
        assert etcd.run(until=lambda clients=clients: clients.done, for_ms=300_000), f"seed {seed}: nobody answers"  # type: ignore[misc]
        etcd.do(PutRequest(b"z", b"1"))
        etcd.run(for_ms=3_000)
        etcd.check_invariants()
        assert len({etcd.store(id).revision for id in etcd.machines}) == 1, f"seed {seed}"
        assert not_linearizable(clients.history) == [], f"seed {seed}"
        assert [str(one) for one in judge(etcd.trace, RAFT)] == [], f"seed {seed}"
        etcd.close()


def test_a_serializable_read_of_a_member_that_is_cut_off_is_old_and_a_linearizable_one_gets_no_answer() -> None:
    etcd = EtcdCluster(3, seed=3)
    etcd.do(PutRequest(b"k", b"1"))
    etcd.run(for_ms=500)
    away = etcd.leader
    etcd.raft.isolate(away)
    etcd.run(until=lambda: etcd.leader not in (0, away), for_ms=60_000)
    etcd.do(PutRequest(b"k", b"2"), via=etcd.leader)
    assert _value(etcd.do(RangeRequest(b"k", serializable=True), via=away)) == "1"
    with pytest.raises(RequestTimedOutError, match="etcdserver: request timed out"):
        etcd.do(RangeRequest(b"k"), via=away)
    assert _value(etcd.do(RangeRequest(b"k"), via=etcd.leader)) == "2"


def test_a_write_that_timed_out_where_nobody_led_is_not_done_later() -> None:
    etcd = EtcdCluster(3, seed=3)
    etcd.do(PutRequest(b"k", b"1"))
    for id in (2, 3):
        etcd.raft.crash(id)
    etcd.run(for_ms=3_000)
    with pytest.raises(RequestTimedOutError):
        etcd.do(PutRequest(b"k", b"2"), via=1)
    for id in (2, 3):
        etcd.raft.restart(id)
    etcd.run(until=etcd.raft.has_leader)
    etcd.run(for_ms=2_000)
    assert _value(etcd.do(RangeRequest(b"k"))) == "1"


def test_leases_run_on_under_a_new_leader_and_end_once() -> None:
    etcd = EtcdCluster(3, seed=5)
    lease = etcd.do(LeaseGrantRequest(ttl=5))
    etcd.do(PutRequest(b"k", b"1", lease=lease.id))  # type: ignore[union-attr]
    etcd.raft.crash(etcd.leader)
    etcd.run(until=etcd.raft.has_leader)
    etcd.run(for_ms=4_000)
    assert _value(etcd.do(RangeRequest(b"k"))) == "1", "the new leader starts the lease anew, with its whole span"
    etcd.run(for_ms=4_000)
    assert _value(etcd.do(RangeRequest(b"k"))) is None
    etcd.check_invariants()


def test_a_request_that_is_too_large_is_refused_before_anybody_hears_of_it() -> None:
    etcd = EtcdCluster(3, seed=1)
    before = etcd.do(PutRequest(b"k", b"1")).revision
    with pytest.raises(RequestTooLargeError, match="etcdserver: request is too large"):
        etcd.do(PutRequest(b"k", b"x" * 1_572_864))
    assert etcd.do(PutRequest(b"k", b"2")).revision == before + 1


@pytest.mark.parametrize("seed", range(examples(6, 60)))
def test_a_rollout_goes_on_while_the_leader_of_etcd_is_killed(seed: int) -> None:
    cluster = Cluster(nodes=3, seed=seed, etcd=3)
    etcd = cluster.control_plane.etcd
    assert etcd is not None
    cluster.apply(deployment(3))
    settle(cluster, 3)
    new_image(cluster, "nginx:1.28")
    cluster.run(for_ms=random.Random(seed).randint(1, 400))
    killed = f"etcd/{etcd.leader}"
    cluster.crash(killed)
    settle(cluster, 3)
    cluster.restart(killed)
    cluster.run(for_ms=10_000)
    assert [str(one) for one in judge(cluster.trace, ALL)] == []
    etcd.check_invariants()
    newest = cluster.mirror.refresh().revision
    assert {etcd.store(id).revision for id in etcd.machines} == {newest}
    cluster.close()


def test_the_same_seed_gives_the_same_bytes_with_several_members() -> None:
    def bytes_of() -> str:
        cluster = Cluster(nodes=2, seed=11, etcd=3)
        cluster.apply(deployment(2))
        settle(cluster, 2)
        cluster.crash("etcd/1")
        cluster.run(for_ms=20_000)
        text = cluster.trace.to_jsonl()
        cluster.close()
        return text

    assert bytes_of() == bytes_of()


def test_members_that_are_full_raise_the_alarm_when_they_apply_a_write_that_the_leader_had_room_for() -> None:
    # Upstream: server.go, applyEntryNormal: a member whose apply says "no space" proposes the alarm.
    etcd = EtcdCluster(3, seed=7, quota_backend_bytes=100_000)

    def alarms() -> list[AlarmMember]:
        etcd.run(for_ms=500)
        answer = etcd.do(AlarmRequest("GET"))
        assert isinstance(answer, AlarmResponse)
        return sorted(answer.alarms)

    with pytest.raises(NoSpaceError):
        while True:
            etcd.do(PutRequest(b"k", bytes(1_000)))
    assert alarms() == [AlarmMember(etcd.leader, AlarmType.NOSPACE)]
    etcd.do(CompactionRequest(etcd.do(DeleteRangeRequest(b"k")).revision))
    etcd.run(for_ms=500)
    etcd.store(etcd.leader).defrag()
    etcd.do(AlarmRequest("DEACTIVATE", etcd.leader, "NOSPACE"))
    assert etcd.do(PutRequest(b"k", bytes(1_000)), via=etcd.leader)
    assert alarms() == [AlarmMember(id, AlarmType.NOSPACE) for id in (1, 2, 3) if id != etcd.leader]
    with pytest.raises(NoSpaceError):
        etcd.do(PutRequest(b"k", bytes(1_000)), via=etcd.leader)
    etcd.check_invariants()
