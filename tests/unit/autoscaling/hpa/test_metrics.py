"""The pipeline: readings to rates, the three groups of the API, who serves them, and what is said when nobody does."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any, TypeVar

import pytest

from k8slab.api.errors import BadRequestError
from k8slab.api.labels import parse_selector
from k8slab.api.objects import Object
from k8slab.api.scheme import GVR, PODS, SERVICES
from k8slab.api.transport import Request
from k8slab.apiserver import APISERVICES, APIServer
from k8slab.autoscaling.hpa import MetricsError, PodMetric
from k8slab.autoscaling.hpa.metrics import (
    ContainerPoint,
    CustomMetrics,
    ExternalMetrics,
    MetricsServer,
    Points,
    RESTMetricsClient,
    Usage,
    fetch,
)
from k8slab.autoscaling.hpa.metrics.client import CUSTOM, EXTERNAL, RESOURCE
from k8slab.client import Client
from k8slab.etcd import Store
from k8slab.sim import Component, Loop

T = TypeVar("T")
WEB = parse_selector("app=web")
EVERYTHING = parse_selector("")


def reading(at_s: int, core_ms: int, start_s: int = 0) -> dict[tuple[str, str], dict[str, ContainerPoint]]:
    return {("shop", "web"): {"c": ContainerPoint(1000 * at_s, 1000 * start_s, core_ms * 10**6, 1 << 20)}}


class TestPoints:
    def test_a_rate_needs_two_readings(self) -> None:
        points = Points()
        points.store(reading(60, 1_000))
        assert points.usage("shop", "web") is None
        points.store(reading(75, 4_000))
        found = points.usage("shop", "web")
        assert found is not None and found.containers == {"c": Usage(200, 1 << 20)}
        assert (found.timestamp_ms, found.window_ms) == (75_000, 15_000)

    @pytest.mark.parametrize(
        ("age_s", "known"), [(9, False), (10, True), (14, True), (15, False)], ids=lambda value: str(value)
    )
    def test_a_container_of_10_to_15_seconds_is_measured_from_its_start(self, age_s: int, known: bool) -> None:
        points = Points()
        points.store(reading(100, 1_000, 100 - age_s))
        assert (points.usage("shop", "web") is not None) is known

    def test_a_restarted_container_has_no_rate_at_first(self) -> None:
        points = Points()
        for at_s, core_ms, start_s in ((0, 9_000, -60), (15, 9_500, -60), (30, 100, 25)):
            points.store(reading(at_s, core_ms, start_s))
        assert points.usage("shop", "web") is None
        points.check_invariants()

    def test_a_pod_of_which_one_container_has_no_rate_has_none(self) -> None:
        points = Points()
        points.store({("shop", "web"): {"c": ContainerPoint(60_000, 0, 1, 1)}})
        points.store(
            {("shop", "web"): {"c": ContainerPoint(75_000, 0, 2, 1), "d": ContainerPoint(75_000, 70_000, 1, 1)}}
        )
        assert points.usage("shop", "web") is None

    def test_a_pod_that_is_gone_is_forgotten(self) -> None:
        points = Points()
        points.store(reading(60, 1))
        points.store({})
        assert points.view() == {} and points.usage("shop", "web") is None

    def test_the_same_reading_twice_keeps_the_rate(self) -> None:
        points = Points()
        for at_s, core_ms in ((60, 1_000), (75, 4_000), (75, 4_000)):
            points.store(reading(at_s, core_ms))
        found = points.usage("shop", "web")
        assert found is not None and found.containers["c"].cpu_milli == 200


class Pods:
    """Some Pods, and their labels."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def list(self, namespace: str = "") -> list[Object]:
        return [
            {"metadata": {"name": name, "namespace": "shop", "labels": {"app": name.partition("-")[0]}}}
            for name in self.names
        ]


