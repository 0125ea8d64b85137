"""What is not done twice changes nothing: every shortcut of the API server and the kubelet, against doing it all.

Upstream: none; the shortcuts are ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.api import patch
from k8slab.api.decoding import Decoded, DecodeError, decode
from k8slab.api.objects import Frozen, freeze, thaw
from k8slab.api.scheme import GVK
from k8slab.api.validation import validate_status_update, validate_update
from k8slab.apiserver.registry.allocation import Held
from k8slab.apiserver.storage import codec
from k8slab.apiserver.watchcache import WatchCache
from k8slab.cluster import Cluster
from k8slab.etcd import Store
from k8slab.kubelet import kubelet
from k8slab.kubelet.runtime import PodSandbox
from tests.counts import examples
from tests.deployments import deployment, life

POD, WIDGET = GVK("", "v1", "Pod"), GVK("example.org", "v1", "Widget")


# -- whole runs ------------------------------------------------------------------------------------


def never_equal(sandbox: PodSandbox, now_ms: int) -> tuple[Any, ...]:
    return (object(),)


def ask_again(cache: WatchCache, obj: Frozen) -> Any:
    return cache.attributes(obj)


async def read_all(held: Held, *args: Any) -> bool:
    return False


SWITCHES: dict[str, tuple[Any, str, Any]] = {
    "what a status is made of": (PodSandbox, "facts", never_equal),
    "the standard library's JSON": (codec, "WRITER", None),
    "the fields of every object anew": (WatchCache, "selectable", ask_again),
    "all Services for each allocation": (Held, "_read_changes", read_all),
    "every key of an interval, also when few were written": (Store, "_recent", lambda *args: None),
}


def run(seed: int, order: str) -> tuple[str, dict[str, Any]]:
    """The trace of a Deployment's life with a node that fails, and all that etcd holds at the end."""
    cluster = Cluster(nodes=3, seed=seed, latency="lan", order=order)
    life(cluster)
    cluster.fail_node("node-1")
    cluster.run(for_ms=360_000)
    cluster.restore_node("node-1")
    cluster.run(for_ms=60_000)
    found = cluster.trace.to_jsonl(), cluster.control_plane.store.view()
    cluster.close()
    return found


