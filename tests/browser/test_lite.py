"""The browser edition: from a page's link to a finished notebook, with no host but this machine.

The browser's proxy is a witness that refuses: whatever asks for another host, a page, a worker or a service worker,
is written down there (addresses of this machine do not go through a proxy). How long `import k8slab` took after the
click is printed (`-s` shows it); nothing here fails for being slow.
"""

from __future__ import annotations

import json
import re
import socketserver
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from playwright.sync_api import Browser, Locator, Page

from k8slab.dev.browser_edition import listed
from k8slab.lab import Lab, find_lab, labs
from k8slab.lab.source import source
from tests.browser.conftest import ROOT, chromium, run_all, running, served
from tests.browser.visits import LAPTOP, PHONE, Visit, axe_violations
from tests.counts import SOAK

TOC = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))
NOTEBOOKS = [p for p in listed(TOC) if (ROOT / f"{p}.ipynb").exists() and not p.startswith("book/labs/")]
RUN_ALWAYS = ["book/intro", "book/start/one-deployment"]
SLOWEST_MS = 180_000  # for machines with much else to do
IMPORT = "session => session.kernel.requestExecute({code: 'import k8slab', store_history: false}).done"
OUTCOME = """() => {
  const cells = jupyterapp.shell.currentWidget.content.widgets.filter(cell => cell.model.type === "code");
  const isWrong = output => output.output_type === "error" || output.name === "stderr";
  return cells.map(({ model }) => ({
    count: model.executionCount,
    wrong: model.sharedModel.getOutputs().filter(isWrong),
  }));
}"""


# Sign-in, forms, updates, the clock: Chromium asks its maker on an empty page too. That the book names no such host
# is asserted in tests/notebooks/test_browser_edition.py.
CHROMIUM_ITSELF = re.compile(r"\.(?:google|googleapis|gvt1)\.com$")


class Witness(socketserver.ThreadingTCPServer):
    """A proxy that writes down the hosts it is asked for and hangs up."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), Refusal)


class Refusal(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Witness)
        method, address, _ = self.rfile.readline(5_000).decode("latin-1").split()
        host = urlsplit(f"//{address}" if method == "CONNECT" else address).hostname or address
        if not CHROMIUM_ITSELF.search(host):
            self.server.asked.append(f"{method} {host}")


@pytest.fixture(scope="module")
def witness() -> Iterator[Witness]:
    server = Witness()
    with running(server):
        yield server


@pytest.fixture(scope="module")
def browser(witness: Witness) -> Iterator[Browser]:
    """In place of the other tests' browser: one that can reach nothing but this machine, whoever asks."""
    with chromium(f"--proxy-server=http://127.0.0.1:{witness.server_address[1]}") as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, witness: Witness, edition: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """An empty page; the test fails if anything in it asked for another host."""
    before = len(witness.asked)
    context = browser.new_context(viewport={"width": LAPTOP[0], "height": LAPTOP[1]})
    page = context.new_page()
    request.node.visits = [Visit(page)]
    yield page
    context.close()
    assert witness.asked[before:] == []


