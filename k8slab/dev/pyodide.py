"""The Python of the browser edition: a folder that a page on any host loads everything from.

Pyodide's core comes from the npm registry by name and version, checked against requirements/pyodide.json; pure wheels
come from Python's, checked against requirements/browser.txt; k8slab is built from the tree. The table of packages
that Pyodide ships with names another host for each: it is replaced by one of the wheels that lie in the folder.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from email.parser import Parser
from pathlib import Path
from typing import Any

from k8slab.dev import system
from k8slab.dev.environment import SetUpError

__all__ = ["PACKAGES_LOADED_FIRST", "folder"]

CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
# ipywidgets asks for these two; they are the widgets of other front ends
NOT_NEEDED = ("jupyterlab-widgets", "widgetsnbextension")
# No pure wheel is published; the Python half of what is installed here does the same, slower.
REPACKED = ("pyyaml",)
# Stubs of other people's packages, for completion while typing: 4 MB that would be unpacked at each start
LEFT_OUT = ("jedi/third_party/django-stubs/", "jedi/third_party/typeshed/stubs/")
# What the kernel would otherwise ask its installer for, one after the other, and the book's own
PACKAGES_LOADED_FIRST = ["micropip", "piplite", "ipykernel", "comm", "pyodide-kernel", "jedi", "ipython", "k8slab"]
OLDEST_DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes from every build


def folder(root: Path, downloads: Path, kernel_wheels: Path, target: Path) -> None:
    """Fill `target`. `downloads`: kept from build to build. `kernel_wheels`: those of the kernel's own.

    SetUpError when a download fails or is not what was locked.
    """
    downloads.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    info = unpack_core(core_archive(root, downloads), target)
    pins = pinned(root / "requirements" / "browser.txt")
    wheels = [*locked_wheels(root, downloads, pins), *sorted(kernel_wheels.glob("*.whl"))]
    wheels = [wheel for wheel in wheels if canonical(wheel.name.split("-")[0]) not in NOT_NEEDED]
    for wheel in wheels:
        copy_wheel(wheel, target / wheel.name)
    for name in REPACKED:
        repack(name, target)
    build_own(root, target)
    write_table(target, info)


def core_archive(root: Path, downloads: Path) -> Path:
    """The npm package `pyodide` at the locked version, downloaded if it is not here yet."""
    wanted = json.loads((root / "requirements" / "pyodide.json").read_text(encoding="utf-8"))
    archive = downloads / f"pyodide-{wanted['version']}.tgz"
    if not archive.exists() or integrity(archive) != wanted["integrity"]:
        npm = system.find("npm")
        if npm is None:
            raise SetUpError("npm is needed once, to download Pyodide for the browser edition")
        run([npm, "pack", "--silent", f"pyodide@{wanted['version']}"], downloads)
    if integrity(archive) != wanted["integrity"]:
        raise SetUpError(f"{archive.name} is not what requirements/pyodide.json says: its sha512 differs")
    return archive


def integrity(archive: Path) -> str:
    """A file's checksum as npm writes it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()


