"""What could be changed so that one Node takes a Pod: the alternatives to every obstacle that a plugin names.

Each function answers for one plugin: a list of obstacles, each with its ways out. A way out is a `Change`: a sentence,
a place among the others (small changes first), and a function from one world to the next. None of them is believed:
`search` runs the framework on the changed world.

Upstream: none
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any, TypeAlias

from k8slab.api.labels import AggregateError
from k8slab.api.node_affinity import NodeSelector
from k8slab.api.objects import Object
from k8slab.api.tolerations import any_tolerates, is_scheduling_taint
from k8slab.cluster.snapshots.requests import Lowered, lowered
from k8slab.cluster.snapshots.world import World, another_state, with_node, with_spec
from k8slab.scheduler import SUCCESS, CycleState, Framework, NodeInfo
from k8slab.scheduler.framework import HostPorts, PodInfo, host_ports, namespace_of, pod_key

__all__ = ["ORDER", "Change", "Obstacles", "add_node", "copy_of", "daemon_pods", "is_daemon", "obstacles_of"]

ORDER: Mapping[str, str] = {
    "uncordon": "the Node is put back into service",
    "add-toleration": "the Pod is let onto tainted Nodes",
    "alter-node-selector": "the Pod asks for another value of a label",
    "lower-request": "the Pod asks for less of one resource",
    "raise-max-skew": "the Pod may be spread less evenly",
    "drop-node-selector": "the Pod no longer asks for a label",
    "relax-node-affinity": "one requirement of the Pod's required node affinity goes",
    "relax-spread": "a spread constraint becomes a wish (ScheduleAnyway)",
    "drop-pod-affinity": "one required term of Pod affinity goes",
    "drop-pod-anti-affinity": "one required term of Pod anti-affinity goes",
    "drop-node-affinity": "the Pod's required node affinity goes as a whole",
    "drop-host-port": "the Pod no longer takes a port of the Node",
    "label-node": "a Node gets a label",
    "remove-taint": "a Node loses a taint",
    "delete-pod": "a Pod that keeps others away goes",
    "add-node": "one more Node",
}
"""Kinds of changes, the smallest first; within a kind the one that changes least comes first."""

_RANK = {kind: rank for rank, kind in enumerate(ORDER)}
_CORDON = "node.kubernetes.io/unschedulable"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class Change:
    """One change. `object`, `field`, `before`, `after`: what is changed, for programs; `text`: for people."""

    kind: str
    text: str
    object: str
    field: str
    before: Any
    after: Any
    amount: float = 0.0
    apply: Callable[[World], World] = dataclass_field(default=lambda world: world, repr=False, compare=False)

    @property
    def size(self) -> tuple[int, float, str]:
        """Changes are compared by this."""
        return _RANK[self.kind], self.amount, self.text


Obstacles: TypeAlias = list[list[Change]]
"""What is in the way, each with its ways out (maybe none)."""


def obstacles_of(plugin: str, reasons: Sequence[str], world: World, node: NodeInfo, framework: Framework) -> Obstacles:
    """What one plugin's verdict on one Node names. A plugin without a rule here: one obstacle without a way out."""
    rule = _RULES.get(plugin)
    found = rule(world, node, reasons, framework) if rule is not None else []
    return found or [[]]


# -- NodeUnschedulable, TaintToleration ----------------------------------------------------------------


def _uncordon(node: NodeInfo) -> Change:
    spec = (node.node or {}).get("spec") or {}
    taints = [taint for taint in spec.get("taints") or () if taint.get("key") != _CORDON]

    def apply(world: World) -> World:
        info = world.node(node.name)
        own = {**((info.node or {}).get("spec") or {}), "taints": taints, "unschedulable": False}
        return with_node(world, another_state(info, {**(info.node or {}), "spec": own}))

    return Change(
        "uncordon", f"uncordon node {node.name}", f"node/{node.name}", "spec.unschedulable", True, False, 0, apply
    )


def _cordoned(world: World, node: NodeInfo, reasons: Sequence[str], framework: Framework) -> Obstacles:
    return [[_uncordon(node), _tolerate(world.pod, {"key": _CORDON, "effect": "NoSchedule"})]]


def _taint_text(taint: Object) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key')}{value}:{taint.get('effect')}"


