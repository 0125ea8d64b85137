"""The environment of the developers' verbs: `.venv` beside pyproject.toml, made from the locked requirements.

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from k8slab.dev import system

__all__ = ["SetUpError", "enter", "top_folder"]

OLDEST = (3, 11)


class SetUpError(RuntimeError):
    """The set-up cannot go on; the text says what to do."""


def top_folder() -> Path:
    """The clone that this file lies in. SetUpError when it is an installed package."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "pyproject.toml").exists() or not (root / "requirements").is_dir():
        raise SetUpError(f"the verbs work in a clone of the repository; {root} is none")
    return root


def enter(root: Path, needs: str, arguments: list[str]) -> None:
    """Return inside an up-to-date environment; else make it and start the verb anew in it."""
    place = os.environ.get("K8SLAB_VENV", "")
    if place == "none":
        return
    venv = root / (place or ".venv")
    python = venv / "bin" / "python"
    stamp, wanted = venv / f".k8slab-{needs}", fingerprint(root, needs)
    usable = works(python)
    if not usable or not fresh(venv, root, needs):
        if not usable:
            create(venv, interpreter())
        install(root, python, needs)
        stamp.write_text(wanted, encoding="utf-8")
    if Path(sys.prefix).resolve() == venv.resolve():
        return
    sys.stdout.flush()
    os.chdir(root)
    os.execv(python, [str(python), "-m", "k8slab.dev", *arguments])


def fingerprint(root: Path, needs: str) -> str:
    """Changes when the locked requirements or the package's own metadata change."""
    files = [root / "requirements" / f"{needs}.txt", root / "pyproject.toml"]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def fresh(venv: Path, root: Path, needs: str) -> bool:
    """Whether the environment holds what `needs` asks for (dev holds all that book holds)."""
    stamps = [(use, venv / f".k8slab-{use}") for use in dict.fromkeys([needs, "dev"])]
    return any(stamp.exists() and stamp.read_text(encoding="utf-8") == fingerprint(root, use) for use, stamp in stamps)


def works(python: Path | str) -> bool:
    """Whether this interpreter starts and is new enough."""
    test = f"import sys; sys.exit(sys.version_info < {OLDEST})"
    try:
        return subprocess.run([str(python), "-c", test], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def interpreter() -> str:
    """This Python, or one on PATH that is new enough."""
    names = [sys.executable, *(shutil.which(f"python3.{minor}") for minor in (13, 12, 11)), shutil.which("python3")]
    for name in names:
        if name and works(name):
            return name
    found = ".".join(map(str, sys.version_info[:2]))
    raise SetUpError(f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed; this is {found}, and no newer one is on PATH")


def uv() -> list[str]:
    """The command of uv where it is installed and starts (it is faster than pip), else nothing."""
    path = shutil.which("uv")
    if path and subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0:
        return [path]
    return []


def create(venv: Path, python: str) -> None:
    """A new, empty environment in the folder `venv`."""
    say(f"creating {venv} with {python}")
    if command := uv():
        run([*command, "venv", "-q", "--seed", "--clear", "--python", python, str(venv)])
        return
    plain = [python, "-m", "venv", "--clear", str(venv)]
    if subprocess.run(plain, capture_output=True, check=False).returncode != 0:
        system.install(["python3-venv"])  # Debian keeps ensurepip in a package of its own
        run(plain)


def install(root: Path, python: Path, needs: str) -> None:
    """The locked requirements, then this clone in editable form."""
    say(f"installing requirements/{needs}.txt")
    locked = ["-r", str(root / "requirements" / f"{needs}.txt")]
    editable = ["--no-deps", "-e", str(root)]
    if command := uv():
        pip = [*command, "pip", "install", "-q", "--python", str(python)]
    else:
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    run([*pip, "--require-hashes", *locked])
    run([*pip, *editable])


def run(command: list[str]) -> None:
    """Run a step of the set-up with its messages shown. SetUpError when it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise SetUpError(f"this step failed with exit code {done.returncode}: {' '.join(command)}")


def say(text: str) -> None:
    print(f"k8slab.dev: {text}", file=sys.stderr, flush=True)
