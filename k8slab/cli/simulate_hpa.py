"""`k8slab simulate hpa --hpa FILE --load FILE`: what autoscalers would do under a load, side by side.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k8slab.cli.files import cannot_hold_a_file, file_name, in_json, on_terminal, refused
from k8slab.cli.hpa_files import Plan, read_autoscalers, read_load, workload_numbers
from k8slab.cli.run import duration_ms

if TYPE_CHECKING:
    from k8slab.autoscaling import Run

__all__ = ["add_parser", "hpa"]

MOST_ROWS = 40
LONGEST_MS = 60 * 86_400_000


def add_parser(verbs: Any) -> None:
    """Add `simulate hpa` to the verbs."""
    parser = verbs.add_parser(
        "hpa",
        help="what autoscalers would do under a load",
        description="Let HorizontalPodAutoscalers follow a load: replicas, utilisation, and load that no Pod was there "
        "for. Several in the files are shown side by side. Exit code: 0 answered, 1 an input cannot be used, 2 wrong "
        "usage.",
    )
    parser.add_argument("--hpa", action="append", required=True, metavar="FILE", type=file_name,
                        help="manifests with HorizontalPodAutoscalers and their targets (again for more)")  # fmt: skip
    parser.add_argument("--load", required=True, metavar="FILE", type=file_name,
                        help="CSV: time (seconds, or 5m) and load from then on (CPUs, or as the metric)")  # fmt: skip
    parser.add_argument("--startup", type=duration_ms, default=0, metavar="DURATION",
                        help="from a Pod's creation until it is ready (default 0s)")  # fmt: skip
    parser.add_argument(
        "--request", type=_amount, metavar="QUANTITY", help="CPU a Pod requests (default: the target's)"
    )
    parser.add_argument("--capacity", type=_amount, metavar="QUANTITY",
                        help="what a Pod serves (default: its CPU limit, else its request)")  # fmt: skip
    parser.add_argument("--replicas", type=_count, metavar="N", help="Pods at first (default: the target's)")
    parser.add_argument("--for", dest="for_ms", type=duration_ms, metavar="DURATION",
                        help="how long (default: ten minutes past the last row)")  # fmt: skip
    parser.add_argument("-o", "--output", choices=("table", "csv", "json"), default="table",
                        help="a table of changes, or every round (default table)")  # fmt: skip
    parser.add_argument("--chart", type=file_name, metavar="FILE", help="also draw it: .png, .svg or .pdf")
    parser.set_defaults(handler=hpa)


def _amount(text: str) -> int:
    from k8slab.api.quantity import milli_value

    try:
        milli = milli_value(text)
    except ValueError:
        milli = 0
    if not 0 < milli < 10**15:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a quantity above 0, such as 500m or 2")
    return milli


def _count(text: str) -> int:
    if not (text.isdecimal() and text.isascii()) or len(text) > 5:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 0 to 99999")
    return int(text)


def hpa(args: argparse.Namespace) -> int:
    """Carry out `simulate hpa`; returns the exit code."""
    if problem := _misuse(args):
        print(f"k8slab simulate hpa: {problem}", file=sys.stderr)
        return 2
    try:
        runs, notes = _runs(args)
        if args.chart is not None:
            draw(runs, Path(args.chart))
    except (OSError, ValueError) as error:
        return refused(error)
    if args.output == "csv":
        print(on_terminal(as_csv(runs)), end="")
    elif args.output == "json":
        print(in_json(json.dumps(report(runs, notes), indent=2, ensure_ascii=False)))
    else:
        print(on_terminal("\n".join([*(f"note: {note}" for note in notes), *_text(runs)])))
    return 0


def _misuse(args: argparse.Namespace) -> str:
    if args.for_ms is not None and not 0 < args.for_ms <= LONGEST_MS:
        return "--for: expected more than 0s, and 60 days at the most"
    if args.chart is not None:
        if Path(args.chart).suffix not in (".png", ".svg", ".pdf"):
            return on_terminal(f"--chart {args.chart}: expected a name that ends in .png, .svg or .pdf")
        if why := cannot_hold_a_file(args.chart):
            return f"--chart {why}"
    return ""


def _runs(args: argparse.Namespace) -> tuple[list[Run], list[str]]:
    """Each autoscaler's run, and what to know before trusting them."""
    from k8slab.autoscaling import Workload, simulate

    found, load = read_autoscalers(args.hpa), read_load(args.load)
    for_ms = load[-1].at_ms + 600_000 if args.for_ms is None else args.for_ms
    runs, notes = [], []
    for one in found:
        plan: Plan = workload_numbers(one, args.request, args.capacity, args.replicas)
        notes += plan.notes
        workload = Workload(plan.request_milli, plan.capacity_milli, args.startup, replicas=plan.replicas)
        run = simulate(one.hpa, load, workload, for_ms=for_ms)
        run.name = one.name
        runs.append(run)
        failed = [sample.reason for sample in run.samples if sample.reason.startswith("invalid metrics")]
        if failed:
            notes.append(f"{one.name}: in {len(failed)} of {len(run.samples)} rounds: {failed[0]}")
    return runs, notes


