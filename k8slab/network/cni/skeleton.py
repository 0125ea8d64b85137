"""From environment and standard input to one call of a plugin, and its answer back to bytes and an exit code.

`run(plugin, env, stdin)` is a plugin's whole `main`: what an executable of it would do. Nothing else of a machine is
seen here; an edge can hand in a real process's environment and standard input.

>>> class Nothing(Plugin):
...     name = "nothing"
>>> done = run(Nothing(), {"CNI_COMMAND": "DEL"}, b"{}")
>>> done.code, done.stdout.decode().split('"msg": ')[1].split("\\n")[0]
(1, '"required env variables [CNI_CONTAINERID,CNI_IFNAME,CNI_PATH] missing"')

Upstream: containernetworking/cni pkg/skel/skel.go, pkg/utils/utils.go
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.go_json import go_json
from k8slab.network.cni import fields
from k8slab.network.cni.arguments import quoted_list
from k8slab.network.cni.errors import CNIError, Code
from k8slab.network.cni.results import Result, encode
from k8slab.network.cni.versions import ALL, CURRENT, at_least, config_version

__all__ = [
    "Exit",
    "Invocation",
    "Plugin",
    "run",
    "validate_container_id",
    "validate_interface_name",
    "validate_network_name",
]

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.\-]*")
_LONGEST_INTERFACE = 15
_ATTACHMENT = ("ADD", "CHECK", "DEL")
_NEEDED = {
    "CNI_COMMAND": (*_ATTACHMENT, "GC", "STATUS"),
    "CNI_CONTAINERID": _ATTACHMENT,
    "CNI_NETNS": ("ADD", "CHECK"),
    "CNI_IFNAME": _ATTACHMENT,
    "CNI_PATH": (*_ATTACHMENT, "GC", "STATUS"),
}
_SINCE = {"CHECK": "0.4.0", "GC": "1.1.0", "STATUS": "1.1.0"}


@dataclass(frozen=True, slots=True)
class Exit:
    """How a program ended: its exit code and what it wrote."""

    code: int
    stdout: bytes = b""
    stderr: bytes = b""


@dataclass(frozen=True, slots=True)
class Invocation:
    """What a plugin is called with. `config`: standard input, read; `stdin`: as it came, for those it delegates to;
    `log`: what goes to standard error."""

    command: str
    container_id: str
    netns: str
    if_name: str
    args: str
    path: str
    config: Mapping[str, Any]
    stdin: bytes
    env: Mapping[str, str]
    log: list[str] = field(default_factory=list)

    @property
    def network(self) -> str:
        """The name of the network."""
        return str(self.config["name"])

    @property
    def version(self) -> str:
        """The version in which to answer."""
        return config_version(self.config)


class Plugin:
    """What a plugin does for each command; here nothing, successfully, as for functions upstream leaves out.

    `name`: of its executable; `versions`: what it supports; `own_netns`: the path of the namespace that it runs in.
    Errors are CNIErrors.
    """

    name = ""
    versions: tuple[str, ...] = ALL
    own_netns = ""

    def add(self, call: Invocation) -> Result | None:
        return None

    def check(self, call: Invocation) -> None:
        return None

    def delete(self, call: Invocation) -> None:
        return None

    def gc(self, call: Invocation) -> None:
        return None

    def status(self, call: Invocation) -> None:
        return None


def validate_container_id(container_id: str) -> None:
    """CNIError: empty (code 3), or characters that a file's name must not have (code 4)."""
    if not container_id:
        raise CNIError("missing containerID", Code.UNKNOWN_CONTAINER)
    if not _NAME.fullmatch(container_id):
        raise CNIError("invalid characters in containerID", Code.INVALID_ENVIRONMENT_VARIABLES, container_id)


def validate_network_name(name: str) -> None:
    """CNIError, code 7: empty, or characters that a file's name must not have."""
    if not name:
        raise CNIError("missing network name:", Code.INVALID_NETWORK_CONFIG)
    if not _NAME.fullmatch(name):
        raise CNIError("invalid characters found in network name", Code.INVALID_NETWORK_CONFIG, name)


def validate_interface_name(name: str) -> None:
    """CNIError, code 4: no name that the kernel takes."""
    msg = details = ""
    if not name:
        msg = "interface name is empty"
    elif len(name.encode()) > _LONGEST_INTERFACE:
        msg = "interface name is too long"
        details = f"interface name should be less than {_LONGEST_INTERFACE + 1} characters"
    elif name in (".", ".."):
        msg = "interface name is . or .."
    elif any(c in "/:" or c.isspace() for c in name):
        msg = "interface name contains / or : or whitespace characters"
    if msg:
        raise CNIError(msg, Code.INVALID_ENVIRONMENT_VARIABLES, details)


