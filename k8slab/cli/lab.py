"""`k8slab lab ...` and `k8slab grade FOLDER`.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k8slab.cli.seeds import seed_text

if TYPE_CHECKING:
    from k8slab.lab import Lab, Report

__all__ = ["add_parsers"]

NOTEBOOK, WORK = "notebook or folder", "notebook, Python file or folder"


class _VerbParser(argparse.ArgumentParser):
    """Options may stand anywhere, between LAB and PATH too."""

    _is_within = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Everything has to be known: so the usage that is shown with an error is the verb's."""
        if self._is_within:  # Python's intermixed parsing calls this method
            return super().parse_known_args(args, namespace)
        self._is_within = True
        try:
            found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_within = False
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def add_parsers(commands: Any) -> None:
    """Add `lab` and `grade` to the subcommands."""
    parser = commands.add_parser("lab", help="graded labs: list, start, verify, watch, hint, solution, reset, submit")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_VerbParser)
    _verb(verbs, "list", _list, "what labs there are")
    start = _verb(verbs, "start", _start, "write the starter notebook", lab=True)
    start.add_argument("--to", type=Path, metavar="FOLDER", help="where (default: a folder of the lab's name)")
    verify = _verb(verbs, "verify", _verify, "run the checks on your notebook or Python file", lab=True, work=WORK)
    verify.description = (
        "Run the checks on your notebook or Python file. Exit code: 0 every check passes, 1 one does not, or there is "
        "nothing to check, 2 wrong usage: an unknown lab, check or option, or --replay without --check."
    )
    _checks(verify)
    verify.add_argument("--replay", metavar="SCRIPT", help="play this schedule against one check, as it is")
    watch = _verb(verbs, "watch", _watch, "verify again whenever the file is saved", lab=True, work=WORK)
    _checks(watch)
    hint = _verb(verbs, "hint", _hint, "the next hint for a check that fails", lab=True, work=WORK)
    hint.add_argument("--check", metavar="NAME", help="which one (default: the first that fails)")
    solution = _verb(verbs, "solution", _solution, "the solution", lab=True)
    solution.add_argument("--yes", action="store_true", help="show it although you may not have tried")
    _verb(verbs, "reset", _reset, "begin anew; your notebook is kept beside", lab=True, work=NOTEBOOK)
    submit = _verb(verbs, "submit", _submit, "pack your notebook for handing in", lab=True, work=NOTEBOOK)
    submit.description = (
        "Pack your notebook for handing in. A Python file cannot be handed in: put its code into the notebook's cells "
        "first. Exit code: 0 done, 1 not possible, 2 wrong usage."
    )
    submit.add_argument("--student", required=True, metavar="NAME", help="who you are, as your teacher knows you")
    submit.add_argument("--to", type=Path, default=Path(), metavar="PATH", help="folder or file (default: here)")
    kit = _verb(verbs, "check-kit", _check_kit, "prove that labs keep what they promise")
    kit.add_argument("labs", nargs="*", metavar="LAB", help="which (default: all)")

    grade = commands.add_parser(
        "grade",
        help="grade a folder of submissions",
        description="Grade <student>.ipynb files, or a folder for each student; write gradebook.csv, gradebook.json "
        "and an executed notebook for each. Exit code: 0 done, 1 somebody's file is missing or cannot be read, 2 wrong "
        "usage (an unknown lab or student, too).",
    )
    grade.add_argument("folder", type=Path, metavar="FOLDER")
    grade.add_argument("--lab", required=True, metavar="LAB", help="such as 09")
    grade.add_argument("--out", type=Path, default=Path("graded"), metavar="FOLDER", help="results (default: graded)")
    grade.add_argument("--roster", type=Path, metavar="CSV", help="who should have handed in: a column `student`")
    grade.add_argument("--seed", help="of the hidden cases (default: that of the last time in --out, else a new one)")
    grade.add_argument("--one-seed", action="store_true", help="the same hidden cases for everybody (kept in --out)")
    grade.add_argument("--regrade", nargs="*", metavar="STUDENT", help="again although nothing changed (no name: all)")
    grade.add_argument("--jobs", type=int, metavar="N", help="processes (default: one for each core)")
    grade.set_defaults(handler=_grade)


def _verb(verbs: Any, name: str, handler: Any, text: str, *, lab: bool = False, work: str = "") -> Any:
    parser = verbs.add_parser(name, help=text, description=text)
    if lab:
        parser.add_argument("lab", metavar="LAB", help="such as 09 or workqueue")
    if work:
        parser.add_argument("path", nargs="?", default="", metavar="PATH", help=work)
    parser.set_defaults(handler=lambda args: _guarded(handler, args))
    return parser


