"""Runs the recorded operation sequences against a Store and returns responses in the recording's shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.etcd import (
    Compare,
    DeleteRangeRequest,
    DeleteRangeResponse,
    EtcdError,
    KeyValue,
    PutRequest,
    PutResponse,
    RangeRequest,
    RangeResponse,
    Store,
    TxnRequest,
    TxnResponse,
    Watcher,
    WatchResponse,
)

INTEGERS = (
    "revision",
    "limit",
    "lease",
    "min_mod_revision",
    "max_mod_revision",
    "min_create_revision",
    "max_create_revision",
)
OPERANDS = {"VERSION": "version", "CREATE": "create_revision", "MOD": "mod_revision", "LEASE": "lease"}


def encode(text: str) -> bytes:
    return text.encode("latin-1")


def fields(request: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of a recorded request: bytes, ints, no `serializable`."""
    out: dict[str, Any] = {}
    for name, value in request.items():
        if name in ("key", "range_end", "value"):
            out[name] = encode(value)
        elif name != "serializable":
            out[name] = int(value) if name in INTEGERS else value
    return out


def compare(recorded: Mapping[str, Any]) -> Compare:
    target = recorded["target"]
    operand = encode(recorded.get("value", "")) if target == "VALUE" else int(recorded.get(OPERANDS[target], 0))
    return Compare(encode(recorded["key"]), target, recorded["result"], operand, encode(recorded.get("range_end", "")))


def txn(recorded: Mapping[str, Any]) -> TxnRequest:
    return TxnRequest(
        [compare(each) for each in recorded.get("compare", [])],
        [operation(each) for each in recorded.get("success", [])],
        [operation(each) for each in recorded.get("failure", [])],
    )


def operation(recorded: Mapping[str, Any]) -> Any:
    ((kind, request),) = recorded.items()
    if kind == "request_txn":
        return txn(request)
    makers = {
        "request_put": PutRequest,
        "request_range": RangeRequest,
        "request_delete_range": DeleteRangeRequest,
    }
    return makers[kind](**fields(request))


def sparse(**values: Any) -> dict[str, Any]:
    """Zero and false fields are absent, as in the recording."""
    return {name: value for name, value in values.items() if value}


def kv_shape(kv: KeyValue | None) -> dict[str, Any] | None:
    if kv is None:
        return None
    return sparse(**{**kv._asdict(), "key": kv.key.decode("latin-1"), "value": kv.value.decode("latin-1")})


def shape(response: Any) -> dict[str, Any]:
    rev = response.revision
    if isinstance(response, RangeResponse):
        return sparse(rev=rev, kvs=[kv_shape(kv) for kv in response.kvs], count=response.count, more=response.more)
    if isinstance(response, PutResponse):
        return sparse(rev=rev, prev_kv=kv_shape(response.prev_kv))
    if isinstance(response, DeleteRangeResponse):
        return sparse(rev=rev, deleted=response.deleted, prev_kvs=[kv_shape(kv) for kv in response.prev_kvs])
    assert isinstance(response, TxnResponse)
    kinds = {
        RangeResponse: "response_range",
        PutResponse: "response_put",
        DeleteRangeResponse: "response_delete_range",
        TxnResponse: "response_txn",
    }
    responses = [{kinds[type(each)]: shape(each)} for each in response.responses]
    return sparse(rev=rev, succeeded=response.succeeded, responses=responses)


def watch_shape(watch_id: int, response: WatchResponse) -> dict[str, Any]:
    events = [
        sparse(
            type=event.type.value if event.type != "PUT" else "", kv=kv_shape(event.kv), prev_kv=kv_shape(event.prev_kv)
        )
        for event in response.events
    ]
    failed = bool(response.cancel_reason)
    return sparse(
        rev=response.revision,
        watch_id=-1 if failed else watch_id,
        events=events,
        created=response.created,
        canceled=response.canceled,
        compact_revision=response.compact_revision,
        cancel_reason=response.cancel_reason,
    )


class Client:
    """One connection with one watch stream, as the recorder had."""

    def __init__(self) -> None:
        self.store = Store()
        self.watchers: dict[int, Watcher] = {}
        self.refused: list[dict[str, Any]] = []

    def run(self, op: str, req: Mapping[str, Any]) -> dict[str, Any] | None:
        if op.startswith("watch."):
            getattr(self, op.replace(".", "_"))(req)
            return None
        try:
            if op == "txn":
                return shape(self.store.txn(*txn(req)))
            if op == "compact":
                return {"rev": self.store.compact(int(req.get("revision", 0)))}
            return shape(getattr(self.store, op)(**fields(req)))
        except EtcdError as error:
            return {"error": {"code": error.code, "message": error.message}}

    def watch_create(self, req: Mapping[str, Any]) -> None:
        watcher = self.store.watch(
            encode(req.get("key", "")),
            encode(req.get("range_end", "")),
            int(req.get("start_revision", 0)),
            req.get("prev_kv", False),
            req.get("filters", ()),
            sync=False,
        )
        if watcher.canceled:
            self.refused += [watch_shape(-1, each) for each in watcher.pending]
            return
        wanted = int(req.get("watch_id", 0))
        while wanted in self.watchers:
            wanted += 1
        self.watchers[wanted] = watcher

    def watch_cancel(self, req: Mapping[str, Any]) -> None:
        watcher = self.watchers.get(int(req["watch_id"]))
        if watcher is not None:
            watcher.cancel()

    def watch_progress(self, req: Mapping[str, Any]) -> None:
        """A progress response belongs to the stream, not to a watcher: nothing to compare here."""

    def watch_responses(self) -> dict[int, list[dict[str, Any]]]:
        return {watch_id: [watch_shape(watch_id, r) for r in w.pending] for watch_id, w in self.watchers.items()}


def needs_leases(sequence: Mapping[str, Any]) -> bool:
    """A lease was granted: the store can't do that yet."""
    return any(each["op"] in ("lease_grant", "leases") and "error" not in each["res"] for each in sequence["ops"])


def merged(responses: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Batch boundaries between events vary: one list of events, and what came beside them."""
    out: list[dict[str, Any]] = []
    for response in responses:
        events = response.get("events")
        if events is None:
            out.append(dict(response))
        else:
            out += [{"event": event} for event in events]
    return out
