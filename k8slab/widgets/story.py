"""How a trace becomes a story: whose row an event stands in, its words, what it looked at, and what is left out.

Marks, levels and sentences come from `k8slab.sim.KINDS`; here names are made readable ("Pod web-7d9…-x2k4k" for
`pods`, `default/web-7d9…-x2k4k`) and the rows ("lanes") of a picture are told apart. Packages that bring new
components add their lanes with `add_lane`, what their events look at with `READS`.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from k8slab.api.errors import StatusError
from k8slab.api.scheme import SCHEME
from k8slab.sim import KINDS, TraceEvent, fill
from k8slab.sim.kinds import cut

__all__ = [
    "LABELS",
    "OUTCOMES",
    "READS",
    "ROLES",
    "Lane",
    "add_lane",
    "focus_of",
    "is_noise",
    "lane_of",
    "lanes_of",
    "mark_of",
    "words",
]

ROLES = ("you", "api", "etcd", "ctl", "sched", "node", "net", "auto")
LABEL, SHORT, TEXT, MARK_LABEL = 15, 7, 120, 30
LOG_LABEL = 26  # what the log shows in one line
MOST_LANES = 14


class Lane(NamedTuple):
    """One row: `id` is an actor or the prefix of several, `role` decides colour and glyph."""

    id: str
    label: str
    short: str
    role: str


class _Rule(NamedTuple):
    rank: int
    label: str
    short: str
    role: str
    each: bool  # one lane for every instance (`kubelet/node-1`), not one for all


_RULES: dict[str, _Rule] = {}


def add_lane(prefix: str, label: str, short: str, role: str, *, each: bool = False) -> None:
    """Name the lane of the actors `prefix` and `prefix/…`. `each`: a lane for every next part of the name, whose
    label is `label` and that part. Lanes stand in the order of their addition.

    ValueError: a label over 15, a short name over 7 characters, or an unknown role.
    """
    if len(label) > LABEL or len(short) > SHORT:
        raise ValueError(
            f"lane {prefix!r}: label {label!r} and short name {short!r}: expected at most 15 and 7 characters"
        )
    if role not in ROLES:
        raise ValueError(f"lane {prefix!r}: role {role!r}: expected one of {', '.join(ROLES)}")
    _RULES[prefix] = _Rule(len(_RULES), label, short, role, each)


for _prefix, _label, _short, _role in (
    ("you", "kubectl (you)", "kubectl", "you"),
    ("apiserver", "API server", "API", "api"),
    ("etcd", "etcd", "etcd", "etcd"),
    ("kcm/informers", "Informers", "inform.", "ctl"),
    ("kcm/deployment", "Deployment ctl", "Deploy", "ctl"),
    ("kcm/replicaset", "ReplicaSet ctl", "RS", "ctl"),
    ("kcm/statefulset", "StatefulSet ctl", "STS", "ctl"),
    ("kcm/daemonset", "DaemonSet ctl", "DS", "ctl"),
    ("kcm/job", "Job ctl", "Job", "ctl"),
    ("kcm/cronjob", "CronJob ctl", "CronJob", "ctl"),
    ("kcm/endpointslice", "EndpointSl. ctl", "EPSlice", "ctl"),
    ("kcm/garbage-collector", "Garbage coll.", "GC", "ctl"),
    ("kcm/namespace", "Namespace ctl", "NS", "ctl"),
    ("kcm/node-lifecycle", "Node lifecycle", "nodelc", "ctl"),
    ("kcm/taint-eviction", "Taint eviction", "taint", "ctl"),
    ("kcm/serviceaccount", "ServiceAcc. ctl", "SA", "ctl"),
    ("kcm/root-ca", "Root CA", "rootCA", "ctl"),
    ("kcm/ttl", "Node TTL", "TTL", "ctl"),
    ("kcm/horizontal-pod-autoscaler", "Pod autoscaler", "HPA", "auto"),
    ("kcm", "Controllers", "ctl", "ctl"),
    ("aijob-operator", "AIJob operator", "AIJob", "ctl"),
    ("scheduler", "Scheduler", "sched", "sched"),
):
    add_lane(_prefix, _label, _short, _role)
add_lane("schedulers", "scheduler", "", "sched", each=True)
add_lane("raft", "node", "", "etcd", each=True)
for _number in range(1, 8):  # `etcd` alone is a member without others, or what all do
    add_lane(f"etcd/{_number}", f"etcd {_number}", f"etcd {_number}", "etcd")
add_lane("kubelet", "kubelet", "", "node", each=True)
add_lane("runtime", "runtime", "", "net", each=True)
add_lane("network", "Network", "net", "net")
add_lane("proxy", "proxy", "", "net", each=True)
add_lane("autoscaler", "Autoscaler", "auto", "auto")


@lru_cache(maxsize=4096)
def lane_of(actor: str) -> str:
    """The id of the lane an actor or a task stands in: `kubelet/node-1/informers` stands in `kubelet/node-1`."""
    parts = actor.split("/")
    if parts[0] == "kcm" and parts[-1] in ("informer", "reflector"):
        return "kcm/informers"  # the manager's informers are shared by its controllers
    for length in range(len(parts), 0, -1):
        prefix = "/".join(parts[:length])
        rule = _RULES.get(prefix)
        if rule is not None:
            return "/".join(parts[: length + 1]) if rule.each else prefix
    return parts[0]


def lanes_of(ids: Iterable[str]) -> list[Lane]:
    """Lanes in the order a picture shows them. Above 14, lanes of one family are one row: see `lane_of`."""
    return [lane for _, lane in sorted((_order(one), _lane(one)) for one in dict.fromkeys(ids))]


def folded(ids: Iterable[str]) -> dict[str, str]:
    """{lane: the lane it is shown in}: when there are more than 14, all kubelets share a row."""
    known = list(dict.fromkeys(ids))
    if len(known) <= MOST_LANES:
        return {one: one for one in known}
    return {one: one.split("/")[0] if (rule := _rule(one)) and rule.each else one for one in known}


def _rule(lane: str) -> _Rule | None:
    return _RULES.get(lane) or _RULES.get(lane.rpartition("/")[0])


def _order(lane: str) -> tuple[int, list[tuple[int, str]]]:
    rule = _rule(lane)
    natural = [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", lane)]
    return (rule.rank if rule else len(_RULES), natural)


def _lane(lane: str) -> Lane:
    rule = _rule(lane)
    if rule is None:
        return Lane(lane, cut(lane, LABEL), cut(lane, SHORT), "ctl")
    if not rule.each:
        return Lane(lane, rule.label, rule.short, rule.role)
    name = lane.rpartition("/")[2]
    if name == lane:
        return Lane(lane, f"all {rule.label}s", cut(rule.label, SHORT), rule.role)
    label = f"{rule.label} {name}"
    return Lane(lane, label if len(label) <= LABEL else cut(name, LABEL), cut(name, SHORT), rule.role)


LABELS: dict[str, str] = {
    "etcd.commit": "rev {revision}: {resource} {key}",
    "schedule.decide": "{key} to {node}",
    "serve": "{verb} {resource}{part} {key}",
}
"""Labels that a log needs longer than the table's: a format by event kind."""