_CHECKS: Mapping[str, Callable[[str], None]] = {
    "CNI_CONTAINERID": validate_container_id,
    "CNI_IFNAME": validate_interface_name,
}


def run(plugin: Plugin, env: Mapping[str, str], stdin: bytes) -> Exit:
    """Run `plugin` as its executable would. Never raises for what a caller hands in: that is an exit code of 1."""
    log: list[str] = []
    env = {name: _text(value) for name, value in env.items()}
    try:
        stdout = _main(plugin, env, stdin, log)
    except CNIError as error:
        if not env.get("CNI_COMMAND") and error.code == Code.INVALID_ENVIRONMENT_VARIABLES:
            log += [
                f"CNI {plugin.name} plugin of k8slab",
                f"CNI protocol versions supported: {', '.join(plugin.versions)}",
            ]
            return Exit(0, b"", _lines(log))
        return Exit(1, fields.go_print(error.to_json()), _lines(log))
    return Exit(0, stdout, _lines(log))


def _text(value: str) -> str:
    """Without the halves of characters that a process's environment may have for bytes that are no UTF-8."""
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _lines(log: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in log).encode()


def _main(plugin: Plugin, env: Mapping[str, str], stdin: bytes, log: list[str]) -> bytes:
    command = env.get("CNI_COMMAND", "")
    _check_environment(command, env)
    if command == "VERSION":
        return f"{go_json({'cniVersion': CURRENT, 'supportedVersions': list(plugin.versions)})}\n".encode()
    config = _config(stdin)
    call = Invocation(
        command,
        container_id=env.get("CNI_CONTAINERID", ""),
        netns=env.get("CNI_NETNS", ""),
        if_name=env.get("CNI_IFNAME", ""),
        args=env.get("CNI_ARGS", ""),
        path=env.get("CNI_PATH", ""),
        config=config,
        stdin=stdin,
        env=env,
        log=log,
    )
    if command in _SINCE:
        _check_allowed(plugin, command, config_version(config))
    functions: dict[str, Callable[[Invocation], Result | None]] = {
        "ADD": plugin.add,
        "CHECK": plugin.check,
        "DEL": plugin.delete,
        "GC": plugin.gc,
        "STATUS": plugin.status,
    }
    if command not in functions:
        raise CNIError(f"unknown CNI_COMMAND: {command}", Code.INVALID_ENVIRONMENT_VARIABLES)
    _check_version(plugin, config_version(config))
    result = functions[command](call)
    if command in ("ADD", "DEL"):
        _check_netns(plugin, call)
    return b"" if result is None else fields.go_print(encode(result, call.version))


def _check_environment(command: str, env: Mapping[str, str]) -> None:
    missing = []
    for name, commands in _NEEDED.items():
        value, is_needed = env.get(name, ""), command in commands
        if not value:
            if is_needed or name == "CNI_COMMAND":
                missing.append(name)
        elif is_needed and name in _CHECKS:
            _CHECKS[name](value)
    if missing:
        what = f"required env variables [{','.join(missing)}] missing"
        raise CNIError(what, Code.INVALID_ENVIRONMENT_VARIABLES)


def _config(stdin: bytes) -> dict[str, Any]:
    try:
        config = fields.load(stdin, 'struct { Name string "json:\\"name\\"" }')
        name = fields.text(config, "name", "")
    except CNIError as error:
        raise CNIError(f"error unmarshall network config: {error.msg}", Code.DECODING_FAILURE) from None
    if not name:
        raise CNIError("missing network name", Code.INVALID_NETWORK_CONFIG)
    validate_network_name(name)
    return config


def _check_allowed(plugin: Plugin, command: str, version: str) -> None:
    """Whether configuration and plugin are new enough for this command."""
    try:
        is_new = at_least(version, _SINCE[command])
    except CNIError as error:
        raise CNIError(error.msg, Code.DECODING_FAILURE) from None
    if not is_new:
        raise CNIError(f"config version does not allow {command}", Code.INCOMPATIBLE_CNI_VERSION)
    if not any(at_least(one, version) for one in plugin.versions):
        raise CNIError(f"plugin version does not allow {command}", Code.INCOMPATIBLE_CNI_VERSION)


def _check_version(plugin: Plugin, version: str) -> None:
    if version not in plugin.versions:
        details = f"config is {go_json(version)}, plugin supports {quoted_list(plugin.versions)}"
        raise CNIError("incompatible CNI versions", Code.INCOMPATIBLE_CNI_VERSION, details)


def _check_netns(plugin: Plugin, call: Invocation) -> None:
    """A container on the host's network is no container of a plugin: it would undo the host's own."""
    if call.env.get("CNI_NETNS_OVERRIDE", "").upper() in ("TRUE", "1"):
        return
    if call.netns and call.netns == plugin.own_netns:
        raise CNIError("plugin's netns and netns from CNI_NETNS should not be the same", Code.INVALID_NETNS)
