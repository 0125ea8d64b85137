"""`k8slab simulate autoscaler FILE...`: which nodes would come and go for these workloads, when, and for how much.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k8slab.cli.autoscaler_files import Change, as_stored, change, node_groups, node_pools
from k8slab.cli.files import file_name, in_json, on_terminal, refused
from k8slab.cli.run import duration_ms
from k8slab.cli.seeds import seed_text

if TYPE_CHECKING:
    from k8slab.api.manifests import Manifest
    from k8slab.api.objects import Object
    from k8slab.cluster import Cluster

__all__ = ["add_parser", "simulate"]

SCHEMA = "k8slab/simulate-autoscaler/1"
_SLICE_MS = 10_000
_MICROS = 1_000_000
_APPS = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")


@dataclass
class Answer:
    """How it went: (ms, text) of what was decided and what came of it, the nodes at the end, the bill."""

    autoscaler: str
    for_ms: int
    timeline: list[tuple[int, str]] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    cost_micros: int = 0
    notes: list[str] = field(default_factory=list)


def add_parser(verbs: Any) -> None:
    """Add `simulate autoscaler` to the verbs of `simulate`."""
    parser = verbs.add_parser(
        "autoscaler",
        help="which nodes would come and go for these workloads",
        description="Run workloads on a simulated cloud under the Cluster Autoscaler or Karpenter, and print what it "
        "decides, which nodes are there in the end, and what they cost. Exit code: 0 no Pod waits in the end, 1 some "
        "do, or an input cannot be used, 2 wrong usage.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", type=file_name, help="manifests: files or folders")
    parser.add_argument("--with", dest="autoscaler", choices=("cluster-autoscaler", "karpenter"),
                        default="cluster-autoscaler", help="which one (default cluster-autoscaler)")  # fmt: skip
    parser.add_argument("--groups", type=file_name, metavar="FILE", help="node groups and flags (cluster-autoscaler)")
    parser.add_argument("--nodepools", type=file_name, metavar="FILE", help="NodePools (karpenter)")
    parser.add_argument("--at", type=change, action="append", default=[], metavar="WHEN:KIND/NAME=REPLICAS",
                        help="change a scale, such as 10m:deploy/web=2 (again for more)")  # fmt: skip
    parser.add_argument("--for", dest="for_ms", type=duration_ms, default=3_600_000, metavar="DURATION",
                        help="how long in virtual time (default 1h, at most 48h)")  # fmt: skip
    parser.add_argument("--seed", type=seed_text, default="7", help="seed of everything random (default 7)")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="format (default table)")
    parser.set_defaults(handler=simulate)


def simulate(args: argparse.Namespace) -> int:
    """Carry out `simulate autoscaler`; returns the exit code."""
    if problem := _misuse(args):
        print(f"k8slab simulate autoscaler: {on_terminal(problem)}", file=sys.stderr)
        return 2
    try:
        manifests = _manifests(args.files)
        changes = sorted(args.at)
        run = _with_cluster_autoscaler if args.autoscaler == "cluster-autoscaler" else _with_karpenter
        answer = run(args, manifests, changes)
    except (OSError, ValueError) as error:
        return refused(error)
    _print(answer, args.output)
    return 1 if answer.pending else 0


def _misuse(args: argparse.Namespace) -> str:
    needed, other = ("groups", "nodepools") if args.autoscaler == "cluster-autoscaler" else ("nodepools", "groups")
    if getattr(args, needed) is None:
        return f"--with {args.autoscaler}: expected --{needed} FILE with it"
    if getattr(args, other) is not None:
        return f"--{other}: is not for {args.autoscaler}"
    if args.for_ms > 48 * 3_600_000:
        return "--for: expected 48h at the most"
    late = [one for one in args.at if one.at_ms >= args.for_ms]
    return f"--at: {late[0].reference} changes when the simulation is over, expected before --for" if late else ""


def _manifests(files: Sequence[str]) -> list[Manifest]:
    from k8slab.api.manifests import load_manifests
    from k8slab.cluster import manifest_files

    found = [
        manifest
        for name in files
        for path in manifest_files(Path(name))
        for manifest in load_manifests(path.read_bytes(), source=str(path))
    ]
    if not found:
        raise ValueError(f"{', '.join(files)}: no objects in there")
    return found


def _seed(text: str) -> int | str:
    return int(text) if text.isdecimal() and len(text) <= 18 else text


# -- the Cluster Autoscaler -----------------------------------------------------------------------------


def _with_cluster_autoscaler(args: argparse.Namespace, manifests: list[Manifest], changes: list[Change]) -> Answer:
    from k8slab.api.errors import StatusError
    from k8slab.cluster import ApplyError, Cluster

    config = node_groups(args.groups)
    cluster = Cluster(0, _seed(args.seed), cluster_autoscaler=config)
    start_ms = cluster.now_ms
    try:
        cluster.apply_loaded(manifests)
        for one in changes:
            _let_pass(cluster, start_ms + one.at_ms)
            cluster.scale(one.reference, one.replicas)
        _let_pass(cluster, start_ms + args.for_ms)
        return _answer_of(cluster, args, start_ms, changes)
    except (ApplyError, StatusError, KeyError) as error:
        raise ValueError(str(error).strip("'\"")) from None
    finally:
        cluster.close()


def _let_pass(cluster: Cluster, until_ms: int) -> None:
    """Run, and keep the disruption budgets up to date meanwhile: nobody else does."""
    while cluster.now_ms < until_ms:
        for budget in cluster.objects("poddisruptionbudgets"):
            _update_budget(cluster, budget)
        budgets = cluster.objects("poddisruptionbudgets")
        cluster.run(for_ms=min(_SLICE_MS, until_ms - cluster.now_ms) if budgets else until_ms - cluster.now_ms)


def _update_budget(cluster: Cluster, budget: dict[str, Any]) -> None:
    from k8slab.api.intstr import scaled_value
    from k8slab.api.labels import selector_from_dict
    from k8slab.api.pods import is_pod_ready

    spec, metadata = budget["spec"], budget["metadata"]
    selector = selector_from_dict(spec.get("selector"))
    pods = [
        pod
        for pod in cluster.objects("pods", namespace=metadata["namespace"])
        if selector.matches(pod["metadata"].get("labels")) and not pod["metadata"].get("deletionTimestamp")
    ]
    healthy = sum(is_pod_ready(pod) for pod in pods)
    if spec.get("minAvailable") is not None:
        desired = scaled_value(spec["minAvailable"], len(pods), round_up=True)
    elif spec.get("maxUnavailable") is not None:
        desired = len(pods) - scaled_value(spec["maxUnavailable"], len(pods), round_up=True)
    else:
        desired = len(pods)  # a budget that names neither allows nothing
    status = {
        "observedGeneration": metadata.get("generation", 1),
        "expectedPods": len(pods),
        "currentHealthy": healthy,
        "desiredHealthy": max(desired, 0),
        "disruptionsAllowed": max(healthy - max(desired, 0), 0),
    }
    if {**(budget.get("status") or {}), **status} != budget.get("status"):
        name = f"pdb/{metadata['name']}"
        cluster.patch(name, {"status": status}, namespace=metadata["namespace"], subresource="status")


def _answer_of(cluster: Cluster, args: argparse.Namespace, start_ms: int, changes: list[Change]) -> Answer:
    from k8slab.sim import KINDS

    assert cluster.node_autoscaling is not None  # this cluster has one
    cloud, groups = cluster.node_autoscaling.cloud, cluster.node_autoscaling.groups
    answer = Answer(args.autoscaler, args.for_ms, cost_micros=cloud.cost_micros(cluster.now_ms))
    told = ("ca.scale-up", "ca.stuck", "ca.unneeded", "ca.delete", "ca.deleted", "ca.delete-failed",
            "cloud.boot", "cloud.notice")  # fmt: skip
    answer.timeline = [(one.at_ms, f"you set {one.reference} to {one.replicas} replicas") for one in changes]
    before = ""
    for event in cluster.trace:
        if event.kind not in told:
            continue
        text = KINDS[event.kind].text(event.data)
        if event.kind != "ca.stuck" or text != before:
            answer.timeline.append((event.now_ms - start_ms, text))
        before = text if event.kind == "ca.stuck" else before
    answer.timeline.sort(key=lambda row: row[0])
    for group in groups:
        for instance in group.live():
            row = {"name": groups.node_name(instance), "type": instance.instance_type.name, "zone": instance.zone}
            price = instance.price_micros
            answer.nodes.append({**row, "capacityType": instance.capacity_type, "priceMicros": price})
    answer.pending = _waiting(cluster.objects("pods"))
    return answer


def _waiting(pods: Sequence[Object]) -> list[str]:
    names = (
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in pods if not pod["spec"].get("nodeName")
    )
    return sorted(names)


# -- Karpenter ------------------------------------------------------------------------------------------


def _with_karpenter(args: argparse.Namespace, manifests: list[Manifest], changes: list[Change]) -> Answer:
    from k8slab.autoscaling.cloud import catalogue
    from k8slab.autoscaling.karpenter.small_world import SmallWorld

    answer = Answer(args.autoscaler, args.for_ms)
    apps: dict[str, Object] = {}
    objects = []
    for manifest in manifests:
        where, kind = f"{manifest.source}, line {manifest.line}", manifest.object["kind"]
        if kind not in (*_APPS, "PodDisruptionBudget", "DaemonSet"):
            answer.notes.append(f"{where}: {kind} is not looked at")
            continue
        obj = as_stored(manifest)
        objects.append(obj)
        if kind in _APPS and apps.setdefault(name := obj["metadata"]["name"], obj) is not obj:
            raise ValueError(f"{where}: {kind} {name}: expected names that differ, whatever the kinds and namespaces")
    world = SmallWorld(
        node_pools(args.nodepools),
        catalogue(),
        seed=_seed(args.seed),
        daemons=[_daemon(one) for one in objects if one["kind"] == "DaemonSet"],
        pdbs=[_whole(one) for one in objects if one["kind"] == "PodDisruptionBudget"],
        tell=lambda *told: _note(answer, world.now_ms, *told),
    )
    for name, app in apps.items():
        template = app["spec"]["template"]
        metadata = {**(template.get("metadata") or {}), "namespace": app["metadata"]["namespace"]}
        world.scale(name, app["spec"].get("replicas", 1), {**template, "metadata": metadata})
    for one in changes:
        name = one.reference.partition("/")[2]
        if name not in apps:
            raise ValueError(f"--at: {one.reference}: not among the manifests, expected {', '.join(apps) or 'some'}")
        world.run(one.at_ms - world.now_ms)
        answer.timeline.append((world.now_ms, f"you set {one.reference} to {one.replicas} replicas"))
        world.scale(name, one.replicas)
    world.run(args.for_ms - world.now_ms)
    answer.cost_micros = world.cloud.cost_micros(world.now_ms)
    for instance in world.cloud.live():
        row = {"name": instance.tags.get("karpenter.sh/nodeclaim", instance.id), "type": instance.instance_type.name}
        price = {"capacityType": instance.capacity_type, "priceMicros": instance.price_micros}
        answer.nodes.append({**row, "zone": instance.zone, **price})
    answer.pending = _waiting(list(world.pods.values()))
    return answer


def _note(answer: Answer, now_ms: int, kind: str, about: str, message: str) -> None:
    """What the small world says, without each Pod's waiting and binding, and without what was looked at in vain."""
    if kind in ("bind", "wait") or message.startswith(("Unconsolidatable", "DisruptionBlocked")):
        return
    text = f"Karpenter evicts {about} from {message}" if kind == "evict" else f"{about}: {message}"
    answer.timeline.append((now_ms, text))


