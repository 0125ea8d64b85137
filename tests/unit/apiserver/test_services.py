"""Services: cluster IPs and node ports are given out once, and follow the Service's type."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.features import FeatureGates
from k8slab.api.scheme import EVENTS, SERVICES
from k8slab.api.transport import Request
from k8slab.apiserver import APIServer
from k8slab.apiserver.allocators import ServiceRanges
from tests.unit.apiserver.conftest import MERGE, Bench


def service(name: str, *ports: Any, **spec: Any) -> Any:
    return {"metadata": {"name": name}, "spec": {"ports": list(ports) or [{"port": 80}], **spec}}


def node_port(name: str, *numbers: int, **spec: Any) -> Any:
    ports = [{"name": f"p{at}", "port": 80 + at, "nodePort": number} for at, number in enumerate(numbers)]
    return service(name, *ports, type="NodePort", **spec)


def refused(bench: Bench, code: int, *args: Any, **more: Any) -> str:
    with pytest.raises(StatusError) as caught:
        bench.call(*args, **more)
    assert caught.value.code == code
    return caught.value.message


def change(bench: Bench, name: str, **spec: Any) -> Any:
    return bench.call("patch", SERVICES, name, {"spec": spec}, patch_type=MERGE)["spec"]


def test_services_get_addresses_and_node_ports(bench: Bench) -> None:
    body = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    service = bench.call("create", SERVICES, body=body)
    assert service["spec"]["clusterIPs"] == [service["spec"]["clusterIP"]]
    assert service["spec"]["clusterIP"].startswith("10.96.")
    assert 30_000 <= service["spec"]["ports"][0]["nodePort"] < 32_768
    wanted = {"metadata": {"name": "t"}, "spec": {"clusterIP": service["spec"]["clusterIP"], "ports": [{"port": 80}]}}
    assert refused(bench, 422, "create", SERVICES, body=wanted).endswith("provided IP is already allocated")
    headless = {"metadata": {"name": "h"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}
    assert bench.call("create", SERVICES, body=headless)["spec"]["clusterIPs"] == ["None"]


# -- numbers that are asked for ----------------------------------------------------------------------


def test_a_node_port_is_given_out_once(bench: Bench) -> None:
    bench.call("create", SERVICES, body=node_port("a", 30001))
    message = refused(bench, 422, "create", SERVICES, body=node_port("b", 30001))
    text = "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated"
    assert message == f'Service "b" is invalid: {text}'
    bench.call("create", SERVICES, body=node_port("b", 30002))
    ports = [{"name": "p0", "port": 80, "nodePort": 30001}]
    message = refused(bench, 422, "patch", SERVICES, "b", {"spec": {"ports": ports}}, patch_type=MERGE)
    assert message == f'Service "b" is invalid: {text}'
    bench.call("delete", SERVICES, "a")
    assert change(bench, "b", ports=ports)["ports"][0]["nodePort"] == 30001


def test_a_node_port_must_be_in_range(bench: Bench) -> None:
    assert refused(bench, 422, "create", SERVICES, body=node_port("a", 80)) == (
        'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. '
        "The range of valid ports is 30000-32767"
    )


def test_ports_of_one_number_share_a_node_port_and_others_cannot(bench: Bench) -> None:
    both = service(
        "dns",
        {"name": "t", "port": 53, "protocol": "TCP"},
        {"name": "u", "port": 53, "protocol": "UDP", "nodePort": 30053},
        type="NodePort",
    )
    ports = bench.call("create", SERVICES, body=both)["spec"]["ports"]
    assert [port["nodePort"] for port in ports] == [30053, 30053]
    message = refused(bench, 422, "create", SERVICES, body=node_port("b", 30007, 30007))
    assert message.endswith("spec.ports[1].nodePort: Invalid value: 30007: provided port is already allocated")


def test_an_update_cannot_use_one_node_port_twice(bench: Bench) -> None:
    bench.call("create", SERVICES, body=node_port("a", 30001, 30002))
    body = node_port("a", 30001, 30001)
    assert refused(bench, 500, "update", SERVICES, "a", body) == "duplicate nodePort: {TCP 30001}"


def test_no_node_ports_are_left(bench: Bench) -> None:
    for start in range(30_000, 32_768, 173):
        bench.call("create", SERVICES, body=node_port(f"s{start}", *range(start, start + 173)))
    message = refused(bench, 500, "create", SERVICES, body=service("x", type="NodePort"))
    assert message == "Internal error occurred: failed to allocate a nodePort: range is full"


def test_a_load_balancer_may_do_without_node_ports_and_checks_its_health_at_one(bench: Bench) -> None:
    body = service("a", type="LoadBalancer", allocateLoadBalancerNodePorts=False, externalTrafficPolicy="Local")
    spec = bench.call("create", SERVICES, body=body)["spec"]
    assert "nodePort" not in spec["ports"][0] and 30_000 <= spec["healthCheckNodePort"] < 32_768
    message = refused(bench, 422, "create", SERVICES, body=node_port("b", spec["healthCheckNodePort"]))
    assert message.endswith("provided port is already allocated")
    assert "healthCheckNodePort" not in change(bench, "a", externalTrafficPolicy="Cluster")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param(
            {"clusterIP": "10.96.0.1"},
            'spec.clusterIPs: Invalid value: ["10.96.0.1"]: failed to allocate IP 10.96.0.1: '
            "provided IP is already allocated",
            id="the address of the kubernetes Service",
        ),
        pytest.param(
            {"clusterIP": "10.0.0.1"},
            'spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: '
            "the provided network does not match the current range",
            id="an address of another network",
        ),
        pytest.param(
            {"clusterIP": "10.96.0.0"},
            'spec.clusterIPs: Invalid value: ["10.96.0.0"]: failed to allocate IP 10.96.0.0: '
            "the provided network does not match the current range",
            id="the address of the network itself",
        ),
        pytest.param(
            {"clusterIP": "10.96.0.5", "clusterIPs": ["10.96.0.6"]},
            'spec.clusterIPs: Invalid value: ["10.96.0.6"]: first value must match `clusterIP`',
            id="two fields that disagree",
        ),
        pytest.param(
            {"clusterIP": "fd00::1"},
            'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
            id="an address of the other family",
        ),
        pytest.param(
            {"ipFamilyPolicy": "RequireDualStack"},
            'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
            "this cluster is not configured for dual-stack services",
            id="two families on a cluster with one",
        ),
        pytest.param(
            {"ipFamilies": ["IPv6"]},
            'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
            id="the other family",
        ),
    ],
)
def test_cluster_ips_that_cannot_be_had(bench: Bench, spec: Any, text: str) -> None:
    assert refused(bench, 422, "create", SERVICES, body=service("a", **spec)) == f'Service "a" is invalid: {text}'


def test_a_headless_service_that_selects_nothing_has_both_families(bench: Bench) -> None:
    spec = bench.call("create", SERVICES, body=service("a", clusterIP="None"))["spec"]
    assert spec["ipFamilies"] == ["IPv4", "IPv6"] and spec["ipFamilyPolicy"] == "RequireDualStack"


def test_two_servers_over_one_store_never_give_out_the_same(bench: Bench) -> None:
    other = APIServer(bench.loop, bench.etcd, name="apiserver/1")
    bench.loop.run(for_ms=20)
    clients = [bench.you, other.transport("you-too")]
    # the same draws on both sides, at the same instant
    other.env.addresses.setstate(bench.server.env.addresses.getstate())
    outcomes: list[Any] = []

    async def create(at: int, name: str, **spec: Any) -> None:
        try:
            request = Request("create", SERVICES, namespace="default", body=service(name, **spec))
            outcomes.append(await clients[at].call(request))
        except StatusError as error:
            outcomes.append(error)

    for at in (0, 1):
        bench.loop.spawn(f"create-{at}", create(at, f"drawn-{at}", type="NodePort"))
    bench.loop.run(for_ms=50)
    first, second = (outcome["spec"] for outcome in outcomes)
    assert first["clusterIP"] != second["clusterIP"]
    assert first["ports"][0]["nodePort"] != second["ports"][0]["nodePort"]
    outcomes.clear()
    for at in (0, 1):
        bench.loop.spawn(f"create-{at}", create(at, f"asked-{at}", clusterIP="10.96.0.9"))
    bench.loop.run(for_ms=50)
    assert sorted(isinstance(outcome, StatusError) for outcome in outcomes) == [False, True]


# -- updates -----------------------------------------------------------------------------------------


def test_a_service_that_becomes_an_alias_loses_what_was_allocated(bench: Bench) -> None:
    body = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    spec = bench.call("create", SERVICES, body=body)["spec"]
    alias = {**body, "spec": {**spec, "type": "ExternalName", "externalName": "a.b"}}
    changed = bench.call("update", SERVICES, "s", alias)["spec"]
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "externalTrafficPolicy"} & set(changed)
    assert "nodePort" not in changed["ports"][0]


def test_a_put_of_a_service_keeps_its_address(bench: Bench) -> None:
    service = bench.call("create", SERVICES, body={"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    updated = bench.call("update", SERVICES, "s", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 81}]}})
    assert updated["spec"]["clusterIP"] == service["spec"]["clusterIP"]


def test_a_put_of_a_service_keeps_node_ports_by_name(bench: Bench) -> None:
    bench.call("create", SERVICES, body=node_port("a", 30001, 30002))
    ports = [{"name": "p1", "port": 81}, {"name": "p0", "port": 80, "nodePort": 30002}, {"name": "new", "port": 82}]
    numbers = [port["nodePort"] for port in change(bench, "a", ports=ports)["ports"]]
    assert numbers[1] == 30002 and numbers[0] not in (30001, 30002)
    updated = bench.call("update", SERVICES, "a", service("a", {"name": "new", "port": 90}, type="NodePort"))
    assert updated["spec"]["ports"][0]["nodePort"] == numbers[2]


def test_a_node_port_service_becomes_a_plain_one_and_back(bench: Bench) -> None:
    created = bench.call("create", SERVICES, body=node_port("a", 30001))["spec"]
    plain = change(bench, "a", type="ClusterIP")
    assert "nodePort" not in plain["ports"][0] and "externalTrafficPolicy" not in plain
    assert plain["clusterIP"] == created["clusterIP"]
    bench.call("create", SERVICES, body=node_port("b", 30001))
    assert 30_000 <= change(bench, "a", type="NodePort")["ports"][0]["nodePort"] != 30001


def test_an_alias_becomes_a_service_with_an_address(bench: Bench) -> None:
    bench.call("create", SERVICES, body={"metadata": {"name": "a"}, "spec": service("a")["spec"]})
    alias = change(bench, "a", type="ExternalName", externalName="x.y")
    assert "clusterIP" not in alias and "ipFamilies" not in alias
    spec = change(bench, "a", type="ClusterIP", externalName=None)
    assert spec["clusterIPs"] == [spec["clusterIP"]] and spec["ipFamilies"] == ["IPv4"]


def test_a_node_port_that_was_changed_with_the_type_is_an_error(bench: Bench) -> None:
    bench.call("create", SERVICES, body=node_port("a", 30001))
    ports = [{"port": 80, "nodePort": 30009}]
    patch = {"spec": {"type": "ClusterIP", "ports": ports}}
    message = refused(bench, 422, "patch", SERVICES, "a", patch, patch_type=MERGE)
    assert message.endswith("spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'")


def test_the_address_of_a_service_stays(bench: Bench) -> None:
    bench.call("create", SERVICES, body=service("a", clusterIP="10.96.0.76"))
    message = refused(bench, 422, "patch", SERVICES, "a", {"spec": {"clusterIP": "10.96.0.77"}}, patch_type=MERGE)
    assert message == (
        'Service "a" is invalid: spec.clusterIPs[0]: Invalid value: ["10.96.0.77"]: may not change once set'
    )
    assert change(bench, "a", clusterIP=None, clusterIPs=None)["clusterIPs"] == ["10.96.0.76"]


def test_only_load_balancers_keep_the_status_of_one(bench: Bench) -> None:
    bench.call("create", SERVICES, body=service("a", type="LoadBalancer"))
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
    bench.call("patch", SERVICES, "a", status, patch_type=MERGE, subresource="status")
    assert bench.call("get", SERVICES, "a")["status"]["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.1"
    change(bench, "a", type="ClusterIP")
    assert bench.call("get", SERVICES, "a")["status"] == {"loadBalancer": {}}


def test_the_port_of_the_health_check_stays_unless_it_is_given_up(bench: Bench) -> None:
    bench.call("create", SERVICES, body=service("a", type="LoadBalancer", externalTrafficPolicy="Local"))
    held = bench.call("get", SERVICES, "a")["spec"]["healthCheckNodePort"]
    patch = {"spec": {"healthCheckNodePort": held - 1}}
    message = refused(bench, 422, "patch", SERVICES, "a", patch, patch_type=MERGE)
    assert message == 'Service "a" is invalid: spec.healthCheckNodePort: Forbidden: field is immutable'
    assert change(bench, "a", healthCheckNodePort=None)["healthCheckNodePort"] == held
    assert "healthCheckNodePort" not in change(bench, "a", externalTrafficPolicy="Cluster")
    again = change(bench, "a", externalTrafficPolicy="Local", healthCheckNodePort=held - 1)
    assert again["healthCheckNodePort"] == held - 1


# -- bands, families, releases -----------------------------------------------------------------------


DUAL = ServiceRanges.parse("10.0.0.0/24,fd00::/112")


def test_dynamic_addresses_and_ports_leave_the_static_bands_alone_until_the_rest_is_used_up(make_bench: Any) -> None:
    bench = make_bench(services=ServiceRanges.parse("10.0.0.0/27", "30000-30031"))
    numbers = []
    for count in range(29):  # of 30, the kubernetes Service has 10.0.0.1
        spec = bench.call("create", SERVICES, body=service(f"s{count}", type="NodePort"))["spec"]
        numbers.append((int(spec["clusterIP"].split(".")[-1]), spec["ports"][0]["nodePort"] - 30_000))
    assert all(address > 16 for address, _ in numbers[:14]) and all(address <= 16 for address, _ in numbers[14:])
    assert all(port >= 16 for _, port in numbers[:16]) and all(port < 16 for _, port in numbers[16:])
    message = refused(bench, 500, "create", SERVICES, body=service("x"))
    assert message == "Internal error occurred: failed to allocate a serviceIP: range is full"
    bench.call("delete", SERVICES, "s3")
    assert bench.call("create", SERVICES, body=service("x"))["spec"]["clusterIP"] == f"10.0.0.{numbers[3][0]}"


def test_before_1_33_an_address_out_of_range_is_named_with_the_range(make_bench: Any) -> None:
    bench = make_bench(features=FeatureGates("1.32"))
    message = refused(bench, 422, "create", SERVICES, body=service("a", clusterIP="10.0.0.1"))
    assert message.endswith(
        "failed to allocate IP 10.0.0.1: the provided IP (10.0.0.1) is not in the valid range. "
        "The range of valid IPs is 10.96.0.0/16"
    )


@pytest.mark.parametrize(
    ("spec", "families", "policy"),
    [
        pytest.param({}, ["IPv4"], "SingleStack", id="nothing said is one family"),
        pytest.param({"ipFamilyPolicy": "PreferDualStack"}, ["IPv4", "IPv6"], "PreferDualStack", id="preferred"),
        pytest.param({"ipFamilyPolicy": "RequireDualStack"}, ["IPv4", "IPv6"], "RequireDualStack", id="required"),
        pytest.param({"ipFamilies": ["IPv6"]}, ["IPv6"], "SingleStack", id="the second family alone"),
        pytest.param(
            {"ipFamilies": ["IPv6"], "ipFamilyPolicy": "PreferDualStack"},
            ["IPv6", "IPv4"],
            "PreferDualStack",
            id="the second family first",
        ),
        pytest.param(
            {"clusterIP": "fd00::7", "ipFamilyPolicy": "RequireDualStack"},
            ["IPv6", "IPv4"],
            "RequireDualStack",
            id="the family of the address that was asked for comes first",
        ),
    ],
)
def test_families_on_a_dual_stack_cluster(make_bench: Any, spec: Any, families: list[str], policy: str) -> None:
    bench = make_bench(services=DUAL)
    made = bench.call("create", SERVICES, body=service("a", **spec))["spec"]
    assert made["ipFamilies"] == families and made["ipFamilyPolicy"] == policy
    assert ["IPv6" if ":" in address else "IPv4" for address in made["clusterIPs"]] == families
    assert made["clusterIP"] == made["clusterIPs"][0]


def test_two_families_with_one_policy_contradict_each_other(make_bench: Any) -> None:
    bench = make_bench(services=DUAL)
    message = refused(bench, 422, "create", SERVICES, body=service("a", ipFamilies=["IPv4", "IPv6"]))
    assert message == (
        'Service "a" is invalid: spec.ipFamilyPolicy: Invalid value: "SingleStack": must be \'RequireDualStack\' or '
        "'PreferDualStack' when multiple IP families are specified"
    )


def test_a_service_gets_a_second_family_and_gives_it_back(make_bench: Any) -> None:
    bench = make_bench(services=DUAL)
    first = bench.call("create", SERVICES, body=service("a"))["spec"]["clusterIP"]
    both = change(bench, "a", ipFamilyPolicy="RequireDualStack")
    assert both["clusterIPs"][0] == first and both["clusterIPs"][1].startswith("fd00::")
    message = refused(bench, 422, "create", SERVICES, body=service("b", clusterIP=both["clusterIPs"][1]))
    assert message.endswith("provided IP is already allocated")
    single = change(bench, "a", ipFamilyPolicy="SingleStack")
    assert single["clusterIPs"] == [first] and single["ipFamilies"] == ["IPv4"]
    bench.call("create", SERVICES, body=service("b", clusterIP=both["clusterIPs"][1]))


def test_who_drops_an_address_says_so_by_the_policy(make_bench: Any) -> None:
    bench = make_bench(services=DUAL)
    made = bench.call("create", SERVICES, body=service("a", ipFamilyPolicy="PreferDualStack"))["spec"]
    patch = {"spec": {"clusterIPs": made["clusterIPs"][:1], "ipFamilies": ["IPv4"]}}
    message = refused(bench, 422, "patch", SERVICES, "a", patch, patch_type=MERGE)
    assert "must be 'SingleStack' to release the secondary cluster IP" in message
    assert "must be 'SingleStack' to release the secondary IP family" in message


def test_a_service_that_prefers_two_families_stays_as_it_is_when_the_cluster_gets_a_second(make_bench: Any) -> None:
    bench = make_bench()
    bench.call("create", SERVICES, body=service("a", ipFamilyPolicy="PreferDualStack"))
    later = APIServer(
        bench.loop, bench.etcd, name="apiserver/1", services=ServiceRanges.parse("10.96.0.0/16,fd00::/112")
    )
    bench.loop.run(for_ms=20)
    bench.you = later.transport("you-too")
    assert change(bench, "a", sessionAffinity="ClientIP")["ipFamilies"] == ["IPv4"]
    assert change(bench, "a", ipFamilyPolicy="RequireDualStack")["ipFamilies"] == ["IPv4", "IPv6"]


def test_a_headless_service_has_families_and_no_addresses(make_bench: Any) -> None:
    bench = make_bench(services=DUAL)
    made = bench.call("create", SERVICES, body=service("a", clusterIP="None", selector={"app": "a"}))["spec"]
    assert made["clusterIPs"] == ["None"] and made["ipFamilies"] == ["IPv4"]
    assert change(bench, "a", ipFamilyPolicy="PreferDualStack")["ipFamilies"] == ["IPv4", "IPv6"]


# -- what is there and should not be -----------------------------------------------------------------


def test_services_that_a_restored_store_has_twice_are_told_by_events(bench: Bench) -> None:
    bench.call("create", SERVICES, body=node_port("a", 30001, clusterIP="10.96.0.9"))
    twin = node_port("b", 30001, clusterIP="10.96.0.9", clusterIPs=["10.96.0.9"], ipFamilies=["IPv4"])
    twin["metadata"] |= {"namespace": "default", "uid": "u"}
    store = bench.server.store(SERVICES)
    bench.run(store.storage.create(store.key("default", "b"), {"apiVersion": "v1", "kind": "Service", **twin}))
    listed = bench.call("list", EVENTS)["items"]
    assert sorted((one["involvedObject"]["name"], one["reason"]) for one in listed) == [
        ("b", "ClusterIPAlreadyAllocated"),
        ("b", "PortAlreadyAllocated"),
    ]
    told = [event.message for event in bench.loop.trace if event.kind == "service.repair"]
    assert told[0].endswith("Cluster IP [IPv4]:10.96.0.9 was assigned to multiple services; please recreate service")


def test_a_server_with_other_ranges_tells_of_what_it_finds_at_its_start(bench: Bench) -> None:
    bench.call("create", SERVICES, body=node_port("a", 30001, clusterIP="10.96.0.9"))
    APIServer(bench.loop, bench.etcd, name="apiserver/1", services=ServiceRanges.parse("10.0.0.0/24", "40000-40099"))
    bench.loop.run(for_ms=50)
    found = {
        one["reason"]: one["message"] for one in bench.call("list", EVENTS)["items"] if "a." in one["metadata"]["name"]
    }
    assert found == {
        "ClusterIPOutOfRange": "Cluster IP [IPv4]: 10.96.0.9 is not within any configured Service CIDR; "
        "please recreate service",
        "PortOutOfRange": "Port 30001 is not within the port range 40000-40099; please recreate service",
    }