# -- words -----------------------------------------------------------------------------------------


def mark_of(event: TraceEvent) -> str:
    """The mark of an event's kind; an unknown kind is `work`."""
    kind = KINDS.get(event.kind)
    return kind.mark if kind else "work"


def words(event: TraceEvent) -> tuple[str, str]:
    """Label (at most 30 characters) and sentence (at most 120) of an event."""
    kind = KINDS.get(event.kind)
    if kind is None:
        return cut(event.kind, MARK_LABEL), cut(f"{event.actor}: {event.kind}.", TEXT)
    data = _readable(event.data)
    label, text = fill(LABELS.get(event.kind, kind.label_format), data), kind.text(data)
    if len(label) > LOG_LABEL:
        label = cut(_without_hash(label), MARK_LABEL)
    text = _sentence(text)
    return label, text if len(text) <= TEXT else cut(_without_hash(text), TEXT)


def _sentence(text: str) -> str:
    """A capital and a full stop; names (`etcd`, `node-1`) stay as they are written."""
    first = text.partition(" ")[0]
    if first.isalpha() and first != "etcd":
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "…")) else text + "."


def _readable(data: Mapping[str, Any]) -> dict[str, Any]:
    """Data as a sentence says it: kinds instead of resources, no namespace where it is `default`."""
    shown = {k: "nothing" if v is None else v for k, v in data.items()}
    key = shown.get("key")
    resource = shown.get("resource")
    if isinstance(resource, str) and resource:
        shown["resource"] = _noun(resource, one=bool(key))
    if isinstance(shown.get("queue"), str):
        shown["queue"] = _kind_of(shown["queue"]) or shown["queue"]
    if shown.get("who") == "you" and isinstance(shown.get("does"), str):
        shown["does"] = shown["does"].replace("patches", "patch").removesuffix("s")
    for name in ("key", "pod", "slice", "replica_set"):
        value = shown.get(name)
        if isinstance(value, str):
            shown[name] = value.removeprefix("default/")
    return shown


