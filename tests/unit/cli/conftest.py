"""The command in this process, with a home of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from k8slab.cli import main


class Answer(NamedTuple):
    """`code`: the exit code; `out`, `err`: what was printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where progress is kept; not made yet."""
    monkeypatch.setenv("K8SLAB_HOME", str(tmp_path / "k8slab"))
    return tmp_path / "k8slab"


@pytest.fixture
def k8slab(home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """`k8slab("run", …)` runs the command. No answer may hold a traceback."""

    def run(*arguments: object) -> Answer:
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(code, out, err)

    return run
