"""The book's notebooks run in JupyterLab as a reader has it."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser.conftest import Lab, run_all
from tests.browser.visits import Visit


def test_the_first_page_runs_from_top_to_bottom(lab: Lab, visit: Callable[..., Visit]) -> None:
    page = visit(lab.notebook("book/intro.ipynb"), may_complain=True).page
    run_all(page)
    errors = ("application/vnd.jupyter.stderr", "application/vnd.jupyter.error")
    for kind in errors:
        assert page.locator(f".jp-OutputArea-output[data-mime-type='{kind}']").count() == 0
