"""What each developers' verb does, once the environment is there."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from k8slab.dev import environment, pages, system

__all__ = ["VERBS", "Verb", "main"]

BENCHMARKS = "tests/benchmarks"
NBVAL_RULES = "tests/notebooks/nbval.cfg"
WORKERS = ("--numprocesses=auto", "--maxprocesses=4")  # more would each wait for the one that has the browser tests


class Verb(NamedTuple):
    """`needs`: the requirement file it runs on. `run(root, arguments)` returns the exit code."""

    help: str
    needs: str
    run: Callable[[Path, list[str]], int]
    system: tuple[str, ...] = ()


def pytest(root: Path, arguments: list[str], **variables: str) -> int:
    """One pytest run from the top folder, in a process of its own."""
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-sanitize-with", NBVAL_RULES, *arguments]
    return subprocess.run(command, cwd=root, env=with_tools({**os.environ, **variables}), check=False).returncode


def with_tools(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables with this environment's programs first on PATH and its kernel found before others."""
    folder = str(Path(sys.executable).parent)
    path = os.pathsep.join([folder, variables.get("PATH", os.defpath)])
    return {**variables, "PATH": path, "JUPYTER_PREFER_ENV_PATH": "1", "JUPYTER_PLATFORM_DIRS": "1"}


def notebooks(root: Path) -> list[str]:
    """All committed notebooks, and new ones not ignored, relative to `root`."""
    return git(root, "ls-files", "--cached", "--others", "--exclude-standard", "*.ipynb")


def changed_notebooks(root: Path) -> list[str]:
    """Notebooks that differ from the branch's upstream, else from the last commit."""
    base = (git(root, "merge-base", "HEAD", "@{upstream}") or ["HEAD"])[0]
    changed = git(root, "diff", "--name-only", base, "--", "*.ipynb")
    return sorted({*changed, *git(root, "ls-files", "--others", "--exclude-standard", "*.ipynb")})


def git(root: Path, *arguments: str) -> list[str]:
    """Lines that git prints, of which files only those that exist; nothing when git fails."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    lines = done.stdout.split("\n") if done.returncode == 0 else []
    return [line for line in lines if line and (not line.endswith(".ipynb") or (root / line).exists())]


def check(root: Path, arguments: list[str]) -> int:
    chosen = changed_notebooks(root)
    tests = [*WORKERS, "tests/lint", "tests/unit", *(["tests/notebooks"] if chosen else []), *chosen]
    return pytest(root, arguments or tests, K8SLAB_NOTEBOOKS=os.pathsep.join(chosen))


def every_test(root: Path, arguments: list[str], **variables: str) -> int:
    """The tests named; without names all of them: on all cores, and then what is measured, with nothing beside it."""
    if arguments:
        return pytest(root, arguments, **variables)
    code = pytest(root, [*WORKERS, "tests", f"--ignore={BENCHMARKS}", *notebooks(root)], **variables)
    return pytest(root, [BENCHMARKS], **variables) or code


def test(root: Path, arguments: list[str]) -> int:
    return every_test(root, arguments)


def soak(root: Path, arguments: list[str]) -> int:
    return every_test(root, arguments, K8SLAB_SOAK="1")


def book(root: Path, arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m k8slab.dev book")
    parser.add_argument("--no-serve", action="store_true", help="build only (as SERVE=0)")
    options = parser.parse_args(arguments)
    html = pages.build(root)
    if options.no_serve or os.environ.get("SERVE") == "0":
        print(f"built: {html / 'index.html'}")
        return 0
    return pages.serve(html)


def jupyter(root: Path, arguments: list[str]) -> int:
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}", *arguments]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return subprocess.run(command, cwd=root, env=with_tools(os.environ), check=False).returncode


def notebook(root: Path, arguments: list[str]) -> int:
    """Execute notebooks and store byte-stable outputs; with --check only tell whether that would change them."""
    from k8slab.dev.notebooks import main as execute

    return execute(arguments, root, [root / name for name in notebooks(root)])


def api(root: Path, arguments: list[str]) -> int:
    return make("api", root, arguments)


def deviations(root: Path, arguments: list[str]) -> int:
    return make("deviations", root, arguments)


def status(root: Path, arguments: list[str]) -> int:
    return make("status", root, arguments)


def make(verb: str, root: Path, arguments: list[str]) -> int:
    from k8slab.dev.generated import main as generate

    return generate(verb, root, arguments)


def lock(root: Path, arguments: list[str]) -> int:
    from k8slab.dev.locks import write

    return write(root, arguments)


_TESTED_WITH = ("chromium", "dot", "npm", "host-local")

VERBS: dict[str, Verb] = {
    "book": Verb("build the book and serve it on 127.0.0.1 (SERVE=0: build only)", "book", book, system=("npm",)),
    "check": Verb("lint, types, unit tests, changed notebooks (under 3 minutes)", "dev", check),
    "test": Verb("every check there is (arguments go to pytest)", "dev", test, system=_TESTED_WITH),
    "soak": Verb("the same tests with the large counts", "dev", soak, system=_TESTED_WITH),
    "jupyter": Verb("JupyterLab on this folder", "book", jupyter, system=("dot",)),
    "notebook": Verb("execute notebooks, store byte-stable outputs [--check] [FILE ...]", "dev", notebook),
    "api": Verb("write the reference pages' list of packages anew [--check]", "book", api),
    "deviations": Verb("write docs/deviations.md anew from the modules [--check]", "book", deviations),
    "status": Verb("write the status page anew [--check]", "book", status),
    "lock": Verb("write requirements/*.txt anew [--upgrade]", "dev", lock),
}
"""Every verb by name."""


def usage() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {name:{width}}  {verb.help}" for name, verb in VERBS.items()]
    return "\n".join(["usage: python -m k8slab.dev VERB [ARGUMENT ...]", "", *lines])


def main(argv: list[str] | None = None) -> int:
    """Exit code of the verb; 2 for wrong usage; 1 with one sentence when the set-up fails."""
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments or arguments[0] not in VERBS:
        wanted = bool(arguments) and arguments[0] in ("-h", "--help", "help")
        print(usage(), file=sys.stdout if wanted else sys.stderr)
        return 0 if wanted else 2
    name, *rest = arguments
    verb = VERBS[name]
    try:
        root = environment.top_folder()
        environment.enter(root, verb.needs, arguments)
        system.provide(verb.system)
        return verb.run(root, rest)
    except environment.SetUpError as error:
        print(f"k8slab.dev {name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
