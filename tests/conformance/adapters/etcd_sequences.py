"""Operation sequences of a real etcd: every sequence on a fresh server with one watch stream, as the recorder had.

Every 100 ms etcd feeds watchers that ask for the past, and an operation took about one: a compaction in between may or
may not overtake a watcher. *When* that loop ran is chance and not recorded, *what* it does then is the rule. So a
sequence is run with the loop at its end; if other watchers were overtaken than in the recording, with the loop also
after one operation, each in turn; last after every operation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from k8slab.etcd import (
    CompactionRequest,
    CompactionResponse,
    Compare,
    DeleteRangeRequest,
    DeleteRangeResponse,
    EtcdError,
    EtcdServer,
    KeyValue,
    LeaseGrantRequest,
    LeaseGrantResponse,
    LeaseRevokeRequest,
    LeaseRevokeResponse,
    PutRequest,
    PutResponse,
    RangeRequest,
    RangeResponse,
    TxnRequest,
    TxnResponse,
    WatchResponse,
)

Json = Any

TICK_MS = 500
MAKERS: dict[str, Any] = {
    "put": PutRequest,
    "range": RangeRequest,
    "delete_range": DeleteRangeRequest,
    "compact": CompactionRequest,
    "lease_grant": LeaseGrantRequest,
    "lease_revoke": LeaseRevokeRequest,
}
KINDS: dict[type, str] = {
    RangeResponse: "response_range",
    PutResponse: "response_put",
    DeleteRangeResponse: "response_delete_range",
    TxnResponse: "response_txn",
}
NAMES = {"TTL": "ttl", "ID": "id"}
TEXTS = ("key", "range_end", "value")
WORDS = ("sort_target", "sort_order")
OPERANDS = {"VERSION": "version", "CREATE": "create_revision", "MOD": "mod_revision", "LEASE": "lease"}


def records(doc: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    for number, sequence in enumerate(doc["sequences"]):
        recorded = overtaken(sequence["watch_responses"])
        for schedule in schedules(len(sequence["ops"])):
            answers, responses = play(sequence, schedule)
            if overtaken(responses) == recorded:
                break
        else:
            answers, responses = play(sequence, frozenset())
        for place, answer in enumerate(answers):
            yield f"sequence {number} op {place}", answer
        yield f"sequence {number} watch", responses


def schedules(operations: int) -> Iterator[frozenset[int]]:
    """After which operations the loop runs."""
    yield frozenset()
    for place in range(operations):
        yield frozenset([place])
    yield frozenset(range(operations))


def play(sequence: dict[str, Json], schedule: frozenset[int]) -> tuple[list[Json], list[Json]]:
    """The answers to the operations, and all responses to watches."""
    client = Client()
    answers = []
    for place, op in enumerate(sequence["ops"]):
        client.pass_time(op.get("advance_ms", 0))
        answers.append(client.run(op["op"], op["req"]))
        if place in schedule:
            client.receive()
    client.receive()
    return answers, [watch_shape(response) for response in client.responses]


def overtaken(responses: list[Json]) -> list[int]:
    """The watches that compaction ended."""
    return sorted(response.get("watch_id", 0) for response in responses if response.get("compact_revision"))


class Client:
    """A server and one client with one watch stream. Time stands still between operations, but for `pass_time`."""

    def __init__(self) -> None:
        self.server = EtcdServer(rng=random.Random(1))
        self.now_ms = 0
        self.stream = self.server.store.watch_stream(early_progress=True)  # the recorded one was 3.5.1
        self.responses: list[WatchResponse] = []

    def pass_time(self, for_ms: int) -> None:
        end = self.now_ms + for_ms
        while self.now_ms < end:
            self.now_ms = min(end, self.now_ms + TICK_MS)
            self.server.tick(self.now_ms)
            self.receive()

    def run(self, op: str, req: Mapping[str, Json]) -> Json:
        answers: dict[str, Callable[[Mapping[str, Json]], Json]] = {
            "watch.create": self._watch,
            "watch.cancel": self._cancel,
            "watch.progress": self._progress,
            "lease_keepalive": self._keep_alive,
            "lease_ttl": self._time_to_live,
            "leases": self._leases,
        }
        try:
            answer = answers[op](req) if op in answers else shape(self.server.do(request(op, req), self.now_ms))
        except EtcdError as error:
            answer = {"error": {"code": error.code, "message": error.message}}
        self.server.check_invariants()
        self.stream.check_invariants()
        return answer

    def receive(self) -> None:
        self.stream.sync()
        self.responses += self.stream.receive()

    def _watch(self, req: Mapping[str, Json]) -> None:
        options = {name: req[name] for name in ("prev_kv", "filters", "progress_notify", "fragment") if name in req}
        self.stream.watch(
            latin(req.get("key", "")),
            latin(req.get("range_end", "")),
            watch_id=int(req.get("watch_id", 0)),
            start_revision=int(req.get("start_revision", 0)),
            **options,
        )

    def _cancel(self, req: Mapping[str, Json]) -> None:
        self.stream.cancel(int(req.get("watch_id", 0)))

    def _progress(self, req: Mapping[str, Json]) -> None:
        self.stream.request_progress()

    def _keep_alive(self, req: Mapping[str, Json]) -> Json:
        response = self.server.lease_keep_alive(int(req["ID"]), self.now_ms)
        return {"rev": response.revision, "ID": response.id, "TTL": response.ttl}

    def _time_to_live(self, req: Mapping[str, Json]) -> Json:
        response = self.server.lease_time_to_live(int(req["ID"]), self.now_ms, keys=req.get("keys", False))
        keys = [key.decode("latin-1") for key in response.keys]
        times = {"TTL": response.ttl, "grantedTTL": response.granted_ttl}
        return {"rev": response.revision, "ID": response.id, **times, "keys": keys}

    def _leases(self, req: Mapping[str, Json]) -> Json:
        response = self.server.lease_leases()
        return {"rev": response.revision, "leases": [{"ID": id} for id in response.leases]}


# -- requests --------------------------------------------------------------------------------------


def latin(text: str) -> bytes:
    return text.encode("latin-1")


def request(op: str, req: Mapping[str, Json]) -> Json:
    if op == "txn":
        return TxnRequest(
            tuple(compare(each) for each in req.get("compare", [])),
            tuple(operation(each) for each in req.get("success", [])),
            tuple(operation(each) for each in req.get("failure", [])),
        )
    values = {NAMES.get(name, name): field(name, value) for name, value in req.items()}
    if op == "compact":
        values.setdefault("revision", 0)
    return MAKERS[op](**values)


def field(name: str, value: Json) -> Json:
    if name in TEXTS:
        return latin(value)
    return value if name in WORDS or isinstance(value, bool) else int(value)


def operation(recorded: Mapping[str, Json]) -> Json:
    ((kind, req),) = recorded.items()
    return request(kind.removeprefix("request_"), req)


def compare(recorded: Mapping[str, Json]) -> Compare:
    target = recorded.get("target", "VERSION")
    operand = latin(recorded.get("value", "")) if target == "VALUE" else int(recorded.get(OPERANDS[target], 0))
    result = recorded.get("result", "EQUAL")
    return Compare(latin(recorded.get("key", "")), target, result, operand, latin(recorded.get("range_end", "")))


# -- responses -------------------------------------------------------------------------------------


def kv_shape(kv: KeyValue | None) -> Json:
    return kv and {**kv._asdict(), "key": kv.key.decode("latin-1"), "value": kv.value.decode("latin-1")}


def shape(response: Json) -> Json:
    rev = {"rev": response.revision}
    if isinstance(response, RangeResponse):
        return {**rev, "kvs": [kv_shape(kv) for kv in response.kvs], "count": response.count, "more": response.more}
    if isinstance(response, PutResponse):
        return {**rev, "prev_kv": kv_shape(response.prev_kv)}
    if isinstance(response, DeleteRangeResponse):
        return {**rev, "deleted": response.deleted, "prev_kvs": [kv_shape(kv) for kv in response.prev_kvs]}
    if isinstance(response, TxnResponse):
        responses = [{KINDS[type(each)]: shape(each)} for each in response.responses]
        return {**rev, "succeeded": response.succeeded, "responses": responses}
    if isinstance(response, LeaseGrantResponse):
        return {**rev, "ID": response.id, "TTL": response.ttl}
    assert isinstance(response, CompactionResponse | LeaseRevokeResponse)
    return rev


def watch_shape(response: WatchResponse) -> Json:
    events = [
        {
            "type": "" if event.type == "PUT" else event.type.value,
            "kv": kv_shape(event.kv),
            "prev_kv": kv_shape(event.prev_kv),
        }
        for event in response.events
    ]
    return {"rev": response.revision, **response._asdict(), "revision": 0, "events": events}
