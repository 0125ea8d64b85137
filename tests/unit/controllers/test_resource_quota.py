"""The quota controller over a real server: what makes it count, and what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.features import FeatureGates
from k8slab.api.scheme import CONFIGMAPS, PODS, RESOURCEQUOTAS, SERVICEACCOUNTS, SERVICES
from k8slab.apiserver import APIServer
from k8slab.client import Client, SharedInformerFactory
from k8slab.controllers import ControllerContext
from k8slab.controllers.resource_quota import ResourceQuotaController
from k8slab.etcd import Store
from k8slab.sim import Component, Loop

Json = Any


class Plane:
    def __init__(self, **options: Json) -> None:
        self.loop = Loop(seed=3)
        self.server = APIServer(self.loop, Store(), latency="lan")
        self.you = Client(self.server.transport("you"))
        self.component = Component(self.loop, "kcm")
        client = Client(self.server.transport("kcm"))
        informers = SharedInformerFactory(self.loop, self.component, client)
        context = ControllerContext(self.loop, self.component, client, informers, FeatureGates(), options)
        self.controller = ResourceQuotaController(context)
        informers.start()
        self.controller.start()
        self.loop.run(for_ms=100)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        self.do(self.you.create(SERVICEACCOUNTS, account, "default"))

    def do(self, call: Any, for_ms: int = 200) -> Json:
        task = self.loop.spawn("you/kubectl", _caught(call))
        self.loop.run(for_ms=for_ms)
        if isinstance(task.result, StatusError):
            raise task.result
        return task.result

    def quota(self, name: str = "q", **hard: str) -> None:
        body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard}}
        self.do(self.you.create(RESOURCEQUOTAS, body, "default"))

    def config_map(self, name: str) -> None:
        self.do(
            self.you.create(
                CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}, "default"
            )
        )

    def pod(self, name: str, **spec: Json) -> None:
        requests = {"resources": {"requests": {"cpu": "1"}}}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}
        containers = [{"name": "c", "image": "i", **requests}]
        self.do(self.you.create(PODS, {**body, "spec": {"containers": containers, **spec}}, "default"))

    def used(self, name: str = "q") -> Json:
        return self.do(self.you.get(RESOURCEQUOTAS, name, "default"))["status"].get("used")

    def counted(self) -> int:
        return sum(1 for event in self.loop.trace if event.kind == "quota.count")


async def _caught(call: Any) -> Any:
    try:
        return await call
    except StatusError as error:
        return error


@pytest.fixture
def plane() -> Iterator[Plane]:
    made = Plane()
    yield made
    made.loop.close()


def test_a_new_quota_learns_what_is_there_already(plane: Plane) -> None:
    plane.config_map("a")
    plane.pod("p")
    plane.quota(configmaps="9", pods="9", cpu="9")
    assert plane.used() == {"configmaps": "1", "pods": "1", "cpu": "1"}


def test_what_is_deleted_is_given_back_and_what_is_created_is_not_counted_twice(plane: Plane) -> None:
    plane.quota(configmaps="9")
    plane.config_map("a")
    plane.config_map("b")
    counted = plane.counted()
    assert plane.used() == {"configmaps": "2"} and counted == 1, "admission charged; nobody counted"
    plane.do(plane.you.delete(CONFIGMAPS, "a", "default"))
    assert plane.used() == {"configmaps": "1"} and plane.counted() == counted + 1


def test_a_pod_that_has_ended_gives_back_what_it_asked_for_and_stays_an_object(plane: Plane) -> None:
    plane.quota(**{"pods": "9", "cpu": "9", "count/pods": "9"})
    plane.pod("p")
    assert plane.used() == {"pods": "1", "cpu": "1", "count/pods": "1"}
    status = {"status": {"phase": "Succeeded"}}
    plane.do(plane.you.patch(PODS, "p", status, "default", subresource="status"))
    assert plane.used() == {"pods": "0", "cpu": "0", "count/pods": "1"}


def test_a_service_that_is_no_load_balancer_any_more(plane: Plane) -> None:
    plane.quota(**{"services.loadbalancers": "1"})
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    plane.do(plane.you.create(SERVICES, body, "default"))
    assert plane.used() == {"services.loadbalancers": "1"}
    plane.do(plane.you.patch(SERVICES, "s", {"spec": {"type": "ClusterIP"}}, "default"))
    assert plane.used() == {"services.loadbalancers": "0"}


def test_other_limits_are_counted_at_once(plane: Plane) -> None:
    plane.quota(configmaps="9")
    plane.do(plane.you.patch(RESOURCEQUOTAS, "q", {"spec": {"hard": {"configmaps": None, "secrets": "5"}}}, "default"))
    assert plane.used() == {"secrets": "0"}


def test_a_charge_for_nothing_is_found_at_the_next_round(plane: Plane) -> None:
    """The name was taken, but admission had charged already."""
    plane.quota(configmaps="9")
    plane.config_map("a")
    with pytest.raises(StatusError, match="already exists"):
        plane.config_map("a")
    assert plane.used() == {"configmaps": "2"}
    plane.loop.run(for_ms=300_000)
    assert plane.used() == {"configmaps": "1"}


def test_what_cannot_be_counted_keeps_its_number(plane: Plane) -> None:
    plane.quota(**{"count/widgets.example.com": "3", "configmaps": "1"})
    assert plane.used() == {"configmaps": "0"}


def test_it_counts_again_when_somebody_wrote_in_between() -> None:
    plane = Plane(**{"resource-quota-sync-period-ms": 1_000})
    plane.quota(configmaps="3")
    for n in range(3):
        plane.config_map(f"c{n}")
        plane.do(plane.you.delete(CONFIGMAPS, f"c{n}", "default"), for_ms=5)
    plane.loop.run(for_ms=3_000)
    assert plane.used() == {"configmaps": "0"}
    plane.loop.close()
