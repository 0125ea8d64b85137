"""A runtime's side: run the plugins of a list in their order, keep the result, undo in the reverse order.

`CNIConfig` is what containerd, CRI-O and cnitool call. It keeps what ADD answered in a file ("cached result"), since
CHECK and DEL must hand it to the plugins again, and since GC learns from these files what was ever attached.

Upstream: containernetworking/cni libcni/api.go; Spec: CNI 1.1.0, section 3
Simplified: results are cached in one form; those of old libraries (a bare result) are not read.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from k8slab.api.go_json import JSONError, go_json, parse
from k8slab.network.cni.conflist import NetworkConfigList, PluginConfig
from k8slab.network.cni.errors import CNIError
from k8slab.network.cni.files import Files
from k8slab.network.cni.invoke import Executables, read_result
from k8slab.network.cni.results import Result, decode, encode
from k8slab.network.cni.skeleton import validate_container_id, validate_interface_name, validate_network_name
from k8slab.network.cni.versions import at_least

__all__ = ["Attachment", "CNIConfig", "RuntimeConf", "request_config"]

CACHE_DIR = "/var/lib/cni"
_KIND = "cniCacheV1"


class Attachment(NamedTuple):
    """A container's interface in a network: what GC is told of as still valid."""

    container_id: str
    if_name: str


@dataclass(frozen=True, slots=True)
class RuntimeConf:
    """One attachment's parameters. `args`: CNI_ARGS; `capability_args`: what plugins that declare it get told."""

    container_id: str
    netns: str
    if_name: str = "eth0"
    args: tuple[tuple[str, str], ...] = ()
    capability_args: Mapping[str, Any] = field(default_factory=dict)