@lru_cache(maxsize=512)
def _noun(resource: str, *, one: bool) -> str:
    kind = _kind_of(resource)
    if kind is None or one:
        return kind or resource
    return kind[:-1] + "ies" if kind.endswith("y") else kind + ("es" if kind.endswith("s") else "s")


@lru_cache(maxsize=512)
def _kind_of(resource: str) -> str | None:
    try:
        return SCHEME.find(resource).gvk.kind
    except (LookupError, StatusError, ValueError):
        return None


_HASH = re.compile(r"-(?=[0-9a-z]*\d)[0-9a-z]{8,10}(?=-[0-9a-z]{5}\b)")


def _without_hash(text: str) -> str:
    """`web-7d9c6b8f5d-x2k4k` as `web-…-x2k4k`."""
    return _HASH.sub("-…", text)


# -- objects ---------------------------------------------------------------------------------------

OUTCOMES = ("deployment.status",)
"""Details whose last occurrence is the end of the story: event kinds."""

READS: dict[str, tuple[str, ...]] = {
    "deployment.create": ("spec.replicas",),
    "replicaset.create": ("spec.replicas",),
    "replicaset.delete": ("spec.replicas",),
    "kubelet.admit": ("spec.nodeName",),
    "pod.stop": ("metadata.deletionTimestamp",),
    "taint.evict": ("spec.tolerations",),
}
"""What a decision looked at: paths in the object it is about, by event kind."""


def focus_of(event: TraceEvent) -> tuple[str, ...]:
    """The keys, best first, under which a view may have the object an event is about (`Kind/namespace/name`)."""
    data = event.data
    key = data.get("key")
    if not isinstance(key, str) or not key:
        return ()
    resource = data.get("resource")
    if not isinstance(resource, str):
        resource = "pods" if "node" in data else str(data.get("queue", ""))
    kind = _kind_of(resource)
    return (f"{kind}/{key}", f"{resource}/{key}") if kind else (f"{resource}/{key}",)


_SILENT_RESOURCES = ("leases.coordination.k8s.io", "events", "events.events.k8s.io")
_READ_VERBS = ("get", "list", "watch")


def is_noise(event: TraceEvent) -> bool:
    """Whether a stepper leaves an event out: leases, the writing of Events, reads, streams that open."""
    data = event.data
    return (
        event.kind.startswith("lease.")
        or data.get("resource") in _SILENT_RESOURCES
        or data.get("type") == "BOOKMARK"
        or (event.kind in ("request", "serve") and data.get("verb") in _READ_VERBS)
        or event.kind in ("watch.open", "cache.resync")
    )
