"""`k8slab simulate schedule SNAPSHOT...`: what if there were more Pods, more Nodes, other verdicts.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k8slab.api.tolerations import is_scheduling_taint
from k8slab.cli import simulate_autoscaler, simulate_eviction, simulate_hpa
from k8slab.cli.files import cannot_hold_a_file, file_name, in_json, on_terminal, refused, write_whole
from k8slab.cli.pending_words import some_of
from k8slab.cli.scheduler_file import about_extenders, scheduler_config
from k8slab.cli.seeds import seed_text

if TYPE_CHECKING:
    from k8slab.api.objects import Object
    from k8slab.cluster.snapshots import ClusterSnapshot, WhatIfAnswer, WhatIfRecording

__all__ = ["add_parsers", "replay", "schedule"]

MOST_ROWS = 40
MOST_DIGITS = 18
"""A longer seed is taken as a text."""


def add_parsers(commands: Any) -> None:
    """Add `simulate` with its verbs to the subcommands."""
    parser = commands.add_parser("simulate", help="what-ifs on the dump of a real cluster")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    what = verbs.add_parser(
        "schedule",
        help="where more Pods would go, and how many fit",
        description="Place the pending Pods of a dump and those of --add on its Nodes and more of them. Exit code: 0 "
        "all were placed, 1 some stay pending, or an input cannot be used, 2 wrong usage.",
    )
    what.add_argument("snapshot", nargs="+", metavar="SNAPSHOT", type=file_name,
                      help="dumps in JSON or YAML: files, folders, or - for standard input")  # fmt: skip
    what.add_argument("--add", action="append", default=[], metavar="FILE", type=file_name,
                      help="manifests of Pods or workloads to place, too (again for more files)")  # fmt: skip
    what.add_argument("--nodes", type=_count, default=0, metavar="N", help="more Nodes like the template")
    what.add_argument("--node-template", metavar="NAME|FILE",
                      help="a Node of the dump, or a manifest (default: the first worker in service)")  # fmt: skip
    what.add_argument("--config", type=file_name, metavar="FILE", help="the scheduler's KubeSchedulerConfiguration")
    what.add_argument("--mock", type=file_name, metavar="FILE", help="results to put in the place of plugins' own")
    what.add_argument("--fill", action="store_true", help="also count how many copies more would fit")
    what.add_argument("--seed", type=seed_text, default="7", help="seed for ties between Nodes (default 7)")
    what.add_argument("--record", type=file_name, metavar="FILE", help="write a recording for `simulate replay`")
    what.add_argument("-o", "--output", choices=("table", "json"), default="table", help="format (default table)")
    what.set_defaults(handler=schedule)
    again = verbs.add_parser("replay", help="run a recording again; exit code 1 if its answer is another one now")
    again.add_argument("recording", metavar="FILE", type=file_name, help="what `simulate schedule --record` wrote")
    again.add_argument("-o", "--output", choices=("table", "json"), default="table", help="format (default table)")
    again.set_defaults(handler=replay)
    simulate_eviction.add_parser(verbs)
    simulate_hpa.add_parser(verbs)
    simulate_autoscaler.add_parser(verbs)


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or int(text) > 10_000:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number up to 10000")
    return int(text)


def schedule(args: argparse.Namespace) -> int:
    """Carry out `simulate schedule`; returns the exit code."""
    if problem := _misuse(args):
        print(f"k8slab simulate schedule: {problem}", file=sys.stderr)
        return 2
    try:
        recording, notes = _recording(args)
        answer = recording.run()
        if args.record is not None:
            write_whole(Path(args.record), recording.dump(answer))
    except (OSError, ValueError) as error:
        return refused(error)
    _print(answer, notes, args.output)
    return 1 if answer.pending else 0


def _misuse(args: argparse.Namespace) -> str:
    if args.node_template is not None and not args.nodes:
        return on_terminal(f"--node-template {args.node_template}: expected --nodes N with it")
    if args.record is not None and (why := cannot_hold_a_file(args.record)):
        return f"--record {why}"
    return ""


def replay(args: argparse.Namespace) -> int:
    """Carry out `simulate replay`; returns the exit code."""
    from k8slab.cluster.snapshots import WhatIfRecording, answer_hash

    try:
        text = _utf8(Path(args.recording))
        recording, expected = WhatIfRecording.load(text, args.recording)
        answer = recording.run()
    except (OSError, ValueError) as error:
        return refused(error)
    _print(answer, [], args.output)
    same = answer_hash(answer) == expected
    if not same:
        print(on_terminal(f"error: {args.recording}: the answer is not the recorded one"), file=sys.stderr)
    return 0 if same else 1


def _utf8(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None


# -- what goes in --------------------------------------------------------------------------------------


def _recording(args: argparse.Namespace) -> tuple[WhatIfRecording, list[str]]:
    from k8slab.cluster.snapshots import ClusterSnapshot, WhatIfRecording, more_nodes

    snapshot = ClusterSnapshot.read(args.snapshot, sys.stdin.buffer)
    added, beside = _added(args.add)
    whole = snapshot.beside(beside, "--add")
    new_nodes = more_nodes(whole, _template(whole, args.node_template), args.nodes) if args.nodes else []
    if not whole.nodes and not new_nodes:
        raise ValueError(
            f"{', '.join(args.snapshot)}: no Node in there, expected some (or --nodes and --node-template)"
        )
    config, about = _config(args.config)
    recording = WhatIfRecording(
        whole,
        added,
        new_nodes,
        config,
        [] if args.mock is None else _mocks(Path(args.mock)),
        int(args.seed) if args.seed.isdecimal() and len(args.seed) <= MOST_DIGITS else args.seed,
        args.fill,
    )
    return recording, [*snapshot.notes(), *about]


def _config(name: str | None) -> tuple[str, list[str]]:
    """The text of a configuration that can be used, without its secrets, and notes."""
    if name is None:
        return "", []
    from k8slab.cluster.snapshots.secrets import without_secrets

    config = scheduler_config(Path(name))
    return without_secrets(Path(name).read_bytes()), about_extenders(config)


def _added(files: Sequence[str]) -> tuple[list[Object], list[Object]]:
    """(Pods to place, objects that belong into the snapshot: what selects those Pods, priority classes, ...)."""
    from k8slab.api.manifests import load_manifests
    from k8slab.cluster import manifest_files
    from k8slab.cluster.snapshots import ELSEWHERE, WORKLOADS, owner_of, pods_of

    pods: list[Object] = []
    beside: list[Object] = []
    for name in files:
        for path in manifest_files(Path(name)):
            for manifest in load_manifests(path.read_bytes(), source=str(path)):
                kind = manifest.object["kind"]
                if kind in (*WORKLOADS, *ELSEWHERE, "Pod"):
                    pods += pods_of(manifest)
                beside += [owner_of(manifest.object)] if kind in WORKLOADS else []
                beside += [manifest.object] if kind not in (*WORKLOADS, "Pod") else []
    return pods, beside


def _template(snapshot: ClusterSnapshot, name: str | None) -> Object:
    """The Node that new ones are like: of the snapshot, or of a file."""
    from k8slab.api.manifests import load_manifests

    nodes = {node["metadata"]["name"]: node for node in snapshot.nodes}
    if name is None:
        in_service = [node for node in nodes.values() if not (node.get("spec") or {}).get("unschedulable")]
        if not in_service:
            raise ValueError("--nodes: no Node of the snapshot is in service, expected --node-template")
        return min(in_service, key=_reserved)
    if name in nodes:
        return nodes[name]
    path = Path(name)
    if not path.is_file():
        raise ValueError(f"--node-template {name!r}: expected a Node of the snapshot or a file with one")
    from k8slab.cluster.snapshots import ClusterSnapshot as Read

    found = Read.of([m.object for m in load_manifests(path.read_bytes(), source=name)], name).nodes
    if len(found) != 1:
        raise ValueError(f"--node-template {name}: {len(found)} Nodes, expected one")
    return found[0]


def _reserved(node: Object) -> tuple[int, int]:
    """How many taints keep Pods off the Node for good, and how many for now: the control plane comes after workers."""
    keys = [str(t.get("key")) for t in (node.get("spec") or {}).get("taints") or () if is_scheduling_taint(t)]
    for_now = sum(key.startswith("node.kubernetes.io/") for key in keys)
    return len(keys) - for_now, for_now


def _mocks(path: Path) -> list[Any]:
    from k8slab.api.yaml_json import YAMLError, parse_documents
    from k8slab.cluster.snapshots import mocked_results

    found: list[Any] = []
    for document in parse_documents(path.read_bytes()):
        if isinstance(document, YAMLError):
            raise ValueError(f"{path}, line {document.line}, column {document.column}: {document.message}")
        mocked_results(document.value, str(path))
        found += document.value
    return found


# -- what comes out ------------------------------------------------------------------------------------


def _print(answer: WhatIfAnswer, notes: Sequence[str], output: str) -> None:
    from k8slab.cluster.snapshots import what_if_report

    if output == "json":
        report = {"schema": "k8slab/simulate-schedule/1", "notes": list(notes), **what_if_report(answer)}
        print(in_json(json.dumps(report, indent=2, ensure_ascii=False)))
        return
    print(on_terminal("\n".join([*(f"note: {note}" for note in notes), *_text(answer)])))


def _text(answer: WhatIfAnswer) -> list[str]:
    from k8slab.table import Table

    placed = [p for p in answer.placements if p.node]
    lines = [f"{len(placed)} of {len(answer.placements)} Pods placed"]
    if answer.new_nodes:
        like = answer.new_nodes[0].rpartition("-copy")[0]
        nodes = "node" if len(answer.new_nodes) == 1 else "nodes"
        lines.append(f"{len(answer.new_nodes)} more {nodes} like {like}: {some_of(answer.new_nodes, 3)}")
    if len(placed) <= MOST_ROWS:
        rows = [(p.pod, p.node, ", ".join(p.evicted)) for p in placed]
        lines += ["", str(Table(rows, ("POD", "NODE", "EVICTED")))] if rows else []
    else:
        by_node: dict[str, list[str]] = {}
        for p in placed:
            by_node.setdefault(p.node, []).append(p.pod)
        counted = [(node, len(pods), some_of(pods, 2)) for node, pods in by_node.items()]
        lines += ["", str(Table(counted, ("NODE", "PODS", "WHICH")))]
        lines += [f"evicted for {p.pod}: {', '.join(p.evicted)}" for p in placed if p.evicted]
    for message, pods in _by_message(answer).items():
        lines += ["", f"pending: {some_of(pods, 3)}", f"  {message}"]
    lines += [""] + [f"room for {number} more like {pod}" for pod, number in answer.room.items()]
    usage = [(u.resource, *(_amount(u.resource, n) for n in u[1:]), _percent(u)) for u in answer.usage]
    return [*lines, str(Table(usage, ("REQUESTED", "ALLOCATABLE", "BEFORE", "AFTER", "OF IT")))]


def _by_message(answer: WhatIfAnswer) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for placement in answer.pending:
        found.setdefault(placement.message, []).append(placement.pod)
    return found


def _amount(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount / 1000:g}"
    return f"{amount / 2**30:.1f}Gi" if resource == "memory" else str(amount)


def _percent(usage: Any) -> str:
    def of(part: int) -> str:
        return f"{100 * part / usage.allocatable:.0f} %" if usage.allocatable else "-"

    return f"{of(usage.before)} -> {of(usage.after)}"
