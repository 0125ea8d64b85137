"""Claiming: whose object is it?"""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import ConflictError, InvalidError, NotFoundError
from k8slab.api.scheme import GVK, PODS, REPLICASETS
from k8slab.client import Client
from k8slab.controllers.controller_ref import (
    Claim,
    ControllerRefManager,
    Owner,
    claim,
    controller_of,
    new_controller_ref,
)
from k8slab.sim.loop import Loop
from tests.fakes import FakeTransport

KIND = GVK("apps", "v1", "ReplicaSet")


def owner(uid: str = "ours", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web", "namespace": "default", "uid": uid, **metadata}}


def child(controller: str | None = None, app: str = "web", **metadata: Any) -> dict[str, Any]:
    references = [new_controller_ref(owner(controller), KIND)] if controller is not None else []
    base = {
        "name": "web-0",
        "namespace": "default",
        "uid": "child",
        "labels": {"app": app},
        "ownerReferences": references,
    }
    return {"metadata": {**base, **metadata}}


def matches(obj: Any) -> bool:
    return bool(obj["metadata"]["labels"] == {"app": "web"})


DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("who", "what", "expected"),
    [
        pytest.param(owner(), child("ours"), Claim.KEEP, id="ours and it matches"),
        pytest.param(owner(), child("ours", **DELETED), Claim.KEEP, id="ours, though it is being deleted"),
        pytest.param(owner(), child("ours", app="x"), Claim.RELEASE, id="ours, but it no longer matches"),
        pytest.param(
            owner(**DELETED), child("ours", app="x"), Claim.IGNORE, id="an owner being deleted releases nothing"
        ),
        pytest.param(owner(), child("theirs"), Claim.IGNORE, id="somebody else's, though it matches"),
        pytest.param(owner(), child(), Claim.ADOPT, id="an orphan that matches"),
        pytest.param(owner(), child(app="x"), Claim.IGNORE, id="an orphan that does not match"),
        pytest.param(owner(**DELETED), child(), Claim.IGNORE, id="an owner being deleted adopts nothing"),
        pytest.param(owner(), child(**DELETED), Claim.IGNORE, id="an orphan being deleted is left alone"),
        pytest.param(owner(), child(namespace="other"), Claim.IGNORE, id="an orphan of another namespace"),
    ],
)
def test_claim(who: dict[str, Any], what: dict[str, Any], expected: Claim) -> None:
    assert claim(who, what, matches) is expected


def test_an_owner_that_is_not_the_controller_does_not_count() -> None:
    reference = {**new_controller_ref(owner("other"), KIND), "controller": False}
    assert controller_of(child(ownerReferences=[reference])) is None


class Setting:
    """An owner and two orphans on a fake server."""

    def __init__(self) -> None:
        self.loop = Loop(1)
        self.transport = FakeTransport(self.loop)
        spec = {"replicas": 2}
        self.owner = self.transport.put(
            REPLICASETS, {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
        )
        self.pods = [
            self.transport.put(PODS, {"metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}}})
            for name in ("a", "b")
        ]

    def claim(self) -> Any:
        manager = ControllerRefManager(Client(self.transport), Owner(self.owner, KIND, REPLICASETS), PODS, "Pod")
        task = self.loop.spawn("claim", manager.claim(self.pods, matches))
        self.loop.run()
        return task.result


def test_adopting_two_orphans_reads_the_owner_once() -> None:
    setting = Setting()
    assert [pod["metadata"]["name"] for pod in setting.claim()] == ["a", "b"]
    assert setting.transport.verbs("get", "patch") == [
        ("get", "replicasets", "default/web"),
        ("patch", "pods", "default/a"),
        ("patch", "pods", "default/b"),
    ]


def test_an_owner_that_was_replaced_adopts_nothing() -> None:
    setting = Setting()
    setting.transport.remove(REPLICASETS, "default/web")
    setting.transport.put(REPLICASETS, {"metadata": {"name": "web", "namespace": "default"}, "spec": {}})
    with pytest.raises(ConflictError, match="original ReplicaSet default/web is gone: got uid uid-4, wanted uid-1"):
        setting.claim()
    assert setting.transport.verbs("patch") == []


def test_an_orphan_that_is_gone_is_not_claimed_and_no_error() -> None:
    setting = Setting()
    setting.transport.remove(PODS, "default/a")
    assert [pod["metadata"]["name"] for pod in setting.claim()] == ["b"]


@pytest.mark.parametrize(
    "error", [NotFoundError("gone"), InvalidError("uid differs")], ids=["gone", "not ours any more"]
)
def test_a_release_that_is_not_needed_any_more_is_no_error(error: Exception) -> None:
    setting = Setting()
    setting.pods = [
        setting.transport.put(
            PODS,
            {
                "metadata": {
                    "name": "c",
                    "namespace": "default",
                    "labels": {"app": "x"},
                    "ownerReferences": [new_controller_ref(setting.owner, KIND)],
                }
            },
        )
    ]
    setting.transport.fail_next("patch", PODS, error)
    assert setting.claim() == []


def test_one_failure_does_not_keep_others_from_being_claimed() -> None:
    setting = Setting()
    setting.transport.fail_next("patch", PODS, ConflictError("try again"))
    with pytest.raises(ConflictError, match="try again"):
        setting.claim()
    assert "ownerReferences" in setting.transport.get(PODS, "default/b")["metadata"]
