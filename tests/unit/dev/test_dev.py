"""The developers' verbs: what they need, how they are named, where they stop."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from threading import Thread

import pytest

from k8slab.dev import VERBS, environment, main, pages, system, verbs
from k8slab.dev.verbs import changed_notebooks, notebooks, with_tools
from tests.conftest import allowed_skips, forbidden

ROOT = Path(__file__).resolve().parents[3]


def test_make_has_a_target_for_each_verb() -> None:
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    (phony,) = [line for line in lines if line.startswith(".PHONY:")]
    assert set(phony.split()[1:]) == {*VERBS, "help"}


def test_the_verbs_start_with_the_standard_library_alone() -> None:
    program = "import sys; sys.path.insert(0, '.'); import k8slab.dev; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tops = {name.partition(".")[0] for name in done.stdout.split()} - {"k8slab", "__main__", "__mp_main__"}
    assert sorted(top for top in tops if top not in sys.stdlib_module_names) == []


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["bake"], 2), (["--help"], 0)])
def test_an_unknown_verb_prints_the_usage(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == code
    printed = capsys.readouterr()
    assert "usage: python -m k8slab.dev VERB" in (printed.out if code == 0 else printed.err)


def clone(folder: Path) -> Path:
    (folder / "requirements").mkdir()
    (folder / "pyproject.toml").write_text("[project]\n")
    for use in ("book", "dev"):
        (folder / "requirements" / f"{use}.txt").write_text(f"{use}\n")
    (folder / ".venv").mkdir()
    return folder


def test_an_environment_is_fresh_until_the_locked_requirements_change(tmp_path: Path) -> None:
    root = clone(tmp_path)
    venv = root / ".venv"
    assert not environment.fresh(venv, root, "book")
    (venv / ".k8slab-book").write_text(environment.fingerprint(root, "book"))
    assert environment.fresh(venv, root, "book") and not environment.fresh(venv, root, "dev")
    (root / "requirements" / "book.txt").write_text("newer\n")
    assert not environment.fresh(venv, root, "book")


def test_the_full_environment_serves_the_smaller_use(tmp_path: Path) -> None:
    root = clone(tmp_path)
    (root / ".venv" / ".k8slab-dev").write_text(environment.fingerprint(root, "dev"))
    assert environment.fresh(root / ".venv", root, "book")


def test_an_interpreter_that_does_not_start_or_is_too_old_is_not_used(tmp_path: Path) -> None:
    assert environment.works(sys.executable)
    assert not environment.works(tmp_path / "python")


def test_a_missing_program_is_named_with_what_is_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(system, "find", lambda name: None)
    monkeypatch.setattr(system, "install", lambda packages: False)
    system.provide(("chromium", "dot"))
    told = capsys.readouterr().err
    assert "apt-get install chromium" in told and "the browser tests are skipped" in told
    assert "brew install graphviz" in told


def test_pages_are_served_on_the_first_free_port(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("a page")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pages.server(tmp_path, port) as server:
            assert server.server_port > port
            thread = Thread(target=server.serve_forever)
            thread.start()
            with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/index.html", timeout=10) as answer:
                assert answer.read() == b"a page"
            server.shutdown()
            thread.join()


def test_the_environments_programs_come_first_on_path() -> None:
    assert with_tools({"PATH": "x"})["PATH"].split(":") == [str(Path(sys.executable).parent), "x"]


def test_changed_notebooks_are_notebooks_of_the_tree() -> None:
    assert set(changed_notebooks(ROOT)) <= set(notebooks(ROOT))


def test_a_skip_needs_a_line_with_a_reason() -> None:
    rules = allowed_skips("# comment\n\ntests/golden/test_raft.py::* | upstream's scripts lie beside the clone\n")
    assert forbidden(["tests/golden/test_raft.py::test_a", "tests/unit/test_b.py::test_c"], rules) == [
        "tests/unit/test_b.py::test_c"
    ]
    with pytest.raises(ValueError, match=r"glob \| reason"):
        allowed_skips("tests/unit/*\n")


@pytest.mark.parametrize(("shared", "alone", "code"), [(0, 0, 0), (1, 0, 1), (0, 1, 1)])
def test_all_tests_are_run_once_and_each_part_can_fail(
    shared: int, alone: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[list[str]] = []

    def fake(root: Path, arguments: list[str], **variables: str) -> int:
        assert variables == {"K8SLAB_SOAK": "1"}
        runs.append(arguments)
        return alone if arguments == ["tests/benchmarks"] else shared

    monkeypatch.setattr(verbs, "pytest", fake)
    assert verbs.soak(ROOT, []) == code
    assert len(runs) == 2
    assert {"tests", "--ignore=tests/benchmarks", *notebooks(ROOT)} <= set(runs[0])
