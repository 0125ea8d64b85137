"""`k8slab run FILE...`: apply manifests to a simulated cluster, print what happens, exit by readiness.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from k8slab.cli.files import cannot_hold_a_file, file_name, on_terminal, trouble
from k8slab.cli.seeds import seed_text

if TYPE_CHECKING:
    from k8slab.api.manifests import Manifest
    from k8slab.cluster import Applied, ApplyResult, Cluster

__all__ = ["add_parser", "run"]

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_LONGEST_MS = 8_760 * 3_600_000


def duration_ms(text: str) -> int:
    """`90s`, `5m`, `250ms`, `1h30m` in milliseconds; a bare number is seconds."""
    parts = re.fullmatch(r"([0-9]{1,12})|((?:[0-9]{1,12}(?:ms|s|m|h))+)", text)
    if parts is None:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a duration such as 300s, 5m or 1h30m")
    if parts[1]:
        total = int(text) * 1_000
    else:
        total = sum(int(n) * _UNITS_MS[u] for n, u in re.findall(r"(\d+)(ms|s|m|h)", text))
    if total > _LONGEST_MS:
        raise argparse.ArgumentTypeError(f"{text!r}: expected 8760h (a year) at the most")
    return total


def node_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 5_000:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 1 to 5000")
    return int(text)


def add_parser(commands: Any) -> None:
    """Add `run` to the subcommands."""
    parser = commands.add_parser(
        "run",
        help="simulate manifests, print the timeline, exit by readiness",
        description="Apply manifests to a simulated cluster and let time pass until everything that the simulation "
        "acts on is ready. Exit code: 0 ready, 1 not ready or a manifest is wrong, 2 wrong usage.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="manifests: files, folders, or - for standard input")
    parser.add_argument("--nodes", type=node_count, default=3, metavar="N", help="how many nodes (default 3)")
    parser.add_argument("--seed", type=seed_text, default="7", help="seed of everything random (default 7)")
    parser.add_argument("--for", dest="for_ms", type=duration_ms, default=300_000, metavar="DURATION",
                        help="longest virtual time to wait (default 300s)")  # fmt: skip
    parser.add_argument("--latency", choices=("lan", "none", "slow-watch"), default="lan", help="network (default lan)")
    parser.add_argument("--release", default="1.36", help="release for feature gates, 1.32 to 1.36 (default 1.36)")
    parser.add_argument("--validate", choices=("strict", "warn"), default="strict",
                        help="refuse fields that no kind has, or only warn (default strict, as kubectl)")  # fmt: skip
    parser.add_argument("-n", "--namespace", default="default", help="namespace of objects that name none")
    parser.add_argument("--keep-going", action="store_true", help="apply what is right although something is wrong")
    parser.add_argument("--all-steps", action="store_true", help="print every step, not only the main story")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="format (default text)")
    parser.add_argument("--trace", type=file_name, metavar="FILE", help="also write the whole trace as JSON lines")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from k8slab.cluster import ApplyError, Cluster

    trace = None if args.trace is None else Path(args.trace)
    if trace is not None and (why := cannot_hold_a_file(args.trace)):
        print(f"k8slab run: --trace {why}", file=sys.stderr)
        return 2
    manifests, problems = _read(args.files)
    if args.validate == "strict":
        problems += [text for manifest in manifests for text in _unknown_fields(manifest)]
        manifests = [manifest for manifest in manifests if not manifest.warnings]
    if problems and not args.keep_going:
        return _refuse(problems, args.output)
    if not manifests:
        return _refuse([*problems, f"{', '.join(args.files)}: no objects in there"], args.output)
    try:
        cluster = Cluster(args.nodes, _seed(args.seed), latency=args.latency, release=args.release)
    except ValueError as error:
        print(f"k8slab run: {error}", file=sys.stderr)
        return 2
    started_ms = cluster.now_ms
    try:
        result = cluster.apply_loaded(manifests, namespace=args.namespace, keep_going=args.keep_going)
        ready = cluster.run(until=cluster.all_ready, for_ms=args.for_ms)
        problems += result.errors
        ignored = _ignored(manifests, args.namespace)
        _print(Outcome(cluster, result, problems, cluster.not_ready(), ready, started_ms, ignored), args)
        if trace is not None:
            trace.write_text(cluster.trace.to_jsonl(), encoding="utf-8")
    except ApplyError as error:
        return _refuse([*problems, *error.problems], args.output, [one.reference for one in error.applied])
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        print(f"k8slab run: {trouble(error)}", file=sys.stderr)
        return 1
    finally:
        cluster.close()
    return 0 if ready and not problems else 1


class Outcome(NamedTuple):
    """How a run ended. `reasons`: what is not ready, and why; `started_ms`: when the manifests were applied;
    `ignored`: fields that were stored and not simulated, by kind, namespace and name."""

    cluster: Cluster
    result: ApplyResult
    problems: list[str]
    reasons: dict[str, str]
    ready: bool
    started_ms: int
    ignored: dict[tuple[str, str, str], list[str]]

    def ignored_of(self, one: Applied) -> list[str]:
        return self.ignored.get((one.info.gvk.kind, one.namespace, one.name), [])


def _seed(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _read(files: Sequence[str]) -> tuple[list[Manifest], list[str]]:
    """The objects of all files, and one text for each document or file that cannot be used."""
    from k8slab.api.manifests import load_manifests
    from k8slab.cluster import manifest_files

    manifests: list[Manifest] = []
    problems: list[str] = []
    for name in files:
        try:
            paths = [] if name == "-" else manifest_files(Path(name))
        except OSError as error:
            problems.append(f"{name}: {error.strerror}")
            continue
        sources = [("standard input", None)] if name == "-" else [(str(path), path) for path in paths]
        for source, path in sources:
            try:
                text = sys.stdin.buffer.read() if path is None else path.read_bytes()
            except OSError as error:
                problems.append(f"{source}: {error.strerror}")
                continue
            manifests += load_manifests(text, source=source, on_error=lambda error: problems.append(str(error)))
    return manifests, problems


def _unknown_fields(manifest: Manifest) -> list[str]:
    metadata = manifest.object.get("metadata") or {}
    what = f"{manifest.object.get('kind')} {metadata.get('name')}"
    return [f"{manifest.source}, document {manifest.document}: {what}: {text}" for text in manifest.warnings]


def _ignored(manifests: Sequence[Manifest], namespace: str) -> dict[tuple[str, str, str], list[str]]:
    from k8slab.cluster import not_simulated

    found = {}
    for manifest in manifests:
        metadata = manifest.object.get("metadata") or {}
        key = (manifest.object["kind"], metadata.get("namespace") or namespace, metadata.get("name", ""))
        found[key] = not_simulated(manifest.object)
    return found


def _refuse(problems: Sequence[str], output: str, applied: Sequence[str] = ()) -> int:
    if output == "json":
        answer = {"ready": False, "errors": list(problems), "applied": list(applied)}
        print(json.dumps(answer, indent=2, ensure_ascii=False))
    for problem in problems:
        print(on_terminal(f"error: {problem}"), file=sys.stderr)
    if any('namespaces "' in problem and "not found" in problem for problem in problems):
        print("hint: a Namespace manifest among the files would be applied first", file=sys.stderr)
    if output == "text":
        done = f"applied before that: {', '.join(applied)}" if applied else "nothing was applied"
        print(done, file=sys.stderr)
    return 1


def _print(outcome: Outcome, args: argparse.Namespace) -> None:
    if args.output == "json":
        print(json.dumps(_report(outcome, args), indent=2, ensure_ascii=False))
        return
    for line in _timeline(outcome, all_steps=args.all_steps):
        print(line)
    print()
    for one in outcome.result.applied:
        reason = outcome.reasons.get(one.key)
        state = one.note or (f"not ready: {reason}" if reason else "ready")
        print(f"{one.reference}: {one.what}; {state}")
        ignored = outcome.ignored_of(one)
        if ignored and not one.note:
            print(f"    not simulated: {', '.join(ignored)}")
    for warning in outcome.result.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for problem in outcome.problems:
        print(f"error: {problem}", file=sys.stderr)
    print(f"\n{_verdict(outcome)} (seed {args.seed}, {args.nodes} {'node' if args.nodes == 1 else 'nodes'})")


def _verdict(outcome: Outcome) -> str:
    span = f"{outcome.cluster.now_ms - outcome.started_ms} ms of virtual time"
    if outcome.ready:
        acted_on = [one for one in outcome.result.applied if not one.note]
        stored = len(outcome.result) - len(acted_on)
        if not acted_on:
            return f"nothing to wait for: {stored} stored, none of them acted on"
        ready = f"{len(acted_on)} ready, {stored} only stored," if stored else "everything is ready"
        return f"{ready} after {span}{'; see the errors above' if outcome.problems else ''}"
    return f"{len(outcome.reasons)} of {len(outcome.result)} not ready after {span}"


def _timeline(outcome: Outcome, *, all_steps: bool) -> list[str]:
    from k8slab.sim import main_story

    cluster = outcome.cluster
    events = cluster.trace.since(cluster.started_seq)
    main = main_story(events)
    events = [e for e in events if all_steps or e.seq in main]
    lanes = max((len(event.actor) for event in events), default=0)
    return [f"{e.now_ms - outcome.started_ms:>7} ms  {e.actor:<{lanes}}  {e.message}" for e in events]


def _report(outcome: Outcome, args: argparse.Namespace) -> dict[str, Any]:
    return {
        "ready": outcome.ready and not outcome.problems,
        "now_ms": outcome.cluster.now_ms - outcome.started_ms,
        "seed": args.seed,
        "objects": [
            {
                "reference": one.reference,
                "namespace": one.namespace,
                "what": one.what,
                "note": one.note,
                "not_ready": outcome.reasons.get(one.key, ""),
                "not_simulated": outcome.ignored_of(one),
            }
            for one in outcome.result.applied
        ],
        "errors": outcome.problems,
        "warnings": list(outcome.result.warnings),
        "timeline": _timeline(outcome, all_steps=args.all_steps),
    }