def _tolerate(pod: Object, taint: Object) -> Change:
    operator = {"operator": "Equal", "value": taint["value"]} if taint.get("value") else {"operator": "Exists"}
    toleration = {"key": taint.get("key"), **operator, "effect": taint.get("effect")}

    def apply(world: World) -> World:
        return with_spec(world, tolerations=[*(world.pod["spec"].get("tolerations") or ()), toleration])

    text = f"add a toleration of {_taint_text(taint)} to the Pod"
    # Tolerating what says "this Node is broken" is the larger step.
    amount = float(str(taint.get("key")).startswith("node.kubernetes.io/")) + (taint.get("effect") == "NoExecute") / 2
    return Change("add-toleration", text, _the(pod), "spec.tolerations", None, toleration, amount, apply)


def _untaint(node: NodeInfo, taint: Object) -> Change:
    def apply(world: World) -> World:
        info = world.node(node.name)
        spec = (info.node or {}).get("spec") or {}
        own = {**spec, "taints": [other for other in spec.get("taints") or () if other != taint]}
        return with_node(world, another_state(info, {**(info.node or {}), "spec": own}))

    text = f"remove the taint {_taint_text(taint)} from node {node.name}"
    return Change("remove-taint", text, f"node/{node.name}", "spec.taints", taint, None, 0, apply)


def _tainted(world: World, node: NodeInfo, reasons: Sequence[str], framework: Framework) -> Obstacles:
    tolerations = world.pod["spec"].get("tolerations") or ()
    bad = [t for t in node.taints if is_scheduling_taint(t) and not any_tolerates(tolerations, t)]
    found: Obstacles = []
    for taint in bad:
        undo = _uncordon(node) if taint.get("key") == _CORDON and node.unschedulable else _untaint(node, taint)
        found.append([_tolerate(world.pod, taint), undo])
    return found


# -- NodeAffinity --------------------------------------------------------------------------------------


def _selector_change(pod: Object, key: str, value: str | None) -> Change:
    before = pod["spec"]["nodeSelector"][key]
    kind = "drop-node-selector" if value is None else "alter-node-selector"

    def apply(world: World) -> World:
        left = {k: v for k, v in (world.pod["spec"].get("nodeSelector") or {}).items() if k != key}
        return with_spec(world, nodeSelector={**left, **({} if value is None else {key: value})})

    text = f"drop {key}={before} from the Pod's nodeSelector"
    if value is not None:
        text = f"change {key} in the Pod's nodeSelector from {before} to {value}"
    return Change(kind, text, _the(pod), f"spec.nodeSelector.{key}", before, value, 0, apply)


def _label_node(node: NodeInfo, key: str, value: str) -> Change:
    def apply(world: World) -> World:
        info = world.node(node.name)
        metadata = (info.node or {})["metadata"]
        own = {**metadata, "labels": {**(metadata.get("labels") or {}), key: value}}
        return with_node(world, another_state(info, {**(info.node or {}), "metadata": own}))

    text = f"label node {node.name} with {key}={value}"
    return Change(
        "label-node", text, f"node/{node.name}", f"metadata.labels.{key}", node.labels.get(key), value, 0, apply
    )


def _with_required_terms(world: World, terms: Sequence[Object] | None) -> World:
    affinity = world.pod["spec"].get("affinity") or {}
    rest = {k: v for k, v in (affinity.get("nodeAffinity") or {}).items() if k != _REQUIRED}
    own = {**rest, _REQUIRED: {"nodeSelectorTerms": list(terms)}} if terms is not None else rest
    return with_spec(world, affinity={**affinity, "nodeAffinity": own})


def _requirement_text(requirement: Object) -> str:
    values = requirement.get("values")
    return f"{requirement.get('key')} {requirement.get('operator')}{f' {list(values)}' if values else ''}"


def _without_requirement(pod: Object, terms: Sequence[Object], index: int, part: str, number: int) -> Change:
    requirement = terms[index][part][number]
    kept = [other for other in terms[index][part] if other is not requirement]
    changed = [{**term, part: kept} if at == index else term for at, term in enumerate(terms)]
    where = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms[{index}].{part}[{number}]"
    text = f"drop the requirement {_requirement_text(requirement)} from the Pod's node affinity"
    return Change(
        "relax-node-affinity", text, _the(pod), where, requirement, None, 0,
        lambda world: _with_required_terms(world, changed),
    )  # fmt: skip


