"""A runtime's side: lists, chains, the cache, GC and STATUS. Expected texts: containernetworking/cni libcni, its tests
and SPEC.md sections 1 and 3."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from k8slab.network import (
    Attachment,
    CNIConfig,
    CNIError,
    Executables,
    Exit,
    Invocation,
    IPConfig,
    MemoryFiles,
    Plugin,
    Result,
    RuntimeConf,
    load_network,
    run,
)
from k8slab.network.cni.results import Interface, previous_result

PATH = "/opt/cni/bin"


class Link(Plugin):
    """A plugin of a chain: adds an interface of its own name to what was there, and notes every call."""

    def __init__(self, name: str, diary: list[tuple[str, str, dict[str, Any]]], fails: tuple[str, ...] = ()) -> None:
        self.name = name
        self.diary = diary
        self.fails = fails

    def _note(self, call: Invocation) -> None:
        self.diary.append((call.command, self.name, dict(call.config)))
        if call.command in self.fails:
            raise CNIError(f"{self.name} does not want to", 100)

    def add(self, call: Invocation) -> Result:
        self._note(call)
        previous = previous_result(call.config) or Result(ips=(IPConfig("10.1.0.2/24"),))
        return replace(previous, interfaces=(*previous.interfaces, Interface(self.name)))

    check = delete = gc = status = _note


class World:
    """Three plugins in a chain, of which some fail."""

    def __init__(self, version: str = "1.1.0", fails: dict[str, tuple[str, ...]] | None = None, **more: Any) -> None:
        self.diary: list[tuple[str, str, dict[str, Any]]] = []
        self.programs = Executables()
        for name in ("first", "second", "third"):
            plugin = Link(name, self.diary, (fails or {}).get(name, ()))
            self.programs.install(PATH, name, partial(run, plugin))
        plugins = [
            {"type": "first"},
            {"type": "second", "capabilities": {"mac": True, "ips": False}},
            {"type": "third"},
        ]
        body = {"cniVersion": version, "name": "net", "plugins": plugins, **more}
        self.network = load_network(json.dumps(body).encode())
        self.files = MemoryFiles()
        self.cni = CNIConfig(self.programs, self.files, [PATH])
        self.conf = RuntimeConf("c1", "/run/netns/a", args=(("A", "1"), ("B", "2")))

    def calls(self) -> list[str]:
        return [f"{command} {name}" for command, name, _ in self.diary]

    def config_of(self, place: int) -> dict[str, Any]:
        return self.diary[place][2]


def names(config: dict[str, Any]) -> list[str]:
    return [one["name"] for one in config["prevResult"]["interfaces"]]


def test_each_plugin_is_given_the_result_of_the_one_before() -> None:
    world = World()
    result = world.cni.add(world.network, world.conf)
    assert world.calls() == ["ADD first", "ADD second", "ADD third"]
    assert "prevResult" not in world.config_of(0)
    assert names(world.config_of(1)) == ["first"]
    assert names(world.config_of(2)) == ["first", "second"]
    assert [one.name for one in result.interfaces] == ["first", "second", "third"]


def test_name_and_version_of_the_list_go_into_every_configuration() -> None:
    world = World()
    world.cni.add(world.network, world.conf)
    assert {(config["name"], config["cniVersion"]) for _, _, config in world.diary} == {("net", "1.1.0")}


def test_deleting_goes_backwards_and_gives_each_the_final_result() -> None:
    world = World()
    world.cni.add(world.network, world.conf)
    world.diary.clear()
    world.cni.delete(world.network, world.conf)
    assert world.calls() == ["DEL third", "DEL second", "DEL first"]
    assert [names(config) for _, _, config in world.diary] == [["first", "second", "third"]] * 3


def test_deleting_again_and_what_never_was_succeeds_without_a_result() -> None:
    world = World()
    world.cni.delete(world.network, world.conf)
    world.cni.delete(world.network, world.conf)
    assert ["prevResult" in config for _, _, config in world.diary] == [False] * 6


def test_before_0_4_0_deleting_gives_no_result_and_checking_is_refused() -> None:
    world = World("0.3.1")
    world.cni.add(world.network, world.conf)
    world.diary.clear()
    world.cni.delete(world.network, world.conf)
    assert ["prevResult" in config for _, _, config in world.diary] == [False] * 3
    with pytest.raises(CNIError, match=r'configuration version "0\.3\.1" does not support the CHECK command'):
        world.cni.check(world.network, world.conf)


def test_a_failure_ends_the_chain_is_named_and_nothing_is_undone() -> None:
    world = World(fails={"second": ("ADD",)})
    with pytest.raises(CNIError) as failed:
        world.cni.add(world.network, world.conf)
    assert str(failed.value) == 'plugin type="second" failed (add): second does not want to'
    assert failed.value.code == 100
    assert world.calls() == ["ADD first", "ADD second"]
    assert world.files.walk("/var/lib/cni/results") == []


def test_a_failing_del_ends_the_chain_and_keeps_the_result_for_the_next_try() -> None:
    world = World(fails={"second": ("DEL",)})
    world.cni.add(world.network, world.conf)
    world.diary.clear()
    with pytest.raises(CNIError, match=r'plugin type="second" failed \(delete\): second does not want to'):
        world.cni.delete(world.network, world.conf)
    assert world.calls() == ["DEL third", "DEL second"]
    assert world.cni.cached_result(world.network, world.conf) is not None


def test_capability_arguments_reach_those_who_declare_them() -> None:
    world = World()
    conf = replace(world.conf, capability_args={"mac": "02:00:00:00:00:09", "ips": ["10.1.0.9"]})
    world.cni.add(world.network, conf)
    assert "runtimeConfig" not in world.config_of(0)
    assert world.config_of(1)["runtimeConfig"] == {"mac": "02:00:00:00:00:09"}


def test_the_environment_of_a_plugin() -> None:
    seen: list[dict[str, str]] = []
    programs = Executables()

    def note(env: Any, stdin: bytes) -> Exit:
        seen.append(dict(env))
        return Exit(0, b"{}")

    programs.install("/b", "any", note)
    cni = CNIConfig(programs, MemoryFiles(), ["/a", "/b"])
    network = load_network(b'{"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "any"}]}')
    cni.add(network, RuntimeConf("c1", "/run/netns/a", "eth1", (("A", "1"), ("B", "2"))))
    assert seen == [
        {
            "CNI_COMMAND": "ADD",
            "CNI_CONTAINERID": "c1",
            "CNI_NETNS": "/run/netns/a",
            "CNI_ARGS": "A=1;B=2",
            "CNI_IFNAME": "eth1",
            "CNI_PATH": "/a:/b",
        }
    ]


def test_the_cache_is_one_file_for_each_attachment() -> None:
    world = World()
    world.cni.add(world.network, world.conf)
    assert world.files.walk("/") == ["/var/lib/cni/results/net-c1-eth0"]
    body = json.loads(world.files.read("/var/lib/cni/results/net-c1-eth0"))
    assert (body["kind"], body["containerId"], body["cniArgs"]) == ("cniCacheV1", "c1", [["A", "1"], ["B", "2"]])
    world.cni.delete(world.network, world.conf)
    assert world.files.walk("/") == []


@pytest.mark.parametrize("torn", [b"", b'{"kind": "cniCa', b'{"kind": "other"}'], ids=["empty", "half", "another kind"])
def test_a_half_written_result_does_not_hinder_a_del(torn: bytes) -> None:
    world = World()
    world.cni.add(world.network, world.conf)
    world.files.write("/var/lib/cni/results/net-c1-eth0", torn)
    with pytest.raises(CNIError, match='failed to get network "net" cached result'):
        world.cni.check(world.network, world.conf)
    world.diary.clear()
    world.cni.delete(world.network, world.conf)
    assert world.calls() == ["DEL third", "DEL second", "DEL first"]
    assert world.files.walk("/") == []


def test_checking_gives_the_final_result_to_all_in_order_and_ends_at_the_first_that_complains() -> None:
    world = World(fails={"second": ("CHECK",)})
    world.cni.add(world.network, world.conf)
    world.diary.clear()
    with pytest.raises(CNIError, match=r"^second does not want to$"):
        world.cni.check(world.network, world.conf)
    assert world.calls() == ["CHECK first", "CHECK second"]
    assert names(world.config_of(0)) == ["first", "second", "third"]


def test_checks_can_be_turned_off() -> None:
    world = World(disableCheck=True, fails={"first": ("CHECK",)})
    world.cni.add(world.network, world.conf)
    world.cni.check(world.network, world.conf)
    assert world.calls() == ["ADD first", "ADD second", "ADD third"]


def test_gc_deletes_what_is_cached_and_not_valid_and_then_asks_every_plugin() -> None:
    world = World()
    for number in (1, 2):
        world.cni.add(world.network, replace(world.conf, container_id=f"c{number}"))
    world.diary.clear()
    world.cni.gc(world.network, [Attachment("c2", "eth0")])
    backwards = ["DEL third", "DEL second", "DEL first"]
    assert world.calls() == [*backwards, "GC first", "GC second", "GC third"]
    valid = [{"containerID": "c2", "ifname": "eth0"}]
    assert world.config_of(3)["cni.dev/valid-attachments"] == valid
    assert world.files.walk("/") == ["/var/lib/cni/results/net-c2-eth0"]


def test_gc_goes_on_after_errors_and_tells_all_of_them() -> None:
    world = World(fails={"first": ("GC",), "third": ("GC", "DEL")})
    world.cni.add(world.network, world.conf)
    with pytest.raises(CNIError) as failed:
        world.cni.gc(world.network, [])
    lines = str(failed.value).splitlines()
    assert lines[0].startswith('failed to delete stale attachment c1 eth0: plugin type="third" failed (delete): ')
    assert lines[1:] == [
        "failed to GC plugin first: first does not want to",
        "failed to GC plugin third: third does not want to",
    ]


def test_gc_of_an_older_list_only_deletes_and_can_be_turned_off() -> None:
    world = World("1.0.0")
    world.cni.add(world.network, world.conf)
    world.diary.clear()
    world.cni.gc(world.network, [])
    assert world.calls() == ["DEL third", "DEL second", "DEL first"]
    off = World(disableGC="true")
    off.cni.add(off.network, off.conf)
    off.diary.clear()
    off.cni.gc(off.network, [])
    assert off.calls() == []


def test_status_ends_at_the_first_that_is_not_ready_with_its_code() -> None:
    world = World(fails={"second": ("STATUS",)})
    with pytest.raises(CNIError) as failed:
        world.cni.status(world.network)
    assert failed.value.code == 100
    assert world.calls() == ["STATUS first", "STATUS second"]


def test_validate_names_every_plugin_that_is_missing_or_too_old() -> None:
    world = World()
    assert world.cni.validate(world.network) == ["mac"]
    body = b'{"cniVersion": "9.0.0", "name": "net", "plugins": [{"type": "first"}, {"type": "no"}]}'
    with pytest.raises(CNIError) as failed:
        world.cni.validate(load_network(body))
    old, missing = 'plugin first does not support config version "9.0.0"', 'failed to find plugin "no" in path'
    assert str(failed.value) == f"[{old} {missing} [/opt/cni/bin]]"


OUTPUTS = {
    "nothing at all": (Exit(1), "netplugin failed with no error message: exit status 1"),
    "words on standard error": (Exit(2, b"", b"oh no"), 'netplugin failed: "oh no": exit status 2'),
    "an error": (Exit(1, b'{"code": 11, "msg": "later", "details": "soon"}'), "later; soon"),
    "no JSON": (
        Exit(1, b"panic"),
        "netplugin failed but error parsing its diagnostic message \"panic\": invalid character 'p' looking for "
        "beginning of value",
    ),
}


@pytest.mark.parametrize(("end", "words"), OUTPUTS.values(), ids=OUTPUTS)
def test_what_a_plugin_that_failed_said(end: Exit, words: str) -> None:
    programs = Executables()
    programs.install(PATH, "any", lambda env, stdin: end)
    with pytest.raises(CNIError) as failed:
        programs.execute(f"{PATH}/any", {}, b"")
    assert str(failed.value) == words


ANSWERS = {
    "no JSON": (b"ok", "failed to unmarshal raw result: invalid character 'o' looking for beginning of value"),
    "no version of the protocol": (b'{"cniVersion": "7.0.0"}', 'unsupported CNI result version "7.0.0"'),
    "an address that is none": (b'{"ips": [{"address": "10.1.0.2"}]}', "invalid CIDR address: 10.1.0.2"),
}


@pytest.mark.parametrize(("stdout", "words"), ANSWERS.values(), ids=ANSWERS)
def test_a_malformed_result_is_an_error_of_add(stdout: bytes, words: str) -> None:
    world = World()
    world.programs.install(PATH, "first", lambda env, stdin: Exit(0, stdout))
    with pytest.raises(CNIError) as failed:
        world.cni.add(world.network, world.conf)
    assert str(failed.value) == f'plugin type="first" failed (add): {words}'


LISTS = {
    "no JSON": (b"{", "error parsing configuration list: unexpected end of JSON input"),
    "comments": (
        b'{"name": "a", # the name\n}',
        "error parsing configuration list: invalid character '#' looking for beginning of object key string",
    ),
    "no name": (b"{}", "error parsing configuration list: no name"),
    "a name that is none": (b'{"name": 7}', "error parsing configuration list: invalid name type float64"),
    "a version that is none": (
        b'{"name": "a", "cniVersion": []}',
        "error parsing configuration list: invalid cniVersion type []interface {}",
    ),
    "no plugins": (b'{"name": "a"}', "no plugin configs found"),
    "plugins that are none": (
        b'{"name": "a", "plugins": {}}',
        "error parsing configuration list: invalid 'plugins' type map[string]interface {}",
    ),
    "an empty list": (b'{"name": "a", "plugins": []}', "error parsing configuration list: no plugins in list"),
    "a plugin without a type": (
        b'{"name": "a", "plugins": [{}]}',
        "failed to parse plugin config 0: error parsing configuration: missing 'type'",
    ),
    "a switch that is none": (
        b'{"name": "a", "disableCheck": "maybe"}',
        'error parsing configuration list: invalid value "maybe" for disableCheck',
    ),
    "a version among others that is none": (
        b'{"name": "a", "cniVersions": ["1.x"]}',
        "error parsing configuration list: invalid cniVersions entry 1.x at index 0: failed to convert minor version "
        'part "x": strconv.Atoi: parsing "x": invalid syntax',
    ),
}


@pytest.mark.parametrize(("data", "words"), LISTS.values(), ids=LISTS)
def test_a_list_that_no_runtime_loads(data: bytes, words: str) -> None:
    with pytest.raises(CNIError) as failed:
        load_network(data)
    assert str(failed.value) == words


NEGOTIATED = {
    "the one that is written": ({"cniVersion": "0.4.0"}, "0.4.0"),
    "the newest that is known": ({"cniVersions": ["0.4.0", "1.1.0", "1.2.0"]}, "1.1.0"),
    "both ways to write it count": ({"cniVersion": "1.0.0", "cniVersions": ["0.4.0"]}, "1.0.0"),
    "none known: what is written stays": ({"cniVersion": "8.0.0", "cniVersions": ["9.0.0"]}, "8.0.0"),
}


@pytest.mark.parametrize(("head", "version"), NEGOTIATED.values(), ids=NEGOTIATED)
def test_the_version_of_a_list(head: dict[str, Any], version: str) -> None:
    body = {**head, "name": "net", "plugins": [{"type": "any"}]}
    assert load_network(json.dumps(body).encode()).cni_version == version


FINDING = {
    "no name": ("", ["/a"], "no plugin name provided"),
    "a path instead": ("/bin/sh", ["/a"], "invalid plugin name: /bin/sh"),
    "nowhere to look": ("x", [], "no paths provided"),
    "not there": ("x", ["/a", "/b"], 'failed to find plugin "x" in path [/a /b]'),
}


@pytest.mark.parametrize(("name", "paths", "words"), FINDING.values(), ids=FINDING)
def test_looking_for_an_executable(name: str, paths: list[str], words: str) -> None:
    with pytest.raises(CNIError) as failed:
        Executables().find(name, paths)
    assert str(failed.value) == words