class House:
    """An API server, and whatever is connected to it."""

    def __init__(self) -> None:
        self.loop = Loop(seed=7)
        self.server = APIServer(self.loop, Store())
        self.client = Client(self.server.transport("kcm"))
        self.metrics = RESTMetricsClient(self.client.transport)
        self.loop.run(for_ms=100)

    def do(self, work: Awaitable[T]) -> T:
        async def run() -> Any:
            try:
                return await work
            except Exception as error:
                return error

        task = self.loop.spawn("test", run())
        self.loop.run(for_ms=5)
        assert task.done, "not answered"
        if isinstance(task.result, Exception):
            raise task.result
        result: T = task.result
        return result

    def register(self, group: str, version: str, api: Any = None, *, name: str = "") -> None:
        """An APIService, and the server behind it."""
        name = name or group.partition(".")[0]
        if api is not None:
            self.server.aggregator.connect(f"kube-system/{name}", api)
        service = {"metadata": {"name": name, "namespace": "kube-system"}, "spec": {"ports": [{"port": 443}]}}
        self.do(self.client.create(SERVICES, service))
        spec: dict[str, Any] = {
            "group": group,
            "version": version,
            "service": {"namespace": "kube-system", "name": name},
        }
        spec |= {"groupPriorityMinimum": 100, "versionPriority": 100}
        self.do(self.client.create(APISERVICES, {"metadata": {"name": f"{version}.{group}"}, "spec": spec}))

    def http(self, path: str, method: str = "GET") -> tuple[int, Any]:
        answer = self.do(self.server.handle(method, path))
        text = answer.body.decode()
        return answer.status, json.loads(text) if text.startswith("{") else text


class Nodes:
    """Nodes with labels, as an informer's cache."""

    def __init__(self, labels: dict[str, dict[str, str]]) -> None:
        self.labels = labels

    def list(self, namespace: str = "") -> Any:
        return [{"metadata": {"name": name, "labels": labels}} for name, labels in self.labels.items()]


def scraped(house: House, **core_ms: tuple[int, int]) -> MetricsServer:
    """A metrics server that scraped twice, 15 s apart."""
    readings = iter(
        [
            {
                "node-1": {
                    ("shop", name): {"c": ContainerPoint(at, -60_000, both[i] * 10**6, 1 << 20)}
                    for name, both in core_ms.items()
                }
            }
            for i, at in enumerate((0, 15_000))
        ]
    )
    names = list(core_ms)
    server = MetricsServer(
        house.loop, Component(house.loop, "metrics-server"), Pods(*names), lambda now_ms: next(readings)
    )
    server.read()
    server.read()
    return server


class TestNobody:
    """A group that nobody registered, or whose server is down, is an error in words: not a zero."""

    @pytest.mark.parametrize(
        ("ask", "message"),
        [
            pytest.param(
                lambda metrics: metrics.get_resource_metric("cpu", "shop", WEB, ""),
                "unable to fetch metrics from resource metrics API: the server could not find the requested resource "
                "(get pods.metrics.k8s.io)",
                id="resource metrics",
            ),
            pytest.param(
                lambda metrics: metrics.get_raw_metric("qps", "shop", WEB, EVERYTHING),
                "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) "
                "registered",
                id="custom metrics",
            ),
            pytest.param(
                lambda metrics: metrics.get_external_metric("queue", "shop", EVERYTHING),
                "unable to fetch metrics from external metrics API: the server could not find the requested resource "
                "(get queue.external.metrics.k8s.io)",
                id="external metrics",
            ),
        ],
    )
    def test_a_group_without_an_apiservice_is_not_found(self, ask: Any, message: str) -> None:
        house = House()
        with pytest.raises(MetricsError) as raised:
            house.do(ask(house.metrics))
        assert str(raised.value) == message

    def test_an_apiservice_without_a_server_is_unavailable(self) -> None:
        house = House()
        house.register("metrics.k8s.io", "v1beta1", scraped(house, **{"web-0": (0, 3_000)}))
        house.server.aggregator.disconnect("kube-system/metrics")
        house.server.aggregator.connect("kube-system/other", ExternalMetrics(house.loop))
        with pytest.raises(
            MetricsError, match="unable to fetch metrics from resource metrics API: service unavailable"
        ):
            house.do(house.metrics.get_resource_metric("cpu", "shop", WEB, ""))
        assert house.http("/apis/metrics.k8s.io/v1beta1/nodes")[0] == 503

    def test_its_apiservice_says_whether_a_server_answers(self) -> None:
        house = House()
        house.register("metrics.k8s.io", "v1beta1", scraped(house, **{"web-0": (0, 3_000)}))

        def available() -> tuple[str, str]:
            house.loop.run(for_ms=30_000)
            found = house.do(house.client.get(APISERVICES, "v1beta1.metrics.k8s.io"))["status"]["conditions"][0]
            return found["status"], found["reason"]

        assert available() == ("True", "Passed")
        house.server.aggregator.disconnect("kube-system/metrics")
        assert available() == ("False", "FailedDiscoveryCheck")
        house.do(house.client.delete(SERVICES, "metrics", "kube-system"))
        assert available() == ("False", "ServiceNotFound")

    def test_an_apiservice_without_a_service_is_local_and_goes_nowhere(self) -> None:
        house = House()
        house.server.aggregator.connect("kube-system/shop", ExternalMetrics(house.loop))
        spec = {"group": "shop", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100}
        house.do(house.client.create(APISERVICES, {"metadata": {"name": "v1.shop"}, "spec": spec}))
        house.loop.run(for_ms=60_000)
        assert house.http("/apis/shop")[0] == 404
        assert house.http("/apis/shop/v1/things")[0] in (404, 503)
        condition = house.do(house.client.get(APISERVICES, "v1.shop"))["status"]["conditions"][0]
        assert (condition["status"], condition["reason"]) == ("True", "Local")

    def test_over_http_a_server_that_does_not_answer_in_time_is_unavailable(self) -> None:
        house = House()
        house.register(*EXTERNAL, Recorded(*EXTERNAL, TimeoutError("no answer within 30 s")))
        status, document = house.http("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue")
        assert (status, document["reason"]) == (503, "ServiceUnavailable")
        assert document["message"] == "error trying to reach service: no answer within 30 s"


