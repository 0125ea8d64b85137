"""A plugin's side of the protocol: environment and standard input in, standard output and an exit code out.

Expected texts and codes: CNI 1.1.0 (SPEC.md, "Error") and containernetworking/cni pkg/skel/skel.go, pkg/utils.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from k8slab.network import CNIError, Code, Invocation, IPConfig, Plugin, Result, Route, run
from k8slab.network.cni.results import DNS, Interface, decode, encode
from k8slab.network.cni.versions import parse_version, versions_from

ENV = {
    "CNI_COMMAND": "ADD",
    "CNI_CONTAINERID": "c1",
    "CNI_NETNS": "/run/netns/blue",
    "CNI_IFNAME": "eth0",
    "CNI_PATH": "/opt/cni/bin",
}
CONF = b'{"cniVersion": "1.1.0", "name": "net"}'


class Recorder(Plugin):
    """Says what it was called with."""

    name = "recorder"
    own_netns = "/proc/1/ns/net"

    def __init__(self) -> None:
        self.calls: list[Invocation] = []

    def add(self, call: Invocation) -> Result:
        self.calls.append(call)
        return Result(ips=(IPConfig("10.1.0.2/24"),))

    def delete(self, call: Invocation) -> None:
        self.calls.append(call)

    def status(self, call: Invocation) -> None:
        raise CNIError("no daemon", Code.LIMITED_CONNECTIVITY, "it went away")


def said(plugin: Plugin, stdin: bytes = CONF, **env: str) -> tuple[int, Any]:
    """Exit code and what stands on standard output."""
    merged = {**ENV, **{f"CNI_{key.upper()}": value for key, value in env.items()}}
    done = run(plugin, merged, stdin)
    return done.code, json.loads(done.stdout) if done.stdout else None


ENVIRONMENT = {
    "all that ADD needs is named when it is missing": (
        {"containerid": "", "netns": "", "ifname": "", "path": ""},
        4,
        "required env variables [CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH] missing",
        None,
    ),
    "DEL needs no namespace": (
        {"command": "DEL", "netns": "", "containerid": ""},
        4,
        "[CNI_CONTAINERID] missing",
        None,
    ),
    "a container id is the name of a file": ({"containerid": "a/b"}, 4, "invalid characters in containerID", "a/b"),
    "a container id starts with a letter or digit": ({"containerid": ".a"}, 4, "invalid characters in", ".a"),
    "an interface's name has 15 characters": (
        {"ifname": "a" * 16},
        4,
        "interface name is too long",
        "interface name should be less than 16 characters",
    ),
    "an interface is not called ..": ({"ifname": ".."}, 4, "interface name is . or ..", None),
    "an interface's name has no colon": ({"ifname": "a:b"}, 4, "contains / or : or whitespace", None),
    "an interface's name has no space": ({"ifname": "a b"}, 4, "contains / or : or whitespace", None),
    "a container id that is no UTF-8": ({"containerid": "a\udcff"}, 4, "invalid characters in", "a\ufffd\ufffd\ufffd"),
    "a command that is no UTF-8": ({"command": "\udcff"}, 4, "unknown CNI_COMMAND: ", None),
    "an unknown command": ({"command": "PING"}, 4, "unknown CNI_COMMAND: PING", None),
}


@pytest.mark.parametrize(("env", "code", "msg", "details"), ENVIRONMENT.values(), ids=ENVIRONMENT)
def test_a_wrong_environment_is_code_4(env: dict[str, str], code: int, msg: str, details: str | None) -> None:
    exit_code, body = said(Recorder(), **env)
    assert (exit_code, body["code"], body.get("details")) == (1, code, details)
    assert msg in body["msg"]


CONFIGURATIONS = {
    "nothing at all": (b"", 6, "error unmarshall network config: unexpected end of JSON input"),
    "a comment": (
        b'{"cniVersion": "0.4.0", # old\n"name": "net"}',
        6,
        "error unmarshall network config: invalid character '#' looking for beginning of object key string",
    ),
    "no object": (
        b"[]",
        6,
        "error unmarshall network config: json: cannot unmarshal array into Go value of type "
        'struct { Name string "json:\\"name\\"" }',
    ),
    "a name that is no text": (
        b'{"name": 7}',
        6,
        "error unmarshall network config: json: cannot unmarshal number into Go struct field .name of type string",
    ),
    "no name": (b'{"cniVersion": "1.1.0"}', 7, "missing network name"),
    "a name that is no file's": (b'{"name": "a b"}', 7, "invalid characters found in network name"),
    "a version that is no text": (
        b'{"name": "net", "cniVersion": 1}',
        6,
        "decoding version from network config: json: cannot unmarshal number into Go struct field .cniVersion of type "
        "string",
    ),
    "a version that nobody knows": (b'{"name": "net", "cniVersion": "2.0.0"}', 1, "incompatible CNI versions"),
}


@pytest.mark.parametrize(("stdin", "code", "msg"), CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_a_wrong_configuration_has_its_code(stdin: bytes, code: int, msg: str) -> None:
    exit_code, body = said(Recorder(), stdin)
    assert (exit_code, body["code"], body["msg"]) == (1, code, msg)


def test_incompatible_versions_are_both_named() -> None:
    plugin = Recorder()
    plugin.versions = ("0.4.0", "1.0.0")
    _, body = said(plugin)
    assert body["details"] == 'config is "1.1.0", plugin supports ["0.4.0" "1.0.0"]'


TOO_OLD = {
    "CHECK came with 0.4.0": ("CHECK", "0.3.1", "config version does not allow CHECK"),
    "GC came with 1.1.0": ("GC", "1.0.0", "config version does not allow GC"),
    "STATUS came with 1.1.0": ("STATUS", "1.0.0", "config version does not allow STATUS"),
}


@pytest.mark.parametrize(("command", "version", "msg"), TOO_OLD.values(), ids=TOO_OLD)
def test_a_command_is_refused_for_versions_before_it(command: str, version: str, msg: str) -> None:
    exit_code, body = said(Recorder(), json.dumps({"name": "net", "cniVersion": version}).encode(), command=command)
    assert (exit_code, body) == (1, {"code": 1, "msg": msg})


def test_an_old_plugin_is_asked_for_no_gc() -> None:
    plugin = Recorder()
    plugin.versions = ("0.4.0", "1.0.0")
    assert said(plugin, command="GC")[1] == {"code": 1, "msg": "plugin version does not allow GC"}


def test_version_needs_no_input_and_answers_on_one_line() -> None:
    done = run(Recorder(), {"CNI_COMMAND": "VERSION"}, b"nonsense")
    supported = b'["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]'
    assert done.stdout == b'{"cniVersion":"1.1.0","supportedVersions":' + supported + b"}\n"


def test_without_a_command_a_plugin_says_what_it_is_and_does_not_fail() -> None:
    done = run(Recorder(), {}, b"")
    assert (done.code, done.stdout) == (0, b"")
    assert "CNI protocol versions supported: 0.1.0, 0.2.0" in done.stderr.decode()


def test_a_result_is_written_in_the_configurations_version() -> None:
    assert said(Recorder())[1] == {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24"}]}
    old = said(Recorder(), b'{"cniVersion": "0.3.1", "name": "net"}')[1]
    assert old == {"cniVersion": "0.3.1", "ips": [{"version": "4", "address": "10.1.0.2/24"}], "dns": {}}
    oldest = said(Recorder(), b'{"name": "net"}')[1]
    assert oldest == {"cniVersion": "0.1.0", "ip4": {"ip": "10.1.0.2/24"}, "dns": {}}


def test_the_hosts_own_namespace_is_refused_after_the_fact() -> None:
    plugin = Recorder()
    exit_code, body = said(plugin, netns="/proc/1/ns/net")
    assert (exit_code, body["code"]) == (1, 8)
    assert len(plugin.calls) == 1  # upstream looks after it has done it
    assert run(plugin, {**ENV, "CNI_NETNS": "/proc/1/ns/net", "CNI_NETNS_OVERRIDE": "1"}, CONF).code == 0


def test_an_error_has_a_code_a_text_and_details() -> None:
    assert said(Recorder(), command="STATUS")[1] == {"code": 51, "msg": "no daemon", "details": "it went away"}


def test_what_a_plugin_leaves_out_succeeds_and_says_nothing() -> None:
    done = run(Plugin(), {**ENV, "CNI_COMMAND": "CHECK"}, CONF)
    assert (done.code, done.stdout) == (0, b"")


FULL = Result(
    (Interface("cni0", "02:00:00:00:00:01"), Interface("eth0", "02:00:00:00:00:02", "/run/netns/a", 1450)),
    (IPConfig("10.1.0.2/24", "10.1.0.1", 1), IPConfig("2001:db8::2/64", "2001:db8::1", 1)),
    (Route("0.0.0.0/0"), Route("2001:db8:2::/64", "2001:db8::9", mtu=1400)),
    DNS(("10.1.0.1",), "local", ("a", "b"), ("ndots:5",)),
)


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_a_result_survives_writing_and_reading(version: str) -> None:
    assert decode(encode(FULL, version), version) == FULL


def test_an_old_result_has_no_mtu_and_the_oldest_no_interfaces() -> None:
    old = decode(encode(FULL, "0.4.0"), "0.4.0")
    assert [one.mtu for one in old.interfaces] == [0, 0]
    oldest = encode(FULL, "0.2.0")
    assert sorted(oldest) == ["cniVersion", "dns", "ip4", "ip6"]
    assert oldest["ip6"]["routes"] == [{"dst": "2001:db8:2::/64", "gw": "2001:db8::9"}]


def test_the_oldest_versions_cannot_say_that_there_is_no_address() -> None:
    with pytest.raises(CNIError, match="cannot convert: no valid IP addresses"):
        encode(Result(), "0.2.0")
    with pytest.raises(CNIError, match=r"no converter for CNI result version 1\.1\.0 to 3\.0"):
        encode(Result(), "3.0")


VERSIONS = {
    "none is the oldest": ("", (0, 1, 0)),
    "parts may be missing": ("1", (1, 0, 0)),
    "all three": ("1.1.0", (1, 1, 0)),
}


@pytest.mark.parametrize(("text", "numbers"), VERSIONS.values(), ids=VERSIONS)
def test_versions_are_numbers(text: str, numbers: tuple[int, int, int]) -> None:
    assert parse_version(text) == numbers


@pytest.mark.parametrize(("text", "words"), [("1.2.3.4", "too many parts"), ("1.x", "minor version part")])
def test_what_is_no_version_is_said(text: str, words: str) -> None:
    with pytest.raises(CNIError, match=words):
        parse_version(text)


def test_chained_plugins_begin_with_0_3_0() -> None:
    assert versions_from("0.3.0") == ("0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