def _checks(parser: Any) -> None:
    parser.add_argument("--check", action="append", default=[], metavar="NAME", help="only this one (repeatable)")
    parser.add_argument("--seed", type=seed_text, default="0", help="of the hidden cases (default 0)")


def _guarded(handler: Any, args: argparse.Namespace) -> int:
    """LabErrors and unknown names are answers, not tracebacks."""
    from k8slab.lab import LabError, UnknownCheckError, UnknownLabError
    from k8slab.lab.runner import RunnerError
    from k8slab.lab.submissions import OtherResultsError, ResultsFolderError, UnknownStudentError

    try:
        code: int = handler(args)
        return code
    except (LabError, RunnerError, UnknownCheckError) as error:
        print(_typed(f"k8slab: {error}"), file=sys.stderr)
        usage = (UnknownCheckError, UnknownLabError, UnknownStudentError, OtherResultsError, ResultsFolderError)
        return 2 if isinstance(error, usage) else 1


def _typed(text: str) -> str:
    """A message with the command as it was typed."""
    from k8slab.lab.show import as_typed

    return as_typed(text, Path(sys.argv[0]))


def _list(args: argparse.Namespace) -> int:
    from k8slab.lab import labs
    from k8slab.table import Table

    rows = [[lab.name, lab.spec.title, len(lab.spec.checks), lab.spec.points, lab.spec.minutes] for lab in labs()]
    print(Table(rows, ["lab", "title", "checks", "points", "minutes"]))
    return 0


def _start(args: argparse.Namespace) -> int:
    from k8slab.lab import find_lab
    from k8slab.lab.work import start

    lab = find_lab(args.lab)
    path = start(lab, args.to if args.to is not None else Path(lab.name))
    print(f"{path}: {lab.spec.title}, {len(lab.spec.checks)} checks, {lab.spec.points} points")
    print(f"open it: {_to_open(path)}")
    print(_typed(f"then: k8slab lab verify {lab.name} {shlex.quote(str(path))}"))
    print("a Python file can be verified, too, but only the notebook can be handed in")
    return 0


def _to_open(path: Path) -> str:
    """The command that opens a notebook in the JupyterLab beside this Python, which has k8slab."""
    from k8slab.lab.show import typed

    program = Path(sysconfig.get_path("scripts")) / "jupyter-lab"
    if not program.is_file():
        return "in JupyterLab, which comes with pip install 'k8slab[book]'"
    return f"{typed(program)} {shlex.quote(str(path))}"


def _report(lab: Lab, args: argparse.Namespace) -> tuple[Report, Path]:
    from k8slab.lab import verify
    from k8slab.lab.work import code_of, elsewhere_of, find_work

    path = find_work(lab, args.path or _default(lab))
    only = args.check if isinstance(args.check, list) else []
    seed = getattr(args, "seed", "0")
    return verify(lab, code_of(path), only=only, seed=seed, elsewhere=elsewhere_of(path)), path


def _default(lab: Lab) -> str:
    """The folder that `start` makes, if one stands beside it."""
    return lab.name if (Path(lab.name) / f"{lab.name}.ipynb").is_file() else ""


def _verify(args: argparse.Namespace) -> int:
    from k8slab.lab import find_lab
    from k8slab.lab.show import report_text

    lab = find_lab(args.lab)
    if args.replay is not None:
        return _replay(lab, args)
    report, path = _report(lab, args)
    print(_typed(report_text(lab, report, path=str(path))))
    if not args.check:
        _remember(lab, report)
    return 0 if report.passed else 1


def _remember(lab: Lab, report: Report) -> None:
    """`k8slab progress` shows it."""
    from k8slab.progress import remember

    remember(
        lambda progress: progress.done("lab", lab.name, passed=report.passed, points=report.points, of=lab.spec.points)
    )


def _replay(lab: Lab, args: argparse.Namespace) -> int:
    from k8slab.lab import LabError, Problem, replay
    from k8slab.lab.show import picture
    from k8slab.lab.verify import raised_text, replay_script
    from k8slab.lab.work import code_of, elsewhere_of, find_work

    if len(args.check) != 1:
        print("k8slab: --replay: expected --check with the name of one check", file=sys.stderr)
        return 2
    check = lab.spec.check(args.check[0])
    try:
        script = replay_script(lab, check, args.replay)
    except ValueError as error:
        raise LabError(f"--replay: {error}") from None
    path = find_work(lab, args.path or _default(lab))
    elsewhere = elsewhere_of(path)
    try:
        outcome = replay(lab, code_of(path), check, script, elsewhere=elsewhere)
    except Problem as problem:
        raise LabError(str(problem) if problem.raised is None else raised_text(problem.raised, elsewhere)) from None
    print(picture(outcome.record, outcome.broken.step if outcome.broken else 0, most=len(script)))
    print(outcome.broken.why if outcome.broken else "the property holds in this schedule")
    return 1 if outcome.broken else 0