class TestResourceMetrics:
    def test_usage_comes_for_the_pods_that_the_selector_matches(self) -> None:
        house = House()
        server = scraped(house, **{"web-0": (0, 3_000), "db-0": (0, 1_500)})
        house.register("metrics.k8s.io", "v1beta1", server)
        found = house.do(house.metrics.get_resource_metric("cpu", "shop", WEB, ""))
        assert found == {"web-0": PodMetric(200, 15_000, 15_000)}
        assert house.do(house.metrics.get_resource_metric("memory", "shop", WEB, ""))["web-0"].value == 1000 << 20
        assert house.do(house.metrics.get_resource_metric("nvidia.com/gpu", "shop", WEB, "")) == {}

    def test_a_container_can_be_asked_for_and_must_be_there(self) -> None:
        house = House()
        house.register("metrics.k8s.io", "v1beta1", scraped(house, **{"web-0": (0, 3_000)}))
        assert house.do(house.metrics.get_resource_metric("cpu", "shop", WEB, "c"))["web-0"].value == 200
        with pytest.raises(MetricsError, match="container d not present in metrics for pod shop/web-0"):
            house.do(house.metrics.get_resource_metric("cpu", "shop", WEB, "d"))

    def test_no_pod_with_a_rate_is_an_error(self) -> None:
        house = House()
        house.register("metrics.k8s.io", "v1beta1", scraped(house))
        with pytest.raises(MetricsError, match="no metrics returned from resource metrics API"):
            house.do(house.metrics.get_resource_metric("cpu", "shop", WEB, ""))

    def test_http_shows_lists_one_pod_nodes_and_discovery(self) -> None:
        house = House()
        house.register("metrics.k8s.io", "v1beta1", scraped(house, **{"web-0": (0, 3_000), "db-0": (0, 1_500)}))
        prefix = "/apis/metrics.k8s.io/v1beta1"
        assert [one["metadata"]["name"] for one in house.http(f"{prefix}/namespaces/shop/pods")[1]["items"]] == [
            "web-0",
            "db-0",
        ]
        assert house.http(f"{prefix}/namespaces/shop/pods/web-0")[1]["containers"][0]["usage"]["cpu"] == "200m"
        assert house.http(f"{prefix}/nodes")[1]["items"][0]["usage"] == {"cpu": "300m", "memory": "2048Ki"}
        assert [row["kind"] for row in house.http(prefix)[1]["resources"]] == ["NodeMetrics", "PodMetrics"]
        assert house.http("/apis/metrics.k8s.io")[1]["preferredVersion"]["version"] == "v1beta1"
        status, document = house.http(f"{prefix}/namespaces/shop/pods/ghost")
        assert (status, document["message"]) == (404, 'podmetrics.metrics.k8s.io "shop/ghost" not found')
        assert house.http(f"{prefix}/nodes", "DELETE")[0] == 405
        assert house.http("/apis/metrics.k8s.io/v1/nodes") == (404, "404 page not found\n")

    @pytest.mark.parametrize("rest", [
        pytest.param("pods/web-0", id="a Pod without a namespace"),
        pytest.param("namespaces/shop/nodes", id="nodes in a namespace"),
        pytest.param("namespaces/shop/nodes/node-1", id="a node in a namespace"),
        pytest.param("namespaces/shop/pods/web-0/status", id="a part of a Pod"),
        pytest.param("namespaces/shop/pods/web-0/a/b", id="a path that goes on after the third part"),
        pytest.param("namespaces/shop/services", id="another resource"),
    ])  # fmt: skip
    def test_a_path_that_is_not_served_is_not_found(self, rest: str) -> None:
        house = House()
        house.register("metrics.k8s.io", "v1beta1", scraped(house, **{"web-0": (0, 3_000)}))
        assert house.http(f"/apis/metrics.k8s.io/v1beta1/{rest}")[0] == 404

    @pytest.mark.parametrize(("params", "names"), [
        pytest.param({}, ["node-1"], id="without a selector"),
        pytest.param({"labelSelector": "pool=a"}, ["node-1"], id="a label that it has"),
        pytest.param({"labelSelector": "pool=b"}, [], id="a label that it has not"),
        pytest.param({"fieldSelector": "metadata.name=node-1"}, ["node-1"], id="its name"),
        pytest.param({"fieldSelector": "metadata.name!=node-1"}, [], id="another name"),
    ])  # fmt: skip
    def test_nodes_are_chosen_by_their_labels_and_names(self, params: dict[str, str], names: list[str]) -> None:
        house = House()
        server = scraped(house, **{"web-0": (0, 3_000)})
        (node,) = server.nodes
        server.nodes = {"node-1": server.nodes[node], "node-2": ()}
        server.node_source = Nodes({"node-1": {"pool": "a"}, "node-2": {"pool": "b"}})
        found = house.do(server.serve(Request("list", GVR(*RESOURCE, "nodes"), params=params)))
        assert [one["metadata"]["name"] for one in found["items"]] == names

    def test_a_field_that_cannot_be_selected_by_is_refused(self) -> None:
        house = House()
        server = scraped(house, **{"web-0": (0, 3_000)})
        with pytest.raises(BadRequestError, match=r'"spec\.nodeName" is not a known field selector'):
            house.do(server.serve(Request("list", GVR(*RESOURCE, "pods"), params={"fieldSelector": "spec.nodeName=a"})))