def unpack_core(archive: Path, target: Path) -> dict[str, Any]:
    """Put the core's files into `target`; what its table says of its Python and platform."""
    with tarfile.open(archive) as packed:
        for name in (*CORE, "pyodide-lock.json"):
            member = packed.extractfile(f"package/{name}")
            if member is None:
                raise SetUpError(f"{archive.name} has no {name}")
            (target / name).write_bytes(member.read())
    info: dict[str, Any] = json.loads((target / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    return info


def pinned(requirements: Path) -> dict[str, str]:
    """Name -> version of a locked requirement file."""
    rows = re.findall(r"^([\w.-]+)==([^\s;\\]+)", requirements.read_text(encoding="utf-8"), re.MULTILINE)
    return {canonical(name): version for name, version in rows}


def canonical(name: str) -> str:
    """The one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_wheels(root: Path, downloads: Path, pins: dict[str, str]) -> list[Path]:
    """The pure wheels that browser.txt locks, downloaded if they are not here yet."""
    wanted = {name: version for name, version in pins.items() if name not in (*NOT_NEEDED, *REPACKED)}
    text = (root / "requirements" / "browser.txt").read_text(encoding="utf-8")
    place = downloads / hashlib.sha256(text.encode()).hexdigest()[:16]
    if len(list(place.glob("*.whl"))) != len(wanted):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        rows = [row for row in re.split(r"\n(?=\S)", text) if canonical(row.split("==")[0]) in wanted]
        (place / "wanted.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
        pip += ["--require-hashes", "--only-binary=:all:", "--python-version", "3.14", "--implementation", "py"]
        run([*pip, "--abi", "none", "--platform", "any", "-r", "wanted.txt", "-d", "."], place)
    return sorted(place.glob("*.whl"))


def copy_wheel(wheel: Path, target: Path) -> None:
    """The wheel without the files that are left out."""
    with zipfile.ZipFile(wheel) as packed:
        kept = [name for name in packed.namelist() if not name.startswith(LEFT_OUT)]
        if len(kept) == len(packed.namelist()):
            shutil.copy(wheel, target)
            return
        with zipfile.ZipFile(target, "w") as copy:
            for name in kept:
                content = packed.read(name)
                if name.endswith(".dist-info/RECORD"):
                    rows = content.decode().splitlines(keepends=True)
                    content = "".join(row for row in rows if not row.startswith(LEFT_OUT)).encode()
                add(copy, name, content)


def repack(name: str, target: Path) -> None:
    """A pure wheel from the Python files of an installed package (book.txt and browser.txt lock the same version)."""
    installed = importlib.metadata.distribution(name)
    version = installed.version
    about = f"{name}-{version}.dist-info"
    files = {str(path): Path(str(path.locate())) for path in installed.files or []}
    names = []
    with zipfile.ZipFile(target / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for inside, path in sorted(files.items()):
            top, _, rest = inside.partition("/")
            if top.endswith(".dist-info"):
                inside = f"{about}/{rest}"
                kept = rest == "METADATA" or "LICENSE" in rest
            else:
                kept = inside.endswith(".py")
            if kept:
                names.append(inside)
                add(wheel, inside, path.read_bytes())
        tag = b"Wheel-Version: 1.0\nGenerator: k8slab.dev\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        add(wheel, f"{about}/WHEEL", tag)
        record = "".join(f"{inside},,\n" for inside in [*names, f"{about}/WHEEL", f"{about}/RECORD"])
        add(wheel, f"{about}/RECORD", record.encode())


def add(wheel: zipfile.ZipFile, inside: str, content: bytes) -> None:
    wheel.writestr(zipfile.ZipInfo(inside, OLDEST_DATE), content, zipfile.ZIP_DEFLATED)


def build_own(root: Path, target: Path) -> None:
    """The wheel of this tree, built with what is installed."""
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)], root)


def write_table(target: Path, info: dict[str, Any]) -> None:
    """pyodide-lock.json: which file holds which package, what it needs, which imports load it."""
    entries = {entry["name"]: entry for entry in map(table_entry, sorted(target.glob("*.whl")))}
    for entry in entries.values():
        entry["depends"] = [name for name in entry["depends"] if name not in NOT_NEEDED]
        if missing := [name for name in entry["depends"] if name not in entries]:
            raise SetUpError(f"the browser edition lacks {', '.join(missing)}, which {entry['name']} needs")
    table = {"info": info, "packages": dict(sorted(entries.items()))}
    (target / "pyodide-lock.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def table_entry(wheel: Path) -> dict[str, Any]:
    """One row of the table, read from a wheel."""
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(packed.read(about).decode())
    name = canonical(metadata["Name"])
    return {
        "name": name,
        "version": metadata["Version"],
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(set(imports(names))),
        "depends": sorted(set(needs(metadata.get_all("Requires-Dist") or [], own=name == "k8slab"))),
        "unvendored_tests": False,
    }


def imports(names: Iterable[str]) -> Iterator[str]:
    """Top-level names that a wheel's files make importable."""
    for name in names:
        top, slash, rest = name.partition("/")
        if name.endswith(".py") and "/" not in rest and not top.endswith((".dist-info", ".data")):
            yield top if slash else top.removesuffix(".py")


def needs(texts: Iterable[str], *, own: bool) -> Iterator[str]:
    """Names of requirements that hold in the browser; for k8slab those of its extra `browser` too."""
    from packaging.requirements import Requirement

    place = {"sys_platform": "emscripten", "platform_system": "Emscripten", "os_name": "posix"}
    place |= {"platform_machine": "wasm32", "python_version": "3.14", "python_full_version": "3.14.2"}
    for text in texts:
        wanted = Requirement(text)
        if wanted.marker is None or wanted.marker.evaluate({**place, "extra": "browser" if own else ""}):
            yield canonical(wanted.name)


def run(command: list[str], where: Path) -> None:
    """One step, quiet unless it fails."""
    variables = {**os.environ, "SOURCE_DATE_EPOCH": "315532800"}
    done = subprocess.run(
        command, cwd=where, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SetUpError(f"{' '.join(command)} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