@pytest.mark.parametrize("order", ["fifo", "shuffle"])
def test_a_run_is_the_same_without_each_shortcut(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = run(7, order)
    for place, name, instead in SWITCHES.values():
        with monkeypatch.context() as changed:
            changed.setattr(place, name, instead)
            assert run(7, order) == usual, name


def test_most_statuses_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortcut is taken: without it a kubelet computes at least half as many statuses again."""
    original: Callable[..., dict[str, Any]] = kubelet.pod_status

    def count() -> int:
        calls = []
        monkeypatch.setattr(kubelet, "pod_status", lambda *args: (calls.append(1), original(*args))[1])
        cluster = Cluster(nodes=1)
        cluster.apply(deployment(5))
        assert cluster.run(until=cluster.all_ready, for_ms=60_000)
        cluster.close()
        return len(calls)

    few = count()
    monkeypatch.setattr(PodSandbox, "facts", never_equal)
    assert count() >= 1.5 * few


# -- decoding --------------------------------------------------------------------------------------


texts = st.sampled_from(["", "a", "b", "500m", "0.5"])
maps = st.dictionaries(st.sampled_from(["x", "y"]), texts, max_size=2)
wrong = st.sampled_from([None, 1, 1.5, True, [], ["a"], {"x": 1}, "2026-01-01T00:00:00Z"])
conditions = st.lists(
    st.fixed_dictionaries({"type": texts}, optional={"status": texts, "lastTransitionTime": wrong, "new": wrong}),
    max_size=2,
)
containers = st.lists(
    st.fixed_dictionaries(
        {"name": texts},
        optional={"image": texts, "resources": st.fixed_dictionaries({}, optional={"requests": maps}), "args": wrong},
    ),
    max_size=2,
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries({}, optional={"labels": maps | wrong, "annotations": maps, "uid": texts}),
        "spec": st.fixed_dictionaries({}, optional={"containers": containers, "nodeName": texts, "hostPID": wrong}),
        "status": st.fixed_dictionaries({}, optional={"conditions": conditions | wrong, "phase": texts, "odd": wrong}),
        "unknown": wrong,
    },
)
PLAIN: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "b", "labels": {"x": "a"}, "annotations": {"y": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "0.5"}}}], "nodeName": "n"},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}
STORED: Frozen = freeze(decode(PLAIN, POD).object)


def outcome(obj: Any, gvk: GVK, **known: Any) -> tuple[Any, ...]:
    try:
        result: Decoded = decode(obj, gvk, **known)
    except DecodeError as error:
        return str(error), error.path, error.value, error.expected
    return result.object, sorted(result.unknown)


@pytest.mark.parametrize("gvk", [POD, WIDGET], ids=["a kind with a schema", "one without"])
@settings(max_examples=examples(300), deadline=None)
@given(change=changes)
def test_decoding_what_is_known_gives_the_same(gvk: GVK, change: dict[str, Any]) -> None:
    patched = patch.merge_patch(STORED, change)
    assert patched.get("kind") == "Pod"
    assert outcome(patched, gvk, known=STORED) == outcome(thaw(patched), gvk)


def test_decoding_shares_what_is_known() -> None:
    patched = patch.merge_patch(STORED, {"status": {"phase": "Failed"}})
    found = decode(patched, POD, known=STORED).object
    assert found["spec"] is STORED["spec"]
    assert found["status"]["conditions"] is STORED["status"]["conditions"]
    assert decode(thaw(patched), POD).object["spec"] is not STORED["spec"]


def test_a_value_that_is_known_elsewhere_is_looked_at() -> None:
    """Only the same place counts: labels are no spec."""
    moved = {**STORED, "spec": STORED["metadata"]}
    assert outcome(moved, POD, known=STORED) == outcome(thaw(moved), POD)


# -- validation ------------------------------------------------------------------------------------

names = st.sampled_from(["", "ok", "Not_OK", "kubernetes.io/x", "/", "-"])
metadatas = st.fixed_dictionaries(
    {
        **{name: st.just(value) for name, value in (("name", "a"), ("namespace", "b"), ("uid", "u"))},
        "resourceVersion": st.sampled_from(["", "5"]),
    },
    optional={
        "labels": st.dictionaries(names, names, max_size=2),
        "annotations": st.dictionaries(names, names, max_size=2),
        "finalizers": st.lists(names, max_size=2),
        "ownerReferences": st.lists(
            st.fixed_dictionaries({"kind": names}, optional={"name": names, "controller": st.booleans()}), max_size=2
        ),
        "generation": st.integers(-1, 2),
        "deletionTimestamp": st.just("2026-01-01T00:00:00Z"),
    },
)
STORED_METADATA = {
    "name": "a",
    "namespace": "b",
    "uid": "u",
    "resourceVersion": "5",
    "labels": {"ok": "ok"},
    "annotations": {"ok": "anything"},
    "finalizers": ["kubernetes.io/x"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "q", "controller": True}],
    "generation": 1,
}


@pytest.mark.parametrize("check", [validate_update, validate_status_update])
@settings(max_examples=examples(200), deadline=None)
@given(change=metadatas, kept=st.sets(st.sampled_from(sorted(STORED_METADATA))))
def test_what_was_checked_before_is_judged_the_same(check: Any, change: dict[str, Any], kept: set[str]) -> None:
    """`old` is what the server stored; `new` shares the parts `kept` with it."""
    old = freeze({**PLAIN, "metadata": STORED_METADATA})
    new = {**old, "metadata": {**change, **{name: old["metadata"][name] for name in sorted(kept)}}}
    assert check(new, old) == check(thaw(new), thaw(old))


def test_only_what_the_server_gave_out_is_taken_as_checked() -> None:
    """Two objects of a caller's own that share a part: it is checked."""
    labels = {"Not OK": "x"}
    old = {**PLAIN, "metadata": {**STORED_METADATA, "labels": labels}}
    new = {**old, "metadata": {**old["metadata"], "generation": 2}}
    assert any(cause.field == "metadata.labels" for cause in validate_update(new, old))


# -- the writer of JSON ----------------------------------------------------------------------------

atoms = st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9).map(lambda x: round(x, 3)) | st.text()
documents = st.recursive(
    atoms, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20
)


@settings(max_examples=examples(300), deadline=None)
@given(document=documents)
def test_both_writers_write_the_same_bytes(document: Any) -> None:
    expected = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    assert codec.WRITER is not None, "orjson belongs to what is installed"
    assert codec.json_bytes(document) == expected
    assert codec.json_bytes(freeze(document)) == expected
