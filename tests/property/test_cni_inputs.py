"""Whatever a plugin is given it answers with an exit code, and what fails leaves nothing behind.

Configurations are mutations of ones that work: a value of another type, a missing key, nonsense in a text.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.network import CNIError, load_network
from tests.cni_machines import bridge_conf, machine
from tests.counts import examples

PREVIOUS = {
    "cniVersion": "1.1.0",
    "interfaces": [{"name": "cni0"}, {"name": "veth0"}, {"name": "eth0", "sandbox": "/run/netns/c1"}],
    "ips": [{"address": "10.244.1.2/24", "gateway": "10.244.1.1", "interface": 2}],
    "routes": [{"dst": "0.0.0.0/0"}],
    "dns": {"nameservers": ["10.1.0.1"]},
}
PORTS = [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp", "hostIP": "10.0.0.2"}]
LIMITS = {"ingressRate": 8000, "ingressBurst": 80, "egressRate": 8000, "egressBurst": 80}
BASES: dict[str, dict[str, Any]] = {
    "bridge": bridge_conf(ipMasq=True, mtu=1400, dns={"nameservers": ["10.1.0.1"]}, prevResult=PREVIOUS),
    "host-local": {**bridge_conf(), "args": {"cni": {"ips": ["10.244.1.9"]}}, "runtimeConfig": {"ips": ["10.244.1.9"]}},
    "portmap": {"cniVersion": "1.1.0", "name": "net", "prevResult": PREVIOUS, "runtimeConfig": {"portMappings": PORTS}},
    "bandwidth": {"cniVersion": "1.1.0", "name": "net", "prevResult": PREVIOUS, "runtimeConfig": {"bandwidth": LIMITS}},
    "loopback": {"cniVersion": "1.1.0", "name": "net", "prevResult": PREVIOUS},
}
JUNK: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, "", "x", "10.244.1.0/24", "::/0", "300.0.0.1", "\ud800", "a" * 300),
    *([], {}, [None], [[]], [{}], [[{}]], {"x": 1}, {"cni": 7}, ["10.244.1.9"], [[{"subnet": "10.244.1.0/24"}]]),
]
COMMANDS = ("ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION", "")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in a configuration."""
    found = [path] if path else []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        found += places(child, (*path, key))
    return found


def changed(config: dict[str, Any], path: tuple[Any, ...], value: Any, is_removed: bool) -> dict[str, Any]:
    """The configuration with another value in one place, or without it."""
    config = copy.deepcopy(config)
    holder: Any = config
    for key in path[:-1]:
        holder = holder[key]
    if is_removed:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return config


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(BASES)))
    config = BASES[name]
    for _ in range(draw(st.integers(1, 3))):
        options = places(config)
        if options:
            path = options[draw(st.integers(0, len(options) - 1))]
            config = changed(config, path, draw(st.sampled_from(JUNK)), draw(st.booleans()))
    return name, config


@given(
    mutated(), st.sampled_from(COMMANDS), st.sampled_from(["c1", "", "a/b", "c2"]), st.sampled_from(["", "IP=x", "A"])
)
@settings(max_examples=examples(400))
def test_a_mutated_configuration_is_answered(
    given_config: tuple[str, dict[str, Any]], command: str, container: str, args: str
) -> None:
    name, config = given_config
    where = machine()
    where.new_namespace("/run/netns/c1")
    env = {"CNI_COMMAND": command, "CNI_CONTAINERID": container, "CNI_NETNS": "/run/netns/c1", "CNI_IFNAME": "eth0"}
    env |= {"CNI_PATH": "/opt/cni/bin", "CNI_ARGS": args}
    end = where.programs.programs[f"/opt/cni/bin/{name}"](env, json.dumps(config).encode())
    assert end.code in (0, 1)
    if end.code:
        body = json.loads(end.stdout)
        assert isinstance(body["code"], int) and body["msg"]
        # what host-local answers with `<nil>` in it nobody reads, and it stays until DEL, as upstream
        assert "<nil>" in body["msg"] or not any(
            path.rpartition("/")[2][0].isdigit() for path in where.files.walk("/var/lib/cni/networks")
        )
    where.check_invariants()
    where.files.check_invariants()


@given(st.binary(max_size=60))
@settings(max_examples=examples(200))
def test_bytes_that_are_no_configuration_are_answered(stdin: bytes) -> None:
    where = machine()
    env = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": "c1", "CNI_NETNS": "/x", "CNI_IFNAME": "eth0", "CNI_PATH": "/b"}
    for path, program in where.programs.programs.items():
        end = program(env, stdin)
        assert end.code == 1 and json.loads(end.stdout)["msg"], path


@given(mutated())
@settings(max_examples=examples(200))
def test_a_list_is_loaded_or_refused_in_a_sentence(given_config: tuple[str, dict[str, Any]]) -> None:
    _, config = given_config
    try:
        network = load_network(json.dumps({"name": "net", "plugins": [config], **config}).encode())
    except CNIError as error:
        assert str(error)
    else:
        assert all(plugin.type for plugin in network.plugins)
