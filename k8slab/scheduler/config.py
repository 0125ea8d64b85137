"""KubeSchedulerConfiguration: the file that kube-scheduler is started with.

    >>> from k8slab.scheduler import KubeSchedulerConfiguration
    >>> config = KubeSchedulerConfiguration.from_yaml('''
    ... apiVersion: kubescheduler.config.k8s.io/v1
    ... kind: KubeSchedulerConfiguration
    ... podMaxBackoffSeconds: 60
    ... profiles:
    ... - schedulerName: packing
    ...   plugins: {score: {enabled: [{name: NodeResourcesFit, weight: 5}]}}
    ... ''')
    >>> config.pod_max_backoff_seconds, config.parallelism, config.profiles[0].scheduler_name
    (60, 16, 'packing')
    >>> KubeSchedulerConfiguration.from_yaml('''apiVersion: kubescheduler.config.k8s.io/v1
    ... kind: KubeSchedulerConfiguration
    ... paralelism: 8''')
    Traceback (most recent call last):
      ...
    k8slab.scheduler.config.ConfigError: line 3, column 1: strict decoding error: unknown field "paralelism"

What is read is complete: defaults are filled in, and every rule of upstream's holds. Plugins that a profile names are
looked up when a `Framework` is made of it.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types.go, pkg/scheduler/apis/config/v1/defaults.go,
cmd/kube-scheduler/app/options/configfile.go
Simplified: one document a text. `parallelism`, `clientConnection`, profiling and `delayCacheUntilActive` are read and
checked, and change nothing in a simulation; nothing runs at `placementGenerate` and `placementScore`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.decoding import DecodeError, decode, strict_error, unknown_field, unknown_fields
from k8slab.api.errors import Cause
from k8slab.api.features import FeatureGates
from k8slab.api.go_duration import parse_duration_ns
from k8slab.api.labels import AggregateError, go_quote
from k8slab.api.pods import DEFAULT_SCHEDULER_NAME
from k8slab.api.schema import has_schema, type_of
from k8slab.api.scheme import GVK
from k8slab.api.yaml_json import Document, YAMLError, parse_documents
from k8slab.scheduler.config_args import with_defaults
from k8slab.scheduler.config_extender import Extender
from k8slab.scheduler.config_validation import validate_configuration
from k8slab.scheduler.framework import Gates
from k8slab.scheduler.profile import Profile

__all__ = [
    "ClientConnectionConfiguration",
    "ConfigError",
    "KubeSchedulerConfiguration",
    "LeaderElectionConfiguration",
]

GROUP, VERSION, KIND = "kubescheduler.config.k8s.io", "v1", "KubeSchedulerConfiguration"
API_VERSION = f"{GROUP}/{VERSION}"
"""The only version that upstream still reads."""

_SCHEME = "pkg/scheduler/apis/config/scheme/scheme.go:30"
Steps = Sequence[str | int]


class ConfigError(ValueError):
    """A configuration that kube-scheduler would not start with. `message`: upstream's text. `line` and `column`: of
    the first problem, from 1 (0: not known). `causes`: one for each broken rule."""

    def __init__(
        self, message: str, *, source: str = "", line: int = 0, column: int = 0, causes: Sequence[Cause] = ()
    ) -> None:
        self.message, self.source, self.line, self.column, self.causes = message, source, line, column, tuple(causes)
        where = [source] if source else []
        where += [f"line {line}"] if line else []
        where += [f"column {column}"] if column else []
        super().__init__(f"{', '.join(where)}: {message}" if where else message)


@dataclass(frozen=True, slots=True)
class LeaderElectionConfiguration:
    """Whether the scheduler stands for election before it works, and by which Lease."""

    leader_elect: bool = True
    lease_duration_ns: int = 15_000_000_000
    renew_deadline_ns: int = 10_000_000_000
    retry_period_ns: int = 2_000_000_000
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


@dataclass(frozen=True, slots=True)
class ClientConnectionConfiguration:
    """How the scheduler speaks with the API server."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50
    burst: int = 100


@dataclass(frozen=True, slots=True)
class KubeSchedulerConfiguration:
    """A checked configuration with its defaults. `percentage_of_nodes_to_score` counts where a profile has none."""

    parallelism: int = 16
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: int = 0
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: tuple[Profile, ...] = field(default_factory=lambda: (Profile(),))
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
    api_version: str = API_VERSION

    def __post_init__(self) -> None:
        if not self.profiles:
            raise ValueError("profiles: Required value")

    @classmethod
    def from_yaml(
        cls, text: str | bytes, *, source: str = "", features: Gates | None = None
    ) -> KubeSchedulerConfiguration:
        """From YAML or JSON. ConfigError with upstream's text and the place. `source` names the file in errors."""
        document = _only_document(text, source)
        reader = _Reader(features if features is not None else FeatureGates(), source, document)
        return reader.read(document.value, original=text if isinstance(text, str) else text.decode())

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], *, features: Gates | None = None) -> KubeSchedulerConfiguration:
        """From an object; `apiVersion` and `kind` may be missing. ConfigError as `from_yaml`."""
        reader = _Reader(features if features is not None else FeatureGates(), "", None)
        return reader.read({"apiVersion": API_VERSION, "kind": KIND, **raw}, original=json.dumps(raw, default=str))


