"""Checks of what callers hand to a cluster: a wrong value is named before anything happens.

Upstream: none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.plain import UnfitError, plain_copy
from k8slab.cluster.apply import MAX_REPLICAS
from k8slab.controllers import OPTIONS
from k8slab.kubelet import NodeConfig
from k8slab.scheduler import ConfigError, Extender, KubeSchedulerConfiguration, Profile
from k8slab.sim import Hold
from k8slab.sim.loop import check_seed

__all__ = ["check_arguments", "checked_patch", "plain_data", "scheduler_configuration", "scheduler_options"]


PROCESSES = ("kcm", "scheduler", "kubelet", "apiserver", "etcd", "you")


def plain_data(name: str, value: Any) -> Any:
    """A copy of JSON-like data; ValueError for what JSON cannot hold (cycles, NaN, objects, endless nesting)."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()  # half of a surrogate pair is no character
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{name}: expected plain data as JSON can hold it: {_reason(value) or error}") from None


def checked_patch(patch: Any) -> dict[str, Any]:
    """A copy of a patch. TypeError when it is no mapping, ValueError for what cannot be sent or simulated."""
    if not isinstance(patch, Mapping):
        raise TypeError(f"patch: {patch!r}: expected a mapping, such as {{'spec': {{'replicas': 2}}}}")
    copy: dict[str, Any] = plain_data("patch", patch)
    spec = copy.get("spec")
    replicas = spec.get("replicas") if isinstance(spec, dict) else None
    if isinstance(replicas, int) and replicas > MAX_REPLICAS:
        raise ValueError(f"spec.replicas {replicas}: expected at most {MAX_REPLICAS} (this simulation's limit)")
    return copy


def _reason(value: Any) -> str:
    """What is wrong with the data, and where."""
    try:
        plain_copy(value)
    except UnfitError as error:
        return str(error)
    return ""


def check_arguments(
    nodes: Any,
    seed: Any,
    release: Any,
    apiservers: Any,
    etcd: Any,
    order: Any,
    *,
    options: Any,
    choices: Any,
    holds: Any,
    controllers: Any = None,
    scheduler: Any = None,
    operators: Any = None,
) -> None:
    """The arguments of `Cluster` that nothing else checks."""
    if not isinstance(nodes, int) and (
        isinstance(nodes, str) or not isinstance(nodes, Sequence) or not all(isinstance(n, NodeConfig) for n in nodes)
    ):
        raise TypeError(f"nodes: {nodes!r}: expected a number, or a list of NodeConfig")
    check_seed(seed)
    if not isinstance(release, str):
        raise TypeError(f"release: {release!r}: expected a text such as '1.36'")
    for name, value, most in (("apiservers", apiservers, 10), ("etcd", etcd, 7)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ValueError(f"{name}: {value!r}: expected a number from 1 to {most}")
    if not isinstance(order, str) and not callable(getattr(order, "pick", None)):
        raise TypeError(f"order: {order!r}: expected a name such as 'fifo', or an Order")
    for name in options or {}:
        if name not in OPTIONS:
            raise ValueError(f"options: {name!r}: expected one of {', '.join(OPTIONS)}")
        value = options[name]
        if isinstance(value, int | float) and not value >= 0:
            raise ValueError(f"options: {name}: {value!r}: expected 0 or more")
    if not isinstance(choices or {}, Mapping) or not all(
        isinstance(k, int) and isinstance(v, int) for k, v in (choices or {}).items()
    ):
        raise TypeError(f"choices: {choices!r}: expected {{action: index}}, whole numbers")
    if not all(isinstance(hold, Hold) for hold in holds):
        raise TypeError(f"holds: {holds!r}: expected a list of Hold")
    if not isinstance(controllers or {}, Mapping):
        raise TypeError(f"controllers: {controllers!r}: expected {{upstream's name: what builds one, or None}}")
    if scheduler is not None and not callable(scheduler):
        raise TypeError(f"scheduler: {scheduler!r}: expected what builds one, such as partial(Scheduler, registry=...)")
    if not isinstance(operators or {}, Mapping) or not all(map(callable, (operators or {}).values())):
        raise TypeError(f"operators: {operators!r}: expected {{name: what builds one from a ControllerContext}}")
    for name in operators or {}:
        if not isinstance(name, str) or not name or "/" in name or name in PROCESSES:
            raise ValueError(f"operators: {name!r}: expected a name without a slash, and not {', '.join(PROCESSES)}")


def scheduler_configuration(
    given: Any, features: FeatureGates, name: str = "scheduler_config"
) -> KubeSchedulerConfiguration | None:
    """The `scheduler_config` of `Cluster`: YAML, an object, or what was read already. ConfigError as kube-scheduler."""
    if given is None or isinstance(given, KubeSchedulerConfiguration):
        return given
    if isinstance(given, str):
        return KubeSchedulerConfiguration.from_yaml(given, source=name, features=features)
    if isinstance(given, Mapping):
        return KubeSchedulerConfiguration.from_dict(given, features=features)
    raise TypeError(f"{name}: {given!r}: expected YAML, an object or a KubeSchedulerConfiguration")


def scheduler_options(options: Mapping[str, Any], features: FeatureGates) -> dict[str, Any]:
    """The options of `Cluster.add_scheduler`, with objects read into what `Scheduler` takes.

    ConfigError as kube-scheduler, TypeError for what has another form; both name the option.
    """
    read = dict(options)
    if "config" in options:
        read["config"] = scheduler_configuration(options["config"], features, "config")
    for name, kind in (("profiles", Profile), ("extenders", Extender)):
        if options.get(name) is not None:
            _check_list(name, options[name], kind)
    if options.get("extenders"):
        read["extenders"] = [
            given if isinstance(given, Extender) else _extender(given, number, features)
            for number, given in enumerate(options["extenders"])
        ]
    registry = options.get("registry")
    if registry is not None and not isinstance(registry, Mapping):
        raise TypeError(f"registry: {registry!r}: expected {{plugin's name: class}}")
    for name, factory in (registry or {}).items():
        if not callable(factory):
            raise TypeError(f"registry: {name}: {factory!r}: expected a class, or a function of (args, handle)")
    return read


def _check_list(name: str, given: Any, kind: type) -> None:
    expected = f"expected a list of objects, or of {kind.__name__}"
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise TypeError(f"{name}: {given!r}: {expected}")
    for number, entry in enumerate(given):
        if not isinstance(entry, Mapping | kind):
            raise TypeError(f"{name}[{number}]: {entry!r}: {expected}")


def _extender(given: Mapping[str, Any], number: int, features: FeatureGates) -> Extender:
    try:
        (extender,) = KubeSchedulerConfiguration.from_dict({"extenders": [given]}, features=features).extenders
    except ConfigError as error:
        raise ConfigError(str(error).replace("extenders[0]", f"extenders[{number}]")) from None
    return extender
