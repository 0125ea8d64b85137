"""Fixtures for tests in a browser: the system's Chromium, the built book, a live JupyterLab.

`visit(address, …)` opens a page with everything off this machine refused; at the end of the test a page that asked
for another host or wrote an error to the console fails it. `place` is the book's address, once http, once file://.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socketserver import BaseServer
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from k8slab.dev import pages
from tests.browser.visits import LAPTOP, Visit, open_visit
from tests.programs import needs

ROOT = Path(__file__).resolve().parents[2]
FAILURES = Path(__file__).parent / "failures"
NO_NEWS = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
FIRST_PORT = 8600
QUIET = [
    "--no-sandbox",  # root in a container has no sandbox
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


# One browser a module, not one a session: while it is open an asyncio loop runs in this thread, which other tests
# (notebooks) cannot bear.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    path = needs("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*QUIET, *arguments])
        yield browser
        browser.close()


@contextmanager
def running(server: BaseServer) -> Iterator[None]:
    """A server at work in a thread of its own."""
    with server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield
        server.shutdown()
        thread.join()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder over http on 127.0.0.1."""
    server = pages.server(folder, FIRST_PORT)
    with running(server):
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.when == "call" and report.failed:
        shared = [visit for visit in getattr(item, "funcargs", {}).values() if isinstance(visit, Visit)]
        for number, visit in enumerate([*getattr(item, "visits", []), *shared]):
            FAILURES.mkdir(exist_ok=True)
            name = "".join(c if c.isalnum() else "-" for c in item.name)
            visit.page.screenshot(path=FAILURES / f"{name}-{number}.png")
    return report


@pytest.fixture
def visit(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Visit]]:
    """visit(address, size=LAPTOP, dark=False, reduced_motion=False, may_complain=False) -> Visit, loaded."""
    opened: list[Visit] = []
    strict: list[Visit] = []
    request.node.visits = opened

    def open_(
        address: str,
        *,
        size: tuple[int, int] = LAPTOP,
        dark: bool = False,
        reduced_motion: bool = False,
        may_complain: bool = False,
    ) -> Visit:
        made = open_visit(browser, size=size, dark=dark, reduced_motion=reduced_motion)
        opened.append(made)
        if not may_complain:
            strict.append(made)
        made.page.goto(address)
        return made

    yield open_
    complaints = [complaint for made in strict for complaint in made.complaints()]
    for made in opened:
        made.page.context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def book_address(book_html: Path) -> Iterator[str]:
    """The built book over http on 127.0.0.1."""
    with served(book_html) as address:
        yield address


@pytest.fixture(params=["http", "file"])
def place(request: pytest.FixtureRequest, book_html: Path) -> str:
    """The built book's address without a slash at its end: over http, then straight from the disk."""
    if request.param == "file":
        return book_html.as_uri()
    address: str = request.getfixturevalue("book_address")
    return address


@dataclass(frozen=True, slots=True)
class Lab:
    """A running JupyterLab on a copy of the book. `folder`: what it serves."""

    address: str
    folder: Path

    def notebook(self, name: str) -> str:
        """The address that opens one notebook in a workspace of its own."""
        return f"{self.address}/lab/workspaces/{Path(name).stem}/tree/{name}?reset"


RUN_ALL = """async () => {
  const panel = jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  await jupyterapp.commands.execute("notebook:run-all-cells");
}"""


def run_all(page: Page, timeout_ms: float = 60_000) -> None:
    """Run all cells of the notebook that is open, and wait until the last one has run."""
    page.set_default_timeout(timeout_ms)
    page.wait_for_function("window.jupyterapp?.shell?.currentWidget?.sessionContext !== undefined")
    page.evaluate(RUN_ALL)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab as a reader has it, with settings of its own and without its calls home."""
    home = tmp_path_factory.mktemp("jupyter")
    folder = home / "clone"
    shutil.copytree(ROOT / "book", folder / "book")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kinds = ("CONFIG", "DATA", "RUNTIME")
    settings = home / "CONFIG" / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"@jupyterlab/apputils-extension:notification": NO_NEWS}))
    variables = {**os.environ, "HOME": str(home), **{f"JUPYTER_{kind}_DIR": str(home / kind) for kind in kinds}}
    variables |= {"JUPYTER_PREFER_ENV_PATH": "1", "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces")}
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.root_dir": folder,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "IdentityProvider.token": "",
        "LabApp.expose_app_in_browser": True,  # run_all() talks to it
    }
    command = [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]
    log = home / "jupyterlab.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=output, stderr=output)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/api", process, log)
        yield Lab(address, folder)
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:  # it waits for a kernel that is still starting
            process.kill()
            process.wait()


def wait_for(address: str, process: subprocess.Popen[bytes], log: Path, seconds: int = 60) -> None:
    """Return when the address answers; AssertionError with the log when it doesn't."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")