class TestAdapters:
    def test_external_values_are_selected_by_their_labels(self) -> None:
        house = House()
        adapter = ExternalMetrics(house.loop)
        adapter.set("queue", 12, labels={"q": "mail"}, namespace="shop")
        adapter.set("queue", "1500m", labels={"q": "video"}, namespace="shop")
        house.register("external.metrics.k8s.io", "v1beta1", adapter)
        assert house.do(house.metrics.get_external_metric("queue", "shop", EVERYTHING)) == [12_000, 1_500]
        assert house.do(house.metrics.get_external_metric("queue", "shop", parse_selector("q=mail"))) == [12_000]
        with pytest.raises(MetricsError, match="no metrics returned from external metrics API"):
            house.do(house.metrics.get_external_metric("queue", "else", EVERYTHING))

    def test_a_number_that_vanishes_is_an_error_afterwards(self) -> None:
        house = House()
        adapter = ExternalMetrics(house.loop)
        adapter.set("queue", lambda now_ms: 5 if now_ms < 10_000 else None)
        house.register("external.metrics.k8s.io", "v1beta1", adapter)
        assert house.do(house.metrics.get_external_metric("queue", "default", EVERYTHING)) == [5_000]
        house.loop.run(for_ms=10_000)
        with pytest.raises(MetricsError):
            house.do(house.metrics.get_external_metric("queue", "default", EVERYTHING))

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), "many", True], ids=str)
    def test_a_number_that_is_none_is_refused_by_name(self, number: Any) -> None:
        with pytest.raises(ValueError, match=r"metric queue: .*: expected a quantity, such as 12 or 500m"):
            ExternalMetrics().set("queue", number)

    def test_custom_metrics_are_of_pods_of_objects_and_of_the_namespace(self) -> None:
        house = House()
        adapter = CustomMetrics(house.loop, Pods("web-0", "web-1", "db-0"))
        for name, value in (("web-0", 3), ("web-1", 4.5), ("db-0", 9)):
            adapter.set("pods", name, "qps", value, namespace="shop")
        adapter.set("ingresses.networking.k8s.io", "front", "hits", 70, namespace="shop")
        adapter.set("namespaces", "shop", "orders", 8, namespace="shop")
        house.register("custom.metrics.k8s.io", "v1beta2", adapter)
        found = house.do(house.metrics.get_raw_metric("qps", "shop", WEB, EVERYTHING))
        assert {name: metric.value for name, metric in found.items()} == {"web-0": 3_000, "web-1": 4_500}
        front = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "front"}
        assert house.do(house.metrics.get_object_metric("hits", "shop", front, EVERYTHING)) == 70_000
        space = {"apiVersion": "v1", "kind": "Namespace", "name": "ignored"}
        assert house.do(house.metrics.get_object_metric("orders", "shop", space, EVERYTHING)) == 8_000
        with pytest.raises(MetricsError, match=r"could not find the metric qps for ingresses\.networking"):
            house.do(house.metrics.get_object_metric("qps", "shop", front, EVERYTHING))
        adapter.forget("pods", "web-0", "qps", namespace="shop")
        assert list(house.do(house.metrics.get_raw_metric("qps", "shop", WEB, EVERYTHING))) == ["web-1"]
        path = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop"
        assert house.http(f"{path}/metrics/orders")[1]["items"][0]["value"] == "8"
        assert house.http(f"{path}/pods/web-1/qps")[1]["items"][0]["value"] == "4500m"