def _only_document(text: str | bytes, source: str) -> Document:
    documents = list(parse_documents(text))
    for document in documents:
        if isinstance(document, YAMLError):
            message, line = document.message, document.line
            if "already set in map" in message:
                message = strict_error([f"yaml: unmarshal errors:\n  line {line}: {message}"])
            raise ConfigError(message, source=source, line=line, column=document.column)
        if len(documents) > 1:
            message = f"{len(documents)} documents, expected one {KIND}"
            raise ConfigError(message, source=source, line=documents[1].line)
        return document
    raise ConfigError(
        f"Object 'Kind' is missing in '{text if isinstance(text, str) else text.decode()}'", source=source
    )


class _Reader:
    """One configuration on its way from text to dataclasses."""

    def __init__(self, gates: Gates, source: str, document: Document | None) -> None:
        self._gates, self._source, self._document = gates, source, document

    def fail(self, message: str, steps: Steps = (), causes: Sequence[Cause] = ()) -> ConfigError:
        line, column = self._document.locate(steps) if self._document is not None else (0, 0)
        return ConfigError(message, source=self._source, line=line, column=column, causes=causes)

    def read(self, raw: Any, original: str) -> KubeSchedulerConfiguration:
        self._check_kind(raw, original)
        decoded = self._decode(raw)
        config = self._typed(decoded)
        causes = validate_configuration(config, self._gates)
        if causes:
            text = str(AggregateError(f"{cause.field}: {cause.message}" for cause in causes))
            raise self.fail(text, _steps(causes[0].field), causes)
        return config

    def _check_kind(self, raw: Any, original: str) -> None:
        found = raw if isinstance(raw, Mapping) else {}
        kind, api_version = found.get("kind") or "", found.get("apiVersion") or ""
        if not isinstance(raw, Mapping):
            what = "array" if isinstance(raw, list) else "string" if isinstance(raw, str) else "number"
            text = f"cannot unmarshal {what} into Go value of type struct {{ APIVersion string; Kind string }}"
            raise self.fail(f"couldn't get version/kind; json parse error: json: {text}")
        for name, value in (("Kind", kind), ("apiVersion", api_version)):
            if not value:
                raise self.fail(f"Object '{name}' is missing in '{original}'")
            if not isinstance(value, str):
                raise self.fail(f"{name}: {value!r}, expected a string", (name[:1].lower() + name[1:],))
        group, _, version = api_version.rpartition("/")
        if not has_schema(GVK(group, version, kind)) or group != GROUP:
            text = f"no kind {go_quote(kind)} is registered for version {go_quote(api_version)} in scheme"
            raise self.fail(f"{text} {go_quote(_SCHEME)}", ("kind" if api_version == API_VERSION else "apiVersion",))
        if kind != KIND:
            raise self.fail(f"couldn't decode as {KIND}, got {api_version}, Kind={kind}: ", ("kind",))

    # -- decoding ----------------------------------------------------------------------------------

    def _decode(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        try:
            decoded = decode(raw)
        except DecodeError as error:
            raise self.fail(error.message, error.steps) from None
        strict: list[tuple[str, Steps]] = [(unknown_field(path), _steps(path)) for path in decoded.unknown]
        for at, entry in _plugin_configs(decoded.object):
            strict += self._decode_args(entry, at)
        if strict:
            raise self.fail(strict_error(text for text, _ in strict), strict[0][1])
        return decoded.object

    def _decode_args(self, entry: dict[str, Any], at: tuple[int, int]) -> list[tuple[str, Steps]]:
        """Put decoded arguments with their defaults into `entry`; returns the strict errors."""
        name, args = entry.get("name") or "", entry.get("args")
        gvk = GVK(GROUP, VERSION, f"{name}Args")
        steps: tuple[str | int, ...] = ("profiles", at[0], "pluginConfig", at[1], "args")
        where = f"decoding .profiles[{at[0]}].pluginConfig[{at[1]}]"
        if not has_schema(gvk):
            return []  # an out-of-tree plugin, or one that takes no arguments: it reads them itself
        if args is not None and not isinstance(args, Mapping):
            raise self.fail(f"{where}: decoding args for plugin {name}: {args!r}, expected an object", steps)
        args = args or {}
        self._check_args_kind(args, gvk, name, where, steps)
        try:
            decoded = decode({**args, "apiVersion": API_VERSION, "kind": gvk.kind}, gvk)
        except DecodeError as error:
            text = f"{where}: decoding args for plugin {name}: {error.message}"
            raise self.fail(text, (*steps, *error.steps)) from None
        fields = {key: value for key, value in decoded.object.items() if key not in ("apiVersion", "kind")}
        entry["args"] = with_defaults(name, fields, self._gates)
        unknown = unknown_fields(args, type_of(gvk))
        if not unknown:
            return []
        text = strict_error([f"decoding args for plugin {name}: {strict_error(map(unknown_field, unknown))}"])
        return [(f"{where}: {text}", (*steps, *_steps(unknown[0])))]

    def _check_args_kind(self, args: Mapping[str, Any], gvk: GVK, name: str, where: str, steps: Steps) -> None:
        kind, api_version = args.get("kind") or gvk.kind, args.get("apiVersion") or API_VERSION
        group, _, version = str(api_version).rpartition("/")
        if not has_schema(GVK(group, version, str(kind))):
            text = f"no kind {go_quote(str(kind))} is registered for version {go_quote(str(api_version))} in scheme"
            raise self.fail(f"{where}: decoding args for plugin {name}: {text} {go_quote(_SCHEME)}", steps)
        if (kind, group) != (gvk.kind, GROUP):
            text = f"args for plugin {name} were not of type {gvk.kind}.{GROUP}, got {kind}.{group}"
            raise self.fail(f"{where}: {text}", steps)

    # -- into dataclasses --------------------------------------------------------------------------

    def _typed(self, raw: Mapping[str, Any]) -> KubeSchedulerConfiguration:
        profiles = raw.get("profiles") or [{}]
        default_name = DEFAULT_SCHEDULER_NAME if len(profiles) == 1 else ""  # with several, each needs its own
        percentage = raw.get("percentageOfNodesToScore")
        profiling = raw.get("enableProfiling", True)
        return KubeSchedulerConfiguration(
            parallelism=raw.get("parallelism", 16),
            leader_election=_leader_election(raw["leaderElection"]),
            client_connection=_client_connection(raw["clientConnection"]),
            enable_profiling=profiling,
            enable_contention_profiling=raw.get("enableContentionProfiling", profiling),
            percentage_of_nodes_to_score=0 if percentage is None else percentage,
            pod_initial_backoff_seconds=raw.get("podInitialBackoffSeconds", 1),
            pod_max_backoff_seconds=raw.get("podMaxBackoffSeconds", 10),
            profiles=tuple(Profile.from_decoded(profile, default_name) for profile in profiles),
            extenders=tuple(Extender.from_dict(entry) for entry in raw.get("extenders") or ()),
            delay_cache_until_active=raw.get("delayCacheUntilActive", False),
            api_version=raw["apiVersion"],
        )


def _leader_election(raw: Mapping[str, Any]) -> LeaderElectionConfiguration:
    default = LeaderElectionConfiguration()
    names = ("leaseDuration", "renewDeadline", "retryPeriod")
    given = [parse_duration_ns(raw.get(name, "0s")) for name in names]
    return LeaderElectionConfiguration(
        raw.get("leaderElect", True),
        given[0] or default.lease_duration_ns,
        given[1] or default.renew_deadline_ns,
        given[2] or default.retry_period_ns,
        raw.get("resourceLock") or default.resource_lock,
        raw.get("resourceName") or default.resource_name,
        raw.get("resourceNamespace") or default.resource_namespace,
    )


def _client_connection(raw: Mapping[str, Any]) -> ClientConnectionConfiguration:
    default = ClientConnectionConfiguration()
    return ClientConnectionConfiguration(
        raw.get("kubeconfig") or "",
        raw.get("acceptContentTypes") or "",
        raw.get("contentType") or default.content_type,
        raw.get("qps") or default.qps,
        raw.get("burst") or default.burst,
    )


def _plugin_configs(raw: Mapping[str, Any]) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
    for number, profile in enumerate(raw.get("profiles") or ()):
        for index, entry in enumerate(profile.get("pluginConfig") or ()):
            yield (number, index), entry


def _steps(path: str) -> list[str | int]:
    """`profiles[0].plugins` -> ["profiles", 0, "plugins"]."""
    steps: list[str | int] = []
    for part in path.split("."):
        name, *indexes = part.replace("]", "").split("[")
        steps.append(name)
        steps += [int(index) if index.isdecimal() else index for index in indexes]
    return steps
