"""Settings of every test run: hypothesis, how workers share the tests, and which skips CI admits."""

from __future__ import annotations

import gc
import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tests.counts import SOAK
from tests.programs import needs

WITH_THE_BUILT_BOOK = ("tests/browser/", "tests/notebooks/test_book.py", "tests/notebooks/test_browser_edition.py")
ALLOWED = Path(__file__).with_name("allowed_skips.txt")

# Usual runs draw the same examples every time; a soak draws new ones and prints how to repeat a failure.
settings.register_profile(
    "k8slab",
    deadline=None,
    derandomize=not SOAK,
    database=None,
    print_blob=SOAK,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("k8slab")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Twenty thousand collected tests stay: garbage collection need not look at them again, hundreds of times."""
    gc.collect()
    gc.freeze()


def allowed_skips(text: str) -> dict[str, str]:
    """Glob over test ids -> reason. ValueError for a line without a reason."""
    rows = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    rules: dict[str, str] = {}
    for row in rows:
        pattern, bar, reason = (part.strip() for part in row.partition("|"))
        if not (pattern and bar and reason):
            raise ValueError(f"{ALLOWED.name}: {row!r} must read: glob | reason")
        rules[pattern] = reason
    return rules


def forbidden(skipped: list[str], rules: dict[str, str]) -> list[str]:
    """Ids of skipped tests that no rule admits."""
    return [test for test in dict.fromkeys(skipped) if not any(fnmatchcase(test, pattern) for pattern in rules)]


class SkipsInCI:
    """Collects skips; with CI=true one that is not listed fails the run."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.skipped.append(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """What a worker skipped while it collected: only the worker is told."""
        self.skipped += getattr(node, "workeroutput", {}).get("skipped", [])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["skipped"] = self.skipped
            return
        if forbidden(self.skipped, allowed_skips(ALLOWED.read_text(encoding="utf-8"))):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        wrong = forbidden(self.skipped, allowed_skips(ALLOWED.read_text(encoding="utf-8")))
        if wrong:
            terminalreporter.section("skipped in CI without a line in tests/allowed_skips.txt")
            terminalreporter.write_line("\n".join(wrong))


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("CI") == "true":
        config.pluginmanager.register(SkipsInCI(), "skips-in-ci")


class ByFile(LoadScopeScheduling):
    """A worker takes all tests of a file (cells of a notebook need each other); one takes all with the built book."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = nodeid.partition("::")[0]
        return "the built book" if file.startswith(WITH_THE_BUILT_BOOK) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    return ByFile(config, log)


@pytest.fixture(scope="session")
def book_html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the book's pages, built strictly (a warning or a broken reference fails)."""
    from k8slab.dev import pages

    return pages.build(Path(__file__).resolve().parents[1], tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="session")
def edition(book_html: Path) -> Path:
    """The folder of the browser edition among the book's pages."""
    lite = book_html / "lite"
    if not lite.is_dir():
        needs("npm")  # without it there is an edition only where Pyodide was downloaded before
        pytest.fail("npm is installed, and the book was built without its browser edition")
    return lite