def _watch(args: argparse.Namespace) -> int:
    from k8slab.lab import LabError, find_lab
    from k8slab.lab.show import report_text
    from k8slab.lab.work import find_work

    lab = find_lab(args.lab)
    path = find_work(lab, args.path or _default(lab))
    while True:
        seen = path.stat().st_mtime_ns
        print(f"\n{time.strftime('%H:%M:%S')}  {path}")
        try:
            report, _ = _report(lab, args)
        except LabError as error:  # half saved, perhaps
            print(_typed(str(error)), flush=True)
        else:
            print(_typed(report_text(lab, report, path=str(path))), flush=True)
            if report.passed:
                if not args.check:
                    _remember(lab, report)
                return 0
        while not path.exists() or path.stat().st_mtime_ns == seen:
            time.sleep(0.3)


def _hint(args: argparse.Namespace) -> int:
    from k8slab.lab import find_lab
    from k8slab.lab.inside import hint_for
    from k8slab.lab.work import hints_shown

    lab = find_lab(args.lab)
    if args.check is not None:
        lab.spec.check(args.check)
    report, path = _report(lab, argparse.Namespace(**{**vars(args), "check": []}))
    failing = [one for one in report.results if not one.passed and args.check in (None, one.check.name)]
    if not failing:
        print("every check passes" if not args.check else f"{args.check} passes")
        return 0
    name, shown = failing[0].check.name, failing[0].failure
    cause = shown.broken.cause if shown is not None and shown.broken is not None else (failing[0].causes or ("",))[0]
    print(f"{name}: {failing[0].check.title}")
    print(hint_for(lab, report, name, hints_shown(path.parent, lab.name, name, cause)))
    return 0


def _solution(args: argparse.Namespace) -> int:
    from k8slab.lab import LabError, find_lab

    lab = find_lab(args.lab)
    if not args.yes:
        raise LabError(f"the solution of {lab.name} is for after you tried: k8slab lab solution {args.lab} --yes")
    print(lab.solution, end="")
    return 0


def _reset(args: argparse.Namespace) -> int:
    from k8slab.lab import find_lab
    from k8slab.lab.work import find_work, reset

    lab = find_lab(args.lab)
    path = find_work(lab, args.path or _default(lab))
    print(f"{path}: as at the start; yours is {reset(lab, path)}")
    return 0


def _submit(args: argparse.Namespace) -> int:
    from k8slab.lab import find_lab
    from k8slab.lab.work import find_work, submit

    lab = find_lab(args.lab)
    print(f"{submit(lab, find_work(lab, args.path or _default(lab)), args.student, args.to)}: hand this in")
    return 0


def _check_kit(args: argparse.Namespace) -> int:
    from k8slab.lab import find_lab, labs
    from k8slab.lab.kit import check_kit

    reports = [check_kit(lab) for lab in ([find_lab(name) for name in args.labs] or labs())]
    print("\n".join(map(str, reports)))
    return 1 if any(report.problems for report in reports) else 0


def _grade(args: argparse.Namespace) -> int:
    return _guarded(_graded, args)


def _graded(args: argparse.Namespace) -> int:
    from k8slab.lab import find_lab
    from k8slab.lab.grade import grade_folder
    from k8slab.lab.submissions import read_roster
    from k8slab.table import Table

    lab = find_lab(args.lab)
    if args.jobs is not None and args.jobs < 1:
        print(f"k8slab grade: --jobs {args.jobs}: expected 1 or more", file=sys.stderr)
        return 2
    roster = read_roster(args.roster) if args.roster else []
    book = grade_folder(
        lab,
        args.folder,
        out=args.out,
        roster=roster,
        seed=args.seed,
        per_student=False if args.one_seed else None,
        regrade=() if args.regrade is None else (args.regrade or None),
        jobs=args.jobs,
    )
    rows = [
        [r["student"], r["status"], r["points"], "/".join(map(str, r["public"])), "/".join(map(str, r["hidden"]))]
        for r in book.rows
    ]
    print(Table(rows, ["student", "status", f"of {book.possible}", "public", "hidden"]))
    seeds = f"--seed {book.seed}{' --one-seed' if book.one_seed else ''}"
    print(f"{args.out / 'gradebook.csv'}: {len(book.rows)} students, hidden cases by {seeds}")
    for text in book.left_out:
        print(f"k8slab grade: left out: {text}", file=sys.stderr)
    there = [row["student"] for row in book.rows if row["submission"]]
    if roster and there and not set(there) & set(roster):
        odd = f"nobody of it, such as {roster[0]!r}, handed in, but {there[0]!r} did: is it the right column?"
        print(f"k8slab grade: {args.roster}: {odd}", file=sys.stderr)
    return 0 if all(row["status"] == "graded" for row in book.rows) else 1