@pytest.fixture(scope="module")
def elsewhere(book_html: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The built book's address when it lies in a folder of a site."""
    top = tmp_path_factory.mktemp("site")
    (top / "courses").mkdir()
    (top / "courses" / "k8slab").symlink_to(book_html)
    with served(top) as address:
        yield f"{address}/courses/k8slab"


def launch(page: Page, address: str) -> float:
    """Follow the page's link; return when its kernel has imported k8slab. Seconds since the click."""
    page.set_default_timeout(SLOWEST_MS)
    page.goto(address)
    start = time.monotonic()
    page.get_by_role("link", name="Open in the browser").click()
    page.wait_for_function("window.jupyterapp?.shell?.currentWidget?.sessionContext !== undefined")
    wait = "const panel = jupyterapp.shell.currentWidget; await panel.context.ready; await panel.sessionContext.ready"
    reply = page.evaluate(f"async () => {{ {wait}; return ({IMPORT})(panel.sessionContext.session); }}")
    assert reply["content"]["status"] == "ok", reply["content"]
    return time.monotonic() - start


def ran(page: Page, notebook: str) -> None:
    """Run all cells: each in its turn, none with an error."""
    run_all(page, SLOWEST_MS)
    outcome = page.evaluate(OUTCOME)
    cells = json.loads((ROOT / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    assert [cell["count"] for cell in outcome] == list(range(1, sum(c["cell_type"] == "code" for c in cells) + 1))
    assert [cell["wrong"] for cell in outcome if cell["wrong"]] == []


def step_and_answer(page: Page) -> None:
    """The first Stepper moves, the first Quiz judges, where there are any."""
    stepper = page.locator("section[aria-label^='Stepper']").first
    if stepper.count():
        before = when(stepper)
        stepper.get_by_role("button", name="Next step").click()
        stepper.locator(".when", has_text="2 of").first.wait_for()
        assert when(stepper) != before
    quiz = page.get_by_role("group", name="Quiz").first
    if quiz.count():
        quiz.get_by_role("radio").or_(quiz.get_by_role("checkbox")).first.check()
        quiz.get_by_role("button", name="Check").first.click()
        assert quiz.get_by_role("status").first.inner_text()


def when(stepper: Locator) -> str:
    return stepper.locator(".when").first.inner_text()


@pytest.mark.parametrize("notebook", NOTEBOOKS if SOAK else RUN_ALWAYS)
def test_a_notebook_runs_from_its_page_without_a_network(notebook: str, book_address: str, page: Page) -> None:
    seconds = launch(page, f"{book_address}/{notebook}.html")
    print(f"\n{notebook}: from the click to a finished import of k8slab: {seconds:.1f} s")
    ran(page, notebook)
    step_and_answer(page)
    assert axe_violations(page, ".jp-OutputArea-output") == []


EXECUTE = """async code => {
  const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  return (await kernel.requestExecute({code, store_history: true}).done).content;
}"""
HEARD = """
import contextlib, io
heard = io.StringIO()
with contextlib.redirect_stdout(heard):
    check("{name}", stepper=False)
"""
KEPT = """
from k8slab.progress import Progress, remember
remember(lambda progress: progress.done("lab", "mine", passed=True))
assert [row[:3] for row in Progress().summary().rows] == [("lab", "mine", "passed")], Progress().path
"""


@pytest.mark.parametrize("lab", labs() if SOAK else [find_lab("09")], ids=lambda lab: lab.name)
def test_a_lab_is_worked_in_the_browser(lab: Lab, book_address: str, page: Page) -> None:
    """The starter's check fails with its report; with the solution it holds, and says that there are no limits."""
    launch(page, f"{book_address}/book/labs/{lab.name}.html")
    name = lab.spec.checks[0].name
    begin = next(source(c) for c in lab.starter["cells"] if c["cell_type"] == "code")

    def execute(code: str) -> dict[str, Any]:
        content: dict[str, Any] = page.evaluate(EXECUTE, code)
        return content

    assert execute(begin)["status"] == "ok"
    assert execute(lab.starter_code)["status"] == "ok"
    failed = execute(HEARD.format(name=name))
    assert failed["status"] == "error" and "CheckFailed" in failed["ename"]
    assert "is not written yet" in failed["evalue"]
    assert execute(lab.solution)["status"] == "ok"
    told = f"assert {name!r} in heard.getvalue() and 'there are no limits here' in heard.getvalue()"
    passed = execute(HEARD.format(name=name) + told)
    assert passed["status"] == "ok", passed
    kept = execute(KEPT)
    assert kept["status"] == "ok", kept


def test_it_works_in_a_folder_of_a_site_too(elsewhere: str, page: Page) -> None:
    launch(page, f"{elsewhere}/book/intro.html")
    ran(page, "book/intro")


def test_the_witness_notices_who_asks_for_another_host(browser: Browser, book_address: str, witness: Witness) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{book_address}/book/intro.html")
    page.evaluate("fetch('https://kubernetes.io/').catch(() => null)")
    worker = "fetch('http://kubernetes.io/').catch(() => null).then(() => postMessage(0))"
    page.evaluate(
        "code => new Promise(done => { new Worker(URL.createObjectURL(new Blob([code]))).onmessage = done; })"
        ".then(() => null)",
        worker,
    )
    context.close()
    assert {"CONNECT kubernetes.io", "GET kubernetes.io"} == set(witness.asked)


@pytest.mark.parametrize(
    "size", [LAPTOP, (LAPTOP[0] // 2, LAPTOP[1] // 2), PHONE], ids=["laptop", "zoom 200 %", "phone"]
)
def test_the_link_is_in_sight_and_large_enough(
    size: tuple[int, int], edition: Path, book_address: str, visit: Callable[..., Visit]
) -> None:
    page = visit(f"{book_address}/{RUN_ALWAYS[1]}.html", size=size).page
    box = page.get_by_role("link", name="Open in the browser").bounding_box()
    assert box is not None and box["height"] >= 24
    assert box["x"] >= 0 and box["x"] + box["width"] <= size[0] and box["y"] + box["height"] <= size[1]
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert axe_violations(page, ".k8slab-launch", best_practice=True) == []


def test_the_keyboard_reaches_the_link(edition: Path, book_address: str, page: Page) -> None:
    page.goto(f"{book_address}/{RUN_ALWAYS[1]}.html")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.k8slab-launch a')"):
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    page.wait_for_url("**/lite/notebooks/index.html?path=book/start/one-deployment.ipynb")
    page.wait_for_selector(".jp-Notebook")


def test_a_page_read_from_the_disk_says_what_it_takes(
    edition: Path, book_html: Path, visit: Callable[..., Visit]
) -> None:
    page = visit(f"{book_html.as_uri()}/{RUN_ALWAYS[1]}.html").page
    page.get_by_text("when the book is served (make book)").wait_for()
    assert page.get_by_role("link", name="Open in the browser").count() == 0
