"""The verbs: which request each of them is."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest

from k8slab.api.objects import Object, freeze
from k8slab.api.scheme import DEPLOYMENTS, EVENTS, NODES, PODS
from k8slab.api.transport import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request
from k8slab.client import Client

POD: dict[str, Any] = {"metadata": {"name": "a", "namespace": "default"}, "spec": {}}
NODE: dict[str, Any] = {"metadata": {"name": "n1"}}


class Recorder:
    """A transport that remembers requests and answers nothing."""

    def __init__(self) -> None:
        self.request: Request | None = None

    async def call(self, request: Request) -> Object:
        self.request = request
        return freeze({})  # type: ignore[no-any-return]

    async def watch(self, request: Request) -> Any:
        self.request = request


def request_of(call: Any) -> Request:
    recorder = Recorder()
    coro: Awaitable[Any] = call(Client(recorder))
    with pytest.raises(StopIteration):
        coro.send(None)  # type: ignore[attr-defined]
    assert recorder.request is not None
    return recorder.request


CASES = {
    "get names the object": (lambda c: c.get(PODS, "a", "default"), Request("get", PODS, "default", "a")),
    "get of a cluster object has no namespace": (lambda c: c.get(NODES, "n1"), Request("get", NODES, "", "n1")),
    "list passes selectors and paging by their wire names": (
        lambda c: c.list(PODS, "default", label_selector="a=b", limit=5, continue_="t", resource_version="7"),
        Request(
            "list",
            PODS,
            "default",
            params={"labelSelector": "a=b", "limit": "5", "continue": "t", "resourceVersion": "7"},
        ),
    ),
    "empty parameters are left out": (
        lambda c: c.list(PODS, label_selector="", limit=None, allow_watch_bookmarks=False),
        Request("list", PODS),
    ),
    "create takes the namespace of the object": (
        lambda c: c.create(PODS, POD),
        Request("create", PODS, "default", body=POD),
    ),
    "create takes a namespace of its own, and dry-run": (
        lambda c: c.create(PODS, POD, "other", dry_run="All"),
        Request("create", PODS, "other", body=POD, params={"dryRun": "All"}),
    ),
    "update names the object it replaces": (
        lambda c: c.update(PODS, POD),
        Request("update", PODS, "default", "a", body=POD),
    ),
    "update_status goes to the subresource": (
        lambda c: c.update_status(NODES, NODE),
        Request("update", NODES, "", "n1", "status", NODE),
    ),
    "patch is strategic unless said otherwise": (
        lambda c: c.patch(PODS, "a", {"x": 1}, "default"),
        Request("patch", PODS, "default", "a", body={"x": 1}, patch_type=STRATEGIC_MERGE_PATCH),
    ),
    "patch of a subresource by merge": (
        lambda c: c.patch(NODES, "n1", {"x": 1}, patch_type=MERGE_PATCH, subresource="status", force=True),
        Request("patch", NODES, "", "n1", "status", {"x": 1}, {"force": "true"}, MERGE_PATCH),
    ),
    "a JSON patch is a list": (
        lambda c: c.patch(PODS, "a", ({"op": "remove", "path": "/x"},), "default", JSON_PATCH),
        Request("patch", PODS, "default", "a", body=[{"op": "remove", "path": "/x"}], patch_type=JSON_PATCH),
    ),
    "delete without options has no body": (
        lambda c: c.delete(PODS, "a", "default"),
        Request("delete", PODS, "default", "a"),
    ),
    "delete puts options and preconditions into the body and parameters into the query": (
        lambda c: c.delete(PODS, "a", "default", uid="u", resource_version="5", grace_period_seconds=0, dry_run="All"),
        Request(
            "delete",
            PODS,
            "default",
            "a",
            body={"gracePeriodSeconds": 0, "preconditions": {"uid": "u", "resourceVersion": "5"}},
            params={"dryRun": "All"},
        ),
    ),
    "delete_collection has selectors in the query and the propagation in the body": (
        lambda c: c.delete_collection(EVENTS, "default", field_selector="a=b", propagation_policy="Background"),
        Request(
            "deletecollection",
            EVENTS,
            "default",
            body={"propagationPolicy": "Background"},
            params={"fieldSelector": "a=b"},
        ),
    ),
    "watch asks for bookmarks and initial events": (
        lambda c: c.watch(PODS, resource_version="3", allow_watch_bookmarks=True, send_initial_events=True),
        Request(
            "watch",
            PODS,
            params={"resourceVersion": "3", "allowWatchBookmarks": "true", "sendInitialEvents": "true"},
        ),
    ),
    "a binding is created on the Pod": (
        lambda c: c.create_subresource(PODS, "default", "a", "binding", {"target": {"name": "n1"}}),
        Request("create", PODS, "default", "a", "binding", {"target": {"name": "n1"}}),
    ),
    "a scale is read from its subresource": (
        lambda c: c.get_subresource(DEPLOYMENTS, "default", "d", "scale"),
        Request("get", DEPLOYMENTS, "default", "d", "scale"),
    ),
    "a scale is written to its subresource": (
        lambda c: c.update_subresource(DEPLOYMENTS, "default", "d", "scale", {"spec": {"replicas": 3}}),
        Request("update", DEPLOYMENTS, "default", "d", "scale", {"spec": {"replicas": 3}}),
    ),
}


@pytest.mark.parametrize(("call", "expected"), CASES.values(), ids=CASES.keys())
def test_verb(call: Any, expected: Request) -> None:
    assert request_of(call) == expected


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(TypeError, match="parameter 'labels': expected one of label_selector"):
        request_of(lambda c: c.list(PODS, labels="a=b"))
