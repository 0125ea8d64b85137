"""pyproject.toml, the locked requirement files and environment.yml agree."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
PYTHONS = ("3.11.7", "3.12.1", "3.13.0")


def asked(use: str) -> list[Requirement]:
    """What a use asks for: the package's own dependencies and those of its extras."""
    extras = PROJECT["optional-dependencies"]
    texts = [
        *PROJECT["dependencies"],
        *(extras["book"] if use != "base" else []),
        *(extras["dev"] if use == "dev" else []),
    ]
    return [Requirement(text) for text in texts if not text.startswith("k8slab[")]


def locked(use: str) -> dict[str, list[Requirement]]:
    """Name -> pinned versions (several where they differ by Python)."""
    text = (ROOT / "requirements" / f"{use}.txt").read_text(encoding="utf-8")
    pins: dict[str, list[Requirement]] = {}
    for line in text.replace("\\\n", " ").splitlines():
        if line and not line.startswith("#"):
            assert "--hash=sha256:" in line, f"no hash: {line[:80]}"
            pin = Requirement(line.split(" --hash")[0].strip())
            pins.setdefault(canonicalize_name(pin.name), []).append(pin)
    return pins


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("use", ["base", "book", "dev"])
def test_every_dependency_is_locked_to_a_version_that_it_admits(use: str, python: str) -> None:
    variables = {"python_version": python.rpartition(".")[0], "python_full_version": python}
    pins = locked(use)
    for wanted in asked(use):
        fitting = [p for p in pins[canonicalize_name(wanted.name)] if not p.marker or p.marker.evaluate(variables)]
        versions = [next(iter(pin.specifier)).version for pin in fitting]
        assert len(versions) == 1 and wanted.specifier.contains(versions[0]), f"{wanted}: {versions}"


@pytest.mark.parametrize("use", ["base", "book"])
def test_smaller_files_hold_the_versions_of_the_full_one(use: str) -> None:
    full = locked("dev")
    assert {
        name: pins for name, pins in locked(use).items() if list(map(str, pins)) != list(map(str, full[name]))
    } == {}


def test_the_browser_edition_holds_what_it_asks_for_in_the_versions_of_the_desktop() -> None:
    pins, full = locked("browser"), locked("dev")
    asked_for = [Requirement(text) for text in PROJECT["optional-dependencies"]["browser"]]
    assert {canonicalize_name(wanted.name) for wanted in asked_for} | {"pyyaml"} <= set(pins)
    assert "orjson" not in pins
    for wanted in asked_for:
        (pin,) = pins[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(next(iter(pin.specifier)).version)
    for name, (pin,) in pins.items():
        assert name not in full or pin.specifier in [other.specifier for other in full[name]], name


def test_pyodide_is_locked_by_its_checksum() -> None:
    wanted = json.loads((ROOT / "requirements" / "pyodide.json").read_text(encoding="utf-8"))
    assert wanted["name"] == "pyodide" and re.fullmatch(r"\d+\.\d+\.\d+", wanted["version"])
    assert re.fullmatch(r"sha512-[\w+/]{86}==", wanted["integrity"])


@pytest.mark.parametrize("use", ["base", "book", "browser", "dev"])
def test_a_lock_file_names_no_address(use: str) -> None:
    text = (ROOT / "requirements" / f"{use}.txt").read_text(encoding="utf-8")
    assert re.findall(r"\S*://\S*|--(?:extra-)?index\S*|--find-links\S*|\S+ @ \S+", text) == []


def test_every_dependency_has_a_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    rows = re.findall(r'^    "[A-Za-z][^"]*(?:>=|<)[^"]*",.*$', text, re.MULTILINE)
    assert len(rows) >= 20
    assert [row for row in rows if "#" not in row] == []


def test_the_conda_environment_installs_the_same() -> None:
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    assert {"pip": ["-e .[dev]"]} in listed
    (python,) = [row.partition("=")[2] for row in listed if isinstance(row, str) and row.startswith("python=")]
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]
