"""The wheel holds all that `import k8slab` and its command need, tried from an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this tree without reaching a registry."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("k8slab-*.whl")
    return Path(built)


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the unpacked wheel alone."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


def run(site: Path, empty: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=empty, env=variables, capture_output=True, text=True, check=False)


def committed() -> set[str]:
    """The files of the package, and of the labs, which the wheel has as `k8slab/_labs`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "k8slab", "labs"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {name for name in listed.splitlines() if (ROOT / name).is_file()}
    return {f"k8slab/_{name}" if name.startswith("labs/") else name for name in names}


def test_the_wheel_holds_every_file_of_the_package_and_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    assert committed() <= names
    assert {name for name in names if name.startswith("k8slab/")} <= committed()
    assert {Path(name).name for name in names if ".dist-info/" in name} >= {"LICENSE", "NOTICE", "METADATA"}
    assert {name.split("/")[0] for name in names} == {"k8slab", f"{wheel.name.split('-py3')[0]}.dist-info"}


def test_every_package_imports_from_an_empty_folder(site: Path, tmp_path: Path) -> None:
    packages = sorted(path.parent.name for path in (ROOT / "k8slab").glob("*/__init__.py"))
    imports = "\n".join(f"import k8slab.{name}" for name in packages)
    done = run(site, tmp_path, "-c", f"{imports}\nprint(k8slab.__file__)")
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(site)


def test_the_command_runs_from_an_empty_folder(site: Path, tmp_path: Path) -> None:
    done = run(site, tmp_path, "-c", "import sys; from k8slab.cli import main; sys.exit(main(['--help']))")
    assert done.returncode == 0, done.stderr
    assert "usage: k8slab" in done.stdout


def test_the_developers_verbs_say_that_they_need_a_clone(site: Path, tmp_path: Path) -> None:
    done = run(site, tmp_path, "-m", "k8slab.dev", "check")
    assert done.returncode == 1
    assert "work in a clone" in done.stderr


HEAVY = ("pandas", "numpy", "ipywidgets", "anywidget", "matplotlib", "graphviz", "IPython", "asyncio", "http.server")


def test_importing_the_package_is_quick_and_pulls_in_nothing_heavy(site: Path, tmp_path: Path) -> None:
    program = (
        "import sys, time; start = time.perf_counter(); import k8slab; spent = time.perf_counter() - start; "
        f"print(spent < 0.3, [name for name in {HEAVY} if name in sys.modules])"
    )
    assert run(site, tmp_path, "-c", program).stdout.strip() == "True []"


def test_a_lab_can_be_started_and_verified_from_an_empty_folder(site: Path, tmp_path: Path) -> None:
    started = run(site, tmp_path, "-m", "k8slab.cli", "lab", "start", "09")
    assert started.returncode == 0, started.stderr
    verified = run(site, tmp_path, "-m", "k8slab.cli", "lab", "verify", "09")
    assert verified.returncode == 1
    assert "0 of 16 points" in verified.stdout, verified.stdout + verified.stderr