def _some_term_matches(required: Object, node: NodeInfo) -> bool:
    try:
        return NodeSelector(required).matches(node.node or {})
    except AggregateError:  # none does, and some cannot be read
        return False


def _affinity(world: World, node: NodeInfo, reasons: Sequence[str], framework: Framework) -> Obstacles:
    """nodeSelector: one obstacle for each key. Required affinity: one for all terms, since any of them would do."""
    pod, found = world.pod, Obstacles()
    for key, value in (pod["spec"].get("nodeSelector") or {}).items():
        if node.labels.get(key) != value:
            ways = [_selector_change(pod, key, None), _label_node(node, key, value)]
            if key in node.labels:
                ways.append(_selector_change(pod, key, node.labels[key]))
            found.append(ways)
    required = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
    if required is None:
        return found
    terms = required.get("nodeSelectorTerms") or []
    if terms and _some_term_matches(required, node):
        return found
    ways = [
        _without_requirement(pod, terms, index, part, number)
        for index, term in enumerate(terms)
        for part in ("matchExpressions", "matchFields")
        for number in range(len(term.get(part) or ()))
        if len(term.get("matchExpressions") or ()) + len(term.get("matchFields") or ()) > 1
    ]
    whole = "drop the Pod's required node affinity"
    where = f"spec.affinity.nodeAffinity.{_REQUIRED}"
    drop = Change(
        "drop-node-affinity", whole, _the(pod), where, required, None, 0, lambda w: _with_required_terms(w, None)
    )
    return [*found, [*ways, drop]]


# -- NodeResourcesFit ----------------------------------------------------------------------------------


def _resources(world: World, node: NodeInfo, reasons: Sequence[str], framework: Framework) -> Obstacles:
    """Of each resource that is short: one request that is lowered, or two that have to be, which are two obstacles."""
    found: Obstacles = []
    for reason in reasons:
        resource = reason.removeprefix("Insufficient ")
        free = max(0, node.allocatable.get(resource) - node.requested.get(resource))
        ways = lowered(world.pod, resource, free) if "Insufficient" in reason else []
        found += [[_lower(world.pod, resource, step) for step in way] for way in ways] or [[]]
    return found


def _lower(pod: Object, resource: str, step: Lowered) -> Change:
    text = f"lower the {resource} request of {step.whose} from {step.before} to {step.after}"
    where = f"{step.place}.resources.requests.{resource}"
    return Change(
        "lower-request", text, _the(pod), where, step.before, step.after, step.share,
        lambda world: with_spec(world, **step.applied(world.pod["spec"])),
    )  # fmt: skip


# -- NodePorts -----------------------------------------------------------------------------------------


def _ports(world: World, node: NodeInfo, reasons: Sequence[str], framework: Framework) -> Obstacles:
    used = HostPorts()
    used.add(node.used_ports)
    found: Obstacles = []
    for want in host_ports(world.pod):
        if used.conflicts(want):
            found.append([_without_host_port(world.pod, want.port, want.protocol)])
    return found


def _without_host_port(pod: Object, port: int, protocol: str) -> Change:
    def freed(entry: Object) -> Object:
        if entry.get("hostPort") != port or (entry.get("protocol") or "TCP") != protocol:
            return entry
        return {name: value for name, value in entry.items() if name not in ("hostPort", "hostIP")}

    def apply(world: World) -> World:
        parts = {}
        for part in ("containers", "initContainers"):
            if world.pod["spec"].get(part):
                parts[part] = [
                    {**c, "ports": [freed(entry) for entry in c.get("ports") or ()]} for c in world.pod["spec"][part]
                ]
        return with_spec(world, **parts)

    text = f"drop hostPort {port}/{protocol} from the Pod"
    return Change("drop-host-port", text, _the(pod), "spec.containers[*].ports[*].hostPort", port, None, 0, apply)


# -- PodTopologySpread, InterPodAffinity ---------------------------------------------------------------


