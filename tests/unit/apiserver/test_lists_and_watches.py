"""Lists with limits, versions and selectors; watches and how they begin and end."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.scheme import CONFIGMAPS, PODS
from k8slab.etcd import WatchResponse
from tests.unit.apiserver.conftest import MERGE, Bench


def fill(bench: Bench, names: str) -> dict[str, str]:
    """ConfigMaps by name; their resourceVersions."""
    return {
        name: bench.call("create", CONFIGMAPS, body={"metadata": {"name": name, "labels": {"l": name}}})["metadata"][
            "resourceVersion"
        ]
        for name in names
    }


def names(found: Any) -> str:
    return "".join(item["metadata"]["name"] for item in found["items"])


def refused(bench: Bench, **params: str) -> tuple[int, str]:
    with pytest.raises(StatusError) as caught:
        bench.call("list", CONFIGMAPS, **params)
    return caught.value.code, caught.value.message


def test_pages_show_one_consistent_state(bench: Bench) -> None:
    fill(bench, "abcde")
    first = bench.call("list", CONFIGMAPS, limit="2")
    assert names(first) == "ab" and first["metadata"]["remainingItemCount"] == 3
    bench.call("delete", CONFIGMAPS, "d")
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "cc"}})
    token = first["metadata"]["continue"]
    second = bench.call("list", CONFIGMAPS, limit="2", **{"continue": token})
    assert names(second) == "cd"
    rest = bench.call("list", CONFIGMAPS, **{"continue": second["metadata"]["continue"]})
    assert names(rest) == "e" and "continue" not in rest["metadata"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_selector_hides_how_many_items_remain(bench: Bench) -> None:
    fill(bench, "abc")
    page = bench.call("list", CONFIGMAPS, limit="1", labelSelector="l in (a,c)")
    assert names(page) == "a" and "continue" in page["metadata"] and "remainingItemCount" not in page["metadata"]
    last = bench.call("list", CONFIGMAPS, limit="1", labelSelector="l in (a)")
    assert "continue" not in last["metadata"]


def test_the_cache_ignores_a_limit_at_version_zero(bench: Bench) -> None:
    fill(bench, "abc")
    assert names(bench.call("list", CONFIGMAPS, limit="1", resourceVersion="0")) == "abc"


def test_an_exact_version_shows_the_past(bench: Bench) -> None:
    versions = fill(bench, "abc")
    exact = {"resourceVersion": versions["b"], "resourceVersionMatch": "Exact"}
    assert names(bench.call("list", CONFIGMAPS, **exact)) == "ab"
    assert names(bench.call("list", CONFIGMAPS, resourceVersion=versions["b"])) == "abc"
    assert names(bench.call("list", CONFIGMAPS, resourceVersion=versions["b"], limit="5")) == "ab"


def test_compaction_hurts_only_a_server_that_has_no_history(bench: Bench) -> None:
    from k8slab.apiserver import APIServer

    versions = fill(bench, "abc")
    token = bench.call("list", CONFIGMAPS, limit="1")["metadata"]["continue"]
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "d"}})
    bench.etcd.compact(bench.etcd.revision)
    exact = {"resourceVersion": versions["b"], "resourceVersionMatch": "Exact"}
    assert names(bench.call("list", CONFIGMAPS, **exact)) == "ab"
    bench.server.kill()
    bench.server = APIServer(bench.loop, bench.etcd, name="apiserver/1")
    bench.you = bench.server.transport("you")
    bench.loop.run(for_ms=10)
    assert refused(bench, **exact) == (410, "The resourceVersion for the provided list is too old.")
    with pytest.raises(StatusError) as caught:
        bench.call("list", CONFIGMAPS, limit="1", **{"continue": token})
    assert caught.value.code == 410
    fresh = caught.value.metadata["continue"]
    assert names(bench.call("list", CONFIGMAPS, **{"continue": fresh})) == "bcd"
    query = {"watch": "true", "resourceVersion": versions["b"]}
    path = "/api/v1/namespaces/default/configmaps"
    response = bench.run(bench.server.handle("GET", path, query))
    assert response.status == 200 and response.frames is not None
    frame = bench.run(response.frames.next())
    assert frame["type"] == "ERROR" and frame["object"]["code"] == 410 and frame["object"]["reason"] == "Expired"
    assert frame["object"]["message"].startswith(f"too old resource version: {versions['b']} (")
    assert bench.run(response.frames.next()) is None


@pytest.mark.parametrize(
    ("params", "code", "text"),
    [
        pytest.param({"limit": "x"}, 400, 'strconv.ParseInt: parsing "x": invalid syntax', id="a limit is a number"),
        pytest.param({"resourceVersion": "-1"}, 400, "invalid resource version: ", id="a version is not negative"),
        pytest.param(
            {"resourceVersion": "99999"}, 504, "Timeout: Too large resource version: 99999", id="not the future"
        ),
        pytest.param({"labelSelector": "a b"}, 400, "unable to parse requirement", id="a selector that does not parse"),
        pytest.param(
            {"fieldSelector": "data.x=1"}, 400, '"data.x" is not a known field selector', id="an unknown field"
        ),
        pytest.param({"resourceVersionMatch": "Exact"}, 422, "ListOptions.meta.k8s.io", id="a match without a version"),
        pytest.param(
            {"sendInitialEvents": "true"}, 422, "ListOptions.meta.k8s.io", id="initial events without a watch"
        ),
        pytest.param(
            {"continue": "abc", "resourceVersion": "5"}, 400, "specifying resource version is not allowed", id="both"
        ),
    ],
)
def test_bad_list_options_are_refused(bench: Bench, params: dict[str, str], code: int, text: str) -> None:
    with pytest.raises(StatusError) as caught:
        bench.run(bench.you.call(_list(params)), for_ms=4_000)
    assert (caught.value.code, caught.value.message[: len(text)]) == (code, text)


def _list(params: dict[str, str]) -> Any:
    from k8slab.api.transport import Request

    return Request("list", CONFIGMAPS, namespace="default", params=params)


def test_pods_are_found_by_their_fields(bench: Bench) -> None:
    bench.pod("p")
    bench.pod("q")
    bench.call("create", PODS, "q", {"metadata": {"name": "q"}, "target": {"name": "n"}}, subresource="binding")
    assert names(bench.call("list", PODS, fieldSelector="spec.nodeName=n")) == "q"
    assert names(bench.call("list", PODS, fieldSelector="spec.nodeName=,status.phase=Pending")) == "p"
    assert names(bench.call("list", PODS, fieldSelector="metadata.name!=p")) == "q"


def test_a_watch_without_a_version_begins_with_what_is_there(bench: Bench) -> None:
    versions = fill(bench, "ab")
    expected = [("ADDED", name, int(version)) for name, version in versions.items()]
    assert bench.watch(CONFIGMAPS) == expected
    assert bench.watch(CONFIGMAPS, resourceVersion="0") == expected


def test_a_watch_from_a_version_tells_what_came_after(bench: Bench) -> None:
    versions = fill(bench, "ab")
    bench.call("delete", CONFIGMAPS, "a")
    seen = bench.watch(CONFIGMAPS, resourceVersion=versions["a"])
    assert [(kind, name) for kind, name, _ in seen] == [("ADDED", "b"), ("DELETED", "a")]


def test_initial_events_end_with_a_bookmark(bench: Bench) -> None:
    fill(bench, "a")
    options = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    seen = bench.watch(CONFIGMAPS, **options)
    assert [kind for kind, _, _ in seen] == ["ADDED", "BOOKMARK"]
    assert seen[-1][2] == bench.etcd.revision


def test_bookmarks_come_every_minute_and_before_the_end(bench: Bench) -> None:
    start = bench.loop.clock.now_ms
    at: list[int] = []

    async def read() -> None:
        from k8slab.api.transport import Request, StreamClosedError

        params = {"allowWatchBookmarks": "true", "timeoutSeconds": "150", "resourceVersion": "0"}
        stream = await bench.you.watch(Request("watch", CONFIGMAPS, params=params))
        try:
            while True:
                assert (await stream.next()).type == "BOOKMARK"
                at.append(bench.loop.clock.now_ms - start)
        except StreamClosedError:
            at.append(bench.loop.clock.now_ms - start)

    bench.run(read(), for_ms=200_000)
    assert at == [60_000, 120_000, 148_000, 150_000]


def test_history_that_is_gone_is_an_error_event(make_bench: Any) -> None:
    bench = make_bench(history=100)
    versions = fill(bench, "a")
    for number in range(150):
        bench.call("patch", CONFIGMAPS, "a", {"data": {"n": str(number)}}, patch_type=MERGE)
    assert [kind for kind, _, _ in bench.watch(CONFIGMAPS, resourceVersion=versions["a"])] == ["ERROR"]


def test_a_watch_of_one_object_names_it(bench: Bench) -> None:
    fill(bench, "ab")
    seen = bench.watch(CONFIGMAPS, fieldSelector="metadata.name=b")
    bench.call("patch", CONFIGMAPS, "a", {"data": {"x": "y"}}, patch_type=MERGE)
    assert [name for _, name, _ in seen] == ["b"]


def test_a_consistent_list_sees_a_write_of_the_same_instant(bench: Bench) -> None:
    counts: list[int] = []

    async def write_and_list() -> None:
        from k8slab.api.transport import Request

        for number in range(5):
            body = {"metadata": {"name": f"n{number}"}}
            await bench.you.call(Request("create", CONFIGMAPS, namespace="default", body=body))
            listed = await bench.you.call(Request("list", CONFIGMAPS, namespace="default"))
            counts.append(len(listed["items"]))

    bench.run(write_and_list())
    assert counts == [1, 2, 3, 4, 5]


def test_a_watch_on_etcd_that_ends_with_its_member_goes_on_where_it_was(bench: Bench) -> None:
    seen = bench.watch(CONFIGMAPS)
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "a"}})
    before = bench.server.caches._watcher
    assert before is not None
    before.cancel()
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "b"}})
    assert [name for _, name, _ in seen] == ["a", "b"]
    assert bench.server.caches._watcher is not before


def test_watches_end_when_the_server_lost_the_thread_and_lists_anew(bench: Bench) -> None:
    from k8slab.api.transport import Request

    stream = bench.run(bench.you.watch(Request("watch", CONFIGMAPS, params={"resourceVersion": "0"})))
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "a"}})
    watcher = bench.server.caches._watcher
    assert watcher is not None
    watcher._hub.cancel(watcher, WatchResponse(0, compact_revision=1, canceled=True))
    bench.loop.run(for_ms=10)
    assert stream.closed
    assert names(bench.call("list", CONFIGMAPS)) == "a"
    seen = bench.watch(CONFIGMAPS)
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "b"}})
    assert [name for _, name, _ in seen] == ["a", "b"]
