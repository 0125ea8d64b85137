"""CustomResourceDefinitions and operators: what is served, and what is refused."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from k8slab.api.scheme import GVR
from k8slab.cluster import Cluster
from k8slab.controllers import ControllerContext

GEARS = GVR("example.com", "v2", "gearboxes")


def definition(**spec: Any) -> dict[str, Any]:
    """Gearboxes: a plural that nobody guesses, no namespaces, a status."""
    usual = {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"kind": "Gear", "plural": "gearboxes"},
        "versions": [
            {"name": "v1", "served": True, "storage": False},
            {"name": "v2", "served": True, "storage": True, "subresources": {"status": {}}},
        ],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gearboxes.example.com"},
        "spec": {**usual, **spec},
    }


GEAR = {"apiVersion": "example.com/v2", "kind": "Gear", "metadata": {"name": "first"}, "status": {"turns": 1}}


@pytest.fixture
def cluster() -> Any:
    made = Cluster(nodes=0)
    yield made
    made.close()


def test_a_definition_decides_plural_scope_and_status(cluster: Cluster) -> None:
    cluster.apply([GEAR, definition()])  # the definition counts for what stands before it, too
    found = cluster.object("gearboxes/first")
    assert "namespace" not in found["metadata"]
    assert "status" not in found  # only the status subresource writes it
    cluster.patch("gear/first", {"status": {"turns": 2}}, subresource="status")
    assert cluster.object("gear/first")["status"] == {"turns": 2}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"group": ""}, "spec.group: '': expected a text"),
        ({"names": {"kind": "Gear"}}, "spec.names.plural: None: expected a text"),
        ({"scope": "Galaxy"}, "spec.scope: 'Galaxy': expected Namespaced or Cluster"),
        ({"versions": []}, "spec.versions: 0 with storage: true: must have exactly one version marked as storage"),
        ({"names": {"kind": "Gear", "plural": "gears"}}, r"metadata.name: 'gearboxes.example.com': must be spec.names"),
        ({"versions": [{"name": "a/b", "storage": True}]}, 'spec: version "a/b": a DNS-1035 label must consist of'),
        ({"group": "Example_com"}, 'spec: group "Example_com": a lowercase RFC 1123 subdomain must consist of'),
    ],
    ids=["no group", "no plural", "a third scope", "nothing stored", "another name", "no version", "no subdomain"],
)
def test_a_definition_that_defines_nothing_is_refused_before_anything_is_written(
    cluster: Cluster, spec: dict[str, Any], message: str
) -> None:
    revision = cluster.control_plane.store.revision
    with pytest.raises(ValueError, match=message):
        cluster.apply(definition(**spec))
    assert cluster.control_plane.store.revision == revision
    assert not cluster.recording().inputs


def test_a_definition_without_metadata_is_refused(cluster: Cluster) -> None:
    nameless = definition()
    del nameless["metadata"]
    with pytest.raises(ValueError, match=r"metadata.name: None: must be spec.names.plural"):
        cluster.apply(nameless)


class Greeter:
    """An operator that marks every Gear it sees."""

    definitions = (definition(),)

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.seen: list[str] = []
        ctx.informers.informer(GEARS).add_event_handler(lambda gear, _: self.seen.append(gear["metadata"]["name"]))

    def start(self) -> None:
        """Nothing to start: the informer's handler is all."""


def test_an_operator_is_a_process_of_its_own_that_can_be_killed() -> None:
    cluster = Cluster(nodes=0, operators={"greeter": Greeter})
    process = cluster.control_plane.operators["greeter"]
    cluster.apply(GEAR)
    cluster.run(for_ms=100)
    first = process.program
    assert first.seen == ["first"]
    cluster.crash("greeter", restart_after_ms=1_000)
    assert not process.is_alive
    cluster.run(for_ms=2_000)
    assert process.lives == 2
    assert process.program is not first
    assert process.program.seen == ["first"]
    with pytest.raises(ValueError, match="operators: a run with objects of your own cannot be recorded"):
        cluster.recording()
    cluster.close()


@pytest.mark.parametrize(
    ("operators", "error", "message"),
    [
        ({"kcm": Greeter}, ValueError, "operators: 'kcm': expected a name without a slash, and not kcm, scheduler"),
        ({"a/b": Greeter}, ValueError, "operators: 'a/b': expected a name without a slash"),
        ({"greeter": "Greeter"}, TypeError, "operators: .*: expected {name: what builds one from a ControllerContext}"),
        ([Greeter], TypeError, "operators: .*: expected {name: what builds one"),
    ],
    ids=["taken", "a slash", "no class", "a list"],
)
def test_wrong_operators_are_named(operators: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Cluster(nodes=0, operators=operators)


def test_a_program_that_cannot_be_built_leaves_nothing_half_begun() -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("args.maxMetricAgeSeconds: '15s', expected an integer of 1 or more")

    with pytest.raises(ValueError, match=r"args\.maxMetricAgeSeconds"):
        Cluster(nodes=1, scheduler=broken)
    gc.collect()  # a coroutine that was never begun would warn here, and warnings are errors


def test_a_scheduler_that_cannot_be_built_is_named() -> None:
    with pytest.raises(TypeError, match="scheduler: 'fast': expected what builds one"):
        Cluster(nodes=0, scheduler="fast")  # type: ignore[arg-type]