def request_config(
    plugin: PluginConfig,
    network: NetworkConfigList,
    previous: Result | None = None,
    capability_args: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The configuration as the plugin is given it: name and version of the list, the result so far, and of the
    capability arguments those that it declares."""
    config = {**plugin.config, "name": network.name, "cniVersion": network.cni_version, **more}
    if previous is not None:
        config["prevResult"] = encode(previous, network.cni_version)
    wanted = {name: (capability_args or {})[name] for name in plugin.capabilities if name in (capability_args or {})}
    return {**config, "runtimeConfig": wanted} if wanted else config


class CNIConfig:
    """`paths`: where executables are looked for; `files`: where results are cached, below `cache_dir`."""

    def __init__(
        self, programs: Executables, files: Files, paths: Sequence[str] = ("/opt/cni/bin",), cache_dir: str = CACHE_DIR
    ) -> None:
        self.programs = programs
        self.files = files
        self.paths = tuple(paths)
        self.cache_dir = cache_dir

    # -- the five operations -----------------------------------------------------------------------

    def add(self, network: NetworkConfigList, conf: RuntimeConf) -> Result:
        """Run ADD of every plugin, each with the result of the one before. CNIError: the first that fails ends it;
        nothing is undone here, the caller has to `delete`."""
        result: Result | None = None
        for plugin in network.plugins:
            try:
                result = self._add_one(network, plugin, result, conf)
            except CNIError as error:
                raise _wrapped(f"plugin {plugin.describe()} failed (add): ", error) from None
        assert result is not None
        self._cache(network, conf, result)
        return result

    def _add_one(
        self, network: NetworkConfigList, plugin: PluginConfig, previous: Result | None, conf: RuntimeConf
    ) -> Result:
        path = self.programs.find(plugin.type, self.paths)
        validate_container_id(conf.container_id)
        validate_network_name(network.name)
        validate_interface_name(conf.if_name)
        config = request_config(plugin, network, previous, conf.capability_args)
        end = self.programs.execute(path, self._env("ADD", conf), go_json(config).encode())
        return read_result(config, end.stdout)

    def check(self, network: NetworkConfigList, conf: RuntimeConf) -> None:
        """Run CHECK of every plugin with the result of ADD. CNIError: the first that finds something wrong."""
        if not at_least(network.cni_version, "0.4.0"):
            raise CNIError(f'configuration version "{network.cni_version}" does not support the CHECK command')
        if network.disable_check:
            return
        try:
            previous = self.cached_result(network, conf)
        except CNIError as error:
            raise _wrapped(f'failed to get network "{network.name}" cached result: ', error) from None
        for plugin in network.plugins:
            self._run("CHECK", network, plugin, conf, previous)

    def delete(self, network: NetworkConfigList, conf: RuntimeConf) -> None:
        """Run DEL of every plugin, the last first, with the result of ADD; forget that. May be repeated."""
        previous = None
        if at_least(network.cni_version, "0.4.0"):
            try:
                previous = self.cached_result(network, conf)
            except CNIError:
                self._forget(network, conf)
        for plugin in reversed(network.plugins):
            try:
                self._run("DEL", network, plugin, conf, previous)
            except CNIError as error:
                raise _wrapped(f"plugin {plugin.describe()} failed (delete): ", error) from None
        self._forget(network, conf)

    def gc(self, network: NetworkConfigList, valid: Iterable[Attachment]) -> None:
        """DEL for every cached attachment that is not in `valid`, then (1.1.0) GC of every plugin. CNIError with all
        that failed, at the end."""
        if network.disable_gc:
            return
        kept, errors = dict.fromkeys(valid), []
        for conf, name in self.cached_attachments():
            if name != network.name or Attachment(conf.container_id, conf.if_name) in kept:
                continue
            try:
                self.delete(network, conf)
            except CNIError as error:
                what = f"failed to delete stale attachment {conf.container_id} {conf.if_name}: "
                errors.append(_wrapped(what, error))
        if at_least(network.cni_version, "1.1.0"):
            errors += self._gc_plugins(network, list(kept))
        if errors:
            raise errors[0] if len(errors) == 1 else CNIError("\n".join(map(str, errors)), errors[0].code)

    def _gc_plugins(self, network: NetworkConfigList, valid: list[Attachment]) -> list[CNIError]:
        attachments = [{"containerID": one.container_id, "ifname": one.if_name} for one in valid]
        both = {"cni.dev/valid-attachments": attachments, "cni.dev/attachments": attachments}
        errors = []
        for plugin in network.plugins:
            try:
                self._run("GC", network, plugin, RuntimeConf("", "", ""), None, **both)
            except CNIError as error:
                errors.append(_wrapped(f"failed to GC plugin {plugin.type}: ", error))
        return errors

    def status(self, network: NetworkConfigList) -> None:
        """Whether every plugin could serve an ADD. CNIError, codes 50 and 51: the first that could not."""
        if at_least(network.cni_version, "1.1.0"):
            for plugin in network.plugins:
                self._run("STATUS", network, plugin, RuntimeConf("", "", ""), None)

    def validate(self, network: NetworkConfigList) -> list[str]:
        """The capabilities that the plugins of a list declare. CNIError: one is missing, or too old or too new."""
        errors = []
        for plugin in network.plugins:
            try:
                self._validate_one(plugin, network.cni_version or "0.1.0")
            except CNIError as error:
                errors.append(str(error))
        if errors:
            raise CNIError(f"[{' '.join(errors)}]")
        return list(dict.fromkeys(name for plugin in network.plugins for name in plugin.capabilities))

    def _validate_one(self, plugin: PluginConfig, version: str) -> None:
        if version not in self.supported_versions(plugin.type):
            raise CNIError(f'plugin {plugin.type} does not support config version "{version}"')

    def supported_versions(self, plugin: str) -> list[str]:
        """What a plugin says to VERSION."""
        path = self.programs.find(plugin, self.paths)
        dummy = {"CNI_NETNS": "dummy", "CNI_IFNAME": "dummy", "CNI_PATH": "dummy"}
        end = self.programs.execute(path, {**dummy, "CNI_COMMAND": "VERSION"}, b'{"cniVersion":"1.1.0"}')
        try:
            body, _ = parse(end.stdout)
        except JSONError as error:
            raise CNIError(f"decoding version info: {error}") from None
        if not isinstance(body, dict) or not body.get("cniVersion"):
            raise CNIError("decoding version info: missing field cniVersion")
        if not body.get("supportedVersions"):
            if body["cniVersion"] == "0.2.0":
                return ["0.1.0", "0.2.0"]
            raise CNIError("decoding version info: missing field supportedVersions")
        return list(body["supportedVersions"])

    # -- the cache ---------------------------------------------------------------------------------

    def cached_result(self, network: NetworkConfigList, conf: RuntimeConf) -> Result | None:
        """What ADD answered, None when nothing is kept. CNIError: the file is no such thing (half written)."""
        path = self._cache_path(network.name, conf)
        if not self.files.exists(path):
            return None
        body = self._read_cache(path)
        result = (body or {}).get("result")
        if not isinstance(result, dict):
            raise CNIError(f'read cached network "{network.name}" config has wrong kind')
        version = result.get("cniVersion")
        return decode(result, version if isinstance(version, str) else "")

    def cached_attachments(self, container_id: str = "") -> list[tuple[RuntimeConf, str]]:
        """Every attachment that is cached, with its network's name. Files that cannot be read are passed over."""
        found = []
        for path in self.files.walk(f"{self.cache_dir}/results"):
            body = self._read_cache(path)
            if body is None or not body.get("ifName") or not body.get("networkName"):
                continue
            if container_id and body.get("containerId") != container_id:
                continue
            args = tuple((str(key), str(value)) for key, value in body.get("cniArgs") or ())
            words = [str(body.get(key) or "") for key in ("containerId", "netns", "ifName")]
            conf = RuntimeConf(words[0], words[1], words[2], args, body.get("capabilityArgs") or {})
            found.append((conf, str(body["networkName"])))
        return found

    def _read_cache(self, path: str) -> dict[str, Any] | None:
        try:
            body = json.loads(self.files.read(path))
        except ValueError:
            return None
        return body if isinstance(body, dict) and body.get("kind") == _KIND else None

    def _cache(self, network: NetworkConfigList, conf: RuntimeConf, result: Result) -> None:
        body: dict[str, Any] = {
            "kind": _KIND,
            "containerId": conf.container_id,
            "config": base64.b64encode(network.data).decode(),
            "ifName": conf.if_name,
            "networkName": network.name,
            "netns": conf.netns,
            "cniArgs": [list(pair) for pair in conf.args],
            "capabilityArgs": dict(conf.capability_args),
            "result": encode(result, network.cni_version),
        }
        self.files.write(self._cache_path(network.name, conf), go_json(body).encode())

    def _forget(self, network: NetworkConfigList, conf: RuntimeConf) -> None:
        with suppress(FileNotFoundError, CNIError):
            self.files.remove(self._cache_path(network.name, conf))

    def _cache_path(self, network: str, conf: RuntimeConf) -> str:
        if not network or not conf.container_id or not conf.if_name:
            names = f'("{network}"), container ID ("{conf.container_id}"), and interface name ("{conf.if_name}")'
            raise CNIError(f"cache file path requires network name {names}")
        return f"{self.cache_dir}/results/{network}-{conf.container_id}-{conf.if_name}"

    # -- inside ------------------------------------------------------------------------------------

    def _run(
        self,
        command: str,
        network: NetworkConfigList,
        plugin: PluginConfig,
        conf: RuntimeConf,
        previous: Result | None,
        **more: Any,
    ) -> None:
        path = self.programs.find(plugin.type, self.paths)
        config = request_config(plugin, network, previous, conf.capability_args, **more)
        self.programs.execute(path, self._env(command, conf), go_json(config).encode())

    def _env(self, command: str, conf: RuntimeConf) -> dict[str, str]:
        return {
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": conf.container_id,
            "CNI_NETNS": conf.netns,
            "CNI_ARGS": ";".join(f"{key}={value}" for key, value in conf.args),
            "CNI_IFNAME": conf.if_name,
            "CNI_PATH": ":".join(self.paths),
        }


def _wrapped(before: str, error: CNIError) -> CNIError:
    """The same failure with words before it, as `%w` wraps."""
    return CNIError(f"{before}{error}", error.code)
