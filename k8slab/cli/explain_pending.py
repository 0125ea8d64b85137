"""`k8slab explain-pending SNAPSHOT...`: why Pods of a real cluster are pending, and what would change it.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k8slab.cli.files import cannot_hold_a_file, file_name, in_json, on_terminal, refused, write_whole
from k8slab.cli.pending_words import MOST_ROWS, no_remedy, said_of, some_of
from k8slab.cli.scheduler_file import about_extenders, scheduler_config

if TYPE_CHECKING:
    from k8slab.cluster.snapshots import ClusterSnapshot, Finding, Remedy

__all__ = ["add_parser", "report", "run"]

SCHEMA = "k8slab/explain-pending/1"


def add_parser(commands: Any) -> None:
    """Add `explain-pending` to the subcommands."""
    parser = commands.add_parser(
        "explain-pending",
        help="why Pods of a real cluster are pending, and the smallest change that helps",
        description="Ask a scheduler like kube-scheduler about the pending Pods of a dump: the output of `kubectl get "
        "nodes,pods,namespaces,services,rs,sts,rc,priorityclasses,pdb,pv,pvc,storageclasses -A -o json`. Only what "
        "scheduling reads is kept; nothing leaves this machine. Exit code: 0 answered, 1 the dump cannot be used, 2 "
        "wrong usage.",
    )
    parser.add_argument("snapshot", nargs="*", metavar="SNAPSHOT", type=file_name,
                        help="dumps in JSON or YAML: files, folders, or - for standard input")  # fmt: skip
    parser.add_argument("--kubeconfig", type=file_name, metavar="FILE", help="ask this cluster instead (reads only)")
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig (default: its current one)")
    parser.add_argument("--pod", metavar="NS/NAME", help="this Pod only (default: all that are pending)")
    parser.add_argument("--config", type=file_name, metavar="FILE", help="the scheduler's KubeSchedulerConfiguration")
    parser.add_argument("--changes", type=_count, default=5, metavar="N", help="changes to look for (default 5)")
    parser.add_argument("--all-nodes", action="store_true", help="a row for every Node, however many")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="format (default table)")
    parser.add_argument("--html", type=file_name, metavar="FILE", help="also write the answer as one page")
    parser.set_defaults(handler=run)


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 3 or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 1 to 100")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from k8slab.cli.live_cluster import read_cluster
    from k8slab.cluster.snapshots import ClusterSnapshot, Pending, SnapshotError

    if problem := _misuse(args):
        print(f"k8slab explain-pending: {problem}", file=sys.stderr)
        return 2
    try:
        config = None if args.config is None else scheduler_config(Path(args.config))
        if args.kubeconfig is not None:
            snapshot, missing = read_cluster(Path(args.kubeconfig), args.context)
        else:
            snapshot, missing = ClusterSnapshot.read(args.snapshot, sys.stdin.buffer), []
        if not snapshot.counts.get("Pod") and not snapshot.counts.get("Node"):
            where = ", ".join(args.snapshot) or f"--kubeconfig {args.kubeconfig}"
            raise SnapshotError(f"{where}: no {'Pod and no Node' if snapshot.counts else 'objects'} in there")
        pending = Pending(snapshot, config, most=args.changes)
        findings = [pending.explain(args.pod)] if args.pod else pending.all()
        notes = [*missing, *snapshot.notes(), *about_extenders(config)]
        if args.html is not None:
            from k8slab.cli.pending_page import page

            write_whole(Path(args.html), page(snapshot, findings, notes))
    except (OSError, ValueError) as error:
        return refused(error)
    if args.output == "json":
        print(in_json(json.dumps(report(snapshot, findings, notes), indent=2, ensure_ascii=False)))
    else:
        print(on_terminal("\n".join(_text(snapshot, findings, notes, all_nodes=args.all_nodes))))
    return 0


def _misuse(args: argparse.Namespace) -> str:
    if bool(args.snapshot) == (args.kubeconfig is not None):
        return "expected a SNAPSHOT or --kubeconfig FILE, one of them"
    if args.context is not None and args.kubeconfig is None:
        return f"--context {args.context}: expected --kubeconfig FILE with it"
    if args.html is not None and (why := cannot_hold_a_file(args.html)):
        return f"--html {why}"
    return ""


# -- for programs --------------------------------------------------------------------------------------


def report(snapshot: ClusterSnapshot, findings: Sequence[Finding], notes: Sequence[str]) -> dict[str, Any]:
    """The answer as plain data; docs/explain-pending.md says what each key means."""
    return {
        "schema": SCHEMA,
        "serverVersion": snapshot.server_version,
        "nodes": len(snapshot.nodes),
        "notes": list(notes),
        "pods": [_finding(finding) for finding in findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    view = finding.explanation.view() if finding.explanation is not None else {"nodes": {}, "weights": {}}
    eviction = finding.eviction
    return {
        "pod": finding.pod,
        "owner": finding.owner,
        "sameAs": finding.same_as,
        "state": str(finding.state),
        "reason": finding.reason,
        "message": finding.message,
        "recorded": finding.recorded,
        "node": finding.node,
        "counts": finding.counts(),
        "weights": view["weights"],
        "verdicts": view["nodes"],
        "changes": [_remedy(remedy) for remedy in finding.remedies],
        "changesComplete": finding.searched_all,
        "unanswered": list(finding.silent),
        "preemption": None
        if eviction is None
        else {"node": eviction.node, "victims": list(eviction.victims), "pdbViolations": eviction.pdb_violations},
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    names = ("kind", "text", "object", "field", "before", "after")
    steps = [{name: getattr(change, name) for name in names} for change in remedy.changes]
    return {"text": remedy.text, "nodes": list(remedy.nodes), "steps": steps}


# -- for people ----------------------------------------------------------------------------------------


def _text(
    snapshot: ClusterSnapshot, findings: Sequence[Finding], notes: Sequence[str], *, all_nodes: bool
) -> list[str]:
    lines = [f"note: {note}" for note in notes]
    if not findings:
        return [*lines, f"no Pod is pending ({len(snapshot.pods)} Pods on {len(snapshot.nodes)} nodes)"]
    for finding in findings:
        lines += ["", *_about(finding), *_verdicts(finding, all_nodes=all_nodes), *_scores(finding), *_help(finding)]
    return lines if notes else lines[1:]


def _about(finding: Finding) -> list[str]:
    owner = f" of {finding.owner}" if finding.owner else ""
    lines = [f"{finding.pod}{owner}: {finding.state}"]
    if finding.same_as:
        lines.append(f"  the same goes for {len(finding.same_as)} more: {some_of(finding.same_as, 3)}")
    if finding.reason:
        lines.append(f"  {finding.reason}")
    if finding.message:
        lines.append(f"  {finding.message}")
    if finding.recorded:
        same = finding.recorded == finding.message
        lines.append("  (its last condition says the same)" if same else f"  its last condition: {finding.recorded}")
    return lines


def _verdicts(finding: Finding, *, all_nodes: bool) -> list[str]:
    from k8slab.table import Table

    if finding.explanation is None:
        return []
    rows = finding.explanation.nodes
    if all_nodes or len(rows) <= MOST_ROWS:
        table = Table([(row.node, said_of(row)) for row in rows], ("NODE", "VERDICT"))
    else:
        groups: dict[str, list[str]] = {}
        for row in rows:
            groups.setdefault(said_of(row), []).append(row.node)
        table = Table([(len(names), said, some_of(names, 3)) for said, names in groups.items()],
                      ("NODES", "VERDICT", "WHICH"))  # fmt: skip
    skipped = finding.explanation.skipped_filters
    silent = [f"  nothing to say about this Pod: {', '.join(skipped)}"] if skipped else []
    return ["", *(f"  {line}" for line in str(table).split("\n")), *silent]


def _scores(finding: Finding) -> list[str]:
    from k8slab.table import Table

    rows = [row for row in finding.explanation.nodes if row.weighted] if finding.explanation is not None else []
    if not rows:
        return []
    rows = sorted(rows, key=lambda row: -row.total)[:MOST_ROWS]
    plugins = list(rows[0].weighted)
    cells = [(row.node, *(row.weighted[name] for name in plugins), row.total) for row in rows]
    return ["", *(f"  {line}" for line in str(Table(cells, ("NODE", *plugins, "TOTAL"))).split("\n"))]


def _help(finding: Finding) -> list[str]:
    if finding.message == "":
        return []
    lines = [""]
    for number, remedy in enumerate(finding.remedies, 1):
        head = "  it would fit, if you " if number == 1 else "                    or "
        lines.append(f"{head}{remedy.text} (then: {some_of(remedy.nodes, 3)})")
    if not finding.remedies:
        lines.append(f"  {no_remedy(finding)}")
    if any(change.object == f"pod/{finding.pod}" for remedy in finding.remedies for change in remedy.changes):
        what = finding.owner or "its manifest"
        lines.append(f"  a Pod's spec cannot be changed in place: change {what}, and the Pod is made anew")
    return [*lines, *_preemption(finding)]


def _preemption(finding: Finding) -> list[str]:
    found = finding.eviction
    if found is None:
        return ["  preemption: would not help"]
    broken = f", breaking {found.pdb_violations} disruption budgets" if found.pdb_violations else ""
    return [f"  preemption: would evict {', '.join(found.victims)} from {found.node}{broken}"]
