"""Programs that come from the system, not from Python's registry: a browser, npm, Graphviz's dot, a CNI plugin.

Installed with apt-get when we are root on Debian or Ubuntu; elsewhere named, with what is skipped without them.
Standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import NamedTuple

__all__ = ["PROGRAMS", "find", "install", "provide"]


class Program(NamedTuple):
    """`names`: commands or full paths, best first. `package`: in Debian. `without`: what is skipped."""

    names: tuple[str, ...]
    package: str
    elsewhere: str
    without: str


PROGRAMS: dict[str, Program] = {
    "chromium": Program(
        names=(
            "chromium",
            "chromium-browser",
            "google-chrome",
            "google-chrome-stable",
            "/Applications/Chromium.app/Contents/MacOS/Chromium",
            "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        ),
        package="chromium",
        elsewhere="brew install --cask chromium",
        without="the browser tests are skipped",
    ),
    "npm": Program(
        names=("npm",),
        package="npm",
        elsewhere="brew install node",
        without="the book is built without its browser edition",
    ),
    "dot": Program(
        names=("dot",),
        package="graphviz",
        elsewhere="brew install graphviz",
        without="cells that draw with Graphviz cannot run; their stored figures stay",
    ),
    "host-local": Program(
        names=("/usr/lib/cni/host-local", "/opt/cni/bin/host-local"),
        package="containernetworking-plugins",
        elsewhere="Linux alone has it",
        without="our address plugin is not compared with the real one",
    ),
}


def find(name: str) -> str | None:
    """Path of a program of PROGRAMS, None when it is not here."""
    found = (shutil.which(candidate) for candidate in PROGRAMS[name].names)
    return next(filter(None, found), None)


def provide(names: tuple[str, ...]) -> None:
    """Install the programs that are missing, where we can; else say what is missing and what follows."""
    missing = [name for name in names if find(name) is None]
    if missing:
        install([PROGRAMS[name].package for name in missing])
    for name in missing:
        if find(name) is None:
            program = PROGRAMS[name]
            print(
                f"k8slab.dev: {name} is not installed (Debian: apt-get install {program.package}; "
                f"macOS: {program.elsewhere}): {program.without}",
                file=sys.stderr,
            )


def install(packages: list[str]) -> bool:
    """apt-get install as root, on systems that have it. Whether it succeeded."""
    apt = shutil.which("apt-get")
    if not apt or os.geteuid() != 0:
        return False
    print(f"k8slab.dev: apt-get install {' '.join(packages)}", file=sys.stderr, flush=True)
    variables = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = [apt, "-qq", "-o", "Dpkg::Use-Pty=0"]
    codes = [
        subprocess.run(
            command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
        ).returncode
        for command in ([*quiet, "update"], [*quiet, "install", "-y", "--no-install-recommends", *packages])
    ]
    return codes[-1] == 0