def _spread(world: World, node: NodeInfo, reasons: Sequence[str], framework: Framework) -> Obstacles:
    """Each violated constraint is an obstacle. Which they are, and what skew would do, the plugin itself says."""
    found: Obstacles = []
    for index, constraint in enumerate(world.pod["spec"].get("topologySpreadConstraints") or ()):
        is_wish = (constraint.get("whenUnsatisfiable") or "DoNotSchedule") != "DoNotSchedule"
        if is_wish or _keeps_spread(framework, world, node, constraint):
            continue
        what = f"spread constraint over {constraint.get('topologyKey')}"
        where = f"spec.topologySpreadConstraints[{index}]"
        text = f"make the {what} a wish (whenUnsatisfiable: ScheduleAnyway)"
        wish = _altered_constraint(index, {"whenUnsatisfiable": "ScheduleAnyway"})
        ways = [
            Change("relax-spread", text, _the(world.pod), f"{where}.whenUnsatisfiable", "DoNotSchedule",
                   "ScheduleAnyway", 0, wish)
        ]  # fmt: skip
        old = constraint.get("maxSkew") or 1
        skew = _least_skew(framework, world, node, constraint, old)
        if skew is not None:
            text = f"raise maxSkew of the {what} from {old} to {skew}"
            ways.append(
                Change("raise-max-skew", text, _the(world.pod), f"{where}.maxSkew", old, skew, skew - old,
                       _altered_constraint(index, {"maxSkew": skew}))
            )  # fmt: skip
        found.append(ways)
    return found


def _keeps_spread(framework: Framework, world: World, node: NodeInfo, constraint: Object) -> bool:
    """Whether the Node takes the Pod as far as this one constraint goes."""
    alone = with_spec(world, topologySpreadConstraints=[constraint])
    plugin: Any = framework.plugins["PodTopologySpread"]
    framework.use_snapshot(alone.snapshot())
    state = CycleState()
    _, status = plugin.pre_filter(state, alone.pod, alone.nodes)
    return status is SUCCESS and plugin.filter(state, alone.pod, node) is SUCCESS


def _least_skew(framework: Framework, world: World, node: NodeInfo, constraint: Object, old: int) -> int | None:
    """The least maxSkew that would do, by halving. None: none does, the Node lacks the label."""
    low, high = old, 1 + max(old, sum(len(info.pods) for info in world.nodes))
    if not _keeps_spread(framework, world, node, {**constraint, "maxSkew": high}):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _keeps_spread(framework, world, node, {**constraint, "maxSkew": middle}):
            high = middle
        else:
            low = middle
    return high


def _altered_constraint(index: int, fields: Mapping[str, Any]) -> Callable[[World], World]:
    def apply(world: World) -> World:
        old = world.pod["spec"]["topologySpreadConstraints"]
        changed = [{**c, **fields} if at == index else c for at, c in enumerate(old)]
        # minDomains goes with DoNotSchedule only.
        if fields.get("whenUnsatisfiable") == "ScheduleAnyway":
            changed[index] = {k: v for k, v in changed[index].items() if k != "minDomains"}
        return with_spec(world, topologySpreadConstraints=changed)

    return apply


def _without_term(pod: Object, side: str, index: int) -> Change:
    terms = pod["spec"]["affinity"][side][_REQUIRED]

    def apply(world: World) -> World:
        affinity = world.pod["spec"]["affinity"]
        left = [term for term in affinity[side].get(_REQUIRED) or () if term is not terms[index]]
        return with_spec(world, affinity={**affinity, side: {**affinity[side], _REQUIRED: left}})

    is_anti = side == "podAntiAffinity"
    what = "anti-affinity" if is_anti else "affinity"
    text = f"drop the required Pod {what} over {terms[index].get('topologyKey')} (term {index})"
    kind = "drop-pod-anti-affinity" if is_anti else "drop-pod-affinity"
    return Change(kind, text, _the(pod), f"spec.affinity.{side}.{_REQUIRED}[{index}]", terms[index], None, index, apply)


def _near_and_far(world: World, node: NodeInfo, reasons: Sequence[str], framework: Framework) -> Obstacles:
    if any("existing pods" in reason for reason in reasons):
        return [[_delete(info.key, place) for place, info in _repelling(world, node)]]
    side = "podAntiAffinity" if any("anti-affinity" in reason for reason in reasons) else "podAffinity"
    terms = ((world.pod["spec"].get("affinity") or {}).get(side) or {}).get(_REQUIRED) or ()
    return [[_without_term(world.pod, side, index) for index in range(len(terms))]]