def _daemon(daemon_set: Object) -> Object:
    template, metadata = daemon_set["spec"]["template"], daemon_set["metadata"]
    own = {
        **(template.get("metadata") or {}),
        "name": metadata["name"],
        "namespace": metadata.get("namespace", "default"),
    }
    return {"metadata": own, "spec": template["spec"]}


def _whole(budget: Object) -> Object:
    """The small world keeps budgets in whole numbers of Pods."""
    spec = budget["spec"]
    for name in ("minAvailable", "maxUnavailable"):
        if isinstance(spec.get(name), str):
            raise ValueError(
                f"PodDisruptionBudget {budget['metadata']['name']}: {name}: {spec[name]!r}: expected a number"
            )
    return budget


# -- printing -------------------------------------------------------------------------------------------


def _print(answer: Answer, output: str) -> None:
    if output == "json":
        given = asdict(answer)
        given["timeline"] = [{"atMs": at_ms, "text": text} for at_ms, text in answer.timeline]
        names = {"for_ms": "forMs", "cost_micros": "costMicros"}
        print(in_json(json.dumps({"schema": SCHEMA, **{names.get(k, k): v for k, v in given.items()}}, indent=2)))
        return
    for at_ms, text in answer.timeline:
        print(on_terminal(f"{_clock(at_ms):>8}  {text}"))
    if answer.nodes:
        print(f"\n{'NODE':<24} {'TYPE':<14} {'ZONE':<11} {'CAPACITY':<10} {'$/HOUR':>8}")
    for node in answer.nodes:
        price = node["priceMicros"] / _MICROS
        row = f"{node['name']:<24} {node['type']:<14} {node['zone']:<11} {node['capacityType']:<10} {price:>8.4f}"
        print(on_terminal(row))
    hourly = sum(node["priceMicros"] for node in answer.nodes) / _MICROS
    nodes, waiting = len(answer.nodes), len(answer.pending)
    cost = f"{answer.cost_micros / _MICROS:.4f} $ in {_clock(answer.for_ms)}"
    wait = f"{waiting} Pod{'s wait' if waiting != 1 else ' waits'}"
    print(f"\n{nodes} node{'s' if nodes != 1 else ''} at {hourly:.4f} $/hour; {cost}; {wait}")
    for name in answer.pending[:20]:
        print(on_terminal(f"  waits: {name}"))
    for note in answer.notes:
        print(on_terminal(f"note: {note}"))


def _clock(ms: int) -> str:
    seconds = ms // 1_000
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
