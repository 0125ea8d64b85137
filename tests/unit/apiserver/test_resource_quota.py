"""ResourceQuota admission: charging, refusing, and the race for the last place."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import ConflictError, StatusError
from k8slab.api.scheme import CONFIGMAPS, EVENTS, PODS, RESOURCEQUOTAS, SERVICES
from k8slab.api.transport import Request
from k8slab.apiserver import APIServer
from k8slab.apiserver.admission import Objects
from k8slab.apiserver.admission.resource_quota import LimitedResource, ResourceQuota, check_request
from k8slab.sim import sleep
from tests.unit.apiserver.conftest import Bench
from tests.unit.apiserver.test_admission import refused

Json = Any
QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}


def quota(bench: Bench, name: str = "q", used: Json = None, **hard: str) -> None:
    """A quota that somebody has counted for already."""
    limits = {key.replace("_", "."): value for key, value in hard.items()}
    made = bench.call("create", RESOURCEQUOTAS, body={"metadata": {"name": name}, "spec": {"hard": limits}})
    status = {"hard": limits, "used": used or dict.fromkeys(limits, "0")}
    bench.call("update", RESOURCEQUOTAS, name, {**made, "status": status}, subresource="status")


def used(bench: Bench, name: str = "q") -> Json:
    return bench.call("get", RESOURCEQUOTAS, name)["status"]["used"]


def config_map(name: str) -> Json:
    return {"metadata": {"name": name}}


def race(bench: Bench, servers: list[APIServer], count: int) -> list[tuple[str, int]]:
    """(name, code) of so many ConfigMaps that are created at one moment, in turn at each server."""
    outcome: list[tuple[str, int]] = []

    async def create(server: APIServer, name: str) -> None:
        request = Request("create", CONFIGMAPS, "default", body=config_map(name))
        try:
            await server.transport(f"you/{name}").call(request)
            outcome.append((name, 201))
        except StatusError as error:
            outcome.append((name, error.code))

    for n in range(count):
        bench.loop.spawn(f"you/{n}", create(servers[n % len(servers)], f"c{n}"))
    bench.loop.run(for_ms=200)
    return sorted(outcome)


def test_what_is_granted_is_charged_before_the_answer(bench: Bench) -> None:
    quota(bench, configmaps="2")
    bench.call("create", CONFIGMAPS, body=config_map("a"))
    assert used(bench) == {"configmaps": "1"}
    bench.call("create", CONFIGMAPS, body=config_map("b"))
    assert refused(bench, "create", CONFIGMAPS, body=config_map("c")) == (
        '403 configmaps "c" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, '
        "limited: configmaps=2"
    )


def test_several_quotas_must_all_have_room_and_none_is_charged_when_one_has_not(bench: Bench) -> None:
    quota(bench, "roomy", configmaps="9")
    quota(bench, "tight", used={"configmaps": "1"}, configmaps="1")
    assert "exceeded quota: tight" in refused(bench, "create", CONFIGMAPS, body=config_map("c"))
    assert used(bench, "roomy") == {"configmaps": "0"}


def test_a_quota_nobody_has_counted_for_refuses_nothing_of_it_yet(bench: Bench) -> None:
    """`status.hard` is what counts: without a quota controller it stays empty."""
    bench.call("create", RESOURCEQUOTAS, body={"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "0"}}})
    bench.call("create", CONFIGMAPS, body=config_map("a"))


def test_a_limit_whose_usage_is_not_known_refuses_everything(bench: Bench) -> None:
    quota(bench, used={"secrets": "0"}, configmaps="5", secrets="5")
    assert refused(bench, "create", CONFIGMAPS, body=config_map("a")) == (
        '403 configmaps "a" is forbidden: status unknown for quota: q, resources: configmaps'
    )


def test_a_dry_run_is_judged_and_not_charged(bench: Bench) -> None:
    quota(bench, configmaps="1")
    bench.call("create", CONFIGMAPS, body=config_map("a"), dryRun="All")
    assert used(bench) == {"configmaps": "0"}
    bench.call("create", CONFIGMAPS, body=config_map("b"))
    assert "exceeded quota" in refused(bench, "create", CONFIGMAPS, body=config_map("a"), dryRun="All")


def test_an_update_is_charged_by_the_difference(bench: Bench) -> None:
    quota(bench, services_nodeports="2")
    ports = [{"name": f"p{n}", "port": n} for n in range(1, 4)]
    made = bench.call("create", SERVICES, body={"metadata": {"name": "s"}, "spec": {"ports": ports}})
    assert used(bench) == {"services.nodeports": "0"}
    text = refused(bench, "update", SERVICES, "s", {**made, "spec": {**made["spec"], "type": "NodePort"}})
    assert "requested: services.nodeports=3, used: services.nodeports=0, limited: services.nodeports=2" in text
    bench.call("update", SERVICES, "s", {**made, "spec": {**made["spec"], "type": "NodePort", "ports": ports[:2]}})
    assert used(bench) == {"services.nodeports": "2"}


def test_a_create_that_fails_after_it_was_charged_leaves_used_too_high(bench: Bench) -> None:
    """Until the quota controller counts anew; see its tests."""
    bench.call("create", CONFIGMAPS, body=config_map("a"))
    quota(bench, configmaps="5", used={"configmaps": "1"})
    assert refused(bench, "create", CONFIGMAPS, body=config_map("a")).startswith("409 ")
    assert used(bench) == {"configmaps": "2"}


def test_at_one_server_requests_of_one_moment_are_judged_together(bench: Bench) -> None:
    quota(bench, configmaps="3")
    outcome = race(bench, [bench.server], 6)
    assert [code for _, code in outcome].count(201) == 3 and [code for _, code in outcome].count(403) == 3
    assert used(bench) == {"configmaps": "3"}
    writes = [e for e in bench.loop.trace if e.kind == "etcd.commit" and e.data["resource"] == "resourcequotas"]
    assert len(writes) == 2 + 2, "two to set it up; one for who came first, one for the five who waited meanwhile"


@pytest.mark.parametrize("servers", [2, 3])
def test_of_several_servers_only_one_gives_the_last_place_away(bench: Bench, servers: int) -> None:
    """Both judge on the same `used`; the slower update is a conflict and is judged again."""
    quota(bench, configmaps="1")
    several = [bench.server] + [APIServer(bench.loop, bench.etcd, name=f"apiserver/{n}") for n in range(1, servers)]
    bench.loop.run(for_ms=50)
    outcome = race(bench, several, servers)
    assert [code for _, code in outcome] == [201] + [403] * (servers - 1)
    assert used(bench) == {"configmaps": "1"}


class Forgetful(Objects):
    """Somebody else writes the quota before every write of ours, `times` times."""

    times = 0

    async def replace_status(self, group_resource: str, obj: Json) -> Any:
        if self.times:
            self.times -= 1
            current = self.cached(group_resource, "default", obj["metadata"]["name"])
            assert current is not None
            self.put(current)
        return await super().replace_status(group_resource, obj)


@pytest.mark.parametrize(("conflicts", "code"), [(0, 0), (3, 0), (4, 409)])
def test_conflicts_are_tried_again_three_times(conflicts: int, code: int) -> None:
    objects = Forgetful([made_quota({"configmaps": "5"}, {"configmaps": "1"})])
    objects.times = conflicts
    attributes = objects.attributes("configmaps", config_map("a"), namespace="default")
    plugin = ResourceQuota()
    if code:
        with pytest.raises(StatusError) as caught:
            objects.run(plugin.validate(attributes, objects))
        assert caught.value.code == code
    else:
        objects.run(plugin.validate(attributes, objects))
        stored = objects.cached("resourcequotas", "default", "q")
        assert stored is not None and stored["status"]["used"] == {"configmaps": "2"}


def made_quota(hard: Json, used: Json, **spec: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": used},
    }


def test_what_is_limited_by_configuration_needs_a_quota_that_covers_it() -> None:
    objects = Objects()
    pod = {"metadata": {"name": "p"}, "spec": {"priorityClassName": "high", "containers": [{"name": "c"}]}}
    attributes = objects.attributes("pods", pod, namespace="default")
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    by_scope = [LimitedResource("pods", match_scopes=[scope])]
    with pytest.raises(StatusError, match="insufficient quota to match these scopes"):
        check_request([], attributes, by_scope)
    covering = made_quota({"pods": "5"}, {"pods": "0"}, scopeSelector={"matchExpressions": [scope]})
    assert check_request([covering], attributes, by_scope)[0]["status"]["used"] == {"pods": "1"}
    with pytest.raises(StatusError, match="insufficient quota to consume: count/pods,pods"):
        check_request([], attributes, [LimitedResource("pods", match_contains=["pods"])])
    limited = [LimitedResource("persistentvolumeclaims", match_contains=["gold"])]
    assert check_request([], attributes, limited) == []


def test_limited_scopes_hold_for_pods_whatever_resource_they_are_configured_for() -> None:
    """Upstream filters the limited resources by name for what is consumed, and not for the scopes."""
    objects = Objects()
    pod = {"metadata": {"name": "p"}, "spec": {"priorityClassName": "high", "containers": [{"name": "c"}]}}
    attributes = objects.attributes("pods", pod, namespace="default")
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    with pytest.raises(StatusError, match=r"these scopes: \[{PriorityClass In \[high\]}\]"):
        check_request([], attributes, [LimitedResource("services", match_scopes=[scope])])


def test_a_scope_that_is_none_is_an_error_of_the_quota_and_no_matter_in_the_configuration() -> None:
    objects = Objects()
    attributes = objects.attributes("pods", {"metadata": {"name": "p"}, "spec": {}}, namespace="default")
    for scope, why in (
        ({"operator": "Like", "values": ["a", "b"]}, '"Like" is not a valid scope selector operator'),
        ({"operator": "In"}, "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
    ):
        scope = {"scopeName": "PriorityClass", **scope}
        assert check_request([], attributes, [LimitedResource("pods", match_scopes=[scope])]) == []
        broken = made_quota({"configmaps": "1"}, {"configmaps": "0"}, scopeSelector={"matchExpressions": [scope]})
        with pytest.raises(StatusError) as refusal:
            check_request([broken], attributes)
        shown = f"{{PriorityClass {scope['operator']} [{' '.join(scope.get('values', []))}]}}"
        text = f"error on matching scope {shown}: failed to parse and convert selector: {why}"
        assert refusal.value.code == 500
        assert refusal.value.message == f"error matching scopes of quota q, err: {text}"


def test_events_and_deletions_cost_nothing(bench: Bench) -> None:
    quota(bench, **{"count/events": "0", "pods": "1"})
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "type": "Normal"}
    bench.call("create", EVENTS, body=event)
    bench.pod("p")
    bench.call("delete", PODS, "p")
    assert used(bench)["pods"] == "1", "only the quota controller lowers it"


@pytest.mark.parametrize(
    ("fails", "texts"),
    [
        pytest.param(
            ConflictError("changed meanwhile"), ["changed meanwhile", "changed meanwhile"], id="etcd keeps refusing"
        ),
        pytest.param(ZeroDivisionError(), ["breaks off", "DEFAULT DENY"], id="a fault of the server itself"),
    ],
)
def test_everybody_who_waits_gets_a_verdict_when_judging_breaks_off(fails: Exception, texts: list[str]) -> None:
    """Three ask at once: the first judges alone, and whatever becomes of that the others are judged or refused."""
    objects = Objects([{**QUOTA, "status": {"hard": {"configmaps": "9"}, "used": {"configmaps": "0"}}}])
    plugin, heard, tries = ResourceQuota(), list[str](), iter((fails,) * 8)

    async def failing(group_resource: str, obj: Json) -> Json:
        await sleep(5)
        if (error := next(tries, None)) is not None:
            raise error
        return await Objects.replace_status(objects, group_resource, obj)

    objects.replace_status = failing  # type: ignore[method-assign]

    async def ask(name: str) -> None:
        attributes = objects.attributes("configmaps", config_map(name), namespace="default")
        try:
            await plugin.validate(attributes, objects)
            heard.append("granted")
        except StatusError as error:
            heard.append(error.message)
        except ZeroDivisionError:
            heard.append("breaks off")

    async def ask_three() -> None:
        for name in ("a", "b", "c"):
            objects.loop.spawn(name, ask(name))
            await sleep(1)

    objects.loop.spawn("you", ask_three())
    objects.loop.run(for_ms=1_000)
    plugin.check_invariants()
    assert len(heard) == 3 and set(heard) == set(texts)
