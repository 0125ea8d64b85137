"""Ruff, mypy and import-linter find nothing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
COMMANDS = {
    "ruff finds nothing": ["ruff", "check", "."],
    "the code is formatted": ["ruff", "format", "--check", "."],
    "the types hold strictly": ["mypy"],
    "the floors hold": ["lint-imports", "--no-cache"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_tool(command: list[str]) -> None:
    done = subprocess.run([BIN / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def contracts() -> dict[str, dict[str, object]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def test_the_stores_contract_covers_raft_as_soon_as_it_exists() -> None:
    stores = [name for name in ("k8slab.etcd", "k8slab.raft") if (ROOT / name.replace(".", "/")).is_dir()]
    assert contracts()["store"]["source_modules"] == stores