# -- what comes out ------------------------------------------------------------------------------------


def _text(runs: Sequence[Run]) -> list[str]:
    from k8slab.table import Table

    heads = ("AUTOSCALER", "REPLICAS", "POD HOURS", "UP", "DOWN", "UTILISATION", "MISSED", "WORST MISS")
    rows = []
    for run in runs:
        s = run.summary
        span = f"{s.least_replicas} to {s.most_replicas}"
        missed, worst = f"{100 * s.missed_share:.2f} %", f"{s.worst_missed_milli / 1000:g}"
        hours, used = f"{s.pod_seconds / 3600:.1f}", f"{s.mean_utilization:.0f} %"
        rows.append((run.name, span, hours, s.scale_ups, s.scale_downs, used, missed, worst))
    lines = [str(Table(rows, heads))]
    changes = _changes(runs)
    if changes:
        lines += ["", str(Table(changes[:MOST_ROWS], ("TIME", "LOAD", *(run.name for run in runs))))]
    if len(changes) > MOST_ROWS:
        lines.append(f"and {len(changes) - MOST_ROWS} more rounds with changes (-o csv has every round)")
    return lines


def _changes(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """A row for each round in which a count changed."""
    rows = []
    for samples in zip(*(run.samples for run in runs), strict=True):
        if any(sample.replicas != sample.before for sample in samples):
            cells = [
                f"{sample.before} -> {sample.replicas}" if sample.replicas != sample.before else f"{sample.replicas}"
                for sample in samples
            ]
            rows.append((_clock(samples[0].at_ms), f"{samples[0].load_milli / 1000:g}", *cells))
    return rows


def _clock(ms: int) -> str:
    """`1:02:15`, hours, minutes, seconds."""
    minutes, seconds = divmod(ms // 1000, 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"


COLUMNS = ("replicas", "ready", "recommended", "stabilized", "utilization", "missed")


def _round(sample: Any) -> tuple[Any, ...]:
    """The cells of one round and one autoscaler, in the order of COLUMNS."""
    asked = ["" if one is None else one for one in (sample.recommended, sample.stabilized)]
    return sample.replicas, sample.ready, *asked, sample.utilization, f"{sample.missed_milli / 1000:g}"


def as_csv(runs: Sequence[Run]) -> str:
    """Every round: seconds, load, and for each autoscaler the columns of COLUMNS."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    many = len(runs) > 1
    writer.writerow(
        ["seconds", "load", *(f"{run.name}.{column}" if many else column for run in runs for column in COLUMNS)]
    )
    for samples in zip(*(run.samples for run in runs), strict=True):
        first = samples[0]
        cells = [cell for sample in samples for cell in _round(sample)]
        writer.writerow([f"{first.at_ms / 1000:g}", f"{first.load_milli / 1000:g}", *cells])
    return out.getvalue()


def report(runs: Sequence[Run], notes: Sequence[str]) -> dict[str, Any]:
    """The answer as plain data; docs/simulate.md says what each key means."""
    return {
        "schema": "k8slab/simulate-hpa/1",
        "notes": list(notes),
        "autoscalers": [
            {
                "name": run.name,
                "summary": run.summary._asdict(),
                "rounds": [sample._asdict() for sample in run.samples],
            }
            for run in runs
        ],
    }


def draw(runs: Sequence[Run], path: Path) -> None:
    """The load above, the replicas of each autoscaler below. ValueError when there is nothing to draw with."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise ValueError("--chart: matplotlib is not installed, expected it (pip install matplotlib)") from None
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    minutes = [sample.at_ms / 60_000 for sample in runs[0].samples]
    above.step(minutes, [sample.load_milli / 1000 for sample in runs[0].samples], where="post", color="black")
    for number, run in enumerate(runs):
        style = ("-", "--", ":", "-.")[number % 4]
        missed = [sample.missed_milli / 1000 for sample in run.samples]
        above.step(minutes, missed, where="post", linestyle=style, color="#D55E00", label=f"missed by {run.name}")
        counts = [sample.replicas for sample in run.samples]
        below.step(minutes, counts, where="post", linestyle=style, label=run.name)
    above.set_ylabel("load")
    below.set_ylabel("replicas")
    below.set_xlabel("minutes")
    below.yaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in (above, below):
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper right")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
