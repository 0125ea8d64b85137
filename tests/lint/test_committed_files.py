"""What must not be in a committed file: package hosts, paths of somebody's machine, lock files that name hosts."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = {".py", ".md", ".yml", ".yaml", ".toml", ".cfg", ".sh", ".js", ".css", ".json", ".txt", ".ipynb", ".html", ""}
HOSTS = ("pypi.org", "pythonhosted.org", "npmjs.org", "npmjs.com", "deb.debian.org", "yarnpkg.com", "anaconda.org")
GIVEN = ("tests/browser/vendor/", "tests/conformance/data/", "tests/conformance/compare")
HOST = re.compile("|".join(re.escape(host) for host in HOSTS))
# A folder of one machine: a home, or the top folders that a work place may have. Not "/root" in prose.
MACHINE = re.compile(r"(?<![\w.~-])/(?:root|work|home/\w+|Users/\w+)/[\w.]")


def committed() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


FILES = [name for name in committed() if Path(name).suffix in TEXT and not name.startswith(GIVEN)]


@pytest.mark.parametrize(("what", "pattern"), [("package host", HOST), ("path of one machine", MACHINE)])
def test_no_file_names_a(what: str, pattern: re.Pattern[str]) -> None:
    found = []
    for name in FILES:
        if name == "tests/lint/test_committed_files.py":
            continue
        text = (ROOT / name).read_text(encoding="utf-8")
        found += [f"{name}:{text.count(chr(10), 0, m.start()) + 1}: {m[0]}" for m in pattern.finditer(text)]
    assert found == [], f"a {what}"


def test_no_lock_file_with_addresses() -> None:
    assert [
        n for n in committed() if Path(n).name in ("uv.lock", "poetry.lock", "pylock.toml", "package-lock.json")
    ] == []


@pytest.mark.parametrize("name", [n for n in FILES if n.endswith(".ipynb") and n.startswith("book/")])
def test_a_chapter_is_committed_executed_with_short_cells(name: str) -> None:
    cells = json.loads((ROOT / name).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code" and "".join(cell["source"]).strip()]
    assert all(cell["execution_count"] for cell in code), "a cell was not executed"
    assert [n for c in code if (n := len("".join(c["source"]).splitlines())) > 25] == [], "a cell of over 25 lines"
    for cell in code:
        errors = [output for output in cell["outputs"] if output["output_type"] == "error"]
        assert not errors or "raises-exception" in cell["metadata"].get("tags", []), "an error is stored"