class Recorded:
    """A server that gives one and the same answer, whatever it is; an exception is raised."""

    def __init__(self, group: str, version: str, answer: Any) -> None:
        self.group, self.version, self.answer = group, version, answer

    def resources(self) -> list[Any]:
        return []

    async def serve(self, request: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class TestMalformedAnswers:
    """What cannot be read is an error of that metric in words: no exception of ours, and no zero."""

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            pytest.param({"items": [{"value": "NaN"}]}, "quantities must match", id="a value of NaN"),
            pytest.param({"items": [{"value": None}]}, "quantity None", id="a value of null"),
            pytest.param({"items": [{}]}, "an item has no 'value'", id="an item without a value"),
            pytest.param({"items": "many"}, "string indices", id="items that are a text"),
            pytest.param(["queue"], "has no attribute", id="a list in the place of an object"),
        ],
    )
    def test_of_external_and_custom_metrics(self, answer: Any, words: str) -> None:
        house = House()
        house.register("external.metrics.k8s.io", "v1beta1", Recorded("external.metrics.k8s.io", "v1beta1", answer))
        house.register("custom.metrics.k8s.io", "v1beta2", Recorded("custom.metrics.k8s.io", "v1beta2", answer))
        with pytest.raises(MetricsError, match=f"unable to fetch metrics from external metrics API: .*{words}"):
            house.do(house.metrics.get_external_metric("queue", "shop", EVERYTHING))
        described = {"apiVersion": "v1", "kind": "Service", "name": "web"}
        with pytest.raises(MetricsError, match=f"unable to fetch metrics from custom metrics API: .*{words}"):
            house.do(house.metrics.get_object_metric("hits", "shop", described, EVERYTHING))
        with pytest.raises(MetricsError, match="unable to fetch metrics from custom metrics API: malformed answer"):
            house.do(house.metrics.get_raw_metric("hits", "shop", WEB, EVERYTHING))

    @pytest.mark.parametrize("container", ["", "c"], ids=["of the whole Pod", "of a container"])
    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"containers": [{"name": "c", "usage": {"cpu": "NaN"}}]}, id="a usage of NaN"),
            pytest.param({"timestamp": "yesterday"}, id="a timestamp that is none"),
            pytest.param({"window": "a while"}, id="a window that is none"),
            pytest.param({"metadata": {}}, id="a Pod without a name"),
        ],
    )
    def test_of_resource_metrics(self, change: dict[str, Any], container: str) -> None:
        house = House()
        item = {"metadata": {"name": "web-0"}, "containers": [{"name": "c", "usage": {"cpu": "1"}}], **change}
        house.register("metrics.k8s.io", "v1beta1", Recorded("metrics.k8s.io", "v1beta1", {"items": [item]}))
        with pytest.raises(MetricsError, match="unable to fetch metrics from resource metrics API: malformed answer"):
            house.do(house.metrics.get_resource_metric("cpu", "shop", WEB, container))

    def test_a_number_that_becomes_nan_is_a_500_and_an_error_of_its_metric(self) -> None:
        house = House()
        external, custom = ExternalMetrics(house.loop), CustomMetrics(house.loop)
        external.set("queue", lambda now_ms: float("nan") if now_ms else 1, namespace="shop")
        custom.set("namespaces", "shop", "orders", lambda now_ms: float("inf") if now_ms else 1, namespace="shop")
        house.register("external.metrics.k8s.io", "v1beta1", external)
        house.register("custom.metrics.k8s.io", "v1beta2", custom)
        with pytest.raises(MetricsError, match="metric queue: 'nan': expected a quantity"):
            house.do(house.metrics.get_external_metric("queue", "shop", EVERYTHING))
        answer = house.http("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue")
        assert (answer[0], answer[1]["reason"]) == (500, "InternalError")
        assert house.http("/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/metrics/orders")[0] == 500


