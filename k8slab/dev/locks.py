"""Write requirements/*.txt: every version locked, with hashes, for Python 3.11 and newer, naming no host.

browser.txt is for Pyodide's Python alone. Pyodide itself stands in pyodide.json, changed by hand: its kernel names
the version it was tested with.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["USES", "write"]

# The order matters: the later files take the versions of the first.
ANYWHERE = ["--universal", "--python-version", "3.11"]
IN_A_BROWSER = ["--python-version", "3.14", "--python-platform", "wasm32-pyodide2024"]
USES = {
    "dev": ["--extra", "dev", *ANYWHERE],
    "book": ["--extra", "book", *ANYWHERE],
    "browser": ["--extra", "browser", *IN_A_BROWSER],
    "nbgrader": ["--extra", "nbgrader", *ANYWHERE],
    "base": ANYWHERE,
}
HEADER = "python -m k8slab.dev lock"


def write(root: Path, arguments: list[str]) -> int:
    """Lock each use; `--upgrade` takes the newest versions that the extras admit."""
    for use, options in USES.items():
        target = root / "requirements" / f"{use}.txt"
        command = [str(Path(sys.executable).parent / "uv"), "pip", "compile", "-q", "pyproject.toml", *options]
        command += ["--generate-hashes", "--no-annotate"]
        command += ["--no-emit-index-url", "--no-emit-find-links", "--custom-compile-command", HEADER]
        if use != "dev":
            command += ["-c", "requirements/dev.txt"]
        done = subprocess.run([*command, *arguments, "-o", str(target)], cwd=root, check=False)
        if done.returncode != 0:
            return done.returncode
        print(f"{target.relative_to(root)}: {target.read_text(encoding='utf-8').count('==')} packages")
    return 0
