"""The context controllers are built with, and the registry."""

from __future__ import annotations

import pytest

from k8slab.api.features import FeatureGates
from k8slab.client import Client, SharedInformerFactory
from k8slab.controllers import REGISTRY, ControllerContext
from k8slab.sim.component import Component
from k8slab.sim.kinds import KINDS
from k8slab.sim.loop import Loop
from tests.fakes import FakeTransport


def context(**options: object) -> ControllerContext:
    loop = Loop(1)
    component, client = Component(loop, "kcm"), Client(FakeTransport(loop))
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return ControllerContext(
        loop, component, client, SharedInformerFactory(loop, component, client), FeatureGates(), named
    )


def test_options_have_upstreams_names_and_defaults() -> None:
    assert context().option("concurrent-deployment-syncs", 5) == 5
    assert context(concurrent_deployment_syncs=1).option("concurrent-deployment-syncs", 5) == 1


@pytest.mark.parametrize("value", ["5", 2.5, True, None])
def test_an_option_that_is_no_integer_is_an_error_that_names_it(value: object) -> None:
    with pytest.raises(ValueError, match=r"option concurrent-deployment-syncs: .*: expected an integer"):
        context(concurrent_deployment_syncs=value).option("concurrent-deployment-syncs", 5)


def test_controllers_of_one_source_share_a_recorder() -> None:
    ctx = context()
    assert ctx.recorder("deployment-controller") is ctx.recorder("deployment-controller")
    assert ctx.recorder("deployment-controller") is not ctx.recorder("replicaset-controller")


@pytest.mark.parametrize("name", REGISTRY)
def test_every_controller_is_built_and_started_from_the_context_alone(name: str) -> None:
    ctx = context()
    controller = REGISTRY[name](ctx)
    controller.start()
    ctx.component.kill()
    ctx.loop.close()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.split(".")[0] in ("deployment", "replicaset")])
def test_a_sentence_about_objects_with_usual_names_fits_in_its_line(kind: str) -> None:
    usual = {"replica_set": "shop-65bb49dc94", "key": "default/shop-65bb49dc94", "resource": "replicasets.apps"}
    usual["why"] = "its cache of replicasets.apps is behind its writes"
    row = KINDS[kind]
    data = {field: usual.get(field, 100) for field in row.fields}
    assert len(row.text(data)) <= 120
    assert len(row.label(data)) <= 30
