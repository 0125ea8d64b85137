"""A network configuration list: the file in /etc/cni/net.d that a runtime reads.

>>> network = load_network(b'{"cniVersions": ["0.4.0", "1.1.0", "9.0.0"], "name": "net", "plugins": [{"type": "a"}]}')
>>> network.name, network.cni_version, [plugin.type for plugin in network.plugins]
('net', '1.1.0', ['a'])

Upstream: containernetworking/cni libcni/conf.go; Spec: CNI 1.1.0, section 1
Simplified: plugins come from the list alone, not from files in a folder beside it, so a list needs `plugins`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from k8slab.api.go_json import JSONError, go_json, json_kind, parse
from k8slab.network.cni import fields
from k8slab.network.cni.errors import CNIError
from k8slab.network.cni.versions import CURRENT, newer, parse_version

__all__ = ["NetworkConfigList", "PluginConfig", "load_network", "load_plugin"]

_LIST = "error parsing configuration list"


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """One plugin's configuration: `config` as it was written."""

    type: str
    config: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.config.get("name") or "")

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What the plugin takes at run time, by the configuration."""
        declared = self.config.get("capabilities") or {}
        return tuple(name for name, is_on in declared.items() if is_on)

    def describe(self) -> str:
        """As error texts name it."""
        return f'type="{self.type}"' + (f' name="{self.name}"' if self.name else "")


@dataclass(frozen=True, slots=True)
class NetworkConfigList:
    """A network: its plugins in the order of ADD, `data` as it was read."""

    name: str
    cni_version: str
    plugins: tuple[PluginConfig, ...]
    data: bytes
    disable_check: bool = False
    disable_gc: bool = False


def load_plugin(config: Any) -> PluginConfig:
    """One entry of `plugins`. CNIError: no `type`."""
    if not isinstance(config, dict):
        what = json_kind(config)
        raise CNIError(
            f"error parsing configuration: json: cannot unmarshal {what} into Go value of type types.NetConf"
        )
    try:
        kind = fields.text(config, "type", "PluginConf")
        capabilities = fields.mapping(config, "capabilities", "PluginConf", "map[string]bool") or {}
        for name in capabilities:
            fields.boolean(capabilities, name, "PluginConf.capabilities")
        fields.text(config, "name", "PluginConf")
    except CNIError as error:
        raise CNIError(f"error parsing configuration: {error.msg}") from None
    if not kind:
        raise CNIError("error parsing configuration: missing 'type'")
    return PluginConfig(kind, config)


def load_network(data: bytes) -> NetworkConfigList:
    """A .conflist. CNIError in upstream's words: comments are no JSON, and there must be a name and plugins."""
    try:
        raw, _ = parse(data)
    except JSONError as error:
        raise CNIError(f"{_LIST}: {error}") from None
    if raw is not None and not isinstance(raw, dict):
        what = f"json: cannot unmarshal {json_kind(raw)} into Go value of type map[string]interface {{}}"
        raise CNIError(f"{_LIST}: {what}")
    raw = raw or {}
    if "name" not in raw:
        raise CNIError(f"{_LIST}: no name")
    if not isinstance(raw["name"], str):
        raise CNIError(f"{_LIST}: invalid name type {_go_type(raw['name'])}")
    version = _version(raw)
    switches = [_switch(raw, key) for key in ("disableCheck", "disableGC")]
    if _switch(raw, "loadOnlyInlinedPlugins") and "plugins" not in raw:
        raise CNIError(f"{_LIST}: `loadOnlyInlinedPlugins` is true, and no 'plugins' key")
    return NetworkConfigList(raw["name"], version, _plugins(raw), data, *switches)


def _plugins(raw: Mapping[str, Any]) -> tuple[PluginConfig, ...]:
    if "plugins" not in raw:
        raise CNIError("no plugin configs found")
    given = raw["plugins"]
    if not isinstance(given, list):
        raise CNIError(f"{_LIST}: invalid 'plugins' type {_go_type(given)}")
    if not given:
        raise CNIError(f"{_LIST}: no plugins in list")
    plugins = []
    for place, config in enumerate(given):
        try:
            plugins.append(load_plugin(config))
        except CNIError as error:
            raise CNIError(f"failed to parse plugin config {place}: {error.msg}") from None
    return tuple(plugins)


def _version(raw: Mapping[str, Any]) -> str:
    """The newest version that the list names and that is known here."""
    version = raw.get("cniVersion", "")
    if not isinstance(version, str):
        raise CNIError(f"{_LIST}: invalid cniVersion type {_go_type(version)}")
    if "cniVersions" not in raw:
        return version
    given = raw["cniVersions"]
    if not isinstance(given, list):
        raise CNIError(f"{_LIST}: invalid type for cniVersions: []interface {{}}")
    known = []
    for place, one in enumerate(given):
        if not isinstance(one, str):
            raise CNIError(f"{_LIST}: invalid type for cniVersions index {place}: {_go_type(one)}")
        try:
            known += [] if newer(one, CURRENT) else [one]
        except CNIError as error:
            raise CNIError(f"{_LIST}: invalid cniVersions entry {one} at index {place}: {error.msg}") from None
    if version:
        try:
            known += [] if newer(version, CURRENT) else [version]
        except CNIError as error:
            raise CNIError(f"{_LIST}: invalid cniVersion {version}: {error.msg}") from None
    return max(known, key=parse_version, default=version)


def _switch(raw: Mapping[str, Any], key: str) -> bool:
    """A boolean, or the word for one."""
    value = raw.get(key, False)
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise CNIError(f"{_LIST}: invalid type {_go_type(value)} for {key}")
    if value.lower() not in ("true", "false"):
        raise CNIError(f"{_LIST}: invalid value {go_json(value.lower())} for {key}")
    return value.lower() == "true"


def _go_type(value: Any) -> str:
    names = {"bool": "bool", "number": "float64", "string": "string", "array": "[]interface {}"}
    return "<nil>" if value is None else names.get(json_kind(value), "map[string]interface {}")