@pytest.mark.parametrize(
    ("resource", "name", "subresource"),
    [("pods", "", ""), ("queue", "", ""), ("pods", "*", "qps")],
    ids=["the metrics server", "external metrics", "custom metrics"],
)
def test_a_label_selector_that_is_none_is_a_bad_request(resource: str, name: str, subresource: str) -> None:
    house = House()
    group = {"queue": EXTERNAL, "pods": CUSTOM if name else RESOURCE}[resource]
    api: Any = CustomMetrics(house.loop, Pods("web-0")) if name else ExternalMetrics(house.loop)
    if group == RESOURCE:
        api = scraped(house, **{"web-0": (0, 3_000)})
    house.register(*group, api)
    params = {"labelSelector": "app in ("}
    request = Request("get" if name else "list", GVR(*group, resource), "shop", name, subresource, params=params)
    with pytest.raises(BadRequestError):
        house.do(house.client.transport.call(request))


def test_fetch_puts_an_error_in_the_place_of_each_metric_that_cannot_be_had() -> None:
    house = House()
    adapter = ExternalMetrics(house.loop)
    adapter.set("queue", 3)
    house.register("external.metrics.k8s.io", "v1beta1", adapter)
    bad = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    specs: list[dict[str, Any]] = [
        {"type": "Resource", "resource": {"name": "cpu"}},
        {"type": "External", "external": {"metric": {"name": "queue"}}},
        {"type": "External", "external": {"metric": {"name": "queue", "selector": bad}}},
        {"type": "Pods", "pods": {"metric": {"name": "qps"}}},
        {"type": "Object", "object": {"metric": {"name": "qps"}, "describedObject": {"kind": "Thing", "name": "x"}}},
        {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c"}},
        {"type": "Weather"},
    ]
    found = house.do(fetch(house.metrics, specs, "default", WEB))
    assert found[1] == [3_000]
    assert [isinstance(one, MetricsError) for one in found] == [True, False, True, True, True, True, True]
    assert str(found[2]) == '"Near" is not a valid label selector operator'


def test_pods_are_not_served_by_the_aggregator() -> None:
    house = House()
    house.register("metrics.k8s.io", "v1beta1", scraped(house))
    assert house.do(house.client.list(PODS, "shop"))["items"] == []