def _repelling(world: World, node: NodeInfo) -> list[tuple[str, Any]]:
    """Pods whose required anti-affinity keeps this Pod from the Node's domain, with the Nodes they are on."""
    namespace, labels = namespace_of(world.pod), world.pod["metadata"].get("labels") or {}
    found = []
    for other in world.nodes:
        for key in other.with_affinity:
            info = other.pods[key]
            for term in info.affinity.required_anti:
                shared = term.topology_key in node.labels and (
                    other.labels.get(term.topology_key) == node.labels[term.topology_key]
                )
                if shared and term.matches(namespace, labels):
                    found.append((other.name, info))
                    break
    return found


def _delete(key: str, node_name: str) -> Change:
    def apply(world: World) -> World:
        info = world.node(node_name)
        return with_node(world, another_state(info, info.node or {}, (key,)))

    text = f"delete Pod {key} on node {node_name}, whose anti-affinity keeps this one away"
    return Change("delete-pod", text, f"pod/{key}", "", key, None, 0, apply)


# -- more Nodes ----------------------------------------------------------------------------------------


def copy_of(node: Object, name: str) -> Object:
    """A fresh Node like `node`: its labels and size, another name, in service, without the taints of a condition."""
    metadata, spec = node["metadata"], node.get("spec") or {}
    labels = dict(metadata.get("labels") or {})
    if "kubernetes.io/hostname" in labels:
        labels["kubernetes.io/hostname"] = name
    taints = [t for t in spec.get("taints") or () if not str(t.get("key")).startswith("node.kubernetes.io/")]
    return {**node, "metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}}


def is_daemon(pod: Object) -> bool:
    """Whether it belongs to a DaemonSet."""
    return any(owner.get("kind") == "DaemonSet" for owner in pod["metadata"].get("ownerReferences") or ())


def daemon_pods(pods: Iterable[Object], name: str) -> list[Object]:
    """What runs on every Node, out of `pods`, as it would on a fresh Node `name`: one Pod of each DaemonSet, and the
    mirrors of static Pods (which belong to their Node)."""
    made: dict[tuple[object, ...], Object] = {}
    for pod in pods:
        metadata = pod["metadata"]
        owners = [(o.get("kind"), o.get("name")) for o in metadata.get("ownerReferences") or ()]
        daemon = next((owner for owner in owners if owner[0] == "DaemonSet"), None)
        if daemon is None and not any(kind == "Node" for kind, _ in owners):
            continue
        kept = {k: metadata[k] for k in ("namespace", "labels", "ownerReferences") if k in metadata}
        own = {**kept, "name": f"{metadata['name']}-on-{name}"}
        copy = {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": {**pod["spec"], "nodeName": name}}
        made.setdefault((namespace_of(pod), *(daemon or (metadata["name"],))), copy)
    return list(made.values())


def add_node(world: World, like: NodeInfo) -> tuple[Change, str]:
    """One more Node like this one, with what runs on every Node and nothing else; and its name."""
    names, number = {info.name for info in world.nodes}, 1
    while f"{like.name}-copy{number}" in names:
        number += 1
    name = f"{like.name}-copy{number}"
    made = NodeInfo.of(copy_of(like.node or {}, name))
    for pod in daemon_pods((info.pod for info in like.pods.values()), name):
        made.add_pod(PodInfo(pod))

    def apply(before: World) -> World:
        return World(before.pod, (*before.nodes, made))

    text = f"add a node like {like.name}"
    return Change("add-node", text, f"node/{name}", "", None, like.name, 0, apply), name


def _the(pod: Object) -> str:
    return f"pod/{pod_key(pod)}"


_RULES: Mapping[str, Callable[[World, NodeInfo, Sequence[str], Framework], Obstacles]] = {
    "NodeUnschedulable": _cordoned,
    "TaintToleration": _tainted,
    "NodeAffinity": _affinity,
    "PreFilter": _affinity,
    "NodeResourcesFit": _resources,
    "NodePorts": _ports,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _near_and_far,
}
