"""Write requirements/*.txt: every version locked, with hashes, for Python 3.11 and newer, naming no host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["USES", "write"]

# The order matters: the later files take the versions of the first.
USES = {"dev": ["--extra", "dev"], "book": ["--extra", "book"], "base": []}
HEADER = "python -m k8slab.dev lock"


def write(root: Path, arguments: list[str]) -> int:
    """Lock each use; `--upgrade` takes the newest versions that the extras admit."""
    for use, extras in USES.items():
        target = root / "requirements" / f"{use}.txt"
        command = [str(Path(sys.executable).parent / "uv"), "pip", "compile", "-q", "pyproject.toml", *extras]
        command += ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate"]
        command += ["--no-emit-index-url", "--no-emit-find-links", "--custom-compile-command", HEADER]
        if use != "dev":
            command += ["-c", "requirements/dev.txt"]
        done = subprocess.run([*command, *arguments, "-o", str(target)], cwd=root, check=False)
        if done.returncode != 0:
            return done.returncode
        print(f"{target.relative_to(root)}: {target.read_text(encoding='utf-8').count('==')} packages")
    return 0
