"""Keys, bytes, continue tokens, conditional transactions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from k8slab.api.errors import ExpiredError, StatusError
from k8slab.apiserver import APIServer, Members
from k8slab.apiserver.storage import (
    COMPACT_REV_KEY,
    Codec,
    CompactTurn,
    KeyExistsError,
    KeyLayout,
    KeyNotFoundError,
    ObjectInvalidError,
    Preconditions,
    SingleMember,
    Storage,
    decode_continue,
    encode,
    encode_continue,
)
from k8slab.etcd import AlarmRequest, CompactionRequest, EtcdCluster, NoSpaceError, PutRequest, Store
from k8slab.sim import Loop

KEY = "/registry/configmaps/default/a"
MINUTE_MS = 60_000
JSON_TYPE = {"Content-Type": "application/json"}


class Lab:
    def __init__(self) -> None:
        self.loop, self.etcd = Loop(seed=1), Store()
        self.codec = Codec(size=8)
        self.storage = Storage(SingleMember(self.loop, self.etcd), self.codec, KeyLayout(), self.loop.trace)

    def run(self, coro: Any) -> Any:
        task = self.loop.spawn("test", coro)
        self.loop.run(until_idle=True)
        return task.result


def config_map(value: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **metadata}, "data": {"k": value}}


@pytest.mark.parametrize(
    ("resource", "namespace", "key"),
    [
        pytest.param("pods", "default", "/registry/pods/default/x", id="built-in resources carry no group"),
        pytest.param("deployments.apps", "default", "/registry/deployments/default/x", id="nor do those of a group"),
        pytest.param("nodes", "", "/registry/minions/x", id="nodes kept their oldest name"),
        pytest.param("replicationcontrollers", "d", "/registry/controllers/d/x", id="so did replication controllers"),
        pytest.param("services", "d", "/registry/services/specs/d/x", id="services live under specs"),
        pytest.param("endpoints", "d", "/registry/services/endpoints/d/x", id="endpoints live beside them"),
        pytest.param("ingresses.networking.k8s.io", "d", "/registry/ingress/d/x", id="ingresses are singular"),
        pytest.param("events.events.k8s.io", "d", "/registry/events/d/x", id="both event APIs share a prefix"),
        pytest.param(
            "customresourcedefinitions.apiextensions.k8s.io",
            "",
            "/registry/apiextensions.k8s.io/customresourcedefinitions/x",
            id="extension servers put their group in front",
        ),
        pytest.param("widgets.ex.io", "d", "/registry/ex.io/widgets/d/x", id="custom resources do too"),
    ],
)
def test_a_resource_has_its_place_in_etcd(resource: str, namespace: str, key: str) -> None:
    layout = KeyLayout()
    assert layout.key(resource, namespace, "x") == key
    stored = "events" if resource == "events.events.k8s.io" else resource
    assert layout.parse(key) == (stored, f"{namespace}/x" if namespace else "x")


def test_a_key_of_somebody_else_is_not_parsed() -> None:
    assert KeyLayout().parse("/other/thing") == ("", "/other/thing")


def test_the_bytes_are_sorted_and_carry_no_resource_version() -> None:
    assert encode({"kind": "X", "metadata": {"resourceVersion": "5", "name": "a"}, "a": 1}) == (
        b'{"a":1,"kind":"X","metadata":{"name":"a"}}'
    )


def test_the_writer_seeds_the_memo_and_nothing_is_decoded() -> None:
    lab = Lab()
    written = lab.run(lab.storage.create(KEY, config_map("1")))
    assert lab.run(lab.storage.get(KEY)) is written
    assert lab.codec.decoded == 0


def test_another_server_decodes_each_revision_once() -> None:
    lab = Lab()
    lab.run(lab.storage.create(KEY, config_map("1")))
    other = Storage(SingleMember(lab.loop, lab.etcd), Codec(), KeyLayout(), lab.loop.trace)
    first, second = lab.run(other.get(KEY)), lab.run(other.get(KEY))
    assert first is second and other.codec.decoded == 1
    assert first["metadata"] == {"name": "a", "resourceVersion": "2"}


def test_the_memo_is_bounded() -> None:
    lab = Lab()
    for number in range(20):
        lab.run(lab.storage.create(f"/registry/configmaps/default/{number}", config_map("1")))
    lab.codec.check_invariants()


def test_a_second_create_finds_the_key_taken() -> None:
    lab = Lab()
    lab.run(lab.storage.create(KEY, config_map("1")))
    with pytest.raises(KeyExistsError):
        lab.run(lab.storage.create(KEY, config_map("2")))


def test_an_update_that_changes_nothing_makes_no_revision() -> None:
    lab = Lab()
    lab.run(lab.storage.create(KEY, config_map("1")))

    async def same(existing: Any) -> Any:
        return {**existing, "data": {"k": "1"}}

    lab.run(lab.storage.guaranteed_update(KEY, same))
    assert lab.etcd.revision == 2


def test_an_update_starts_again_when_somebody_was_faster() -> None:
    lab = Lab()
    lab.run(lab.storage.create(KEY, config_map("1")))
    seen: list[str] = []

    async def append(existing: Any) -> Any:
        seen.append(existing["data"]["k"])
        if len(seen) == 1:
            lab.etcd.put(KEY.encode(), encode(config_map("other")))
        return {**existing, "data": {"k": existing["data"]["k"] + "!"}}

    result = lab.run(lab.storage.guaranteed_update(KEY, append))
    assert seen == ["1", "other"] and result["data"] == {"k": "other!"}


def test_a_dry_run_writes_nothing() -> None:
    lab = Lab()
    lab.run(lab.storage.create(KEY, config_map("1", uid="u")))

    async def change(existing: Any) -> Any:
        return {**existing, "data": {"k": "2"}}

    changed = lab.run(lab.storage.guaranteed_update(KEY, change, dry_run=True))
    lab.run(lab.storage.delete(KEY, dry_run=True))
    lab.run(lab.storage.create(KEY + "b", config_map("1"), dry_run=True))
    assert changed["data"] == {"k": "2"} and changed["metadata"]["resourceVersion"] == "2"
    assert lab.etcd.revision == 2


def test_a_deletion_returns_the_object_with_the_revision_of_the_deletion() -> None:
    lab = Lab()
    lab.run(lab.storage.create(KEY, config_map("1")))
    assert lab.run(lab.storage.delete(KEY))["metadata"]["resourceVersion"] == "3"
    with pytest.raises(KeyNotFoundError):
        lab.run(lab.storage.delete(KEY))


def test_a_uid_precondition_says_what_differs() -> None:
    lab = Lab()
    lab.run(lab.storage.create(KEY, config_map("1", uid="one")))
    with pytest.raises(ObjectInvalidError) as caught:
        lab.run(lab.storage.delete(KEY, preconditions=Preconditions(uid="two")))
    assert str(caught.value) == (
        "StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/a, ResourceVersion: 0, "
        "AdditionalErrorMsg: Precondition failed: UID in precondition: two, UID in object meta: one"
    )


def test_lists_of_compacted_and_future_revisions_fail() -> None:
    lab = Lab()
    lab.run(lab.storage.create(KEY, config_map("1")))
    lab.run(lab.storage.create(KEY + "b", config_map("1")))
    lab.etcd.compact(3)
    with pytest.raises(ExpiredError):
        lab.run(lab.storage.list("/registry/configmaps/", revision=2))
    with pytest.raises(StatusError) as caught:
        lab.run(lab.storage.list("/registry/configmaps/", revision=99))
    assert caught.value.code == 504 and caught.value.message == "Timeout: Too large resource version: 99, current: 3"


def test_history_is_recorded_with_deletions() -> None:
    lab = Lab()
    lab.run(lab.storage.create(KEY, config_map("1")))
    lab.run(lab.storage.delete(KEY))
    states = lab.loop.trace.history("configmaps", "default/a")
    assert [(revision, obj is None) for revision, obj in states] == [(2, False), (3, True)]


@pytest.mark.parametrize(
    ("token", "text"),
    [
        pytest.param("abc", "invalid character 'i' looking for beginning of value", id="text that is not JSON"),
        pytest.param("zz", "invalid character 'Ï' looking for beginning of value", id="a byte that is no text"),
        pytest.param("eyJ2Ijoib", "illegal base64 data at input byte 8", id="base64 cut in the middle of a byte"),
        pytest.param("<x>", "illegal base64 data at input byte 0", id="text that is not base64"),
        pytest.param("e30", "server does not recognize this encoded version ", id="an object without a version"),
    ],
)
def test_a_bad_continue_token_is_explained(token: str, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        decode_continue(token, "")
    assert str(caught.value) == f"continue key is not valid: {text}"


def test_a_continue_token_cannot_climb_out_of_its_prefix() -> None:
    token = encode_continue("/p/../../secrets/", "/p/", 5)
    with pytest.raises(ValueError, match="continue key is not valid"):
        decode_continue(token, "/p/")


def test_a_continue_token_comes_back_as_it_was() -> None:
    assert decode_continue(encode_continue("default/a\0", "default/", 7), "default/") == ("default/a\0", 7)


class Broken:
    """A member that answers nothing while `is_broken`."""

    def __init__(self, member: SingleMember) -> None:
        self._member = member
        self.is_broken = False

    async def range(self, key: bytes, range_end: bytes = b"", **options: Any) -> Any:
        self._check()
        return await self._member.range(key, range_end, **options)

    async def txn(self, *parts: Any) -> Any:
        self._check()
        return await self._member.txn(*parts)

    async def compact(self, revision: int) -> None:
        self._check()
        await self._member.compact(revision)

    def watch(self, key: bytes, range_end: bytes, start_revision: int) -> Any:
        return self._member.watch(key, range_end, start_revision)

    def _check(self) -> None:
        if self.is_broken:
            raise TimeoutError("no leader")


def test_an_etcd_that_does_not_answer_is_a_server_error_and_not_the_end() -> None:
    loop, etcd = Loop(seed=1), Store()
    broken = Broken(SingleMember(loop, etcd))
    broken.is_broken = True
    server = APIServer(loop, broken)
    loop.run(for_ms=10)
    assert not server.caches.is_ready
    broken.is_broken = False
    loop.run(for_ms=2_000)
    assert server.caches.is_ready
    broken.is_broken = True
    task = loop.spawn("you", server.handle("GET", "/api/v1/namespaces/default/configmaps/a"))
    loop.run(for_ms=10)
    assert task.result.status == 500 and b"etcdserver: request timed out" in task.result.body
    loop.run(for_ms=1_000_000)
    loop.close()


def test_history_older_than_five_minutes_is_compacted() -> None:
    loop, etcd = Loop(seed=1), Store()
    server = APIServer(loop, etcd)
    loop.run(for_ms=1_000)
    first = etcd.revision
    loop.run(for_ms=300_000)
    etcd.put(KEY.encode(), encode(config_map("1")))
    assert etcd.compact_revision <= 0
    loop.run(for_ms=300_000)
    assert etcd.compact_revision == first + 1, "as of the note in compact_rev_key, before the put"
    server.check_invariants()
    loop.close()


def test_of_several_servers_one_compacts_and_another_takes_over_when_it_dies() -> None:
    loop, etcd = Loop(seed=1), Store()
    servers = [
        APIServer(loop, SingleMember(loop, etcd, lane=f"apiserver/{n}"), name=f"apiserver/{n}") for n in range(3)
    ]
    loop.run(for_ms=16 * MINUTE_MS)
    servers[0].kill()
    loop.run(for_ms=15 * MINUTE_MS)
    done = [(e.now_ms // MINUTE_MS, e.actor) for e in loop.trace if e.kind == "etcd.compact"]
    assert done == [(10, "apiserver/0"), (15, "apiserver/0"), *((minute, "apiserver/1") for minute in (20, 25, 30))]
    assert etcd.range(COMPACT_REV_KEY).kvs[0].version == 6, "one note every five minutes, from the fifth on"


def test_a_turn_that_another_server_took_changes_nothing_and_is_learned_of() -> None:
    # As upstream's TestCompactConflict: times 0, 0 and 1.
    lab = Lab()
    kv = SingleMember(lab.loop, lab.etcd)
    lab.etcd.put(b"/somekey", b"data")
    first, second = CompactTurn(kv), CompactTurn(kv)
    first.revision = 2
    assert (lab.run(first.take()), lab.etcd.compact_revision) == (2, 2)
    assert (first.time, first.revision) == (1, 3)
    second.revision = 3
    assert (lab.run(second.take()), lab.etcd.compact_revision) == (0, 2)
    assert (second.time, second.revision) == (1, 3)
    assert (lab.run(second.take()), lab.etcd.compact_revision) == (3, 3)
    assert (second.time, second.revision) == (2, 4)


def test_an_etcd_out_of_space_refuses_writes_and_the_compaction_that_would_help() -> None:
    loop = Loop(seed=1)
    etcd = EtcdCluster(1, loop=loop, quota_backend_bytes=200_000)
    loop.run(until=etcd.raft.has_leader)
    server = APIServer(loop, Members(loop, etcd))
    loop.run(for_ms=6 * MINUTE_MS)

    def call(method: str, path: str, body: dict[str, Any]) -> Any:
        task = loop.spawn("you", server.handle(method, path, {}, JSON_TYPE, json.dumps(body).encode()))
        loop.run(until=lambda: task.done)
        return json.loads(task.result.body)

    path = "/api/v1/namespaces/default/configmaps"
    assert call("POST", path, config_map("x"))["kind"] == "ConfigMap"
    answers = [call("PUT", f"{path}/a", config_map("x" * (20_000 + n))) for n in range(12)]
    wanted = {"code": 500, "message": "etcdserver: mvcc: database space exceeded"}
    assert {key: answers[-1].get(key) for key in wanted} == wanted
    loop.run(for_ms=5 * MINUTE_MS)
    failed = [event.message for event in loop.trace if event.kind == "etcd.compact.failed"]
    assert failed == ["the API server cannot compact: etcdserver: mvcc: database space exceeded"]
    assert etcd.store(1).compact_revision == -1
    loop.close()


def test_a_server_that_starts_over_an_etcd_out_of_space_makes_its_objects_when_there_is_room() -> None:
    loop = Loop(seed=1)
    etcd = EtcdCluster(1, loop=loop, quota_backend_bytes=60_000)
    etcd.run(until=etcd.raft.has_leader)
    with pytest.raises(NoSpaceError):
        while True:
            etcd.do(PutRequest(b"fill", bytes(5_000)))
    server = APIServer(loop, Members(loop, etcd))
    loop.run(for_ms=10_000)
    assert server.caches.is_ready and server.cached("namespaces", "", "default") is None
    etcd.do(CompactionRequest(etcd.store(1).revision))
    etcd.store(1).defrag()
    etcd.do(AlarmRequest("DEACTIVATE", 1, "NOSPACE"))
    loop.run(for_ms=2_000)
    assert server.cached("namespaces", "", "default") is not None
    told = {event.message for event in loop.trace if event.kind == "bootstrap.failed"}
    assert any("cannot write /registry/" in message and "space exceeded" in message for message in told)
    loop.close()
