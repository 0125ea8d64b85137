"""`k8slab simulate eviction SNAPSHOT...`: who is evicted or killed when Pods of a node use more.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from k8slab.api.go_duration import format_duration_ms, parse_duration_ns
from k8slab.cli.files import file_name, in_json, on_terminal, refused

if TYPE_CHECKING:
    from k8slab.api.objects import Object
    from k8slab.cluster.snapshots import ClusterSnapshot
    from k8slab.kubelet import Growth, NodeConfig
    from k8slab.kubelet.node_pressure import PressureAnswer, Use

__all__ = ["add_parser", "eviction"]

SCHEMA = "k8slab/simulate-eviction/1"
MOST_STEPS = 40
MOST_BYTES = (1 << 63) - 1
LONGEST_MS = 24 * 3_600_000
_FORM = "expected POD=AMOUNT, such as 'web-*=200Mi', 'shop/cart=200Mi+10Mi/s' or 'cart:proxy=+1Mi/s<=1Gi'"


def add_parser(verbs: Any) -> None:
    """Add `eviction` to the verbs of `simulate`."""
    what = verbs.add_parser(
        "eviction",
        help="who is evicted or killed when Pods of a node use more memory or disk",
        description="Run the Pods of one Node with the memory and disk they are said to use. Exit code: 0 nobody is "
        "evicted or killed, 1 somebody is, or an input cannot be used, 2 wrong usage.",
    )
    what.add_argument("snapshot", nargs="+", metavar="SNAPSHOT", type=file_name,
                      help="dumps or manifests in JSON or YAML: files, folders, or - for standard input")  # fmt: skip
    what.add_argument("--node", metavar="NAME", help="the Node (default: the only one)")
    what.add_argument("--use", action="append", default=[], metavar="POD=AMOUNT", type=_use,
                      help="memory: POD a pattern, AMOUNT 200Mi, 200Mi+10Mi/s or +10Mi/s<=1Gi (repeat)")  # fmt: skip
    what.add_argument("--disk", action="append", default=[], metavar="POD=AMOUNT", type=_use,
                      help="the same for what a container writes to its layer")  # fmt: skip
    what.add_argument("--top", metavar="FILE", type=file_name, help="what kubectl top pods printed")
    what.add_argument("--config", metavar="FILE", type=file_name, help="the Node's KubeletConfiguration")
    what.add_argument("--node-memory", metavar="SIZE", type=_size, help="the Node's memory, if another")
    what.add_argument("--node-disk", metavar="SIZE", type=_size, help="the Node's disk, if another")
    what.add_argument("--system", metavar="SIZE", type=_size,
                      help="what the machine's own programs use (default: what the Node reserves)")  # fmt: skip
    what.add_argument("--for", dest="for_ms", metavar="TIME", type=_time, default=600_000,
                      help="how long (default 10m)")  # fmt: skip
    what.add_argument("-o", "--output", choices=("table", "json"), default="table", help="format (default table)")
    what.set_defaults(handler=eviction)


class GivenUse(NamedTuple):
    """`is_more`: the amount comes on top of what is used already. `text`: as it was given."""

    pattern: str
    container: str
    growth: Growth
    is_more: bool
    text: str


def _use(text: str) -> GivenUse:
    from k8slab.kubelet import parse_growth

    pod, equals, amount = text.partition("=")
    pattern, _, container = pod.partition(":")
    is_more = amount.startswith("+")
    growth = parse_growth(f"0{amount}" if is_more else amount)
    if not pattern or not equals or growth is None:
        raise argparse.ArgumentTypeError(f"{text!r}: {_FORM}")
    if growth.most is not None and growth.most < growth.start:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a most (after <=) that is no less than the beginning")
    return GivenUse(pattern, container, growth, is_more, text)


def _size(text: str) -> str:
    from k8slab.api.quantity import Quantity

    try:
        size = Quantity.parse(text)
        fits = size.sign >= 0 and size.cmp(Quantity(MOST_BYTES)) <= 0
    except ValueError:
        fits = False
    if not fits:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a size such as 16Gi")
    return text


def _time(text: str) -> int:
    try:
        time_ms = parse_duration_ns(text) // 1_000_000
    except ValueError:
        time_ms = -1
    if not 0 <= time_ms <= LONGEST_MS:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a time such as 90s or 10m, at most 24h")
    return time_ms


def eviction(args: argparse.Namespace) -> int:
    """Carry out `simulate eviction`; returns the exit code."""
    from k8slab.cluster.snapshots import ClusterSnapshot
    from k8slab.kubelet.node_pressure import NodePressure

    try:
        snapshot = ClusterSnapshot.read(args.snapshot, sys.stdin.buffer)
        config, notes = _kubelet_config(args.config)
        manifest = _node(snapshot, args.node, args.node_memory)
        pods, about = _pods(snapshot, manifest)
        node, estimated = _machine(manifest, args, config)
        uses = _uses(pods, args)
        answer = NodePressure(node, pods, uses, for_ms=args.for_ms).run()
    except (OSError, ValueError, TypeError) as error:
        return refused(error if isinstance(error, OSError | ValueError) else ValueError(str(error)))
    _print(answer, node, args, [*notes, *about, *estimated])
    return 1 if answer.lost else 0


# -- what goes in --------------------------------------------------------------------------------------


def _kubelet_config(name: str | None) -> tuple[dict[str, Any], list[str]]:
    """The fields that matter here, and which do not."""
    from k8slab.api.yaml_json import YAMLError, parse_documents
    from k8slab.kubelet.eviction.config import FIELDS, EvictionConfig

    if name is None:
        return {}, []
    documents = [d for d in parse_documents(Path(name).read_bytes()) if isinstance(d, YAMLError) or d.value is not None]
    if len(documents) != 1:
        raise ValueError(f"{name}: {len(documents)} documents, expected one KubeletConfiguration")
    [document] = documents
    if isinstance(document, YAMLError):
        raise ValueError(f"{name}, line {document.line}, column {document.column}: {document.message}")
    raw = document.value
    if not isinstance(raw, Mapping) or raw.get("kind") != "KubeletConfiguration":
        raise ValueError(f"{name}: expected one object of kind KubeletConfiguration")
    config = {field: value for field, value in raw.items() if field in FIELDS}
    try:
        EvictionConfig.from_dict(config)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None
    ignored = [str(field) for field in raw if field not in FIELDS]
    return config, [f"{name}: not looked at: {', '.join(ignored)}"] if ignored else []


def _node(snapshot: ClusterSnapshot, name: str | None, memory: str | None) -> Object:
    nodes = {node["metadata"]["name"]: node for node in snapshot.nodes}
    known = ", ".join(nodes)
    if name is not None and nodes and name not in nodes:
        raise ValueError(f"--node {name!r}: expected one of {known}")
    if len(nodes) > 1 and name is None:
        raise ValueError(f"{len(nodes)} Nodes in there: expected --node with one of {known}")
    if nodes:
        return nodes[name or next(iter(nodes))]
    if memory is None:
        raise ValueError("no Node in there: expected some, or --node-memory")
    return {"metadata": {"name": name or "node"}, "status": {}}


def _pods(snapshot: ClusterSnapshot, node: Object) -> tuple[list[Object], list[str]]:
    """The Pods of the Node; all of them where none has a Node."""
    pods = [snapshot.with_priority(pod) for pod in snapshot.pods]
    placed = [pod for pod in pods if pod["spec"].get("nodeName")]
    name = node["metadata"]["name"]
    mine = [pod for pod in placed if pod["spec"]["nodeName"] == name] if placed else pods
    if not mine:
        where = f"no Pod of {len(pods)} runs on {name}" if pods else "no Pod in there"
        raise ValueError(f"{where}: expected some")
    for pod in mine:
        _check_containers(pod)
    notes = []
    if not placed:
        notes.append(f"no Pod has a Node yet: all {len(pods)} are taken to run on {name}")
    elif waiting := len(pods) - len(placed):
        notes.append(f"{waiting} pending Pods are left out")
    return mine, notes


def _check_containers(pod: Object) -> None:
    """What no API server would have stored."""
    where = f"Pod {pod['metadata'].get('namespace') or 'default'}/{pod['metadata']['name']}: spec.containers"
    containers = pod["spec"].get("containers") or []
    if not containers:
        raise ValueError(f"{where}: none: expected one or more")
    names = [container.get("name") for container in containers]
    for number, name in enumerate(names):
        if not name:
            raise ValueError(f"{where}[{number}].name: {name!r}: expected a name")
        if name in names[:number]:
            raise ValueError(
                f"{where}[{number}].name: {name!r}: expected another name than containers[{names.index(name)}]"
            )


def _check_amounts(manifest: Object) -> None:
    """Of what a Node says of memory and disk."""
    for part in ("capacity", "allocatable"):
        for resource, text in ((manifest.get("status") or {}).get(part) or {}).items():
            if resource in ("memory", "ephemeral-storage"):
                _check_amount(f"Node {manifest['metadata']['name']}: status.{part}.{resource}", str(text))


def _check_amount(where: str, text: str) -> None:
    from k8slab.api.quantity import Quantity

    amount = Quantity.parse(text)
    if amount.sign <= 0 or amount.cmp(Quantity(MOST_BYTES)) > 0:
        raise ValueError(f"{where}: {text!r}: expected more than 0 and less than 8Ei")


def _machine(manifest: Object, args: argparse.Namespace, config: dict[str, Any]) -> tuple[NodeConfig, list[str]]:
    """The node, and what of it is a guess."""
    from k8slab.api.quantity import Quantity, quantity
    from k8slab.kubelet import NodeConfig
    from k8slab.kubelet.node_status import node_resources

    status, notes = manifest.get("status") or {}, []
    _check_amounts(manifest)
    if args.node_memory is not None:
        _check_amount("--node-memory", args.node_memory)
    capacity = {name: str(text) for name, text in (status.get("capacity") or status.get("allocatable") or {}).items()}
    memory = args.node_memory or capacity.get("memory")
    disk = args.node_disk or capacity.get("ephemeral-storage")
    if memory is None:
        raise ValueError(f"Node {manifest['metadata']['name']} tells no memory: expected --node-memory")
    if disk is None:
        disk = "1Pi"
        notes.append("the Node tells no ephemeral-storage: its disk is taken to be endless (see --node-disk)")
    node = NodeConfig(
        manifest["metadata"]["name"], memory=memory, ephemeral_storage=disk, kubelet_config=config, image_size="0"
    )
    allocatable = (status.get("allocatable") or {}).get("memory")
    reserved = Quantity.parse("0")
    if allocatable is not None and args.node_memory is None and status.get("capacity"):
        spare = Quantity.parse(node_resources(node)[1]["memory"]) - quantity(allocatable)
        reserved = spare if spare.sign > 0 else reserved
    system = args.system if args.system is not None else str(reserved)
    if Quantity.parse(system).value() >= Quantity.parse(memory).value():
        raise ValueError(f"--system {system}: expected less than the Node's memory, {memory}")
    if args.system is None:
        notes.append(f"the machine's own programs are taken to use {_short(Quantity.parse(system).value())}")
    return replace(node, reserved_memory=str(reserved), system_memory=system), notes


def _uses(pods: Sequence[Object], args: argparse.Namespace) -> dict[str, list[Use]]:
    from k8slab.kubelet.node_pressure import Use, requested

    measured = _top(args.top) if args.top is not None else {}
    names = {f"{pod['metadata'].get('namespace') or 'default'}/{pod['metadata']['name']}" for pod in pods}
    if args.top is not None and not any(key in names for key, _ in measured):
        first = next((key for key, _ in measured), "no Pod")
        raise ValueError(f"{args.top}: {first}: expected lines of Pods on the Node, such as {min(names)}")
    uses: dict[str, list[Use]] = {}
    hit = dict.fromkeys([given.text for given in [*args.use, *args.disk]], False)
    for pod in pods:
        key = f"{pod['metadata'].get('namespace') or 'default'}/{pod['metadata']['name']}"
        for number, container in enumerate(pod["spec"]["containers"]):
            start = measured.get((key, container["name"]))
            if start is None and (key, "") in measured:
                start = measured[key, ""] if number == 0 else _growth(0)
            memory = start or requested(container)
            disk = _growth(0)
            for given, is_memory in [*((g, True) for g in args.use), *((g, False) for g in args.disk)]:
                if not _is_meant(given, key, container["name"], is_first=number == 0):
                    continue
                hit[given.text] = True
                if is_memory:
                    memory = _applied(given, memory)
                else:
                    disk = _applied(given, disk)
            uses.setdefault(key, []).append(Use(memory, disk, container["name"]))
    if missed := [text for text, found in hit.items() if not found]:
        known = ", ".join(list(uses)[:5]) + (", ..." if len(uses) > 5 else "")
        raise ValueError(f"{missed[0]!r}: no such Pod and container on the Node, expected one of {known}")
    return uses


def _growth(amount: int) -> Growth:
    from k8slab.kubelet import Growth

    return Growth(amount)


def _is_meant(given: GivenUse, key: str, container: str, *, is_first: bool) -> bool:
    name = key.partition("/")[2]
    if not (fnmatchcase(key, given.pattern) or fnmatchcase(name, given.pattern)):
        return False
    return given.container == container or (not given.container and is_first)


def _applied(given: GivenUse, before: Growth) -> Growth:
    return replace(given.growth, start=before.start + given.growth.start) if given.is_more else given.growth


def _top(name: str) -> dict[tuple[str, str], Growth]:
    """What `kubectl top pods` printed, with -A and --containers or without: memory by (Pod, container or "")."""
    lines = [line for line in Path(name).read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    head = lines[0].split() if lines else []
    column = {title.partition("(")[0]: number for number, title in enumerate(head)}
    if "MEMORY" not in column or "NAME" not in column:
        raise ValueError(f"{name}, line 1: expected what kubectl top pods prints, with the line of its titles")
    found: dict[tuple[str, str], Growth] = {}
    for number, (key, memory) in enumerate(_measured(name, lines[1:], column), 2):
        if key in found:
            raise ValueError(f"{name}, line {number}: {' '.join(key).strip()}: expected one line for each")
        found[key] = memory
    return found


def _measured(name: str, lines: Sequence[str], column: Mapping[str, int]) -> Iterator[tuple[tuple[str, str], Growth]]:
    from k8slab.kubelet import parse_growth

    for number, line in enumerate(lines, 2):
        cells = line.split()
        memory = parse_growth(cells[column["MEMORY"]]) if len(cells) == len(column) else None
        if memory is None:
            raise ValueError(f"{name}, line {number}: {line.strip()!r}: expected {len(column)} columns, memory as 20Mi")
        namespace = cells[column["NAMESPACE"]] if "NAMESPACE" in column else "default"
        if "POD" in column:
            yield (f"{namespace}/{cells[column['POD']]}", cells[column["NAME"]]), memory
        else:
            yield (f"{namespace}/{cells[column['NAME']]}", ""), memory


# -- what comes out ------------------------------------------------------------------------------------


def _short(amount: int) -> str:
    return f"{amount / 2**30:.2f}Gi" if amount >= 2**30 else f"{amount / 2**20:.0f}Mi"


def _print(answer: PressureAnswer, node: NodeConfig, args: argparse.Namespace, notes: Sequence[str]) -> None:
    if args.output == "json":
        print(in_json(json.dumps(_report(answer, node, notes), indent=2, ensure_ascii=False)))
        return
    print(on_terminal("\n".join([*(f"note: {note}" for note in notes), *_text(answer, node, args.for_ms)])))


def _report(answer: PressureAnswer, node: NodeConfig, notes: Sequence[str]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "notes": list(notes),
        "node": {
            "name": node.name,
            "memory": node.memory,
            "disk": node.ephemeral_storage,
            "system": node.system_memory,
        },
        "steps": [{"atMs": s.at_ms, "what": s.what, "pod": s.pod, "why": s.why} for s in answer.steps],
        "order": [{"pod": pod, "why": why} for pod, why in answer.order],
        "left": list(answer.left),
        "memoryAvailable": answer.memory_available,
    }


def _text(answer: PressureAnswer, node: NodeConfig, for_ms: int) -> list[str]:
    from k8slab.table import Table

    lost, spell = answer.lost, format_duration_ms(for_ms)
    evicted = len({step.pod for step in lost if step.what == "evicted"})
    killed = sum(step.what == "OOM-killed" for step in lost)
    lines = [f"{node.name} for {spell}: {evicted} evicted, {killed} kills by the kernel, {len(answer.left)} Pods left"]
    if answer.steps:
        rows = [(format_duration_ms(s.at_ms), s.what, s.pod or "-", s.why) for s in answer.steps[:MOST_STEPS]]
        lines += ["", str(Table(rows, ("AT", "WHAT", "POD", "WHY")))]
        if len(answer.steps) > MOST_STEPS:
            lines.append(f"... and {len(answer.steps) - MOST_STEPS} more")
    lines += ["", "if memory were short at the beginning, they would go in this order:"]
    order = answer.order[:MOST_STEPS]
    lines += [f"{number:>4}. {why or pod}" for number, (pod, why) in enumerate(order, 1)]
    if len(answer.order) > MOST_STEPS:
        lines.append(f"      ... and {len(answer.order) - MOST_STEPS} more")
    return [*lines, "", f"memory free in the end: {_short(answer.memory_available)}"]
